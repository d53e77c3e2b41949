r"""The ends of the spectrum of a symmetric matrix in floating point: the least eigenvalues, how
many are negative, counted by Sylvester's law on a factorization $LDL^T$, and the extreme ones of
the n x n matrices of an inspection.

The signs of D (blocks of order one and two) are those of the eigenvalues of a matrix within
rounding, a few $p\,\epsilon\|A\|$, of the given one. Iterative eigenvalue methods may get the sign
of the least eigenvalue wrong near a minimum; this count does not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from globalmin._types import Array, ArrayLike
from globalmin.data.validation import gram_bytes, require_memory
from globalmin.errors import DataError

if TYPE_CHECKING:
    from scipy.sparse.linalg import LinearOperator


class Inertia(NamedTuple):
    """Numbers of negative, zero and positive eigenvalues."""

    negative: int
    zero: int
    positive: int


def inertia(A: Array, *, shift: float = 0.0) -> Inertia:
    """Inertia of A + shift I; `negative` counts the eigenvalues of A below -shift. Cost p^3/3.

    >>> inertia(np.array([[0.0, 1.0], [1.0, 0.0]]))
    Inertia(negative=1, zero=0, positive=1)
    """
    from scipy.linalg import ldl

    A = np.asarray(A, dtype=np.float64)
    if A.ndim != 2 or A.shape[0] != A.shape[1] or A.shape[0] == 0 or not np.isfinite(A).all():
        raise DataError(
            f"A has shape {A.shape}; give a square matrix of finite numbers, at least 1 x 1"
        )
    _, D, _ = ldl(A + shift * np.eye(A.shape[0]), lower=True, check_finite=False)
    signs: list[int] = []
    i = 0
    while i < A.shape[0]:
        if i + 1 < A.shape[0] and D[i + 1, i] != 0.0:
            signs += _signs_of_block(D[i : i + 2, i : i + 2])
            i += 2
        else:
            signs.append(int(np.sign(D[i, i])))
            i += 1
    return Inertia(signs.count(-1), signs.count(0), signs.count(1))


def _signs_of_block(block: Array) -> list[int]:
    """Signs of a 2 x 2 pivot; its off-diagonal entry is the largest, so one of each sign in
    practice.
    """
    return [int(np.sign(value)) for value in np.linalg.eigvalsh(block)]


def rounding_shift(A: Array) -> float:
    r"""$8p\,\epsilon\|A\|_F$: eigenvalues within this of zero have no certain sign in floats."""
    return 8.0 * A.shape[0] * float(np.finfo(np.float64).eps) * float(np.linalg.norm(A))


def least_eigenvalue(A: Array) -> tuple[float, Array]:
    """The least eigenvalue of a symmetric matrix and a unit eigenvector, by a dense method."""
    from scipy.linalg import eigh

    value, vector = eigh(A, subset_by_index=(0, 0), check_finite=False)
    return float(value[0]), vector[:, 0]


def estimate_lambda_min(G: ArrayLike) -> float:
    """Smallest eigenvalue of a symmetric matrix, an estimate: off by about n times the rounding
    unit times the largest one.
    """
    return estimate_lowest(G, 1)[0]


def estimate_lowest(G: ArrayLike, count: int) -> list[float]:
    """The `count` smallest eigenvalues of a symmetric matrix, increasing; estimates."""
    G = np.asarray(G, dtype=np.float64)
    if G.ndim != 2 or G.shape[0] != G.shape[1] or G.size == 0 or not np.isfinite(G).all():
        raise DataError(f"G has shape {G.shape}; give a finite square symmetric matrix")
    require_memory(gram_bytes(len(G), copies=2), f"an eigenvalue of a matrix of order {len(G):,}")
    from scipy.linalg import eigh

    values = eigh(
        G, eigvals_only=True, subset_by_index=(0, min(count, len(G)) - 1), check_finite=False
    )
    return [float(value) for value in values]


def smallest_eigenvalue_from_factor(L: Array, *, block: int = 8, steps: int = 10) -> float:
    """Estimate of lambda_min(L L^T) by subspace iteration on the inverse; cost `steps * block`
    triangular solves.

    A Ritz value, so never below the true one; 10 steps with 8 vectors leave it within a per cent or
    two in practice.
    """
    from scipy.linalg import cho_solve

    n = L.shape[0]
    basis = np.linalg.qr(np.random.default_rng(0).standard_normal((n, min(block, n))))[0]
    largest = 0.0
    for _ in range(steps):
        image = cho_solve((L, True), basis, check_finite=False)
        largest = float(np.linalg.eigvalsh(_symmetric_part(basis.T @ image))[-1])
        if not math.isfinite(largest):
            return 0.0
        basis = np.linalg.qr(image)[0]
    return 1.0 / largest if largest > 0 else 0.0


_LOWEST_STEPS = 60
_LOWEST_DIGITS = 1e-5


def lowest_by_iteration(L: Array) -> float | None:
    r"""Estimate of $\lambda_{\min}(L L^T)$, L lower triangular in the order of LAPACK, by Lanczos
    steps on the inverse until the error is expected below 1e-5 of it; None where 60 steps are too
    few.

    The largest Ritz value $\theta_1$ of the inverse is below the largest eigenvalue by at most
    $\rho^2/(\theta_1 - \theta_2)$, $\rho$ the residual of its vector, once the second one has
    converged as far. Every step is made orthogonal to all earlier ones.
    """
    from scipy.linalg import get_blas_funcs

    # for one vector twice as fast as potrs
    (solve,) = get_blas_funcs(("trsv",), (L,))
    n = len(L)
    most = min(n, _LOWEST_STEPS)
    basis = np.empty((most + 1, n))
    start = np.random.default_rng(0).standard_normal(n)
    basis[0] = start / np.linalg.norm(start)
    T = np.zeros((most + 1, most + 1))
    for j in range(most):
        image = solve(L, solve(L, basis[j], lower=1), lower=1, trans=1, overwrite_x=1)
        if not np.isfinite(image).all():
            return None
        T[j, j] = basis[j] @ image
        for _ in range(2):
            image -= (basis[: j + 1] @ image) @ basis[: j + 1]
        length = float(np.linalg.norm(image))
        values, vectors = np.linalg.eigh(T[: j + 1, : j + 1])
        if _has_converged(values, length * abs(float(vectors[-1, -1]))):
            return 1.0 / float(values[-1])
        if not length > 0.0:
            return None
        T[j, j + 1] = T[j + 1, j] = length
        basis[j + 1] = image / length
    return None


def _has_converged(values: Array, rest: float) -> bool:
    """Whether the largest of these Ritz values, increasing, is an eigenvalue to five digits."""
    top = float(values[-1])
    if not top > 0.0 or (len(values) < 3 and rest > 0.0):
        return False
    return rest == 0.0 or (rest / top) ** 2 <= _LOWEST_DIGITS * (1.0 - float(values[-2]) / top)


def extremes_by_iteration(A: Array, L: Array) -> tuple[float, float] | None:
    """Estimates of the smallest and the largest eigenvalue of A = L L^T by Lanczos on the inverse
    and on A, each to seven digits or better; None where the iteration does not end.
    """
    import scipy.sparse.linalg as sparse
    from scipy.linalg import cho_solve

    n = len(A)
    make: Any = sparse.LinearOperator  # the stubs do not know the arguments
    inverse = make(
        (n, n), matvec=lambda x: cho_solve((L, True), x, check_finite=False), dtype=np.float64
    )
    low, high = highest_by_iteration(inverse), highest_by_iteration(A)
    if low is None or high is None:
        return None
    return (1.0 / low, high) if low > 0 and math.isfinite(low) else None


def highest_by_iteration(A: Array | LinearOperator) -> float | None:
    """Estimate of the largest eigenvalue by Lanczos, to seven digits or better; None where the
    iteration does not end.
    """
    import scipy.sparse.linalg as sparse

    largest: Any = sparse.eigsh  # the stubs do not know a float tolerance
    n = A.shape[0]
    start = np.random.default_rng(0).standard_normal(n)
    options = {"which": "LA", "v0": start, "ncv": min(n, 10), "tol": 1e-5}
    try:
        return float(largest(A, 1, **options, return_eigenvectors=False)[0])
    except sparse.ArpackError:
        return None


def _symmetric_part(A: Array) -> Array:
    return (A + A.T) / 2.0


ALL_LIMIT = 1_500  # up to this order all eigenvalues are computed, which takes seconds
# entries of the limiting matrices are accurate to about this, so smaller eigenvalues mean nothing
RESOLUTION = 1e-12


@dataclass(frozen=True, eq=False)
class Extremes:
    """Smallest and largest eigenvalue of a positive semidefinite matrix; `low` is 0 where it is
    singular or nearly so.

    `is_resolved` tells whether a zero is a fact about the rows (True) or only below what floats
    resolve (False). `spectrum` holds all eigenvalues, increasing, or None for large matrices.
    """

    low: float
    high: float
    is_resolved: bool = True
    spectrum: Array | None = field(default=None, repr=False)


def extremes(G: Array, *, is_singular: bool = False) -> Extremes:
    """Extremes of a positive semidefinite matrix.

    Parameters
    ----------
    G : symmetric, n x n.
    is_singular : whether it is known to be singular; its smallest eigenvalue is then exactly 0.
    """
    n = G.shape[0]
    spectrum = np.linalg.eigvalsh(G).astype(np.float64) if n <= ALL_LIMIT else None
    low, high = (
        (float(spectrum[0]), float(spectrum[-1]))
        if spectrum is not None
        else _iterated(G, is_singular)
    )
    if is_singular:
        return Extremes(0.0, max(high, 0.0), spectrum=spectrum)
    resolved = low > max(4.0 * n * np.finfo(np.float64).eps, RESOLUTION) * high
    return Extremes(low if resolved else 0.0, max(high, 0.0), resolved, spectrum)


def spectral_norm(A: Array) -> float:
    """Largest absolute eigenvalue of a symmetric matrix."""
    if A.shape[0] <= ALL_LIMIT:
        return float(np.abs(np.linalg.eigvalsh(A)[[0, -1]]).max())
    return abs(_lanczos(A, "LM")) if A.any() else 0.0


def _iterated(G: Array, is_singular: bool) -> tuple[float, float]:
    """By Lanczos iterations: on G for the largest eigenvalue, on its inverse through a Cholesky
    factor for the smallest.
    """
    from scipy.linalg import LinAlgError, cho_factor, cho_solve
    from scipy.sparse.linalg import LinearOperator

    if not G.any():
        return 0.0, 0.0
    high = _lanczos(G, "LA")
    if is_singular:
        return 0.0, high
    try:
        factor = cho_factor(G, lower=True, check_finite=False)
    except LinAlgError:
        return 0.0, high
    solve = partial(cho_solve, factor, check_finite=False)
    inverse = LinearOperator(G.shape, matvec=solve, dtype=np.float64)  # pyright: ignore
    return 1.0 / _lanczos(inverse, "LA"), high


def _lanczos(A: Array | LinearOperator, which: str) -> float:
    """One extreme eigenvalue, the same for every call with the same matrix."""
    from scipy.sparse.linalg import eigsh

    start = np.random.default_rng(0).standard_normal(A.shape[0])
    options = {"which": which, "v0": start, "return_eigenvectors": False, "tol": 1e-9}
    return float(eigsh(A, k=1, **options)[0])

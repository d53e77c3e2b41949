r"""The lower end of the spectrum of a symmetric matrix in floating point: the least eigenvalues,
and how many are negative, counted by Sylvester's law on a factorization $LDL^T$.

The signs of D (blocks of order one and two) are those of the eigenvalues of a matrix within
rounding, a few $p\,\epsilon\|A\|$, of the given one. Iterative eigenvalue methods may get the sign
of the least eigenvalue wrong near a minimum; this count does not.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from globalmin._types import Array, ArrayLike
from globalmin.data.memory import gram_bytes, require_memory
from globalmin.errors import DataError


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


def _symmetric_part(A: Array) -> Array:
    return (A + A.T) / 2.0

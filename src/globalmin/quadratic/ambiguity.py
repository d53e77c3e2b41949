r"""Networks that agree on all samples and differ elsewhere: the constructive half of the critical
sample number (GKZ-T2.6b, GKZ-T2.9b).

When the matrices $x_ix_i^T$ do not span the symmetric ones, some M != 0 has $x_i^TMx_i = 0$ for all
i, and adding a multiple of it to a teacher's matrix changes nothing on the samples.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from globalmin._types import Array
from globalmin.data.validation import as_matrix, as_targets
from globalmin.errors import DataError, HypothesisError
from globalmin.linalg.symmetric import design_matrix, factor_by_head, quadratic_forms, unsvec
from globalmin.quadratic.barrier import require_full_rank
from globalmin.quadratic.identifiability import (
    critical_samples,
    integer_monomials,
    monomial_indices,
)
from globalmin.quadratic.risk import quadratic_outputs, risk_of_difference, square_root_of
from globalmin.references import states
from globalmin.shallow.network import ShallowNetwork


@states("GKZ-T2.6b")
def exact_kernel_matrix(X: Array, *, max_exact: int = 120) -> list[list[int]] | None:
    r"""An integer symmetric $M \ne 0$ with $x_i^TMx_i = 0$ exactly for all i, or None if there is
    none (or N > `max_exact`).

    The entries are Python integers without common factor, as small as lattice reduction makes them;
    for doubles with long mantissas they are long.
    """
    d = X.shape[1]
    if critical_samples(d) > max_exact:
        return None
    kernel, nullity = integer_monomials(X).nullspace()
    if nullity == 0:
        return None
    columns = kernel.transpose().tolist()[:nullity]
    vectors = [_primitive([int(entry) for entry in column]) for column in columns]
    return _symmetric_integers(_shortest(vectors), d)


def _primitive(entries: list[int]) -> list[int]:
    divisor = math.gcd(*entries)
    return [entry // divisor for entry in entries]


def _shortest(vectors: list[list[int]]) -> list[int]:
    """A short vector of the lattice of these, by lattice reduction."""
    from flint import fmpz_mat

    reduced = fmpz_mat(vectors).lll().tolist() if len(vectors) > 1 else vectors
    return min(
        ([int(entry) for entry in row] for row in reduced), key=lambda row: max(map(abs, row))
    )


def _symmetric_integers(entries: list[int], d: int) -> list[list[int]]:
    """Coefficients of the monomials x_a x_b, a <= b, as a symmetric matrix: off-diagonal ones are
    shared, so all are doubled first.
    """
    rows, columns = monomial_indices(d)
    doubled = [[0] * d for _ in range(d)]
    for a, b, entry in zip(rows.tolist(), columns.tolist(), entries, strict=True):
        doubled[a][b] += entry
        doubled[b][a] += entry
    divisor = math.gcd(*(entry for row in doubled for entry in row))
    return [[entry // divisor for entry in row] for row in doubled]


@dataclass(frozen=True)
class BadInterpolant:
    r"""A network W that agrees with the teacher on all samples and differs elsewhere: $W^TW = A +
    \delta M$.

    `population_risk` is $E(f - f^*)^2 = \delta^2(2\|M\|_F^2 + (\mathrm{tr}M)^2)$ over x ~ N(0, I),
    at least `guaranteed` $= 2\frac{d+2}{d+1}\delta^2$ (M has spectral norm 1); `training_error` is
    the largest difference seen on the samples, rounding only.
    """

    W: Array
    M: Array
    delta: float
    population_risk: float
    guaranteed: float
    training_error: float


@states("GKZ-T2.6b", "GKZ-T2.9b")
def bad_interpolant(
    X: Array, Wstar: Array, *, delta: float | str | None = None
) -> BadInterpolant | None:
    r"""A second network that fits the teacher's outputs on X and disagrees elsewhere; None when the
    samples determine the network.

    Parameters
    ----------
    X : Array
        n x d samples.
    Wstar : Array
        Teacher, m x d of rank d.
    delta : float | str | None
        How far to go: None is $\sigma_{\min}(W^*)^2$, "max" the farthest along the same line (both
        signs tried), or a number.

    Theory
    ------
    GKZ-T2.6b, GKZ-T2.9b: a symmetric M with $x_i^TMx_i = 0$ and norm 1 exists when the span is
    deficient, and $A + \delta M \ge 0$.
    """
    sigma = require_full_rank(Wstar)
    M = kernel_direction(X)
    if M is None:
        return None
    A = Wstar.T @ Wstar
    farthest, sign = farthest_step(A, M)
    step = _chosen_step(delta, sigma**2, farthest)
    M = sign * M  # the side on which A + delta M >= 0 lasts longer; up to sigma^2 both sides do
    W = square_root_of(A + step * M, Wstar.shape[0])
    error = float(np.abs(quadratic_outputs(W, X) - quadratic_outputs(Wstar, X)).max())
    d = X.shape[1]
    return BadInterpolant(
        W, M, step, step**2 * risk_of_difference(M), 2.0 * (d + 2) / (d + 1) * step**2, error
    )


def kernel_direction(X: Array) -> Array | None:
    r"""A symmetric M of spectral norm 1 with $x_i^TMx_i = 0$ up to rounding, or None if the samples
    span; by a pivoted QR of $S^T$.
    """
    from scipy.linalg import qr

    S = design_matrix(X)
    factors: Any = qr(S.T, mode="full", pivoting=True, check_finite=False)
    Q, R = factors[0], factors[1]
    diagonal = np.abs(np.diag(R))
    rank = int((diagonal > max(S.shape) * np.finfo(np.float64).eps * diagonal[0]).sum())
    if rank == S.shape[1]:
        return None
    M = unsvec(Q[:, -1])
    return M / np.abs(np.linalg.eigvalsh(M)).max()


def farthest_step(A: Array, M: Array) -> tuple[float, float]:
    r"""The largest $\delta$ with $A + \delta M \ge 0$ or $A - \delta M \ge 0$, and the sign;
    infinite if M or -M is >= 0.
    """
    from scipy.linalg import eigh

    relative = eigh(M, A, eigvals_only=True)
    noise = A.shape[0] * np.finfo(np.float64).eps * float(np.abs(relative).max())
    reach = [
        (-1.0 / low if low < -noise else math.inf, sign)
        for low, sign in ((relative[0], 1.0), (-relative[-1], -1.0))
    ]
    return max(reach)


def _chosen_step(delta: float | str | None, default: float, farthest: float) -> float:
    if delta is None:
        return default
    if delta == "max":
        if math.isinf(farthest):
            raise HypothesisError(
                "the samples do not even span the inputs, so the disagreement is unbounded; give "
                "delta as a number",
                hypothesis="bounded",
                value=farthest,
            )
        return farthest
    if isinstance(delta, str) or not (math.isfinite(delta) and 0 < delta <= farthest):
        raise DataError(
            f"delta={delta!r} must be None, 'max' or a positive number of at most {farthest:.6g}, "
            "beyond which A + delta M is no longer >= 0"
        )
    return float(delta)


@dataclass(frozen=True)
class Disagreement:
    r"""Two quadratic networks with the same outputs on all samples (up to rounding) that are
    different functions.

    Attributes
    ----------
    first, second : ShallowNetwork
        The networks, with d heads +1 and d heads -1 each; both attain the least loss of all
        quadratic networks.
    loss : float
        That loss; zero up to rounding unless the samples repeat each other with other labels.
    difference : Array
        Symmetric matrix D, second - first = $x^TDx$.
    on_samples : float
        The largest difference of the outputs on the samples, rounding only.
    root_mean_square : float
        $\sqrt{E(x^TDx)^2}$ over x ~ N(0, I).
    x : Array
        A unit vector where they differ most; `at_x` is the difference there.
    """

    first: ShallowNetwork
    second: ShallowNetwork
    loss: float
    difference: Array = field(repr=False)
    on_samples: float
    root_mean_square: float
    x: Array = field(repr=False)
    at_x: float


@states("GKZ-T2.6b", "GKZ-T2.9b", "SJL-T2.1")
def disagreeing_networks(
    X: object, y: object, *, root_mean_square: float | None = None
) -> Disagreement:
    r"""Give me data with n < d(d+1)/2 and I hand you two networks that fit and disagree, by as much
    as you like.

    Parameters
    ----------
    X, y : object
        Samples (n x d, bias column included if there is one) and one label each. More samples do as
        well if they lie on a common quadric ($x_i^TMx_i = 0$ for some M != 0), such as signs or
        one-hot columns.
    root_mean_square : float | None
        How far apart the two functions shall be over standard normal inputs, any positive number;
        default the size of the first one (1 if that is zero).

    Raises
    ------
    HypothesisError
        If the samples determine the network: n >= d(d+1)/2 in general position.

    Theory
    ------
    SJL-T2.1: with d heads of each sign every symmetric matrix is a network. GKZ-T2.6b: adding a
    matrix that vanishes at the samples changes no output there. The networks exist exactly (by
    counting dimensions); their weights are rounded. For heads >= 0 and a given teacher see
    `bad_interpolant`, and `certify(..., claims="ambiguous")` for a proof.

    Examples
    --------
    >>> X = [[1.0, 0.0], [0.0, 1.0]]  # two samples, three would be needed
    >>> found = disagreeing_networks(X, [1.0, 2.0], root_mean_square=10.0)
    >>> [round(float(output), 12) for output in found.first.predict(np.array(X))]
    [1.0, 2.0]
    >>> [round(float(output), 12) for output in found.second.predict(np.array(X))]
    [1.0, 2.0]
    >>> round(found.root_mean_square, 12), round(abs(found.at_x), 12)
    (10.0, 5.0)
    """
    samples = as_matrix(X)
    labels = as_targets(y, samples.shape[0])[:, 0]
    if root_mean_square is not None and not (
        math.isfinite(root_mean_square) and root_mean_square > 0
    ):
        raise DataError(f"root_mean_square={root_mean_square!r} must be a positive number, or None")
    K = _kernel_of(samples)
    M = unsvec(
        np.asarray(np.linalg.lstsq(design_matrix(samples), labels, rcond=None)[0], dtype=np.float64)
    )
    size = root_mean_square or math.sqrt(risk_of_difference(M)) or 1.0
    D = size / math.sqrt(risk_of_difference(K)) * K
    return _disagreement(samples, labels, M, D)


def _kernel_of(X: Array) -> Array:
    K = kernel_direction(X)
    if K is None:
        n, d = X.shape
        raise HypothesisError(
            f"these n={n} samples of d={d} features determine a quadratic network (d(d+1)/2 = "
            f"{critical_samples(d)}): any two that fit are the same function; leave samples out",
            hypothesis="rank{x x^T} < d(d+1)/2",
            value=n,
        )
    return K


def _disagreement(X: Array, y: Array, M: Array, D: Array) -> Disagreement:
    v = np.repeat([1.0, -1.0], X.shape[1])
    first, second = (_network(matrix, v) for matrix in (M, M + D))
    outputs = first.predict(X)
    eigenvalues, vectors = np.linalg.eigh(D)
    place = int(np.argmax(np.abs(eigenvalues)))
    return Disagreement(
        first=first,
        second=second,
        loss=0.5 * float(np.sum((quadratic_forms(X, M) - y) ** 2)),
        difference=D,
        on_samples=float(np.abs(second.predict(X) - outputs).max()),
        root_mean_square=math.sqrt(risk_of_difference(D)),
        x=vectors[:, place],
        at_x=float(eigenvalues[place]),
    )


def _network(M: Array, v: Array) -> ShallowNetwork:
    W = factor_by_head(M, v)
    if W is None:  # d heads of each sign carry every symmetric matrix
        raise ArithmeticError(
            "a symmetric matrix of order d has more than d eigenvalues of one sign"
        )
    return ShallowNetwork(W, v, "quadratic")

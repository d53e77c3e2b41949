r"""Networks that agree on all samples and differ elsewhere: the constructive half of the critical
sample number (GKZ-T2.6b, GKZ-T2.9b).

When the matrices $x_ix_i^T$ do not span the symmetric ones, some M != 0 has $x_i^TMx_i = 0$ for all
i, and adding a multiple of it to a teacher's matrix changes nothing on the samples.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from globalmin._types import Array
from globalmin.errors import DataError, HypothesisError
from globalmin.linalg.symmetric import design_matrix, unsvec
from globalmin.quadratic.barrier import require_full_rank
from globalmin.quadratic.identifiability import (
    critical_samples,
    integer_monomials,
    monomial_indices,
)
from globalmin.quadratic.risk import quadratic_outputs, risk_of_difference, square_root_of
from globalmin.references import states


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

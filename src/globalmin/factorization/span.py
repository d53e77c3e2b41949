r"""From the span of a factor to that of the leading right singular vectors of M, by locally optimal
block iteration.

In every round the span is enlarged by the residual directions $(I-Q)M^TMQ$ and by the last change,
and the best subspace of dimension r in it is kept (Rayleigh-Ritz through a singular value
decomposition of M on the enlarged basis: nothing is squared).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from globalmin._types import Array
from globalmin.factorization.factors import Factors

EPS = float(np.finfo(np.float64).eps)
# below this relative residual three rounds without halving it mean that rounding has been reached
_ROUNDING = 1e-12
_PATIENCE = 30  # the same above it
# relative residual that counts as converged: the excess of the loss is of the order of its square
_SETTLED = 1e-9


@dataclass(frozen=True)
class Span:
    """An orthonormal basis Z (n x s, s <= r) with M Z = P diag(values); `leak` is |(I - Q) M^T M
    Q|/|M|^2 (estimate).
    """

    Z: Array = field(repr=False)
    P: Array = field(repr=False)
    values: Array
    leak: float
    sweeps: int
    settled: bool

    def factors(self, M: Array, rank: int) -> Factors:
        """Balanced factors with the product M Q, padded with zero columns if M has a smaller
        rank.
        """
        roots = np.sqrt(self.values)
        U, V = np.zeros((M.shape[0], rank)), np.zeros((M.shape[1], rank))
        U[:, : roots.size], V[:, : roots.size] = self.P * roots, self.Z * roots
        return Factors(U, V)


def improve_span(
    M: Array, factors: Factors, max_sweeps: int, report: Callable[[int, float], None]
) -> Span:
    """Rounds until the residual is at the level of rounding, or `max_sweeps`."""
    size = min(factors.rank, *M.shape)
    Z = _orthonormal(factors.V)[:, :size]
    Z, P, values = _ritz(M, Z, size)
    change, best, since, sweeps = np.empty((M.shape[1], 0)), None, 0, 0
    while True:
        rest = M.T @ (P * values) - Z * values**2
        rest -= Z @ (Z.T @ rest)
        leak = float(np.linalg.norm(rest)) / max(float(values[0]) ** 2, np.finfo(np.float64).tiny)
        report(sweeps, leak)
        if best is None or leak < best.leak:
            since = 0 if best is None or leak < 0.5 * best.leak else since + 1
            best = Span(Z, P, values, leak, sweeps, leak <= _SETTLED)
        else:
            since += 1
        idle = since >= (3 if best.leak <= _ROUNDING else _PATIENCE) and best.settled
        if leak <= EPS or idle or sweeps >= max_sweeps or Z.shape[1] == M.shape[1]:
            return Span(best.Z, best.P, best.values, best.leak, sweeps, best.settled)
        basis = _orthonormal(np.hstack([Z, _scaled(rest), _scaled(change)]))
        turned, P, values = _ritz(M, basis, size)
        change, Z, sweeps = turned - Z @ (Z.T @ turned), turned, sweeps + 1


def _ritz(M: Array, basis: Array, size: int) -> tuple[Array, Array, Array]:
    """The best `size` directions of a basis: right vectors, left vectors, singular values of M on
    it.
    """
    P, values, Wt = np.linalg.svd(M @ basis, full_matrices=False)
    return basis @ Wt[:size].T, P[:, :size], values[:size]


def _scaled(A: Array) -> Array:
    """Columns of length 1; zero columns are dropped."""
    lengths = np.linalg.norm(A, axis=0)
    keep = lengths > 0.0
    return A[:, keep] / lengths[keep]


def _orthonormal(A: Array) -> Array:
    """An orthonormal basis, twice for the sake of rounding; more columns than rows are cut."""
    Q, _ = np.linalg.qr(A)
    Q, _ = np.linalg.qr(Q)
    return Q

r"""All stationary points of the population risk of a planted quadratic network (GKZ-CENSUS,
GKZ-T2.3).

With eigenvalues $a_1 \ge \dots \ge a_d > 0$ of $A = W^{*T}W^*$, W is stationary iff $W^TW$ has, in
an eigenbasis of A, the eigenvalues $a_i + \tau/(s+2)$ for i in a subset S and 0 elsewhere; $s =
|S|$, $\tau = \sum_{j \notin S}a_j$. Every S but the full one is a strict saddle. Losses as in
`quadratic.risk`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from globalmin._options import one_of
from globalmin._renamed import renamed
from globalmin._types import Array
from globalmin.errors import DataError
from globalmin.quadratic.barrier import require_full_rank
from globalmin.quadratic.risk import (
    gram_difference,
    numerical_rank,
    population_gradient,
    population_risk,
    square_root_of,
)
from globalmin.references import states
from globalmin.shallow.stationary import Escape

LARGEST_COMPLETE = 14  # 2^d rows


@dataclass(frozen=True)
class StationaryPoint:
    r"""One row of the census.

    `subset` are indices into the eigenvalues of A in decreasing order (0-based), `B` is $W^TW$,
    `risk` the population risk, and `least_curvature` the least eigenvalue of the Hessian:
    $-8(\max_{j \notin S}a_j + \tau/(s+2))$, or 0 at the global minimum (flat along its orbit if m
    >= 2).
    """

    subset: tuple[int, ...]
    B: Array
    risk: float
    least_curvature: float

    @property
    def is_global(self) -> bool:
        """Whether it is the global minimum: every eigenvalue kept."""
        return len(self.subset) == self.B.shape[0]


@states("GKZ-CENSUS")
def stationary_census(
    Wstar: Array, subsets: str | Iterable[Iterable[int]] = "all"
) -> list[StationaryPoint]:
    r"""The stationary points, by increasing risk.

    Parameters
    ----------
    Wstar : Array
        Teacher, m x d of rank d.
    subsets : str | Iterable[Iterable[int]]
        "all" ($2^d$ rows, d <= 14), "extremes" (the global minimum, the d that leave out one
        eigenvalue, and W = 0), or the subsets themselves.
    """
    require_full_rank(Wstar)
    a, vectors = np.linalg.eigh(Wstar.T @ Wstar)
    a, vectors = a[::-1], vectors[:, ::-1]
    rows = [_row(a, vectors, subset) for subset in _subsets(a.shape[0], subsets)]
    return sorted(rows, key=lambda row: row.risk)


def _row(a: Array, vectors: Array, subset: tuple[int, ...]) -> StationaryPoint:
    kept = np.zeros(a.shape[0], dtype=bool)
    kept[list(subset)] = True
    tau = float(a[~kept].sum())
    lift = tau / (len(subset) + 2.0)
    B = (vectors * np.where(kept, a + lift, 0.0)) @ vectors.T
    risk = 2.0 * (float(a[~kept] @ a[~kept]) + tau * lift)
    curvature = 0.0 if kept.all() else -8.0 * (float(a[~kept].max()) + lift)
    return StationaryPoint(subset, B, risk, curvature)


def _subsets(d: int, subsets: str | Iterable[Iterable[int]]) -> list[tuple[int, ...]]:
    everything = tuple(range(d))
    if isinstance(subsets, str):
        remedy = f"or give subsets of 0..{d - 1}"
        if one_of("subsets", subsets, ("all", "extremes"), remedy=remedy) == "extremes":
            but_one = (tuple(j for j in everything if j != i) for i in everything)
            return list(dict.fromkeys([everything, *but_one, ()]))
        if d > LARGEST_COMPLETE:
            raise DataError(
                f"the census of d={d} has 2^{d} rows; ask for subsets='extremes' or list the "
                "subsets"
            )
        return [chosen for size in range(d + 1) for chosen in combinations(everything, size)]
    chosen = [tuple(sorted(set(subset))) for subset in subsets]
    if any(index < 0 or index >= d for subset in chosen for index in subset):
        raise DataError(f"subsets must consist of indices from 0 to {d - 1}")
    return chosen


def stationary_weights(point: StationaryPoint, width: int) -> Array:
    r"""A W with `width` >= d rows and $W^TW$ = B."""
    if width < point.B.shape[0]:
        raise DataError(f"width={width} must be at least d={point.B.shape[0]}")
    return square_root_of(point.B, width)


@states("GKZ-T2.3", "GKZ-CENSUS")
@renamed(tolerance="tol")
def classify_stationary(W: Array, Wstar: Array, *, tol: float = 1e-8) -> str:
    r"""Which of "global minimum", "strict saddle", "not stationary" W is for the population risk,
    teacher of rank d.

    Theory
    ------
    GKZ-T2.3: a stationary W of rank d is a global minimum; GKZ-CENSUS: every other stationary W is
    a strict saddle. `tol` bounds the gradient relative to $\|W\|\,\|A\|$ and the risk
    relative to that of W = 0.
    """
    require_full_rank(Wstar)
    zero_risk = population_risk(np.zeros_like(W), Wstar)
    if population_risk(W, Wstar) <= tol**2 * zero_risk:
        return "global minimum"
    scale = 8.0 * float(np.linalg.norm(W)) * float(np.linalg.norm(Wstar)) ** 2
    if float(np.linalg.norm(population_gradient(W, Wstar))) > tol * scale:
        return "not stationary"
    return (
        "strict saddle"
        if numerical_rank(W) < W.shape[1] or population_risk(W, Wstar) > tol * zero_risk
        else "global minimum"
    )


@states("GKZ-CENSUS")
def population_escape(W: Array, Wstar: Array) -> Escape | None:
    r"""At a rank-deficient W: $V = uq^T$ with u orthogonal to the range of W and q the least
    eigenvector of D; curvature $8\lambda_{\min}(D) + 4\,\mathrm{tr}D$.

    At the stationary points of the census this is the least eigenvalue of the Hessian of the
    population risk. None if W has full row rank or the curvature is not negative.
    """
    left, singular, _ = np.linalg.svd(W)
    tolerance = (
        max(W.shape) * np.finfo(np.float64).eps * max(float(singular[0]), np.finfo(np.float64).tiny)
    )
    rank = int((singular > tolerance).sum())
    if rank == W.shape[0]:
        return None
    D = gram_difference(W, Wstar)
    eigenvalues, vectors = np.linalg.eigh(D)
    curvature = 8.0 * float(eigenvalues[0]) + 4.0 * float(np.trace(D))
    return (
        Escape(np.outer(left[:, -1], vectors[:, 0]), None, curvature, "closed form")
        if curvature < 0
        else None
    )

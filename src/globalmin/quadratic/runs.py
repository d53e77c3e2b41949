r"""Runs that exercise the theorems about quadratic networks with a teacher (GKZ, which has no
experiments of its own).

Risks as in `theory.quadratic_risk`; every draw is seeded.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from globalmin._types import Array, NDArray
from globalmin.errors import DataError
from globalmin.quadratic.barrier import barrier, barrier_constant
from globalmin.quadratic.census import classify_stationary, stationary_census
from globalmin.quadratic.design import population_samples
from globalmin.quadratic.identifiability import critical_samples, exact_span_rank
from globalmin.quadratic.initialization import identity_start, start_margin
from globalmin.quadratic.many_starts import QuadraticLoss, descend, random_starts
from globalmin.quadratic.risk import population_risk, quadratic_outputs
from globalmin.references import states
from globalmin.shallow.network import ShallowNetwork
from globalmin.shallow.stationary import nearest_stationary

if TYPE_CHECKING:
    from collections.abc import Sequence


def conditioned_teacher(d: int, width: int, *, seed: int = 0, spread: float = 2.0) -> Array:
    """A random teacher, `width` x d, with singular values evenly spaced from 1 to `spread`."""
    if not 1 <= d <= width or not spread >= 1:
        raise DataError(
            f"d={d}, width={width}, spread={spread} must satisfy 1 <= d <= width and spread >= 1"
        )
    rng = np.random.default_rng(seed)
    left, right = (np.linalg.qr(rng.standard_normal((size, d)))[0] for size in (width, d))
    return (left * np.linspace(1.0, spread, d)) @ right.T


@dataclass(frozen=True)
class BarrierSearch:
    r"""Risks (over $\sigma^4$) at which descent over rank d - 1 ended, against the `exact` constant
    $2(d+2)/(d+1)$.
    """

    d: int
    values: Array
    exact: float


@states("GKZ-X1")
def barrier_search(
    d: int, *, starts: int = 20, seed: int = 0, max_iter: int = 20_000
) -> BarrierSearch:
    r"""Minimize the population risk over networks of d - 1 neurons from random starts: nothing ends
    below the exact barrier.
    """
    Wstar = conditioned_teacher(d, d, seed=seed)  # sigma = 1
    exact = barrier_constant(d)
    if d == 1:
        return BarrierSearch(d, np.full(starts, population_risk(np.zeros((1, 1)), Wstar)), exact)
    loss = QuadraticLoss.of_teacher(Wstar, d - 1)
    runs = descend(
        loss,
        random_starts(starts, d - 1, d, scales=(0.1, 1.0), seed=seed + 1),
        target=0.5 * barrier(Wstar),
        tol=1e-10,
        max_iter=max_iter,
    )
    return BarrierSearch(d, np.array([population_risk(W, Wstar) for W in runs.W]), exact)


@dataclass(frozen=True)
class PlateauHeights:
    """Risks of the saddles next to which descent from small starts rests, for each the nearest
    value of the census, and whether every run reached zero risk in the end.
    """

    risks: Array
    census: Array
    reached: NDArray[np.bool_] = field(repr=False)


@states("GKZ-X2", "GKZ-CENSUS")
def plateau_heights(
    Wstar: Array, *, starts: int = 20, scale: float = 1e-6, seed: int = 0
) -> PlateauHeights:
    """Descent on the population risk from tiny random weights: it rests near saddles, whose heights
    are those of the census.

    Every plateau is followed to the stationary point nearby; those that lead to the global minimum
    are left out.
    """
    m, d = Wstar.shape
    runs = descend(
        QuadraticLoss.of_teacher(Wstar, m),
        random_starts(starts, m, d, scales=(scale, scale), seed=seed),
        plateaus=d,
    )
    X = population_samples(d)
    y = quadratic_outputs(Wstar, X)
    points = [
        nearest_stationary(ShallowNetwork(plateau.W, np.ones(m), "quadratic"), X, y)
        for plateau in runs.plateaus
    ]
    kept = [point.W for point in points if classify_stationary(point.W, Wstar) == "strict saddle"]
    values = np.array([row.risk for row in stationary_census(Wstar) if not row.is_global])
    risks = np.array([population_risk(W, Wstar) for W in kept])
    nearest = (
        values[np.argmin(np.abs(risks[:, None] - values[None, :]), axis=1)] if risks.size else risks
    )
    return PlateauHeights(risks, nearest, runs.reached)


@dataclass(frozen=True)
class SampleTransition:
    """One row of the transition: with n samples, is the rank full, and what do networks fitted by
    descent cost in population?
    """

    n: int
    is_critical: bool
    training: Array
    population: Array


@states("GKZ-X3", "GKZ-T2.9a")
def sample_transition(
    d: int, samples: Sequence[int], *, draws: int = 5, seed: int = 0, max_iter: int = 20_000
) -> list[SampleTransition]:
    """Fit planted labels by descent from random starts for several n: below d(d+1)/2 the fit is
    wrong elsewhere, above it is not.

    Returns relative numbers: the training loss over that of W = 0, and the population risk over
    that of W = 0.
    """
    return [_transition(d, int(n), draws, seed, max_iter) for n in samples]


def _transition(d: int, n: int, draws: int, seed: int, max_iter: int) -> SampleTransition:
    training, population, full = [], [], True
    for draw in range(draws):
        rng = np.random.default_rng((seed, n, draw))
        X, Wstar = rng.standard_normal((n, d)), conditioned_teacher(d, d, seed=seed + draw)
        full &= exact_span_rank(X)[0] == critical_samples(d)
        loss = QuadraticLoss.of_data(X, quadratic_outputs(Wstar, X), np.ones(d))
        runs = descend(
            loss,
            random_starts(1, d, d, scales=(0.5, 0.5), seed=seed + draw),
            target=0.0,
            max_iter=max_iter,
        )
        training.append(max(float(runs.losses[0]), 0.0) / loss.c)
        population.append(
            population_risk(runs.W[0], Wstar) / population_risk(np.zeros_like(Wstar), Wstar)
        )
    return SampleTransition(n, full, np.array(training), np.array(population))


@states("GKZ-X4", "GKZ-T2.5")
def start_shares(
    d: int,
    constants: Sequence[float],
    *,
    scale: str | float = "paper",
    draws: int = 20,
    seed: int = 0,
) -> dict[float, float]:
    r"""Share of Gaussian teachers of $m = Cd^2$ neurons for which the identity start is below the
    exact barrier, for each C.

    `scale` as in `identity_start`; "data" reads the scale from 200 d labels.
    """
    shares: dict[float, float] = {}
    for C in constants:
        m = max(round(C * d * d), d)
        below = 0
        for draw in range(draws):
            rng = np.random.default_rng((seed, m, draw))
            Wstar = rng.standard_normal((m, d))
            y = (
                quadratic_outputs(Wstar, rng.standard_normal((200 * d, d)))
                if scale == "data"
                else None
            )
            below += start_margin(identity_start(m, d, scale=scale, y=y), Wstar) < 1.0
        shares[float(C)] = below / draws
    return shares

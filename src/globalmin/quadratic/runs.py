r"""Runs that exercise the theorems about quadratic networks with a teacher (GKZ, which has no
experiments of its own).

Risks as in `quadratic.risk`; every draw is seeded.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from globalmin._types import Array, NDArray
from globalmin.errors import DataError
from globalmin.quadratic.barrier import barrier_constant, identity_start, start_margin
from globalmin.quadratic.census import classify_stationary, stationary_census
from globalmin.quadratic.identifiability import critical_samples, exact_span_rank
from globalmin.quadratic.many_starts import QuadraticLoss, descend, random_starts
from globalmin.quadratic.risk import population_risk, quadratic_outputs
from globalmin.references import states
from globalmin.shallow.network import ShallowNetwork
from globalmin.shallow.stationary import nearest_stationary

if TYPE_CHECKING:
    from collections.abc import Sequence


RISK_FACTOR = 0.25
"""The loss $(1/2)\\sum_i r_i^2$ on `population_samples` is this times the population risk of GKZ
(which has no 1/2).
"""
BITS = (3, 7, 11)  # the array has 2^m rows of entries +-2^(-(m+1)/4), exact for these m


@states("GKZ-R1", "GKZ-R4")
def population_samples(d: int) -> Array:
    r"""Samples with $S^TS = \frac12(2I + uu^T)$ exactly: the loss on them is a quarter of the
    population risk.

    Parameters
    ----------
    d : int
        Number of features, 1 to 38.

    Returns
    -------
    Array
        n x d, n = d + 8, d + 128 or d + 2048 for d up to 3, 11, 38; every entry is a power of two
        up to sign, or zero.

    Theory
    ------
    GKZ-R4: E F = 2I + uu^T is all that the population risk (GKZ-R1) knows of the inputs. Columns of
    the array are characters $(-1)^{t \cdot c_j}$; four distinct ones multiply to a nontrivial
    character, whose sum is zero, if no four of the $c_j$ are dependent over the field of two
    elements.

    Examples
    --------
    >>> X = population_samples(2)
    >>> X.shape, float((X[:, 0] ** 4).sum()), float((X[:, 0] ** 2 * X[:, 1] ** 2).sum())
    ((10, 2), 1.5, 0.5)
    """
    if isinstance(d, bool) or not isinstance(d, int | np.integer) or d < 1:
        raise DataError(f"d={d!r} must be an integer of at least 1")
    for bits in BITS:
        codes = independent_codes(bits, int(d))
        if codes is not None:
            break
    else:
        raise DataError(
            f"d={d} features need more than 2^{BITS[-1]} samples of signs; use at most 38 features"
        )
    parity = np.bitwise_count(np.arange(2**bits)[:, None] & codes[None, :]) % 2
    return np.vstack([np.eye(d), 2.0 ** (-(bits + 1) / 4) * (1.0 - 2.0 * parity)])


def independent_codes(bits: int, count: int) -> NDArray[np.int64] | None:
    """The least `count` bit vectors of which no four are dependent (sums of at most four are not
    zero), or None if they end.

    >>> independent_codes(3, 3).tolist(), independent_codes(3, 4)
    ([1, 2, 4], None)
    """
    size = 2**bits
    everything = np.arange(size)
    forbidden = np.zeros(size, dtype=bool)  # sums of at most three
    forbidden[0] = True
    codes, pairs = [0], np.array([0])  # zero stands for "fewer terms"
    while len(codes) <= count:
        free = everything[~forbidden]
        if not free.size:
            return None
        new = int(free[0])
        forbidden[new ^ pairs] = True
        codes.append(new)
        pairs = np.unique(np.concatenate([pairs, new ^ np.array(codes)]))
        forbidden[(pairs[:, None] ^ np.array(codes)[None, :]).ravel()] = True
    return np.array(codes[1:], dtype=np.int64)


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
    r"""Minimize the population risk over networks of d - 1 neurons from random starts, by L-BFGS
    that knows no barrier: nothing ends below the exact one.
    """
    from scipy.optimize import minimize

    Wstar = conditioned_teacher(d, d, seed=seed)  # sigma = 1
    exact = barrier_constant(d)
    if d == 1:
        return BarrierSearch(d, np.full(starts, population_risk(np.zeros((1, 1)), Wstar)), exact)
    loss, shape = QuadraticLoss.of_teacher(Wstar, d - 1), (1, d - 1, d)

    def value_and_gradient(w: Array) -> tuple[float, Array]:
        values, gradients = loss.value_and_gradient(w.reshape(shape))
        return float(values[0]), gradients.reshape(-1)

    first = random_starts(starts, d - 1, d, scales=(0.1, 1.0), seed=seed + 1)
    options = {"maxiter": max_iter, "maxfun": 10 * max_iter, "ftol": 0.0, "gtol": 1e-9}
    ends = [
        minimize(value_and_gradient, W.reshape(-1), jac=True, method="L-BFGS-B", options=options).x
        for W in first
    ]
    risks = [population_risk(np.asarray(end).reshape(shape[1:]), Wstar) for end in ends]
    return BarrierSearch(d, np.array(risks), exact)


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
    wrong elsewhere, from there on it is not.

    Every fit is finished: the end of descent is led to zero training loss by Levenberg-Marquardt
    (at n = d(d+1)/2 descent alone takes very long). Returns relative numbers: the training loss
    over that of W = 0, and the population risk over that of W = 0.
    """
    return [_transition(d, int(n), draws, seed, max_iter) for n in samples]


def _transition(d: int, n: int, draws: int, seed: int, max_iter: int) -> SampleTransition:
    training, population, full = [], [], True
    for draw in range(draws):
        rng = np.random.default_rng((seed, n, draw))
        X, Wstar = rng.standard_normal((n, d)), conditioned_teacher(d, d, seed=seed + draw)
        full &= exact_span_rank(X)[0] == critical_samples(d)
        y = quadratic_outputs(Wstar, X)
        runs = descend(
            QuadraticLoss.of_data(X, y, np.ones(d)),
            random_starts(1, d, d, scales=(0.5, 0.5), seed=seed + draw),
            target=0.0,
            max_iter=max_iter,
        )
        W = interpolated(runs.W[0], X, y)
        r = quadratic_outputs(W, X) - y
        training.append(float(r @ r) / float(y @ y))
        population.append(population_risk(W, Wstar) / population_risk(np.zeros_like(Wstar), Wstar))
    return SampleTransition(n, full, np.array(training), np.array(population))


@states("GKZ-X3")
def interpolated(W: Array, X: Array, y: Array, *, max_iter: int = 500, tol: float = 1e-30) -> Array:
    r"""Levenberg-Marquardt from W, least steps, until $\sum_ir_i^2$ is below `tol` times
    $\sum_iy_i^2$ or no step lowers it; head 1.
    """
    r, damping = quadratic_outputs(W, X) - y, 1e-3
    for _ in range(max_iter):
        if float(r @ r) <= tol * float(y @ y) or damping > 1e12:
            break
        J = (2.0 * (X @ W.T)[:, :, None] * X[:, None, :]).reshape(len(X), -1)
        gram = J @ J.T
        shift = damping * max(float(np.trace(gram)) / len(X), np.finfo(np.float64).tiny)
        move = J.T @ np.linalg.solve(gram + shift * np.eye(len(X)), r)
        trial = W - move.reshape(W.shape)
        miss = quadratic_outputs(trial, X) - y
        lower = float(miss @ miss) < float(r @ r)
        W, r = (trial, miss) if lower else (W, r)
        damping = max(damping / 10.0, 1e-14) if lower else damping * 10.0
    return W


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

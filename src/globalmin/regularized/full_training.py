r"""Training of ReLU networks whose neurons see all columns: neurons are added where the dual
constraint is violated (column generation with local search), all weights are polished together by
L-BFGS, and neurons that can be one are merged.

The objective is not convex in the weights, and nothing here is a proof. How far the result is from
the global minimum is said by the dual bound alone.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from globalmin._types import Array
from globalmin.regularized.design import Design
from globalmin.regularized.directions import steepest_directions
from globalmin.regularized.network import RegularizedNetwork
from globalmin.regularized.objective import RegularizedProblem, objective

ROUNDS = 25
_NEW_NEURONS = 6  # per round
_VIOLATION = 1e-6  # of b, above which a direction is worth a neuron
_ALIKE = 0.999  # cosine of directions of which one is enough
_NEGLIGIBLE = 1e-9  # of the largest neuron
_WIDTHS = (0.3, 0.03, 0.003, 0.0003)  # of the envelopes of losses with kinks, one after the other
_HUGE = 1e150


@dataclass(frozen=True)
class Polish:
    """How far all weights are improved together: the relative decrease of the objective at which
    L-BFGS ends, its iterations in a round of new neurons and after the last one, its memory.
    """

    decrease: float = 1e-15
    in_a_round: int = 300
    at_the_end: int = 3000
    corrections: int = 30


TO_THE_END = Polish()
# for held-out losses: objectives about 1e-4 too high, a tenth of the time
ROUGH = Polish(1e-8, at_the_end=300, corrections=10)


@dataclass(frozen=True)
class Weights:
    """Hidden weights W (k x p), head v (k) and linear part c (r)."""

    W: Array
    v: Array
    c: Array

    def flat(self) -> Array:
        """One vector."""
        return np.concatenate([self.W.ravel(), self.v, self.c])

    def like(self, x: Array) -> Weights:
        """The weights in a vector of `flat`."""
        k, p = self.W.shape
        return Weights(x[: k * p].reshape(k, p), x[k * p : k * p + k], x[k * p + k :])


def train_full(
    problem: RegularizedProblem,
    *,
    starts: int = 2,
    seed: int = 0,
    start: RegularizedNetwork | None = None,
    max_rounds: int = ROUNDS,
    max_seconds: float = 20.0,
    polish: Polish = TO_THE_END,
) -> RegularizedNetwork:
    """A network with a low objective, of the width it needs.

    Parameters
    ----------
    problem : rows, labels, loss and penalty; groups "all".
    starts : 1 begins without neurons; every further one with random neurons; 0 needs `start`.
    seed : of the random neurons and of the local search.
    start : a network to begin with, besides.
    max_rounds : rounds of new neurons, per start.
    max_seconds : no round begins later.
    polish : how far the weights are improved.
    """
    design = Design.of(problem)
    rng = np.random.default_rng(seed)
    deadline = time.perf_counter() + max_seconds
    smooth = 0.0 if problem.loss.smoothed(1.0) is problem.loss else 1.0
    firsts = [without_neurons(design)][:starts]
    firsts += [_random(design, rng) for _ in range(starts - 1)]
    firsts += [] if start is None else [Weights(*design.parameters(start))]
    best, least = design.network(*_unpacked(without_neurons(design))), np.inf
    for first in firsts:
        if np.isfinite(least) and time.perf_counter() > deadline:
            break
        weights = first
        for width in _WIDTHS if smooth else (0.0,):
            smoothed = design.smoothed(width * _scale(problem)) if width else design
            weights = _generated(
                smoothed, weights, rng, max_rounds=max_rounds, deadline=deadline, polish=polish
            )
        network = design.network(*_unpacked(weights))
        value = objective(network, problem)
        if value < least:
            best, least = network, value
    return best


def _unpacked(weights: Weights) -> tuple[Array, Array, Array]:
    return weights.W, weights.v, weights.c


def least_width(problem: RegularizedProblem) -> float:
    """Width of the last envelope that a loss with kinks is trained with; its derivative at the
    outputs is a dual vector.
    """
    return _WIDTHS[-1] * _scale(problem)


def _scale(problem: RegularizedProblem) -> float:
    """Size of the labels, the unit of an envelope's width."""
    return 1.0 if problem.loss.labels == "signs" else max(float(problem.y.std()), 1e-12)


def without_neurons(design: Design) -> Weights:
    """The best network that has no neurons: its intercept and linear part."""
    p, r = design.Z.shape[1], design.F.shape[1]
    return polished(design, Weights(np.zeros((0, p)), np.zeros(0), np.zeros(r)), TO_THE_END, 1000)


def _random(design: Design, rng: np.random.Generator) -> Weights:
    """Neurons in random directions, large enough to move."""
    p = design.Z.shape[1]
    k = min(4 * p, 60)
    base = without_neurons(design)
    loss = abs(float(design.loss_terms(design.F @ base.c)[0].sum()))
    size = np.sqrt(0.5 * loss / (design.b * k)) * 0.3
    W = rng.standard_normal((k, p)) / np.sqrt(p) * size
    return Weights(W, size * rng.choice([-1.0, 1.0], k), base.c)


def _generated(
    design: Design,
    weights: Weights,
    rng: np.random.Generator,
    *,
    max_rounds: int,
    deadline: float,
    polish: Polish,
) -> Weights:
    """Rounds of new neurons, until no direction violates the dual constraint or no time is left."""
    weights = tidied(design, polished(design, weights, polish, polish.in_a_round))
    value = _value(design, weights)
    for _ in range(max_rounds):
        if time.perf_counter() > deadline:
            break
        wider = _with_new_neurons(design, weights, rng)
        if wider is None:
            break
        candidate = tidied(design, polished(design, wider, polish, polish.in_a_round))
        reached = _value(design, candidate)
        gain, value = value - reached, min(value, reached)
        weights = candidate if gain > 0 else weights
        if gain < 1e-8 * abs(value):
            break
    return tidied(design, polished(design, weights, polish, polish.at_the_end))


def _with_new_neurons(design: Design, weights: Weights, rng: np.random.Generator) -> Weights | None:
    """The network with small neurons in violated directions, or None if there are none."""
    _, u, bend = design.loss_terms(_outputs(design, weights))
    directions, sums = steepest_directions(design, u, rng, weights.W)
    chosen: list[int] = []
    sizes = np.linalg.norm(directions, axis=1)
    for j in np.flatnonzero(np.abs(sums) > design.b * (1.0 + _VIOLATION)):
        cosines = directions[chosen] @ directions[j] / (sizes[chosen] * sizes[j])
        if not (cosines * np.sign(sums[chosen]) * np.sign(sums[j]) > _ALIKE).any():
            chosen.append(int(j))
        if len(chosen) == _NEW_NEURONS:
            break
    if not chosen:
        return None
    new, g = directions[chosen], sums[chosen]
    hidden = np.maximum(design.Z @ new.T, 0.0)
    # the step along one neuron that the second derivative of the loss allows, shared by all
    curvature = bend @ np.square(hidden) + 1e-12 * np.square(hidden).sum(axis=0) + 1e-300
    amount = np.sqrt((np.abs(g) - design.b) / curvature / len(chosen))
    return Weights(
        np.vstack([weights.W, amount[:, None] * new]),
        np.concatenate([weights.v, -np.sign(g) * amount]),
        weights.c,
    )


def polished(design: Design, weights: Weights, polish: Polish, max_iter: int) -> Weights:
    """All weights improved together by L-BFGS."""
    if not weights.flat().size:
        return weights
    from scipy.optimize import minimize

    found = minimize(
        lambda x: _value_and_slope(design, weights.like(x)),
        weights.flat(),
        jac=True,
        method="L-BFGS-B",
        options={
            "maxiter": max_iter,
            "maxfun": 2 * max_iter,
            "maxcor": polish.corrections,
            "ftol": polish.decrease,
            "gtol": 1e-9 * max(design.b, 1e-12),
        },
    )
    reached = weights.like(np.asarray(found.x))
    return reached if np.isfinite(found.fun) else weights


def _outputs(design: Design, weights: Weights) -> Array:
    return design.F @ weights.c + np.maximum(design.Z @ weights.W.T, 0.0) @ weights.v


def _value(design: Design, weights: Weights) -> float:
    return _value_and_slope(design, weights)[0]


def _value_and_slope(design: Design, weights: Weights) -> tuple[float, Array]:
    """The objective and its gradient in the order of `Weights.flat`."""
    hidden = np.maximum(design.Z @ weights.W.T, 0.0)
    losses, u, _ = design.loss_terms(design.F @ weights.c + hidden @ weights.v)
    losses, u = np.minimum(losses, _HUGE), np.minimum(u, _HUGE)  # Poisson's may overflow on the way
    decayed = weights.W * design.decayed
    value = float(losses.sum()) + 0.5 * design.b * float(
        np.sum(decayed * decayed) + weights.v @ weights.v
    )
    value += 0.5 * float(design.ridge @ np.square(weights.c))
    active = (hidden > 0.0) * u[:, None]
    slope = Weights(
        (active.T @ design.Z) * weights.v[:, None] + design.b * decayed,
        hidden.T @ u + design.b * weights.v,
        design.F.T @ u + design.ridge * weights.c,
    )
    return value, slope.flat()


def tidied(design: Design, weights: Weights) -> Weights:
    """Without neurons that do nothing, those of one pattern merged, |w| = |v|."""
    weights = merged(design, _balanced(design, weights))
    mass = np.abs(weights.v) * np.linalg.norm(weights.W * design.decayed, axis=1)
    keep = mass > _NEGLIGIBLE * mass.max(initial=0.0)
    return _balanced(design, Weights(weights.W[keep], weights.v[keep], weights.c))


def _balanced(design: Design, weights: Weights) -> Weights:
    """The same function with the least penalty: |w| = |v| for every neuron."""
    norms = np.linalg.norm(weights.W * design.decayed, axis=1)
    is_used = (norms > 0) & (weights.v != 0)
    t = np.sqrt(np.abs(weights.v[is_used]) / norms[is_used])
    return Weights(weights.W[is_used] * t[:, None], weights.v[is_used] / t, weights.c)


def merged(design: Design, weights: Weights) -> Weights:
    """Neurons of one sign that are active on the same rows, as one: the same outputs at the rows,
    and by the triangle inequality no larger penalty.
    """
    parts = np.abs(weights.v)[:, None] * weights.W
    signs = np.sign(weights.v)
    t = design.Z @ parts.T
    kept: list[int] = []
    for j in np.argsort(-np.linalg.norm(parts, axis=1)):
        for k in kept:
            if signs[k] == signs[j] and not (t[:, k] * t[:, j] < 0.0).any():
                parts[k] += parts[j]
                t[:, k] += t[:, j]
                break
        else:
            kept.append(int(j))
    size = np.sqrt(np.linalg.norm(parts[kept] * design.decayed, axis=1))
    size = np.where(size > 0, size, 1.0)
    return Weights(parts[kept] / size[:, None], signs[kept] * size, weights.c)

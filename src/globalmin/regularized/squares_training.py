r"""Networks of squares trained to the global minimum of any convex loss with weight decay.

The problem in A is convex, the factored one in $A = \sum_l s_l\,a_la_l^T$ is smooth and small.
Newton's method with a trust region descends in the factors; the eigenvectors of
$Z(u) = \sum_i u_i z_iz_i^T$ beyond the threshold are new neurons; and the gap to the floor of
theorem R5 says when to stop, whatever descent did.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from globalmin._types import Array
from globalmin.losses import Loss
from globalmin.regularized.dual import centered, floor_of, saturated, scaled
from globalmin.regularized.objective import RegularizedProblem, objective
from globalmin.regularized.squares import (
    SquaresNetwork,
    SquaresPenalty,
    factored_spectrum,
    network_of_spectrum,
    rows_of_network,
    rows_with_bias,
    squares_penalty,
)
from globalmin.regularized.squares_descent import SquaresFactors, descend
from globalmin.regularized.squares_spectrum import outermost, spectrum_ends

_ENVELOPES = tuple(
    10.0 ** (-k / 2) for k in range(2, 16)
)  # widths for losses with kinks, of the residuals
_FAR = 30.0  # stands for an infinite best constant
_MERGED = 1e-12  # of the largest eigenvalue: smaller neurons are dropped between the rounds
_NEGLIGIBLE = 1e-14  # of the objective: neurons that cost less are left out
_POLISH = 1e-5  # of the gap: what the gradient of the result may cost
_INWARD = 1.0 - 2.0**-30  # makes room for the rounding of a sum
# of the largest excess: weaker eigenvectors are no new neurons. Of many columns they wait, and
# mostly vanish meanwhile; if the gap does not fall without them, they are taken too.
_WEAK, _STRONG, _MANY = 1e-3, 0.3, 200
_STALLED = 4  # rounds in a row without a smaller gap end training


@dataclass(frozen=True, eq=False)
class SquaresRun:
    """What training found; `prove(run.network, run.problem, run=run)` proves the gap.

    Attributes
    ----------
    problem : RegularizedProblem
        What was minimized.
    network : SquaresNetwork
        The network, one neuron per eigenvalue of its matrix.
    u : Array
        The dual vector.
    floor : float
        Its value D(u), in floats.
    n_iter : int
        Rounds of new neurons.
    """

    problem: RegularizedProblem
    network: SquaresNetwork
    u: Array
    floor: float
    n_iter: int

    @property
    def objective(self) -> float:
        """The value P of the network, in floats."""
        return objective(self.network, self.problem)

    @property
    def relative_gap(self) -> float:
        """The distance to the floor as a share of the objective above what no model undercuts."""
        value = self.objective
        scale = value - saturated(self.problem)
        return max(value - self.floor, 0.0) / scale if scale > 0 else 0.0


def train_squares(
    problem: RegularizedProblem,
    *,
    gap: float = 1e-8,
    max_iter: int = 100,
    start: SquaresNetwork | None = None,
) -> SquaresRun:
    """Train a network of squares to the global minimum over every width, up to a relative gap.

    Parameters
    ----------
    problem : RegularizedProblem
        Rows, labels and loss, with a `SquaresPenalty` and groups="all".
    gap : float
        The share of the objective at which training ends, in floats; `prove` proves it.
    max_iter : int
        Rounds of new neurons at most (for each envelope of a loss with kinks).
    start : SquaresNetwork | None
        A network to start from, such as that of a neighboring decay.

    Examples
    --------
    >>> problem = RegularizedProblem(
    ...     [[1.0]], [1.0], SquaresPenalty(1.0, hidden_bias="none", intercept="none"), groups="all"
    ... )
    >>> run = train_squares(problem)
    >>> round(run.objective, 6), round(run.floor, 6)  # A = 1/2: (A - 1)^2/2 + A/2
    (0.375, 0.375)
    """
    penalty = squares_penalty(problem)
    Z = rows_with_bias(problem)
    factors = _first(problem) if start is None else _factors_of(start, penalty)
    runs: list[SquaresRun] = []
    for loss in _stages(problem, factors):
        stage = replace(problem, loss=loss)
        factors, rounds = _solve(stage, Z, factors, 0.5 * gap, max_iter)
        earlier = runs[-1].n_iter if runs else 0
        runs.append(_run(problem, stage, Z, factors, earlier + rounds))
        if runs[-1].relative_gap <= gap:
            break
    return min(runs, key=lambda run: run.relative_gap)


def squares_path(
    problem: RegularizedProblem, decays: Sequence[float], *, gap: float = 1e-4
) -> Iterator[SquaresRun]:
    """The networks at decreasing weight decays, each started from the one before."""
    start: SquaresNetwork | None = None
    for decay in decays:
        penalty = replace(problem.penalty, weight_decay=float(decay))
        run = train_squares(replace(problem, penalty=penalty), gap=gap, start=start)
        start = run.network
        yield run


def largest_squares_decay(problem: RegularizedProblem) -> float:
    """The least weight decay, in floats, from which on the best network has no neurons; that of
    `problem` does not matter. Zero for labels that are all alike.
    """
    penalty = squares_penalty(problem)
    smooth = replace(problem, loss=problem.loss.smoothed(1e-6))
    u = balanced(problem, _slopes(smooth, _best_constant(smooth, _first(problem).intercept)))
    return 2.0 * penalty.v_max * height(rows_with_bias(problem), u, penalty)


def _slopes(problem: RegularizedProblem, constant: float) -> Array:
    f = np.full_like(problem.y, constant)
    return problem.weights * problem.loss.derivative(f, problem.y)


def _best_constant(problem: RegularizedProblem, near: float) -> float:
    """Where the summed slope of a smooth loss changes its sign, by bisection within 1 of `near`:
    there the best constant of a loss with kinks gives a vector of sum zero.
    """
    if problem.penalty.intercept != "free":
        return near
    low, high = near - 1.0, near + 1.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if _slopes(problem, middle).sum() > 0 else (middle, high)
    return 0.5 * (low + high)


def height(Z: Array, u: Array, penalty: SquaresPenalty) -> float:
    """The least a with aI + Z(u) >= 0 and, for heads of both signs, aI - Z(u) >= 0, in floats."""
    low, high = spectrum_ends(Z, u)
    return max(-low, high if penalty.heads == "any" else 0.0, 0.0)


def balanced(problem: RegularizedProblem, u: Array) -> Array:
    """The vector moved to sum zero where that is asked for, after a step toward zero if all entries
    are at the ends of their domains; zeros, which are feasible always, where both fail.
    """
    if np.isfinite(u).all():
        for share in (1.0, _INWARD):
            moved = centered(problem, share * u)
            if moved is not None:
                return moved
    return np.zeros_like(u)


def feasible(problem: RegularizedProblem, Z: Array, f: Array) -> tuple[float, Array]:
    """The floor in floats and its vector: the weighted derivative of the loss at the outputs f,
    balanced and scaled.
    """
    penalty = squares_penalty(problem)
    u = balanced(problem, problem.weights * problem.loss.derivative(f, problem.y))
    top = height(Z, u, penalty) / penalty.threshold * penalty.weight_decay
    return scaled(problem, u, top)


def _first(problem: RegularizedProblem) -> SquaresFactors:
    """No neurons, and the best constant."""
    p = problem.X.shape[1] + (problem.penalty.hidden_bias == "penalized")
    c = 0.0
    if problem.penalty.intercept == "free":
        used = problem.weights > 0
        c = problem.loss.constant(problem.y[used], problem.weights[used])
    return SquaresFactors(np.zeros((0, p)), np.zeros(0), float(np.clip(c, -_FAR, _FAR)))


def _factors_of(network: SquaresNetwork, penalty: SquaresPenalty) -> SquaresFactors:
    rows, signs = rows_of_network(network, penalty)
    found = SquaresFactors(rows, signs, network.intercept).merged()
    kept = (found.signs > 0) | (penalty.heads == "any")
    return SquaresFactors(found.rows[kept], found.signs[kept], found.intercept)


def _stages(problem: RegularizedProblem, factors: SquaresFactors) -> Iterator[Loss]:
    """The loss itself, or envelopes of decreasing width if it has kinks."""
    if problem.loss.smoothed(1.0) == problem.loss:
        yield problem.loss
        return
    spread = float(np.abs(problem.y - factors.intercept).mean()) or 1.0
    for share in _ENVELOPES:
        yield problem.loss.smoothed(share * spread)


def _solve(
    problem: RegularizedProblem, Z: Array, factors: SquaresFactors, gap: float, max_iter: int
) -> tuple[SquaresFactors, int]:
    """Rounds of new neurons and descent for a smooth loss, until the gap is small or stays."""
    low = saturated(problem)
    best, least, stalled = factors, math.inf, 0
    for count in range(max_iter):
        f = factors.outputs(Z)
        value = _value(problem, f, factors)
        distance = value - feasible(problem, Z, f)[0]
        stalled = 0 if distance < 0.9 * least else stalled + 1
        if distance < least:
            best, least = factors, distance
        if distance <= gap * (value - low) or stalled >= _STALLED:
            # Newton's steps are quick here: the fitted values get more digits than the gap needs
            return descend(problem, Z, best, _POLISH * gap * (value - low)), count
        weakest = _WEAK if stalled or Z.shape[1] < _MANY else _STRONG
        factors = _with_new(problem, Z, factors, f, weakest)
        goal = 0.01 * min(distance, max(gap * (value - low), 1e-3 * distance))
        factors = descend(problem, Z, factors, goal)
        factors = factors.merged(_MERGED)
    return factors, max_iter


def _value(problem: RegularizedProblem, f: Array, factors: SquaresFactors) -> float:
    used = problem.weights > 0
    losses = problem.loss.value(f[used], problem.y[used])
    penalty = squares_penalty(problem).threshold * float(np.sum(np.square(factors.rows)))
    return float(problem.weights[used] @ losses) + penalty


def _with_new(
    problem: RegularizedProblem, Z: Array, factors: SquaresFactors, f: Array, weakest: float
) -> SquaresFactors:
    """A step along the eigenvectors of Z(u) beyond the threshold, as long as the convex objective
    falls; the same factors where there is none.
    """
    penalty, loss, weight = squares_penalty(problem), problem.loss, problem.weights
    u = weight * loss.derivative(f, problem.y)
    spectrum, vectors = outermost(Z, u)
    excess = np.maximum(np.abs(spectrum) - penalty.threshold, 0.0)
    if penalty.heads == "nonnegative":
        excess = np.where(spectrum < 0, excess, 0.0)
    if not excess.any():
        return factors
    excess = np.where(excess > weakest * excess.max(), excess, 0.0)
    signs = -np.sign(spectrum)
    kept = excess > 0
    change = np.square(Z @ vectors[:, kept]) @ (signs * excess)[kept]
    slope = float(excess @ excess)
    curvature = float((weight * loss.second(f, problem.y)) @ np.square(change))
    step = slope / curvature if curvature > 0 else 1.0 / max(float(np.abs(change).max()), 1e-300)
    used, here = weight > 0, _value(problem, f, factors)
    for _ in range(60):
        rows = np.sqrt(step * excess[kept])[:, None] * vectors.T[kept]
        wider = SquaresFactors(
            np.vstack([factors.rows, rows]),
            np.concatenate([factors.signs, signs[kept]]),
            factors.intercept,
        )
        there = _value(problem, np.where(used, f + step * change, f), wider)
        if there < here:
            return wider
        step *= 0.25
    return factors


def _run(
    problem: RegularizedProblem,
    stage: RegularizedProblem,
    Z: Array,
    factors: SquaresFactors,
    rounds: int,
) -> SquaresRun:
    """The network, and the floor of the loss itself under the vector of its envelope."""
    a, scale = squares_penalty(problem).threshold, _value(stage, factors.outputs(Z), factors)
    costs = a * np.sum(np.square(factors.rows), axis=1)
    kept = costs > _NEGLIGIBLE * max(scale - saturated(stage), 0.0)
    network = network_of_spectrum(
        *factored_spectrum(factors.rows[kept], factors.signs[kept]), factors.intercept, problem
    )
    _, u = feasible(stage, Z, network.predict(problem.X))
    return SquaresRun(problem, network, u, floor_of(problem, u), rounds)

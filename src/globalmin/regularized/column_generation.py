r"""Training to the global minimum over every width, by column generation: the oracle finds neurons
that the current network lacks, the master problem gives all of them their weights, neurons of one
cone are merged into one, and the dual vector says how far the objective is from its infimum.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Protocol, runtime_checkable

import numpy as np

from globalmin._types import Array, Indices, Mask
from globalmin.regularized.columns import Candidates
from globalmin.regularized.dual import centered, floor_of, saturated, scaled
from globalmin.regularized.master import Master
from globalmin.regularized.network import RegularizedNetwork
from globalmin.regularized.objective import RegularizedProblem, objective
from globalmin.regularized.turning import TurningOracle, turn

# of the gap: how exactly the master problem is solved, at first and when the oracle finds no more
_MASTER = 0.1
_FINEST = 1e-5
_PATIENCE = 15  # rounds without progress of a tenth
# widths of the envelopes of losses with kinks: the first, as a share of the residuals, and how many
_FIRST_WIDTH = 0.1
_WIDTHS = 8
_ROUNDS = 40  # of column generation for each
_ROUNDING = 1e-12  # of a unit vector that was turned a few hundred times


class Oracle(Protocol):
    """What finds neurons: `search` returns H of every group (an upper bound, in floats) and
    candidates; `features` their outputs.
    """

    def search(self, u: Array, threshold: float) -> tuple[Array, Candidates]:
        """Heights and candidates for a dual vector."""
        ...

    def features(self, group: Indices, weights: Array) -> Array:
        """Hidden outputs, one row per neuron."""
        ...


@runtime_checkable
class QuickOracle(Protocol):
    """An oracle whose `search` may miss the largest value; this one does not, and takes longer."""

    def exact_search(self, u: Array, threshold: float) -> tuple[Array, Candidates]:
        """Heights and candidates for a dual vector."""
        ...


def proved_heights(oracle: Oracle, u: Array) -> Array:
    """H of every group, in floats, without a doubt of the search."""
    search = oracle.exact_search if isinstance(oracle, QuickOracle) else oracle.search
    return search(u, math.inf)[0]


@dataclass(frozen=True, eq=False)
class Pool:
    """Neurons by their group, unit weights (last entry: the bias) and cones, with signed weights
    c and the intercept.
    """

    group: Indices
    weights: Array
    cones: Indices
    c: Array
    intercept: float = 0.0

    @classmethod
    def empty(cls, size: int, intercept: float) -> Pool:
        """No neurons, for groups of size - 1 columns."""
        none = np.zeros((0, 2), np.int64)
        return cls(none[:, 0], np.zeros((0, size)), none, np.zeros(0), intercept)

    def of(self, chosen: Mask) -> Pool:
        """Some of the neurons."""
        return replace(
            self,
            group=self.group[chosen],
            weights=self.weights[chosen],
            cones=self.cones[chosen],
            c=self.c[chosen],
        )


@dataclass(frozen=True, eq=False)
class Training:
    """The result of training.

    Attributes
    ----------
    pool : the neurons, for the next decay of a path.
    u : the best dual vector found, feasible up to rounding.
    objective, floor : of the network, and D(u), both in floats.
    relative_gap : their distance as a share of the objective above what no model undercuts.
    n_iter : rounds of column generation.
    """

    pool: Pool
    u: Array
    objective: float
    floor: float
    relative_gap: float
    n_iter: int


def train_columns(
    problem: RegularizedProblem,
    oracle: Oracle,
    *,
    gap: float = 1e-6,
    max_iter: int = 300,
    start: Pool | None = None,
) -> Training:
    """Column generation until the relative gap is at most `gap`, in floats.

    Losses with kinks (quantile, hinge) are trained through their envelopes of decreasing width; the
    gap is that of the loss itself.
    """

    def trained(smooth: RegularizedProblem, goal: float, most: int, pool: Pool) -> Training:
        return _trained(smooth, oracle, goal, most, pool)

    return through_envelopes(problem, trained, gap=gap, max_iter=max_iter, start=start)


def through_envelopes(
    problem: RegularizedProblem,
    trained: Callable[[RegularizedProblem, float, int, Pool], Training],
    *,
    gap: float,
    max_iter: int,
    start: Pool | None,
) -> Training:
    """What `trained` (problem, gap, rounds, start) finds; for a loss with kinks that of its
    envelopes of decreasing width, judged by the loss itself.
    """
    pool = _start(problem) if start is None else start
    envelope = problem.loss.smoothed(1.0)
    if envelope is problem.loss:
        return trained(problem, gap, max_iter, pool)
    width, best = _FIRST_WIDTH * _spread(problem), None
    for _ in range(_WIDTHS):
        smooth = replace(problem, loss=problem.loss.smoothed(width))
        found = trained(smooth, max(gap / 4, 1e-8), min(max_iter, _ROUNDS), pool)
        found = _judged(problem, found)
        if best is None or found.relative_gap < best.relative_gap:
            best = found
        if best.relative_gap <= gap:
            break
        pool, width = found.pool, width / 8.0
    assert best is not None  # noqa: S101 - there is at least one width
    return best


def _spread(problem: RegularizedProblem) -> float:
    """The size of typical residuals: of labels about the best constant."""
    center = problem.loss.constant(problem.y, problem.weights)
    return float(problem.weights @ np.abs(problem.y - center) / problem.weights.sum()) or 1.0


def _judged(problem: RegularizedProblem, found: Training) -> Training:
    """What the network and the dual vector of an envelope are worth for the loss itself."""
    network = network_of(found.pool, problem)
    value, floor = objective(network, problem), floor_of(problem, found.u)
    share = (value - floor) / max(value - saturated(problem), 1e-300)
    return replace(found, objective=value, floor=floor, relative_gap=share)


def _trained(
    problem: RegularizedProblem, oracle: Oracle, gap: float, max_iter: int, pool: Pool
) -> Training:
    loop = _Loop(problem, oracle, pool, gap)
    return loop.result(rounds(loop, gap, max_iter, _PATIENCE))


class Rounds(Protocol):
    """What column generation repeats: `round` bounds (infinite if it only estimates), `grow` adds
    neurons, and `gap` is the bound or the estimate.
    """

    gap: float

    def round(self) -> float:
        """Solve and bound; the relative gap, infinite if nothing is proved by it."""
        ...

    def grow(self) -> None:
        """Add what the network lacks."""
        ...


def rounds(loop: Rounds, gap: float, max_iter: int, patience: int) -> int:
    """Rounds until the gap is at most the given one, or so many in a row without progress of a
    tenth; their number.

    An estimate of a quick search is too small as a rule: what progress is measured by is set back
    to the proved gap whenever there is one.
    """
    n_iter, last, least = 1, 1, math.inf  # rounds, the last with progress, and the gap there
    while (bound := loop.round()) > gap and n_iter < max_iter and n_iter < last + patience:
        loop.grow()
        if loop.gap < 0.9 * least:
            last, least = n_iter, loop.gap
        elif math.isfinite(bound):
            least = max(least, bound)
        n_iter += 1
    return n_iter


def _start(problem: RegularizedProblem) -> Pool:
    size = 1 + max(len(group) for group in problem.group_list())
    free = problem.penalty.intercept != "none"
    constant = problem.loss.constant(problem.y, problem.weights) if free else 0.0
    return Pool.empty(size, constant if math.isfinite(constant) else 0.0)


class _Loop:
    """The state between rounds: the master problem, the neurons of its rows, the best floor."""

    def __init__(
        self, problem: RegularizedProblem, oracle: Oracle, pool: Pool, goal: float
    ) -> None:
        self.problem, self.oracle, self.goal = problem, oracle, goal
        given = problem.penalty.intercept
        self.first = int(given != "none")
        self.pool = pool
        rows = oracle.features(pool.group, pool.weights)
        ones = np.ones((self.first, problem.y.size))
        self.master = Master(
            problem.loss,
            problem.y,
            problem.weights,
            problem.penalty.weight_decay,
            self.first,
            0.0 if isinstance(given, str) else given,
            np.vstack([ones, rows]),
            np.r_[np.full(self.first, pool.intercept), pool.c],
            np.r_[np.zeros(self.first), _signs(problem, pool.group, pool.weights)],
        )
        self.base = saturated(problem)
        self.floor, self.u, self.gap = -math.inf, np.zeros_like(problem.y), math.inf
        self.found: Candidates | None = None
        self.share = _MASTER

    def round(self) -> float:
        """Solve, merge, and bound; the relative gap."""
        self.master.solve(max(self.share * min(0.1, self.gap), 1e-13))
        self._merge()
        self._turn()
        value, b = self.master.value, self.problem.penalty.weight_decay
        u = centered(self.problem, self.master.dual())
        if u is not None:
            heights, self.found = self.oracle.search(u, b * (1.0 + 1e-11))
            floor, feasible = scaled(self.problem, u, float(heights.max()))
            self.gap = (value - max(floor, self.floor)) / max(value - self.base, 1e-300)
            if isinstance(self.oracle, QuickOracle):
                if self.gap > self.goal and len(self.found.values):
                    return math.inf  # an estimate: nothing is proved by a quick search
                heights, self.found = self.oracle.exact_search(u, b * (1.0 + 1e-11))
                floor, feasible = scaled(self.problem, u, float(heights.max()))
            if floor > self.floor:
                self.floor, self.u = floor, feasible
        self.gap = (value - self.floor) / max(value - self.base, 1e-300)
        return self.gap

    def grow(self) -> None:
        """Forget neurons without weight and add what the oracle found."""
        x, first = self.master.x, self.first
        kept = np.r_[np.full(first, True), x[first:] != 0]
        self.master.keep(np.flatnonzero(kept))
        self.pool = self.pool.of(kept[first:])
        fresh = self._fresh()
        if self.found is None or not fresh:
            # solving finer, and turning on, may still bring something: patience ends it
            self.share = max(1e-2 * self.share, _FINEST)
            return
        group, weights = self.found.group[fresh], self.found.weights[fresh]
        signs = _signs(self.problem, group, weights)
        self.master.extend(self.oracle.features(group, weights), signs)
        self.pool = Pool(
            np.r_[self.pool.group, group],
            np.vstack([self.pool.weights, weights]),
            np.vstack([self.pool.cones, self.found.cones[fresh]]),
            self.master.x[first:],
        )

    def _fresh(self) -> list[int]:
        """What the oracle found and is not there yet; a ray is known by its two cones."""
        if self.found is None:
            return []
        known = {
            (int(g), *map(int, cone))
            for g, cone in zip(self.pool.group, self.pool.cones, strict=True)
            if cone[0] != cone[1]
        }
        return [
            i
            for i, (g, cone) in enumerate(zip(self.found.group, self.found.cones, strict=True))
            if (int(g), *map(int, cone)) not in known
        ]

    def _turn(self) -> None:
        """Turn the neurons inside their cones, where the oracle knows how."""
        if isinstance(self.oracle, TurningOracle) and self.gap < 1.0:
            pool = self.pool
            left = self.gap * (self.master.value - self.base)
            weights = turn(self.master, self.oracle, (pool.group, pool.weights, pool.cones), left)
            self.pool = replace(pool, weights=weights)

    def _merge(self) -> None:
        """Neurons of one cone and one sign add up to one neuron: the same outputs, a smaller
        penalty.
        """
        c = self.master.x[self.first :]
        used = np.flatnonzero(c)
        cones, group = self.pool.cones.copy(), self.pool.group
        weights = self.pool.weights.copy()
        order = used[np.lexsort((cones[used, 0], c[used] > 0, group[used]))]
        for here, other in pairwise(order):
            same = group[here] == group[other] and (c[here] > 0) == (c[other] > 0)
            if not same or cones[other, 0] > cones[here, 1] or c[here] == 0:
                continue
            total = abs(c[here]) * weights[here] + abs(c[other]) * weights[other]
            size = float(np.linalg.norm(total))
            if size == 0.0 or (cones[here, 0] < 0 and not self._is_sum(here, other, total)):
                continue
            shares = (abs(float(c[other])) / size, abs(float(c[here])) / size)
            sign = math.copysign(size, c[other])
            self.master.combine(other + self.first, here + self.first, shares, sign)
            c = self.master.x[self.first :]
            weights[other] = total / size
            cones[other] = (
                max(cones[here, 0], cones[other, 0]),
                min(cones[here, 1], cones[other, 1]),
            )
        self.pool = replace(self.pool, weights=weights, cones=cones)

    def _is_sum(self, a: int, b: int, total: Array) -> bool:
        """Whether two neurons add up to the one with their summed weights, on all rows."""
        rows, x = self.master.rows, np.abs(self.master.x)
        i, j = a + self.first, b + self.first
        both = x[i] * rows[i] + x[j] * rows[j]
        one = self.oracle.features(self.pool.group[[a]], total[None, :])[0]
        return float(np.abs(both - one).max()) <= 1e-13 * float(both.max())

    def result(self, n_iter: int) -> Training:
        """What was found, without neurons of weight zero; merged and turned rows are computed
        anew.
        """
        x, first = self.master.x, self.first
        self.master.rows[first:] = self.oracle.features(self.pool.group, self.pool.weights)
        self.master.f = x @ self.master.rows
        intercept = float(x[0]) if first else 0.0
        pool = replace(self.pool, c=x[first:], intercept=intercept).of(x[first:] != 0)
        value = self.master.value
        gap = (value - self.floor) / max(value - self.base, 1e-300)
        return Training(pool, self.u, value, self.floor, gap, n_iter)


def _signs(problem: RegularizedProblem, group: Indices, weights: Array) -> Array:
    """The sign that the weight of each neuron must have for its slope, 0 for any."""
    if problem.monotone is None:
        return np.zeros(group.size)
    slopes = np.array([problem.monotone[column] for (column,) in problem.group_list()], float)
    return slopes[group] * np.sign(weights[:, 0])


def network_of(pool: Pool, problem: RegularizedProblem) -> RegularizedNetwork:
    """The network of these neurons, each balanced: |w| = |v|, so that its penalty is b |c|."""
    groups, tau = problem.group_list(), problem.penalty.tau
    root = np.sqrt(np.abs(pool.c))
    W = np.zeros((root.size, problem.X.shape[1]))
    for row, group, weights, size in zip(W, pool.group, pool.weights, root, strict=True):
        columns = groups[group]
        row[list(columns)] = size * weights[: len(columns)]
    if problem.monotone is not None:
        # a neuron turned as far as w_0 = 0 may have been rounded to the other side
        wrong = np.sign(pool.c)[:, None] * W * np.array(problem.monotone) < 0
        W[wrong & (np.abs(W) <= _ROUNDING * root[:, None])] = 0.0
    bias = tau * pool.weights[:, -1] * root
    return RegularizedNetwork(W, bias, np.copysign(root, pool.c), pool.intercept)

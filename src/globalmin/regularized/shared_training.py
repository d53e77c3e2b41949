r"""Training of several outputs that share their neurons to the global minimum over every width, by
column generation: as for one output, with heads in $\mathbb{R}^c$.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from globalmin._types import Mask
from globalmin.losses.several import SeveralOutputs
from globalmin.regularized.column_generation import Oracle, Pool, Training
from globalmin.regularized.columns import Candidates
from globalmin.regularized.dual import centered, saturated, scaled
from globalmin.regularized.objective import RegularizedProblem
from globalmin.regularized.shared import SharedNetwork
from globalmin.regularized.shared_master import SharedMaster

# of the gap: how exactly the master problem is solved, at first and when the oracle finds no more
_MASTER = 0.1
_FINEST = 1e-5
_PATIENCE = 20  # rounds without progress of a tenth


@dataclass(frozen=True, eq=False)
class SharedPool(Pool):
    """Neurons by their group, unit weights and cones, with heads c (k x outputs) and c
    intercepts.
    """

    intercept: Any = 0.0


def train_shared(
    problem: RegularizedProblem,
    oracle: Oracle,
    *,
    gap: float = 1e-6,
    max_iter: int = 300,
    start: Pool | None = None,
) -> Training:
    """Column generation until the relative gap is at most `gap`, in floats."""
    loop = _Loop(problem, oracle, _start(problem) if start is None else start)
    n_iter, last, least = 1, 1, math.inf
    while loop.round() > gap and n_iter < max_iter and n_iter < last + _PATIENCE and loop.grow():
        if loop.gap < 0.9 * least:
            last, least = n_iter, loop.gap
        n_iter += 1
    return loop.result(n_iter)


def _start(problem: RegularizedProblem) -> SharedPool:
    loss = _loss(problem)
    none = np.zeros((0, 2), np.int64)
    is_free = problem.penalty.intercept != "none"
    centers = loss.centers(problem.y, problem.weights) if is_free else np.zeros(loss.outputs)
    return SharedPool(none[:, 0], np.zeros((0, 2)), none, np.zeros((0, loss.outputs)), centers)


def _loss(problem: RegularizedProblem) -> SeveralOutputs:
    loss = problem.loss
    if not isinstance(loss, SeveralOutputs):
        raise TypeError(f"the loss {loss.name!r} has one output")
    return loss


class _Loop:
    """The state between rounds: the master problem, the neurons of its rows, the best floor."""

    def __init__(self, problem: RegularizedProblem, oracle: Oracle, pool: Pool) -> None:
        self.problem, self.oracle, self.pool = problem, oracle, pool
        given = problem.penalty.intercept
        self.master = SharedMaster(
            _loss(problem),
            problem.y,
            problem.weights,
            problem.penalty.weight_decay,
            given != "none",
            0.0 if isinstance(given, str) else given,
            oracle.features(pool.group, pool.weights),
            pool.c.copy(),
            np.array(pool.intercept, dtype=np.float64),
        )
        self.base = saturated(problem)
        self.floor, self.gap, self.share = -math.inf, math.inf, _MASTER
        self.u = np.zeros((len(problem.y), problem.outputs))
        self.found: Candidates | None = None

    def round(self) -> float:
        """Solve and bound; the relative gap."""
        self.master.solve(max(self.share * min(0.1, self.gap), 1e-13))
        value, b = self.master.value, self.problem.penalty.weight_decay
        u = centered(self.problem, self.master.dual())
        if u is not None:
            heights, self.found = self.oracle.search(u, b * (1.0 + 1e-11))
            floor, feasible = scaled(self.problem, u, float(heights.max()))
            if floor > self.floor:
                self.floor, self.u = floor, feasible
        self.gap = (value - self.floor) / max(value - self.base, 1e-300)
        return self.gap

    def grow(self) -> bool:
        """Forget neurons without weight and add what the oracle found; False if that is nothing and
        a finer solution of the master problem brings nothing either.
        """
        kept = self._used()
        self.master.keep(np.flatnonzero(kept))
        self.pool = self.pool.of(kept)
        fresh = self._fresh()
        if self.found is None or not fresh:
            self.share *= 1e-2
            return self.share >= _FINEST
        group, weights = self.found.group[fresh], self.found.weights[fresh]
        self.master.extend(self.oracle.features(group, weights))
        self.pool = replace(
            self.pool,
            group=np.r_[self.pool.group, group],
            weights=np.vstack([self.pool.weights, weights]),
            cones=np.vstack([self.pool.cones, self.found.cones[fresh]]),
            c=self.master.V,
        )
        return True

    def _used(self) -> Mask:
        return np.any(self.master.V != 0, axis=1)

    def _fresh(self) -> list[int]:
        """What the oracle found and is not there yet; a ray is known by its two cones."""
        if self.found is None:
            return []
        pairs = zip(self.pool.group, self.pool.cones, strict=True)
        known = {(int(g), *map(int, cone)) for g, cone in pairs if cone[0] != cone[1]}
        fresh = []
        for i, (g, cone) in enumerate(zip(self.found.group, self.found.cones, strict=True)):
            name = (int(g), *map(int, cone))
            if name not in known:
                fresh.append(i)
                if cone[0] != cone[1]:
                    known.add(name)
        return fresh

    def result(self, n_iter: int) -> Training:
        """What was found, without neurons of weight zero."""
        pool = replace(self.pool, c=self.master.V, intercept=self.master.c0).of(self._used())
        value = self.master.value
        gap = (value - self.floor) / max(value - self.base, 1e-300)
        return Training(pool, self.u, value, self.floor, gap, n_iter)


def shared_network(pool: Pool, problem: RegularizedProblem) -> SharedNetwork:
    """The network of these neurons, each balanced: |w| = |v|, so that its penalty is b |c|."""
    columns = [group[0] for group in problem.group_list()]
    size = np.sqrt(np.linalg.norm(pool.c, axis=1))
    W = np.zeros((size.size, problem.X.shape[1]))
    W[np.arange(size.size), np.array(columns)[pool.group]] = size * pool.weights[:, 0]
    bias = problem.penalty.tau * pool.weights[:, 1] * size
    v = pool.c / size[:, None] if size.size else pool.c
    return SharedNetwork(W, bias, v, np.asarray(pool.intercept))

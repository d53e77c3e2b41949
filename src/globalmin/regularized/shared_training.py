r"""Training of several outputs that share their neurons to the global minimum over every width, by
column generation: as for one output, with heads in $\mathbb{R}^c$.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from globalmin._types import Array, Indices, Mask
from globalmin.losses.several import SeveralOutputs
from globalmin.regularized.column_generation import Oracle, Pool, Training, rounds
from globalmin.regularized.columns import Candidates
from globalmin.regularized.dual import centered, saturated, scaled
from globalmin.regularized.objective import RegularizedProblem
from globalmin.regularized.shared import SharedNetwork
from globalmin.regularized.shared_columns import SharedColumnOracle
from globalmin.regularized.shared_master import SharedMaster

# of the gap: how exactly the master problem is solved, at first and when the oracle finds no more
_MASTER = 0.1
_FINEST = 1e-5
_MERGED = 1e-2  # of the gap: what fewer neurons may cost
_TURNS = 6  # of all neurons in one round
_WORTH = 1e-3  # of the gap: a smaller promised decrease is not worth a turn
_NEAR = 1e-2  # a gap from which on neurons are turned
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
    return loop.result(rounds(loop, gap, max_iter, _PATIENCE))


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
        """Solve, merge, and bound; the relative gap."""
        tol = max(self.share * min(0.1, self.gap), 1e-13)
        self.master.solve(tol)
        self._merge(tol)
        self._turn(tol)
        value, b = self.master.value, self.problem.penalty.weight_decay
        u = centered(self.problem, self.master.dual())
        if u is not None:
            heights, self.found = self.oracle.search(u, b * (1.0 + 1e-11))
            floor, feasible = scaled(self.problem, u, float(heights.max()))
            if floor > self.floor:
                self.floor, self.u = floor, feasible
        self.gap = (value - self.floor) / max(value - self.base, 1e-300)
        return self.gap

    def grow(self) -> None:
        """Forget neurons without weight and add what the oracle found."""
        kept = self._used()
        self.master.keep(np.flatnonzero(kept))
        self.pool = self.pool.of(kept)
        fresh = self._fresh()
        if self.found is None or not fresh:
            # solving finer, and turning on, may still bring something: patience ends it
            self.share = max(1e-2 * self.share, _FINEST)
            return
        group, weights = self.found.group[fresh], self.found.weights[fresh]
        self.master.extend(self.oracle.features(group, weights))
        self.pool = replace(
            self.pool,
            group=np.r_[self.pool.group, group],
            weights=np.vstack([self.pool.weights, weights]),
            cones=np.vstack([self.pool.cones, self.found.cones[fresh]]),
            c=self.master.V,
        )

    def _used(self) -> Mask:
        return np.any(self.master.V != 0, axis=1)

    def _fresh(self) -> list[int]:
        """What the oracle found and is not there yet; rays are found again bit for bit."""
        if self.found is None:
            return []
        known = {(int(g), *w) for g, w in zip(self.pool.group, self.pool.weights, strict=True)}
        fresh = []
        for i, (g, w) in enumerate(zip(self.found.group, self.found.weights, strict=True)):
            name = (int(g), *w)
            if name not in known:
                fresh.append(i)
                known.add(name)
        return fresh

    def _turn(self, tol: float) -> None:
        """Turn the neurons inside their cones by Newton steps of the single angles, the heads
        solved again after each, as long as that promises something of the gap.
        """
        oracle, master = self.oracle, self.master
        if not isinstance(oracle, SharedColumnOracle) or not self.gap < _NEAR:
            return
        for _ in range(_TURNS):
            single = self.pool.cones[:, 0] == self.pool.cones[:, 1]
            inside = np.flatnonzero(self._used() & single)
            group, weights = self.pool.group[inside], self.pool.weights[inside]
            across, rows, room = oracle.turns(group, weights, self.pool.cones[inside])
            step, promised = _turns(master, inside, rows)
            step = np.clip(step, 0.99 * room[:, 0], 0.99 * room[:, 1])
            before = master.value
            if not promised > _WORTH * max(self.gap * (before - self.base), 1e-14 * before):
                return
            turned = self.pool.weights.copy()
            turned[inside] = (weights + step[:, None] * across) / np.hypot(1.0, step)[:, None]
            kept = master.V, master.c0, master.rows
            master.rows = master.rows.copy()
            master.rows[inside] = oracle.features(group, turned[inside])
            master.refresh()
            master.solve(tol)
            if master.value > before:
                master.V, master.c0, master.rows = kept
                master.refresh()
                return
            self.pool = replace(self.pool, weights=turned)

    def _merge(self, tol: float) -> None:
        """Neurons of one cone become one, along the first singular vector of what they add up to,
        where that leaves no more to pay; next to the optimum their heads are nearly parallel.
        """
        if self.problem.penalty.hidden_bias == "free":
            return  # no room to turn: neurons of one kink are the same
        master, before = self.master, self.master.value
        V, c0, weights = master.V.copy(), master.c0, self.pool.weights.copy()
        cones: dict[tuple[int, int], list[int]] = {}
        for i in np.flatnonzero(self._used() & (self.pool.cones[:, 0] == self.pool.cones[:, 1])):
            cones.setdefault((int(self.pool.group[i]), int(self.pool.cones[i, 0])), []).append(
                int(i)
            )
        places = [members for members in cones.values() if len(members) > 1]
        kept = [members[0] for members in places if _merged(master.V, weights, members)]
        if not kept:
            return
        rows = master.rows.copy()
        master.rows[kept] = self.oracle.features(self.pool.group[kept], weights[kept])
        master.refresh()
        master.solve(tol)
        room = _MERGED * (before - self.floor) if math.isfinite(self.floor) else 0.0
        if master.value <= before + max(room, 1e-14 * abs(before)):
            self.pool = replace(self.pool, weights=weights)
            return
        master.V, master.c0, master.rows = V, c0, rows
        master.refresh()

    def result(self, n_iter: int) -> Training:
        """What was found, without neurons of weight zero."""
        pool = replace(self.pool, c=self.master.V, intercept=self.master.c0).of(self._used())
        value = self.master.value
        gap = (value - self.floor) / max(value - self.base, 1e-300)
        return Training(pool, self.u, value, self.floor, gap, n_iter)


def _turns(master: SharedMaster, inside: Indices, rows: Array) -> tuple[Array, float]:
    """Newton steps of the angles of some neurons, one by one, and the decrease that they promise;
    `rows` are the derivatives of their outputs.
    """
    V = master.V[inside]
    slope = ((rows @ master.dual()) * V).sum(axis=1)
    curves = master.loss.second(master.f, master.y) * master.weight[:, None, None]
    bent = np.einsum("ko,iop,kp->ki", V, curves, V)
    stiff = (np.square(rows) * bent).sum(axis=1) + master.b * np.linalg.norm(V, axis=1)
    return -slope / stiff, float(0.5 * np.sum(slope * slope / stiff))


def _merged(V: Array, weights: Array, members: list[int]) -> bool:
    """In place: the first member becomes the rank-one part of the sum of heads times weights, if
    its direction lies between those of the members; the others get heads of zero.
    """
    first, given = members[0], weights[members]
    M = V[members].T @ given
    w = np.linalg.svd(M)[2][0]
    w = w * np.sign(w @ given.sum(axis=0))
    turns = given[:, 0] * w[1] - given[:, 1] * w[0]
    if not turns.min() <= 0 <= turns.max():
        return False
    weights[first] = w
    V[members] = 0.0
    V[first] = M @ w
    return True


def shared_network(pool: Pool, problem: RegularizedProblem) -> SharedNetwork:
    """The network of these neurons, each balanced: |w| = |v|, so that its penalty is b |c|."""
    columns = [group[0] for group in problem.group_list()]
    size = np.sqrt(np.linalg.norm(pool.c, axis=1))
    W = np.zeros((size.size, problem.X.shape[1]))
    W[np.arange(size.size), np.array(columns)[pool.group]] = size * pool.weights[:, 0]
    bias = problem.penalty.tau * pool.weights[:, 1] * size
    v = pool.c / size[:, None] if size.size else pool.c
    return SharedNetwork(W, bias, v, np.asarray(pool.intercept))

r"""Training where curves have shapes: column generation over the atoms of `curves`, each with a
weight that must not be negative, so that every network on the way has its shapes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from globalmin._types import Array
from globalmin.regularized.column_generation import Pool, Training, rounds, through_envelopes
from globalmin.regularized.curves import SIDE, Atoms, Curve, CurveOracle, Parts, shaped_atoms
from globalmin.regularized.dual import centered, floor_of, saturated
from globalmin.regularized.master import Master
from globalmin.regularized.objective import RegularizedProblem

_MASTER, _FINEST = 0.1, 1e-5  # of the gap: how exactly the master problem is solved
_PATIENCE = 25  # rounds without progress of a tenth
_ROUNDING = 1e-13  # of the largest weight: what is left of a difference of equal weights


def train_curves(
    problem: RegularizedProblem,
    oracle: CurveOracle,
    *,
    gap: float = 1e-6,
    max_iter: int = 300,
    start: Pool | None = None,
) -> Training:
    """Column generation until the relative gap is at most `gap`, in floats; losses with kinks
    through their envelopes.
    """

    def trained(smooth: RegularizedProblem, goal: float, most: int, pool: Pool) -> Training:
        loop = _Loop(smooth, oracle, pool)
        return loop.result(rounds(loop, goal, most, _PATIENCE))

    return through_envelopes(problem, trained, gap=gap, max_iter=max_iter, start=start)


class _Loop:
    """The state between rounds: atoms with their master problem, and the best floor."""

    def __init__(self, problem: RegularizedProblem, oracle: CurveOracle, pool: Pool) -> None:
        self.problem, self.oracle = problem, oracle
        self.first = int(problem.penalty.intercept != "none")
        self.base = saturated(problem)
        self.floor, self.u, self.gap = -math.inf, np.zeros_like(problem.y), math.inf
        self.best: tuple[float, Pool] = (math.inf, pool)
        self.share = _MASTER
        self._restart(pool, Atoms.none())

    def _restart(self, pool: Pool, fresh: Atoms) -> None:
        """The master problem of the atoms of a pool, and of fresh ones."""
        known, x = atoms_of(pool, self.oracle)
        self.atoms = known.and_also(fresh)
        given, problem = self.problem.penalty.intercept, self.problem
        rows = self.oracle.rows(self.atoms)
        self.master = Master(
            problem.loss,
            problem.y,
            problem.weights,
            problem.penalty.weight_decay,
            self.first,
            0.0 if isinstance(given, str) else given,
            np.vstack([np.ones((self.first, problem.y.size)), rows]),
            np.r_[np.full(self.first, pool.intercept), x, np.zeros(fresh.group.size)],
            np.r_[np.zeros(self.first), self.atoms.signs],
        )

    def round(self) -> float:
        """Solve, merge, and bound; the relative gap."""
        self.master.solve(max(self.share * min(0.1, self.gap), 1e-13))
        x = self.master.x
        pool = merged(pool_of(self.atoms, x[self.first :], self._intercept()), self.oracle)
        self._restart(pool, Atoms.none())
        value, b = self.master.value, self.problem.penalty.weight_decay
        if value < self.best[0]:
            self.best = value, pool
        u = centered(self.problem, self.master.dual())
        self.found = Atoms.none()
        if u is not None:
            height, self.found = self.oracle.atoms(u, b * (1.0 + 1e-11))
            self._bound(u, height)
        self.gap = (self.best[0] - self.floor) / max(self.best[0] - self.base, 1e-300)
        return self.gap

    def _intercept(self) -> float:
        return float(self.master.x[0]) if self.first else 0.0

    def _bound(self, u: Array, height: float) -> None:
        """Scale a dual vector into the feasible set, and keep the best floor."""
        b = self.problem.penalty.weight_decay
        share = min(1.0, b / height) if height > 0 else 1.0
        for part in (share, 0.99 * share):
            value = floor_of(self.problem, part * u)
            if value > self.floor:
                self.floor, self.u = value, part * u

    def grow(self) -> None:
        """Add what the oracle found to the atoms that have weight."""
        if not self.found.group.size:
            self.share = max(1e-2 * self.share, _FINEST)
        x = self.master.x[self.first :]
        self._restart(pool_of(self.atoms, x, self._intercept()), self.found)

    def result(self, n_iter: int) -> Training:
        """The best network found."""
        value, pool = self.best
        gap = (value - self.floor) / max(value - self.base, 1e-300)
        return Training(pool, self.u, value, self.floor, gap, n_iter)


def pool_of(atoms: Atoms, x: Array, intercept: float) -> Pool:
    """The neurons of weighted atoms, equal ones added up."""
    total: dict[tuple[int, float, float, bool], float] = {}
    for group, weights, coefs, weight in zip(
        atoms.group.tolist(), atoms.weights, atoms.coefs, x.tolist(), strict=True
    ):
        for w, c in zip(weights.tolist(), coefs.tolist(), strict=True):
            if c * weight != 0.0:
                key = (group, w[0], w[1], c * weight > 0)
                total[key] = total.get(key, 0.0) + c * weight
    return _pool([(*key[:3], c) for key, c in total.items()], intercept)


def _pool(neurons: list[tuple[int, float, float, float]], intercept: float) -> Pool:
    table = np.array(neurons, dtype=np.float64).reshape(-1, 4)
    cones = np.full((len(table), 2), -1, np.int64)
    return Pool(table[:, 0].astype(np.int64), table[:, 1:3], cones, table[:, 3], intercept)


Neuron = tuple[float, float, float, float]  # the kink, w_0, w_1, and the weight


def _neurons(pool: Pool, oracle: CurveOracle) -> Iterator[tuple[int, list[Neuron]]]:
    """The neurons of each group in the order of their kinks, those without a kink first."""
    for group in range(oracle.X.shape[1]):
        own = np.flatnonzero(pool.group == group)
        found = []
        for i in own:
            w0, w1 = pool.weights[i].tolist()
            kink = -oracle.tau * w1 / w0 if w0 else -math.inf
            found.append((kink, w0, w1, float(pool.c[i])))
        yield group, sorted(found)


def merged(pool: Pool, oracle: CurveOracle) -> Pool:
    """Neighboring neurons of one cell, one side and one sign added up to one: on the data the same
    function, a smaller penalty, and the shape stays.
    """
    kept: list[tuple[int, float, float, float]] = []
    for group, neurons in _neurons(pool, oracle):
        if not neurons:
            continue
        z = oracle.values[group]
        kinks = [neuron[0] for neuron in neurons]
        # the cell between two values; a kink on a value is a cell of its own
        cells = np.searchsorted(z, kinks, "left") + np.searchsorted(z, kinks, "right")
        own: list[tuple[int, Neuron]] = []
        for cell, neuron in zip(cells.tolist(), neurons, strict=True):
            last = own[-1] if own else None
            if last is not None and last[0] == cell and _are_alike(last[1], neuron):
                own[-1] = (cell, _sum(last[1], neuron, oracle))
            else:
                own.append((cell, neuron))
        kept += [(group, *neuron[1:]) for _, neuron in own]
    return _pool(kept, pool.intercept)


def _are_alike(a: Neuron, b: Neuron) -> bool:
    is_line = a[0] == b[0] == 0.0  # the halves of lines bend at zero and stay apart
    return not is_line and a[1] * b[1] > 0 and a[3] * b[3] > 0


def _sum(a: Neuron, b: Neuron, oracle: CurveOracle) -> Neuron:
    w0 = abs(a[3]) * a[1] + abs(b[3]) * b[1]
    w1 = abs(a[3]) * a[2] + abs(b[3]) * b[2]
    size = abs(w0) if _is_free(oracle) else math.hypot(w0, w1)
    w0, w1 = w0 / size, w1 / size
    return -oracle.tau * w1 / w0, w0, w1, math.copysign(size, a[3])


def _is_free(oracle: CurveOracle) -> bool:
    return any(math.isinf(curve.tau) for curve in oracle.curves.values())


def atoms_of(pool: Pool, oracle: CurveOracle) -> tuple[Atoms, Array]:
    """The neurons of a pool as atoms with their weights."""
    found, x = Atoms.none(), []
    for group, neurons in _neurons(pool, oracle):
        curve = oracle.curves.get(group)
        if curve is None:
            found, more = found.and_also(_plain(group, neurons)), [c for *_, c in neurons]
        else:
            side = SIDE[curve.shape]
            turned = [(t, w0, w1, side * c) for t, w0, w1, c in neurons]
            parts = _matched(turned, curve) if curve.is_rising else _lines(turned)
            found = found.and_also(shaped_atoms(group, curve, [p for p, _ in parts], oracle.tau))
            more = [weight for _, weight in parts]
        x += more
    return found, np.array(x)


def _plain(group: int, neurons: list[Neuron]) -> Atoms:
    weights = np.zeros((len(neurons), 2, 2))
    weights[:, 0] = np.array([neuron[1:3] for neuron in neurons]).reshape(-1, 2)
    coefs = np.tile([1.0, 0.0], (len(neurons), 1))
    return Atoms(np.full(len(neurons), group), weights, coefs, np.zeros(len(neurons)))


def _matched(neurons: list[Neuron], curve: Curve) -> list[tuple[Parts, float]]:
    """Every bend downward of a neuron that looks right with earlier bends upward; the rest of
    these, and neurons that look left, by themselves.
    """
    found: list[tuple[Parts, float]] = []
    waiting: list[list[float]] = []  # place and slope of bends upward
    least = _ROUNDING * max((abs(c) for *_, c in neurons), default=0.0)
    for t, w0, _, c in neurons:
        if w0 < 0:
            found.append(([(t, -1.0, -1.0)], max(-c, 0.0)))
        elif c > 0:
            waiting.append([t, c * w0])
        else:
            rest = -c * w0
            while rest > least and waiting:
                part = min(rest, waiting[-1][1])
                a, b = (curve.price_at(p) for p in (waiting[-1][0], t))
                parts = [(waiting[-1][0], 1.0, a / (a + b)), (t, 1.0, -b / (a + b))]
                found.append((parts, part * (a + b)))
                rest -= part
                waiting[-1][1] -= part
                if waiting[-1][1] <= least:
                    waiting.pop()
    for t, slope in waiting:
        found.append(([(t, 1.0, 1.0)], slope * curve.price_at(t)))
    return found


def _lines(neurons: list[Neuron]) -> list[tuple[Parts, float]]:
    """Negative weights, which bend at zero, with the same weight of the other side; the rest by
    themselves.
    """
    found: list[tuple[Parts, float]] = []
    taken = {math.copysign(1.0, -w0): -c for _, w0, _, c in neurons if c < 0}
    for side, weight in taken.items():
        found.append(([(0.0, side, 0.5), (0.0, -side, -0.5)], 2.0 * weight))
    for t, w0, _, c in neurons:
        side = math.copysign(1.0, w0)
        part = min(c, taken.get(side, 0.0)) if t == 0.0 and c > 0 else 0.0
        if part:
            taken[side] -= part
        if c > part:
            found.append(([(t, side, 1.0)], c - part))
    return found

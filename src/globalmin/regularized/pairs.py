r"""Neurons that see two columns and the bias: a quick search for the largest
$|\sum_i u_i\,\mathrm{relu}(w\cdot x_i)|$ over the sphere, and the exact maximum.

Every row is a great circle on which its neuron switches. Along one circle the others cut arcs; the
sum of the active rows changes by one row from arc to arc, and on an arc, as on the two cells beside
it, the function is linear in w. Walking all circles visits all cells, in O(n^2 log n).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numba import njit

from globalmin._types import Array, Indices
from globalmin.regularized.columns import Candidates, ColumnOracle

# directions that every quick search starts from: the axes and the corners of the cube
_STARTS = np.array(
    [(a, b, c) for a in (-1, 0, 1) for b in (-1, 0, 1) for c in (-1, 0, 1) if a or b or c],
    dtype=np.float64,
)
_STEPS = 40  # of one ascent
_DISTINCT = 1 - 1e-9  # cosine from which on two directions are one


@njit(cache=True, error_model="numpy")
def _value(Z: Any, u: Any, w: Any, s: Any) -> float:
    """The sum at w, and in s the sum of the active rows."""
    s[:] = 0.0
    for i in range(Z.shape[0]):
        if Z[i, 0] * w[0] + Z[i, 1] * w[1] + Z[i, 2] * w[2] > 0:
            for k in range(3):
                s[k] += u[i] * Z[i, k]
    return s[0] * w[0] + s[1] * w[1] + s[2] * w[2]


@njit(cache=True, error_model="numpy")
def _ascend(Z: Any, u: Any, W: Any, values: Any) -> None:
    """From every row of W uphill in |sum|, in place: towards the sum of the active rows, halving
    the way while that does not help.
    """
    s, tried, trial = np.empty(3), np.empty(3), np.empty(3)
    for a in range(W.shape[0]):
        w = W[a]
        w /= math.sqrt((w * w).sum())
        best = _value(Z, u, w, s)
        sign = 1.0 if best >= 0 else -1.0
        share = 1.0
        for _ in range(_STEPS):
            size = math.sqrt((s * s).sum())
            if size == 0.0 or share < 1e-6:
                break
            trial[:] = (1.0 - share) * w + share * sign * s / size
            norm = math.sqrt((trial * trial).sum())
            if norm < 1e-9:
                break
            trial /= norm
            found = _value(Z, u, trial, tried)
            if sign * found > sign * best * (1.0 + 1e-15):
                best, share = found, min(1.0, 2.0 * share)
                w[:] = trial
                s[:] = tried
            else:
                share *= 0.5
        values[a] = best


@njit(cache=True, error_model="numpy", inline="always")
def _dot(a: Any, b: Any) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@njit(cache=True, error_model="numpy")
def _keep(value: float, w: Any, best: Any) -> None:
    """The largest and the least value with their directions are in best[0] and best[1]."""
    k = 0 if value > 0 else 1
    if abs(value) > abs(best[k, 0]):
        size = math.sqrt(_dot(w, w))
        best[k, 0] = value
        best[k, 1], best[k, 2], best[k, 3] = w[0] / size, w[1] / size, w[2] / size


@njit(cache=True, error_model="numpy")
def _basis(x: Any) -> Any:
    """Two orthonormal vectors at right angles to x."""
    size = math.sqrt(_dot(x, x))
    a, b, c = x[0] / size, x[1] / size, x[2] / size
    if abs(a) <= min(abs(b), abs(c)):
        p, q, r = 1.0 - a * a, -a * b, -a * c
    elif abs(b) <= abs(c):
        p, q, r = -a * b, 1.0 - b * b, -b * c
    else:
        p, q, r = -a * c, -b * c, 1.0 - c * c
    size = math.sqrt(p * p + q * q + r * r)
    p, q, r = p / size, q / size, r / size
    return (p, q, r), (b * r - c * q, c * p - a * r, a * q - b * p)


@njit(cache=True, error_model="numpy")
def _cell(Z: Any, u: Any, s: Any, sides: Any, best: Any) -> None:
    """If the sum s of a cell is longer than what is known, and lies on the right side of the three
    rows (row, is active) beside it, the value there.
    """
    size = _dot(s, s)
    for sign in (1.0, -1.0):
        if size <= best[0 if sign > 0 else 1, 0] ** 2:
            continue
        inside = True
        for row, active in sides:
            if row >= 0:
                side = sign * _dot(Z[row], s)
                inside = inside and (side >= 0 if active else side <= 0)
        if inside:
            w, total = np.array([sign * s[0], sign * s[1], sign * s[2]]), np.empty(3)
            w /= math.sqrt(size)
            _keep(_value(Z, u, w, total), w, best)


@njit(cache=True, error_model="numpy")
def _arc(s: Any, e: Any, start: Any, end: Any, best: Any) -> None:
    """The extremes of s.w on an arc of the circle with basis e, its ends given as (cos, sin)."""
    a, b = _dot(s, e[0]), _dot(s, e[1])
    if a * a + b * b <= min(best[0, 0] ** 2, best[1, 0] ** 2):
        return
    for c, t in (start, end):
        f, g = e
        w = (c * f[0] + t * g[0], c * f[1] + t * g[1], c * f[2] + t * g[2])
        _keep(a * c + b * t, w, best)
    rise, fall = -a * start[1] + b * start[0], -a * end[1] + b * end[0]
    if rise * fall < 0:
        size = math.copysign(math.sqrt(a * a + b * b), rise)
        f, g = e
        w = (a * f[0] + b * g[0], a * f[1] + b * g[1], a * f[2] + b * g[2])
        _keep(size, (w[0] / size, w[1] / size, w[2] / size), best)


@njit(cache=True, error_model="numpy")
def _events(Z: Any, u: Any, i: int, e: Any, switches: Any) -> Any:
    """Where on the first half of circle i each row switches, as minus the cosine of the angle,
    whether it is active at the start, and the sum of the active rows there.
    """
    turn, active = switches
    s0, s1, s2 = 0.0, 0.0, 0.0
    for j in range(Z.shape[0]):
        along, aside = _dot(Z[j], e[0]), _dot(Z[j], e[1])
        active[j] = j != i and (along > 0 or (along == 0 and aside > 0))
        size = math.copysign(math.sqrt(along * along + aside * aside), -along)
        cosine = aside / size if along != 0 else -1.0  # where along cos t + aside sin t vanishes
        turn[j] = 9.0 if j == i else -cosine
        if active[j]:
            s0, s1, s2 = s0 + u[j] * Z[j, 0], s1 + u[j] * Z[j, 1], s2 + u[j] * Z[j, 2]
    return s0, s1, s2


@njit(cache=True, error_model="numpy")
def _walk(Z: Any, u: Any, best: Any) -> None:
    """The largest and the least value over the sphere, by all circles; best[k] = (value, w)."""
    m = Z.shape[0]
    turn, active = np.empty(m), np.empty(m, np.bool_)
    for i in range(m):
        e = _basis(Z[i])
        s0, s1, s2 = _events(Z, u, i, e, (turn, active))
        order = np.argsort(turn)
        end, sign = (1.0, 0.0), 1.0
        for step in range(2 * m):
            k = step % m
            last = order[k - 1] if k > 0 else -1
            row = order[k] if k < m - 1 else -1
            start = end
            sign = 1.0 if step < m else -1.0
            cosine = -turn[row] if row >= 0 else -1.0
            end = (sign * cosine, sign * math.sqrt(max(1.0 - cosine * cosine, 0.0)))
            _arc((s0, s1, s2), e, start, end, best)
            first, second = (last, last >= 0 and active[last]), (row, row >= 0 and active[row])
            _cell(Z, u, (s0, s1, s2), (first, second, (i, False)), best)
            both = (s0 + u[i] * Z[i, 0], s1 + u[i] * Z[i, 1], s2 + u[i] * Z[i, 2])
            _cell(Z, u, both, (first, second, (i, True)), best)
            if row >= 0:
                change = -u[row] if active[row] else u[row]
                s0, s1, s2 = (
                    s0 + change * Z[row, 0],
                    s1 + change * Z[row, 1],
                    s2 + change * Z[row, 2],
                )
                active[row] = not active[row]


@dataclass(frozen=True, eq=False)
class PairOracle:
    """Groups of one or two columns with penalized biases; `search` is quick and may miss the
    largest value, `exact_search` does not.

    Attributes
    ----------
    X, tau : rows and bias feature.
    groups : the groups, of one or two columns.
    columns : the oracle of the single columns.
    rows : for every group its distinct rows with the bias feature, and where each row went.
    known : for every group the directions found last.
    """

    X: Array
    tau: float
    groups: list[tuple[int, ...]]
    columns: ColumnOracle
    rows: list[tuple[Array, Indices]]
    known: dict[int, Array] = field(default_factory=dict)

    @classmethod
    def of(cls, X: Array, groups: list[tuple[int, ...]], *, tau: float = 1.0) -> PairOracle:
        """Sort the columns and find equal rows."""
        rows = []
        for group in groups:
            Z = np.c_[X[:, group[0]], X[:, group[-1]], np.full(len(X), tau)]
            Z[:, 1] *= len(group) > 1
            distinct, place = np.unique(Z, axis=0, return_inverse=True)
            rows.append((np.ascontiguousarray(distinct), place.ravel()))
        columns = ColumnOracle.of(X, tau=tau)
        return cls(X, tau, groups, columns, rows)

    def search(self, u: Array, threshold: float) -> tuple[Array, Candidates]:
        """The largest values found by ascents, which may be too small, and up to two neurons for
        each sign and group.
        """
        heights, single = self.columns.search(u, 0.5 * min(threshold, 1e300))
        found: list[tuple[float, Array, int]] = []
        tops = np.zeros(len(self.groups))
        for g, group in enumerate(self.groups):
            W = np.vstack([_STARTS, *self._first(g, group, single)])
            if len(group) == 1:
                W[:, 1] = 0.0
                W = W[np.abs(W).sum(axis=1) > 0]
            Z, place = self.rows[g]
            values = np.empty(len(W))
            _ascend(Z, np.bincount(place, u, len(Z)), W, values)
            tops[g] = max(np.abs(values).max(), max(heights[j] for j in group))
            best = _distinct(W, values, threshold)
            self.known[g] = W[np.argsort(-np.abs(values))[:4]]
            found += [(values[k], W[k], g) for k in best]
        return tops, _candidates(found)

    def exact_search(self, u: Array, threshold: float) -> tuple[Array, Candidates]:
        """Upper bounds of H of every group, in floats, whose maximum is H(u), and the largest and
        least values above the threshold; what is below the largest value known is not looked at.
        """
        tops, _ = self.search(u, threshold)
        low = min(float(tops.max()), threshold)
        found: list[tuple[float, Array, int]] = []
        for g, (Z, place) in enumerate(self.rows):
            best = np.zeros((2, 4))
            best[:, 0] = low, -low
            _walk(Z, np.bincount(place, u, len(Z)), best)
            tops[g] = max(np.abs(best[:, 0]).max(), tops[g])
            if len(self.groups[g]) == 1:
                best[:, 2] = 0.0  # rounding
            new = [row for row in best if abs(row[0]) > low]
            self.known[g] = np.vstack([self.known[g], *(row[1:] for row in new)])
            found += [(row[0], row[1:], g) for row in new if abs(row[0]) > threshold]
        return tops, _candidates(found)

    def _first(self, g: int, group: tuple[int, ...], single: Candidates) -> list[Array]:
        """What was found for the group last time, and the neurons of its single columns."""
        parts = [self.known[g]] if g in self.known else []
        for k, column in enumerate(group):
            here = single.weights[single.group == column]
            if len(here):
                lifted = np.zeros((len(here), 3))
                lifted[:, k], lifted[:, 2] = here[:, 0], here[:, 1]
                parts.append(lifted)
        return parts

    def features(self, group: Indices, weights: Array) -> Array:
        """The hidden outputs of neurons at all rows, one row each."""
        first = [self.groups[g][0] for g in group]
        second = [self.groups[g][-1] for g in group]
        inputs = self.X.T[first] * weights[:, :1] + self.tau * weights[:, 2:]
        inputs += self.X.T[second] * weights[:, 1:2]
        return np.maximum(inputs, 0.0, out=inputs)


def _distinct(W: Array, values: Array, threshold: float, most: int = 2) -> list[int]:
    """The best directions above the threshold, up to `most` for each sign, no two alike."""
    chosen: list[int] = []
    for k in np.argsort(-np.abs(values)).tolist():
        if abs(values[k]) <= threshold:
            break
        same = [c for c in chosen if (values[c] > 0) == (values[k] > 0)]
        if len(same) < most and all(W[c] @ W[k] < _DISTINCT for c in same):
            chosen.append(k)
    return chosen


def _candidates(found: list[tuple[float, Array, int]]) -> Candidates:
    """No cones: these neurons are merged by what they do on the rows."""
    values = np.array([value for value, _, _ in found])
    weights = np.array([w for _, w, _ in found]).reshape(len(found), 3)
    group = np.array([g for _, _, g in found], dtype=np.int64)
    return Candidates(values, weights, group, np.full((len(found), 2), -1, np.int64))

r"""Neurons that see two columns and the bias: a quick search for the largest
$|\sum_i u_i\,\mathrm{relu}(w\cdot x_i)|$ over the sphere by ascents, and one that misses nothing,
by cones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numba import njit

from globalmin._types import Array, Indices
from globalmin.regularized.columns import Candidates, ColumnOracle
from globalmin.regularized.pair_cones import CLOSED, EXCEEDED, search_sphere

# directions that every quick search starts from: the axes and the corners of the cube
_STARTS = np.array(
    [(a, b, c) for a in (-1, 0, 1) for b in (-1, 0, 1) for c in (-1, 0, 1) if a or b or c],
    dtype=np.float64,
)
_STEPS = 40  # of one ascent
_CLIMBERS = 6  # starts of one group that are improved, besides the directions known
_TOLERANCE = 2.0**-20  # of H: what the search over cones leaves open, and the checker has as room
_CONES = 400_000  # of one group
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
                W[:, 2] += ~W.any(axis=1)
            Z, place = self.rows[g]
            sums = _sums(u, place, len(Z))
            W = _climbers(Z, sums, W)
            values = np.empty(len(W))
            _ascend(Z, sums, W, values)
            tops[g] = max(np.abs(values).max(), max(heights[j] for j in group))
            best = _distinct(W, values, threshold)
            self.known[g] = W[np.argsort(-np.abs(values))[:4]]
            found += [(values[k], W[k], g) for k in best]
        return tops, _candidates(found)

    def exact_search(self, u: Array, threshold: float) -> tuple[Array, Candidates]:
        """A bound of H for every group, in floats, nearly the largest value found (or the
        threshold, if that is larger), and what was found above the threshold; infinite if the
        search over cones does not end.
        """
        tops, quick = self.search(u, threshold)
        best, found = float(tops.max()), _listed(quick)
        level = best * (1.0 + _TOLERANCE)
        if math.isfinite(threshold):
            level = max(level, threshold)
        if level == 0.0:
            return tops, quick
        for g, group in enumerate(self.groups):
            while len(group) > 1:
                state, w = self._search_cones(g, u / level)
                if state != EXCEEDED:
                    level = level if state == CLOSED else math.inf
                    break
                value, w = self._ascended(g, u, w)
                level = max(level, abs(value) * (1.0 + _TOLERANCE))
                if abs(value) > threshold:
                    found.append((value, w, g))
        return np.full(len(tops), level), _candidates(found)

    def _search_cones(self, g: int, u: Array) -> tuple[int, Array]:
        """Whether every cone is closed for one group, and a direction where the bound 1 fails."""
        Z, place = self.rows[g]
        w = np.zeros(3)
        state, _ = search_sphere(Z, _sums(u, place, len(Z)), _CONES, w)
        return int(state), w

    def _ascended(self, g: int, u: Array, w: Array) -> tuple[float, Array]:
        """Uphill from a direction, which is known from now on."""
        Z, place = self.rows[g]
        W, values = w[None, :].copy(), np.empty(1)
        _ascend(Z, _sums(u, place, len(Z)), W, values)
        self.known[g] = np.vstack([self.known[g], W])
        return float(values[0]), W[0]

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


def _sums(u: Array, place: Indices, count: int) -> Array:
    """The sum of u over equal rows."""
    return np.asarray(np.bincount(place, u, count), dtype=np.float64)


def _climbers(Z: Array, u: Array, W: Array) -> Array:
    """The starts from which ascents are tried: the best, and all that were known before."""
    fixed, known = W[: len(_STARTS)], W[len(_STARTS) :]
    values = np.abs(np.maximum(fixed @ Z.T, 0.0) @ u) / np.linalg.norm(fixed, axis=1)
    return np.vstack([fixed[np.argsort(-values)[:_CLIMBERS]], known])


def _listed(found: Candidates) -> list[tuple[float, Array, int]]:
    return list(zip(found.values.tolist(), found.weights, found.group.tolist(), strict=True))


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

r"""Neurons that see two columns and the bias: a quick search for the largest
$|\sum_i u_i\,\mathrm{relu}(w\cdot x_i)|$ over the sphere by ascents, and one that misses nothing,
by cones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from globalmin._types import Array, Indices
from globalmin.regularized.columns import Candidates, ColumnOracle
from globalmin.regularized.pair_ascents import Cells, ascend, cells_of, tops
from globalmin.regularized.pair_cones import CLOSED, EXCEEDED, search_sphere

# of H: what the search over cones leaves open, and the checker has as room; at most and at least
TOLERANCES = 2.0**-14, 2.0**-26
_OPEN = 0.125  # of the gap asked for: what that tolerance may cost
_TOPS = 12  # of one group from which ascents are tried, besides the directions known
_KNOWN = 4  # directions of one group that are remembered
_CONES = 400_000  # of one group
_DISTINCT = 1 - 1e-6  # cosine from which on two directions are one


def tolerance_for(gap: float) -> float:
    """What a search may leave open, as a share of H, if such a relative gap is asked for."""
    most, least = TOLERANCES
    return min(max(_OPEN * gap, least), most)


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
    cells : for every group these rows, neighbors together.
    tolerance : what a search leaves open, as a share of the largest value.
    known : for every group the directions found last.
    """

    X: Array
    tau: float
    groups: list[tuple[int, ...]]
    columns: ColumnOracle
    rows: list[tuple[Array, Indices]]
    cells: list[Cells]
    tolerance: float
    known: dict[int, Array] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        X: Array,
        groups: list[tuple[int, ...]],
        *,
        tau: float = 1.0,
        tolerance: float = 2.0**-20,
    ) -> PairOracle:
        """Sort the columns and find equal rows."""
        rows = []
        for group in groups:
            Z = np.c_[X[:, group[0]], X[:, group[-1]], np.full(len(X), tau)]
            Z[:, 1] *= len(group) > 1
            distinct, place = np.unique(Z, axis=0, return_inverse=True)
            rows.append((np.ascontiguousarray(distinct), place.ravel()))
        columns = ColumnOracle.of(X, tau=tau)
        cells = [cells_of(Z) for Z, _ in rows]
        return cls(X, tau, groups, columns, rows, cells, tolerance)

    @property
    def finest(self) -> float:
        """The last step of an ascent: its square is what a value may lack, nearly."""
        return 0.1 * math.sqrt(self.tolerance)

    def search(self, u: Array, threshold: float) -> tuple[Array, Candidates]:
        """The largest values found by ascents, which may be too small, and up to two neurons for
        each sign and group.
        """
        heights, single = self.columns.search(u, 0.5 * min(threshold, 1e300))
        found: list[tuple[float, Array, int]] = []
        highest = np.zeros(len(self.groups))
        for g, group in enumerate(self.groups):
            Z, place = self.rows[g]
            sums = _sums(u, place, len(Z))
            parts = [] if len(group) == 1 else [tops(Z, sums, self.cells[g], _TOPS)]
            W = np.vstack([*parts, *self._first(g, group, single), np.eye(3)[2:]])
            values = np.empty(len(W))
            ascend(Z, sums, W, values, self.finest)
            highest[g] = max(np.abs(values).max(), max(heights[j] for j in group))
            best = _distinct(W, values, threshold)
            self.known[g] = W[_distinct(W, values, 0.0, _KNOWN)]
            found += [(values[k], W[k], g) for k in best]
        return highest, _candidates(found)

    def exact_search(self, u: Array, threshold: float) -> tuple[Array, Candidates]:
        """A bound of H for every group, in floats, nearly the largest value found (or the
        threshold, if that is larger), and what was found above the threshold; infinite if the
        search over cones does not end.
        """
        heights, quick = self.search(u, threshold)
        best, found = float(heights.max()), _listed(quick)
        level = best * (1.0 + self.tolerance)
        if math.isfinite(threshold):
            level = max(level, threshold)
        if level == 0.0:
            return heights, quick
        for g, group in enumerate(self.groups):
            while len(group) > 1:
                state, w = self._search_cones(g, u / level)
                if state != EXCEEDED:
                    level = level if state == CLOSED else math.inf
                    break
                value, w = self._ascended(g, u, w)
                level = max(level, abs(value) * (1.0 + self.tolerance))
                if abs(value) > threshold:
                    found.append((value, w, g))
        return np.full(len(heights), level), _candidates(found)

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
        ascend(Z, _sums(u, place, len(Z)), W, values, self.finest)
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


@dataclass(frozen=True, eq=False)
class QuickPairs:
    """The quick search alone, where nothing has to be proved."""

    oracle: PairOracle

    def search(self, u: Array, threshold: float) -> tuple[Array, Candidates]:
        """As that of the oracle: heights may be too small."""
        return self.oracle.search(u, threshold)

    def features(self, group: Indices, weights: Array) -> Array:
        """The hidden outputs of neurons at all rows, one row each."""
        return self.oracle.features(group, weights)


def _sums(u: Array, place: Indices, count: int) -> Array:
    """The sum of u over equal rows."""
    return np.asarray(np.bincount(place, u, count), dtype=np.float64)


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

r"""Where $|\sum_i u_i\,\mathrm{relu}(w\cdot x_i)|$ is large on the sphere in three dimensions,
quickly and without a promise: the sums at directions all over the sphere, of rows taken together in
cells, and ascents from the tops among them.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from globalmin._compiled import compiled
from globalmin._types import Array, Indices

_SCANNED = 512  # directions all over the sphere
_NEIGHBORS = 8  # of each, among which a top is the highest
_CELLS = 16  # along each axis, of equal weight
_STEPS = 40  # of one ascent


class Cells(NamedTuple):
    """Where every row went, and the middle of each cell: the mean of its rows."""

    place: Indices
    middle: Array


def _sphere(count: int) -> Array:
    """Points of a spiral, evenly spread over the sphere."""
    k = np.arange(count) + 0.5
    height, angle = 1.0 - 2.0 * k / count, k * math.pi * (3.0 - math.sqrt(5.0))
    radius = np.sqrt(1.0 - height * height)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle), height], axis=1)


_DIRECTIONS = _sphere(_SCANNED)
_NEAR = np.argsort(-(_DIRECTIONS @ _DIRECTIONS.T), axis=1)[:, 1 : _NEIGHBORS + 1].copy()


def cells_of(Z: Array) -> Cells:
    """Rows of three entries in cells; each row is its own if there are few."""
    if len(Z) <= _CELLS * _CELLS:
        return Cells(np.arange(len(Z)), Z)
    bins = [_bins(Z[:, k]) for k in range(2)]
    _, place = np.unique(bins[0] * _CELLS + bins[1], return_inverse=True)
    place = place.ravel()
    counts = np.bincount(place)
    middle = np.stack([np.bincount(place, Z[:, k]) / counts for k in range(3)], axis=1)
    return Cells(place, middle)


def _bins(x: Array) -> Indices:
    order = np.empty(len(x), np.int64)
    order[np.argsort(x, kind="stable")] = np.arange(len(x))
    return order * _CELLS // len(x)


def tops(Z: Array, u: Array, cells: Cells, most: int) -> Array:
    """The directions of the scan where |sum| is higher than at their neighbors, the highest first,
    so many at most, improved on the cells.
    """
    scale = np.sqrt(np.mean(np.square(cells.middle), axis=0))
    scale = np.where(scale > 0, scale, 1.0)
    directions = _DIRECTIONS / scale
    directions /= np.sqrt(np.square(directions).sum(axis=1))[:, None]
    moments = np.zeros_like(cells.middle)
    values = np.empty(len(directions))
    _moments(Z, u, cells.place, moments)
    _scan(cells.middle, moments, directions, values)
    size = np.abs(values)
    is_top = (size[:, None] >= size[_NEAR]).all(axis=1) & (size > 0)
    best = np.flatnonzero(is_top)
    return directions[best[np.argsort(-size[best])[:most]]]


@compiled()
def _moments(Z: Any, u: Any, place: Any, moments: Any) -> None:
    """The sum of u_i x_i over every cell."""
    for i in range(Z.shape[0]):
        for k in range(3):
            moments[place[i], k] += u[i] * Z[i, k]


@compiled()
def _scan(middle: Any, moments: Any, directions: Any, values: Any) -> None:
    """The sums at directions, as if every cell were active or not as a whole."""
    for a in range(directions.shape[0]):
        w0, w1, w2 = directions[a, 0], directions[a, 1], directions[a, 2]
        total = 0.0
        for i in range(middle.shape[0]):
            if middle[i, 0] * w0 + middle[i, 1] * w1 + middle[i, 2] * w2 > 0:
                total += moments[i, 0] * w0 + moments[i, 1] * w1 + moments[i, 2] * w2
        values[a] = total


@compiled()
def _value(Z: Any, u: Any, w: Any, s: Any) -> float:
    """The sum at w, and in s the sum of the active rows."""
    s0, s1, s2 = 0.0, 0.0, 0.0
    for i in range(Z.shape[0]):
        if Z[i, 0] * w[0] + Z[i, 1] * w[1] + Z[i, 2] * w[2] > 0:
            s0 += u[i] * Z[i, 0]
            s1 += u[i] * Z[i, 1]
            s2 += u[i] * Z[i, 2]
    s[0], s[1], s[2] = s0, s1, s2
    return s0 * w[0] + s1 * w[1] + s2 * w[2]


@compiled()
def ascend(Z: Any, u: Any, W: Any, values: Any, finest: float) -> None:
    """From every row of W uphill in |sum|, in place: towards the sum of the active rows, halving
    the way while that does not help, until it is less than `finest`.
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
            if size == 0.0 or share < finest:
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

"""The scan of `columns` in array operations, number for number the same: for tables so small that
importing numba would cost more than the whole fit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from globalmin._types import Array, Indices

if TYPE_CHECKING:
    from globalmin.regularized.columns import Table

SMALL = 1024  # entries of the table


def scan_small(
    u: Array, table: Table, setting: tuple[float, float, bool, Indices], limit: int
) -> tuple[Array, Array, Indices]:
    """H of each column; the largest value of every run of cones above the threshold, as rows
    (value, w); and their (column, first cone, last cone).
    """
    tau, threshold, free, slopes = setting
    heights = np.zeros(len(table.order))
    found: list[Array] = []
    where: list[tuple[int, int, int]] = []
    for j, (first, last) in enumerate(zip(table.ends[:-1], table.ends[1:], strict=True)):
        counts = np.diff(table.starts[first + j : last + j + 1])
        place = np.repeat(np.arange(counts.size), counts)
        sums = np.bincount(place, u[table.order[j]]).astype(np.float64, copy=False)
        values = table.z[first:last], table.shrink[first:last]
        search = _hinges if free else _cones
        best, place = search(values, sums, tau, int(slopes[j]))
        size = np.abs(best[:, 0])
        heights[j] = size.max()
        for i in _tops(best[:, 0], size, threshold):
            found.append(best[i])
            end = len(size) - 1
            where.append((j, max(i - (place[i] == 0), 0), min(i + (place[i] == 2), end)))
    rows = np.array(found[:limit]).reshape(-1, 3)
    return heights, rows, np.array(where[:limit], dtype=np.int64).reshape(-1, 3)


def _tops(value: Array, size: Array, threshold: float) -> list[int]:
    """The first largest of every run of one sign above the threshold."""
    above = np.flatnonzero(size > threshold)
    if not above.size:
        return []
    is_new = (np.diff(above) > 1) | (np.diff(value[above] > 0))
    runs = np.split(above, np.flatnonzero(is_new) + 1)
    return [int(run[np.argmax(size[run])]) for run in runs]


def _cones(values: tuple[Array, Array], sums: Array, tau: float, slope: int) -> tuple[Array, Any]:
    """The best unit vector of every cone, as rows (value, w), and where it is: 0 at the first ray,
    1 inside, 2 at the second.
    """
    z, shrink = values
    m = z.size
    one, ends = np.full(m, tau), np.ones(2 * m + 1)
    rays = np.empty((2, 2 * m + 1))
    rays[0] = np.concatenate([one, [0.0], -one])
    rays[1] = np.concatenate([-z[::-1], [1.0], z[::-1]])
    ends[:m] = ends[m + 1 :] = shrink[::-1]
    s = np.empty((2, 2 * m))
    for row, terms in zip(s, (sums * z, tau * sums), strict=True):
        row[:m] = np.cumsum(terms[::-1])
        row[m:] = np.cumsum(terms)[::-1]
    s[:, m] = s[:, m - 1]  # all rows, in the order of the suffixes
    signs = np.repeat([-slope, slope], m)
    return _best(rays, ends, s, signs)


def _best(rays: Array, ends: Array, s: Array, signs: Array) -> tuple[Array, Any]:
    p, q = rays[:, :-1], rays[:, 1:]
    left, right = p[0] * s[1] - p[1] * s[0], s[0] * q[1] - s[1] * q[0]
    inside = (left * right > 0) & (left * signs >= 0)
    at_p = (s[0] * p[0] + s[1] * p[1]) * ends[:-1]
    at_q = (s[0] * q[0] + s[1] * q[1]) * ends[1:]
    if signs.any():
        at_p, at_q = (signs * np.maximum(signs * at, 0.0) for at in (at_p, at_q))
    first = np.abs(at_p) >= np.abs(at_q)
    size = np.copysign(np.sqrt(s[0] * s[0] + s[1] * s[1]), left)
    ray, shrink = np.where(first, p, q), np.where(first, ends[:-1], ends[1:])
    best = np.stack([np.where(first, at_p, at_q), *(ray * shrink)], axis=1)
    best[inside] = np.stack([size, *(s / np.where(inside, size, 1.0))], axis=1)[inside]
    return best, np.where(inside, 1, np.where(first, 0, 2))


def _hinges(values: tuple[Array, Array], sums: Array, tau: float, slope: int) -> tuple[Array, Any]:
    """The same for free biases: hinges at the values, looking right and then left."""
    z, m = values[0], values[0].size
    slopes, constants = (np.cumsum(np.append(0.0, t[::-1]))[:-1] for t in (sums, sums * z))
    right = constants - slopes * z[::-1]
    slopes, constants = (np.cumsum(np.append(0.0, t))[:-1] for t in (sums, sums * z))
    left = (slopes * z - constants)[::-1]
    value = np.concatenate([right, left])
    value[np.repeat([-slope, slope], m) * value < 0] = 0.0
    side = np.repeat([1.0, -1.0], m)
    best = np.stack([value, side, -side * np.concatenate([z[::-1], z[::-1]]) / tau], axis=1)
    return best, np.ones(2 * m, np.int64)

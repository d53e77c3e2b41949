r"""Whether the search over cones of theorem R3 ends, and after how many cones: the search of the
checker in compiled floats, so that u can be scaled to what the checker will be able to close; and
where the inequality fails, if it does.

A cone $\{\sum_k\lambda_kp_k\}$ is closed if slopes $\alpha_i \in [0, 1]$ of the rows with u < 0 and
a vector q have $q\cdot p_k \ge G_k$ for all rays and $|q| \le b$; otherwise it is split at the
edge that most of the undecided rows cross. The best slopes come from a concave problem: maximize
$\sum_k\lambda_kh_k - \sum_{u<0}|u_i|\,\mathrm{relu}(x_i\cdot w) - |w|^2/2$ over $\lambda \ge 0$,
where $w = \sum_k\lambda_kp_k$ and $h_k$ is the sum over the rows with u > 0. Nothing here is a
proof: the checker searches again, in integers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit

from globalmin._types import Array

LARGEST_DIMENSION = 6
_ROUNDS = 15  # steps of Newton's method for the slopes of a cone
_BAND = 1e-3  # in which relu is smoothed there, in units of b
_SWEEPS = 200
_ROOM = 1e-9  # relative room left to the checker


@dataclass(frozen=True, eq=False)
class ConeSearch:
    """The end of one search.

    Attributes
    ----------
    is_closed : whether every cone was closed.
    n_cones : how many there were.
    above : a direction w at which the sum exceeds b|w|, if the search met one and ended there.
    """

    is_closed: bool
    n_cones: int
    above: Array | None = None


def search_cones(rows: Array, u: Array, b: float, *, max_cones: int) -> ConeSearch:
    """Try to close every cone for sum u_i relu(x_i.w) <= b|w|; call it with u and with -u.

    Parameters
    ----------
    rows : n x p inputs as the neurons see them, p at most 6.
    u : dual vector.
    b : weight decay.
    max_cones : the search gives up after this many.
    """
    used = u != 0
    is_closed, count, above = _search(
        np.ascontiguousarray(rows[used]), u[used] / (b * (1.0 - _ROOM)), max_cones
    )
    return ConeSearch(bool(is_closed), int(count), above if np.any(above) else None)


@njit(cache=True)
def _search(rows: Any, u: Any, max_cones: int) -> Any:
    """For b = 1 and unit rays; depth first, all orthants. The direction is zero if none is met."""
    n, p = rows.shape
    order, count = np.arange(n), 0
    for orthant in range(2**p):
        signs = np.empty(p)
        for k in range(p):
            signs[k] = 1.0 if (orthant >> k) & 1 else -1.0
        stack = [(np.diag(signs), np.zeros(p), order, rows * signs)]
        while len(stack) > 0:
            rays, base, index, z = stack.pop()
            count += 1
            if count > max_cones:
                return False, count, np.zeros(p)
            base, index, z = _sorted_out(u, base, index, z)
            gram = rays @ rays.T
            if _closes(u, gram, base, index, z):
                continue
            a, c = _edge(u, gram, index, z)
            ray = rays[a] + rays[c]
            size = math.sqrt((ray * ray).sum())
            if size < 1e-9:
                return False, count, np.zeros(p)
            middle, level = (z[:, a] + z[:, c]) / size, (base[a] + base[c]) / size
            if level + (u[index] * np.maximum(middle, 0.0)).sum() > 1.0:
                return False, count, ray / size
            for k in (a, c):
                child, child_z, child_base = rays.copy(), z.copy(), base.copy()
                child[k], child_z[:, k], child_base[k] = ray / size, middle, level
                stack.append((child, child_base, index, child_z))
    return True, count, np.zeros(p)


@njit(cache=True)
def _sorted_out(u: Any, base: Any, index: Any, z: Any) -> Any:
    """The rows that are undecided on the cone; the active ones are added to the base."""
    m, p = z.shape
    base = base.copy()
    keep = np.zeros(m, np.bool_)
    for i in range(m):
        low, high = z[i].min(), z[i].max()
        if high <= 0.0:
            continue
        if low < 0.0:
            keep[i] = True
        else:
            for k in range(p):
                base[k] += u[index[i]] * z[i, k]
    return base, index[keep], z[keep]


@njit(cache=True)
def _closes(u: Any, gram: Any, base: Any, index: Any, z: Any) -> Any:
    """Whether slopes and a vector q are found that prove the inequality on the cone."""
    p = len(base)
    levels = base.copy()
    lower = np.empty((len(z), p))  # |u_i| x_i . p_k of the rows with u < 0
    m = 0
    for i in range(len(z)):
        weight = u[index[i]]
        if weight > 0.0:
            for k in range(p):
                levels[k] += weight * max(z[i, k], 0.0)
        else:
            lower[m] = -weight * z[i]
            m += 1
    lower = lower[:m]
    weights = np.zeros(p)
    for _ in range(_ROUNDS):
        heights, slope, curvature = _local_model(gram, levels, lower, weights)
        shortest = _shortest(gram, heights)
        if _length_above(gram, heights, shortest) <= 1.0:
            return True
        size = (shortest * (gram @ shortest)).sum()
        value = (levels * shortest).sum() - np.maximum(lower @ shortest, 0.0).sum()
        if value > math.sqrt(size) * (1.0 + 1e-12):  # at this w no slopes are good enough
            return False
        weights, has_moved = _stepped(gram, levels, lower, weights, (slope, curvature))
        if not has_moved:
            return False
    return False


@njit(cache=True)
def _local_model(gram: Any, levels: Any, lower: Any, weights: Any) -> Any:
    """The numbers G_k with the slopes at these weights; gradient and curvature there."""
    p = len(levels)
    heights, curvature = levels.copy(), gram.copy()
    for i in range(len(lower)):
        t = 0.0
        for k in range(p):
            t += lower[i, k] * weights[k]
        alpha = min(max(t / _BAND + 0.5, 0.0), 1.0)
        for k in range(p):
            heights[k] -= alpha * lower[i, k]
        if 0.0 < alpha < 1.0:
            for k in range(p):
                for j in range(p):
                    curvature[k, j] += lower[i, k] * lower[i, j] / _BAND
    return heights, heights - gram @ weights, curvature


@njit(cache=True)
def _stepped(gram: Any, levels: Any, lower: Any, weights: Any, model: Any) -> Any:
    """A projected step of Newton's method, halved until the value grows."""
    p, (slope, curvature) = len(weights), model
    matrix, right = curvature.copy(), slope.copy()
    for k in range(p):
        if weights[k] <= 0.0 and slope[k] <= 0.0:  # stays at zero
            matrix[k, :] = 0.0
            matrix[:, k] = 0.0
            matrix[k, k], right[k] = 1.0, 0.0
        matrix[k, k] += 1e-12
    step = np.linalg.solve(matrix, right)
    value, share = _value(gram, levels, lower, weights), 1.0
    for _ in range(12):
        moved = np.maximum(weights + share * step, 0.0)
        if _value(gram, levels, lower, moved) > value:
            return moved, True
        share *= 0.5
    return weights, False


@njit(cache=True)
def _value(gram: Any, levels: Any, lower: Any, weights: Any) -> Any:
    """The concave function, relu smoothed."""
    value = (levels * weights).sum() - 0.5 * (weights * (gram @ weights)).sum()
    for i in range(len(lower)):
        t = (lower[i] * weights).sum()
        if t > 0.5 * _BAND:
            value -= t
        elif t > -0.5 * _BAND:
            value -= (t + 0.5 * _BAND) ** 2 / (2.0 * _BAND)
    return value


@njit(cache=True)
def _shortest(gram: Any, heights: Any) -> Any:
    """Weights >= 0 of the unit rays whose sum is the shortest q with q.e_k >= height_k."""
    p = len(heights)
    weights = np.zeros(p)
    for _ in range(_SWEEPS):
        change = 0.0
        for k in range(p):
            rest = heights[k] - (gram[k] * weights).sum()
            moved = max(0.0, weights[k] + rest / gram[k, k])
            change = max(change, abs(moved - weights[k]))
            weights[k] = moved
        if change < 1e-13:
            break
    return weights


@njit(cache=True)
def _length_above(gram: Any, heights: Any, weights: Any) -> Any:
    """|q|^2, with q moved to the center of the cone until no q.e_k is below its height."""
    lack = (heights - gram @ weights).max()
    lift = gram.sum(axis=1).min()
    if lack > 0.0 and lift <= 0.0:
        return np.inf
    moved = weights + max(lack, 0.0) / lift if lack > 0.0 else weights
    return (moved * (gram @ moved)).sum()


@njit(cache=True)
def _edge(u: Any, gram: Any, index: Any, z: Any) -> Any:
    """The edge that the largest weight of undecided rows crosses, or the longest one."""
    m, p = z.shape
    best, first, second = 0.0, 0, 1
    for a in range(p):
        for c in range(a + 1, p):
            total = 0.0
            for i in range(m):
                if (z[i, a] > 0.0) != (z[i, c] > 0.0):
                    total += abs(u[index[i]]) * min(abs(z[i, a]), abs(z[i, c]))
            if total > best:
                best, first, second = total, a, c
    if best > 0.0:
        return first, second
    least = 2.0
    for a in range(p):
        for c in range(a + 1, p):
            if gram[a, c] < least:
                least, first, second = gram[a, c], a, c
    return first, second

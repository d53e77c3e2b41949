r"""Whether the search over cones of theorem R3 ends, and after how many cones: the rule of the
checker in compiled floats, so that u can be scaled to what the checker will be able to close.

A cone $\{\sum_k\lambda_kp_k\}$ is closed if a vector q has $q\cdot p_k \ge G_k$ for all rays and
$|q| \le b$; otherwise it is split at the edge that most of the undecided rows cross. Nothing here
is a proof: the checker searches again, in integers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit

from globalmin._types import Array

LARGEST_DIMENSION = 6
_ATTEMPTS = 3
_SWEEPS = 60
_SLOPES = 1024.0  # the checker's slopes are multiples of 1/1024, rounded down
_ROOM = 1e-9  # relative room left to the checker


@dataclass(frozen=True)
class ConeSearch:
    """The end of one search: whether every cone was closed, and how many there were."""

    is_closed: bool
    n_cones: int


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
    is_closed, count = _search(
        np.ascontiguousarray(rows[used]), u[used] / (b * (1.0 - _ROOM)), max_cones
    )
    return ConeSearch(bool(is_closed), int(count))


@njit(cache=True)
def _search(rows: Any, u: Any, max_cones: int) -> Any:
    """For b = 1; depth first, all orthants."""
    n, p = rows.shape
    order = np.arange(n)
    count = 0
    for orthant in range(2**p):
        signs = np.empty(p)
        for k in range(p):
            signs[k] = 1.0 if (orthant >> k) & 1 else -1.0
        rays = np.diag(signs)
        stack = [(rays, np.zeros(p), order, rows * signs)]
        while len(stack) > 0:
            rays, base, index, z = stack.pop()
            count += 1
            if count > max_cones:
                return False, count
            base, index, z = _sorted_out(u, base, index, z)
            lengths = np.sqrt((rays * rays).sum(axis=1))
            if not _closes(u, rays, lengths, base, (index, z)):
                a, c = _edge(u, rays, lengths, index, z)
                shift = round(math.log2(lengths[c] / lengths[a]))
                left, right = 2.0 ** max(shift, 0), 2.0 ** max(-shift, 0)
                ray = left * rays[a] + right * rays[c]
                size = np.abs(ray).max()
                middle = (left * z[:, a] + right * z[:, c]) / size
                level = (left * base[a] + right * base[c]) / size
                for k in (a, c):
                    child, child_z, child_base = rays.copy(), z.copy(), base.copy()
                    child[k], child_z[:, k], child_base[k] = ray / size, middle, level
                    stack.append((child, child_base, index, child_z))
    return True, count


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
def _closes(u: Any, rays: Any, lengths: Any, base: Any, rows: Any) -> Any:
    """Whether slopes and a vector q are found that prove the inequality on the cone."""
    index, z = rows
    fixed, slopes, has_lower = _first_slopes(u, base, index, z)
    units = rays / lengths.reshape(-1, 1)
    for attempt in range(_ATTEMPTS):
        heights = fixed.copy()
        for i in range(len(z)):
            if u[index[i]] < 0.0:
                heights += u[index[i]] * slopes[i] * z[i]
        heights = heights / lengths
        if heights.max() > 1.0:
            weights = np.zeros(len(heights))
            weights[heights.argmax()] = 1.0
        else:
            weights, q = _shortest(units, heights)
            if (q * q).sum() <= 1.0:
                return True
        if not has_lower:
            return False
        share = 0.5 if attempt == 0 else 1.0 / (attempt + 1.0)
        for i in range(len(z)):
            active = 1.0 if (weights / lengths * z[i]).sum() > 0.0 else 0.0
            slopes[i] = math.floor(_SLOPES * (slopes[i] + share * (active - slopes[i]))) / _SLOPES
    return False


@njit(cache=True)
def _first_slopes(u: Any, base: Any, index: Any, z: Any) -> Any:
    """The sums over the rows with u > 0 and the decided ones, and slopes of the others in
    proportion to their positive parts.
    """
    m, p = z.shape
    fixed, slopes, has_lower = base.copy(), np.zeros(m), False
    for i in range(m):
        U, positive = u[index[i]], 0.0
        for k in range(p):
            positive += max(z[i, k], 0.0)
            if U > 0.0:
                fixed[k] += U * max(z[i, k], 0.0)
        if U <= 0.0:
            has_lower = True
            slopes[i] = math.floor(_SLOPES * positive / np.abs(z[i]).sum()) / _SLOPES
    return fixed, slopes, has_lower


@njit(cache=True)
def _shortest(units: Any, heights: Any) -> Any:
    """The shortest q = sum of weight_k units_k with q.units_k >= height_k, nearly."""
    p = len(heights)
    gram = np.empty((p, p))
    for k in range(p):
        for m in range(p):
            gram[k, m] = (units[k] * units[m]).sum()
    weights = np.zeros(p)
    for _ in range(_SWEEPS):
        change = 0.0
        for k in range(p):
            rest = heights[k] - (gram[k] * weights).sum()
            moved = max(0.0, weights[k] + rest / gram[k, k])
            change = max(change, abs(moved - weights[k]))
            weights[k] = moved
        if change < 1e-14:
            break
    q = np.zeros(p)
    for k in range(p):
        q += weights[k] * units[k]
    lack = 0.0
    for k in range(p):
        lack = max(lack, heights[k] - (q * units[k]).sum())
    center = units.sum(axis=0)
    lift = 1e300
    for k in range(p):
        lift = min(lift, (units[k] * center).sum())
    return weights, q + (center * (lack / lift) if lift > 0.0 else np.zeros(p))


@njit(cache=True)
def _edge(u: Any, rays: Any, lengths: Any, index: Any, z: Any) -> Any:
    """The edge that the largest weight of undecided rows crosses, or the longest one."""
    m, p = z.shape
    best, first, second = 0.0, 0, 1
    for a in range(p):
        for c in range(a + 1, p):
            total = 0.0
            for i in range(m):
                left, right = z[i, a] / lengths[a], z[i, c] / lengths[c]
                if (left > 0.0) != (right > 0.0):
                    total += abs(u[index[i]]) * min(abs(left), abs(right))
            if total > best:
                best, first, second = total, a, c
    if best > 0.0:
        return first, second
    least = 2.0
    for a in range(p):
        for c in range(a + 1, p):
            cosine = (rays[a] * rays[c]).sum() / (lengths[a] * lengths[c])
            if cosine < least:
                least, first, second = cosine, a, c
    return first, second

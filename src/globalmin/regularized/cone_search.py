r"""Whether the search over cones of theorem R3 ends, and after how many cones: the search of the
checker in compiled floats, so that u can be scaled to what the checker will be able to close; and
where the inequality fails, if it does.

Both signs of u are searched at once. A cone that is not closed (`cone_closing`) is split at the
edge that its undecided rows cross most. The rules are those of the checker: the same cones in the
same order, up to rounding. Nothing here is a proof: the checker searches again, in integers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from globalmin._compiled import compiled
from globalmin._types import Array
from globalmin.regularized.cone_closing import FEW, active_sums, closes, dot

LARGEST_DIMENSION = 6
_ROOM = 1e-9  # relative room left to the checker
_SMALL = 1e-9  # rows that amount to less, of b, do not decide where a cone is split
_EXACT = 2.0**53  # entries of rays that are integers in floats
_DEPTH = 400  # cones of the stack besides the orthants


@dataclass(frozen=True, eq=False)
class ConeSearch:
    """The end of one search.

    Attributes
    ----------
    is_closed : whether every cone was closed, for u and for -u.
    n_cones : how many there were.
    above : directions w (m x p) at which the sum, or minus it, exceeds b|w|; the search ends at
        the last one.
    """

    is_closed: bool
    n_cones: int
    above: Array


def search_cones(
    rows: Array, u: Array, b: float, *, max_cones: int, max_met: int = 1
) -> ConeSearch:
    """Try to close every cone for |sum u_i relu(x_i.w)| <= b|w|.

    Parameters
    ----------
    rows : n x p inputs as the neurons see them, p at most 6.
    u : dual vector.
    b : weight decay.
    max_cones : the search gives up after this many.
    max_met : it also ends after so many directions where the inequality fails.
    """
    Z, place = np.unique(rows, axis=0, return_inverse=True)
    merged = np.bincount(place.ravel(), weights=u, minlength=len(Z)) / (b * (1.0 - _ROOM))
    used = merged != 0
    V = np.ascontiguousarray(np.abs(merged[used])[:, None] * Z[used])
    above = np.empty((max_met, rows.shape[1]))
    is_closed, count, n_met = _search(V, (merged[used] < 0).astype(np.int64), max_cones, above)
    return ConeSearch(bool(is_closed), int(count), above[:n_met])


@compiled()
def _search(V: Any, falls: Any, max_cones: int, above: Any) -> Any:
    """For b = 1, depth first. Whether all cones closed, their number, and that of the directions
    met; a cone with such a direction is given up and the search goes on.
    """
    n, p = V.shape
    order = np.arange(n)
    # of the cones on the stack: rays, and the rows active there (u > 0, u < 0); sums of the rows
    # active on the block; end of its undecided rows, splits since, signs that are open
    rays, pulls = np.empty((2**p + _DEPTH, p, p)), np.empty((2**p + _DEPTH, p, 2, p))
    bases, facts = np.zeros((2**p + _DEPTH, 2, p)), np.zeros((2**p + _DEPTH, 4), np.int64)
    top = _push_orthants(V, falls, rays, pulls, facts)
    count, n_met = 0, 0
    met = np.zeros(p)
    while top > 0:
        top -= 1
        count += 1
        if count > max_cones or top + 2 > len(rays) or (p == 1 and count > 2):
            return False, count, n_met
        met[:] = 0.0
        cone = (rays[top], pulls[top], bases[top], facts[top])
        _try(V, falls, order, cone, met)
        if met.any():
            above[n_met] = met / math.sqrt(dot(met, met))
            n_met += 1
            if n_met == len(above):
                return False, count, n_met
        elif facts[top, 2] or facts[top, 3]:
            _split(V, falls, order, (rays, pulls, bases, facts), top)
            top += 2
    return n_met == 0, count, n_met


@compiled()
def _push_orthants(V: Any, falls: Any, rays: Any, pulls: Any, facts: Any) -> int:
    """All of them, undecided rows all rows."""
    n, p = V.shape
    order, nothing = np.arange(n), np.zeros((2, p))
    for orthant in range(2**p):
        for k in range(p):
            rays[orthant, k] = 0.0
            rays[orthant, k, k] = -1.0 if (orthant >> (p - 1 - k)) & 1 else 1.0
            active_sums((V, falls, order), rays[orthant, k], nothing, pulls[orthant, k])
        facts[orthant, 0], facts[orthant, 2], facts[orthant, 3] = n, 1, 1
    return 2**p


@compiled()
def _try(V: Any, falls: Any, order: Any, cone: Any, met: Any) -> None:
    """Close the cone for the signs that are open, or meet a direction above the bound."""
    rays, pulls, base, facts = cone
    p = len(rays)
    units, heights, middle = np.empty((p, p)), np.empty((p, 2)), np.zeros(p)
    for k in range(p):
        units[k] = rays[k] / math.sqrt(dot(rays[k], rays[k]))
        middle += units[k]
        for half in range(2):
            heights[k, half] = dot(pulls[k, half], units[k])
        value = heights[k, 0] - heights[k, 1]
        if (value > 1.0 and facts[2]) or (value < -1.0 and facts[3]):
            met[:] = units[k]
            return
    gram, sums = units @ units.T, np.empty((2, p))
    rows = (V, falls, order[: facts[0]])
    active_sums(rows, middle, base, sums)
    for falling in (1, 0):
        place = 3 - falling
        if facts[place] and closes(rows, (units, gram, heights, base), falling, sums, met):
            facts[place] = 0
        if met.any():
            return


@compiled()
def _split(V: Any, falls: Any, order: Any, stack: Any, top: int) -> None:
    """The two cones in which a combination of two rays replaces one of them, at `top` and after
    it; rows that are decided on the cone are sorted out every few splits.
    """
    rays, pulls, bases, facts = stack
    p = V.shape[1]
    rows = (V, falls, order[: facts[top, 0]])
    a, b = _edge(rows, rays[top], pulls[top])
    ray = _middle(rays[top, a], rays[top, b])
    facts[top, 1] += 1
    if facts[top, 1] > p:
        facts[top, 0] = _sorted_out(rows, rays[top], bases[top])
        facts[top, 1] = 0
    sums = np.empty((2, p))
    active_sums((V, falls, order[: facts[top, 0]]), ray, bases[top], sums)
    rays[top + 1], pulls[top + 1] = rays[top], pulls[top]
    bases[top + 1], facts[top + 1] = bases[top], facts[top]
    rays[top, a], pulls[top, a] = ray, sums
    rays[top + 1, b], pulls[top + 1, b] = ray, sums


@compiled()
def _middle(one: Any, other: Any) -> Any:
    """Two rays of integers, the shorter one times a power of two, added; without a common factor
    as long as the floats are exact.
    """
    shift = round(math.log2(math.sqrt(dot(other, other)) / math.sqrt(dot(one, one))))
    ray = 2.0 ** max(shift, 0) * one + 2.0 ** max(-shift, 0) * other
    if np.abs(ray).max() < _EXACT:
        common = 0
        for entry in ray:
            x, y = common, int(abs(entry))
            while y:
                x, y = y, x % y
            common = x
        ray /= common
    return ray


@compiled()
def _sorted_out(rows: Any, rays: Any, base: Any) -> int:
    """Bring the rows that are undecided on a cone to the front and add up those active on all of
    it; the number of the former.
    """
    V, falls, order = rows
    kept = 0
    for place in range(len(order)):
        i = order[place]
        low, high = math.inf, -math.inf
        for ray in rays:
            t = dot(V[i], ray)
            low, high = min(low, t), max(high, t)
        if low >= 0.0:
            base[falls[i]] += V[i]
        elif high > 0.0:
            order[place], order[kept] = order[kept], i
            kept += 1
    return kept


@compiled()
def _edge(rows: Any, rays: Any, pulls: Any) -> Any:
    """The edge that the undecided rows cross most, by the rows themselves if they are few, else by
    the change of the sums; the widest one if nothing crosses.
    """
    V, falls, order = rows
    p, n_falling = len(rays), 0
    units = np.empty((p, p))
    for k in range(p):
        units[k] = rays[k] / math.sqrt(dot(rays[k], rays[k]))
    for i in order:
        n_falling += falls[i]
    is_few = max(n_falling, len(order) - n_falling) <= FEW
    best, widest, first, second, third, fourth = -1.0, -1.0, 0, 1, 0, 1
    for a in range(p):
        for b in range(a + 1, p):
            if is_few:
                crossing = _crossing(V, order, units[a], units[b])
            else:
                crossing = _turn(units[a], units[b], pulls[a], pulls[b])
            if crossing > best:
                best, first, second = crossing, a, b
            apart = units[a] - units[b]
            if dot(apart, apart) > widest:
                widest, third, fourth = dot(apart, apart), a, b
    if best > (0.0 if is_few else _SMALL):
        return first, second
    return third, fourth


@compiled()
def _crossing(V: Any, order: Any, a: Any, b: Any) -> float:
    total = 0.0
    for i in order:
        x, y = dot(V[i], a), dot(V[i], b)
        if (x > 0.0) != (y > 0.0):
            total += min(abs(x), abs(y))
    return total


@compiled()
def _turn(a: Any, b: Any, pulls_a: Any, pulls_b: Any) -> float:
    """What the rows that switch between two rays amount to."""
    total = 0.0
    for half in range(2):
        change = pulls_a[half] - pulls_b[half]
        at_a, at_b = dot(change, a), -dot(change, b)
        if at_a + at_b > 0.0:
            total += at_a * at_b / (at_a + at_b)
    return total

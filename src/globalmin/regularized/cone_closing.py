r"""One cone of the search of theorem R3 in compiled floats, with b = 1: is
$\sum_iu_i\,\mathrm{relu}(x_i\cdot w) \le |w|$ on it?

The rows that raise the sum are bounded by their values at the rays, the others by a tangent: that
at the middle of the cone, its mean with the one where the bound was largest, or, where few rows are
undecided, a slope for each. What is left is the shortest vector q with $q\cdot p_k \ge G_k$ at the
rays. These are the attempts of the checker, in its order, so that a cone is closed here where it is
closed there; nothing here is a proof.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from globalmin._compiled import compiled

FEW = 8  # undecided rows of one sign that get slopes of their own
FAR = 1.5  # |q|^2 so much above the bound is not worth another attempt
_TURNS = 4  # of the slopes of single rows
_TINY = 1e-15  # below this a float is rounding
_SPARE = 1e-12  # by which q is longer than floats say


@compiled()
def dot(a: Any, b: Any) -> float:
    """Their product, without an array between."""
    total = 0.0
    for j in range(len(a)):
        total += a[j] * b[j]
    return total


@compiled()
def shortest_vector(units: Any, gram: Any, G: Any, weights: Any, q: Any) -> float:
    """The shortest q with q . p_k >= G_k, nearly, in place, with its weights of the unit rays; its
    square.
    """
    p = len(G)
    weights[:] = 0.0
    active = np.zeros(p, np.bool_)
    for _ in range(3 * p):
        k, lack = 0, -math.inf
        for i in range(p):
            missing = G[i] - dot(gram[i], weights)
            if missing > lack:
                k, lack = i, missing
        if lack <= _TINY or active[k]:
            break
        active[k] = True
        _solved(gram, G, active, weights)
        while active.any() and _least(weights, active) <= 0.0:
            active &= weights > 0.0
            _solved(gram, G, active, weights)
    return _lifted(units, gram, G, weights, q)


@compiled()
def _least(weights: Any, active: Any) -> float:
    least = math.inf
    for i in range(len(weights)):
        if active[i]:
            least = min(least, weights[i])
    return least


@compiled()
def _solved(gram: Any, G: Any, active: Any, weights: Any) -> None:
    """The weights with q . p_k = G_k on the active rays, 0 for one that depends on others."""
    weights[:] = 0.0
    places = np.flatnonzero(active)
    size = len(places)
    A, right = np.empty((size, size)), np.empty(size)
    for s in range(size):
        right[s] = G[places[s]]
        for t in range(size):
            A[s, t] = gram[places[s], places[t]]
    is_used = np.ones(size, np.bool_)
    for s in range(size):
        if A[s, s] < _TINY:
            is_used[s] = False
            continue
        for t in range(s + 1, size):
            factor = A[t, s] / A[s, s]
            A[t] -= factor * A[s]
            right[t] -= factor * right[s]
    for s in range(size - 1, -1, -1):
        if is_used[s]:
            known = 0.0
            for t in range(s + 1, size):
                known += A[s, t] * weights[places[t]]
            weights[places[s]] = (right[s] - known) / A[s, s]


@compiled()
def _lifted(units: Any, gram: Any, G: Any, weights: Any, q: Any) -> float:
    """The vector of the weights, made a little longer so that no ray lacks anything; its square."""
    p = len(G)
    lack, lift = -math.inf, math.inf
    for k in range(p):
        lack = max(lack, G[k] - dot(gram[k], weights))
        lift = min(lift, gram[k].sum())
    step = (max(lack, 0.0) + _SPARE) / lift if lift > 0.0 else 0.0
    q[:] = 0.0
    for k in range(p):
        q += (weights[k] + step) * units[k]
    return dot(q, q)


@compiled()
def active_sums(rows: Any, w: Any, base: Any, sums: Any) -> None:
    """The sums of |u_i| x_i over the rows that are active at w, u > 0 and u < 0, in place."""
    V, falls, order = rows
    sums[:] = base
    for i in order:  # most of the time of a search passes here: no arrays are made
        t = 0.0
        for j in range(len(w)):
            t += V[i, j] * w[j]
        if t >= 0.0:
            half = falls[i]
            for j in range(len(w)):
                sums[half, j] += V[i, j]


@compiled()
def closes(rows: Any, cone: Any, falling: int, middle: Any, met: Any) -> bool:
    """Whether the cone is closed for one sign, by the tangents at its middle and where the bound is
    largest; `met` is a direction where the sum itself exceeds 1, if one is.

    Parameters
    ----------
    rows : |u_i| x_i, which of them have u < 0, and the undecided ones of the block.
    cone : unit rays, their products, heights of the rows at the rays, and the sums of those that
        are active on the whole block.
    falling : the rows that lower the sum: 1 those with u < 0, 0 the others.
    middle : the sums at the middle of the cone.
    """
    units, gram, heights, base = cone
    p = len(units)
    rising, sums = 1 - falling, middle.copy()
    G, weights, q = np.empty(p), np.empty(p), np.empty(p)
    mean = np.zeros(p)
    size = 0.0
    for attempt in range(2):
        mean += (sums[falling] - mean) / (attempt + 1.0)
        for k in range(p):
            G[k] = heights[k, rising] - dot(mean, units[k])
        size = shortest_vector(units, gram, G, weights, q)
        if size <= 1.0:
            return True
        if not size < FAR:
            break
        if attempt == 0:
            active_sums(rows, q, base, sums)
            if dot(q, sums[rising]) - dot(q, sums[falling]) > math.sqrt(size):
                met[:] = q
                return False
    return _closes_by_rows(rows, cone, falling, size < FAR)


@compiled()
def _balanced(row: Any, units: Any) -> float:
    """The share of the positive ones in its products with the rays."""
    up, down = 0.0, 0.0
    for unit in units:
        t = dot(row, unit)
        up, down = up + max(t, 0.0), down + max(-t, 0.0)
    return up / (up + down) if up > 0.0 else 0.0


@compiled()
def _closes_by_rows(rows: Any, cone: Any, falling: int, is_near: bool) -> bool:
    """The same with a slope for each undecided row, if they are few; else with slope 0 where the
    tangents are far from enough.
    """
    units, gram, heights, base = cone
    V, falls, order = rows
    p, count = len(units), 0
    mine = np.empty((FEW, p))
    for i in order:
        if falls[i] == falling:
            if count < FEW:
                mine[count] = V[i]
            count += 1
    count = count if count <= FEW else 0
    if is_near and count == 0:
        return False
    slopes = np.empty(count)
    for i in range(count):
        slopes[i] = _balanced(mine[i], units)
    G, weights, q = np.empty(p), np.empty(p), np.empty(p)
    for _ in range(_TURNS):
        tangent = base[falling].copy()
        for i in range(count):
            tangent += slopes[i] * mine[i]
        for k in range(p):
            G[k] = heights[k, 1 - falling] - dot(tangent, units[k])
        if shortest_vector(units, gram, G, weights, q) <= 1.0:
            return True
        for i in range(count):
            square = dot(mine[i], mine[i])
            if square > 0.0:
                moved = min(max(slopes[i] + dot(mine[i], q) / square, 0.0), 1.0)
                q -= (moved - slopes[i]) * mine[i]
                slopes[i] = moved
    return False

"""What floats propose to the search over cones (`dual_cones`): slopes of the undecided rows, and
the vector q. Nothing here is trusted.
"""

from __future__ import annotations

import math
from operator import mul

STEPS = 2**30  # slopes alpha are multiples of 1/STEPS
TURNS = 2  # of the slopes, one after the other, in one attempt
TINY = 1e-15  # below this a float is rounding


def turned(pulls: list[list[float]], slopes: list[int], q: list[float]) -> list[int]:
    """Slopes that make q shorter, one row after the other: q changes by the change of a slope times
    the pull u_i x_i/b of its row.
    """
    if not all(map(math.isfinite, q)):
        return slopes
    moved = [slope / STEPS for slope in slopes]
    squares = [sum(map(mul, pull, pull)) for pull in pulls]
    for _ in range(TURNS):
        for i, (pull, square) in enumerate(zip(pulls, squares, strict=True)):
            if not 0 < square < math.inf:
                continue
            slope = moved[i] - sum(map(mul, pull, q)) / square
            slope = 0.0 if slope < 0 else 1.0 if slope > 1 else slope
            change = slope - moved[i]
            if change:
                moved[i] = slope
                q = [a + change * b for a, b in zip(q, pull, strict=True)]
    return [int(slope * STEPS) for slope in moved]


def proposal(rays: list[list[int]], lengths: list[float], heights: list[float]) -> list[float]:
    """The shortest vector q with q . p_k >= height_k |p_k|, nearly, made a little longer; in units
    of b.
    """
    units = [[c / n for c in ray] for ray, n in zip(rays, lengths, strict=True)]
    weights = _weights([[sum(map(mul, p, q)) for q in units] for p in units], heights)
    q = [sum(map(mul, weights, entries)) for entries in zip(*units, strict=True)]
    center = list(map(sum, zip(*units, strict=True)))
    lift = min(sum(map(mul, p, center)) for p in units)
    lack = max(height - sum(map(mul, p, q)) for height, p in zip(heights, units, strict=True))
    step = (max(lack, 0.0) + 10 * TINY) / lift if lift > 0 else 0.0
    return [a + step * b for a, b in zip(q, center, strict=True)]


def _weights(gram: list[list[float]], heights: list[float]) -> list[float]:
    """Nonnegative weights of the unit rays whose sum is that vector: a ray joins where most is
    lacking, and leaves when its weight would not be positive.
    """
    weights = [0.0] * len(heights)
    active: list[int] = []
    for _ in range(3 * len(heights)):
        lacks = [h - sum(map(mul, row, weights)) for h, row in zip(heights, gram, strict=True)]
        k = max(range(len(heights)), key=lacks.__getitem__)
        if lacks[k] <= TINY or k in active:
            break
        active.append(k)
        found = _solved(gram, heights, active)
        while found and min(found) <= 0:
            active = [i for i, weight in zip(active, found, strict=True) if weight > 0]
            found = _solved(gram, heights, active)
        weights = [0.0] * len(heights)
        for i, weight in zip(active, found, strict=True):
            weights[i] = weight
    return weights


def _solved(gram: list[list[float]], heights: list[float], active: list[int]) -> list[float]:
    """The weights with q . p_k = height_k |p_k| for the active rays, zero for one that depends on
    those before it.
    """
    rows = [[gram[i][j] for j in active] + [heights[i]] for i in active]
    for s, row in enumerate(rows):
        if row[s] < TINY:
            rest = _solved(gram, heights, active[:s] + active[s + 1 :])
            return [*rest[:s], 0.0, *rest[s:]]
        for other in rows[s + 1 :]:
            factor = other[s] / row[s]
            other[s:] = [x - factor * y for x, y in zip(other[s:], row[s:], strict=True)]
    found = [0.0] * len(rows)
    for s in range(len(rows) - 1, -1, -1):
        known = sum(map(mul, rows[s][s + 1 : -1], found[s + 1 :]))
        found[s] = (rows[s][-1] - known) / rows[s][s]
    return found

"""The shortest vector q with q . p_k >= height_k on the rays of a cone, in floats: a proposal to
the search over cones (`dual_cones`), which trusts nothing of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import mul

TINY = 1e-15  # below this a float is rounding


def dot(a: list[float], b: Iterable[float]) -> float:
    """Their product."""
    return sum(map(mul, a, b))


def total(vectors: list[list[float]]) -> list[float]:
    """Their sum."""
    return list(map(sum, zip(*vectors, strict=True)))


def lifted(
    units: list[list[float]], weights: list[float], heights: list[float], sizes: list[float]
) -> list[float]:
    """The vector of these weights, made a little longer so that no ray lacks anything; `sizes` are
    those of the numbers whose rounding the heights have.
    """
    q = [dot(weights, entries) for entries in zip(*units, strict=True)]
    center = total(units)
    lift = min(dot(p, center) for p in units)
    parts = zip(units, heights, sizes, strict=True)
    lack = max(height + 10 * TINY * size - dot(p, q) for p, height, size in parts)
    step = max(lack, 0.0) / lift if lift > 0 else 0.0
    return [a + step * b for a, b in zip(q, center, strict=True)]


def nonnegative_weights(gram: list[list[float]], heights: list[float]) -> list[float]:
    """Nonnegative weights of the unit rays whose sum is the shortest vector q with q . p_k >=
    height_k, nearly: a ray joins where most is lacking, and leaves when its weight would not be
    positive.
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

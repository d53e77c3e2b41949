"""What floats propose to the search over cones (`dual_cones`): tangents with their weights,
the vector q, and the edge to split. Nothing here is trusted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from operator import add
from typing import Generic, Protocol, TypeVar

from globalmin_check.claims.shortest_vector import dot, lifted, nonnegative_weights, total

STEPS = 2**30  # weights of tangents are multiples of 1/STEPS
ROUNDS = 2  # tangents of one attempt at a cone
TURNS = 4  # of the slopes of single rows
FAR = 1.5  # |q|^2 so much above the bound is not worth another attempt
SMALL = 1e-9  # rows that amount to less, of b, do not decide where a cone is split


class Sight(Protocol):
    """What is seen of a direction: its unit vector, the sums of the active rows with u > 0 and of
    those with u < 0 in units of b, and their products with the unit vector.
    """

    @property
    def unit(self) -> list[float]:
        """The unit vector."""
        ...

    @property
    def pulls(self) -> tuple[list[float], list[float]]:
        """The two sums."""
        ...

    @property
    def heights(self) -> tuple[float, float]:
        """Their products with the unit vector."""
        ...


Seen = TypeVar("Seen", bound=Sight)


@dataclass(frozen=True)
class Proposal(Generic[Seen]):
    """A vector q in units of b, and the tangent: the mean of those at some directions, or that of
    the decided rows and of each undecided one with its own slope; weights and slopes in steps.
    """

    q: list[float]
    places: list[Seen] = field(default_factory=list)
    weights: list[int] = field(default_factory=list)
    slopes: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Corner(Generic[Seen]):
    """The rays of a cone, as one sign of u sees them."""

    rays: list[Seen]
    falling: int  # the rows that lower the sum: 1 those with u < 0, 0 the others

    @cached_property
    def units(self) -> list[list[float]]:
        """Unit vectors of the rays."""
        return [ray.unit for ray in self.rays]

    @cached_property
    def gram(self) -> list[list[float]]:
        """Their products."""
        return [[dot(p, q) for q in self.units] for p in self.units]

    def along(self, pull: list[float]) -> list[float]:
        """The products of a vector with the units."""
        return [dot(pull, unit) for unit in self.units]

    def shortest(self, tangent: list[float]) -> tuple[list[float], list[float]]:
        """The shortest q that is at least the sum of the rising rows less the tangent at all rays,
        nearly, with its weights.
        """
        rising = 1 - self.falling
        G = [ray.heights[rising] - t for ray, t in zip(self.rays, tangent, strict=True)]
        weights = nonnegative_weights(self.gram, G)
        pairs = zip(self.rays, tangent, strict=True)
        sizes = [1.0 + abs(ray.heights[rising]) + abs(t) for ray, t in pairs]
        return weights, lifted(self.units, weights, G, sizes)


def proposals(
    corner: Corner[Seen],
    base: list[float],
    rows: list[list[float]],
    toward: Callable[[list[float]], Seen | None],
) -> Iterator[Proposal[Seen]]:
    """Tangents and vectors q that may prove the inequality on the cone: the tangent at its middle
    first, then where the bound was largest, then slopes for every row, if `rows` are given.
    """
    places: list[Seen] = []
    mean = [0.0] * len(base)
    w, size = total(corner.units), 0.0
    for attempt in range(ROUNDS):
        place = toward(w)
        if place is None:
            return
        places.append(place)
        line, step = corner.along(place.pulls[corner.falling]), 1.0 / (attempt + 1.0)
        mean = [m + step * (t - m) for m, t in zip(mean, line, strict=True)]
        weights, q = corner.shortest(mean)
        size = dot(q, q)
        if size <= 1:
            yield Proposal(q, list(places), _steps(len(places)))
        if not size < FAR:
            break
        w = [dot(weights, entries) for entries in zip(*corner.units, strict=True)]
    if rows:
        yield from _with_slopes(corner, base, rows)
    elif not size < FAR:
        q = corner.shortest(corner.along(base))[1]
        yield Proposal(q)


def _with_slopes(
    corner: Corner[Seen], base: list[float], rows: list[list[float]]
) -> Iterator[Proposal[Seen]]:
    """Slopes of the undecided rows that follow q."""
    slopes = [_balanced(corner.along(row)) for row in rows]
    for _ in range(TURNS):
        steps = [int(slope * STEPS) for slope in slopes]
        slopes = [step / STEPS for step in steps]
        pulls = [dot(slopes, entries) for entries in zip(*rows, strict=True)]
        q = corner.shortest(corner.along(list(map(add, base, pulls))))[1]
        if dot(q, q) <= 1:
            yield Proposal(q, slopes=steps)
        slopes = _turned(rows, slopes, q)


def _balanced(heights: list[float]) -> float:
    """The share of the positive ones."""
    up, down = sum(h for h in heights if h > 0), sum(h for h in heights if h < 0)
    return up / (up - down) if up else 0.0


def _turned(rows: list[list[float]], slopes: list[float], q: list[float]) -> list[float]:
    """Slopes that make q shorter, one row after the other: q falls by the change of a slope times
    the row.
    """
    moved = list(slopes)
    for i, row in enumerate(rows):
        square = dot(row, row)
        if 0 < square < math.inf:
            moved[i] = min(max(slopes[i] + dot(row, q) / square, 0.0), 1.0)
            q = [a - (moved[i] - slopes[i]) * b for a, b in zip(q, row, strict=True)]
    return moved


def _steps(count: int) -> list[int]:
    """Equal weights in whole steps."""
    return [STEPS // count + (i < STEPS % count) for i in range(count)]


def widest_edge(rays: Sequence[Sight], rows: list[list[float]] | None) -> tuple[int, int]:
    """The edge that the undecided rows cross most, by the rows themselves if they are given, else
    by the change of the tangents; the widest one if nothing crosses.
    """
    edges = list(combinations(range(len(rays)), 2))
    if rows is None:
        sums = {(a, b): _turn(rays[a], rays[b]) for a, b in edges}
    else:
        z = [[dot(row, ray.unit) for row in rows] for ray in rays]
        sums = {(a, b): _crossing(z[a], z[b]) for a, b in edges}
    widest = max(edges, key=sums.__getitem__)
    if sums[widest] > (SMALL if rows is None else 0.0):
        return widest
    return max(edges, key=lambda edge: _apart(rays[edge[0]].unit, rays[edge[1]].unit))


def _crossing(z: list[float], other: list[float]) -> float:
    return sum(min(abs(x), abs(y)) for x, y in zip(z, other, strict=True) if (x > 0) != (y > 0))


def _apart(a: list[float], b: list[float]) -> float:
    return sum((x - y) ** 2 for x, y in zip(a, b, strict=True))


def _turn(a: Sight, b: Sight) -> float:
    """What the rows that switch between two rays amount to."""
    total = 0.0
    for part in (0, 1):
        at_a = a.heights[part] - dot(b.pulls[part], a.unit)
        at_b = b.heights[part] - dot(a.pulls[part], b.unit)
        total += at_a * at_b / (at_a + at_b) if at_a + at_b > 0 else 0.0
    return total

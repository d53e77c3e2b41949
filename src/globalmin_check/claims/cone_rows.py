"""Rows of a group as the search over cones sees them (`dual_cones`): the sums of those that are
active at a direction, for u > 0 and for u < 0, exactly and in floats.

On a cone most rows are decided; their sums are kept as one vector, the others are packed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from operator import add, mul

from globalmin_check import limits
from globalmin_check.checks import ExactChecks
from globalmin_check.claims.packed_rows import PackedRows
from globalmin_check.verdict import Undecided

Vector = list[int]
ROOM = 16  # bits by which rays may grow before rows are packed anew
NEAR = 60  # bits of a direction between the rays
FEW = 8  # undecided rows of one sign that get slopes of their own
WORK = 2**13  # bits of packed rows that count as one exact number
LARGEST = 1e150  # floats beyond it are cut off


@dataclass(frozen=True)
class Ray:
    """A direction p, and for the rows with u > 0 and for those with u < 0 the sum of |u_i| x_i over
    x_i . p >= 0; as integers, and in floats with the unit vector and b = 1.
    """

    p: Vector
    sums: tuple[Vector, Vector]
    length: float
    unit: list[float]
    pulls: tuple[list[float], list[float]]
    heights: tuple[float, float]  # pull . unit


@dataclass(frozen=True)
class Block:
    """Rows that are undecided on a cone, packed, the sums of the others that are active there, and
    the directions met so far; first the rows with u > 0.
    """

    rows: tuple[PackedRows, PackedRows]
    base: tuple[Vector, Vector]
    bound: Fraction
    rays: dict[tuple[int, ...], Ray] = field(default_factory=dict)

    @property
    def work(self) -> int:
        """What one pass over the rows counts."""
        return sum(len(part.vectors) * part.width for part in self.rows) // WORK + 1

    @cached_property
    def floats(self) -> list[tuple[list[float], list[list[float]]]]:
        """Of the rows with u > 0 and of those with u < 0: the base, and the undecided ones if they
        are few, in units of b.
        """
        return [
            (
                _over(base, self.bound),
                [_over(v, self.bound) for v in part.vectors] if len(part.vectors) <= FEW else [],
            )
            for base, part in zip(self.base, self.rows, strict=True)
        ]

    @property
    def few(self) -> list[list[float]] | None:
        """The undecided rows in units of b, if there are few of them."""
        is_few = all(len(part.vectors) <= FEW for part in self.rows)
        return [row for _, rows in self.floats for row in rows] if is_few else None

    def ray(self, p: Vector, checks: ExactChecks) -> Ray:
        """The sums of the active rows, found once for every direction."""
        key = tuple(p)
        if key not in self.rays:
            checks.charge(len(p) * self.work)
            upper, lower = (
                list(map(add, base, part.active_sum(p)))
                for base, part in zip(self.base, self.rows, strict=True)
            )
            self.rays[key] = _ray(p, (upper, lower), self.bound)
        return self.rays[key]

    def toward(self, w: list[float], checks: ExactChecks) -> Ray | None:
        """The same for a direction near w; None if there is no such direction."""
        size = max(map(abs, w))
        if not 0 < size < math.inf:
            return None
        most = 2.0 ** (min(self.rows[0].room, NEAR) - 1)
        return self.ray([round(x / size * most) for x in w], checks)

    def inside(self, rays: list[Ray], checks: ExactChecks) -> Block:
        """The block of a cone: rows that are decided on it are added up or dropped."""
        corners = [ray.p for ray in rays]
        checks.charge(len(rays) * (len(rays) * self.work + 1))
        checks.charge(sum(len(part.vectors) for part in self.rows))
        room = ROOM + max(max(map(abs, p)) for p in corners).bit_length()
        rows, base = [], []
        for known, part in zip(self.base, self.rows, strict=True):
            active, undecided = part.decided(corners)
            base.append(list(map(add, known, active)))
            rows.append(PackedRows(undecided, len(known), room))
        return Block((rows[0], rows[1]), (base[0], base[1]), self.bound)


def first_block(rows: list[Vector], u: Vector, bound: Fraction, checks: ExactChecks) -> Block:
    """All rows, equal ones added up."""
    size = len(rows[0])
    checks.charge(len(rows) * size)
    if max(max(map(abs, row)) for row in rows).bit_length() > limits.ROW_BITS:
        raise Undecided(f"a row of a group needs more than {limits.ROW_BITS} bits")
    merged: dict[tuple[int, ...], int] = {}
    for row, U in zip(rows, u, strict=True):
        key = tuple(row)
        merged[key] = merged.get(key, 0) + U
    upper, lower = (
        [[abs(U) * x for x in row] for row, U in merged.items() if U * half > 0] for half in (1, -1)
    )
    bits = max(map(abs, u)).bit_length() + limits.ROW_BITS
    checks.charge_memory(len(merged) * size * (1 + bits // 256))
    packed = PackedRows(upper, size, ROOM), PackedRows(lower, size, ROOM)
    return Block(packed, ([0] * size, [0] * size), bound)


def _ray(p: Vector, sums: tuple[Vector, Vector], bound: Fraction) -> Ray:
    length = math.sqrt(sum(map(mul, p, p)))
    unit = [entry / length for entry in p]
    upper, lower = (_over(part, bound) for part in sums)
    heights = sum(map(mul, upper, unit)), sum(map(mul, lower, unit))
    return Ray(p, sums, length, unit, (upper, lower), heights)


def _over(vector: Vector, bound: Fraction) -> list[float]:
    return [_ratio(entry * bound.denominator, bound.numerator) for entry in vector]


def _ratio(level: int, one: int) -> float:
    """Their quotient in floats, cut off where its square would be out of range."""
    try:
        return max(-LARGEST, min(LARGEST, level / one))
    except OverflowError:
        return LARGEST if level > 0 else -LARGEST

"""Groups of columns: sum_i u_i relu(x_i . w) <= b|w| for all w, by a search over cones (R3 of
`spec/claims/dual-gap.md`, in the form with tangents).

The rows are only asked for the sums of those that are active at a direction. A cone is decided by
these sums at its rays and at a few directions between them: floats propose the directions, the
weights of their tangents, the vector q and the edge to split; integers decide.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import product
from operator import add, mul

from globalmin_check import limits
from globalmin_check.checks import ExactChecks
from globalmin_check.claims.cone_proposals import STEPS, Corner, Proposal, proposals, widest_edge
from globalmin_check.claims.packed_rows import PackedRows
from globalmin_check.verdict import Undecided

Vector = list[int]
UNIT = 60  # the entries of q/b are multiples of 2^-UNIT
ROOM = 16  # bits by which rays may grow before rows are packed anew
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
        most = 2.0 ** (min(self.rows[0].room, UNIT) - 1)
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


@dataclass(frozen=True)
class Cone:
    """Rays, the signs of u for which it is open, its block and the splits since that was made."""

    rays: list[Ray]
    signs: tuple[int, ...]
    block: Block
    depth: int


def cones_hold(
    rows: list[Vector],
    u: Vector,
    bound: Fraction,
    checks: ExactChecks,
    signs: Sequence[int] = (1,),
) -> bool:
    """Whether the inequality holds for u times each of the signs, for integer rows of two entries
    or more: True if every cone is closed, False if a ray exceeds the bound; raises Undecided at the
    limit of cones.
    """
    dimension = len(rows[0])
    block = _first_block(rows, u, bound, checks)
    stack = [
        Cone([block.ray(p, checks) for p in corners], tuple(signs), block, 0)
        for corners in _orthants(dimension)
    ]
    for _ in range(limits.CONES):
        if not stack:
            return True
        cone = stack.pop()
        checks.charge(dimension**2)
        if any(_exceeds(ray, sign, bound) for ray in cone.rays for sign in cone.signs):
            return False
        still = tuple(sign for sign in cone.signs if not _closes(cone, sign, checks))
        if still:
            stack += _split(cone, still, checks)
    raise Undecided(f"the search did not end within {limits.CONES} cones")


def _orthants(dimension: int) -> list[list[Vector]]:
    """The rays of each."""
    return [
        [[sign if i == k else 0 for i in range(dimension)] for k, sign in enumerate(signs)]
        for signs in product((1, -1), repeat=dimension)
    ]


def _first_block(rows: list[Vector], u: Vector, bound: Fraction, checks: ExactChecks) -> Block:
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


def _exceeds(ray: Ray, sign: int, bound: Fraction) -> bool:
    """Whether the sum at the ray, times the sign, is above b|p|: in integers, unless floats are
    sure that it is not.
    """
    upper, lower = ray.heights
    if sign * (upper - lower) < 1 - 1e-9 * (1 + upper + lower):
        return False
    value = sign * (sum(map(mul, ray.sums[0], ray.p)) - sum(map(mul, ray.sums[1], ray.p)))
    square = sum(map(mul, ray.p, ray.p)) * bound.numerator**2
    return value > 0 and (value * bound.denominator) ** 2 > square


def _closes(cone: Cone, sign: int, checks: ExactChecks) -> bool:
    """Whether a tangent and a vector q are found that prove the inequality on the cone."""
    falling, block = int(sign > 0), cone.block
    base, rows = block.floats[falling]
    tried = proposals(Corner(cone.rays, falling), base, rows, lambda w: block.toward(w, checks))
    return any(_proves(cone, falling, trial) for trial in tried)


def _proves(cone: Cone, falling: int, trial: Proposal[Ray]) -> bool:
    """Whether q . p_k >= G_k for every ray and |q| <= b, in integers: q is b times Q/2^UNIT, and
    G_k is what the rows that raise the sum amount to at p_k, less the tangent of the others.
    """
    if not all(abs(entry) <= 1 for entry in trial.q):  # also if it is no number
        return False
    Q = [round(math.ldexp(entry, UNIT)) for entry in trial.q]
    tangent, bound = _tangent(cone.block, falling, trial), cone.block.bound
    if tangent is None or sum(map(mul, Q, Q)) > 1 << 2 * UNIT:
        return False
    one, unit = STEPS * bound.numerator, bound.denominator << UNIT
    return all(
        sum(map(mul, Q, ray.p)) * one
        >= (STEPS * sum(map(mul, ray.sums[1 - falling], ray.p)) - sum(map(mul, tangent, ray.p)))
        * unit
        for ray in cone.rays
    )


def _tangent(block: Block, falling: int, trial: Proposal[Ray]) -> Vector | None:
    """STEPS times a vector t with t . w at most what the falling rows amount to at any w of the
    block's cone; None if the proposal is none.
    """
    if trial.places:
        if min(trial.weights) < 0 or sum(trial.weights) != STEPS:
            return None
        parts = zip(*(place.sums[falling] for place in trial.places), strict=True)
        return [sum(map(mul, trial.weights, entries)) for entries in parts]
    total = [STEPS * entry for entry in block.base[falling]]
    for slope, vector in zip(trial.slopes, block.rows[falling].vectors, strict=False):
        if not 0 <= slope <= STEPS:
            return None
        total = [a + slope * b for a, b in zip(total, vector, strict=True)]
    return total


def _split(cone: Cone, signs: tuple[int, ...], checks: ExactChecks) -> list[Cone]:
    """The two cones in which a combination of two rays replaces one of them."""
    rays, block, depth = cone.rays, cone.block, cone.depth + 1
    a, b = widest_edge(rays, block.few)
    shift = round(math.log2(rays[b].length / rays[a].length))
    s, t = max(shift, 0), max(-shift, 0)
    p = [(x << s) + (y << t) for x, y in zip(rays[a].p, rays[b].p, strict=True)]
    common = math.gcd(*p)
    p = [entry // common for entry in p]
    bits = max(map(abs, p)).bit_length()
    if bits > limits.RAY_BITS:
        raise Undecided(f"a ray of the search needs more than {limits.RAY_BITS} bits")
    if depth > len(p) or bits > block.rows[0].room:
        block, depth = block.inside(rays, checks), 0
        rays = [block.ray(ray.p, checks) for ray in rays]
    middle = block.ray(p, checks)
    return [Cone([*rays[:k], middle, *rays[k + 1 :]], signs, block, depth) for k in (a, b)]

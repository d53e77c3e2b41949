"""Groups of columns: sum_i u_i relu(x_i . w) <= b|w| for all w, by a search over cones (R3 of
`spec/claims/dual-gap.md`).

Floats propose the slopes alpha, the vector q and the edge to split; integers decide. A cone keeps
of each undecided row only its products with the rays, which a split combines like the rays.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, compress, product
from operator import mul

from globalmin_check import limits
from globalmin_check.checks import ExactChecks
from globalmin_check.claims.cone_proposals import STEPS, proposal, turned
from globalmin_check.verdict import Undecided

Vector = list[int]
UNIT = 60  # the entries of q/b are multiples of 2^-UNIT
ROUNDS = 2  # attempts at a cone, with slopes that follow q
FAR = 1.5  # a ray so much above the bound is not worth another attempt


@dataclass(frozen=True)
class Rows:
    """Undecided rows whose u_i have one sign: u_i, u_i x_i/b in floats, and for every ray the
    products x_i . p_k.
    """

    u: Vector
    pulls: list[list[float]]
    z: list[Vector]


@dataclass(frozen=True)
class Cone:
    """Rays, their lengths in floats, the sum over the decided active rows on each ray, and the
    undecided rows with u > 0 and with u < 0.
    """

    rays: list[Vector]
    lengths: list[float]
    base: Vector
    upper: Rows
    lower: Rows


def cones_hold(rows: list[Vector], u: Vector, bound: Fraction, checks: ExactChecks) -> bool:
    """Whether the inequality holds, for integer rows of two entries or more: True if every cone is
    closed, False if a ray exceeds the bound; raises Undecided at the limit of cones.
    """
    dimension = len(rows[0])
    checks.charge(2**dimension * len(rows) * dimension)
    if max(max(map(abs, row)) for row in rows).bit_length() > limits.ROW_BITS:
        raise Undecided(f"a row of a group needs more than {limits.ROW_BITS} bits")
    pulls = [
        [_ratio(U * x * bound.denominator, bound.numerator) for x in row]
        for U, row in zip(u, rows, strict=True)
    ]
    stack = [_root(rows, pulls, u, signs) for signs in product((1, -1), repeat=dimension)]
    for _ in range(limits.CONES):
        if not stack:
            return True
        cone = stack.pop()
        checks.charge((len(cone.upper.u) + len(cone.lower.u) + dimension) * dimension)
        closed = _closes(cone, bound)
        if closed is None:
            return False
        if not closed:
            stack += _split(cone)
    raise Undecided(f"the search did not end within {limits.CONES} cones")


def _root(rows: list[Vector], pulls: list[list[float]], u: Vector, signs: tuple[int, ...]) -> Cone:
    """The orthant of these signs."""
    size = len(signs)
    rays = [[sign if i == k else 0 for i in range(size)] for k, sign in enumerate(signs)]
    halves = []
    for half in (1, -1):
        chosen = [U * half > 0 for U in u]
        z = [[sign * row[k] for row in compress(rows, chosen)] for k, sign in enumerate(signs)]
        halves.append(Rows(list(compress(u, chosen)), list(compress(pulls, chosen)), z))
    return _sorted_out(rays, [0] * size, halves[0], halves[1])


def _sorted_out(rays: list[Vector], base: Vector, upper: Rows, lower: Rows) -> Cone:
    """The cone with its decided rows added up or dropped."""
    base, kept = list(base), []
    for part in (upper, lower):
        low, high = list(map(min, *part.z)), list(map(max, *part.z))
        active = [entry >= 0 for entry in low]
        undecided = [a < 0 < b for a, b in zip(low, high, strict=True)]
        u = list(compress(part.u, active))
        for k, z in enumerate(part.z):
            base[k] += sum(map(mul, u, compress(z, active)))
        kept.append(
            Rows(
                list(compress(part.u, undecided)),
                list(compress(part.pulls, undecided)),
                [list(compress(z, undecided)) for z in part.z],
            )
        )
    lengths = [math.sqrt(sum(map(mul, ray, ray))) for ray in rays]
    return Cone(rays, lengths, base, *kept)


def _closes(cone: Cone, bound: Fraction) -> bool | None:
    """Whether slopes and a vector q are found that prove the inequality on the cone; None if it
    fails on a ray.
    """
    lower, one = cone.lower, STEPS * bound.numerator
    fixed = [
        STEPS * (base + _active_sum(cone.upper.u, z))
        for base, z in zip(cone.base, cone.upper.z, strict=True)
    ]
    slopes = _balanced(lower)
    for _ in range(ROUNDS):
        factors = list(map(mul, lower.u, slopes))
        G = [
            (entry + sum(map(mul, factors, z))) * bound.denominator
            for entry, z in zip(fixed, lower.z, strict=True)
        ]
        heights = [_ratio(level, one) / n for level, n in zip(G, cone.lengths, strict=True)]
        top = max(range(len(heights)), key=heights.__getitem__)
        if heights[top] > 1 and _exceeds(cone, top, fixed[top], bound):
            return None
        if heights[top] > FAR:  # slopes of zero are the best where the rows with u > 0 are small
            slopes = [0] * len(slopes)
            continue
        q = proposal(cone.rays, cone.lengths, heights)
        if _decided(cone.rays, G, q, one):
            return True
        slopes = turned(lower.pulls, slopes, q)
    return False


def _ratio(level: int, one: int) -> float:
    """Their quotient in floats, infinite beyond their range."""
    try:
        return level / one
    except OverflowError:
        return math.inf if level > 0 else -math.inf


def _active_sum(u: Vector, z: Vector) -> int:
    return sum(U * t for U, t in zip(u, z, strict=True) if t > 0)


def _exceeds(cone: Cone, k: int, fixed: int, bound: Fraction) -> bool:
    """Whether sum_i u_i relu(x_i . p_k) > b|p_k|, in integers."""
    value = fixed + STEPS * _active_sum(cone.lower.u, cone.lower.z[k])
    square = sum(map(mul, cone.rays[k], cone.rays[k])) * (STEPS * bound.numerator) ** 2
    return value > 0 and (value * bound.denominator) ** 2 > square


def _balanced(rows: Rows) -> Vector:
    """The first slopes: the share of the positive products of a row."""
    positive = [[t if t > 0 else 0 for t in z] for z in rows.z]
    return [
        STEPS * p // (2 * p - whole)
        for p, whole in zip(
            map(sum, zip(*positive, strict=True)), map(sum, zip(*rows.z, strict=True)), strict=True
        )
    ]


def _decided(rays: list[Vector], G: Vector, q: list[float], one: int) -> bool:
    """Whether q . p_k >= G_k for every ray and |q| <= b, in integers: q is b times Q/2^UNIT."""
    if not all(abs(entry) <= 1 for entry in q):  # also if it is no number
        return False
    Q = [round(math.ldexp(entry, UNIT)) for entry in q]
    return sum(map(mul, Q, Q)) <= 1 << 2 * UNIT and all(
        sum(map(mul, Q, ray)) * one >= level << UNIT for ray, level in zip(rays, G, strict=True)
    )


def _split(cone: Cone) -> list[Cone]:
    """The two cones in which a combination of two rays replaces one of them."""
    a, b = _edge(cone)
    shift = round(math.log2(cone.lengths[b] / cone.lengths[a]))
    s, t = max(shift, 0), max(-shift, 0)

    def combined(x: Vector, y: Vector) -> Vector:
        return [(p << s) + (q << t) for p, q in zip(x, y, strict=True)]

    ray = combined(cone.rays[a], cone.rays[b])
    if max(map(abs, ray)).bit_length() > limits.RAY_BITS:
        raise Undecided(f"a ray of the search needs more than {limits.RAY_BITS} bits")
    base = combined([cone.base[a]], [cone.base[b]])
    upper, lower = (combined(part.z[a], part.z[b]) for part in (cone.upper, cone.lower))

    def child(k: int) -> Cone:
        return _sorted_out(
            [*cone.rays[:k], ray, *cone.rays[k + 1 :]],
            [*cone.base[:k], *base, *cone.base[k + 1 :]],
            Rows(
                cone.upper.u, cone.upper.pulls, [*cone.upper.z[:k], upper, *cone.upper.z[k + 1 :]]
            ),
            Rows(
                cone.lower.u, cone.lower.pulls, [*cone.lower.z[:k], lower, *cone.lower.z[k + 1 :]]
            ),
        )

    return [child(a), child(b)]


def _edge(cone: Cone) -> tuple[int, int]:
    """The edge that the largest weight of undecided rows crosses; the widest one if there are
    none.
    """
    edges = list(combinations(range(len(cone.rays)), 2))
    sums = dict.fromkeys(edges, 0.0)
    scale = max(map(abs, cone.upper.u + cone.lower.u), default=1)
    for part in (cone.upper, cone.lower):
        sizes = [abs(U) / scale for U in part.u]
        shares = [[t / n for t in z] for z, n in zip(part.z, cone.lengths, strict=True)]
        for a, b in edges:
            pairs = zip(sizes, shares[a], shares[b], strict=True)
            sums[a, b] += sum(w * min(abs(x), abs(y)) for w, x, y in pairs if (x > 0) != (y > 0))
    widest = max(edges, key=sums.__getitem__)
    return widest if sums[widest] else min(edges, key=lambda edge: _cosine(cone, *edge))


def _cosine(cone: Cone, a: int, b: int) -> float:
    return sum(map(mul, cone.rays[a], cone.rays[b])) / cone.lengths[a] / cone.lengths[b]

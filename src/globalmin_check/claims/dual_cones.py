"""Groups of columns: sum_i u_i relu(x_i . w) <= b|w| for all w, by a search over cones (R3 of
`spec/claims/dual-gap.md`, in the form with tangents).

The rows are only asked for the sums of those that are active at a direction. A cone is decided by
these sums at its rays and at a few directions between them: floats propose the directions, the
weights of their tangents, the vector q and the edge to split; integers decide.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from operator import mul

from globalmin_check import limits
from globalmin_check.checks import ExactChecks
from globalmin_check.claims.cone_proposals import STEPS, Corner, Proposal, proposals, widest_edge
from globalmin_check.claims.cone_rows import Block, Ray, Vector, first_block
from globalmin_check.verdict import Undecided

UNIT = 60  # the entries of q/b are multiples of 2^-UNIT


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
    block = first_block(rows, u, bound, checks)
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

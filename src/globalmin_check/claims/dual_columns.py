"""One column per neuron: H(u) <= b decided exactly, in integers (R2, R2-free and R7 of
`spec/claims/dual-gap.md`).

On the ray through a kink the sum of the neuron is one integer, made from the one before by one
multiplication, and neighboring cones share their rays: one pass over the sorted values does all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from globalmin_check.claims.regularized_network import Form
from globalmin_check.claims.scaled import Scaled

BOTH = frozenset((1, -1))


@dataclass(frozen=True)
class Ray:
    """A direction (w_0, w_1) as integers, and the sum of u_i relu(w . x_i) on it over T, the
    numerator of tau.
    """

    w0: int
    w1: int
    value: int


def signs_of(form: Form, column: int) -> tuple[frozenset[int], frozenset[int]]:
    """The signs s for which s sum_i u_i relu(w . x_i) <= b|w| is needed, for w_0 >= 0 and for w_0
    <= 0.

    A neuron with head v needs the sign of -v (R7); `monotone` ties the sign of v to that of w_0.
    """
    heads = BOTH if form.heads == "any" else frozenset((1,))
    slope = form.monotone[column] if form.monotone else 0
    right, left = (frozenset((slope,)), frozenset((-slope,))) if slope else (BOTH, BOTH)
    return frozenset(-v for v in heads & right), frozenset(-v for v in heads & left)


def column_holds(form: Form, column: int, values: Scaled, u: Scaled, bound: Fraction) -> bool:
    """Whether H(u) <= bound for the neurons of one column, with the signs that the class has."""
    sums: dict[int, int] = {}
    for z, U in zip(values.values, u.values, strict=True):
        sums[z] = sums.get(z, 0) + U
    return sums_hold(form, signs_of(form, column), sums, (values.unit, u.unit), bound)


def sums_hold(
    form: Form,
    signs: tuple[frozenset[int], frozenset[int]],
    sums: dict[int, int],
    units: tuple[int, int],
    bound: Fraction,
) -> bool:
    """The same for the sums of u over the values of a column, in units of the column and of u; the
    signs that are needed for w_0 >= 0 and for w_0 <= 0.
    """
    (right, left), (unit, u_unit) = signs, units
    places = sorted(sums)
    weights = [sums[z] for z in places]
    if not form.penalizes_bias:
        # in units of the column and of u; the kinks of a free bias, the origin without a bias
        limit = bound * unit * u_unit
        if form.hidden_bias == "none":
            ups = [sum(U * z for U, z in zip(weights, places, strict=True) if z > 0)]
            downs = [-sum(U * z for U, z in zip(weights, places, strict=True) if z < 0)]
        else:
            ups, downs = _suffixes(places, weights), _prefixes(places, weights)
        return _within(ups, right, limit) and _within(downs, left, limit)
    T, factor = form.tau.numerator * unit, form.tau.denominator
    places = [z * factor for z in places]
    # |S w| <= bound |w| becomes T^2 value^2 D <= N |w|^2 on integers
    scale = bound * u_unit * unit * factor
    N, D = scale.numerator**2, scale.denominator**2 * T**2
    cones = pairwise(_rays(places, weights, T))
    return all(_cone_holds(p, q, right if p.w0 > 0 else left, N, D) for p, q in cones)


def _suffixes(places: list[int], weights: list[int]) -> list[int]:
    """sum_{j>k} U_j (z_j - z_k) for every k, from the last to the first."""
    value = total = 0
    result, above = [], places[-1]
    for z, U in zip(reversed(places), reversed(weights), strict=True):
        value += total * (above - z)
        total, above = total + U, z
        result.append(value)
    return result


def _prefixes(places: list[int], weights: list[int]) -> list[int]:
    """sum_{j<k} U_j (z_k - z_j) for every k, from the first to the last."""
    return _suffixes([-z for z in reversed(places)], weights[::-1])


def _within(sums: list[int], signs: frozenset[int], limit: Fraction) -> bool:
    p, q = limit.numerator, limit.denominator
    return all(sign * value * q <= p for value in (max(sums), min(sums)) for sign in signs)


def _rays(places: list[int], weights: list[int], T: int) -> Iterator[Ray]:
    """The rays in the order of their angles: (T, -z_m), ..., (T, -z_1), (0, 1), (-T, z_m), ...,
    (-T, z_1).
    """
    for z, value in zip(reversed(places), _suffixes(places, weights), strict=True):
        yield Ray(T, -z, value)
    yield Ray(0, 1, sum(weights))
    downs = _prefixes(places, weights)
    for z, value in zip(reversed(places), reversed(downs), strict=True):
        yield Ray(-T, z, value)


def _cone_holds(p: Ray, q: Ray, signs: frozenset[int], N: int, D: int) -> bool:
    """Lemma C on the cone between two rays, or the test of R7 if one sign is enough."""
    if not signs:
        return True
    P, Q, dot = p.w0**2 + p.w1**2, q.w0**2 + q.w1**2, p.w0 * q.w0 + p.w1 * q.w1
    A, C = N * P - D * p.value**2, N * Q - D * q.value**2
    if A >= 0 and C >= 0:
        B = N * dot - D * p.value * q.value
        if B >= 0 or B * B <= A * C:
            return True
    return len(signs) == 1 and _one_sided(p, q, next(iter(signs)), (P, Q, dot), (A, C))


def _one_sided(
    p: Ray, q: Ray, sign: int, norms: tuple[int, int, int], margins: tuple[int, int]
) -> bool:
    """R7: the ends hold and s is not in the cone.

    |p|^2 (s . q) - (p . q)(s . p) = det(p, s) det(p, q), so the determinants of the page need no
    coordinates of s.
    """
    P, Q, dot = norms
    a, c = sign * p.value, sign * q.value
    ends = (a <= 0 or margins[0] >= 0) and (c <= 0 or margins[1] >= 0)
    return ends and (P * c - dot * a < 0 or Q * a - dot * c < 0)

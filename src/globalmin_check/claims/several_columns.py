"""One column per neuron and several outputs that share the neurons: H(U) <= b decided exactly, in
integers (R2 and R2-free with c outputs of `spec/claims/dual-gap.md`).

On the ray through a kink the sum of the neuron is one vector of c integers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from operator import mul

from globalmin_check.claims.regularized_network import Form
from globalmin_check.claims.scaled import Scaled

Vector = list[int]


@dataclass(frozen=True)
class Ray:
    """A direction (w_0, w_1) as integers, and the sum of relu(w . x_i) U_i on it over T, the
    numerator of tau.
    """

    w0: int
    w1: int
    value: Vector


def shared_column_holds(
    form: Form, values: Scaled, U: Sequence[Scaled], unit: int, bound: Fraction
) -> bool:
    """Whether H(U) <= bound for the neurons of one column; U are the columns of the dual matrix
    over one `unit`.
    """
    sums: dict[int, Vector] = {}
    rows = zip(*(part.values for part in U), strict=True)
    for z, row in zip(values.values, rows, strict=True):
        known = sums.get(z)
        sums[z] = list(row) if known is None else [a + b for a, b in zip(known, row, strict=True)]
    places = sorted(sums)
    weights = [sums[z] for z in places]
    if not form.penalizes_bias:
        # in units of the column and of U; the kinks of a free bias, the origin without a bias
        limit = (bound * values.unit * unit) ** 2
        found = (
            (*_suffixes(places, weights), *_prefixes(places, weights))
            if form.hidden_bias == "free"
            else _halves(places, weights)
        )
        return all(_square(value) * limit.denominator <= limit.numerator for value in found)
    T, factor = form.tau.numerator * values.unit, form.tau.denominator
    places = [z * factor for z in places]
    # |S w| <= bound |w| becomes D |value|^2 <= N |w|^2 on integers
    scale = bound * unit * values.unit * factor
    N, D = scale.numerator**2, scale.denominator**2 * T**2
    return all(_cone_holds(p, q, N, D) for p, q in pairwise(_rays(places, weights, T)))


def _square(value: Vector) -> int:
    return sum(map(mul, value, value))


def _halves(places: list[int], weights: list[Vector]) -> list[Vector]:
    """The sums over the positive and over the negative values, for neurons without bias."""
    count = range(len(weights[0]))
    pairs = list(zip(places, weights, strict=True))
    return [[sum(z * U[o] for z, U in pairs if sign * z > 0) for o in count] for sign in (1, -1)]


def _suffixes(places: list[int], weights: list[Vector]) -> list[Vector]:
    """sum_{j>k} U_j (z_j - z_k) for every k, from the last to the first."""
    value = [0] * len(weights[0])
    total = list(value)
    result, above = [], places[-1]
    for z, U in zip(reversed(places), reversed(weights), strict=True):
        step = above - z
        value = [a + t * step for a, t in zip(value, total, strict=True)]
        total = [t + x for t, x in zip(total, U, strict=True)]
        above = z
        result.append(value)
    return result


def _prefixes(places: list[int], weights: list[Vector]) -> list[Vector]:
    """sum_{j<k} U_j (z_k - z_j) for every k, from the first to the last."""
    return _suffixes([-z for z in reversed(places)], weights[::-1])


def _rays(places: list[int], weights: list[Vector], T: int) -> Iterator[Ray]:
    """The rays in the order of their angles: (T, -z_m), ..., (T, -z_1), (0, 1), (-T, z_m), ...,
    (-T, z_1).
    """
    for z, value in zip(reversed(places), _suffixes(places, weights), strict=True):
        yield Ray(T, -z, value)
    yield Ray(0, 1, [sum(column) for column in zip(*weights, strict=True)])
    downs = _prefixes(places, weights)
    for z, value in zip(reversed(places), reversed(downs), strict=True):
        yield Ray(-T, z, value)


def _cone_holds(p: Ray, q: Ray, N: int, D: int) -> bool:
    """Lemma C with M = b^2 I - S^T S on the cone between two rays."""
    A = N * (p.w0**2 + p.w1**2) - D * _square(p.value)
    C = N * (q.w0**2 + q.w1**2) - D * _square(q.value)
    if A < 0 or C < 0:
        return False
    B = N * (p.w0 * q.w0 + p.w1 * q.w1) - D * sum(map(mul, p.value, q.value))
    return B >= 0 or B * B <= A * C

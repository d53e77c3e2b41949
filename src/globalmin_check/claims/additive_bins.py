"""The inequalities (1) and (2) of theorem B for one column, in exact rationals
(`spec/claims/additive-stream-gap.md`, K7 and K8).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from flint import fmpq, fmpz

FINE = 64  # bits behind the point of a square root


@dataclass(frozen=True)
class Bins:
    """Scaled edges, numbers of rows, the sums S and T, an upper bound of Q, and e: the part of the
    error that is the same in all bins.
    """

    z: list[fmpq]
    counts: list[int]
    S: list[fmpq]
    T: list[fmpq]
    Q: list[fmpq]
    rest: fmpq


def cone_fault(bins: Bins, t: Fraction, b: Fraction) -> str:
    """The first bin in which (1) is not certain, in words; empty if there is none."""
    below = fmpq(b.numerator, b.denominator) ** 2
    factor = fmpq(t.numerator, t.denominator)
    for k, (right, left, slack) in enumerate(_linear(bins)):
        ends = bins.z[k], bins.z[k + 1]
        for name, (low, high) in (("right", right), ("left", left)):
            for sign in (1, -1):
                values = factor * (sign * low + slack), factor * (sign * high + slack)
                if not _is_dominated(values, ends, below):
                    return f"not certain in bin {k}, looking {name}"
    return ""


Ends = tuple[fmpq, fmpq]


def _linear(bins: Bins) -> Iterator[tuple[Ends, Ends, fmpq]]:
    """In every bin the values of lin and lin' at its two edges, and (h/8) g + e."""
    pairs = list(zip(bins.T, bins.z, bins.S, strict=False))
    whole = sum((t + z * s for t, z, s in pairs), fmpq(0))
    total = sum(bins.S, fmpq(0))
    after, slope = whole, total
    for k, (t, a, s) in enumerate(pairs):
        c = bins.z[k + 1]
        after, slope = after - t - a * s, slope - s
        eighth = (c - a) / 8
        low, high = after - slope * a + t - eighth * s, after - slope * c - eighth * s
        left = low - whole + a * total, high - whole + c * total
        yield (low, high), left, eighth * _root(bins.counts[k], bins.Q[k]) + bins.rest


def _root(count: int, squares: fmpq) -> fmpq:
    """A number g >= 0 with g^2 >= count squares; 0 for a bin without rows."""
    if count == 0 or squares <= 0:
        return fmpq(0)
    value = count * squares
    whole = fmpz(value.p * value.q) << 2 * FINE
    return fmpq(whole.isqrt() + 1, value.q << FINE)


def _is_dominated(values: Ends, ends: Ends, below: fmpq) -> bool:
    """Whether the linear function with these values at the ends a < c is at most b sqrt(1 + p^2)
    for all p between them; `below` is b^2, b > 0.
    """
    (low, high), (a, c) = values, ends
    if low > 0 and low * low > below * (1 + a * a):
        return False
    if high > 0 and high * high > below * (1 + c * c):
        return False
    # s times the width: along s the function is largest, if s is in the cone of (1, a) and (1, c)
    s0, s1 = low * c - high * a, high - low
    if s0 > 0 and a * s0 <= s1 <= c * s0:
        return s0 * s0 + s1 * s1 <= below * (c - a) ** 2
    return True


def is_inside(bins: Bins, t: Fraction, b: Fraction) -> bool:
    """(2): a neuron with its kink outside of the edges is a linear function of the rows."""
    z = bins.z
    V = sum((t + (p - z[0]) * s for t, p, s in zip(bins.T, z, bins.S, strict=False)), fmpq(0))
    size = (fmpq(t.numerator, t.denominator) * (abs(V) + bins.rest)) ** 2
    below = fmpq(b.numerator, b.denominator) ** 2
    first, last = min(z[0], fmpq(0)), max(z[-1], fmpq(0))
    return size <= below * (1 + first * first) and size <= below * (1 + last * last)

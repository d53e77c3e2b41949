"""exp, log, erf and pi on intervals, by series of positive terms with a proved remainder.

Every series is summed until its next term is below the working precision; the rest of the series is
then bounded by a geometric one and added as an interval, so truncation is inside the enclosure.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache, lru_cache

from tests.oracles.fraction_intervals import Interval

GUARD_BITS = 40
LARGEST_EXPONENT = 8192


def _rounded(x: Interval, bits: int) -> Interval:
    return Interval(x.low, x.high, x.exponent, bits)


def _from_zero_to(x: Interval) -> Interval:
    return Interval(0, x.high, x.exponent, x.bits)


def _is_negligible(term: Interval, partial_sum: Interval, bits: int) -> bool:
    return (
        term.high == 0
        or term.high.bit_length() + term.exponent
        < partial_sum.low.bit_length() + partial_sum.exponent - bits
    )


def exp_minus_one(t: Fraction, bits: int) -> Interval:
    """e^t - 1 for 0 <= t <= 8192, with relative accuracy.

    The series sum_{j>=1} s^j/j! at s = t/2^m <= 1/4, whose tail is at most twice its first omitted
    term, then m times E(2s) = E(s)(E(s) + 2).
    """
    halvings = max(0, (t.numerator.bit_length() - t.denominator.bit_length()) + 3)
    work = bits + GUARD_BITS + halvings
    s = Interval.of(t / (1 << halvings), work)
    result = term = s
    j = 1
    while not _is_negligible(term, result, work) and t > 0:
        j += 1
        term = term * s * Interval.of(Fraction(1, j), work)
        result = result + term
    result = result + _from_zero_to(term)
    two = Interval.of(2, work)
    for _ in range(halvings):
        result = result * (result + two)
    return _rounded(result, bits)


@lru_cache(maxsize=2**15)
def decay(t: Fraction, bits: int) -> tuple[Interval, Interval]:
    """(e^{-t}, 1 - e^{-t}) for t >= 0, both with relative accuracy; beyond t = 8192 the first is
    only known to be nearly zero.
    """
    one = Interval.of(1, bits)
    if t > LARGEST_EXPONENT:
        tiny, nearly_one = decay(Fraction(LARGEST_EXPONENT), bits)
        return _from_zero_to(tiny), Interval.between(nearly_one, one)
    growth = exp_minus_one(t, bits + GUARD_BITS)
    whole = Interval.of(1, growth.bits) + growth
    return _rounded(whole.reciprocal(), bits), _rounded(growth / whole, bits)


def log_one_plus(u: Interval) -> Interval:
    """log(1 + u) for 0 <= u <= 1: 2 artanh(y) with y = u/(2+u) <= 1/3; the tail is at most 9/8 of
    the first omitted term.
    """
    if u.low < 0 or u.upper > 1:
        raise ValueError("log_one_plus needs an interval inside [0, 1]")
    if u.high == 0:
        return u
    work = u.bits + GUARD_BITS
    wide = _rounded(u, work)
    y = wide / (Interval.of(2, work) + wide)
    step = y.square()
    power = result = term = y
    j = 1
    while not _is_negligible(term, Interval(result.high, result.high, result.exponent, work), work):
        j += 2
        power = power * step
        term = power * Interval.of(Fraction(1, j), work)
        result = result + term
    return _rounded((result + _from_zero_to(term)) * Interval.of(2, work), u.bits)


def _artan_of_reciprocal(m: int, bits: int) -> Interval:
    """artan(1/m), m >= 2: alternating series, so the value lies between two consecutive partial
    sums.
    """
    result, term, j, sign = Fraction(0), Fraction(1, m), 1, 1
    while term * (1 << bits) > 1:
        result += sign * term / j
        term, j, sign = term / (m * m), j + 2, -sign
    other = result + sign * term / j
    low, high = min(result, other), max(result, other)
    return Interval.between(Interval.of(low, bits), Interval.of(high, bits))


@cache
def pi(bits: int) -> Interval:
    """pi = 16 artan(1/5) - 4 artan(1/239)."""
    work = bits + GUARD_BITS
    four = Interval.of(4, work)
    return _rounded(
        four * (four * _artan_of_reciprocal(5, work) - _artan_of_reciprocal(239, work)), bits
    )


@cache
def two_over_root_pi(bits: int) -> Interval:
    """2/sqrt(pi), the slope of erf at zero."""
    return Interval.of(2, bits) / pi(bits).sqrt()


def erf(z: Fraction, bits: int) -> Interval:
    """erf(z) for z >= 0.

    Small z: (2/sqrt pi) e^{-z^2} sum_j 2^j z^{2j+1}/(2j+1)!!, positive terms with ratio
    2z^2/(2j+3); once the ratio is at most 1/2 the tail is at most the last term. Large z: 1 -
    e^{-z^2} <= erf(z) <= 1.
    """
    square = z * z
    if square > bits:
        return Interval.between(decay(square, bits)[1], Interval.of(1, bits))
    work = bits + GUARD_BITS
    result = term = Interval.of(z, work)
    j = 0
    while z > 0 and not (_is_negligible(term, result, work) and 4 * square <= 2 * j + 3):
        j += 1
        term = term * Interval.of(2 * square / (2 * j + 1), work)
        result = result + term
    series = result + _from_zero_to(term)
    return _rounded(two_over_root_pi(work) * decay(square, work)[0] * series, bits)

"""Intervals with exact dyadic end points and outward rounding: the arithmetic of the slow checker.

An interval is `[low, high] * 2**exponent` with Python integers, so every end point is an exact
rational. After each operation the end points are rounded outward to `bits` bits. Nothing here is a
float, and there are no comparison operators: a comparison has three answers (`at_most`, `less`
return True, False or None), because `not (a < b)` does not mean `a >= b` on intervals.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from math import isqrt


class UndefinedError(ArithmeticError):
    """The operation has no bounded enclosure at this precision (a division by an interval that
    contains zero).
    """


def _shift_down(number: int, places: int) -> int:
    return number >> places


def _shift_up(number: int, places: int) -> int:
    return -((-number) >> places)


class Interval:
    """A closed interval of real numbers with dyadic end points."""

    __slots__ = ("bits", "exponent", "high", "low")

    def __init__(self, low: int, high: int, exponent: int, bits: int) -> None:
        if low > high:
            raise ValueError(f"empty interval: {low} > {high}")
        excess = max(low.bit_length(), high.bit_length()) - bits
        if excess > 0:
            low, high, exponent = (
                _shift_down(low, excess),
                _shift_up(high, excess),
                exponent + excess,
            )
        self.low, self.high, self.exponent, self.bits = low, high, exponent, bits

    @classmethod
    def of(cls, value: Fraction | int, bits: int) -> Interval:
        """The narrowest enclosure of a rational; exact if the rational is dyadic and short
        enough.
        """
        value = Fraction(value)
        p, q = value.numerator, value.denominator
        if q & (q - 1) == 0:
            return cls(p, p, 1 - q.bit_length(), bits)
        scale = max(0, bits + q.bit_length() - p.bit_length() + 1)
        low = (p << scale) // q
        return cls(low, low + 1, -scale, bits)

    @classmethod
    def between(cls, low: Interval, high: Interval) -> Interval:
        """From the lower end of one interval to the upper end of another."""
        exponent = min(low.exponent, high.exponent)
        return cls(low._low_at(exponent), high._high_at(exponent), exponent, low.bits)

    @property
    def lower(self) -> Fraction:
        """Exact lower end."""
        return Fraction(self.low) * Fraction(2) ** self.exponent

    @property
    def upper(self) -> Fraction:
        """Exact upper end."""
        return Fraction(self.high) * Fraction(2) ** self.exponent

    def _low_at(self, exponent: int) -> int:
        return self.low << (self.exponent - exponent)

    def _high_at(self, exponent: int) -> int:
        return self.high << (self.exponent - exponent)

    def __repr__(self) -> str:
        return f"[{self.low}, {self.high}] * 2**{self.exponent}"

    def __neg__(self) -> Interval:
        return Interval(-self.high, -self.low, self.exponent, self.bits)

    def __abs__(self) -> Interval:
        if self.low >= 0:
            return self
        if self.high <= 0:
            return -self
        return Interval(0, max(-self.low, self.high), self.exponent, self.bits)

    def __add__(self, other: Interval) -> Interval:
        e = min(self.exponent, other.exponent)
        return Interval(
            self._low_at(e) + other._low_at(e), self._high_at(e) + other._high_at(e), e, self.bits
        )

    def __sub__(self, other: Interval) -> Interval:
        return self + (-other)

    def __mul__(self, other: Interval) -> Interval:
        a, b, c, d = self.low, self.high, other.low, other.high
        if a >= 0 and c >= 0:
            return Interval(a * c, b * d, self.exponent + other.exponent, self.bits)
        corners = (a * c, a * d, b * c, b * d)
        return Interval(min(corners), max(corners), self.exponent + other.exponent, self.bits)

    def __truediv__(self, other: Interval) -> Interval:
        return self * other.reciprocal()

    def reciprocal(self) -> Interval:
        """1/self; `UndefinedError` if the interval contains zero."""
        if self.low <= 0 <= self.high:
            raise UndefinedError("division by an interval that contains zero")
        scale = 2 * self.bits + max(self.low.bit_length(), self.high.bit_length())
        one = 1 << scale
        return Interval(one // self.high, -(-one // self.low), -scale - self.exponent, self.bits)

    def square(self) -> Interval:
        """The square, never below zero."""
        size = abs(self)
        return size * size

    def sqrt(self) -> Interval:
        """Square root of a quantity known to be nonnegative: the part below zero is cut off."""
        if self.high < 0:
            raise UndefinedError("square root of a negative interval")
        scale = 2 * self.bits + (self.exponent & 1)
        low, high = max(self.low, 0) << scale, self.high << scale
        above = isqrt(high)
        return Interval(
            isqrt(low), above + (above * above != high), (self.exponent - scale) >> 1, self.bits
        )


def less(a: Interval, b: Interval) -> bool | None:
    """a < b: True or False if certain, None otherwise."""
    difference = b - a
    return True if difference.low > 0 else False if difference.high <= 0 else None


def at_most(a: Interval, b: Interval) -> bool | None:
    """a <= b: True or False if certain, None otherwise."""
    difference = b - a
    return True if difference.low >= 0 else False if difference.high < 0 else None


def smaller(a: Interval, b: Interval) -> Interval:
    """Enclosure of min(a, b)."""
    e = min(a.exponent, b.exponent)
    return Interval(min(a._low_at(e), b._low_at(e)), min(a._high_at(e), b._high_at(e)), e, a.bits)


def larger(a: Interval, b: Interval) -> Interval:
    """Enclosure of max(a, b)."""
    return -smaller(-a, -b)


def total(terms: Iterable[Interval], bits: int) -> Interval:
    """Enclosure of a finite sum, zero if empty."""
    result = Interval(0, 0, 0, bits)
    for term in terms:
        result = result + term
    return result


def largest(terms: Iterable[Interval]) -> Interval:
    """Enclosure of the maximum of at least one interval."""
    first, *rest = terms
    for term in rest:
        first = larger(first, term)
    return first

"""Ball arithmetic: precision, conversions, certain comparisons, square roots that respect a known
sign.

A ball encloses one real number. A comparison of balls is True only if it holds for all pairs of
enclosed numbers, so "not less" never means "greater or equal", and NaN compares False with
everything. `decide` keeps the three outcomes apart.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from flint import arb, arb_mat, ctx, fmpq

Number = Fraction | int | arb


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """Work at this many bits. The setting of the library is global to the process; it is
    restored.
    """
    before = ctx.prec
    ctx.prec = bits
    try:
        yield
    finally:
        ctx.prec = before


def ball(value: Number) -> arb:
    """The ball of an exact rational, or the ball itself."""
    if isinstance(value, Fraction):
        return arb(fmpq(value.numerator, value.denominator))
    return arb(value)


def decide(left: Number, relation: str, right: Number) -> bool | None:
    """Whether `left < right` or `left <= right`: True or False if certain, else None. Rationals are
    compared exactly.
    """
    if not isinstance(left, arb) and not isinstance(right, arb):
        return left < right if relation == "<" else left <= right
    a, b = ball(left), ball(right)
    if (a < b) if relation == "<" else (a <= b):
        return True
    if (a >= b) if relation == "<" else (a > b):
        return False
    return None


def root(square: arb) -> arb:
    """The square root of a number known to be non-negative, also when its ball reaches below
    zero.
    """
    if square > 0:
        return square.sqrt()
    top = square.upper()
    return arb(0).union(top.sqrt()) if top > 0 else square.sqrt()


def total(values: Iterable[arb]) -> arb:
    """The sum of balls."""
    return sum(values, arb(0))


def sum_of_squares(values: list[arb]) -> arb:
    """The square of the Euclidean norm."""
    return total(map(arb.__mul__, values, values))


def largest(values: Iterable[arb]) -> arb:
    """The maximum of balls that enclose non-negative numbers (Python's `max` is wrong on
    overlapping balls).
    """
    result = arb(0)
    for value in values:
        result = result.max(value)
    return result


def column(values: list) -> arb_mat:
    """A column vector of exact doubles or balls."""
    return arb_mat(len(values), 1, values)


def upper_float(value: Number) -> float:
    """A double that is certainly at least the number."""
    if isinstance(value, arb):
        return math.nextafter(float(value.upper()), math.inf)
    try:
        near = float(value)
    except OverflowError:
        return math.inf if value > 0 else -sys.float_info.max
    return near if near >= value else math.nextafter(near, math.inf)


def lower_float(value: Number) -> float:
    """A double that is certainly at most the number."""
    return -upper_float(-value)


def decimal_up(value: Fraction, digits: int = 6) -> str:
    """A decimal with few digits that is certainly at least the number, for statements."""
    return _decimal(value, digits, ROUND_CEILING)


def decimal_down(value: Fraction, digits: int = 6) -> str:
    """A decimal with few digits that is certainly at most the number, for statements."""
    return _decimal(value, digits, ROUND_FLOOR)


def _decimal(value: Fraction, digits: int, rounding: str) -> str:
    context = Context(prec=digits, rounding=rounding, Emin=-(10**6), Emax=10**6)
    return f"{context.divide(Decimal(value.numerator), Decimal(value.denominator)):g}"


def shown(value: Number) -> str:
    """A short decimal form for messages; not a bound."""
    if isinstance(value, arb) and not value.is_finite():
        return "infinity" if value > 0 else "an unbounded ball"
    if isinstance(value, arb):
        return (
            value.str(10, radius=False)
            if value.rel_accuracy_bits() > 30 or value.is_exact()
            else value.str(10)
        )
    return f"{float(value):.10g}" if abs(value) < 10**300 else "a number beyond 10^300"

"""Numbers as a reader sees them: proved bounds are rounded outward, so that the printed inequality
is true as well.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction

from globalmin.drawing import power_of_ten

Number = Fraction | float | int | str


def upper_text(value: Number, digits: int = 3) -> str:
    """`value` rounded up to `digits` significant digits, for a proved upper bound.

    Examples
    --------
    >>> upper_text(Fraction(1, 3)), upper_text("1/3000000000")
    ('0.334', '3.34e-10')
    """
    return _text(value, digits, ROUND_CEILING)


def lower_text(value: Number, digits: int = 3) -> str:
    """`value` rounded down to `digits` significant digits, for a proved lower bound."""
    return _text(value, digits, ROUND_FLOOR)


def nearest_text(value: Number | None, digits: int = 3) -> str:
    """`value` rounded to the nearest, for an estimate; a dash where there is none."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return "–"
    return _text(value, digits, ROUND_HALF_EVEN)


def typeset(text: str) -> str:
    r"""The same number as it is set on a page: '-3.34e-10' becomes '−3.34 × 10⁻¹⁰', with spaces
    that do not break.

    Examples
    --------
    >>> typeset("3.34e-10"), typeset("-0.5")
    ('3.34\xa0×\xa010⁻¹⁰', '−0.5')
    """
    mantissa, _, exponent = text.partition("e")
    mantissa = mantissa.replace("-", "−")
    return f"{mantissa}\u00a0×\u00a0{power_of_ten(int(exponent))}" if exponent else mantissa


def _text(value: Number, digits: int, rounding: str) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return "∞" if value > 0 else "-∞"
    exact = Fraction(value)
    if exact == 0:
        return "0"
    context = Context(prec=digits, rounding=rounding, Emin=-(10**6), Emax=10**6)
    rounded = context.divide(Decimal(exact.numerator), Decimal(exact.denominator))
    exponent = rounded.adjusted()
    if -4 < exponent < 6:
        plain = format(rounded, "f")
        return plain.rstrip("0").rstrip(".") if "." in plain else plain
    mantissa = format(rounded.scaleb(-exponent, context), "f").rstrip("0").rstrip(".")
    return f"{mantissa}e{exponent}"

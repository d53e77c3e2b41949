"""Proved figures as text: a bound that is printed must be true as well, so that upper ones are
rounded up and lower ones down.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal


def above(value: float, digits: int = 2) -> str:
    """So many digits, rounded up."""
    return _text(value, digits, ROUND_CEILING)


def below(value: float, digits: int = 2) -> str:
    """So many digits, rounded down."""
    return _text(value, digits, ROUND_FLOOR)


def _text(value: float, digits: int, rounding: str) -> str:
    if not math.isfinite(value):
        return str(value)
    return f"{float(Context(prec=digits, rounding=rounding).plus(Decimal(value))):.{digits}g}"

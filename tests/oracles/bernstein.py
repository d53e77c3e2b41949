"""Upper bounds of polynomials on intervals in rational arithmetic: the largest Bernstein
coefficient on each of many parts.
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from math import comb


def at(polynomial: list[Fraction], x: Fraction | int) -> Fraction:
    """The polynomial with these coefficients, lowest first, at x."""
    value = Fraction(0)
    for coefficient in reversed(polynomial):
        value = value * x + coefficient
    return value


def on_interval(polynomial: list[Fraction], a: Fraction, b: Fraction) -> list[Fraction]:
    """Bernstein coefficients on [a, b]: the polynomial lies between the least and the largest."""
    moved = [Fraction(0)]  # coefficients of p(a + (b - a) t) in t
    for coefficient in reversed(polynomial):
        grown = [a * c for c in moved] + [Fraction(0)]
        for k, c in enumerate(moved):
            grown[k + 1] += (b - a) * c
        grown[0] += coefficient
        moved = grown
    n = len(moved) - 1
    return [
        sum((Fraction(comb(k, i), comb(n, i)) * moved[i] for i in range(k + 1)), Fraction(0))
        for k in range(n + 1)
    ]


def upper(polynomial: list[Fraction], a: int, b: int, parts: int = 32) -> Fraction:
    """An upper bound of the polynomial on [a, b], tight to the square of the size of a part."""
    ends = [a + Fraction(k * (b - a), parts) for k in range(parts + 1)]
    return max(
        max(on_interval(polynomial, left, right)) for left, right in itertools.pairwise(ends)
    )

"""Exact facts about doubles: a double is an integer over a power of two, and so are sums and
products of doubles.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

LEAST = 1074  # every double is an integer over 2^LEAST


def inner_product(left: Sequence[float], right: Sequence[float]) -> Fraction:
    """The exact inner product of two sequences of doubles, added up term by term, so that long ones
    need no memory.
    """
    total = 0
    for a, b in zip(left, right, strict=True):
        p, q = a.as_integer_ratio()
        s, t = b.as_integer_ratio()
        total += p * s << (2 * LEAST + 2 - q.bit_length() - t.bit_length())
    return Fraction(total, 1 << 2 * LEAST)


def row_ratio(x: Sequence[float], u: Sequence[float]) -> Fraction | None:
    """The number c != 0 with x = c u exactly, coordinate by coordinate; None if there is none or if
    u = 0.

    x_j u_p = u_j x_p is compared by odd parts and exponents, so the integers stay below 2^107
    whatever the doubles are.
    """
    place = next((j for j, value in enumerate(u) if value), None)
    if place is None or not x[place]:
        return None
    (m, e), (r, f) = _odd_part(x[place]), _odd_part(u[place])
    for a, b in zip(x, u, strict=True):
        (p, s), (q, t) = _odd_part(a), _odd_part(b)
        if p * r != q * m or (p and s + f != t + e):
            return None
    return Fraction(x[place]) / Fraction(u[place])


def _odd_part(value: float) -> tuple[int, int]:
    """M and e with value = m 2^e and m odd; (0, 0) for zero."""
    if not value:
        return 0, 0
    p, q = value.as_integer_ratio()
    zeros = (p & -p).bit_length() - 1
    return p >> zeros, zeros - q.bit_length() + 1

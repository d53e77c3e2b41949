"""Exact facts about rows of doubles."""

from __future__ import annotations

from fractions import Fraction


def row_ratio(x: list[float], u: list[float]) -> Fraction | None:
    """The number c != 0 with x = c u exactly, coordinate by coordinate; None if there is none or if u = 0."""
    place = next((j for j, value in enumerate(u) if value), None)
    if place is None or not x[place]:
        return None
    c = Fraction(x[place]) / Fraction(u[place])
    return c if all(Fraction(a) == c * Fraction(b) for a, b in zip(x, u, strict=True)) else None

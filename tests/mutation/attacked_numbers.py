"""Factors by which an attacker changes the rationals of a claim, and those rationals in many
digits.
"""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np

Rng = np.random.Generator


def close(rng: Rng) -> Fraction:
    """A factor: near 1, a few percent off, or far away."""
    size = float(10 ** rng.choice([-12.0, -6.0, -2.0, -0.5, 0.5]))
    return Fraction(float(np.exp(rng.choice([-1.0, 1.0]) * size * rng.uniform(0.1, 1))))


def as_number(text: str) -> mpmath.mpf:
    """A rational field in the digits of the simulation."""
    value = Fraction(text)
    return mpmath.mpf(value.numerator) / value.denominator

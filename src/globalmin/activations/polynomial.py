"""Suprema of polynomial activations: critical points enclosed in ball arithmetic, everything else
exact or rounded up.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from globalmin._types import Array
from globalmin.activations.functions import horner
from globalmin.activations.suprema import SLACK, Peak, Suprema, float_above, raise_to_peaks

if TYPE_CHECKING:
    from flint import arb

    from globalmin.activations.suprema import Supremum

# Horner's rule then errs by at most 2 * 32 units in the last place of sum |c_j z^j|, four times
# below SLACK
MAX_DEGREE = 32

Exact = tuple[Fraction, ...]


def exact_derivative(coefficients: tuple[float, ...], order: int) -> Exact:
    """Coefficients of the order-th derivative, lowest degree first, exactly; () is the zero
    polynomial.
    """
    exact = tuple(Fraction(c) for c in coefficients)
    for _ in range(order):
        exact = tuple(j * c for j, c in enumerate(exact))[1:]
    while exact and exact[-1] == 0:
        exact = exact[:-1]
    return exact


def polynomial_suprema(coefficients: tuple[float, ...]) -> Suprema:
    """Over the line: the constant itself, or infinity; over an interval: the ends and the critical
    points inside.
    """
    first, second, third, fourth = (
        _line(exact_derivative(coefficients, order)) for order in (1, 2, 3, 4)
    )

    def local(order: int, low: Array, high: Array) -> Array:
        exact = exact_derivative(coefficients, order)
        ends = np.maximum(_above(exact, low), _above(exact, high))
        return raise_to_peaks(ends, critical_peaks(exact), low, high)

    return Suprema((first, second, third, fourth), local)


def _line(exact: Exact) -> Supremum:
    return math.inf if len(exact) > 1 else abs(sum(exact, Fraction(0)))


def _above(exact: Exact, z: Array) -> Array:
    """|p(z)| rounded up: Horner's rule and a bound on its error (SLACK times sum |c_j z^j|)."""
    if len(exact) <= 1:
        return np.full(np.shape(z), float_above(_line(exact)))
    floats = np.array([float(c) for c in exact])
    with np.errstate(over="ignore", invalid="ignore"):
        bound = np.abs(horner(floats, z)) + SLACK * horner(np.abs(floats), np.abs(z)) + 2.0**-1000
    return np.where(np.isnan(bound), np.inf, bound)


@cache
def critical_peaks(exact: Exact) -> tuple[Peak, ...]:
    """Enclosures of the real critical points of a polynomial with bounds of |p| on them, by ball
    arithmetic.
    """
    slope = tuple(j * c for j, c in enumerate(exact))[1:]
    if len(slope) <= 1:
        return ()
    from flint import arb

    peaks = []
    for root in _real_roots(slope):
        low, high = _outward(root)
        around, value = arb(low).union(arb(high)), arb(0)
        for c in reversed(exact):
            value = value * around + arb(c.numerator) / arb(c.denominator)
        peaks.append(Peak(low, high, _outward(abs(value))[1]))
    return tuple(peaks)


def _real_roots(exact: Exact) -> list[arb]:
    """Balls that contain every real root (and perhaps the real part of a root that could not be
    told from a real one).
    """
    from flint import fmpq, fmpq_poly

    found: Any = fmpq_poly(
        [fmpq(c.numerator, c.denominator) for c in exact]
    ).complex_roots()  # the stub omits multiplicities
    return [root.real for root, _ in found if root.imag.contains(0)]


def _outward(ball: arb) -> tuple[float, float]:
    """Floats certainly below and above a real ball."""
    return math.nextafter(float(ball.lower()), -math.inf), math.nextafter(
        float(ball.upper()), math.inf
    )

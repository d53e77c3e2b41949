"""Floats with proved bounds (`spec/fast-route.md`, sections 1 and 2): upward bounds of sums and
products of nonnegative floats, and the range inside which they hold.

Every comparison is written so that an infinity or a NaN means "not proved".
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from globalmin_check.balls import lower_float, upper_float
from globalmin_check.container import Tensor

Floats = NDArray[np.float64]

U = 2.0**-53  # unit roundoff
TAU = 2.0**-1000  # covers every underflow of a bound
UPS = 2.0**-500  # covers every underflow of a matrix of products
LARGEST = 2.0**60  # of the absolute values of stored numbers
LONGEST = 2**30  # of every length


class NotProved(Exception):
    """The fast route does not decide; balls may."""


def need(holds: object, reason: str) -> None:
    """Go on only if this is certainly true."""
    if not holds:
        raise NotProved(reason)


def stored(tensor: Tensor, name: str) -> Floats:
    """The stored doubles as an array in row-major order; NotProved outside the range of the
    route.
    """
    values = np.frombuffer(tensor.values, dtype=np.float64).reshape(tensor.shape)
    need(max(tensor.shape) <= LONGEST, f"{name} is too long")
    need(np.abs(values).max(initial=0.0) <= LARGEST, f"an entry of {name} is above 2^60 in size")
    return values


def gamma(m: int) -> float:
    """A float of at least m u/(1 - m u), for m <= 2^40."""
    return (m + 2) * U * (1 + 2.0**-12) if m <= 2**40 else math.inf


def up(x: Floats, m: int = 1) -> Floats:
    """B1: at least the sum of products of two nonnegative floats that was computed as x, every term
    passing at most m roundings.
    """
    return x * (1.0 + (2 * m + 8) * U) + TAU


def float_up(value: Fraction) -> float:
    """A finite float of at least the rational, at most twice 2^60 in size."""
    result = upper_float(value)
    need(abs(result) <= 2 * LARGEST, "a number of the claim is above 2^60 in size")
    return result


def float_down(value: Fraction) -> float:
    """A finite float of at most the rational."""
    result = lower_float(value)
    need(abs(result) <= 2 * LARGEST, "a number of the claim is above 2^60 in size")
    return result

"""Sums, products and quotients of float64 arrays, and whether rounding changed any of them.

The errors of one operation are doubles themselves (Knuth's two-sum; Dekker's product with
Veltkamp's splitting), unless something overflows or underflows: those count as rounded.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from globalmin._types import Array, NDArray

_SPLITTER = 2.0**27 + 1.0
_LARGEST = 2.0**480  # products of splittings below it stay finite
_SMALLEST = 2.0**-480  # errors of products above it are normal numbers


@dataclass(frozen=True)
class Rounded:
    """The result of an elementwise operation, and how many of its entries are not exact."""

    value: Array
    inexact: int

    def note(self, what: str) -> str | None:
        """One sentence about the rounding, None if there was none."""
        if not self.inexact:
            return None
        return (
            f"{what}: {self.inexact} of {self.value.size} numbers are rounded, each by at most one "
            "part in 2^53"
        )


def added(a: Array, b: Array) -> Rounded:
    """The sums."""
    total = np.asarray(a + b, dtype=np.float64)
    high = total - a
    error = (a - (total - high)) + (b - high)
    return Rounded(total, int(np.count_nonzero(~np.isfinite(total) | (error != 0.0))))


def multiplied(a: Array, b: Array) -> Rounded:
    """The products, entry by entry."""
    product = np.asarray(a * b, dtype=np.float64)
    return Rounded(product, int(np.count_nonzero(~_is_product(product, a, b))))


def divided(a: Array, b: Array) -> Rounded:
    """The quotients, entry by entry: exact where the quotient times b is a again."""
    with np.errstate(over="ignore"):  # an infinite quotient is counted as inexact
        quotient = np.asarray(a / b, dtype=np.float64)
    return Rounded(quotient, int(np.count_nonzero(~_is_product(np.asarray(a), quotient, b))))


def _is_product(product: Array, a: Array, b: Array) -> NDArray[np.bool_]:
    """Whether product = a b over the reals; False where that cannot be told."""
    a, b = np.broadcast_arrays(np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64))
    one = (np.abs(a) == 1.0) & (product == a * b) | (np.abs(b) == 1.0) & (product == a * b)
    zero = ((a == 0.0) | (b == 0.0)) & (product == 0.0)
    sizes = [np.abs(x) for x in (a, b, np.asarray(product))]
    safe = np.logical_and.reduce([(x < _LARGEST) & (x > _SMALLEST) for x in sizes])
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        (a1, a2), (b1, b2) = _split(a), _split(b)
        error = ((a1 * b1 - a * b) + a1 * b2 + a2 * b1) + a2 * b2
        exact = (error == 0.0) & (a * b == product)
    return one | zero | (safe & exact)


def _split(x: Array) -> tuple[Array, Array]:
    c = _SPLITTER * x
    high = c - (c - x)
    return high, x - high

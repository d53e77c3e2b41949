"""The quantities of theorem EY for stored factors, far beyond double precision (python-flint), as
floats with a safe side.

They only *choose* what is claimed; the checker recomputes everything. The matrix is read in strips
of rows, so that memory stays at a few hundred megabytes for 2,000 x 2,000.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from globalmin._types import Array
from globalmin.linalg.balls import ball_matrix, working_precision

BITS = 192
STRIP_ENTRIES = 2**19
Ball = Any


@dataclass(frozen=True)
class GapNumbers:
    """Bounds on the safe side of the exact quantities, S the factor whose span is used; NaN where S
    has dependent columns.

    Attributes
    ----------
    square : |M|_F^2. loss_lower, loss_upper : the loss (1/2)|P S^T - M|^2.
    rounding : estimate of what 128-bit balls add to the loss, a sum of m n squares.
    inside : at least |(M - P S^T) Q|^2. leak : at least |(I - Q) M^T M Q|^2. outside : at least |M
        (I - Q)|^2.
    """

    square: float
    loss_lower: float
    loss_upper: float
    rounding: float
    inside: float
    leak: float
    outside: float


def gap_numbers(M: Array, S: Array, P: Array) -> GapNumbers:
    """The numbers for M (m x n), S (n x r) and P (m x r). Cost: two products of M with r columns at
    192 bits.
    """
    with working_precision(BITS):
        balls, other = ball_matrix(S), ball_matrix(P)
        Y, K, square = _products(M, balls)
        G, energy = balls.transpose() * balls, Y.transpose() * Y
        cross = (other.transpose() * Y).trace()
        loss = (square - 2 * cross + (other.transpose() * other * G).trace()) / 2
        known = (
            _below(square),
            max(_below(loss), 0.0),
            _above(loss),
            _above(square) * M.size * 2.0**-127,
        )
        try:
            inverse = G.inv()
        except ZeroDivisionError:
            return GapNumbers(*known, math.nan, math.nan, math.nan)
        T, N = Y - other * G, K - balls * (inverse * energy)
        inside, leak = ((inverse * (part.transpose() * part)).trace() for part in (T, N))
        return GapNumbers(
            *known, _above(inside), _above(leak), _above(square - (inverse * energy).trace())
        )


def _products(M: Array, S: Ball) -> tuple[Ball, Ball, Ball]:
    """M S, M^T M S and |M|_F^2, strip by strip."""
    from flint import arb, arb_mat

    rows, K, square = [], arb_mat(M.shape[1], S.ncols()), arb(0)
    for strip in _strips(M):
        balls = ball_matrix(strip)
        part = balls * S
        rows += part.tolist()
        K += balls.transpose() * part
        entries = balls.entries()
        square += sum(map(arb.__mul__, entries, entries), arb(0))
    return arb_mat(rows), K, square


def _strips(M: Array) -> Iterator[Array]:
    height = max(1, STRIP_ENTRIES // M.shape[1])
    for start in range(0, M.shape[0], height):
        yield M[start : start + height]


def _above(value: Ball) -> float:
    """A double at least as large as every number of the ball, and not negative."""
    from flint import arb

    near = max(float(value.upper()), 0.0)
    return near if arb(near) >= value else math.nextafter(near, math.inf)


def _below(value: Ball) -> float:
    """A double at most as large as every number of the ball."""
    from flint import arb

    near = float(value.lower())
    return near if arb(near) <= value else math.nextafter(near, -math.inf)

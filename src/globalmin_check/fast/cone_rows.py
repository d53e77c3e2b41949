"""Rows of a group as the search over cones sees them in floats: the sums of those that are active
at a direction (Q1, Q3 and Q4 of `spec/fast-route.md`). All products are made by numpy's own loops.

Arrays of directions have one column for each direction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from globalmin_check.fast.rounding import LARGEST, LONGEST, Floats, NotProved, need, up

AT_ONCE = 2**18  # products of rows and directions that are held together


@dataclass(frozen=True)
class Rows:
    """The open rows v_i = |u_i| x_i/b of a piece, rising and falling ones, and of both the sum of
    the active ones.
    """

    open: tuple[Floats, Floats]
    base: tuple[Floats, Floats]

    @property
    def count(self) -> int:
        """How many rows are open."""
        return sum(map(len, self.open))

    def swapped(self) -> Rows:
        """The same for the other sign of u."""
        (rising, falling), (active, other) = self.open, self.base
        return Rows((falling, rising), (other, active))

    def sums(self, half: int, directions: Floats) -> Floats:
        """Q3: S for the rising rows (half 0) or the falling ones (half 1), at every direction."""
        V, base = self.open[half], self.base[half][:, None]
        found = np.empty(directions.shape)
        for part in _parts(V, directions):
            T = np.einsum("ij,jm->im", V, directions[:, part])
            active = (T >= 0.0).astype(np.float64)
            found[:, part] = base + np.einsum("im,ij->jm", active, V)
        return found

    def inside(self, rays: Floats) -> Rows:
        """The rows of a piece whose cones have these rays: Q3 decides the others."""
        found = [_decided(V, base, rays) for V, base in zip(self.open, self.base, strict=True)]
        return Rows((found[0][0], found[1][0]), (found[0][1], found[1][1]))


def _parts(V: Floats, directions: Floats) -> list[slice]:
    count = directions.shape[1]
    step = max(1, AT_ONCE // max(len(V), 1))
    return [slice(start, min(count, start + step)) for start in range(0, count, step)]


def _decided(V: Floats, base: Floats, rays: Floats) -> tuple[Floats, Floats]:
    """The rows that stay open, and the base with those that are active at all rays."""
    active, dropped = np.ones(len(V), bool), np.ones(len(V), bool)
    for part in _parts(V, rays):
        T = np.einsum("ij,jm->im", V, rays[:, part])
        active &= (T >= 0.0).all(axis=1)
        dropped &= (T <= 0.0).all(axis=1)
    return V[~(active | dropped)], base + V[active].sum(axis=0)


def first_rows(
    rows: Sequence[Sequence[int]], u: Sequence[int], bound: Fraction
) -> tuple[Rows, Floats, int]:
    """Q1: all rows for u itself, all open; sig_j; and N. The rows and u are integers, b = 1."""
    need(len(rows) <= LONGEST, "there are too many rows")
    need(bound > 0, "a bound is zero")
    merged: dict[tuple[int, ...], int] = {}
    for row, U in zip(rows, u, strict=True):
        key = tuple(row)
        merged[key] = merged.get(key, 0) + U
    size = len(rows[0])
    rising, falling = (
        _quotients([(row, abs(U)) for row, U in merged.items() if U * half > 0], size, bound)
        for half in (1, -1)
    )
    count = len(rising) + len(falling)
    sizes = np.concatenate([np.abs(rising), np.abs(falling)])
    need(sizes.max(initial=0.0) <= LARGEST, "a row of a group is above 2^60 times b in size")
    zero = np.zeros(size)
    return Rows((rising, falling), (zero, zero)), up(sizes.sum(axis=0), max(count, 1)), count


def _quotients(rows: list[tuple[tuple[int, ...], int]], size: int, bound: Fraction) -> Floats:
    """The rows times their factors over the bound, correctly rounded (A5)."""
    p, q = bound.numerator, bound.denominator
    try:
        entries = [[U * q * x / p for x in row] for row, U in rows]
    except OverflowError:
        raise NotProved("a row of a group is out of range") from None
    return np.array(entries, np.float64).reshape(len(rows), size)

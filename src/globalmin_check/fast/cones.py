"""The search over cones of theorem R3 in floats with proved bounds, thousands of cones at once
(section 8 of `spec/fast-route.md`).

Lists of cones are searched breadth first; a long one is divided into pieces, and the pieces are
searched one after the other. The last axis of every array is the cones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np

from globalmin_check import limits
from globalmin_check.checks import ExactChecks
from globalmin_check.fast.cone_proposals import lifted, shortest, widest_edges
from globalmin_check.fast.cone_rows import Rows, first_rows
from globalmin_check.fast.rounding import Floats, U, gamma, need

LARGEST_DIMENSION = 8
LARGEST_ENTRY = 2.0**52  # of rays before they are added (Q2)
ROUNDS = 3  # tangents of one attempt at a cone
STEPS = 2.0**30  # weights of tangents are multiples of 1/STEPS
FAR = 1.5  # |q|^2 so much above the bound is not worth another attempt
LONG, PIECES = 4096, 8  # cones from which on a list is divided, and into how many
GROWN, MANY = 16, 2**20  # or if it grew so much, and has so many products of rows and cones
WORK = 2**13  # products of rows and directions that count as one exact number


@dataclass(frozen=True)
class Piece:
    """Cones that are searched together: rays P (ray, coordinate, cone), S at the rays (ray, rising
    or falling, coordinate, cone), and how many cones there were at first.
    """

    rows: Rows
    P: Floats
    S: Floats
    born: int

    @property
    def is_long(self) -> bool:
        """Whether to divide it."""
        m = self.P.shape[2]
        return m > LONG or (m >= GROWN * self.born and m * self.rows.count > MANY)

    def divided(self) -> list[Piece]:
        """Its parts, with the rows that are open there."""
        found = []
        for part in np.array_split(np.arange(self.P.shape[2]), PIECES):
            P, S = self.P[:, :, part], self.S[..., part]
            rays = np.ascontiguousarray(P.transpose(1, 0, 2)).reshape(len(P), -1)
            found.append(Piece(self.rows.inside(rays), P, S, len(part)))
        return found


def cones_hold(
    rows: list[list[int]],
    u: list[int],
    bound: Fraction,
    checks: ExactChecks,
    signs: Sequence[int] = (1,),
) -> bool:
    """True if sum_i u_i relu(x_i . w) <= bound |w| is proved for u times each of the signs; raises
    NotProved where it is not.
    """
    need(len(rows[0]) <= LARGEST_DIMENSION, f"a group has {len(rows[0])} columns with the bias")
    checks.charge(len(rows) * len(rows[0]))
    first, sizes, count = first_rows(rows, u, bound)
    for sign in signs:
        _search(first if sign > 0 else first.swapped(), sizes, count, checks)
    return True


def _search(rows: Rows, sizes: Floats, count: int, checks: ExactChecks) -> None:
    """Q6 for one sign: NotProved unless every cone is closed."""
    stack, searched = [_orthants(rows, len(sizes))], 0
    while stack:
        piece = stack.pop()
        if piece.is_long:
            stack += reversed(piece.divided())
            continue
        m = piece.P.shape[2]
        searched += m
        need(searched <= limits.FAST_CONES, f"more than {limits.FAST_CONES} cones are needed")
        checks.charge(m * len(sizes) * (1 + len(sizes) * piece.rows.count // WORK))
        left = _unclosed(piece, sizes, count)
        if left.P.shape[2]:
            stack.append(_split(left))


def _orthants(rows: Rows, p: int) -> Piece:
    signs = np.array(list(product((1.0, -1.0), repeat=p)))
    P = np.zeros((p, p, len(signs)))
    diagonal = np.arange(p)
    P[diagonal, diagonal] = signs.T
    S = np.stack([np.stack([rows.sums(half, ray) for half in (0, 1)]) for ray in P])
    return Piece(rows, P, S, len(signs))


def _unclosed(piece: Piece, sizes: Floats, count: int) -> Piece:
    """The cones of the piece that no tangent and vector q are found for."""
    P, S, rows = piece.P, piece.S, piece.rows
    lengths = np.sqrt((P * P).sum(axis=1))
    units = P / lengths[:, None]
    heights = (S * units[:, None]).sum(axis=2)
    above = heights[:, 0] - heights[:, 1] > 1.0
    need(not above.any(), "H_g(u) seems to exceed the bound at a direction")
    gram = np.einsum("kjm,ljm->klm", units, units)
    allowed = _allowed(P, sizes, count)
    spare = 1.5 * allowed / lengths
    is_open, places = np.ones(P.shape[2], bool), np.arange(P.shape[2])
    toward, active = units.sum(axis=0), np.ones(lengths.shape, bool)
    t = q = np.zeros(toward.shape)
    for attempt in range(ROUNDS):
        new = rows.sums(1, toward)
        share = _share(q, new - t) if attempt > 1 else np.full(new.shape[1], 1.0 / (attempt + 1.0))
        t = (1.0 - share) * t + share * new
        near, products = units[:, :, places], gram[:, :, places]
        G = heights[:, 0, places] - (near * t).sum(axis=1)
        weights, active = shortest(products, G, active)
        q = lifted(near, products, weights, G + spare[:, places])
        is_closed = _closed(q, t, P[:, :, places], S[:, 0][..., places], allowed[:, places])
        is_open[places[is_closed]] = False
        again = ~is_closed & ((q * q).sum(axis=0) < FAR)
        toward = (near * weights[:, None]).sum(axis=0)[:, again]
        places, t, q, active = places[again], t[:, again], q[:, again], active[:, again]
        if not len(places):
            break
    return Piece(rows, P[:, :, is_open], S[..., is_open], piece.born)


def _allowed(P: Floats, sizes: Floats, count: int) -> Floats:
    """The right side of Q5 at the rays P of every cone, for so many rows."""
    eps = 2.0 * gamma(count + len(sizes) + 10)
    return eps * np.einsum("j,kjm->km", sizes + 1.0, np.abs(P))


def _share(q: Floats, change: Floats) -> Floats:
    """How much of the new tangent to take: q falls by about the change of the tangent. A multiple
    of 2^-30 from 0 to 1, so that one less it is exact (Q4).
    """
    square = (change * change).sum(axis=0)
    wanted = np.where(square > 0.0, (q * change).sum(axis=0) / square, 0.0)
    return np.rint(np.clip(wanted, 0.0, 1.0) * STEPS) / STEPS


def _closed(q: Floats, t: Floats, P: Floats, rising: Floats, allowed: Floats) -> np.ndarray:
    """Q5, for every cone."""
    is_short = (q * q).sum(axis=0) <= 1.0 - (2 * len(q) + 8) * U
    sides = (((q - rising) + t) * P).sum(axis=1)
    return is_short & (sides >= allowed).all(axis=0)


def _split(piece: Piece) -> Piece:
    """The two cones for each in which a combination of two rays replaces one of them (Q2), side by
    side.
    """
    P, S, rows = piece.P, piece.S, piece.rows
    lengths = np.sqrt((P * P).sum(axis=1))
    units = P / lengths[:, None]
    a, b = widest_edges(units, np.einsum("kjm,ljm->klm", units, units), S)
    here = np.arange(P.shape[2])
    shift = np.rint(np.log2(lengths[b, here] / lengths[a, here])).astype(np.int64)
    ray = _combined(P[a, :, here].T, P[b, :, here].T, shift)
    sums = np.stack([rows.sums(half, ray) for half in (0, 1)])
    P, S = (np.repeat(part, 2, axis=-1) for part in (P, S))
    for side, replaced in ((0, a), (1, b)):
        P[replaced, :, 2 * here + side] = ray.T
        S[replaced, :, :, 2 * here + side] = sums.transpose(2, 0, 1)
    return Piece(rows, P, S, piece.born)


def _combined(one: Floats, other: Floats, shift: np.ndarray) -> Floats:
    """Q2: integers throughout."""
    one, other = (
        np.ldexp(ray, np.clip(power, 0, 60)) for ray, power in ((one, shift), (other, -shift))
    )
    largest = max(np.abs(one).max(), np.abs(other).max())
    need(largest <= LARGEST_ENTRY, "a ray of the search needs more than 52 bits")
    ray = one + other
    return ray / np.gcd.reduce(ray.astype(np.int64), axis=0)

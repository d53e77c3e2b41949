"""The claim `stream-gap` with rows: H8 from sums over the rows in floats, each with a proved bound
of its distance from the exact one (`spec/fast-route.md`, section 7).
"""

from __future__ import annotations

import math
from array import array
from dataclasses import dataclass
from fractions import Fraction
from typing import cast

import numpy as np

from globalmin_check.checks import Checks, ExactChecks
from globalmin_check.claims import stream_gap
from globalmin_check.claims.kind import Numbers
from globalmin_check.claims.shard_rows import BLOCK
from globalmin_check.claims.stream_gap import StreamGap, Total
from globalmin_check.claims.stream_network import Stream
from globalmin_check.fast.products import Products
from globalmin_check.fast.rounding import TAU, Floats, U, need, stored, up
from globalmin_check.fast.smooth import Prover
from globalmin_check.problem import Problem, Sizes

LARGEST_INPUT, LARGEST_RESIDUAL, MOST = 2.0**100, 2.0**300, 2**12
HELD = 2**22  # sums of blocks that are held before they are added
_DUST = 2.0**-600


@dataclass(frozen=True)
class Block:
    """Scaled rows, labels and residuals of a block in floats, and how far the residuals are at
    most from the exact ones.
    """

    X: Floats
    y: Floats
    r: Floats
    dr: Floats


class BoundedSums:
    """The sums of r^2, r y and r x_a x_b (a <= b) of the rows that were read, in floats, and bounds
    of their distances from the exact ones; those of the blocks are added exactly.
    """

    def __init__(self, stream: Stream, products: Products) -> None:
        d, k = stream.sizes.d, stream.sizes.k
        need(max(d, k) <= MOST, "the network is too large for sums over rows in floats")
        self._stream, self._products = stream, products
        self._W, self._v = stored(stream.W, "W"), stored(stream.v, "v")
        self._upper = np.triu_indices(d)
        self._found: list[Floats] = []  # of a block: two sums, the moments, three bounds
        self._added = [Fraction(0)] * (5 + len(self._upper[0]))  # of the blocks before

    def add(self, block: array) -> None:
        """Add the sums of a block of rows."""
        rows = self._rows(np.frombuffer(block, np.float64).reshape(-1, self._stream.width))
        count = len(rows.r)
        need(count <= BLOCK, "a block of rows is too long")
        Z = self._products.product(rows.X.T, rows.r[:, None] * rows.X)[self._upper]
        sums = np.square(rows.r).sum(), (rows.r * rows.y).sum()
        found = np.concatenate([sums, Z, _errors(rows, count)])
        # an infinity or a NaN in a row would be in its sums
        need(np.isfinite(found).all(), "a sum over rows is not finite")
        self._found.append(found)
        if len(self._found) * len(found) >= HELD:
            self.closed()

    def closed(self) -> list[Fraction]:
        """A, B, the upper triangle of Z, and the bounds of their distances from the exact ones."""
        parts = np.array(self._found).T.tolist()
        for place, part in enumerate(parts):
            self._added[place] += _exact_sum(part)
        self._found.clear()
        return list(self._added)

    def _rows(self, raw: Floats) -> Block:
        """Zh, fh, rh and dr of the page."""
        stream, W, v = self._stream, self._W, self._v
        d, k = stream.sizes.d, stream.sizes.k
        scaled = (raw - np.frombuffer(stream.X.values)) * np.frombuffer(stream.y.values)
        X, y = scaled[:, :-1], scaled[:, -1]
        if stream.bias:
            X = np.hstack([X, np.ones((len(X), 1))])
        need(np.abs(scaled).max() <= LARGEST_INPUT, "a scaled number is above 2^100 in size")
        z = self._products.product(X, W.T)
        dz = self._products.upper(np.abs(X), np.abs(W).T) * ((d + 6) * U) + TAU
        squares = np.square(z)
        r = (squares * v).sum(axis=1) - y
        size = up((squares * np.abs(v)).sum(axis=1), k + 2)
        steps = up(up(np.abs(v) * dz) * up(2.0 * np.abs(z) + dz, 2), 2)
        spread = up(steps.sum(axis=1), k + 1)
        dr = up(spread + (k + 5) * U * size + 3 * U * np.abs(y) + 2 * U * np.abs(r), 6)
        need((np.abs(r) + dr).max() <= LARGEST_RESIDUAL, "a residual is above 2^300 in size")
        return Block(X, y, r, dr)


def why_not(claim: StreamGap, problem: Problem) -> str:
    """Empty if rows were brought."""
    del claim
    return "" if cast(Stream, problem).given else "without rows there are no sums in floats"


def _exact_sum(values: list[float]) -> Fraction:
    """What a rounded sum misses is added again, until nothing is missing."""
    parts = [math.fsum(values)]
    while missing := math.fsum([*values, *(-part for part in parts)]):
        parts.append(missing)
    return sum(map(Fraction, parts), Fraction(0))


def _errors(rows: Block, count: int) -> list[float]:
    """Bounds for the sums of r^2, of r y, and of r x x^T in the Frobenius norm."""
    r, y, dr, d = np.abs(rows.r), np.abs(rows.y), rows.dr, rows.X.shape[1]
    q = up(np.square(rows.X).sum(axis=1), d + 1)
    parts = (
        up((count + 4) * U * up(np.square(r)) + up(dr * up(2.0 * r + dr, 2)), 3),
        up((count + 8) * U * up(r * y) + 1.01 * up(dr * y), 3),
        up(q * up((count + 12) * U * r + 1.01 * dr, 3)),
    )
    return [float(up(part.sum(), count)) + count * _DUST for part in parts]


def check(
    claim: StreamGap, problem: Problem, total: Total, checks: Checks, prover: Prover
) -> Numbers:
    """H7 exactly, H8 with bounds, H5 and H6 in balls."""
    facts = ExactChecks(checks.budget)
    try:
        stream_gap.read_rows(
            claim,
            problem,
            facts,
            lambda stream: BoundedSums(stream, prover.products),
            _require_agreement,
        )
    finally:
        checks.lines += facts.lines
    return stream_gap.check(claim, problem, total, checks)


def _require_agreement(
    claim: StreamGap, stream: Stream, checks: ExactChecks, number: int, sums: BoundedSums
) -> None:
    """H8 of one shard, or NotProved."""
    where = f"shard {number}"
    radii = list(map(Fraction, claim.radii.row(number)))
    a, b = (Fraction(part.values[number]) for part in (claim.squares, claim.products))
    squares, products, *moments, alpha, beta, zeta = sums.closed()
    first, second = abs(squares - a) + alpha, abs(products - b) + beta
    room, distance = radii[2] - zeta, Fraction(0)
    known = map(Fraction, claim.moments.row(number))
    pairs = zip(*map(np.ndarray.tolist, np.triu_indices(stream.sizes.d)), strict=True)
    for (i, j), found, stored_one in zip(pairs, moments, known, strict=True):
        distance += (1 + (i < j)) * (found - stored_one) ** 2
    holds = first <= radii[0] and second <= radii[1] and room >= 0 and distance <= room**2
    need(holds, f"the sums of {where} are not certain in floats")
    checks.require("H8a", f"{where}: |A - a| <= alpha", first, "<=", radii[0])
    checks.require("H8b", f"{where}: |B - b| <= beta", second, "<=", radii[1])
    text = f"{where}: |Z - M|_F^2 <= (zeta - its rounding)^2"
    checks.require("H8c", text, distance, "<=", room**2)


def needed_bytes(claim: StreamGap, sizes: Sizes) -> int:
    """Of a block of rows, of the sums that are held, and of those that were added, as rationals."""
    del claim
    return 8 * BLOCK * (8 * sizes.d + 8 * sizes.k + 16) + 64 * HELD + 300 * sizes.d**2


def flops(claim: StreamGap, sizes: Sizes) -> int:
    """Operations in floats."""
    del claim
    return sizes.n * (4 * sizes.d * sizes.k + 4 * sizes.d**2)

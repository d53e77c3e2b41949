"""Fields and tensors of `additive-stream-gap`, and whether the rows of a shard agree with them
(`spec/claims/additive-stream-gap.md`, K9 and K10).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from flint import fmpq

from globalmin_check.checks import ExactChecks
from globalmin_check.claims.additive_network import AdditiveStream
from globalmin_check.claims.additive_rows import AdditiveSums, curve_of
from globalmin_check.claims.shard_rows import shards_read
from globalmin_check.claims.stream_network import require_digest
from globalmin_check.container import Tensor


@dataclass(frozen=True)
class AdditiveGap:
    """Fields and tensors of section 5.28."""

    loss_upper: Fraction
    decay: Fraction
    t: Fraction
    gap: Fraction
    sizes: tuple[int, ...]
    edges: Tensor
    counts: Tensor
    residuals: Tensor
    moments: Tensor
    squares: Tensor
    totals: Tensor
    radii: Tensor

    def column_edges(self) -> Iterator[list[float]]:
        """The edges of every column."""
        start = 0
        for size in self.sizes:
            yield self.edges.values[start : start + size + 1].tolist()
            start += size + 1

    def parts(self) -> Iterator[tuple[int, int]]:
        """The first bin of every column, and the first of the next."""
        start = 0
        for size in self.sizes:
            yield start, start + size
            start += size


def rational_of(value: float) -> fmpq:
    """The rational that a double is."""
    return fmpq(*value.as_integer_ratio())


def require_rows(claim: AdditiveGap, stream: AdditiveStream, checks: ExactChecks) -> None:
    """K9 and K10 of the rows that were brought."""
    given = stream.given
    if given is None:
        return
    given.read = 0
    curves = [curve_of(stream, j, edges) for j, edges in enumerate(claim.column_edges())]
    found = shards_read(stream, given, lambda: AdditiveSums(stream, curves))
    for number, (sums, sha256) in enumerate(found, given.first):
        require_digest(checks, "K9", stream, number, sha256)
        text, inside = f"every row of shard {number} lies in a bin", not sums.outside
        checks.require_fact("K10a", text, inside, f"{sums.outside} numbers lie in none")
        _require_totals(claim, stream, checks, number, sums)
        for j in range(stream.sizes.d):
            fault = _disagreement(claim, stream, number, sums, j)
            text = f"shard {number} has the sums of the bins of column {stream.columns[j]!r}"
            checks.require_fact("K10f", text, not fault, fault or "they are")
        given.read += 1


def _require_totals(
    claim: AdditiveGap, stream: AdditiveStream, checks: ExactChecks, number: int, sums: AdditiveSums
) -> None:
    rows = stream.shards[number].rows
    rho, _, kappa, eta = (rows * Fraction(radius) for radius in claim.radii.row(number))
    names = ("K10b", "A", sums.squares, kappa), ("K10c", "B", sums.products, eta)
    more = ("K10d", "R", sums.residuals, rho), ("K10e", "Y", sums.labels, eta)
    stored = map(Fraction, claim.totals.row(number))
    for (check, name, value, radius), own in zip((*names, *more), stored, strict=True):
        text = f"shard {number}: {name} is within its radius"
        checks.require(check, text, abs(value - own), "<=", radius)


def _disagreement(
    claim: AdditiveGap, stream: AdditiveStream, number: int, sums: AdditiveSums, j: int
) -> str:
    """The first bin of a column whose stored sums are not those of the rows; empty if there is
    none.
    """
    first, last = list(claim.parts())[j]
    own, total = sums.bins[j], sum(claim.sizes)
    rho, sigma, kappa, _ = (rational_of(radius) for radius in claim.radii.row(number))
    shift, scale = rational_of(stream.X.values[j]), rational_of(stream.y.values[j])
    edges = list(claim.column_edges())[j]
    unit, x = fmpq(1, 1 << sums.exponent), fmpq(1, 1 << own.exponent)
    for k, place in enumerate(range(number * total + first, number * total + last)):
        n, r = own.counts[k], own.r[k] * unit
        moved = own.rx[k] * unit * x - (rational_of(edges[k]) - shift) * scale * r
        pairs = (
            (r, claim.residuals, rho),
            (moved, claim.moments, sigma),
            (own.rr[k] * unit * unit, claim.squares, kappa),
        )
        if n != claim.counts.values[place]:
            return f"bin {k} has {n} rows"
        for value, part, radius in pairs:
            if not abs(value - rational_of(part.values[place])) <= n * radius:
                return f"bin {k} has other sums"
    return ""

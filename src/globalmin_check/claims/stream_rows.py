"""The sums over the rows of a shard that a quadratic network needs, in exact integers
(`spec/claims/stream-gap.md`, H8).

A block of rows is worked on column by column with one power of two each, and the integers of the
block are multiplied as matrices.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import repeat
from operator import mul

from flint import fmpz, fmpz_mat

from globalmin_check.claims.shard_rows import Column, integers, scaled
from globalmin_check.claims.stream_network import Stream


class ShardSums:
    """The exact sums of r^2, of r y and of r x_a x_b (a <= b) of the rows that were read."""

    def __init__(self, stream: Stream) -> None:
        d = stream.sizes.d
        self.squares, self.products = Fraction(0), Fraction(0)
        self.moments = [Fraction(0)] * (d * (d + 1) // 2)
        self._stream = stream

    def add(self, block: array) -> None:
        """Add the sums of a block of rows."""
        stream = self._stream
        width, d = stream.width, stream.sizes.d
        count = len(block) // width
        columns = [
            scaled(block[j::width], stream.X.values[j], stream.y.values[j]) for j in range(width)
        ]
        label = columns.pop()
        if stream.bias:
            columns.append(Column([1] * count, 0))
        exponents = [column.exponent for column in columns]
        flat = [
            entry
            for row in zip(*(column.values for column in columns), strict=True)
            for entry in row
        ]
        X = fmpz_mat(count, d, flat)
        r, unit = _residuals(stream, X, exponents, label)
        entries = X.entries()
        weighted = list(map(mul, entries, [value for value in r for _ in range(d)]))
        Z = (X.transpose() * fmpz_mat(count, d, weighted)).tolist()
        self.squares += Fraction(int(sum(map(mul, r, r), fmpz(0))), 1 << 2 * unit)
        self.products += Fraction(
            int(sum(map(mul, r, label.values), fmpz(0))), 1 << unit + label.exponent
        )
        place = 0
        for a in range(d):
            for b in range(a, d):
                below = unit + exponents[a] + exponents[b]
                self.moments[place] += Fraction(int(Z[a][b]), 1 << below)
                place += 1


def _residuals(
    stream: Stream, X: fmpz_mat, exponents: list[int], label: Column
) -> tuple[list[fmpz], int]:
    """The residuals sum_l v_l (w_l . x)^2 - y as integers over one power of two, and its
    exponent.
    """
    d, k, top = stream.sizes.d, stream.sizes.k, max(exponents)
    weights, heads = integers(stream.W.values), integers(stream.v.values)
    lifted = [
        weight << top - exponent
        for weight, exponent in zip(weights.values, exponents * k, strict=True)
    ]
    z = (X * fmpz_mat(k, d, lifted).transpose()).entries()
    terms = map(mul, map(mul, z, z), heads.values * X.nrows())
    below = 2 * (top + weights.exponent) + heads.exponent
    unit = max(below, label.exponent)
    up, lift = unit - below, unit - label.exponent
    outputs = [sum(part, fmpz(0)) for part in _grouped(terms, k)]
    return [(f << up) - (y << lift) for f, y in zip(outputs, label.values, strict=True)], unit


def _grouped(values: Iterable[fmpz], size: int) -> Iterator[tuple[fmpz, ...]]:
    return zip(*repeat(iter(values), size), strict=True)

"""The sums over the rows of a shard, in exact integers, from raw rows (`spec/claims/stream-gap.md`,
H7 and H8).

A double is an integer over a power of two, and so is everything made of doubles by differences and
products. A block of rows is worked on column by column with one power of two each, and the integers
of the block are multiplied as matrices.
"""

from __future__ import annotations

import hashlib
import sys
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import repeat
from math import isfinite
from operator import mul

from flint import fmpz, fmpz_mat

from globalmin_check.claims.stream_network import Given, Stream
from globalmin_check.verdict import Undecided

BLOCK = 2048  # rows of one product of integer matrices


@dataclass
class ShardSums:
    """Number of rows, digest, and the exact sums of r^2, of r y and of r x_a x_b (a <= b) of the
    rows that were read.
    """

    squares: Fraction = Fraction(0)
    products: Fraction = Fraction(0)
    moments: list[Fraction] = field(default_factory=list)
    sha256: str = ""


@dataclass(frozen=True)
class Column:
    """Integers over 2^exponent."""

    values: list[int]
    exponent: int


def shard_sums(stream: Stream, given: Given) -> Iterator[ShardSums]:
    """The sums of one shard after the other, from the first that was brought on; Undecided if the
    rows end within a shard, are more than the shards, or are not finite.
    """
    blocks = _blocks(given.blocks(stream.columns), stream.width)
    rest = array("d")
    for number in range(given.first, len(stream.shards)):
        rows = stream.shards[number].rows
        left = rows * stream.width
        digest = hashlib.sha256()
        sums = ShardSums(moments=[Fraction(0)] * (stream.sizes.d * (stream.sizes.d + 1) // 2))
        while left:
            block = rest or next(blocks, array("d"))
            if not block:
                break
            block, rest = block[:left], block[left:]
            left -= len(block)
            digest.update(_little_endian(block))
            _add(sums, stream, block)
        if left == rows * stream.width and number > given.first:
            return
        if left:
            raise Undecided(
                f"the rows end within shard {number}, {left // stream.width} rows before its end"
            )
        digest.update(f"globalmin-rows/1 {rows} {stream.width}\n".encode("ascii"))
        sums.sha256 = digest.hexdigest()
        yield sums
    if rest or next(blocks, None):
        raise Undecided("there are more rows than the shards of the file have")


def _blocks(given: Iterable[array], width: int) -> Iterator[array]:
    """Blocks of at most BLOCK rows."""
    for piece in given:
        if len(piece) % width:
            raise Undecided(f"a block of rows does not have {width} numbers per row")
        if not all(map(isfinite, piece)):
            raise Undecided("the rows contain a NaN or an infinity")
        for start in range(0, len(piece), BLOCK * width):
            yield piece[start : start + BLOCK * width]


def _little_endian(block: array) -> bytes:
    if sys.byteorder == "big":  # pragma: no cover
        block = array("d", block)
        block.byteswap()
    return block.tobytes()


def _integers(values: Iterable[float]) -> Column:
    pairs = [value.as_integer_ratio() for value in values]
    exponent = max(q for _, q in pairs).bit_length() - 1
    return Column([p << exponent + 1 - q.bit_length() for p, q in pairs], exponent)


def _scaled(raw: array, shift: float, scale: float) -> Column:
    """(a - shift) scale, exactly."""
    column, (m, unit), (s, below) = (
        _integers(raw),
        shift.as_integer_ratio(),
        scale.as_integer_ratio(),
    )
    exponent = max(column.exponent, unit.bit_length() - 1)
    up = exponent - column.exponent
    m <<= exponent + 1 - unit.bit_length()
    return Column([((a << up) - m) * s for a in column.values], exponent + below.bit_length() - 1)


def _add(sums: ShardSums, stream: Stream, block: array) -> None:
    """Add the sums of a block of rows."""
    width, d = stream.width, stream.sizes.d
    count = len(block) // width
    columns = [
        _scaled(block[j::width], stream.X.values[j], stream.y.values[j]) for j in range(width)
    ]
    label = columns.pop()
    if stream.bias:
        columns.append(Column([1] * count, 0))
    exponents = [column.exponent for column in columns]
    flat = [
        entry for row in zip(*(column.values for column in columns), strict=True) for entry in row
    ]
    X = fmpz_mat(count, d, flat)
    r, unit = _residuals(stream, X, exponents, label)
    entries = X.entries()
    weighted = list(map(mul, entries, [value for value in r for _ in range(d)]))
    Z = (X.transpose() * fmpz_mat(count, d, weighted)).tolist()
    sums.squares += Fraction(int(sum(map(mul, r, r), fmpz(0))), 1 << 2 * unit)
    sums.products += Fraction(
        int(sum(map(mul, r, label.values), fmpz(0))), 1 << unit + label.exponent
    )
    place = 0
    for a in range(d):
        for b in range(a, d):
            below = unit + exponents[a] + exponents[b]
            sums.moments[place] += Fraction(int(Z[a][b]), 1 << below)
            place += 1


def _residuals(
    stream: Stream, X: fmpz_mat, exponents: list[int], label: Column
) -> tuple[list[fmpz], int]:
    """The residuals sum_l v_l (w_l . x)^2 - y as integers over one power of two, and its
    exponent.
    """
    d, k, top = stream.sizes.d, stream.sizes.k, max(exponents)
    weights, heads = _integers(stream.W.values), _integers(stream.v.values)
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

"""Raw rows of a stream, shard by shard, as exact integers: what every claim about a stream reads
(`spec/claims/stream-gap.md`, `spec/claims/additive-stream-gap.md`).

A double is an integer over a power of two, and so is everything made of doubles by differences and
products.
"""

from __future__ import annotations

import hashlib
import sys
from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from math import isfinite
from typing import Protocol, TypeVar

from globalmin_check.claims.stream_network import Given, Stream
from globalmin_check.verdict import Undecided

BLOCK = 2048  # rows that are worked on at once


class Adding(Protocol):
    """Sums over the rows of a shard."""

    def add(self, block: array) -> None:
        """A flat block of rows."""
        ...


Sums = TypeVar("Sums", bound=Adding)


@dataclass(frozen=True)
class Column:
    """Integers over 2^exponent."""

    values: list[int]
    exponent: int


def shards_read(
    stream: Stream, given: Given, opened: Callable[[], Sums]
) -> Iterator[tuple[Sums, str]]:
    """The sums and the digest of one shard after the other, from the first that was brought on;
    Undecided if the rows end within a shard, are more than the shards, or are not finite.
    """
    blocks = _blocks(given.blocks(stream.columns), stream.width)
    rest = array("d")
    for number in range(given.first, len(stream.shards)):
        rows = stream.shards[number].rows
        left = rows * stream.width
        digest = hashlib.sha256()
        sums = opened()
        while left:
            block = rest or next(blocks, array("d"))
            if not block:
                break
            block, rest = block[:left], block[left:]
            left -= len(block)
            digest.update(_little_endian(block))
            sums.add(block)
        if left == rows * stream.width and number > given.first:
            return
        if left:
            raise Undecided(
                f"the rows end within shard {number}, {left // stream.width} rows before its end"
            )
        digest.update(f"globalmin-rows/1 {rows} {stream.width}\n".encode("ascii"))
        yield sums, digest.hexdigest()
    if rest or next(blocks, None):
        raise Undecided("there are more rows than the shards of the file have")


def _blocks(given: Iterable[array], width: int) -> Iterator[array]:
    """Blocks of at most BLOCK rows."""
    for piece in given:
        if len(piece) % width:
            raise Undecided(f"a block of rows does not have {width} numbers per row")
        # a sum that is finite has finite terms, and is quicker than a look at each
        if not isfinite(sum(piece)) and not all(map(isfinite, piece)):
            raise Undecided("the rows contain a NaN or an infinity")
        for start in range(0, len(piece), BLOCK * width):
            yield piece[start : start + BLOCK * width]


def _little_endian(block: array) -> bytes:
    if sys.byteorder == "big":  # pragma: no cover
        block = array("d", block)
        block.byteswap()
    return block.tobytes()


def integers(values: Iterable[float]) -> Column:
    """Doubles over one power of two, exactly."""
    pairs = [value.as_integer_ratio() for value in values]
    exponent = max(q for _, q in pairs).bit_length() - 1
    return Column([p << exponent + 1 - q.bit_length() for p, q in pairs], exponent)


def scaled(raw: array, shift: float, scale: float) -> Column:
    """(a - shift) scale, exactly."""
    column, (m, unit), (s, below) = (
        integers(raw),
        shift.as_integer_ratio(),
        scale.as_integer_ratio(),
    )
    exponent = max(column.exponent, unit.bit_length() - 1)
    up = exponent - column.exponent
    m <<= exponent + 1 - unit.bit_length()
    return Column([((a << up) - m) * s for a in column.values], exponent + below.bit_length() - 1)

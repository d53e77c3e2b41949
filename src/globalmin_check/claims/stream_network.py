"""Form of a quadratic network on rows that lie elsewhere, in shards (section 3 of the format page,
"Streams"), and what is read of those rows.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction

from globalmin_check import limits
from globalmin_check.canonical import Fields
from globalmin_check.checks import ExactChecks
from globalmin_check.container import Tensors, digest_of
from globalmin_check.problem import Problem, Sizes, digits
from globalmin_check.verdict import Malformed, Undecided


@dataclass(frozen=True)
class Shard:
    """The number of rows of a shard, and their digest."""

    rows: int
    sha256: str


@dataclass(frozen=True)
class StreamSizes(Sizes):
    """The sizes, with the number of shards; n counts the rows of all."""

    shards: int = 1


# raw rows of the named columns, from their beginning at every call
Blocks = Callable[[tuple[str, ...]], Iterable[array]]


@dataclass
class Given:
    """The raw rows that the one who checks has brought: flat blocks of doubles, from shard `first`
    on; `read` counts the shards that the last reading found in agreement.
    """

    blocks: Blocks
    first: int
    read: int = 0


@dataclass(frozen=True)
class Stream(Problem):
    """The stored numbers: X holds the shifts, y the scales, of the inputs and, last, of the label;
    and the rows that were brought, if any.
    """

    columns: tuple[str, ...] = ()
    shards: tuple[Shard, ...] = ()
    given: Given | None = None

    @property
    def width(self) -> int:
        """Numbers in a raw row: the inputs and the label."""
        return len(self.columns)

    @property
    def work_of_rows(self) -> int:
        """Products of exact numbers that the rows take, if there are any."""
        sizes = self.sizes
        return 0 if self.given is None else sizes.n * sizes.d * (sizes.d + sizes.k)


def read_stream(network: Fields, fields: Fields, tensors: Tensors) -> Problem:
    """The stored numbers of a stream; form only."""
    network.end()
    fields.choice("loss", ("half-sum-of-squares",))
    data = Fields(fields.take("data"), "data")
    bias, d = data.boolean("bias"), data.integer("d", 1)
    shards = read_shards(data.array("shards"))
    columns = read_names(data.array("columns"))
    data.end()
    if d < 1 + bias or len(columns) != d - bias + 1:
        raise Malformed("data.columns are not the inputs of d and the label")
    W = tensors.take("W", "F64", None, d)
    k, width = W.shape[0], len(columns)
    v = tensors.take("v", "F64", k)
    shift, scale = tensors.take("shift", "F64", width), tensors.take("scale", "F64", width)
    sizes = StreamSizes(sum(shard.rows for shard in shards), d, k, shards=len(shards))
    line = f"globalmin-network/1 stream {k} {d} {int(bias)}"
    about = digits(digest_of(line, W, v, shift, scale), digest_of_shards(shards))
    return Stream("quadratic", Fraction(1), bias, sizes, shift, scale, W, v, about, columns, shards)


def read_shards(values: list[object]) -> tuple[Shard, ...]:
    """The shards of a stream."""
    if not 1 <= len(values) <= limits.SHARDS:
        raise Malformed(f"the number of shards is not between 1 and {limits.SHARDS}")
    shards = tuple(_shard(Fields(value, f"shards.{i}")) for i, value in enumerate(values))
    if sum(shard.rows for shard in shards) > limits.ROWS:
        raise Malformed(f"the shards have more than {limits.ROWS} rows")
    return shards


def digest_of_shards(shards: tuple[Shard, ...]) -> str:
    """One digest for the digests of all shards."""
    return digest_of(" ".join(f"{shard.rows} {shard.sha256}" for shard in shards))


def _shard(fields: Fields) -> Shard:
    shard = Shard(fields.integer("rows", 1), fields.string("sha256"))
    fields.end()
    if re.fullmatch("[0-9a-f]{64}", shard.sha256) is None:
        raise Malformed(f"{fields.where}.sha256 is not 64 lower-case hexadecimal digits")
    return shard


def read_names(values: list[object]) -> tuple[str, ...]:
    """The names of its columns."""
    names = tuple(value for value in values if isinstance(value, str))
    fits = all(1 <= len(name) <= limits.NAME_CHARACTERS for name in names)
    if len(names) != len(values) or not fits or len(set(names)) < len(names):
        raise Malformed("data.columns are not distinct names of 1 to 200 characters")
    return names


def with_rows(problem: Problem, blocks: Blocks, first: int) -> Problem:
    """The problem with the rows that were brought; Undecided if it is none that asks for rows."""
    if not isinstance(problem, Stream):
        raise Undecided("rows were given, but the file is not about a stream of rows")
    if not 0 <= first < len(problem.shards):
        raise Undecided(f"there is no shard {first}: the file has {len(problem.shards)}")
    return replace(problem, given=Given(blocks, first))


def require_digest(
    checks: ExactChecks, number: str, stream: Stream, shard: int, sha256: str
) -> None:
    """The rows of a shard that were read have its digest."""
    checks.require_fact(
        number,
        f"the rows of shard {shard} have its digest",
        sha256 == stream.shards[shard].sha256,
        f"the digest of the rows is {sha256[:12]}...",
    )


def about_rows(stream: Stream) -> str:
    """What is known of the rows: nothing but the stored sums, or that they were read."""
    given, count = stream.given, len(stream.shards)
    if given is None or not given.read:
        return (
            "For all rows whose sums are those of the file (the rows were not read, and their "
            "digests not compared):"
        )
    if given.read == count:
        return "All rows were read, and have the digests and the sums of the file."
    return (
        f"The rows of shards {given.first} to {given.first + given.read - 1} (of {count}, counted "
        "from 0) were read, and have the digests and the sums of the file; if the rows of the "
        "others, which were not read, have their sums too:"
    )

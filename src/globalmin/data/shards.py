"""Rows in shards: how blocks of rows are cut, the digest by which a shard is known, and work that
is done part by part, here or by Dask's workers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol, TypeVar

import numpy as np

from globalmin._types import Array
from globalmin.data.chunks import Chunks, PiecePart, dask_module

UNIT = 2.0**-53
Closed = TypeVar("Closed", covariant=True)
Found = TypeVar("Found")


def gamma(k: int) -> float:
    """K roundings in a row, as a relative error."""
    return 1.0001 * k * UNIT


class OpenShard(Protocol[Closed]):
    """A shard that rows are still added to."""

    rows: int

    def add(self, rows: Array) -> None:
        """More rows, in order."""
        ...

    def closed(self) -> Closed:
        """What is kept of them."""
        ...


class RowDigest:
    """The SHA-256 of raw rows in order, and then of their number and width."""

    def __init__(self, width: int) -> None:
        self.rows, self._width, self._sha256 = 0, width, hashlib.sha256()

    def add(self, rows: Array) -> None:
        """More rows."""
        self.rows += len(rows)
        self._sha256.update(np.ascontiguousarray(rows, dtype="<f8").tobytes())

    def closed(self) -> str:
        """The digest in hexadecimal digits."""
        whole = self._sha256.copy()
        whole.update(f"globalmin-rows/1 {self.rows} {self._width}\n".encode("ascii"))
        return whole.hexdigest()


def cut(
    blocks: Iterable[Array], shard_rows: int, opened: Callable[[], OpenShard[Closed]]
) -> Iterator[Closed]:
    """The rows, cut into shards of at most `shard_rows` rows."""
    shard = opened()
    for rows in blocks:
        left = rows
        while len(left):
            room = shard_rows - shard.rows
            shard.add(left[:room])
            left = left[room:]
            if shard.rows == shard_rows:
                yield shard.closed()
                shard = opened()
    if shard.rows:
        yield shard.closed()


class WholeBlocks:
    """Rows in blocks of one size, however they arrive, so that sums do not depend on that."""

    def __init__(self, size: int, width: int) -> None:
        self._size, self._rest = size, np.empty((0, width))

    def add(self, rows: Array) -> Iterator[Array]:
        """The blocks that are full now."""
        rows = np.concatenate([self._rest, rows])
        whole = len(rows) - len(rows) % self._size
        self._rest = rows[whole:]
        for start in range(0, whole, self._size):
            yield rows[start : start + self._size]

    def rest(self) -> Iterator[Array]:
        """The last block, if rows are left."""
        if len(self._rest):
            yield self._rest


def over_parts(
    chunks: Chunks, work: Callable[[Any, Any], Found], plan: Any, client: Any
) -> Iterable[Found]:
    """`work(part, plan)` of all parts in their order: here, by the workers of a Dask client, or by
    Dask's own scheduler for its collections.
    """
    if chunks.has_delayed:
        delayed = dask_module().delayed(_of_piece)
        tasks = [delayed(part, work, plan) for part in chunks.parts]
        if client is None:
            return dask_module().compute(*tasks)
        return client.gather(client.compute(tasks, retries=3))
    if client is None:
        return (work(part, plan) for part in chunks.parts)
    parts = list(chunks.parts)
    return client.gather(client.map(work, parts, plan=plan, pure=False, retries=3))


def _of_piece(piece: Any, work: Callable[[Any, Any], Found], plan: Any) -> Found:
    return work(PiecePart(piece), plan)

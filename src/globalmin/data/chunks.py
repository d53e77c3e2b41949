"""Rows without end: tables that are read in parts and never held whole.

A source is files (.parquet, .csv, .npy), a data frame, a pair of arrays or memory maps, an iterator
of such pieces, a Dask collection or a Ray data set. It becomes a list of parts, each of which gives
blocks of raw rows: the inputs in their order and, last, the label. Parts of files are small
descriptions that can be sent to where the rows are; the rows are read there.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from globalmin._types import Array
from globalmin.data.loading import Choice, select_columns
from globalmin.data.loading_tables import DELIMITERS, Sheet, header_of, numbers, pyarrow_modules
from globalmin.data.row_values import checked, column_names, raw_rows
from globalmin.errors import DataError

BLOCK_ROWS = 2**15  # rows that a part gives at a time
LABEL = "y"


class Part(Protocol):
    """Some rows of a source, in their order."""

    def blocks(self, columns: Sequence[str]) -> Iterator[Array]:
        """Raw rows of the columns, some at a time."""
        ...


@dataclass(frozen=True)
class Chunks:
    """A source in parts.

    Attributes
    ----------
    columns : names of the inputs and, last, of the label.
    parts : the parts in order; for an iterator they can be read once only.
    has_delayed : whether the parts are Dask's, computed by its workers.
    """

    columns: tuple[str, ...]
    parts: Iterable[Any] = field(repr=False)
    has_delayed: bool = False


@dataclass(frozen=True)
class ParquetPart:
    """Row groups of a parquet file."""

    path: str
    groups: tuple[int, ...]

    def blocks(self, columns: Sequence[str]) -> Iterator[Array]:
        """Raw rows, as they are decoded."""
        parquet, arrow = pyarrow_modules(self.path)
        try:
            with parquet.ParquetFile(self.path) as file:
                wanted = {"row_groups": list(self.groups), "columns": list(columns)}
                for batch in file.iter_batches(BLOCK_ROWS, **wanted):
                    yield raw_rows(batch, columns, self.path)
        except (arrow.ArrowException, OSError) as error:
            raise DataError(
                f"{self.path}: not a readable parquet file ({error!s:.100}); write it again"
            ) from error


@dataclass(frozen=True)
class CsvPart:
    """A text table with a header row."""

    path: str

    def blocks(self, columns: Sequence[str]) -> Iterator[Array]:
        """Raw rows, read line by line."""
        path = Path(self.path)
        with _text(path) as file:
            reader = _reader(file)
            header = [name.strip() for name in next(reader, [])]
            sheet = Sheet(path, len(header), tuple(columns), tuple(map(header.index, columns)))
            first = 1
            rows = ((reader.line_num, row) for row in reader if row)
            while chunk := list(islice(rows, BLOCK_ROWS)):
                yield numbers(sheet, chunk, first=first)
                first += len(chunk)


@dataclass(frozen=True)
class NpyPart:
    """Rows of an array in a file, the label last; only those asked for are read."""

    path: str
    start: int
    end: int

    def blocks(self, columns: Sequence[str]) -> Iterator[Array]:
        """Raw rows, from a memory map."""
        whole = np.load(self.path, mmap_mode="r", allow_pickle=False)
        for start in range(self.start, self.end, BLOCK_ROWS):
            end = min(start + BLOCK_ROWS, self.end)
            yield checked(np.array(whole[start:end], dtype=np.float64), columns, self.path)


@dataclass(frozen=True)
class PiecePart:
    """A piece in memory, or in a memory map: a data frame, or inputs and labels."""

    piece: Any = field(repr=False)

    def blocks(self, columns: Sequence[str]) -> Iterator[Array]:
        """Raw rows."""
        for start in range(0, _length(self.piece), BLOCK_ROWS):
            yield raw_rows(_cut(self.piece, start, start + BLOCK_ROWS), columns, "the rows")


@dataclass(frozen=True)
class RayPart:
    """A Ray data set, read batch by batch; it can be read again."""

    dataset: Any = field(repr=False)

    def blocks(self, columns: Sequence[str]) -> Iterator[Array]:
        """Raw rows, in the order in which Ray gives them."""
        for batch in self.dataset.iter_batches(batch_size=BLOCK_ROWS, batch_format="pandas"):
            yield raw_rows(batch, columns, "the data set")


def chunks_of(
    source: Any,
    *,
    target: str | None = None,
    features: Sequence[str] | None = None,
    part_rows: int = 2**20,
) -> Chunks:
    """The source in parts of about `part_rows` rows.

    Parameters
    ----------
    source : a path or several (.parquet, .csv, .npy with the label in its last column), a folder of
        parquet files, a data frame, a pair (X, y) of arrays or memory maps, an iterator of frames
        or pairs, a Dask data frame or a pair of Dask arrays, or a Ray data set.
    target, features : names of the label and of the inputs (default: all other columns), for tables
        with names.
    part_rows : rows of a part where the source does not set it.
    """
    choice = Choice(None if target is None else (target,), _names(features))
    if isinstance(source, str | os.PathLike):
        return _files([Path(source)], choice, part_rows)
    if _is_pair(source):
        return _pair(source, part_rows)
    if hasattr(source, "iter_batches") and hasattr(source, "take_batch"):
        names = _chosen("the data set", list(source.schema().names), choice)
        return Chunks(names, [RayPart(source)])
    if hasattr(source, "to_delayed") and hasattr(source, "columns"):
        names = _chosen("the data frame", list(source.columns), choice)
        return Chunks(names, source.to_delayed(), has_delayed=True)
    if hasattr(source, "columns"):
        names = _chosen("the data frame", list(source.columns), choice)
        return Chunks(names, _slices(source, part_rows))
    if isinstance(source, Sequence) and source and isinstance(source[0], str | os.PathLike):
        return _files([Path(path) for path in source], choice, part_rows)
    if isinstance(source, Iterable) and not isinstance(source, np.ndarray):
        return _iterated(iter(source), choice)
    raise DataError(
        f"source is a {type(source).__name__}; give paths, a data frame, a pair (X, y), an "
        "iterator of such pieces, or Dask collections"
    )


def first_rows(chunks: Chunks, count: int) -> tuple[Array, Chunks]:
    """The first `count` rows, however they are cut into parts, and the chunks with nothing lost of
    an iterator.
    """
    parts, read, found = iter(chunks.parts), [], []
    while sum(map(len, found)) < count and (part := next(parts, None)) is not None:
        read.append(part)
        own = PiecePart(dask_module().compute(part)[0]) if chunks.has_delayed else part
        for rows in own.blocks(chunks.columns):
            found.append(rows)
            if sum(map(len, found)) >= count:
                break
    if not any(map(len, found)):
        raise DataError("the source has no rows; give at least one")
    is_list = isinstance(chunks.parts, Sequence)
    whole = chunks if is_list else replace(chunks, parts=chain(read, parts))
    return np.concatenate(found)[:count], whole


def dask_module() -> Any:
    """The library whose collections were given."""
    import dask

    return dask


def _names(features: Sequence[str] | None) -> tuple[str, ...] | None:
    return None if features is None else tuple(features)


def _is_pair(source: Any) -> bool:
    return isinstance(source, tuple) and len(source) == 2 and hasattr(source[0], "shape")


def _pair(source: tuple[Any, Any], part_rows: int) -> Chunks:
    X, y = source
    if len(X.shape) != 2 or len(y.shape) != 1:
        raise DataError(
            f"X and y have the shapes {X.shape} and {y.shape}; give n x d inputs and n labels"
        )
    names = (*(f"x{j}" for j in range(X.shape[1])), LABEL)
    if not hasattr(X, "to_delayed"):
        if X.shape[0] != y.shape[0]:
            raise DataError(f"X has {X.shape[0]} rows and y has {y.shape[0]}; give one label a row")
        return Chunks(names, _slices(source, part_rows))
    X = X.rechunk({1: -1})
    if X.chunks[0] != y.chunks[0]:
        raise DataError(
            f"X and y are cut into other parts ({X.chunks[0][:3]}..., {y.chunks[0][:3]}...); "
            "rechunk y like the rows of X"
        )
    inputs, labels = X.to_delayed().ravel(), y.to_delayed().ravel()
    return Chunks(names, list(zip(inputs, labels, strict=True)), has_delayed=True)


def _slices(piece: Any, part_rows: int) -> list[PiecePart]:
    n = _length(piece)
    if n == 0:
        raise DataError("the source has no rows; give at least one")
    return [PiecePart(_cut(piece, start, start + part_rows)) for start in range(0, n, part_rows)]


def _length(piece: Any) -> int:
    return piece[0].shape[0] if isinstance(piece, tuple) else len(piece)


def _cut(piece: Any, start: int, end: int) -> Any:
    if isinstance(piece, tuple):
        return piece[0][start:end], piece[1][start:end]
    return piece.iloc[start:end] if hasattr(piece, "iloc") else piece[start:end]


def _iterated(pieces: Iterator[Any], choice: Choice) -> Chunks:
    first = next(pieces, None)
    if first is None:
        raise DataError("the iterator is empty; it must give at least one piece of rows")
    if _is_pair(first):
        names = _pair(first, 1).columns
    else:
        names = _chosen("the first piece", column_names(first), choice)
    return Chunks(names, map(PiecePart, chain([first], pieces)))


def _chosen(where: object, header: list[str], choice: Choice) -> tuple[str, ...]:
    features, targets = select_columns(Path(str(where)), header, choice)
    return (*features, *targets)


def _files(paths: list[Path], choice: Choice, part_rows: int) -> Chunks:
    files = list(chain.from_iterable(map(_in_folder, paths)))
    openers: dict[str, Callable[[Path, Choice, int], tuple[tuple[str, ...], list[Any]]]] = {
        ".parquet": _parquet_parts,
        ".pq": _parquet_parts,
        ".npy": _npy_parts,
        ".csv": _csv_parts,
        ".tsv": _csv_parts,
    }
    columns: tuple[str, ...] = ()
    parts: list[Any] = []
    for path in files:
        if path.suffix.lower() not in openers:
            raise DataError(f"{path}: rows are read from .parquet, .csv and .npy files")
        found, own = openers[path.suffix.lower()](path, choice, part_rows)
        if columns and found != columns:
            raise DataError(
                f"{path}: its columns are {found[:4]}..., those of {files[0]} {columns[:4]}...; "
                "name the inputs with features"
            )
        columns = found
        parts += own
    if not parts:
        raise DataError(f"{paths[0]}: there are no rows; give at least one")
    return Chunks(columns, parts)


def _in_folder(path: Path) -> list[Path]:
    return sorted(path.glob("*.parquet")) if path.is_dir() else [path]


def _parquet_parts(path: Path, choice: Choice, rows: int) -> tuple[tuple[str, ...], list[Any]]:
    parquet, arrow = pyarrow_modules(str(path))
    try:
        with parquet.ParquetFile(path) as file:
            header, found = list(file.schema_arrow.names), file.metadata
            sizes = [found.row_group(i).num_rows for i in range(found.num_row_groups)]
    except (arrow.ArrowException, OSError) as error:
        raise DataError(
            f"{path}: not a readable parquet file ({error!s:.100}); write it again"
        ) from error
    parts: list[Any] = []
    groups: list[int] = []
    for i, size in enumerate(sizes):
        if groups and sum(sizes[g] for g in groups) + size > rows:
            parts.append(ParquetPart(str(path), tuple(groups)))
            groups = []
        groups.append(i)
    return _chosen(path, header, choice), [*parts, ParquetPart(str(path), tuple(groups))]


def _csv_parts(path: Path, choice: Choice, rows: int) -> tuple[tuple[str, ...], list[Any]]:
    with _text(path) as file:
        header = header_of(path, next(_reader(file), []), choice)
    return _chosen(path, header, choice), [CsvPart(str(path))]


def _npy_parts(path: Path, choice: Choice, rows: int) -> tuple[tuple[str, ...], list[Any]]:
    try:
        shape = np.load(path, mmap_mode="r", allow_pickle=False).shape
    except (OSError, ValueError) as error:
        raise DataError(
            f"{path}: not a readable array ({error!s:.100}); write it with numpy.save"
        ) from error
    if len(shape) != 2 or shape[1] < 2:
        raise DataError(
            f"{path}: the array has the shape {shape}; give one row per sample, the label in the "
            "last column"
        )
    names = (*(f"x{j}" for j in range(shape[1] - 1)), LABEL)
    ends = range(0, shape[0], rows)
    return names, [NpyPart(str(path), start, min(start + rows, shape[0])) for start in ends]


def _text(path: Path) -> Any:
    try:
        return path.open(encoding="utf-8-sig", newline="")
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}); check the path") from error


def _reader(file: Any) -> Any:
    first = file.readline()
    file.seek(0)
    mark = max(DELIMITERS, key=first.count)
    return csv.reader(file, delimiter=mark, strict=True, skipinitialspace=mark != "\t")

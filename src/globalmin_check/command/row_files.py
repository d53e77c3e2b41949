"""Rows of a stream from files: tables (.csv, .parquet) by the names of their columns, arrays (.npy)
as they are. What is read is bound to the certificate by its digest, so a wrong reading is refused.

Text tables and arrays need nothing but the standard library; parquet needs pyarrow.
"""

from __future__ import annotations

import ast
import csv
import sys
from array import array
from collections.abc import Iterator, Sequence
from itertools import islice
from os import PathLike, fspath

from globalmin_check.verdict import Undecided

ROWS_AT_ONCE = 8192
Path = str | PathLike[str]


def read_rows(paths: Sequence[Path], columns: Sequence[str]) -> Iterator[array]:
    """Flat blocks of rows, file after file, in the order of the columns."""
    for path in paths:
        name = fspath(path).lower()
        if name.endswith((".parquet", ".pq")):
            yield from _parquet(path, columns)
        elif name.endswith(".npy"):
            yield from _npy(path, len(columns))
        elif name.endswith((".csv", ".tsv", ".txt")):
            yield from _csv(path, columns)
        else:
            raise Undecided(f"rows {fspath(path)}: not a .csv, .parquet or .npy file")


def _csv(path: Path, columns: Sequence[str]) -> Iterator[array]:
    try:
        yield from _csv_blocks(path, columns)
    except (UnicodeDecodeError, csv.Error) as error:
        raise Undecided(f"rows {fspath(path)}: no table of text in UTF-8 ({error})") from None


def _csv_blocks(path: Path, columns: Sequence[str]) -> Iterator[array]:
    with open(path, encoding="utf-8-sig", newline="") as file:
        first = file.readline()
        file.seek(0)
        mark = max(",;\t", key=first.count)
        reader = csv.reader(file, delimiter=mark, skipinitialspace=mark != "\t")
        header = [name.strip() for name in next(reader, [])]
        places = _places(path, header, columns)
        while rows := list(islice((row for row in reader if row), ROWS_AT_ONCE)):
            try:
                yield array("d", [float(row[place]) for row in rows for place in places])
            except (ValueError, IndexError) as error:
                raise Undecided(f"rows {fspath(path)}: {error}") from None


def _places(path: Path, header: list[str], columns: Sequence[str]) -> list[int]:
    missing = [name for name in columns if header.count(name) != 1]
    if missing:
        raise Undecided(f"rows {fspath(path)}: the column {missing[0]!r} is not there once")
    return [header.index(name) for name in columns]


def _npy(path: Path, width: int) -> Iterator[array]:
    """A little-endian float64 array with one row per line, as numpy writes it."""
    with open(path, "rb") as file:
        start = file.read(8)
        size = 2 if start[6:7] == b"\x01" else 4
        length = int.from_bytes(file.read(size), "little")
        header = _npy_header(file.read(min(length, 65536)))
        shape = header.get("shape")
        if (
            start[:6] != b"\x93NUMPY"
            or header.get("descr") != "<f8"
            or header.get("fortran_order") is not False
            or not isinstance(shape, tuple)
            or shape[1:] != (width,)
        ):
            raise Undecided(
                f"rows {fspath(path)}: not a float64 array in row order with {width} columns, the "
                "label last"
            )
        while raw := file.read(8 * width * ROWS_AT_ONCE):
            if len(raw) % (8 * width):
                raise Undecided(f"rows {fspath(path)}: the file ends within a row")
            block = array("d", raw)
            if sys.byteorder == "big":  # pragma: no cover
                block.byteswap()
            yield block


def _npy_header(raw: bytes) -> dict[str, object]:
    try:
        header = ast.literal_eval(raw.decode("latin-1").strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return {}
    return header if isinstance(header, dict) else {}


def _parquet(path: Path, columns: Sequence[str]) -> Iterator[array]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise Undecided(
            f"rows {fspath(path)}: reading parquet needs pyarrow; write the rows as .csv or .npy"
        ) from None
    try:
        with parquet.ParquetFile(path) as file:
            _places(path, list(file.schema_arrow.names), columns)
            for batch in file.iter_batches(ROWS_AT_ONCE, columns=list(columns)):
                block = array("d", bytes(8 * len(columns) * batch.num_rows))
                for j, name in enumerate(columns):
                    values = batch.column(name).cast(pyarrow.float64())
                    if values.null_count:
                        raise Undecided(f"rows {fspath(path)}: the column {name!r} has gaps")
                    block[j :: len(columns)] = _doubles(values)
                yield block
    except pyarrow.ArrowException as error:
        raise Undecided(f"rows {fspath(path)}: {error!s:.100}") from None


def _doubles(values: object) -> array:
    """The numbers of an arrow array of doubles without gaps."""
    buffer = values.buffers()[1]  # type: ignore[attr-defined]
    start = 8 * values.offset  # type: ignore[attr-defined]
    return array("d", memoryview(buffer)[start : start + 8 * len(values)].tobytes())  # type: ignore[arg-type]

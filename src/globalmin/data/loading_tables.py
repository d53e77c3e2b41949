"""Tables with named columns: comma, semicolon or tab separated text with a header row, by the
standard library's reader, and parquet through pyarrow, which is imported on use (the extra
`globalmin[parquet]`).
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from globalmin._types import Array
from globalmin.data.loading import Choice, Table, select_columns
from globalmin.data.validation import LARGEST_EXACT_INTEGER
from globalmin.errors import DataError

DELIMITERS = (",", ";", "\t")
MISSING = frozenset(
    {"", "na", "n/a", "nan", "null", "none", "?", "-", ".", "#n/a", "<na>", "missing"}
)
_ROWS_AT_ONCE = 4096

Row = tuple[int, list[str]]  # line of the file on which the row ends, cells


class Sheet(NamedTuple):
    """What the rows of one file have in common: its path, the number of cells per row, and the
    columns wanted.
    """

    path: Path
    width: int
    names: tuple[str, ...]
    places: tuple[int, ...]


def read_csv(path: Path, choice: Choice, max_bytes: int) -> Table:
    """Read a text table; see `load_table`."""
    rows = text_rows(path)
    header = header_of(path, next(rows)[1], choice)
    features, targets = select_columns(path, header, choice)
    names = (*features, *targets)
    sheet = Sheet(path, len(header), names, tuple(header.index(name) for name in names))
    blocks, needed = [], 0
    while chunk := list(islice(rows, _ROWS_AT_ONCE)):
        blocks.append(numbers(sheet, chunk, first=sum(map(len, blocks)) + 1))
        needed += blocks[-1].nbytes
        if needed > max_bytes:
            raise DataError(
                f"{path}: the table needs more than the limit of {max_bytes} bytes in memory; "
                "raise max_bytes if it fits"
            )
    if not blocks:
        raise DataError(f"{path}: there is a header but no data row; add at least one row")
    values = np.concatenate(blocks)
    return Table(values[:, : len(features)], values[:, len(features) :], features, targets)


def _decode(path: Path) -> str:
    content = path.read_bytes()
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DataError(f"{path}: the file is UTF-16 text; save it as UTF-8")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"{path}: byte {error.start} (line {line}) is not UTF-8 text; save the file as UTF-8"
        ) from error
    if "\0" in text:
        raise DataError(
            f"{path}: the file contains NUL bytes, so it is not a text table; save it as UTF-8 csv"
        )
    if not text.strip():
        raise DataError(f"{path}: the file is empty; give a header row and data rows")
    return text


def _rows(path: Path, text: str) -> Iterator[Row]:
    """The rows that are not blank; at least one, since the text is not."""
    first = text.lstrip().partition("\n")[0]
    delimiter = max(DELIMITERS, key=lambda mark: _unquoted_count(first, mark))
    reader = csv.reader(
        io.StringIO(text, newline=""),
        delimiter=delimiter,
        strict=True,
        skipinitialspace=delimiter != "\t",
    )
    try:
        for row in reader:
            if any(cell.strip() for cell in row) or len(row) > 1:
                yield reader.line_num, row
    except csv.Error as error:
        raise DataError(
            f"{path}: line {reader.line_num} is not readable ({error}); check the quotation marks "
            "there"
        ) from error


def _unquoted_count(line: str, mark: str) -> int:
    return sum(part.count(mark) for part in line.split('"')[::2])


def text_rows(path: Path) -> Iterator[Row]:
    """The rows of a text table that are not blank, the header first."""
    return _rows(path, _decode(path))


def header_of(path: Path, cells: list[str], choice: Choice) -> list[str]:
    """The names of the columns, each once and none empty."""
    if not cells:
        raise DataError(f"{path}: the file is empty; give a header row and data rows")
    header = named_header(path, [name.strip() for name in cells])
    named = choice.target is not None and all(name in header for name in choice.target)
    if not named and all(is_number(name) for name in header):
        raise DataError(
            f"{path}: the first row ({', '.join(header[:4])}, ...) holds numbers, not names; add a "
            "header row"
        )
    return header


def named_header(path: Path, header: list[str]) -> list[str]:
    """The names if each is there once and none is empty; DataError otherwise."""
    if "" in header:
        place = header.index("") + 1
        raise DataError(
            f"{path}: column {place} has no name in the header; name it, or remove it if it is a "
            "saved row index"
        )
    if len(set(header)) < len(header):
        repeated = next(name for name in header if header.count(name) > 1)
        raise DataError(
            f"{path}: the header names {repeated!r} twice; give every column its own name"
        )
    return header


def numbers(sheet: Sheet, chunk: list[Row], *, first: int) -> Array:
    """The wanted cells as doubles, each the nearest to its decimal; `first` is the number of the
    chunk's first data row.
    """
    for line, row in chunk:
        if len(row) != sheet.width:
            raise DataError(
                f"{sheet.path}: line {line} has {len(row)} cells, but the header has "
                f"{sheet.width}; complete the row or remove it"
            )
    cells = [[row[place] for place in sheet.places] for _, row in chunk]
    try:
        values = np.array([list(map(float, row)) for row in cells])
        dubious = not (np.abs(values) < LARGEST_EXACT_INTEGER).all() or any(
            "_" in cell for row in cells for cell in row
        )
    except ValueError:
        values, dubious = np.empty(0), True
    if dubious:
        for number, ((line, _), row) in enumerate(zip(chunk, cells, strict=True), start=first):
            for name, cell in zip(sheet.names, row, strict=True):
                check_cell(
                    cell.strip(), f"{sheet.path}: column {name!r}, line {line} (data row {number})"
                )
    return values


def check_cell(
    cell: str, place: str, remedy: str = "encode text as numbers or leave the column out"
) -> None:
    """DataError unless the cell is a number that a double holds, with its place and the remedy."""
    if cell.lower() in MISSING:
        raise DataError(
            f"{place}: the value is missing ({cell!r}, read as NaN); remove the row or fill it in"
        )
    if not is_number(cell):
        decimal_comma = is_number(cell.replace(",", ".", 1))
        remedy = "write the decimal comma as a point" if decimal_comma else remedy
        raise DataError(f"{place}: {cell!r:.60} is not a number; {remedy}")
    if not np.isfinite(float(cell)):
        raise DataError(
            f"{place}: {cell!r:.60} is infinite as a double; remove the row or correct the value"
        )
    if (
        cell.lstrip("+-").isdecimal()
        and abs(float(cell)) >= LARGEST_EXACT_INTEGER
        and int(cell) != int(float(cell))
    ):
        raise DataError(
            f"{place}: the integer {cell:.60} is beyond 2^53 and would be rounded; subtract an "
            "offset or leave the column out"
        )


def is_number(text: str) -> bool:
    """Whether the text is a decimal number; Python's own 1_000 for a thousand is not."""
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text


def read_parquet(path: Path, choice: Choice, max_bytes: int) -> Table:
    """Read a parquet file; see `load_table`."""
    _, arrow = pyarrow_modules(path)
    table = open_parquet(
        path, max_bytes, lambda names: sum(select_columns(path, names, choice), ())
    )
    features, targets = select_columns(path, table.column_names, choice)
    values = {
        name: _column(path, name, table.column(name), arrow) for name in (*features, *targets)
    }
    X = np.stack([values[name] for name in features], axis=1)
    return Table(X, np.stack([values[name] for name in targets], axis=1), features, targets)


def open_parquet(
    path: Path,
    max_bytes: int,
    chosen: Callable[[list[str]], Sequence[str]] = tuple,
) -> Any:
    """The columns of a parquet file that `chosen` takes of their names, as a table of pyarrow."""
    parquet, arrow = pyarrow_modules(path)
    try:
        with parquet.ParquetFile(path) as file:
            columns = list(file.schema_arrow.names)
            _refuse_duplicates(path, columns)
            wanted = list(chosen(columns))
            _refuse_large(path, file.metadata, len(wanted), max_bytes)
            return file.read(columns=wanted)
    except DataError:
        raise
    except (arrow.ArrowException, OSError, ValueError, OverflowError, MemoryError) as error:
        raise DataError(
            f"{path}: not a readable parquet file ({error!s:.100}); write it again"
        ) from error


def pyarrow_modules(path: object) -> tuple[Any, Any]:
    """(pyarrow.parquet, pyarrow), or what to install."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise DataError(
            f"{path}: reading parquet needs pyarrow; install globalmin[parquet], or save the table "
            "as csv"
        ) from error
    return pyarrow.parquet, pyarrow


def _refuse_duplicates(path: Path, columns: list[str]) -> None:
    repeated = [name for name in columns if columns.count(name) > 1]
    if repeated:
        raise DataError(
            f"{path}: the column {repeated[0]!r} exists twice; give every column its own name"
        )


def _refuse_large(path: Path, metadata: Any, n_columns: int, max_bytes: int) -> None:
    if metadata.num_rows == 0:
        raise DataError(f"{path}: the table has no rows; give at least one")
    declared = sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))
    needed = max(8 * metadata.num_rows * n_columns, declared)
    if needed > max_bytes:
        raise DataError(
            f"{path}: the table needs {needed} bytes in memory, more than the limit of "
            f"{max_bytes}; raise max_bytes if it fits"
        )


def _column(path: Path, name: str, column: Any, arrow: Any) -> Array:
    kind = column.type
    types = arrow.types
    if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)):
        first = next((value.as_py() for value in column if value.is_valid), None)
        raise DataError(
            f"{path}: column {name!r} has type {kind} (first value {first!r:.60}), which is not a "
            "number; encode it as numbers or leave the column out"
        )
    values = column.to_numpy()
    missing = np.flatnonzero(column.is_null().to_numpy().astype(bool))
    if missing.size:
        raise DataError(
            f"{path}: column {name!r}, data row {missing[0] + 1}: the value is missing (NaN); "
            "remove the row or fill it in"
        )
    if (
        types.is_integer(kind)
        and max(int(values.max()), -int(values.min())) > LARGEST_EXACT_INTEGER
    ):
        raise DataError(
            f"{path}: column {name!r} has integers beyond 2^53, which would be rounded; "
            "subtract an offset or leave the column out"
        )
    floats = np.asarray(values, dtype=np.float64)
    bad = np.flatnonzero(~np.isfinite(floats))
    if bad.size:
        what = "missing (NaN)" if np.isnan(floats[bad[0]]) else "infinite"
        raise DataError(
            f"{path}: column {name!r}, data row {bad[0] + 1}: the value is {what}; remove the row "
            "or fill it in"
        )
    return floats

"""Comma, semicolon or tab separated text with a header row, by the standard library's reader."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

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


class _Sheet(NamedTuple):
    """What the rows of one file have in common: its path, the number of cells per row, and the
    columns wanted.
    """

    path: Path
    width: int
    names: tuple[str, ...]
    places: tuple[int, ...]


def read_csv(path: Path, choice: Choice, max_bytes: int) -> Table:
    """Read a text table; see `load_table`."""
    rows = _rows(path, _decode(path))
    header = _header(path, next(rows)[1], choice)
    features, targets = select_columns(path, header, choice)
    names = (*features, *targets)
    sheet = _Sheet(path, len(header), names, tuple(header.index(name) for name in names))
    blocks, needed = [], 0
    while chunk := list(islice(rows, _ROWS_AT_ONCE)):
        blocks.append(_numbers(sheet, chunk, first=sum(map(len, blocks)) + 1))
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


def _header(path: Path, cells: list[str], choice: Choice) -> list[str]:
    header = [name.strip() for name in cells]
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
    named = choice.target is not None and all(name in header for name in choice.target)
    if not named and all(_is_number(name) for name in header):
        raise DataError(
            f"{path}: the first row ({', '.join(header[:4])}, ...) holds numbers, not names; add a "
            "header row"
        )
    return header


def _numbers(sheet: _Sheet, chunk: list[Row], *, first: int) -> Array:
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
                _check_cell(
                    cell.strip(), f"{sheet.path}: column {name!r}, line {line} (data row {number})"
                )
    return values


def _check_cell(cell: str, place: str) -> None:
    if cell.lower() in MISSING:
        raise DataError(
            f"{place}: the value is missing ({cell!r}, read as NaN); remove the row or fill it in"
        )
    if not _is_number(cell):
        decimal_comma = _is_number(cell.replace(",", ".", 1))
        remedy = (
            "write the decimal comma as a point"
            if decimal_comma
            else "encode text as numbers or leave the column out"
        )
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


def _is_number(text: str) -> bool:
    """Whether the text is a decimal number; Python's own 1_000 for a thousand is not."""
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text

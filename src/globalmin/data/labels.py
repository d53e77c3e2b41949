"""Tables whose label column is text: class names beside numeric inputs."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from globalmin._types import Array, NDArray
from globalmin.data.loading import MAX_BYTES, Choice, regular_file_size, select_columns
from globalmin.data.loading_tables import MISSING, Sheet, header_of, is_number, numbers, text_rows
from globalmin.errors import DataError

_ROWS_AT_ONCE = 4096


class LabeledTable(NamedTuple):
    """Inputs X (n x features), the n labels as text, and the names of the inputs."""

    X: Array
    labels: NDArray[np.str_]
    feature_names: tuple[str, ...]


def text_share(path: str | Path, target: str) -> float:
    """The share of entries of the column `target` of a csv file that are no numbers, missing ones
    left out; 0 for other files, whose columns have a type, and where there is no such column.
    """
    found = Path(path)
    if not _is_csv(found) or regular_file_size(found) > MAX_BYTES:
        return 0.0
    rows = text_rows(found)
    header = [name.strip() for name in next(rows)[1]]
    if target not in header:
        return 0.0
    place = header.index(target)
    cells = (row[place].strip() for _, row in rows if len(row) > place)
    is_text = [not is_number(cell) for cell in cells if cell.lower() not in MISSING]
    return sum(is_text) / max(len(is_text), 1)


def load_labeled(path: str | Path, target: str) -> LabeledTable:
    """Read a csv file whose column `target` names classes; all other columns are numbers."""
    found = Path(path)
    if not _is_csv(found):
        raise DataError(f"{found}: class names are read from csv files; encode them as numbers")
    rows = text_rows(found)
    choice = Choice((target,), None)
    header = header_of(found, next(rows)[1], choice)
    features, _ = select_columns(found, header, choice)
    sheet = Sheet(found, len(header), features, tuple(header.index(name) for name in features))
    place = header.index(target)
    blocks: list[Array] = []
    labels: list[str] = []
    while chunk := list(islice(rows, _ROWS_AT_ONCE)):
        blocks.append(numbers(sheet, chunk, first=len(labels) + 1))
        for line, row in chunk:
            label = row[place].strip()
            if label.lower() in MISSING:
                raise DataError(
                    f"{found}: column {target!r}, line {line} (data row {len(labels) + 1}): the "
                    f"class is missing ({label!r}); remove the row or fill it in"
                )
            labels.append(label)
    if not blocks:
        raise DataError(f"{found}: there is a header but no data row; add at least one row")
    return LabeledTable(np.concatenate(blocks), np.array(labels), features)


def load_inputs(
    path: str | Path, *, columns: tuple[str, ...] | None = None, drop: tuple[str, ...] = ()
) -> Array:
    """The inputs of a csv file: the named columns in this order, or all but those to drop."""
    found = Path(path)
    if not _is_csv(found) or regular_file_size(found) > MAX_BYTES:
        raise DataError(
            f"{found}: inputs are read from csv files; in Python give arrays to predict"
        )
    rows = text_rows(found)
    header = header_of(found, next(rows)[1], Choice(columns, None))
    missing = [name for name in (*(columns or ()), *drop) if name not in header]
    if missing:
        raise DataError(
            f"{found}: there is no column {', '.join(map(repr, missing))}; the file has "
            f"{', '.join(header[:20])}"
        )
    names = columns or tuple(name for name in header if name not in drop)
    sheet = Sheet(found, len(header), names, tuple(header.index(name) for name in names))
    blocks: list[Array] = []
    count = 0
    while chunk := list(islice(rows, _ROWS_AT_ONCE)):
        blocks.append(numbers(sheet, chunk, first=count + 1))
        count += len(chunk)
    if not blocks:
        raise DataError(f"{found}: there is a header but no data row; add at least one row")
    return np.concatenate(blocks)


def _is_csv(path: Path) -> bool:
    return path.suffix.lower() in (".csv", ".tsv", ".txt")

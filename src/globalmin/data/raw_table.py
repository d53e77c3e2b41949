"""Tables as they are: named columns of text, numbers or dates with gaps, before anything is made
of them. `recipe` turns them into numbers.

Text tables are read by the standard library; a first row that is data and not names is kept as
data, with a warning.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from globalmin._types import Indices, NDArray
from globalmin.data.loading import MAX_BYTES, alike, load_table, regular_file_size
from globalmin.data.loading_tables import (
    MISSING,
    Row,
    is_number,
    named_header,
    open_parquet,
    text_rows,
)
from globalmin.errors import DataError

TEXT_SUFFIXES = (".csv", ".tsv", ".txt")
_PEEK = 200  # rows that decide whether the first one is data


@dataclass(frozen=True, eq=False)
class RawTable:
    """Columns of one length under their names. A cell is None (missing), text, or a number, a date
    or a time where the source has such a type.

    Parameters
    ----------
    columns : Mapping[str, Sequence[Any]]
        The cells of each column.
    origin : str
        Where they come from, for messages.
    lines : Sequence[int]
        The line of the source on which each row ends, for messages; empty if it has no lines.
    """

    columns: Mapping[str, Sequence[Any]]
    origin: str = "the table"
    lines: Sequence[int] = ()

    def __post_init__(self) -> None:
        lengths = {name: len(cells) for name, cells in self.columns.items()}
        if not lengths or len(set(lengths.values())) != 1 or 0 in lengths.values():
            raise DataError(
                f"{self.origin}: columns of {sorted(set(lengths.values()))} rows; give one column "
                "or more, each with the same number of rows and at least one"
            )

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(next(iter(self.columns.values())))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, in their order."""
        return tuple(self.columns)

    def rows(self, chosen: Indices | Sequence[int]) -> RawTable:
        """These rows, in this order."""
        picked = {name: [cells[i] for i in chosen] for name, cells in self.columns.items()}
        return RawTable(picked, self.origin, [self.lines[i] for i in chosen if self.lines])

    def only(self, names: Iterable[str], argument: str = "columns") -> RawTable:
        """These columns, in this order; DataError names those that are not there."""
        wanted = list(names)
        self.require(wanted, argument)
        return RawTable({name: self.columns[name] for name in wanted}, self.origin, self.lines)

    def without(self, names: Iterable[str], argument: str = "columns") -> RawTable:
        """All columns but these."""
        left_out = list(names)
        self.require(left_out, argument)
        kept = [name for name in self.columns if name not in left_out]
        if not kept:
            raise DataError(
                f"{self.origin}: no column is left for the inputs; the columns are {self._listed()}"
            )
        return self.only(kept)

    def require(self, names: Sequence[str], argument: str) -> None:
        """DataError unless there are columns of these names, with those that look alike."""
        for name in names:
            if name not in self.columns:
                raise DataError(
                    f"{self.origin}: there is no {argument} column {name!r}"
                    f"{alike(name, self.names)}; the columns are {self._listed()}"
                )

    def place(self, row: int) -> str:
        """A row in words, for messages."""
        number = f"data row {row + 1}"
        return f"line {self.lines[row]} ({number})" if self.lines else number

    def _listed(self, most: int = 20) -> str:
        shown = ", ".join(map(repr, self.names[:most]))
        more = len(self.columns) - most
        return f"{shown} and {more} more" if more > 0 else shown


def read_raw_table(
    path: str | Path, *, target: Sequence[str] = (), max_bytes: int = MAX_BYTES
) -> RawTable:
    r"""Read a table with all its columns; the format follows the suffix (.csv, .tsv, .txt,
    .parquet, .npz).

    Parameters
    ----------
    path : str | Path
        The file.
    target : Sequence[str]
        Names of columns that there should be: a first row that holds them is a header.
    max_bytes : int
        Larger files are refused before they are read.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "people.csv"
    ...     _ = path.write_text("age;city;born\n31;Oslo;1990-05-17\n;Rome;\n")
    ...     table = read_raw_table(path)
    >>> table.names, table.columns["age"], table.columns["born"]
    (('age', 'city', 'born'), ['31', None], ['1990-05-17', None])
    """
    found = Path(path)
    suffix = found.suffix.lower()
    if suffix in TEXT_SUFFIXES:
        size = regular_file_size(found)
        if size > max_bytes:
            raise DataError(
                f"{found}: the file has {size} bytes, more than the limit of {max_bytes}; raise "
                "max_bytes if it fits in memory"
            )
        return _read_text(found, target)
    if suffix in (".parquet", ".pq"):
        table = open_parquet(found, max_bytes)
        return RawTable(
            {name: _typed(table.column(name).to_pylist()) for name in table.column_names},
            str(found),
        )
    read = load_table(found, target=list(target) or None, max_bytes=max_bytes)  # npz: all numbers
    names = read.target_names or tuple(f"target {j + 1}" for j in range(read.y.shape[1]))
    inputs = {f"column {j + 1}": column.tolist() for j, column in enumerate(read.X.T)}
    labels = {name: column.tolist() for name, column in zip(names, read.y.T, strict=True)}
    return RawTable(inputs | labels, str(found))


def raw_table_of(given: object) -> RawTable:
    """A data frame, a mapping of columns, or rows of numbers, as a table."""
    if isinstance(given, RawTable):
        return given
    if isinstance(given, Mapping):
        return RawTable({str(k): _typed(list(cells)) for k, cells in given.items()})
    names = getattr(given, "columns", None)
    if names is not None and hasattr(given, "__getitem__"):
        return RawTable(
            {str(name): _typed(np.asarray(given[name], dtype=object).tolist()) for name in names},  # pyright: ignore
            "the data frame",
        )
    array: NDArray[Any] = np.asarray(given)
    if array.ndim != 2 or not array.size:
        raise DataError(
            f"a table of shape {array.shape} has no rows and columns; give a data frame, a dict of "
            "columns, or a non-empty array with a row per sample"
        )
    return RawTable({f"column {j + 1}": _typed(array[:, j].tolist()) for j in range(len(array.T))})


def _read_text(path: Path, target: Sequence[str]) -> RawTable:
    rows = list(text_rows(path))
    first = [cell.strip() for cell in rows[0][1]]
    is_headed = _is_header(first, rows[1 : _PEEK + 1], target)
    if is_headed:
        header, data = named_header(path, first), rows[1:]
    else:
        header, data = [f"column {j + 1}" for j in range(len(first))], rows
        warnings.warn(
            f"{path}: the first row ({', '.join(first[:4])}, ...) is data like the others, so it "
            f"was kept and the columns are called {header[0]!r} to {header[-1]!r}; add a header "
            "row to name them",
            UserWarning,
            stacklevel=3,
        )
    if not data:
        raise DataError(f"{path}: there is a header but no data row; add at least one row")
    for line, row in data:
        if len(row) != len(header):
            raise DataError(
                f"{path}: line {line} has {len(row)} cells, but the first row has {len(header)}; "
                "complete the row or remove it"
            )
    columns = zip(*(row for _, row in data), strict=True)
    cells = {name: _typed(column) for name, column in zip(header, columns, strict=True)}
    return RawTable(cells, str(path), [line for line, _ in data])


def _is_header(first: list[str], rest: list[Row], target: Sequence[str]) -> bool:
    """Whether the first row names the columns: it holds the target, or has a cell that is no
    number in a column of numbers, or there are no numbers at all.
    """
    if any(name in first for name in target) or not rest:
        return True
    known = [cell for cell in first if cell.lower() not in MISSING]
    if known and all(map(is_number, known)):
        return False
    numeric = [
        j
        for j in range(len(first))
        if all(len(row) > j and _is_number_or_gap(row[j]) for _, row in rest)
    ]
    return not numeric or any(not _is_number_or_gap(first[j]) for j in numeric)


def _is_number_or_gap(cell: str) -> bool:
    return cell.strip().lower() in MISSING or is_number(cell)


def _typed(cells: Sequence[Any]) -> list[Any]:
    """Text stripped, gaps as None, everything else as it is."""
    return [_cell(cell) for cell in cells]


def _cell(cell: Any) -> Any:
    if isinstance(cell, str):
        text = cell.strip()
        return None if text.lower() in MISSING else text
    is_gap = cell is None or cell != cell  # NaN, and the NaT of pandas, differ from themselves
    return None if is_gap or str(cell) in ("<NA>", "NaT") else cell

"""What a raw column is, number, category or date, and its cells as such; every cell that does not
fit is refused with its place and a remedy.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Literal, NamedTuple

import numpy as np

from globalmin._types import Array
from globalmin.data.loading_tables import check_cell, is_number
from globalmin.data.raw_table import RawTable
from globalmin.data.validation import LARGEST_EXACT_INTEGER
from globalmin.errors import DataError

ColumnKind = Literal["number", "category", "date"]
SLIP = 0.1  # a smaller share of text in a column of numbers is a slip of the pen, not a category
DATE_FORMATS = ("iso", "%d.%m.%Y", "%Y/%m/%d", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y")
_AMBIGUOUS = {"%d/%m/%Y": "%m/%d/%Y", "%d-%m-%Y": "%m-%d-%Y"}
_EPOCH = dt.datetime(1970, 1, 1)


class Found(NamedTuple):
    """The kind of a column and, for dates, how they are written ("" for cells that are dates)."""

    kind: ColumnKind
    date_format: str = ""


def find_kind(table: RawTable, name: str) -> Found:
    """Number if all cells are, date if all are dates written in one way, else category.

    A column of numbers with a little text in it is refused: that is more often a slip of the pen
    than a category. A column without any cell is one of numbers.
    """
    cells = [cell for cell in table.columns[name] if cell is not None]
    texts = [cell for cell in cells if isinstance(cell, str)]
    if cells and all(isinstance(cell, dt.date) for cell in cells):
        return Found("date")
    numbers = sum(map(_is_number, cells))
    if numbers == len(cells):
        return Found("number")
    if len(texts) == len(cells) and (written := date_format(texts)):
        if written in _AMBIGUOUS and date_format(texts, [_AMBIGUOUS[written]]):
            raise DataError(
                f"{table.origin}: column {name!r} holds dates such as {texts[0]!r} whose day and "
                "month cannot be told apart; write them as 2024-12-31, or leave the column out "
                f"(--drop {name!r})"
            )
        return Found("date", written)
    _refuse_decimal_commas(table, name)
    is_alone = len(cells) - numbers == 1 and numbers > 2  # the only text of a short column
    if 1 - numbers / len(cells) < SLIP or is_alone:
        row, cell = next(
            (i, cell)
            for i, cell in enumerate(table.columns[name])
            if cell is not None and not _is_number(cell)
        )
        raise DataError(
            f"{table.origin}: column {name!r}, {table.place(row)}: {cell!r:.60} is not a number, "
            f"but {numbers} of {len(cells)} cells are; correct it, leave it empty (a missing "
            f"value), name the column a category (--category {name!r}) or leave it out (--drop "
            f"{name!r})"
        )
    return Found("category")


def _refuse_decimal_commas(table: RawTable, name: str) -> None:
    """A column whose texts are numbers with a comma is no category."""
    texts = {i: cell for i, cell in enumerate(table.columns[name]) if isinstance(cell, str)}
    marked = next((i for i, text in texts.items() if "," in text), None)
    if marked is not None and all(is_number(text.replace(",", ".", 1)) for text in texts.values()):
        raise DataError(
            f"{table.origin}: column {name!r}, {table.place(marked)}: {texts[marked]!r:.60} is not "
            "a number; write the decimal comma as a point"
        )


def numbers_of(table: RawTable, name: str) -> Array:
    """The cells of a column as doubles, NaN where missing; others are refused."""
    cells = table.columns[name]
    values = np.full(len(cells), np.nan)
    for i, cell in enumerate(cells):
        if cell is None:
            continue
        if isinstance(cell, str) or (_is_number(cell) and abs(cell) >= LARGEST_EXACT_INTEGER):
            check_cell(str(cell), f"{table.origin}: column {name!r}, {table.place(i)}", _REMEDY)
        elif not _is_number(cell):
            raise DataError(
                f"{table.origin}: column {name!r}, {table.place(i)}: {cell!r:.60} is not a number; "
                f"{_REMEDY}"
            )
        values[i] = float(cell)
        if not np.isfinite(values[i]):
            raise DataError(
                f"{table.origin}: column {name!r}, {table.place(i)}: the value is infinite; remove "
                "the row or correct the value"
            )
    return values


_REMEDY = "the column holds numbers; correct the cell or leave it empty"


def texts_of(table: RawTable, name: str) -> list[str | None]:
    """The cells of a column as the names of categories, None where missing."""
    return [None if cell is None else _name(cell) for cell in table.columns[name]]


def times_of(table: RawTable, name: str, written: str) -> list[dt.datetime | None]:
    """The cells of a column as times, None where missing; others are refused."""
    found: list[dt.datetime | None] = []
    for i, cell in enumerate(table.columns[name]):
        time = None if cell is None else _time(cell, written)
        if cell is not None and time is None:
            shown = "2024-12-31" if written in ("iso", "") else written
            raise DataError(
                f"{table.origin}: column {name!r}, {table.place(i)}: {cell!r:.60} is not a date "
                f"written as {shown}; correct the cell or leave it empty"
            )
        found.append(time)
    return found


def days_since_1970(times: Sequence[dt.datetime | None]) -> Array:
    """Days, with fractions for times of the day; NaN where missing."""
    return np.array(
        [np.nan if time is None else (time - _EPOCH).total_seconds() / 86400 for time in times]
    )


def date_format(texts: Sequence[str], formats: Sequence[str] = DATE_FORMATS) -> str:
    """The first of the formats in which all texts are dates, or ""."""
    if not texts or not any(mark in texts[0] for mark in "-./"):
        return ""
    return next((f for f in formats if all(_time(text, f) is not None for text in texts)), "")


def _time(cell: Any, written: str) -> dt.datetime | None:
    """A date or a time of the clock, its zone left out: only differences matter."""
    if isinstance(cell, dt.datetime):
        return cell.replace(tzinfo=None)
    if isinstance(cell, dt.date):
        return dt.datetime(cell.year, cell.month, cell.day)
    try:
        if written == "iso":
            return dt.datetime.fromisoformat(cell).replace(tzinfo=None)
        return dt.datetime.strptime(cell, written)
    except (ValueError, TypeError):
        return None


def _is_number(cell: Any) -> bool:
    if isinstance(cell, str):
        return is_number(cell)
    return isinstance(cell, int | float | Decimal | np.integer | np.floating | np.bool_)


def _name(cell: Any) -> str:
    """A category by name: 3 for a column of whole numbers that was stored as doubles."""
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell)

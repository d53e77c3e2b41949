"""One figure of the page with its caption and the table behind it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from globalmin._types import Array
from globalmin.drawing import inline_svg
from globalmin.report.rounding import nearest_text, typeset
from globalmin.report.template import markup

if TYPE_CHECKING:
    from matplotlib.figure import Figure


MAX_ROWS = 500


@dataclass(frozen=True)
class Table:
    """Columns by name and rows of text; `note` says what was left out."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


@dataclass(frozen=True)
class Panel:
    """One figure of the page."""

    title: str
    svg: str
    caption: str
    table: Table


def make_panel(
    title: str, draw: Callable[[], Figure], caption: str, table: Table, name: str
) -> Panel:
    """Draw the figure; `name` makes the ids of the drawing unique on the page."""
    # inline_svg escapes its label and matplotlib its texts, so this markup is safe
    return Panel(
        title,
        markup(inline_svg(draw, name=name, label=f"{title}. {caption}")),
        caption,
        table,
    )


def make_table(columns: tuple[str, ...], content: Sequence[Sequence[str]]) -> Table:
    """All rows, or every j-th beyond `MAX_ROWS`, the last always."""
    n = len(content[0])
    stride = -(-n // MAX_ROWS)
    kept = sorted({*range(0, n, stride), n - 1}) if n else []
    note = "" if stride <= 1 else f"Every {stride}th of {n} rows; all are in fit.json."
    return Table(columns, tuple(tuple(column[i] for column in content) for i in kept), note)


def as_texts(values: Array, digits: int) -> list[str]:
    """Numbers rounded to the nearest and typeset."""
    return [typeset(nearest_text(float(v), digits)) for v in values]

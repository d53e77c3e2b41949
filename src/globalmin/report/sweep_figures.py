"""The pictures of a sweep and the means they show: a heat map over two parameters, a line over one.
Rows in, a Figure out.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from globalmin.drawing import BLUE, new_axes
from globalmin.errors import PlanError
from globalmin.report.rounding import nearest_text, typeset

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


Row = Mapping[str, Any]
FIRST, LAST = ("trial",), ("seed", "status", "error")


@dataclass(frozen=True)
class Cells:
    """Means of `column` over seeds and all parameters but the axes; nan where no trial gave a
    finite number.

    Parameters
    ----------
    column : the result.
    x, y : names of the parameters; `y` is empty for a line.
    x_values, y_values : their values in the order of the plan; one empty text for a missing y.
    means, spreads, counts : one row per value of y, one column per value of x; spreads are standard
        errors.
    left_out : trials without a finite number, failed ones included.
    """

    column: str
    x: str
    y: str
    x_values: tuple[Any, ...]
    y_values: tuple[Any, ...]
    means: NDArray[np.float64]
    spreads: NDArray[np.float64]
    counts: NDArray[np.int64]
    left_out: int


def choose(
    rows: Sequence[Row],
    parameters: Sequence[str],
    wanted: tuple[str | None, str | None, str | None],
) -> tuple[str, str, str]:
    """Result and axes as wanted (column, x, y), or the first numeric result over the last two
    parameters that vary.
    """
    column, x, y = wanted
    results = [name for name in rows[0] if name not in (*FIRST, *LAST, *parameters)]
    numeric = [name for name in results if any(number(row[name]) is not None for row in rows)]
    varied = [name for name in parameters if len({repr(row[name]) for row in rows}) > 1]
    if column is not None and column not in numeric:
        raise PlanError(
            f"column {column!r} is no numeric result of this sweep; there are "
            f"{', '.join(numeric) or 'none'}"
        )
    for name in (x, y):
        if name is not None and name not in varied:
            raise PlanError(
                f"axis {name!r} is no parameter that varies; those are "
                f"{', '.join(varied) or 'none'}"
            )
    if (column is None and not numeric) or not varied:
        raise PlanError(
            "nothing to draw: the sweep has no numeric result, or no parameter that varies"
        )
    x = x or next(name for name in reversed(varied) if name != y or len(varied) == 1)
    rest = [name for name in varied if name != x]
    return column or numeric[0], x, y or (rest[-1] if rest else "")


def average(rows: Sequence[Row], column: str, x: str, y: str) -> Cells:
    """The mean of `column` in every cell of the plane of `x` and `y`."""
    x_values = _values(rows, x)
    y_values = _values(rows, y) if y else ("",)
    found: dict[tuple[int, int], list[float]] = defaultdict(list)
    left_out = 0
    places = ({repr(value): i for i, value in enumerate(values)} for values in (y_values, x_values))
    y_places, x_places = places
    for row in rows:
        value = number(row[column])
        if value is None or not math.isfinite(value):
            left_out += 1
        else:
            found[y_places[repr(row[y])] if y else 0, x_places[repr(row[x])]].append(value)
    shape = (len(y_values), len(x_values))
    means, spreads, counts = (
        np.full(shape, np.nan),
        np.full(shape, np.nan),
        np.zeros(shape, np.int64),
    )
    for place, values in found.items():
        means[place] = np.mean(values)
        spreads[place] = (
            np.std(values, ddof=1) / math.sqrt(len(values)) if len(values) > 1 else np.nan
        )
        counts[place] = len(values)
    return Cells(column, x, y, x_values, y_values, means, spreads, counts, left_out)


def number(value: object) -> float | None:
    """Numbers and truth values as numbers; anything else is none."""
    return float(value) if isinstance(value, bool | int | float) else None


def _values(rows: Sequence[Row], name: str) -> tuple[Any, ...]:
    """The values of a parameter: numbers in increasing order, others as they come."""
    values = list({repr(row[name]): row[name] for row in rows}.values())
    if all(number(value) is not None for value in values):
        values.sort(key=float)
    return tuple(values)


MAX_TICKS = 12


def draw(cells: Cells) -> Figure:
    """A map where there are two axes, else a line."""
    return heat_map(cells) if cells.y else line(cells)


def heat_map(cells: Cells) -> Figure:
    """The mean of the result in every cell; cells without a number stay empty."""
    figure, axes = new_axes(cells.x, cells.y)
    n_y, n_x = cells.means.shape
    mesh = axes.pcolormesh(
        np.arange(n_x + 1) - 0.5,
        np.arange(n_y + 1) - 0.5,
        np.ma.masked_invalid(cells.means),
        cmap="viridis",
        linewidth=0,
    )
    axes.grid(visible=False)
    _name_ticks(axes, "x", cells.x_values)
    _name_ticks(axes, "y", cells.y_values)
    bar = figure.colorbar(mesh, ax=axes, label=f"mean of {_plain(cells.column)}", pad=0.02)
    bar.outline.set_visible(False)  # pyright: ignore[reportCallIssue]
    return figure


def line(cells: Cells) -> Figure:
    """The mean of the result with its standard error."""
    figure, axes = new_axes(cells.x, f"mean of {_plain(cells.column)}")
    values = [value if _is_number(value) else i for i, value in enumerate(cells.x_values)]
    seen = np.isfinite(cells.means[0])
    x, mean = np.asarray(values, dtype=float)[seen], cells.means[0][seen]
    error = np.nan_to_num(cells.spreads[0][seen])
    axes.fill_between(x, mean - error, mean + error, color=BLUE, alpha=0.2, linewidth=0)
    axes.plot(x, mean, color=BLUE, marker="o", markersize=3.5)
    if not all(map(_is_number, cells.x_values)):
        _name_ticks(axes, "x", cells.x_values)
    return figure


def _name_ticks(axes: Axes, which: str, values: Sequence[Any]) -> None:
    stride = -(-len(values) // MAX_TICKS)
    places = range(0, len(values), stride)
    (axes.set_xticks if which == "x" else axes.set_yticks)(
        list(places), [_tick(values[i]) for i in places]
    )


def _tick(value: Any) -> str:
    return typeset(nearest_text(value)) if _is_number(value) else _plain(str(value))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _plain(text: str) -> str:
    """Text that matplotlib does not read as mathematics."""
    return (text if len(text) <= 24 else text[:23] + "…").replace("$", r"\$")

"""The page of a sweep: one self-contained HTML file with the picture (a heat map over two
parameters, a line over one), the means behind it and every failure's traceback.
"""

from __future__ import annotations

import math
import os
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from globalmin.drawing import BLUE, inline_svg, new_axes, style
from globalmin.errors import PlanError
from globalmin.report.template import filled, markup
from globalmin.report.words import nearest_text, typeset
from globalmin.sweep import Plan, reading

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


MAX_ROWS, MAX_FAILURES = 1000, 50

Folder = str | os.PathLike[str]


def save_page(
    folder: Folder,
    path: str | os.PathLike[str],
    *,
    column: str | None = None,
    x: str | None = None,
    y: str | None = None,
) -> Path:
    """Write the page of the sweep in `folder`; `column`, `x` and `y` choose what the picture
    shows.
    """
    return reading.write_whole(Path(path), render(folder, column=column, x=x, y=y).encode("utf-8"))


def save_figure(
    folder: Folder,
    path: str | os.PathLike[str],
    *,
    column: str | None = None,
    x: str | None = None,
    y: str | None = None,
) -> Path:
    """Write the picture alone, as .svg or .png by the suffix."""
    import io

    import matplotlib

    target = Path(path)
    cells = read_cells(folder, column=column, x=x, y=y)
    kind = target.suffix.lower().removeprefix(".")
    stream = io.BytesIO()
    with (
        style(),
        matplotlib.rc_context({"svg.hashsalt": "globalmin", "savefig.facecolor": "white"}),
    ):
        options: dict[str, Any] = (
            {"dpi": 160} if kind == "png" else {"metadata": {"Date": None, "Creator": None}}
        )
        draw(cells).savefig(stream, format=kind, **options)
    return reading.write_whole(target, stream.getvalue())


def read_cells(
    folder: Folder, *, column: str | None = None, x: str | None = None, y: str | None = None
) -> Cells:
    """The means behind the picture."""
    table = reading.rows(folder)
    return average(table, *choose(table, _plan(folder).parameter_names(), (column, x, y)))


def render(
    folder: Folder, *, column: str | None = None, x: str | None = None, y: str | None = None
) -> str:
    """The page as text."""
    try:
        cells = read_cells(folder, column=column, x=x, y=y)
    except PlanError:
        if (column, x, y) != (None, None, None):
            raise
        cells = (
            None  # nothing numeric yet; the counts and the failures are worth a page all the same
        )
    found, plan = reading.failures(folder), _plan(folder)
    return filled(
        "sweep.html.j2", plan=plan, axes=_axes(plan), cells=cells,
        keys=_keys(reading.status(folder)),
        picture=None if cells is None else _picture(cells),
        table=[] if cells is None else _table(cells),
        failures=[_failure(failure) for failure in found[:MAX_FAILURES]], n_failures=len(found),
    )  # fmt: skip


def _plan(folder: Folder) -> Plan:
    with reading.open_ledger(folder) as ledger:
        return reading.read_plan(ledger)


def _axes(plan: Plan) -> list[tuple[str, str]]:
    shown = [(name, ", ".join(map(str, values))) for name, values in plan.grid.items()]
    shown += [(name, str(value)) for name, value in plan.fixed.items()]
    return [*shown, ("seeds", str(len(plan.seeds)))]


def _keys(found: reading.Status) -> list[tuple[str, str, str]]:
    rate = "–" if found.rate is None else typeset(nearest_text(found.rate))
    return [
        ("Done", f"{found.done:,}", f"of {found.total:,} trials"),
        ("Failed", f"{found.failed:,}", "tracebacks below" if found.failed else "none"),
        ("Open", f"{found.running + found.waiting:,}", "running or waiting"),
        ("Rate", rate, "trials per second"),
    ]


def _picture(cells: Cells) -> Any:
    over = f"{cells.y} and {cells.x}" if cells.y else cells.x
    drawn = inline_svg(
        lambda: draw(cells), name="cells", label=f"Mean of {cells.column} over {over}"
    )
    return markup(drawn)


def _table(cells: Cells) -> list[tuple[str, str, str, str, int]]:
    shown = [
        (
            str(y),
            str(x),
            _number(cells.means[i, j]),
            _number(cells.spreads[i, j]),
            int(cells.counts[i, j]),
        )
        for i, y in enumerate(cells.y_values)
        for j, x in enumerate(cells.x_values)
    ]
    return shown[:MAX_ROWS]


def _number(value: float) -> str:
    return typeset(nearest_text(float(value), 4)) if math.isfinite(value) else "–"


def _failure(failure: reading.Failure) -> dict[str, Any]:
    lines = failure.error.strip().splitlines()
    return {
        "trial": failure.trial[:12],
        "where": ", ".join(
            f"{name} = {value}"
            for name, value in {**failure.parameters, "seed": failure.seed}.items()
        ),
        "tries": failure.tries,
        "last": lines[-1] if lines else "unknown",
        "trace": failure.error,
    }

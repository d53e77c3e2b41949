"""The page of a sweep: one self-contained HTML file with its pictures (heat maps over two
parameters, lines over one; one for every combination of the others), the means behind them and
every failure's traceback.
"""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from globalmin.drawing import BLUE, SIZE, inline_svg, style
from globalmin.drawn_values import data_address, tell_values
from globalmin.errors import PlanError
from globalmin.report.sweep_cells import Cells, choose, facets
from globalmin.report.template import filled, markup
from globalmin.report.words import nearest_text, typeset
from globalmin.sweep import Plan, reading

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


MAX_TICKS, MAX_FACETS, COLUMNS = 12, 12, 3


def draw(*parts: Cells, scale: tuple[float, float] | None = None, titled: bool = True) -> Figure:
    """Maps where there are two axes, else lines; one panel for each part.

    Parameters
    ----------
    parts : the cells of each panel.
    scale : least and largest mean of the common scale; those of the parts if left out.
    titled : whether a panel says which combination it is.
    """
    from matplotlib.figure import Figure

    columns = min(len(parts), COLUMNS)
    rows = -(-len(parts) // columns)
    figure = Figure(layout="constrained", figsize=(SIZE[0] * columns, SIZE[1] * rows))
    for i, cells in enumerate(parts):
        axes = figure.add_subplot(rows, columns, i + 1)
        axes.set_title(_plain(cells.title, 60) if titled else "", fontsize=8.5)
        axes.set_xlabel(_plain(cells.x))
        (heat_map if cells.y else line)(axes, cells, scale or common_scale(parts))
    return figure


def common_scale(parts: Sequence[Cells]) -> tuple[float, float]:
    """Least and largest mean of all parts; 0 and 1 where there is none."""
    means = np.concatenate([cells.means.ravel() for cells in parts])
    finite = means[np.isfinite(means)]
    return (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)


def heat_map(axes: Axes, cells: Cells, scale: tuple[float, float]) -> None:
    """The mean of the result in every cell; cells without a number stay empty."""
    n_y, n_x = cells.means.shape
    mesh = axes.pcolormesh(
        np.arange(n_x + 1) - 0.5,
        np.arange(n_y + 1) - 0.5,
        np.ma.masked_invalid(cells.means),
        cmap="viridis",
        linewidth=0,
        vmin=scale[0],
        vmax=scale[1],
    )
    tell_values(mesh, [_in_words(cells, i, j) for i in range(n_y) for j in range(n_x)])
    axes.set_ylabel(_plain(cells.y))
    axes.grid(visible=False)
    _name_ticks(axes, "x", cells.x_values)
    _name_ticks(axes, "y", cells.y_values)
    figure: Any = axes.figure
    bar = figure.colorbar(mesh, ax=axes, label=f"mean of {_plain(cells.column)}", pad=0.02)
    # as drawn shapes: an embedded picture would need a page that allows pictures
    bar.solids.set(rasterized=False, edgecolor="face")
    bar.outline.set_visible(False)


def line(axes: Axes, cells: Cells, scale: tuple[float, float]) -> None:
    """The mean of the result with its standard error."""
    axes.set_ylabel(f"mean of {_plain(cells.column)}")
    axes.grid(visible=False, axis="x")
    values = [value if _is_number(value) else i for i, value in enumerate(cells.x_values)]
    seen = np.isfinite(cells.means[0])
    x, mean = np.asarray(values, dtype=float)[seen], cells.means[0][seen]
    error = np.nan_to_num(cells.spreads[0][seen])
    axes.fill_between(x, mean - error, mean + error, color=BLUE, alpha=0.2, linewidth=0)
    axes.plot(x, mean, color=BLUE, marker="o", markersize=3.5)
    room = 0.05 * (scale[1] - scale[0]) + float(error.max(initial=0.0)) or 1.0
    axes.set_ylim(scale[0] - room, scale[1] + room)
    if not all(map(_is_number, cells.x_values)):
        _name_ticks(axes, "x", cells.x_values)


def _in_words(cells: Cells, i: int, j: int) -> str:
    """One cell as the pointer reads it."""
    here = [
        f"{cells.x} {cells.x_values[j]}",
        f"{cells.y} {cells.y_values[i]}",
        f"mean of {cells.column} {cells.means[i, j]:.5g}",
        f"standard error {cells.spreads[i, j]:.3g}, {cells.counts[i, j]} trials",
    ]
    return "\n".join(here)


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


def _plain(text: str, limit: int = 24) -> str:
    """Text that matplotlib does not read as mathematics."""
    return (text if len(text) <= limit else text[: limit - 1] + "…").replace("$", r"\$")


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
    parts = read_facets(folder, column=column, x=x, y=y)[:MAX_FACETS]
    kind = target.suffix.lower().removeprefix(".")
    stream = io.BytesIO()
    with (
        style(),
        matplotlib.rc_context({"svg.hashsalt": "globalmin", "savefig.facecolor": "white"}),
    ):
        options: dict[str, Any] = (
            {"dpi": 160} if kind == "png" else {"metadata": {"Date": None, "Creator": None}}
        )
        draw(*parts).savefig(stream, format=kind, **options)
    return reading.write_whole(target, stream.getvalue())


def read_facets(
    folder: Folder, *, column: str | None = None, x: str | None = None, y: str | None = None
) -> list[Cells]:
    """The means behind the pictures: one plane for every combination of the other parameters."""
    table, names = reading.rows(folder), _plan(folder).parameter_names()
    return facets(table, names, choose(table, names, (column, x, y)))


def render(
    folder: Folder, *, column: str | None = None, x: str | None = None, y: str | None = None
) -> str:
    """The page as text."""
    try:
        parts = read_facets(folder, column=column, x=x, y=y)
    except PlanError:
        if (column, x, y) != (None, None, None):
            raise
        parts = []  # nothing numeric yet; counts and failures are worth a page all the same
    found, plan = reading.failures(folder), _plan(folder)
    rows = [row for cells in parts for row in _table(cells)]
    return filled(
        "sweep.html.j2", plan=plan, axes=_axes(plan), cells=parts[0] if parts else None,
        keys=_keys(reading.status(folder)), n_facets=len(parts),
        pictures=[_picture(cells, i, parts) for i, cells in enumerate(parts[:MAX_FACETS])],
        left_out=sum(cells.left_out for cells in parts),
        table=rows[:MAX_ROWS], n_rows=len(rows), data=data_address(_csv(parts)),
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


def _picture(cells: Cells, place: int, parts: Sequence[Cells]) -> dict[str, Any]:
    """One facet, drawn with the scales of all."""
    over = f"{cells.y} and {cells.x}" if cells.y else cells.x
    label = f"Mean of {cells.column} over {over}" + (f" at {cells.title}" if cells.facet else "")

    def drawn() -> Figure:
        return draw(cells, scale=common_scale(parts), titled=False)

    return {
        "title": cells.title,
        "svg": markup(inline_svg(drawn, name=f"cells-{place}", label=label)),
        "data": data_address(_csv([cells])),
    }


def _rows(parts: Sequence[Cells]) -> Iterator[list[Any]]:
    """Every cell: other parameters, y if there is one, x, mean, standard error, trials."""
    for cells in parts:
        others = [value for _, value in cells.facet]
        for i, y in enumerate(cells.y_values):
            for j, x in enumerate(cells.x_values):
                numbers = cells.means[i, j], cells.spreads[i, j], int(cells.counts[i, j])
                yield [*others, *([y] if cells.y else []), x, *numbers]


def _csv(parts: Sequence[Cells]) -> str:
    if not parts:
        return ""
    first, stream = parts[0], io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    names = [*(name for name, _ in first.facet), *([first.y] if first.y else []), first.x]
    writer.writerow([*names, f"mean of {first.column}", "standard error", "trials"])
    writer.writerows(_rows(parts))
    return stream.getvalue()


def _table(cells: Cells) -> list[tuple[list[str], str, str, int]]:
    """Cells as texts: parameters, mean, standard error, trials."""
    return [
        ([str(value) for value in where], _number(mean), _number(error), count)
        for *where, mean, error, count in _rows([cells])
    ]


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

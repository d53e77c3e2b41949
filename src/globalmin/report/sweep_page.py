"""The page of a sweep: one self-contained HTML file with the picture, the cells behind it and every
failure's traceback.
"""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from globalmin.drawing import inline_svg
from globalmin.errors import PlanError
from globalmin.report.rounding import nearest_text, typeset
from globalmin.report.sweep_figures import Cells, average, choose, draw
from globalmin.report.template import filled, markup
from globalmin.sweep import reading

if TYPE_CHECKING:
    from globalmin.sweep import Plan

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

    from globalmin.drawing import style

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

"""The pictures of a sweep: a heat map over two parameters, a line over one. Means in, a Figure
out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from globalmin.report.figures import BLUE, new_axes
from globalmin.report.rounding import nearest_text, typeset

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from globalmin.report.sweep_summary import Cells

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

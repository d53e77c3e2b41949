"""The picture of who interacts with whom: arrays in, a matplotlib Figure out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from globalmin import drawing
from globalmin.drawn_values import tell_values
from globalmin.regularized.interactions import Interactions, columns_of, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_NAME = 24  # columns of a name, longer ones lose their middle
_ROW, _LETTER = 0.26, 0.075  # inches of a row of the triangle and of a column of a name
_ROOMY = 5  # columns from which on the empty corner of the triangle holds the scale of colors


def draw_interactions(found: Interactions, most: int = 12) -> Figure:
    """Coefficients of squares and products as a triangle of colors, and those of single columns as
    bars beside it; the columns with the largest ones, in the order of the table.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    size = found.strengths() + np.abs(found.linear)
    shown = np.sort(np.argsort(-size, kind="stable")[:most])
    names = [shortened(found.names[j], _NAME) for j in shown]
    d, margin = len(shown), _LETTER * max(map(columns_of, names))
    families = drawing.families_for("".join(names))
    with drawing.style(), rc_context({"font.family": families}):
        edge = max(_ROW * d, 1.3)
        figure = Figure(figsize=(margin + edge + 2.6, edge + margin + 0.7), layout="constrained")
        axes, bars = figure.subplots(
            1, 2, sharey=True, width_ratios=(edge, 1.6), gridspec_kw={"wspace": 0.04}
        )
        _draw_triangle(figure, axes, found.matrix[np.ix_(shown, shown)], names)
        _draw_bars(bars, found.linear[shown], names)
        if d < len(found.names):
            figure.supxlabel(
                f"{d} of {len(found.names)} columns, those with the largest coefficients",
                fontsize=8,
                color=drawing.MUTED,
            )
    return figure


def _draw_triangle(figure: Figure, axes: Axes, matrix: np.ndarray, names: list[str]) -> None:
    d = len(names)
    part = matrix * (2.0 - np.eye(d))
    triangle = np.ma.masked_where(np.triu(np.ones((d, d)), 1) > 0, part)
    reach = float(np.abs(part).max(initial=0.0)) or 1.0
    edges = np.arange(d + 1) - 0.5
    # no edges beside the triangle: on a dark page they would be a white grid
    lines = ["white" if j <= i else "none" for i in range(d) for j in range(d)]
    style = {"cmap": "RdBu_r", "vmin": -reach, "vmax": reach, "edgecolors": lines}
    image: Any = axes.pcolormesh(edges, edges, triangle, linewidth=0.6, **style)
    tell_values(image, [_words(names, part, i, j) for i in range(d) for j in range(d)])
    axes.set_xticks(range(d), names, rotation=90)
    axes.set_yticks(range(d), names)
    axes.set_title("squares and products")
    axes.grid(visible=False)
    axes.set_xlim(-0.5, d - 0.5)
    axes.set_ylim(d - 0.5, -0.5)
    if d < _ROOMY:
        bar = figure.colorbar(image, ax=axes, shrink=0.9, location="left")
    else:
        corner = axes.inset_axes((0.56, 0.93, 0.4, 0.03))
        bar = figure.colorbar(image, cax=corner, orientation="horizontal")
    bar.set_label("coefficient")
    bar.locator = _ticks(reach)
    bar.update_ticks()


def _words(names: list[str], part: np.ndarray, i: int, j: int) -> str:
    """What the pointer reads at a cell; nothing beside the triangle."""
    product = f"{names[i]}²" if i == j else f"{names[i]} × {names[j]}"
    return f"{product}\n{part[i, j]:.5g}" if j <= i else ""


def _ticks(reach: float) -> Any:
    """Ticks at zero and at both ends, rounded to one digit inward."""
    from matplotlib.ticker import FixedLocator

    unit = 10.0 ** np.floor(np.log10(reach))
    end = unit * np.floor(reach / unit)
    return FixedLocator([-end, 0.0, end])


def _draw_bars(bars: Axes, linear: np.ndarray, names: list[str]) -> None:
    colors = [drawing.RED if x > 0 else drawing.BLUE for x in linear]
    drawn = bars.barh(range(len(linear)), linear, color=colors, height=0.6)
    for bar, name, value in zip(drawn.patches, names, linear, strict=True):
        tell_values(bar, [f"{name}\n{value:.5g}"])
    bars.axvline(0.0, color=drawing.MUTED, linewidth=0.8)
    bars.set_title("linear terms")
    bars.locator_params(axis="x", nbins=4)
    bars.tick_params(labelleft=False)

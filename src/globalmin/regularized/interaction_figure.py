"""The picture of who interacts with whom: arrays in, a matplotlib Figure out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from globalmin import drawing
from globalmin.regularized.interactions import Interactions

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_interactions(found: Interactions, most: int = 12) -> Figure:
    """Coefficients of squares and products as a triangle of colors, and those of single columns as
    bars beside it; the columns with the largest ones, in the order of the table.
    """
    from matplotlib.figure import Figure

    size = found.strengths() + np.abs(found.linear)
    shown = np.sort(np.argsort(-size, kind="stable")[:most])
    names = [found.names[j] for j in shown]
    d = len(shown)
    part = found.matrix[np.ix_(shown, shown)] * (2.0 - np.eye(d))
    triangle = np.ma.masked_where(np.triu(np.ones((d, d)), 1) > 0, part)
    reach = float(np.abs(part).max(initial=0.0)) or 1.0
    with drawing.style():
        edge = 0.28 * d + 1.8
        figure = Figure(figsize=(edge + 2.2, edge), layout="constrained")
        axes, bars = figure.subplots(1, 2, sharey=True, width_ratios=(2.4, 1.0))
        image: Any = axes.imshow(triangle, cmap="RdBu_r", vmin=-reach, vmax=reach, aspect="auto")
        axes.set_xticks(range(d), names, rotation=90)
        axes.set_yticks(range(d), names)
        axes.set_title("squares and products")
        axes.grid(visible=False)
        figure.colorbar(image, ax=axes, shrink=0.7, location="left")
        linear = found.linear[shown]
        colors = [drawing.RED if x > 0 else drawing.BLUE for x in linear]
        bars.barh(range(d), linear, color=colors, height=0.6)
        bars.axvline(0.0, color=drawing.MUTED, linewidth=0.8)
        bars.set_title("linear terms")
        bars.tick_params(labelleft=False)
    return figure

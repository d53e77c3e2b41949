"""Pictures of a filter learned from patches (DU, chapter 6): arrays in, a matplotlib Figure out;
nothing is trained here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from globalmin import drawing
from globalmin._types import Array
from globalmin.references import states

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@states("DU-F6.3a", "DU-F6.3b", "DU-F6.3cd")
def convergence(curves: Mapping[str, Array], x_label: str, y_label: str) -> Figure:
    """Several runs by step or epoch on a logarithmic axis: distances to the teacher or relative
    losses.
    """
    figure, axes = drawing.new_axes(x_label, y_label, grid="xy")
    for color, (name, values) in zip(drawing.COLORS, curves.items(), strict=False):
        axes.semilogy(values, color=color, label=name)
    axes.legend()
    return figure


@states("DU-F6.4")
def filters(pairs: Mapping[str, Array]) -> Figure:
    """Filters side by side in one gray scale, symmetric around zero."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(1.5 * len(pairs), 1.8), layout="constrained")
    reach = max(float(np.max(np.abs(values))) for values in pairs.values())
    for i, (name, values) in enumerate(pairs.items()):
        axes = figure.add_subplot(1, len(pairs), i + 1)
        axes.imshow(values, cmap="gray", vmin=-reach, vmax=reach)
        axes.set_title(name, fontsize=8)
        axes.set_axis_off()
    return figure

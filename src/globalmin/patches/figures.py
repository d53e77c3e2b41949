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

    from globalmin.patches.constants import EstimatedConstants


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


@states("DU-D6.1", "DU-D6.2")
def constants_by_angle(
    constants: EstimatedConstants, good: tuple[float, float] = (0.0, 0.0)
) -> Figure:
    r"""$\gamma$, L and $L_{-w^*}$ by angle to the filter as measured on patches, with intervals
    where there are some; $6L_{cross}$ dashed, and the angles between which $\gamma$ is above it.
    """
    figure, axes = drawing.new_axes("angle φ to the filter", "eigenvalue", grid="xy")
    phi = constants.angles[1:]
    rows = {
        "L(φ)": constants.largests[1:],
        "γ(φ)": constants.gammas[1:],
        "L₋w*(φ)": np.maximum.accumulate(constants.owns[1:], axis=0),
    }
    for color, (name, row) in zip(drawing.COLORS, rows.items(), strict=False):
        axes.plot(phi, row[:, 0], color=color, label=name)
        axes.fill_between(phi, row[:, 1], row[:, 2], color=color, alpha=0.15, linewidth=0)
    if np.any(constants.crosses[1:, 0] > 0.0):
        six = [6.0 * constants.cross(float(x)) for x in phi]
        axes.plot(phi, six, color=drawing.RED, linestyle=drawing.DASHED, label="6 L_cross(φ)")
    if good[1] > good[0]:
        axes.axvspan(max(good[0], float(phi[0])), good[1], color=drawing.GREEN, alpha=0.08)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.legend()
    return figure

"""Pictures that only the thesis has: the moments of a law of inputs by angle (figure 6.2b) and the
tube of three saddles with a path of descent (figure 7.2b). Arrays in, a matplotlib Figure out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from globalmin._types import Array
from globalmin.drawing import BLUE, DASHED, GREEN, GRID, INK, MUTED, ORANGE, RED

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PINK = "#d6408f"  # the path of descent in figure 7.2
MOMENTS = {"largest": ("L(φ)", BLUE), "least": ("γ(φ)", ORANGE), "opposite": ("L₋(φ)", GREEN)}


def moments_by_angle(
    angles: Array,
    laws: Mapping[str, Mapping[str, Array]],
    exact: Mapping[str, Mapping[str, Array]],
) -> Figure:
    """A panel a law: γ, L and the moment of the opposite region by angle; closed forms dashed."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(2.75 * len(laws), 3.0), layout="constrained")
    panels = figure.subplots(1, len(laws), sharey=True, squeeze=False)[0]
    for axes, (title, found) in zip(panels, laws.items(), strict=True):
        for name, (label, color) in MOMENTS.items():
            axes.plot(angles, found[name], color=color, label=label)
            if title in exact:
                axes.plot(angles, exact[title][name], color=INK, linestyle=DASHED, linewidth=0.9)
        axes.set_title(title, fontsize=8.5)
        axes.set_xlabel("angle φ between w and w*")
        axes.set_xticks([0.0, math.pi / 2, math.pi], ["0", "π/2", "π"])
    panels[0].set_ylabel("eigenvalue")
    panels[0].legend()
    return figure


def tube_in_space(
    boxes: Sequence[tuple[Array, Array]], saddles: Array, minimum: Array, path: Array
) -> Figure:
    """The boxes (low, high corner) of the tube in three dimensions as frames, saddles blue, the
    minimum red, the path of gradient descent pink (figure 7.2b).
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.2, 4.6), layout="constrained")
    axes: Any = figure.add_subplot(projection="3d")
    for low, high in boxes:
        for edge in _edges(np.asarray(low), np.asarray(high)):
            axes.plot(*edge.T, color=MUTED, linewidth=0.5, alpha=0.7)
    axes.plot(*path.T, color=PINK, linewidth=1.8, marker="o", markersize=2.0, zorder=10)
    axes.scatter(*saddles.T, color=BLUE, s=34, depthshade=False, zorder=11)
    axes.scatter(*minimum, color=RED, s=34, depthshade=False, zorder=11)
    reach = float(np.max([high for _, high in boxes]))
    axes.set(xlabel="$x_1$", ylabel="$x_2$", zlabel="$x_3$")
    axes.set(xlim=(0.0, reach), ylim=(0.0, reach), zlim=(0.0, reach))
    axes.view_init(elev=22.0, azim=-58.0)
    axes.set_box_aspect((1.0, 1.0, 1.0), zoom=0.9)
    for axis in (axes.xaxis, axes.yaxis, axes.zaxis):
        axis.pane.set_facecolor("none")
        axis.pane.set_edgecolor(GRID)
    return figure


def _edges(low: Array, high: Array) -> list[Array]:
    """The twelve edges of a box, each as its two ends."""
    corners = [np.array(choice) for choice in product(*zip(low, high, strict=True))]
    return [
        np.array([a, b])
        for i, a in enumerate(corners)
        for b in corners[i + 1 :]
        if int(np.sum(a != b)) == 1
    ]

"""Pictures of families of curves, shares and scattered values: arrays in, a matplotlib Figure out;
nothing is trained here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from globalmin._types import NDArray
from globalmin.drawing import BLUE, COLORS, DASHED, MUTED, ORANGE, SIZE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    Array = NDArray[Any]
    Curve = tuple[Array, Array]


def panels(count: int, *, width: float = 3.3) -> tuple[Figure, list[Axes]]:
    """A figure with `count` axes side by side."""
    from matplotlib.figure import Figure

    figure = Figure(
        figsize=(max(width * count, SIZE[0]) if count > 1 else SIZE[0], SIZE[1]),
        layout="constrained",
    )
    return figure, [figure.add_subplot(1, count, i + 1) for i in range(count)]


def draw_curves(
    axes: Axes,
    curves: Mapping[str, Curve],
    labels: tuple[str, str],
    *,
    scales: str = "",
    marker: str = "",
    dashed: bool = False,
) -> None:
    """Named curves (x, y) into one axes; `scales` names the logarithmic axes, "y" or "xy";
    `dashed`: all but the first are.
    """
    for i, (color, (name, (x, y))) in enumerate(zip(COLORS, curves.items(), strict=False)):
        axes.plot(
            x,
            y,
            color=color,
            label=name,
            marker=marker,
            markersize=3,
            linestyle=DASHED if dashed and i else "-",
        )
    axes.set_xlabel(labels[0])
    axes.set_ylabel(labels[1])
    axes.set_xscale("log" if "x" in scales else "linear")
    axes.set_yscale("log" if "y" in scales else "linear")


def panel_curves(
    shown: Sequence[tuple[Mapping[str, Curve], tuple[str, str], str]],
    *,
    marker: str = "",
    levels: Sequence[float] | Array = (),
    mark: float | None = None,
    width: float = 3.3,
    own_legends: bool = False,
    dashed: bool = False,
) -> Figure:
    """Panels side by side: each is (curves, labels of the axes, logarithmic axes); one legend, or
    one each.

    `levels` are horizontal lines behind the curves, `mark` is a vertical one; `dashed` shows curves
    that cover each other.
    """
    figure, axes = panels(len(shown), width=width)
    for place, (curves, labels, scales) in zip(axes, shown, strict=True):
        for level in levels:
            place.axhline(level, color=MUTED, linestyle=DASHED, linewidth=0.8, zorder=1)
        if mark is not None:
            place.axvline(mark, color=MUTED, linestyle=DASHED, linewidth=0.8, zorder=1)
        draw_curves(place, curves, labels, scales=scales, marker=marker, dashed=dashed)
    for place in axes if own_legends else axes[:1]:
        place.legend()
    return figure


def shares(
    curves: Mapping[str, Curve],
    labels: tuple[str, str],
    *,
    published: Mapping[str, Curve] | None = None,
    scales: str = "",
) -> Figure:
    """Shares between 0 and 1 with markers; the published ones of the same name as open circles."""
    figure, (axes,) = panels(1)
    draw_curves(axes, curves, labels, scales=scales, marker="o")
    for color, name in zip(COLORS, curves, strict=False):
        if published and name in published:
            axes.plot(
                *published[name],
                color=color,
                linewidth=0,
                marker="o",
                markersize=7,
                markerfacecolor="none",
            )
    axes.set_ylim(-0.04, 1.04)
    axes.legend()
    return figure


def scattered(
    groups: Mapping[float, Array], line: Curve, labels: tuple[str, str], *, names: tuple[str, str]
) -> Figure:
    """Values by group as dots, with a reference line through the groups."""
    figure, (axes,) = panels(1)
    for place, values in groups.items():
        axes.plot(
            np.full(len(values), place),
            values,
            color=BLUE,
            linewidth=0,
            marker="o",
            markersize=3.5,
            alpha=0.6,
            zorder=3,
        )
    axes.plot([], [], color=BLUE, linewidth=0, marker="o", markersize=3.5, label=names[0])
    axes.plot(*line, color=ORANGE, label=names[1], zorder=2)
    axes.set_xlabel(labels[0])
    axes.set_ylabel(labels[1])
    axes.legend()
    return figure

"""Pictures of the reproductions: families of curves, shares and scattered values, and phase
diagrams with their transitions.

Arrays in, a matplotlib Figure out; nothing is trained here. Draw and save inside
`drawing.style()`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from globalmin import drawing
from globalmin._types import Array, NDArray
from globalmin.drawing import BLUE, COLORS, DASHED, MUTED, ORANGE, SIZE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    Curve = tuple[NDArray[Any], NDArray[Any]]


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


EMPTY, FULL = "#f3f5f8", drawing.BLUE


@dataclass(frozen=True)
class Plane:
    """Shares over a grid: values of d and k in increasing order, and share[i, j] at (k[i], d[j]);
    NaN where nothing was run.
    """

    title: str
    k: Array
    d: Array
    share: Array


def phase_diagram(
    planes: Sequence[Plane],
    *,
    n: int,
    bar: str = "share of runs",
    columns: int = 3,
    red_is_full: bool = False,
) -> Figure:
    """Planes side by side with the line kd = n, one color bar.

    `red_is_full` colors as OS, figure 2: blue is a share of zero, red of one, the line is white.
    """
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.figure import Figure

    columns = min(columns, len(planes))
    rows = -(-len(planes) // columns)
    figure = Figure(figsize=(2.5 * columns + 0.9, 2.55 * rows + 0.2), layout="constrained")
    grid = figure.subplots(rows, columns, sharey=True, squeeze=False)
    ends = [drawing.BLUE, EMPTY, drawing.RED] if red_is_full else [EMPTY, FULL]
    colors = LinearSegmentedColormap.from_list("share", ends)
    line = "white" if red_is_full else drawing.ORANGE
    mesh = None
    for axes, plane in zip(grid.flat, planes, strict=False):
        mesh = axes.pcolormesh(
            cell_edges(plane.d),
            cell_edges(plane.k),
            plane.share,
            cmap=colors,
            vmin=0.0,
            vmax=1.0,
            rasterized=False,
            linewidth=0,
        )
        _line_of_parameters(axes, plane, n, line)
        axes.set_title(plane.title, fontsize=8.5)
        axes.set_xlabel("dimension d")
        axes.grid(visible=False)
    for row in grid:
        row[0].set_ylabel("width k")
    for axes in list(grid.flat)[len(planes) :]:
        axes.set_visible(False)
    if mesh is not None:
        figure.colorbar(mesh, ax=grid, label=bar, shrink=0.9, aspect=30)
    return figure


def cell_edges(values: Array) -> Array:
    """Borders of the cells around increasing values, half-way between neighbors."""
    values = np.asarray(values, dtype=np.float64)
    if len(values) == 1:
        return np.array([values[0] - 0.5, values[0] + 0.5])
    middle = (values[1:] + values[:-1]) / 2
    return np.concatenate(
        [[values[0] - (middle[0] - values[0])], middle, [values[-1] + (values[-1] - middle[-1])]]
    )


def _line_of_parameters(axes: Axes, plane: Plane, n: int, color: str) -> None:
    edges_d, edges_k = cell_edges(plane.d), cell_edges(plane.k)
    d = np.linspace(max(edges_d[0], 0.3), edges_d[-1], 400)
    seen = (n / d >= edges_k[0]) & (n / d <= edges_k[-1])
    axes.plot(d[seen], n / d[seen], color=color, linewidth=1.4)
    place = d[seen][len(d[seen]) // 2] if seen.any() else None
    if place is not None:
        axes.annotate(
            "kd = n",
            (place, n / place),
            xytext=(-4, -4),
            textcoords="offset points",
            color=color,
            fontsize=8,
            ha="right",
            va="top",
        )
    axes.set_xlim(edges_d[0], edges_d[-1])
    axes.set_ylim(edges_k[0], edges_k[-1])


@dataclass(frozen=True)
class Transition:
    """Shares at points with their fitted curve (x, y), our crossing with its interval, and the
    published crossing.
    """

    x: Array
    share: Array
    curve: tuple[Array, Array]
    crossing: tuple[float, float, float]
    published: float


def transitions(shown: Mapping[str, Transition], *, xlabel: str, columns: int = 3) -> Figure:
    """Shares by width or dimension with their logistic fit, a panel a share, as SJL draws its
    figures 2 and 3.
    """
    from matplotlib.figure import Figure

    columns = min(columns, len(shown))
    rows = -(-len(shown) // columns)
    figure = Figure(figsize=(2.7 * columns + 0.3, 3.1 * rows), layout="constrained")
    panels = figure.subplots(rows, columns, sharey=True, squeeze=False)
    for axes in list(panels.flat)[len(shown) :]:
        axes.set_visible(False)
    for axes, (title, one) in zip(panels.flat, shown.items(), strict=False):
        center, low, high = one.crossing
        axes.axhline(0.5, color=drawing.MUTED, linewidth=0.7, linestyle=(0, (1, 2)), zorder=1)
        axes.axvspan(low, high, color=drawing.BLUE, alpha=0.12, linewidth=0, zorder=1)
        axes.axvline(
            one.published,
            color=drawing.ORANGE,
            linewidth=1.3,
            linestyle=drawing.DASHED,
            zorder=2,
            label=f"published {one.published:g}",
        )
        axes.axvline(
            center,
            color=drawing.BLUE,
            linewidth=1.0,
            zorder=2,
            label=f"ours {center:.2f} ({low:.2f} to {high:.2f})",
        )
        axes.plot(*one.curve, color=drawing.BLUE, zorder=3)
        axes.plot(
            one.x, one.share, color=drawing.INK, linewidth=0, marker="o", markersize=4, zorder=4
        )
        axes.set_xlim(one.x[0] - 0.5, one.x[-1] + 0.5)
        axes.set_title(title, fontsize=8.5, pad=30)  # above the legend, which has two lines
        axes.set_xlabel(xlabel)
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), borderaxespad=0.2, fontsize=7.5)
    for row in panels:
        row[0].set_ylabel("share")
    panels[0][0].set_ylim(-0.04, 1.06)
    return figure


def errors_by_step(
    panels: Mapping[str, Mapping[str, tuple[Array, Array]]],
    *,
    floors: Mapping[str, float] | None = None,
    ylabel: str = "RMSE",
) -> Figure:
    """Curves of the error by step on logarithmic axes, a panel a setting; `floors` are levels that
    no run of a panel can pass.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3.1 * len(panels) + 0.3, 2.9), layout="constrained")
    axes = figure.subplots(1, len(panels), squeeze=False)[0]
    for place, (title, curves) in zip(axes, panels.items(), strict=True):
        place.set_xscale("log")
        place.set_yscale("log")
        for color, (name, (step, error)) in zip(drawing.COLORS, curves.items(), strict=False):
            place.plot(step + 1, np.maximum(error, 1e-16), color=color, label=name, linewidth=1.3)
        floor = (floors or {}).get(title)
        if floor is not None:
            place.axhline(floor, color=drawing.RED, linewidth=1.2, linestyle=drawing.DASHED)
            place.set_ylim(bottom=0.7 * floor)
            place.annotate(
                f"no run can pass {floor:.3f}",
                (0.03, floor),
                xycoords=("axes fraction", "data"),
                xytext=(0, -4),
                textcoords="offset points",
                color=drawing.RED,
                fontsize=8,
                va="top",
            )
        place.set_title(title, fontsize=8.5)
        place.set_xlabel("step + 1")
        drawing.decade_ticks(place, "x")
        _few_ticks(place)
    axes[0].set_ylabel(ylabel)
    axes[-1].legend(fontsize=7.5)
    return figure


def _few_ticks(axes: Axes) -> None:
    """Powers of ten where the axis spans several, plain numbers where it does not."""
    low, high = axes.get_ylim()
    if high / low > 1e3:
        drawing.decade_ticks(axes, "y")
        return
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}"))
    axes.yaxis.set_minor_locator(NullLocator())


def activation_curves(z: Array, curves: Mapping[str, Array]) -> Figure:
    """Activations over one axis, as in SJL, figure 1."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=drawing.SIZE, layout="constrained")
    axes = figure.add_subplot()
    for color, (name, values) in zip(drawing.COLORS, curves.items(), strict=False):
        axes.plot(z, values, color=color, label=name)
    axes.set_xlabel("z")
    axes.set_ylabel("φ(z)")
    axes.legend()
    return figure


def widths_by_dimension(curves: Mapping[str, tuple[Array, Array]], *, n: int) -> Figure:
    """Width against dimension on a logarithmic axis: what is found, what is proved, and what each
    theorem asks for.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.6, 3.4), layout="constrained")
    axes = figure.add_subplot()
    for i, (color, (name, (d, k))) in enumerate(zip(drawing.COLORS, curves.items(), strict=False)):
        axes.plot(
            d, k, color=color, label=name, marker="o" if i < len(curves) else "", markersize=3
        )
    axes.set_yscale("log")
    drawing.decade_ticks(axes, "y")
    axes.set_xlabel("dimension d")
    axes.set_ylabel(f"width k, n = {n}")
    axes.legend(fontsize=7.5, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure

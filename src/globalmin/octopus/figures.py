"""The pictures of the chapter on saddles: arrays in, a matplotlib Figure out; only grids of the
functions are computed here.

Save them with `drawing.save`, which applies the style sheet.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from globalmin._types import Array
from globalmin.drawing import BLUE, COLORS, GREEN, GRID, INK, MUTED, ORANGE, RED
from globalmin.octopus.function import Octopus
from globalmin.octopus.warmups import far_value, saddle_value
from globalmin.references import states

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    Curve = tuple[Array, Array]


LEVELS = 30


@states("DU-F7.1", "DU-E7.a", "DU-E7.b")
def warmups(band_path: Array, far_path: Array, *, half_width: float = 0.03) -> Figure:
    """Contours of the two warm-ups with a path of descent on each (n x 2); the red starts leave the
    saddle late (Figure 7.1).
    """
    from matplotlib.patches import Rectangle

    figure, (left, right) = _panels(1, 2, (8.0, 3.1), width_ratios=(1.0, 1.7))
    _contours(left, saddle_value, (-1.0, 1.0), (-1.0, 1.0))
    left.add_patch(
        Rectangle((-1.0, -half_width), 2.0, 2.0 * half_width, color=RED, alpha=0.35, linewidth=0)
    )
    left.set_title("start in a thin band")
    low = min(float(far_path[:, 0].min()) - 0.5, -3.0)
    _contours(right, far_value, (low, 1.0), (-1.0, 1.0))
    right.add_patch(Rectangle((low, -1.0), -4.0 - low, 2.0, color=RED, alpha=0.12, linewidth=0))
    right.set_title("start far away")
    for axes, path in ((left, band_path), (right, far_path)):
        axes.plot(
            path[:, 0],
            path[:, 1],
            color=ORANGE,
            marker="o",
            markersize=2.5,
            linewidth=1.2,
            zorder=4,
        )
        axes.plot([0.0], [0.0], color=BLUE, marker="o", markersize=5, zorder=5)
        axes.set_ylim(-1.0, 1.0)
        axes.set_xlabel("$x_1$")
        axes.set_ylabel("$x_2$")
    left.set_xlim(-1.0, 1.0)
    right.set_xlim(low, 1.0)
    return figure


@states("DU-F7.2", "DU-O7")
def tube_and_octopus(
    tube: Octopus, octopus: Octopus, tube_path: Array, octopus_paths: Sequence[Array]
) -> Figure:
    """Contours in two dimensions, saddles blue, minima red, paths of descent orange (Figure
    7.2).
    """
    figure, (left, right) = _panels(1, 2, (8.0, 3.8))
    reach = 6.0 * tube.tau
    _contours(left, tube.value, (0.0, reach), (0.0, reach))
    _contours(right, octopus.value, (-reach, reach), (-reach, reach))
    left.set_title("tube")
    right.set_title("octopus")
    for axes, function, paths in ((left, tube, [tube_path]), (right, octopus, octopus_paths)):
        for path in paths:
            axes.plot(
                path[:, 0],
                path[:, 1],
                color=ORANGE,
                marker="o",
                markersize=1.8,
                linewidth=1.0,
                zorder=4,
            )
        _mark_critical(axes, function)
        axes.set_aspect("equal")
        axes.set_xlabel("$x_1$")
        axes.set_ylabel("$x_2$")
    return figure


def _mark_critical(axes: Axes, function: Octopus) -> None:
    signs = ((1, 1), (1, -1), (-1, 1), (-1, -1)) if function.mirrored else ((1, 1),)
    for passed, color in ((0, BLUE), (1, BLUE), (2, RED)):
        points = np.unique([function.saddle(passed, pair) for pair in signs], axis=0)
        axes.scatter(points[:, 0], points[:, 1], s=26, color=color, zorder=5, linewidths=0)


@states("DU-F7.5", "DU-O7")
def domains(tau: float) -> Figure:
    """The domains in two dimensions: where which formula holds, for the tube and for its mirror
    images (Figure 7.5).
    """
    figure, (left, right) = _panels(1, 2, (8.0, 3.9))
    for quadrants, axes in (((1, 1),), left), (((1, 1), (1, -1), (-1, 1), (-1, -1)), right):
        for signs in quadrants:
            _draw_pieces(axes, tau, signs, labels=len(quadrants) == 1)
        axes.set_aspect("equal")
        axes.grid(visible=False)
        low = -6.4 if len(quadrants) > 1 else -0.3
        axes.set(
            xlim=(low * tau, 6.4 * tau), ylim=(low * tau, 6.4 * tau), xlabel="$x_1$", ylabel="$x_2$"
        )
        ticks = [k for k in (-6, -4, -2, 0, 1, 2, 4, 6) if k >= low]
        names = {0: "0", 1: "τ"}
        for set_ticks in (axes.set_xticks, axes.set_yticks):
            set_ticks(
                [k * tau for k in ticks], [names.get(k, f"{k}τ".replace("-", "−")) for k in ticks]
            )
    left.set_title("tube: where which formula holds")
    right.set_title("octopus: the tube and its mirror images")
    return figure


def _draw_pieces(axes: Axes, tau: float, signs: tuple[int, int], *, labels: bool) -> None:
    """One quadrant: boxes in units of tau with the color of their formula."""
    from matplotlib.patches import Rectangle

    pieces = (
        ((0, 0, 1, 1), BLUE, "first"), ((1, 0, 1, 1), GRID, "buffer"), ((2, 0, 4, 1), BLUE,
        "second saddle"),
        ((2, 1, 4, 1), GRID, "buffer to the minimum"), ((2, 2, 4, 4), ORANGE, "minimum"),
    )  # fmt: skip
    for (x, y, width, height), color, name in pieces:
        corner = (
            min(signs[0] * x, signs[0] * (x + width)) * tau,
            min(signs[1] * y, signs[1] * (y + height)) * tau,
        )
        axes.add_patch(
            Rectangle(
                corner,
                width * tau,
                height * tau,
                facecolor=color,
                alpha=0.45,
                edgecolor=INK,
                linewidth=0.6,
            )
        )
        if labels:
            center = (corner[0] + width * tau / 2, corner[1] + height * tau / 2)
            axes.annotate(name, center, ha="center", va="center", fontsize=7.5, color=INK)


@states("DU-F7.3", "DU-F7.4")
def objective_by_step(
    panels: Mapping[str, Mapping[str, Curve]],
    *,
    least: Mapping[str, float],
    logarithmic: bool = False,
) -> Figure:
    """The function by step for several L, one panel each: gradient descent against perturbed
    (Figures 7.3 and 7.4).

    Parameters
    ----------
    panels : title -> name of the method -> (steps, values).
    least : title -> the least value, drawn as a line.
    logarithmic : on a logarithmic axis of steps, so that a whole run of descent fits.
    """
    columns = 2
    figure, grid = _panels(
        math.ceil(len(panels) / columns), columns, (7.6, 2.6 * math.ceil(len(panels) / columns))
    )
    for axes, (title, curves) in zip(np.ravel(grid), panels.items(), strict=True):
        for color, (name, (steps, values)) in zip((BLUE, RED), curves.items(), strict=True):
            axes.plot(steps, values, color=color, label=name)
        axes.axhline(least[title], color=MUTED, linestyle=(0, (4, 2)), linewidth=0.9)
        axes.set(title=title, xlabel="step", ylabel="f")
        if logarithmic:
            axes.set_xscale("log")
        axes.legend(loc="upper right")
    return figure


@states("DU-K7", "DU-L7.3", "DU-T7.3")
def escape_times(
    descent: Mapping[str, Curve],
    laws: Mapping[str, Curve],
    bounds: Mapping[str, Curve],
    perturbed: Mapping[str, Curve],
) -> Figure:
    """Left: escape times of descent by saddle, with the law (line) and the proved bound (dashed).
    Right: the last escape time of perturbed descent by dimension, with a straight line. Each
    mapping: label -> (saddles or dimensions, steps).
    """
    figure, (left, right) = _panels(1, 2, (8.0, 3.3))
    for color, (name, (k, steps)) in zip(COLORS, descent.items(), strict=False):
        left.plot(k, steps, color=color, linewidth=0, marker="o", markersize=2.6, label=name)
        left.plot(*laws[name], color=color, linewidth=0.9)
        left.plot(*bounds[name], color=color, linewidth=0.8, linestyle=(0, (4, 2)))
    left.set_yscale("log")
    left.set(
        xlabel="saddle k",
        ylabel="steps to pass it",
        title="gradient descent: law (line), proved bound (dashed)",
    )
    for color, (name, (d, steps)) in zip(COLORS, perturbed.items(), strict=False):
        slope = float(np.dot(d, steps) / np.dot(d, d))
        right.plot(
            d,
            steps,
            color=color,
            linewidth=0,
            marker="o",
            markersize=3,
            label=f"{name}: {slope:.0f} a saddle",
        )
        right.plot(
            [0.0, float(np.max(d))], [0.0, slope * float(np.max(d))], color=color, linewidth=0.9
        )
    right.set(
        xlabel="dimension d",
        ylabel="steps to the minimum",
        title="perturbed gradient descent: a line",
    )
    for axes in (left, right):
        axes.title.set_fontsize(8.5)
        axes.legend(fontsize=7.5)
    return figure


def _contours(
    axes: Axes, function: Callable[[Array], Array], x: tuple[float, float], y: tuple[float, float]
) -> None:
    """Level lines between evenly spaced and quantiles, so that flat parts get their share, over a
    shade darker lower down.
    """
    from matplotlib.colors import LinearSegmentedColormap

    first, second = np.meshgrid(np.linspace(*x, 181), np.linspace(*y, 181))
    values = np.ma.masked_invalid(function(np.stack([first, second], axis=-1)))
    known, share = values.compressed(), np.linspace(0.0, 1.0, LEVELS)
    levels = 0.5 * (np.quantile(known, share) + known.min() + share * np.ptp(known))
    ranks = np.ma.array(
        np.searchsorted(levels, values.filled(0.0)), mask=values.mask, dtype=np.float64
    )
    shade = LinearSegmentedColormap.from_list("shade", ["#b8c4d2", "#ffffff"])
    axes.pcolormesh(first, second, ranks, cmap=shade, shading="gouraud", rasterized=True)
    axes.contour(
        first, second, values, levels=levels, colors=MUTED, linewidths=0.4, linestyles="solid"
    )
    axes.grid(visible=False)


def _panels(rows: int, columns: int, size: tuple[float, float], **layout: Sequence[float]):  # noqa: ANN202 - matplotlib on use
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    return figure, figure.subplots(rows, columns, gridspec_kw=layout or None)


STYLES = ((BLUE, "o"), (RED, "s"), (ORANGE, "D"), (GREEN, "^"), (INK, "v"), (MUTED, "P"))


def iterations_by_dimension(
    dimensions: Array, iterations: Mapping[str, Array], *, x_label: str, title: str
) -> Figure:
    """Medians over the runs with their range, on a logarithmic axis; dimensions where a run did not
    arrive are left out.

    Parameters
    ----------
    dimensions : of the family, increasing.
    iterations : method -> array of shape (dimensions, runs); NaN for a run that did not arrive.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.6, 3.6), layout="constrained")
    axes = figure.add_subplot()
    for i, ((color, marker), (name, counts)) in enumerate(
        zip(STYLES, iterations.items(), strict=False)
    ):
        arrived = np.isfinite(counts).all(axis=1)
        if not arrived.any():
            axes.plot(
                [],
                [],
                color=color,
                marker=marker,
                markersize=4,
                linestyle=":",
                label=f"{name}: never",
            )
            continue
        d, found = np.asarray(dimensions)[arrived], counts[arrived]
        axes.fill_between(
            d, found.min(axis=1), found.max(axis=1), color=color, alpha=0.15, linewidth=0
        )
        thick = 3.6 if i == 0 else 1.6  # plain descent shows below what coincides with it
        axes.plot(
            d,
            np.median(found, axis=1),
            color=color,
            marker=marker,
            markersize=2.5 * thick**0.5,
            linewidth=thick,
            label=name,
        )
    axes.set_yscale("log")
    axes.set_xticks(np.asarray(dimensions), [f"{size:g}" for size in dimensions])
    axes.set(xlabel=x_label, ylabel="iterations to a second-order point", title=title)
    axes.legend(fontsize=7.5, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure

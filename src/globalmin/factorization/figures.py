"""Figures 4.1 and 4.2 and the picture of the step-size schedules: arrays in, a matplotlib Figure
out; nothing is trained here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from globalmin._types import Array
from globalmin.drawing import BLUE, COLORS, MUTED, RED
from globalmin.references import states

if TYPE_CHECKING:
    from matplotlib.figure import Figure


FLOOR = 1e-32  # what is smaller is drawn at this height


@states("DU-F4.1")
def objective_and_ratio(plain: tuple[Array, Array], penalized: tuple[Array, Array]) -> Figure:
    """Figure 4.1: objective (a) and ratio of the norms of U and V (b) by step; red without, blue
    with the regularizer.

    Parameters
    ----------
    plain, penalized : objectives and ratios of the two runs, one entry per step.
    """
    figure, (left, right) = _pair(("step", "step"), ("objective", "norm of U / norm of V"))
    for name, color, line, (objectives, ratios) in (
        ("without regularizer", RED, "-", plain),
        ("with regularizer", BLUE, "--", penalized),
    ):
        left.semilogy(np.maximum(objectives, FLOOR), color=color, linestyle=line, label=name)
        right.plot(ratios, color=color, linestyle=line, label=name)
    left.legend()
    right.axhline(1.0, color=MUTED, linestyle="--", linewidth=1.0)
    return figure


@states("DU-F4.2")
def layer_balance(steps: Array, balanced: Array, unbalanced: Array) -> Figure:
    """Figure 4.2: differences (a, c) and ratios (b, d) of the squared norms of neighboring layers,
    for both starts.

    Parameters
    ----------
    steps : the recorded steps. balanced, unbalanced : squared Frobenius norms, one row per recorded
        step, one column per layer.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 6.0), layout="constrained")
    for row, (name, norms) in enumerate(
        (("balanced start", balanced), ("unbalanced start", unbalanced))
    ):
        left, right = figure.add_subplot(2, 2, 2 * row + 1), figure.add_subplot(2, 2, 2 * row + 2)
        for h in range(norms.shape[1] - 1):
            words = f"layers {h + 1}, {h + 2}"
            left.plot(steps, norms[:, h] - norms[:, h + 1], color=COLORS[h], label=words)
            right.plot(steps, norms[:, h] / norms[:, h + 1], color=COLORS[h], label=words)
        left.set_ylabel(f"{name}: difference")
        right.set_ylabel(f"{name}: ratio")
        right.axhline(1.0, color=MUTED, linestyle="--", linewidth=1.0)
        if (norms[:, :-1] > 3.0 * norms[:, 1:]).any():
            right.set_yscale("log")
        for axes in (left, right):
            axes.set_xlabel("step")
            axes.legend()
    return figure


@states("DU-T4.4")
def schedules(curves: Mapping[str, tuple[Array, Array]]) -> Figure:
    """Loss by step (both logarithmic) for several schedules: the printed one stays where it
    began.
    """
    from matplotlib.figure import Figure

    figure = Figure(layout="constrained")
    axes = figure.add_subplot()
    for color, (name, (steps, losses)) in zip(COLORS, curves.items(), strict=False):
        line = "-" if color == COLORS[0] else "--"  # curves that do not move lie on each other
        axes.loglog(
            np.asarray(steps) + 1.0,
            np.maximum(losses, FLOOR),
            color=color,
            linestyle=line,
            label=name,
        )
    axes.set_xlabel("step (from 1 on)")
    axes.set_ylabel("loss")
    axes.legend()
    return figure


@states("DU-T4.5")
def rank_one_phases(runs: Mapping[str, tuple[Array, int | None]]) -> Figure:
    """Distance to the rank-one matrix by step for several dimensions; the end of stage one is a
    dot.
    """
    from matplotlib.figure import Figure

    figure = Figure(layout="constrained")
    axes = figure.add_subplot()
    for color, (name, (distances, first)) in zip(COLORS, runs.items(), strict=False):
        axes.semilogy(np.maximum(distances, FLOOR), color=color, label=name)
        if first is not None:
            axes.plot(
                [first], [distances[first]], marker="o", color=color, markersize=5, linewidth=0
            )
    axes.set_xlabel("step")
    axes.set_ylabel("distance to M, relative")
    axes.legend()
    return figure


def _pair(x_labels: tuple[str, str], y_labels: tuple[str, str]):  # noqa: ANN202 - matplotlib is imported when a picture is drawn
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 3.4), layout="constrained")
    both = (figure.add_subplot(1, 2, 1), figure.add_subplot(1, 2, 2))
    for axes, x_label, y_label in zip(both, x_labels, y_labels, strict=True):
        axes.set_xlabel(x_label)
        axes.set_ylabel(y_label)
    return figure, both

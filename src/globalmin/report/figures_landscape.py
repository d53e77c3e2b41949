"""Pictures of the claims about quadratic networks and about points of the landscape: arrays in, a
matplotlib Figure out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from globalmin._types import Array
from globalmin.report.figures import (
    BLUE,
    GREEN,
    INK,
    MUTED,
    ORANGE,
    decade_ticks,
    integer_ticks,
    level,
    new_axes,
    padded_decades,
    short,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure


Rung = tuple[str, float, str, str]  # label, value, color, text beside the value


def ladder(rungs: Sequence[Rung], *, xlabel: str, logarithmic: bool = True) -> Figure:
    """Named positive values one below the other on a common axis, each with its text.

    Parameters
    ----------
    rungs : label, value, color and text beside the value; the first is on top.
    """
    figure, axes = new_axes(xlabel, "")
    values = [value for _, value, _, _ in rungs]
    if logarithmic:
        axes.set_xscale("log")
        low, high = padded_decades(min(values), max(values), below=0.2)
        axes.set_xlim(low, high)
        decade_ticks(axes, "x")
    else:
        low = 0.0
        axes.set_xlim(0.0, 1.15 * max(values))
        integer_ticks(axes)
    for place, (_, value, color, text) in enumerate(rungs):
        axes.plot(
            [low, value],
            [-place, -place],
            color=color,
            linewidth=2.0,
            solid_capstyle="butt",
            zorder=2,
        )
        axes.plot([value], [-place], color=color, marker="o", markersize=6, zorder=3)
        side = "right" if value == max(values) else "left"
        axes.annotate(
            text,
            (value, -place),
            xytext=(0, 7),
            textcoords="offset points",
            color=color,
            fontsize=8,
            ha=side,
        )
    axes.set_yticks([-place for place in range(len(rungs))], [label for label, _, _, _ in rungs])
    axes.tick_params(axis="y", labelcolor=INK)
    axes.set_ylim(-len(rungs) + 0.4, 0.7)
    axes.grid(visible=False, axis="y")
    axes.grid(visible=True, axis="x")
    return figure


def bracket(gap: float, references: Sequence[tuple[str, float]]) -> Figure:
    """How far above the proved lower bound things are: the stored network at most the gap, and
    named others for comparison.

    Parameters
    ----------
    gap : proved bound of the objective of the stored network minus the global minimum.
    references : (name, objective minus the proved lower bound), floating point.
    """
    rungs: list[Rung] = [
        (name, value, MUTED, short(value, up=False, digits=3))
        for name, value in references
        if value > 0
    ]
    rungs.append(("this network", max(gap, 1e-300), GREEN, f"proved: ≤ {short(gap, up=True)}"))
    return ladder(rungs, xlabel="objective above the proved lower bound")


def dual_spectrum(eigenvalues: Array, *, threshold: float, two_sided: bool) -> Figure:
    """Eigenvalues of Z = Σ r x xᵀ between the thresholds ±c of weight decay: those at ±c are the
    directions of the neurons.
    """
    figure, axes = new_axes("index", "eigenvalue of Z = Σ r x xᵀ")
    values = np.sort(eigenvalues)[::-1]
    index = np.arange(1, len(values) + 1)
    at_threshold = np.abs(values) >= threshold * (1 - 1e-6)
    axes.plot(
        index[~at_threshold],
        values[~at_threshold],
        color=BLUE,
        linewidth=0,
        marker="o",
        markersize=4,
        zorder=3,
    )
    axes.plot(
        index[at_threshold],
        values[at_threshold],
        color=ORANGE,
        linewidth=0,
        marker="o",
        markersize=5,
        zorder=4,
    )
    level(axes, -threshold, f"−c = −{short(threshold, up=True)}", GREEN, offset=-3.5)
    if two_sided:
        level(axes, threshold, f"c = {short(threshold, up=True)}", GREEN, offset=3.5)
    reach = 1.35 * max(threshold, float(np.abs(values).max(initial=0.0)))
    axes.set_ylim(-reach, reach)
    axes.set_xlim(0, len(values) + 1)
    integer_ticks(axes)
    return figure


def escape_curve(steps: Array, losses: Array, *, curvature: float, proved: bool) -> Figure:
    """The loss along a unit direction through a saddle, with the parabola of its curvature there.

    Parameters
    ----------
    steps, losses : positions along the direction (0 is the stored network) and the loss there,
        floating point.
    curvature : second derivative of the loss at 0, negative.
    proved : whether the checker verified that the curvature is at most this.
    """
    figure, axes = new_axes("step along the direction of escape", "loss  ½ Σ r²")
    start = float(losses[int(np.argmin(np.abs(steps)))])
    low, high = float(losses.min()), float(losses.max())
    pad = 0.08 * (high - low) or abs(high) * 0.1 or 1.0
    parabola = start + 0.5 * curvature * steps**2
    seen = parabola >= low - pad
    axes.plot(steps[seen], parabola[seen], color=GREEN, linestyle=(0, (4, 2)), zorder=2)
    axes.plot(steps, losses, color=BLUE, zorder=3)
    axes.plot([0.0], [start], color=INK, marker="o", markersize=5, zorder=4)
    word = "proved: " if proved else ""
    text = f"{word}curvature ≤ −{short(-curvature, up=False)}"
    axes.annotate(
        text,
        (0.0, start),
        xytext=(0, 8),
        textcoords="offset points",
        color=GREEN,
        fontsize=8,
        ha="center",
    )
    axes.set_ylim(low - pad, high + 2.0 * pad)
    axes.margins(x=0.02)
    return figure


def barrier(excess: float, height: float) -> Figure:
    """Below the barrier: the excess loss of the stored weights beside the least excess of
    rank-deficient ones.
    """
    rungs: list[Rung] = [
        ("rank-deficient\nweights", height, ORANGE, f"proved: ≥ {short(height, up=False)}"),
        ("this network", max(excess, 1e-300), GREEN, f"proved: ≤ {short(excess, up=True)}"),
    ]
    return ladder(rungs, xlabel="loss above the least loss of quadratic networks")


def sample_count(n: int, needed: int, *, determined: bool) -> Figure:
    """Samples beside the number d(d+1)/2 from which on they can determine a quadratic function."""
    rungs: list[Rung] = [
        ("samples n", float(n), GREEN if determined else ORANGE, f"{n:,}"),
        ("d(d+1)/2", float(needed), MUTED, f"{needed:,}"),
    ]
    return ladder(rungs, xlabel="count", logarithmic=False)

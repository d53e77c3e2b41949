"""The picture of a run proved from its start: the residual, the error of the replay, and the
moment from which the rest is proved. Arrays in, a matplotlib Figure out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from globalmin import drawing
from globalmin._types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_HEIGHT = 1.35  # of the house size: two axes one above the other
_REST = 0.3  # of the run, how much of the proved rest is drawn


def proved_run(steps: Array, norms: Array, errors: Array, *, rate: float, bits: int) -> Figure:
    """Residual by step above, error bound of the replay below, and the line from which on the
    checker has proved the rest.

    Parameters
    ----------
    steps, norms : recorded steps, the last is K, and the residual norms there (floating point).
    errors : bound of the distance between replay and exact run; the last is proved, the others are
        estimated, 0 where nothing was rounded yet.
    rate : proved factor of the residual in every step after the last.
    bits : of the replay.
    """
    from matplotlib.figure import Figure

    width, height = drawing.SIZE
    figure = Figure(figsize=(width, _HEIGHT * height), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True)
    last, end = float(steps[-1]), float(steps[-1]) * (1.0 + _REST) + 1.0
    above.plot(steps, norms, color=drawing.BLUE, zorder=3)
    rest = np.linspace(last, end, 40)
    bound = norms[-1] * rate ** (rest - last)
    above.plot(rest, bound, color=drawing.GREEN, linestyle=drawing.DASHED, zorder=4)
    _logarithmic(above, [*norms, *bound], "residual ‖r‖")
    known = errors > 0.0
    below.plot(steps[known], errors[known], color=drawing.ORANGE, linestyle=drawing.DASHED)
    below.plot([last], [errors[-1]], color=drawing.GREEN, marker="o", markersize=5, zorder=4)
    _logarithmic(below, errors[known], f"error of the replay, {bits} bits")
    for axes in (above, below):
        axes.axvline(last, color=drawing.GREEN, linewidth=1.2, zorder=2)
        axes.grid(visible=False, axis="x")
    _label(above, last, "the rest\nis proved", 0.97)
    _label(below, last, f"step {last:,.0f}", 0.1)
    below.set_xlabel("step from the random start")
    below.set_xlim(0.0, end)
    drawing.integer_ticks(below)
    return figure


def _logarithmic(axes: Axes, values: Array | list[float], label: str) -> None:
    axes.set_yscale("log")
    axes.set_ylim(*drawing.padded_decades(float(min(values)), float(max(values))))
    axes.set_ylabel(label)
    drawing.decade_ticks(axes, "y")


def _label(axes: Axes, x: float, text: str, height: float) -> None:
    axes.annotate(
        text,
        (x, height),
        xycoords=("data", "axes fraction"),
        xytext=(5, 0),
        textcoords="offset points",
        color=drawing.GREEN,
        fontsize=8,
        ha="left",
        va="top" if height > 0.5 else "bottom",
    )

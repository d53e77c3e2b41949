"""Pictures of what gradient flow conserves: arrays in, a matplotlib Figure out; save with
`drawing.save`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from globalmin import drawing
from globalmin._types import Array
from globalmin.references import states

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


FLOOR = 1e-17  # a drift of exactly zero is drawn here


@states("DU-T4.1", "DU-T4.2", "DU-T4.3")
def conservation(runs: Mapping[str, tuple[Array, Array]], *, tolerance: float = 1e-8) -> Figure:
    """Largest |D(t) - D(0)| over all conserved quantities along gradient flow, one curve per
    network.

    Parameters
    ----------
    runs : for each name the times and the values of the conserved quantities, one row per time.
    tolerance : drawn as a line.
    """
    figure, axes = drawing.new_axes("time t", "largest |D(t) − D(0)|")
    for color, (name, (time, values)) in zip(drawing.COLORS, runs.items(), strict=False):
        drift = np.abs(values - values[0]).max(axis=1)
        axes.plot(time[1:], np.maximum(drift[1:], FLOOR), color=color, label=name)
    axes.axhline(tolerance, color=drawing.MUTED, linestyle=(0, (4, 2)), linewidth=1.0)
    axes.set_yscale("log")
    axes.set_ylim(FLOOR / 2, 30 * tolerance)
    drawing.decade_ticks(axes, "y")
    axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=3, borderaxespad=0.1)
    return figure


@states("DU-T4.1", "DU-T4.3")
def invariants(flow: tuple[Array, Array], descents: Mapping[str, tuple[Array, Array]]) -> Figure:
    """Every conserved quantity by time: flat along the flow (gray), drifting along descent (one
    color per run).

    Parameters
    ----------
    flow, descents : times and values, one row per time and one column per quantity; times of
        descent are steps times step size.
    """
    figure, axes = drawing.new_axes("time t  (steps × step size)", "‖incoming‖² − ‖outgoing‖²")
    _bundle(axes, *flow, color=drawing.MUTED, name="gradient flow", width=2.4)
    for color, (name, (time, values)) in zip(drawing.COLORS, descents.items(), strict=False):
        _bundle(axes, time, values, color=color, name=name, width=1.1)
    axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2, borderaxespad=0.1)
    return figure


def drift_by_step(
    time: Array, slope: Array, descents: Mapping[str, tuple[Array, Array, float]]
) -> Figure:
    """Drift divided by the step size, for several step sizes, against the integral of D(g) along
    the flow.

    Parameters
    ----------
    time, slope : of the flow, one column per quantity; the limit of the drift divided by the step.
    descents : for each run its times, its drift and its step size.
    """
    figure, axes = drawing.new_axes("time t  (steps × step size)", "drift ÷ step size")
    for color, (name, (at, drift, step)) in zip(drawing.COLORS, descents.items(), strict=False):
        _bundle(axes, at, drift / step, color=color, name=name, width=1.1)
    _bundle(
        axes, time, slope, color=drawing.MUTED, name="limit, from the flow", width=0.9, dashed=True
    )
    axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2, borderaxespad=0.1)
    return figure


def proportionality(steps: Array, drifts: Mapping[str, Array]) -> Figure:
    """Largest drift by step size, both logarithmic, one curve per network or method, with a line of
    slope one.

    Parameters
    ----------
    steps : step sizes; every run covers the same time.
    drifts : the largest drift for each step size.
    """
    figure, axes = drawing.new_axes("step size η", "largest drift of a run")
    for color, (name, values) in zip(drawing.COLORS, drifts.items(), strict=False):
        axes.plot(steps, values, color=color, marker="o", markersize=3, label=name)
    everything = np.concatenate([np.asarray(values) for values in drifts.values()])
    top = 1.6 * float(everything.max())
    axes.plot(
        steps,
        top * steps / steps.max(),
        color=drawing.MUTED,
        linestyle=(0, (4, 2)),
        linewidth=0.9,
        label="slope 1",
    )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(*drawing.padded_decades(float(steps.min()), float(steps.max()), below=0.05))
    axes.set_ylim(*drawing.padded_decades(float(everything.min()), top))
    drawing.decade_ticks(axes, "x")
    drawing.decade_ticks(axes, "y")
    axes.legend(loc="lower right")
    return figure


def _bundle(
    axes: Axes,
    time: Array,
    values: Array,
    *,
    color: str,
    name: str,
    width: float,
    dashed: bool = False,
) -> None:
    """One line per column in one color, with one entry in the legend."""
    style = (0, (4, 2)) if dashed else "-"
    for column, line in enumerate(np.atleast_2d(values.T)):
        axes.plot(
            time,
            line,
            color=color,
            linewidth=width,
            linestyle=style,
            label=name if column == 0 else None,
        )

"""Pictures of networks with one filter (DU, chapter 5): arrays in, a matplotlib Figure out; nothing
is trained here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from globalmin._types import Array
from globalmin.drawing import BLUE, COLORS, MUTED, RED, new_axes
from globalmin.references import states

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@states("DU-F5.1b")
def success_and_failure(success: Array, failure: Array, plateau: float) -> Figure:
    """Population loss by step of a run that finds the teacher and of one that is trapped; `plateau`
    is the spurious loss.
    """
    figure, axes = new_axes("step (logarithmic from 1 on)", "population loss", grid="xy")
    axes.semilogy(np.arange(len(success)) + 1, success, color=BLUE, label="finds the teacher")
    axes.semilogy(np.arange(len(failure)) + 1, failure, color=RED, label="trapped")
    axes.axhline(
        plateau,
        color=MUTED,
        linestyle="--",
        linewidth=1.0,
        label=f"spurious minimum {plateau:.6f}",
    )
    axes.set_xscale("log")
    axes.set_ylim(bottom=max(float(np.min(success)), 1e-13) / 3.0)
    axes.legend()
    return figure


@states("DU-F5.2")
def phases(curves: Mapping[str, Array], *, first_phase_ends: int | None = None) -> Figure:
    """Angle, error of the output weights, of their sum, and of the prediction by step; the end of
    phase one is marked.
    """
    figure, axes = new_axes("step", "error", grid="xy")
    for color, (name, values) in zip(COLORS, curves.items(), strict=False):
        axes.semilogy(values, color=color, label=name)
    if first_phase_ends is not None:
        axes.axvline(first_phase_ends, color=MUTED, linestyle="--", linewidth=1.0)
        axes.annotate(
            "phase two",
            (first_phase_ends, 0.03),
            xycoords=("data", "axes fraction"),
            xytext=(4, 0),
            color=MUTED,
            textcoords="offset points",
        )
    axes.legend()
    return figure

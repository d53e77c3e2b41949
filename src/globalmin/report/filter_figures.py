"""The pictures of the chapters on filters: arrays in, a matplotlib Figure out; nothing is trained
here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from globalmin._types import Array
from globalmin.references import states
from globalmin.report.figures import BLUE, GREEN, MUTED, ORANGE, RED, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


COLORS = (BLUE, ORANGE, GREEN, RED, MUTED)


def save(draw: Callable[[], Figure], path: Path) -> tuple[Path, Path]:
    """Draw inside the style sheet and write `path`.svg and `path`.png; returns both paths."""
    import matplotlib

    with style(), matplotlib.rc_context({"svg.hashsalt": "globalmin"}):
        figure = draw()
        svg, png = (path.parent / f"{path.name}.{ending}" for ending in ("svg", "png"))
        figure.savefig(svg, metadata={"Date": None})
        figure.savefig(png, dpi=130, facecolor="white")
    return svg, png


@states("DU-F5.1b")
def success_and_failure(success: Array, failure: Array, plateau: float) -> Figure:
    """Population loss by step of a run that finds the teacher and of one that is trapped; `plateau`
    is the spurious loss.
    """
    figure, axes = _axes("step (logarithmic from 1 on)", "population loss")
    axes.semilogy(np.arange(len(success)) + 1, success, color=BLUE, label="finds the teacher")
    axes.semilogy(np.arange(len(failure)) + 1, failure, color=RED, label="trapped")
    axes.axhline(
        plateau, color=MUTED, linestyle="--", linewidth=1.0, label=f"spurious minimum {plateau:.6f}"
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
    figure, axes = _axes("step", "error")
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


@states("DU-F6.3a", "DU-F6.3b", "DU-F6.3cd")
def convergence(curves: Mapping[str, Array], x_label: str, y_label: str) -> Figure:
    """Several runs by step or epoch on a logarithmic axis: distances to the teacher or relative
    losses.
    """
    figure, axes = _axes(x_label, y_label)
    for color, (name, values) in zip(COLORS, curves.items(), strict=False):
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


def _axes(x_label: str, y_label: str):  # noqa: ANN202 - matplotlib is imported when a picture is drawn
    from matplotlib.figure import Figure

    figure = Figure(layout="constrained")
    axes = figure.add_subplot()
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    return figure, axes

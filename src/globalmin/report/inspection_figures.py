"""The pictures of an inspection: required widths on a logarithmic axis, and the predicted run.
Arrays in, a Figure out.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from globalmin.report.figures import (
    BLUE,
    GREEN,
    INK,
    ORANGE,
    decade_ticks,
    new_axes,
    padded_decades,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from globalmin.inspection import Inspection, RunComparison


OURS = ("OS-C6",)


def required_widths(inspection: Inspection) -> Figure:
    """One dot per theorem that asks for a width, on a logarithmic axis, above them those asked
    about and recommended.
    """
    figure, axes = new_axes("width", "")
    found = [
        (item, width)
        for item, width in inspection.required_widths().items()
        if math.isfinite(width)
    ]
    rows = [
        (item, width, GREEN if item in OURS else BLUE)
        for item, width in sorted(found, key=lambda pair: -pair[1])
    ]
    rows += [
        ("asked", float(inspection.width), INK),
        ("recommended", float(inspection.recommended_width), ORANGE),
    ]
    low, high = padded_decades(
        min(width for _, width, _ in rows), max(width for _, width, _ in rows)
    )
    for height, (_, width, color) in enumerate(rows):
        axes.plot([low, width], [height, height], color=color, linewidth=0.8, alpha=0.4)
        axes.plot([width], [height], marker="o", markersize=5, color=color)
        place = {"xytext": (6, 0), "textcoords": "offset points", "va": "center"}
        axes.annotate(_count(width), (width, height), fontsize=8, color=color, **place)
    axes.set_xscale("log")
    axes.set_yticks(range(len(rows)), [item for item, _, _ in rows])
    axes.set_xlim(low, high * (high / low) ** 0.18)  # room for the last label
    axes.set_ylim(-0.7, len(rows) - 0.3)
    decade_ticks(axes, "x")
    axes.grid(visible=False, axis="y")
    return figure


def limit_spectrum(inspection: Inspection) -> Figure:
    """Eigenvalues of the limiting Gram matrix, largest first; those that are zero or below are left
    out.
    """
    from globalmin.report.figures import spectrum

    figure = spectrum(np.zeros(0) if inspection.spectrum is None else inspection.spectrum)
    figure.axes[0].set_ylabel("eigenvalue of Σ")
    return figure


def predicted_run(inspection: Inspection) -> Figure:
    r"""The linearized $\|u(t)-y\|$ by step, and the envelopes of the theorems that apply."""
    figure, axes = new_axes("step", "‖u(t) − y‖")
    steps, norms = inspection.prediction.steps, inspection.prediction.residual_norms
    seen = norms > 0
    axes.plot(steps[seen], norms[seen], color=BLUE, label="predicted by the linearization")
    lowest = [*norms[seen]]
    for item in ("OS-C1", "OS-C3"):
        report = inspection.theorem(item)
        if report.finding.value == "holds" and report.rate is not None:
            envelope = norms[0] * report.rate**steps
            axes.plot(steps, envelope, color=GREEN, linestyle=(0, (4, 2)), label=f"bound of {item}")
            lowest += [*envelope[envelope > 0]]
    _log_axis(axes, lowest)
    return figure


def compared_run(comparison: RunComparison) -> Figure:
    """The real run of gradient descent, the prediction and the proved envelope, all by step."""
    figure, axes = new_axes("step", "‖u(t) − y‖")
    t = np.arange(len(comparison.measured))
    shown = [
        ("measured", comparison.measured, BLUE, "-"),
        ("predicted", comparison.predicted, ORANGE, (0, (4, 2))),
    ]
    if comparison.proved is not None:
        shown.append(("proved at the start", comparison.proved, GREEN, (0, (1, 1.5))))
    values: list[float] = []
    for label, norms, color, style in shown:
        seen = norms > 1e-14 * comparison.measured[0]
        axes.plot(t[seen], norms[seen], color=color, linestyle=style, label=label)
        values += [*norms[seen]]
    _log_axis(axes, values)
    return figure


def moved_signs(comparison: RunComparison) -> Figure:
    """Signs changed on the worst sample, and the most that the distance travelled allows."""
    figure, axes = new_axes("step", "signs changed on one sample")
    t = np.arange(len(comparison.measured))
    axes.plot(
        t,
        comparison.signs_allowed,
        color=GREEN,
        linestyle=(0, (4, 2)),
        label="allowed by the distance (OS-LC.2)",
    )
    axes.plot(t, comparison.signs_changed, color=BLUE, label="measured")
    axes.legend(loc="best")
    return figure


def _log_axis(axes: Axes, values: list[float]) -> None:
    axes.set_yscale("log")
    axes.set_ylim(*padded_decades(min(values), max(values)) if values else (0.1, 1.0))
    decade_ticks(axes, "y")
    axes.legend(loc="best")


def _count(width: float) -> str:
    from globalmin.report.rounding import nearest_text, typeset

    return typeset(nearest_text(width, 2)) if width >= 1e6 else f"{width:,.0f}"

"""Pictures of the recovery of a teacher: arrays in, a matplotlib Figure out. Draw and save inside
`drawing.style()`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from globalmin._types import Array
from globalmin.drawing import BLUE, COLORS, MUTED, ORANGE, SIZE
from globalmin.references import states

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def _axes(xlabel: str, ylabel: str, *, logarithmic: str = "") -> tuple[Figure, Axes]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=SIZE, layout="constrained")
    axes = figure.add_subplot()
    axes.set_xlabel(xlabel)
    axes.set_ylabel(ylabel)
    if "x" in logarithmic:
        axes.set_xscale("log")
    if "y" in logarithmic:
        axes.set_yscale("log")
    return figure, axes


@states("FCL-F2")
def rho_figure(sigma: Array, curves: Mapping[str, Array]) -> Figure:
    """The curvature rho by the norm of the neurons, one curve an activation, the largest value
    marked (FCL, Figure 2).
    """
    figure, axes = _axes("norm of the neurons σ", "ρ(σ)", logarithmic="xy")
    for color, (name, values) in zip(COLORS, curves.items(), strict=False):
        axes.plot(sigma, values, color=color, label=name)
        top = int(np.argmax(values))
        axes.plot([sigma[top]], [values[top]], color=color, marker="o", markersize=4)
    axes.legend()
    return figure


def neurons_figure(
    recovered: Array, true_weights: Array, *, initialization: Array | None = None
) -> Figure:
    """Entries of the recovered weights against the true ones, rows already matched; the start from
    moments below them.
    """
    figure, axes = _axes("true weight", "recovered weight")
    low, high = float(true_weights.min()), float(true_weights.max())
    pad = 0.08 * (high - low) or 1.0
    axes.plot(
        [low - pad, high + pad], [low - pad, high + pad], color=MUTED, linewidth=0.8, zorder=1
    )
    if initialization is not None:
        axes.scatter(
            true_weights.ravel(),
            initialization.ravel(),
            s=10,
            color=ORANGE,
            linewidths=0,
            label="start",
            zorder=2,
        )
    axes.scatter(
        true_weights.ravel(),
        recovered.ravel(),
        s=10,
        color=BLUE,
        linewidths=0,
        label="after descent",
        zorder=3,
    )
    axes.legend(loc="upper left")
    return figure


class Recovered(Protocol):
    """What is drawn of a recovery: see `globalmin.recovery.recover_teacher.ProvedRecovery`."""

    weights: Array
    initialization: Array

    @property
    def radius(self) -> float | None:
        """The certified radius."""
        ...

    def match(self, true_weights: Array) -> Any:
        """The assignment to known true weights."""
        ...


def plot_recovery(
    found: Recovered, true_weights: Array, path: str | os.PathLike[str] | None = None
) -> Figure:
    """Recovered against true neurons, rows matched, with the error and the certified radius; saved
    if a path is given.
    """
    from globalmin.drawing import style

    truth = np.asarray(true_weights, dtype=np.float64)
    matching = found.match(truth)
    with style():
        figure = neurons_figure(
            found.weights[matching.order],
            truth,
            initialization=found.initialization[matching.order],
        )
        proved = (
            "nothing proved"
            if found.radius is None
            else f"one critical point within {found.radius:.3g}, proved"
        )
        figure.axes[0].set_title(
            f"relative error {matching.relative_error:.2g}; {proved}", fontsize=8
        )
        if path is not None:
            figure.savefig(os.fspath(path))
    return figure


def variants_figure(
    n: Array, errors: Mapping[str, Array], *, ylabel: str = "relative error of the start"
) -> Figure:
    """Relative errors by the number of samples, one curve a variant: medians with the range over
    draws.

    Parameters
    ----------
    n : numbers of samples.
    errors : for each variant an array of shape (len(n), draws).
    """
    figure, axes = _axes("samples n", ylabel, logarithmic="xy")
    for color, (name, values) in zip(COLORS, errors.items(), strict=False):
        axes.fill_between(
            n, values.min(axis=1), values.max(axis=1), color=color, alpha=0.15, linewidth=0
        )
        axes.plot(n, np.median(values, axis=1), color=color, marker="o", markersize=3, label=name)
    axes.legend()
    return figure


@states("FCL-E2")
def error_figure(n: Array, errors: Mapping[str, Array]) -> Figure:
    """Errors after descent by the number of samples, with a line of slope -1/2 through the first
    curve (FCL, Figure 4).
    """
    figure = variants_figure(n, errors, ylabel="relative error after descent")
    axes = figure.axes[0]
    first = np.median(next(iter(errors.values())), axis=1)
    axes.plot(
        n,
        first[0] * np.sqrt(n[0] / n),
        color=MUTED,
        linestyle=(0, (4, 2)),
        linewidth=0.9,
        label="slope −1/2",
    )
    axes.legend()
    return figure

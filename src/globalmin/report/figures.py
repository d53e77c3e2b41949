"""The pictures of the report: arrays in, a matplotlib Figure out. One style sheet, no global state,
nothing is computed here.

The colors are the names of a small palette; the page maps each to a CSS variable, so that one
drawing serves light and dark.
"""

from __future__ import annotations

import math
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import numpy as np

from globalmin._types import Array
from globalmin.report.rounding import power_of_ten, typeset

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


INK, MUTED, GRID = "#1f2a37", "#66717f", "#e2e7ed"
BLUE, ORANGE, GREEN, RED = "#2b5f9e", "#c4611a", "#18794e", "#b42318"
PALETTE = {
    "ink": INK,
    "muted": MUTED,
    "grid": GRID,
    "blue": BLUE,
    "orange": ORANGE,
    "green": GREEN,
    "red": RED,
}

SIZE = (4.7, 3.1)

STYLE: dict[str, Any] = {
    "figure.figsize": SIZE, "figure.facecolor": "none", "savefig.facecolor": "none",
    "axes.facecolor": "none",
    "font.family": ["DejaVu Sans"], "font.size": 8.5, "axes.labelsize": 8.5, "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "text.color": INK, "axes.labelcolor": MUTED, "xtick.color": MUTED, "ytick.color": MUTED,
    "axes.edgecolor": MUTED,
    "axes.spines.top": False, "axes.spines.right": False, "axes.linewidth": 0.6,
    "axes.axisbelow": True,
    "axes.grid": True, "grid.color": GRID, "grid.linewidth": 0.7, "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 3, "ytick.major.size": 0, "xtick.minor.size": 0, "ytick.minor.size": 0,
    "lines.linewidth": 1.6, "lines.solid_capstyle": "round", "legend.frameon": False,
    "legend.fontsize": 8,
    "axes.unicode_minus": True, "svg.fonttype": "none", "path.simplify": True,
}  # fmt: skip


def style() -> AbstractContextManager[None]:
    """The one style sheet, as a context: drawing and saving both happen inside it."""
    import matplotlib

    return matplotlib.rc_context({**matplotlib.rcParamsDefault, **STYLE, "backend": "svg"})  # pyright: ignore[reportArgumentType]


def loss_curve(
    iterations: Array,
    losses: Array,
    *,
    loss_upper: float | None = None,
    floor: float = 0.0,
    rate: float | None = None,
    heads: str = "",
) -> Figure:
    """Training loss by iteration on a logarithmic axis, with the proved bounds drawn over it.

    Parameters
    ----------
    iterations, losses : what was recorded while training (floating point, an estimate).
    loss_upper : proved bound on the loss of the stored weights, the last point of the curve.
    floor : proved lower bound for every network of the class; drawn if positive.
    rate : proved factor per step of gradient descent from the stored weights on (descent claim):
        L_t <= rate^(2t) loss_upper.
    heads : the heads the floor is proved for, such as "v ≥ 0"; empty for all.
    """
    figure, axes = new_axes("training step", "loss  ½ Σ r²")
    seen = np.flatnonzero(losses > 0)
    axes.plot(
        iterations[seen],
        losses[seen],
        color=BLUE,
        marker="o",
        markersize=2.6 if len(seen) <= 80 else 0,
        zorder=3,
    )
    axes.set_yscale("log")
    positive = [*losses[seen], *(x for x in (loss_upper or 0.0, floor) if x > 0)]
    low, high = (min(positive), max(positive)) if positive else (0.1, 1.0)
    last = float(iterations[-1]) if len(iterations) else 0.0
    if loss_upper is not None and rate is not None and loss_upper > 0:
        low = min(low, _draw_envelope(axes, last, loss_upper, rate))
    axes.set_ylim(*padded_decades(low, high, below=0.3 if floor > 0 else 0.1))
    if loss_upper is not None and loss_upper > 0 and rate is None:
        # above a floor the curve runs into the line, so that both labels must stand below
        level(
            axes,
            loss_upper,
            f"proved: loss ≤ {short(loss_upper, up=True, digits=4 if floor > 0 else 2)}",
            GREEN,
            offset=-14.0 if floor > 0 else 3.5,
        )
    if floor > 0:
        covered = f"no network with {heads}" if heads else "no network"
        level(
            axes,
            floor,
            f"proved: {covered} below {short(floor, up=False, digits=4)}",
            RED,
            offset=-3.5,
        )
    axes.set_xlim(left=min(0.0, float(iterations[0])) if len(iterations) else 0.0)
    decade_ticks(axes, "y")
    integer_ticks(axes)
    return figure


def _draw_envelope(axes: Axes, last: float, loss_upper: float, rate: float) -> float:
    """Dashed proved continuation of gradient descent; returns its lowest value."""
    decades = 12.0
    per_step = -2.0 * math.log10(rate) if rate > 0 else decades
    steps = max(1.0, min(decades / max(per_step, 1e-12), max(last, 20.0)))
    end = loss_upper * 10.0 ** (-per_step * steps)
    axes.plot([last, last + steps], [loss_upper, end], color=GREEN, linestyle=(0, (4, 2)), zorder=4)
    axes.axvline(last, color=MUTED, linewidth=0.7, linestyle=(0, (1, 2)))
    axes.annotate(
        "proved for every\nlater step",
        (last + 0.5 * steps, math.sqrt(loss_upper * end)),
        xytext=(6, 6),
        textcoords="offset points",
        color=GREEN,
        fontsize=8,
        ha="left",
        va="bottom",
    )
    return end


def spectrum(eigenvalues: Array, *, certified: float | None = None, symbol: str = "a²") -> Figure:
    """Eigenvalues of the Gram matrix K = J Jᵀ, largest first, with the certified lower bound as a
    line.
    """
    figure, axes = new_axes("index, largest first", "eigenvalue of K")
    values = np.sort(eigenvalues)[::-1]
    index = np.arange(1, len(values) + 1)
    seen = values > 0
    small = len(values) <= 150
    axes.plot(
        index[seen],
        values[seen],
        color=BLUE,
        linewidth=0 if small else 1.8,
        marker="o",
        markersize=2.6 if small else 0,
        zorder=3,
    )
    axes.set_yscale("log")
    marks = [*values[seen], *([certified] if certified else [])]
    axes.set_ylim(*padded_decades(min(marks), max(marks)) if marks else (0.1, 1.0))
    axes.set_xlim(0, len(values) + 1)
    if certified:
        level(
            axes,
            certified,
            f"proved: all ≥ {symbol} = {short(certified, up=False)}",
            GREEN,
            offset=-3.5,
        )
    decade_ticks(axes, "y")
    integer_ticks(axes)
    return figure


def margins(edges: Array, counts: Array, *, needed: float | None = None) -> Figure:
    """Histogram of |z|, how far each neuron is from its kink on each sample, against the margin the
    proof needs.

    Parameters
    ----------
    edges, counts : bin edges (increasing, positive) and the number of neuron-sample pairs in each
        bin.
    needed : the largest distance any pre-activation can move inside the proved radius.
    """
    figure, axes = new_axes("distance from the kink |z|", "neuron–sample pairs")
    axes.stairs(counts, edges, fill=True, color=BLUE, linewidth=0)
    axes.set_xscale("log")
    marks = [edges[0], edges[-1], *([needed] if needed else [])]
    axes.set_xlim(*padded_decades(min(marks), max(marks)))
    if needed:
        axes.axvline(needed, color=GREEN, linewidth=1.4)
        axes.annotate(
            f"needed: {short(needed, up=True)}",
            (needed, 0.98),
            xycoords=("data", "axes fraction"),
            xytext=(5, 0),
            textcoords="offset points",
            color=GREEN,
            fontsize=8,
            ha="left",
            va="top",
        )
    decade_ticks(axes, "x")
    integer_ticks(axes, "y")
    return figure


def predictions(
    train: tuple[Array, Array], test: tuple[Array, Array] | None = None, *, name: str = "target"
) -> Figure:
    """Outputs of the network against the targets, training rows and held-out rows; each argument is
    (targets, outputs).
    """
    figure, axes = new_axes(name, "network output")
    everything = np.concatenate([*train, *(test or ())])
    low, high = float(everything.min()), float(everything.max())
    pad = 0.05 * (high - low) or max(1.0, abs(high)) * 0.1
    axes.plot(
        [low - pad, high + pad], [low - pad, high + pad], color=MUTED, linewidth=0.8, zorder=2
    )
    if test is not None and len(test[0]):
        axes.scatter(
            *test, s=11, color=ORANGE, linewidths=0, label=f"held out ({len(test[0])})", zorder=3
        )
    axes.scatter(
        *train, s=9, color=BLUE, linewidths=0, label=f"training ({len(train[0])})", zorder=4
    )
    targets = np.concatenate([train[0], *((test[0],) if test is not None else ())])
    span = 0.05 * (float(targets.max()) - float(targets.min())) or pad
    axes.set_xlim(float(targets.min()) - span, float(targets.max()) + span)
    axes.set_ylim(low - pad, high + pad)
    axes.legend(
        loc="lower right",
        bbox_to_anchor=(1.0, 1.0),
        ncols=2,
        handletextpad=0.1,
        columnspacing=1.2,
        borderaxespad=0.1,
    )
    return figure


def new_axes(xlabel: str, ylabel: str) -> tuple[Figure, Axes]:
    """One axes of the house size with its labels."""
    from matplotlib.figure import Figure

    figure = Figure(layout="constrained")
    axes = figure.add_subplot()
    axes.set_xlabel(_plain(xlabel))
    axes.set_ylabel(ylabel)
    axes.grid(visible=False, axis="x")
    return figure, axes


def _plain(text: str, limit: int = 48) -> str:
    """Text that is not read as mathematics by matplotlib, cut to a length an axis can carry."""
    shown = text if len(text) <= limit else text[: limit - 1] + "…"
    return shown.replace("$", r"\$")


def level(axes: Axes, value: float, text: str, color: str, *, offset: float) -> None:
    """A horizontal line with its label at the left end, so many points above or (negative) below
    it.
    """
    axes.axhline(value, color=color, linewidth=1.3, zorder=2)
    place = {
        "xycoords": ("axes fraction", "data"),
        "xytext": (0, offset),
        "textcoords": "offset points",
    }
    axes.annotate(
        text,
        (0.015, value),
        color=color,
        fontsize=8,
        ha="left",
        va="top" if offset < 0 else "bottom",
        **place,
    )


def padded_decades(low: float, high: float, *, below: float = 0.1) -> tuple[float, float]:
    """Limits outside [low, high]: 10 % of the span above, the fraction `below` of it below, at
    least half a decade.
    """
    a, b = math.log10(max(low, 1e-300)), math.log10(max(high, 1e-300))
    return 10.0 ** max(a - max(0.45, below * (b - a)), -307.0), 10.0 ** min(
        b + max(0.45, 0.1 * (b - a)), 307.0
    )


def decade_ticks(axes: Axes, which: str) -> None:
    """At most about seven ticks, at round powers of ten, set with superscripts of the text font."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    axis = axes.yaxis if which == "y" else axes.xaxis
    low, high = (
        math.log10(limit) for limit in (axes.get_ylim() if which == "y" else axes.get_xlim())
    )
    stride = next((s for s in (1, 2, 5, 10, 20, 50) if (high - low) / s <= 8), 100)
    exponents = range(math.ceil(low / stride) * stride, math.floor(high) + 1, stride)
    axis.set_major_locator(FixedLocator([10.0**e for e in exponents]))
    axis.set_major_formatter(FuncFormatter(lambda x, _: power_of_ten(round(math.log10(x)))))
    axis.set_minor_locator(NullLocator())


def integer_ticks(axes: Axes, which: str = "x") -> None:
    """Few ticks at whole numbers, thousands separated."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_major_locator(MaxNLocator(integer=True, nbins=6, steps=[1, 2, 5, 10]))
    axis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.0f}".replace("-", "−")))


def short(value: float, *, up: bool, digits: int = 2) -> str:
    """A proved bound for a label, rounded to the side that keeps it true."""
    from globalmin.report.rounding import lower_text, upper_text

    return typeset(upper_text(value, digits) if up else lower_text(value, digits))

"""The pictures of the report: how a run went, what was proved about it, and the claims about
quadratic networks and points of the landscape. Arrays in, a matplotlib Figure out; nothing is
computed here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from globalmin import drawing
from globalmin._types import Array
from globalmin.report.words import lower_text, typeset, upper_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def loss_curve(
    iterations: Array,
    losses: Array,
    *,
    loss_upper: float | None = None,
    floor: float = 0.0,
    rate: float | None = None,
    heads: str = "",
    predicted: Array | None = None,
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
    predicted : losses that the kernel at the start predicts, an estimate.
    """
    figure, axes = drawing.new_axes("training step", "loss  ½ Σ r²")
    if predicted is not None:
        axes.plot(iterations, predicted, color=drawing.ORANGE, linestyle=drawing.DASHED)
    seen = np.flatnonzero(losses > 0)
    axes.plot(
        iterations[seen],
        losses[seen],
        color=drawing.BLUE,
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
    axes.set_ylim(*drawing.padded_decades(low, high, below=0.3 if floor > 0 else 0.1))
    if loss_upper is not None and loss_upper > 0 and rate is None:
        # above a floor the curve runs into the line, so that both labels must stand below
        drawing.level(
            axes,
            loss_upper,
            f"proved: loss ≤ {short(loss_upper, up=True, digits=4 if floor > 0 else 2)}",
            drawing.GREEN,
            offset=-14.0 if floor > 0 else 3.5,
        )
    if floor > 0:
        covered = f"no network with {heads}" if heads else "no network"
        drawing.level(
            axes,
            floor,
            f"proved: {covered} below {short(floor, up=False, digits=4)}",
            drawing.RED,
            offset=-3.5,
        )
    axes.set_xlim(left=min(0.0, float(iterations[0])) if len(iterations) else 0.0)
    drawing.decade_ticks(axes, "y")
    drawing.integer_ticks(axes)
    return figure


def _draw_envelope(axes: Axes, last: float, loss_upper: float, rate: float) -> float:
    """Dashed proved continuation of gradient descent; returns its lowest value."""
    decades = 12.0
    per_step = -2.0 * math.log10(rate) if rate > 0 else decades
    steps = max(1.0, min(decades / max(per_step, 1e-12), max(last, 20.0)))
    end = loss_upper * 10.0 ** (-per_step * steps)
    axes.plot(
        [last, last + steps],
        [loss_upper, end],
        color=drawing.GREEN,
        linestyle=(0, (4, 2)),
        zorder=4,
    )
    axes.axvline(last, color=drawing.MUTED, linewidth=0.7, linestyle=(0, (1, 2)))
    axes.annotate(
        "proved for every\nlater step",
        (last + 0.5 * steps, math.sqrt(loss_upper * end)),
        xytext=(6, 6),
        textcoords="offset points",
        color=drawing.GREEN,
        fontsize=8,
        ha="left",
        va="bottom",
    )
    return end


def spectrum(eigenvalues: Array, *, certified: float | None = None, symbol: str = "a²") -> Figure:
    """Eigenvalues of the Gram matrix K = J Jᵀ, largest first, with the certified lower bound as a
    line.
    """
    figure, axes = drawing.new_axes("index, largest first", "eigenvalue of K")
    values = np.sort(eigenvalues)[::-1]
    index = np.arange(1, len(values) + 1)
    seen = values > 0
    small = len(values) <= 150
    axes.plot(
        index[seen],
        values[seen],
        color=drawing.BLUE,
        linewidth=0 if small else 1.8,
        marker="o",
        markersize=2.6 if small else 0,
        zorder=3,
    )
    axes.set_yscale("log")
    marks = [*values[seen], *([certified] if certified else [])]
    axes.set_ylim(*drawing.padded_decades(min(marks), max(marks)) if marks else (0.1, 1.0))
    axes.set_xlim(0, len(values) + 1)
    if certified:
        drawing.level(
            axes,
            certified,
            f"proved: all ≥ {symbol} = {short(certified, up=False)}",
            drawing.GREEN,
            offset=-3.5,
        )
    drawing.decade_ticks(axes, "y")
    drawing.integer_ticks(axes)
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
    figure, axes = drawing.new_axes("distance from the kink |z|", "neuron–sample pairs")
    axes.stairs(counts, edges, fill=True, color=drawing.BLUE, linewidth=0)
    axes.set_xscale("log")
    marks = [edges[0], edges[-1], *([needed] if needed else [])]
    axes.set_xlim(*drawing.padded_decades(min(marks), max(marks)))
    if needed:
        axes.axvline(needed, color=drawing.GREEN, linewidth=1.4)
        axes.annotate(
            f"needed: {short(needed, up=True)}",
            (needed, 0.98),
            xycoords=("data", "axes fraction"),
            xytext=(5, 0),
            textcoords="offset points",
            color=drawing.GREEN,
            fontsize=8,
            ha="left",
            va="top",
        )
    drawing.decade_ticks(axes, "x")
    drawing.integer_ticks(axes, "y")
    return figure


def predictions(
    train: tuple[Array, Array], test: tuple[Array, Array] | None = None, *, name: str = "target"
) -> Figure:
    """Outputs of the network against the targets, training rows and held-out rows; each argument is
    (targets, outputs).
    """
    figure, axes = drawing.new_axes(name, "network output")
    everything = np.concatenate([*train, *(test or ())])
    low, high = float(everything.min()), float(everything.max())
    pad = 0.05 * (high - low) or max(1.0, abs(high)) * 0.1
    axes.plot(
        [low - pad, high + pad],
        [low - pad, high + pad],
        color=drawing.MUTED,
        linewidth=0.8,
        zorder=2,
    )
    if test is not None and len(test[0]):
        axes.scatter(
            *test,
            s=11,
            color=drawing.ORANGE,
            linewidths=0,
            label=f"held out ({len(test[0])})",
            zorder=3,
        )
    axes.scatter(
        *train, s=9, color=drawing.BLUE, linewidths=0, label=f"training ({len(train[0])})", zorder=4
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


def short(value: float, *, up: bool, digits: int = 2) -> str:
    """A proved bound for a label, rounded to the side that keeps it true."""
    return typeset(upper_text(value, digits) if up else lower_text(value, digits))


Rung = tuple[str, float, str, str]  # label, value, color, text beside the value


def ladder(rungs: Sequence[Rung], *, xlabel: str, logarithmic: bool = True) -> Figure:
    """Named positive values one below the other on a common axis, each with its text.

    Parameters
    ----------
    rungs : label, value, color and text beside the value; the first is on top.
    """
    figure, axes = drawing.new_axes(xlabel, "")
    values = [value for _, value, _, _ in rungs]
    if logarithmic:
        axes.set_xscale("log")
        low, high = drawing.padded_decades(min(values), max(values), below=0.2)
        axes.set_xlim(low, high)
        drawing.decade_ticks(axes, "x")
    else:
        low = 0.0
        axes.set_xlim(0.0, 1.15 * max(values))
        drawing.integer_ticks(axes)
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
    axes.tick_params(axis="y", labelcolor=drawing.INK)
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
        (name, value, drawing.MUTED, short(value, up=False, digits=3))
        for name, value in references
        if value > 0
    ]
    rungs.append(
        ("this network", max(gap, 1e-300), drawing.GREEN, f"proved: ≤ {short(gap, up=True)}")
    )
    return ladder(rungs, xlabel="objective above the proved lower bound")


def dual_spectrum(eigenvalues: Array, *, threshold: float, two_sided: bool) -> Figure:
    """Eigenvalues of Z = Σ r x xᵀ between the thresholds ±c of weight decay: those at ±c are the
    directions of the neurons.
    """
    figure, axes = drawing.new_axes("index", "eigenvalue of Z = Σ r x xᵀ")
    values = np.sort(eigenvalues)[::-1]
    index = np.arange(1, len(values) + 1)
    at_threshold = np.abs(values) >= threshold * (1 - 1e-6)
    axes.plot(
        index[~at_threshold],
        values[~at_threshold],
        color=drawing.BLUE,
        linewidth=0,
        marker="o",
        markersize=4,
        zorder=3,
    )
    axes.plot(
        index[at_threshold],
        values[at_threshold],
        color=drawing.ORANGE,
        linewidth=0,
        marker="o",
        markersize=5,
        zorder=4,
    )
    drawing.level(
        axes, -threshold, f"−c = −{short(threshold, up=True)}", drawing.GREEN, offset=-3.5
    )
    if two_sided:
        drawing.level(
            axes, threshold, f"c = {short(threshold, up=True)}", drawing.GREEN, offset=3.5
        )
    reach = 1.35 * max(threshold, float(np.abs(values).max(initial=0.0)))
    axes.set_ylim(-reach, reach)
    axes.set_xlim(0, len(values) + 1)
    drawing.integer_ticks(axes)
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
    figure, axes = drawing.new_axes("step along the direction of escape", "loss  ½ Σ r²")
    start = float(losses[int(np.argmin(np.abs(steps)))])
    low, high = float(losses.min()), float(losses.max())
    pad = 0.08 * (high - low) or abs(high) * 0.1 or 1.0
    parabola = start + 0.5 * curvature * steps**2
    seen = parabola >= low - pad
    axes.plot(steps[seen], parabola[seen], color=drawing.GREEN, linestyle=(0, (4, 2)), zorder=2)
    axes.plot(steps, losses, color=drawing.BLUE, zorder=3)
    axes.plot([0.0], [start], color=drawing.INK, marker="o", markersize=5, zorder=4)
    word = "proved: " if proved else ""
    text = f"{word}curvature ≤ −{short(-curvature, up=False)}"
    axes.annotate(
        text,
        (0.0, start),
        xytext=(0, 8),
        textcoords="offset points",
        color=drawing.GREEN,
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
        ("rank-deficient\nweights", height, drawing.ORANGE, f"proved: ≥ {short(height, up=False)}"),
        ("this network", max(excess, 1e-300), drawing.GREEN, f"proved: ≤ {short(excess, up=True)}"),
    ]
    return ladder(rungs, xlabel="loss above the least loss of quadratic networks")


def sample_count(n: int, needed: int, *, determined: bool) -> Figure:
    """Samples beside the number d(d+1)/2 from which on they can determine a quadratic function."""
    rungs: list[Rung] = [
        ("samples n", float(n), drawing.GREEN if determined else drawing.ORANGE, f"{n:,}"),
        ("d(d+1)/2", float(needed), drawing.MUTED, f"{needed:,}"),
    ]
    return ladder(rungs, xlabel="count", logarithmic=False)

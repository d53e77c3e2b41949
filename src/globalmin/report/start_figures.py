"""The picture of `globalmin starts`: how likely a random start succeeds, by width, and the widths
that theorems ask for on the same data. Numbers in, a matplotlib Figure out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from globalmin import drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_RATIO = (1.0, 0.9)  # of the widths of the two axes


def success_by_width(
    widths: Sequence[int],
    shares: Sequence[float],
    bounds: Sequence[float],
    *,
    n_seeds: int,
    confidence: float,
    asked: Mapping[str, float],
) -> Figure:
    """Left: the share of proved starts and the lower bound of the probability of success, by width.
    Right, if anything asks: the widths that are asked for, beside those tried.

    Parameters
    ----------
    widths, shares, bounds : of one curve, in any order.
    n_seeds : starts of each width.
    confidence : with which all bounds hold together.
    asked : finite widths by the name of what asks for them.
    """
    from matplotlib.figure import Figure

    width, height = drawing.SIZE
    figure = Figure(figsize=(width * (1.75 if asked else 1.0), height), layout="constrained")
    ratios = _RATIO if asked else _RATIO[:1]
    panes = figure.subplots(1, len(ratios), squeeze=False, width_ratios=ratios)[0]
    _curve(panes[0], sorted(zip(widths, shares, bounds, strict=True)), n_seeds, confidence)
    if asked:
        _asked(panes[1], widths, asked)
    return figure


def _curve(
    axes: Axes, points: Sequence[tuple[int, float, float]], n_seeds: int, confidence: float
) -> None:
    widths, shares, bounds = zip(*points, strict=True)
    axes.plot(widths, shares, "o-", color=drawing.BLUE, label=f"proved, of {n_seeds} starts")
    label = f"probability of success\nat least ({100 * confidence:g} %)"
    axes.plot(widths, bounds, "s", linestyle=drawing.DASHED, color=drawing.GREEN, label=label)
    axes.set_xscale("log")
    axes.set_xticks(widths, [str(width) for width in widths])
    axes.set_xticks([], minor=True)
    axes.set_ylim(-0.03, 1.05)
    axes.set_xlabel("width k")
    axes.grid(visible=False, axis="x")
    axes.legend(loc="best")


def _asked(axes: Axes, widths: Sequence[int], asked: Mapping[str, float]) -> None:
    ordered = sorted(asked.items(), key=lambda item: item[1])
    for place, (_, value) in enumerate(ordered):
        axes.plot([1.0, value], [-place, -place], color=drawing.MUTED, linewidth=1.6, zorder=2)
        axes.plot([value], [-place], "o", color=drawing.ORANGE, markersize=5, zorder=3)
    axes.axvspan(min(widths), max(widths) * 1.01, color=drawing.BLUE, alpha=0.25, linewidth=0)
    axes.set_xscale("log")
    axes.set_xlim(1.0, drawing.padded_decades(1.0, max([*asked.values(), *widths]))[1])
    axes.set_yticks([-place for place in range(len(ordered))], [name for name, _ in ordered])
    axes.tick_params(axis="y", labelcolor=drawing.INK)
    axes.set_ylim(-len(ordered) + 0.4, 0.6)
    axes.set_xlabel("width asked for here; blue: the widths on the left")
    axes.grid(visible=False, axis="y")
    drawing.decade_ticks(axes, "x")

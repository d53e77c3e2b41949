"""Pictures of the terms of an additive network, and of what columns do in a network that sees all
of them: arrays in, a matplotlib Figure out; nothing is trained here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from globalmin import drawing
from globalmin._types import Array
from globalmin.regularized.effects import Effect
from globalmin.regularized.interactions import shortened
from globalmin.regularized.terms import Term

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LONGEST = 20  # columns of a name beside a surface; longer ones lose their middle
_LINES = 40  # single rows in a panel of effects
_POINTS = 2000  # drawn at most; more make a picture black and a file large


def draw_terms(terms: Sequence[Term], X: Array, rest: Array | None = None) -> Figure:
    """One panel per term: a curve over its column with the rows as ticks, or, with `rest` (what the
    whole model leaves over), among the points term + rest; a surface in colors with the rows.
    """
    with drawing.style():
        figure, down, across = _with_room_for(len(terms))
        if not terms:
            axes = figure.add_subplot()
            axes.set_axis_off()
            axes.text(0.5, 0.5, "no terms: the model is a constant", ha="center")
            return figure
        shown = np.linspace(0, len(X) - 1, min(len(X), _POINTS)).astype(int)
        part = None if rest is None else rest[shown]
        shared: Any = None
        for i, term in enumerate(terms):
            is_curve = len(term.columns) == 1
            axes = figure.add_subplot(down, across, i + 1, sharey=shared if is_curve else None)
            if is_curve:
                shared = shared or axes
                _curve(axes, term, X[shown], part)
            else:
                _surface(figure, axes, term, X[shown])
    return figure


def draw_classes(
    terms: Sequence[Sequence[Term]], classes: Sequence[str], X: Array, most: int = 9
) -> Figure:
    """One panel per column with the curves of all classes (a list of terms each), the columns that
    move the outputs most first; the rows are ticks, and the first panel has the legend.
    """
    found: dict[tuple[int, ...], dict[int, Term]] = {}
    for o, part in enumerate(terms):
        for term in part:
            found.setdefault(term.columns, {})[o] = term
    panels = sorted(found.values(), key=lambda own: -sum(t.size**2 for t in own.values()))[:most]
    if not panels:
        return draw_terms([], X)
    with drawing.style():
        figure, down, across = _with_room_for(len(panels))
        shown = np.linspace(0, len(X) - 1, min(len(X), _POINTS)).astype(int)
        shared: Any = None
        for i, own in enumerate(panels):
            axes = figure.add_subplot(down, across, i + 1, sharey=shared)
            shared = shared or axes
            for o, name in enumerate(classes):
                _class_curve(axes, own.get(o), _color(o, len(classes)), name)
            column = next(iter(own.values())).columns[0]
            _few_labels(axes, X[shown, column])
            _ticks(axes, X[shown, column])
            axes.set_xlabel(next(iter(own.values())).name)
        figure.legend(*shared.get_legend_handles_labels(), loc="outside right upper", fontsize=7)
    return figure


def draw_effects(effects: Sequence[Effect], X: Array) -> Figure:
    """One panel per column: the mean output as the column moves (thick), single rows (thin), and
    the values of the rows as ticks.
    """
    with drawing.style():
        figure, down, across = _with_room_for(len(effects))
        shown = np.linspace(0, len(X) - 1, min(len(X), _POINTS)).astype(int)
        shared: Any = None
        for i, effect in enumerate(effects):
            axes = figure.add_subplot(down, across, i + 1, sharey=shared)
            shared = shared or axes
            every = max(len(effect.outputs) // _LINES, 1)
            axes.plot(
                effect.places, effect.outputs[::every][:_LINES].T, color=drawing.MUTED,
                linewidth=0.5, alpha=0.4, zorder=1,
            )  # fmt: skip
            axes.plot(effect.places, effect.mean, color=drawing.BLUE, zorder=3)
            _few_labels(axes, X[shown, effect.column])
            _ticks(axes, X[shown, effect.column])
            axes.set_xlabel(effect.name)
    return figure


def _with_room_for(panels: int) -> tuple[Figure, int, int]:
    """An empty figure for so many panels, at most three side by side; its rows and columns."""
    from matplotlib.figure import Figure

    across = min(3, max(panels, 1))
    down = max(math.ceil(panels / across), 1)
    return Figure(figsize=(2.6 * across, 2.1 * down), layout="constrained"), down, across


def _class_curve(axes: Any, term: Term | None, color: Any, name: str) -> None:
    if term is None:  # the class does not use the column; the legend has it all the same
        axes.plot([], [], color=color, label=name)
        return
    axes.plot(term.knots[0], term.values, color=color, label=name, zorder=3)


def _color(o: int, count: int) -> Any:
    from matplotlib import colormaps

    return colormaps["tab10"](o) if count <= 10 else colormaps["viridis"](o / (count - 1))


def _few_labels(axes: Any, x: Array) -> None:
    """Numbers of many digits, as of days, would run into each other; a column of zeros and ones
    has nothing between them.
    """
    if x.size and np.isin(x, (0.0, 1.0)).all():
        axes.set_xticks([0.0, 1.0], ["0", "1"])
    elif x.size and np.abs(x).max() >= 1e4:
        axes.locator_params(axis="x", nbins=3)


def _ticks(axes: Any, x: Array) -> None:
    axes.plot(
        x, np.full_like(x, 0.02), "|", color=drawing.MUTED, markersize=5, alpha=0.4,
        transform=axes.get_xaxis_transform(),
    )  # fmt: skip


def _curve(axes: Any, term: Term, X: Array, rest: Array | None) -> None:
    x = X[:, term.columns[0]]
    _few_labels(axes, x)
    if rest is not None:
        axes.plot(x, term(X) + rest, ".", color=drawing.MUTED, markersize=2, alpha=0.35, zorder=1)
    else:
        _ticks(axes, x)
    axes.plot(term.knots[0], term.values, color=drawing.BLUE, zorder=3)
    axes.plot(
        term.knots[0][1:-1], term.values[1:-1], "o", color=drawing.BLUE, markersize=2.5, zorder=4
    )
    axes.set_xlabel(term.name)


def _surface(figure: Any, axes: Any, term: Term, X: Array) -> None:
    reach = float(np.abs(term.values).max()) or 1.0
    first, second = term.columns
    image = axes.pcolormesh(
        *term.knots, term.values.T, cmap="RdBu_r", vmin=-reach, vmax=reach, shading="gouraud",
        rasterized=True,  # as vectors every one of thousands of triangles is a gradient
    )  # fmt: skip
    axes.plot(X[:, first], X[:, second], ".", color=drawing.INK, markersize=1, alpha=0.3)
    first, second = (shortened(name, LONGEST) for name in term.name.split(" × "))
    axes.set_xlabel(first)
    axes.set_ylabel(second)
    axes.grid(visible=False)
    figure.colorbar(image, ax=axes, shrink=0.8)

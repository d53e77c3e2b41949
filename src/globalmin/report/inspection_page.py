"""The page of an inspection: one self-contained HTML file with the table of theorems and its
pictures, required widths on a logarithmic axis, the spectrum in the limit, and the predicted run.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from globalmin import drawing
from globalmin.drawn_values import data_address
from globalmin.inspection.text import named, origin, standing
from globalmin.report.template import filled, markup
from globalmin.report.words import nearest_text, typeset, typeset_sentence

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from globalmin.inspection import Hypothesis, Inspection, RunComparison, TheoremReport


COLORS = {"holds": "green", "fails": "plain", "constant unknown": "amber"}


def save_page(
    inspection: Inspection, path: str | Path, *, comparison: RunComparison | None = None
) -> Path:
    """Write the page; `comparison` adds the pictures of a real run (`inspection.predict_run`)."""
    target = Path(path)
    target.write_text(render(inspection, comparison=comparison), encoding="utf-8")
    return target


def render(inspection: Inspection, *, comparison: RunComparison | None = None) -> str:
    """The page as text, the same bytes for the same inspection."""
    found = standing(inspection)
    return filled(
        "inspection.html.j2", i=inspection, theorems=[_view(r) for r in found.inside],
        holds=[(r.item, r.says) for r in found.holds],
        in_the_way=[
            (remedy, typeset_sentence(", ".join(map(named, group))))
            for remedy, group in found.in_the_way
        ],
        short=[
            (title, ", ".join(r.item for r in reports))
            for title, reports in (
                ("Fails for a reason of its own", found.refused),
                ("Constants that nobody knows", found.unknown),
                ("Not about this kind of network", found.outside),
            )
            if reports
        ],
        keys=_keys(inspection),
        quantities=[(q.symbol, q.meaning, number(q.value)) for q in inspection.quantities],
        pictures=_pictures(inspection, comparison),
    )  # fmt: skip


def number(value: float | None) -> str:
    """A number as the page sets it; a dash where there is none, an infinity sign where there is no
    end.
    """
    if value is not None and value == float("inf"):
        return "∞"
    if value is not None and value == value and value == int(value) and abs(value) < 1e6:
        return f"{int(value):,}"
    return typeset(nearest_text(value))


def _rate(rate: float | None) -> str:
    if rate is not None and 0.0 < 1.0 - rate < 1e-3:
        return f"1 − {number(1.0 - rate)}"
    return number(rate)


def _view(r: TheoremReport) -> dict[str, Any]:
    return {
        "item": r.item,
        "says": r.says,
        "finding": r.finding.value,
        "color": COLORS[r.finding.value],
        "width": number(r.width),
        "step": number(r.step_size),
        "rate": _rate(r.rate),
        "failure": number(r.failure),
        "hypotheses": [_hypothesis(h) for h in r.hypotheses],
        "numbers": [(what, number(value)) for what, value in r.numbers],
        "instead": r.instead if r.finding.value != "holds" else "",
    }


def _hypothesis(h: Hypothesis) -> dict[str, str]:
    return {
        "statement": h.statement,
        "measured": h.measured,
        "finding": h.finding.value,
        "color": COLORS[h.finding.value],
    }


def _keys(i: Inspection) -> list[tuple[str, str, str]]:
    return [
        (
            "Recommended width",
            number(i.recommended_width),
            "k·rank(X) ≥ 1.2 × free outputs; what training tries first",
        ),
        (
            "Width by OS-C6",
            number(i.explicit_width),
            "ours, explicit: the descent theorem holds at the random start",
        ),
        ("Width asked about", number(i.width), f"{i.activation}, {origin(i)}"),
        (
            "λ(X)",
            number(i.quantity("λ(X)")),
            "smallest eigenvalue of the limiting Gram matrix, an estimate",
        ),
        ("Step size", number(i.step_size), "on ½Σr²"),
        ("Predicted rate", _rate(i.prediction.rate), "factor of the residual per step, linearized"),
    ]


def _pictures(i: Inspection, comparison: RunComparison | None) -> list[dict[str, Any]]:
    rows = [
        ("Required widths", "One dot per theorem; ours is green.",
        lambda: required_widths(i), "widths"),
        ("Predicted run", "Linearized gradient descent from the drawn "
                          "start.", lambda: predicted_run(i), "predicted"),
    ]  # fmt: skip
    if i.spectrum is not None:
        caption = "Eigenvalues of the limiting Gram matrix in floats; the smallest is λ(X)."
        rows.insert(
            1,
            (
                "Spectrum of the limiting Gram matrix",
                caption,
                lambda: limit_spectrum(i),
                "spectrum",
            ),
        )
    if comparison is not None:
        rows.append(
            (
                "A real run",
                "Gradient descent against prediction and bound.",
                lambda: compared_run(comparison),
                "run",
            )
        )
        rows.append(
            (
                "Signs changed",
                "Worst sample, against what the distance allows.",
                lambda: moved_signs(comparison),
                "signs",
            )
        )
    return [_picture(*row) for row in rows]


def _picture(title: str, caption: str, draw: Callable[[], Figure], name: str) -> dict[str, Any]:
    drawn = drawing.inline_figure(draw, name=name, label=title)
    return {
        "title": title,
        "caption": caption,
        "svg": markup(drawn.svg),
        "data": data_address(drawn.csv),
        "file": f"{name}.csv",
    }


OURS = ("OS-C6",)


def required_widths(inspection: Inspection) -> Figure:
    """One dot per theorem that asks for a width, on a logarithmic axis, above them those asked
    about and recommended.
    """
    figure, axes = drawing.new_axes("width", "")
    found = [
        (item, width)
        for item, width in inspection.required_widths().items()
        if math.isfinite(width)
    ]
    rows = [
        (item, width, drawing.GREEN if item in OURS else drawing.BLUE)
        for item, width in sorted(found, key=lambda pair: -pair[1])
    ]
    rows += [
        ("asked", float(inspection.width), drawing.INK),
        ("recommended", float(inspection.recommended_width), drawing.ORANGE),
    ]
    low, high = drawing.padded_decades(
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
    drawing.decade_ticks(axes, "x")
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
    figure, axes = drawing.new_axes("step", "‖u(t) − y‖")
    steps, norms = inspection.prediction.steps, inspection.prediction.residual_norms
    seen = norms > 0
    axes.plot(steps[seen], norms[seen], color=drawing.BLUE, label="predicted by the linearization")
    lowest = [*norms[seen]]
    for item in ("OS-C1", "OS-C3"):
        report = inspection.theorem(item)
        if report.finding.value == "holds" and report.rate is not None:
            envelope = norms[0] * report.rate**steps
            axes.plot(
                steps,
                envelope,
                color=drawing.GREEN,
                linestyle=(0, (4, 2)),
                label=f"bound of {item}",
            )
            lowest += [*envelope[envelope > 0]]
    _log_axis(axes, lowest)
    return figure


def compared_run(comparison: RunComparison) -> Figure:
    """The real run of gradient descent, the prediction and the proved envelope, all by step."""
    figure, axes = drawing.new_axes("step", "‖u(t) − y‖")
    t = np.arange(len(comparison.measured))
    shown = [
        ("measured", comparison.measured, drawing.BLUE, "-"),
        ("predicted", comparison.predicted, drawing.ORANGE, (0, (4, 2))),
    ]
    if comparison.proved is not None:
        shown.append(("proved at the start", comparison.proved, drawing.GREEN, (0, (1, 1.5))))
    values: list[float] = []
    for label, norms, color, style in shown:
        seen = norms > 1e-14 * comparison.measured[0]
        axes.plot(t[seen], norms[seen], color=color, linestyle=style, label=label)
        values += [*norms[seen]]
    _log_axis(axes, values)
    return figure


def moved_signs(comparison: RunComparison) -> Figure:
    """Signs changed on the worst sample, and the most that the distance travelled allows."""
    figure, axes = drawing.new_axes("step", "signs changed on one sample")
    t = np.arange(len(comparison.measured))
    axes.plot(
        t,
        comparison.signs_allowed,
        color=drawing.GREEN,
        linestyle=(0, (4, 2)),
        label="allowed by the distance (OS-LC.2)",
    )
    axes.plot(t, comparison.signs_changed, color=drawing.BLUE, label="measured")
    axes.legend(loc="best")
    return figure


def _log_axis(axes: Axes, values: list[float]) -> None:
    axes.set_yscale("log")
    axes.set_ylim(*drawing.padded_decades(min(values), max(values)) if values else (0.1, 1.0))
    drawing.decade_ticks(axes, "y")
    axes.legend(loc="best")


def _count(width: float) -> str:

    return typeset(nearest_text(width, 2)) if width >= 1e6 else f"{width:,.0f}"

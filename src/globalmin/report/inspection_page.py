"""The page of an inspection: one self-contained HTML file with the table of theorems and three
pictures.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from globalmin.report import inspection_figures as figures
from globalmin.report.rounding import nearest_text, typeset
from globalmin.report.svg import inline_svg

if TYPE_CHECKING:
    from globalmin.inspection import Hypothesis, Inspection, RunComparison, TheoremReport

COLORS = {"holds": "green", "fails": "red", "constant unknown": "amber"}


def save_page(
    inspection: Inspection, path: str | Path, *, comparison: RunComparison | None = None
) -> Path:
    """Write the page; `comparison` adds the pictures of a real run (`inspection.predict_run`)."""
    target = Path(path)
    target.write_text(render(inspection, comparison=comparison), encoding="utf-8")
    return target


def render(inspection: Inspection, *, comparison: RunComparison | None = None) -> str:
    """The page as text, the same bytes for the same inspection."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("globalmin.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    template = environment.get_template("inspection.html.j2")
    inside = [_view(r) for r in inspection.theorems if r.is_in_scope]
    outside = [r.item for r in inspection.theorems if not r.is_in_scope]
    return template.render(
        css=_css(), i=inspection, theorems=inside, outside=", ".join(outside),
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
        ("Width asked about", number(i.width), f"{i.activation}, head {i.head}, seed {i.seed}"),
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
        lambda: figures.required_widths(i), "widths"),
        ("Predicted run", "Linearized gradient descent from the drawn "
                          "start.", lambda: figures.predicted_run(i), "predicted"),
    ]  # fmt: skip
    if i.spectrum is not None:
        caption = "Eigenvalues of the limiting Gram matrix in floats; the smallest is λ(X)."
        rows.insert(
            1,
            (
                "Spectrum of the limiting Gram matrix",
                caption,
                lambda: figures.limit_spectrum(i),
                "spectrum",
            ),
        )
    if comparison is not None:
        rows.append(
            (
                "A real run",
                "Gradient descent against prediction and bound.",
                lambda: figures.compared_run(comparison),
                "run",
            )
        )
        rows.append(
            (
                "Signs changed",
                "Worst sample, against what the distance allows.",
                lambda: figures.moved_signs(comparison),
                "signs",
            )
        )
    return [
        {
            "title": title,
            "caption": caption,
            "svg": _markup(inline_svg(draw, name=name, label=title)),
        }
        for title, caption, draw, name in rows
    ]


def _markup(text: str) -> Any:
    from markupsafe import Markup

    return Markup(text)  # noqa: S704


def _css() -> Any:
    from importlib.resources import files

    return _markup(
        files("globalmin.report").joinpath("templates/report.css").read_text(encoding="utf-8")
    )

"""The page of a fit on rows without end: verdict, gap, what was read, the model to be read
(products and squares of columns, or curves), and the shards.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from globalmin import drawing
from globalmin.drawn_values import data_address
from globalmin.errors import DataError
from globalmin.report.figures import bracket
from globalmin.report.regularized_page import panels_across
from globalmin.report.template import filled, markup
from globalmin.report.words import nearest_text, typeset, upper_text
from globalmin_check import Result, check_file

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.figure import Figure

FACTS, CERTIFICATE, MAX_BYTES = "fit.json", "certificate.gmc", 2**26
LEDES = {
    "quadratic": "A quadratic network with weight decay: squares, products and single columns, "
    "each with a coefficient, and a constant.",
    "additive": "An additive ReLU network with weight decay: one curve per column, and a constant.",
}
DRAWN = 9  # curves in the picture
_BARS, _NAMED = 40, 12  # shards that get a bar each, and a number each
_ROUNDING = 1e-12  # of a number that went through decimals


def read_facts(folder: str | Path) -> dict[str, Any] | None:
    """What `globalmin fit --stream` wrote into fit.json; None for other folders."""
    path = Path(folder) / FACTS
    if not path.is_file() or path.stat().st_size > MAX_BYTES:
        return None
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        is_ours = found["network"]["kind"] == "stream" and found["network"]["model"] in LEDES
        return found if is_ours else None
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


def render(facts: Mapping[str, Any], folder: str | Path) -> tuple[str, list[str]]:
    """The page as text and the verdict; checks the certificate file of the folder again.

    Raises
    ------
    DataError
        If the facts are damaged, or claim a smaller gap than the certificate.
    """
    path = Path(folder) / CERTIFICATE
    try:
        result = check_file(path) if path.is_file() else None
        numbers = _verified(result)
        if numbers and not float(numbers["gap"]) <= facts["gap"] * (1 + _ROUNDING):
            raise ValueError(f"the certificate proves a gap of {numbers['gap']}, not a smaller one")
        verdict = "NO CERTIFICATE" if result is None else result.verdict.value
        page = _filled(facts, numbers, verdict, result)
    except (KeyError, TypeError, IndexError, ValueError, AttributeError, OSError) as error:
        raise DataError(
            f"{folder}: {FACTS} does not belong to these files ({error}); run the fit again"
        ) from error
    return page, [verdict]


def _verified(result: Result | None) -> Mapping[str, Any]:
    """The numbers of the accepted claim; empty if there is none."""
    if result is None or result.verdict.value != "ACCEPTED":
        return {}
    return result.claims[0].numbers or {}


def _filled(
    facts: Mapping[str, Any], numbers: Mapping[str, Any], verdict: str, result: Result | None
) -> str:
    model, data = facts["network"]["model"], facts["data"]
    share = typeset(upper_text(facts["relative_gap"])) if numbers else "–"
    return filled(
        "stream.html.j2",
        data=data["path"],
        target=facts["network"]["columns"][-1],
        model=model,
        lede=LEDES[model],
        verdict=verdict,
        color="green" if numbers else "red",
        sentence=f"No {model} network, of any width, has an objective lower than this one's by "
        f"more than {share} of it, on all rows whose sums are those of the file."
        if numbers
        else "No accepted certificate: nothing is proved.",
        keys=_keys(facts),
        objective=_number(float(numbers["objective"])) if numbers else "–",
        gap=typeset(upper_text(float(numbers["gap"]))) if numbers else "–",
        share=share,
        decay=_number(facts["weight_decay"]),
        statement=result.statement if result is not None else "",
        command=f"globalmin-check {CERTIFICATE} --rows {data['path']}",
        pictures=_pictures(facts, numbers),
        terms=[(term["name"], _number(term["size"])) for term in facts["terms"]],
    )


def _keys(facts: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    data, network = facts["data"], facts["network"]
    shards = f"in {data['shards']:,} shard{'s' * (data['shards'] != 1)}"
    return [
        ("Rows", f"{data['rows']:,}", shards),
        ("Columns", f"{len(network['columns']) - 1:,}", "inputs"),
        ("Training", _number(facts["r2"]), "R² on all rows, measured"),
        ("Neurons", f"{network['neurons']:,}", "any number was allowed"),
        ("Seconds", _number(facts["seconds"]), "reading, training, proof and check"),
    ]


def _pictures(facts: Mapping[str, Any], numbers: Mapping[str, Any]) -> list[dict[str, Any]]:
    found = []
    if facts["network"]["model"] == "additive":
        if facts["curves"]:
            caption = (
                "Each curve is what a column adds to the output, in units of the label, minus its "
                "value at the left end; linear between the kinks (dots)."
            )
            row = ("Curves, the largest first", caption, lambda: curves(facts["curves"]), "curves")
            found.append(_picture(*row))
    elif facts["terms"]:
        caption = (
            "Coefficients of products, squares and single columns, of scaled columns, in units of "
            "the label; the largest. Red raises the output, blue lowers it."
        )
        draw = lambda: coefficients(facts["terms"])  # noqa: E731
        found.append(_picture("Who interacts with whom", caption, draw, "terms"))
    if numbers:
        above = float(facts["without"]) - float(numbers["floor"])
        caption = (
            "The objective of this network is at most the gap above the proved lower bound; for "
            "comparison, the network without neurons."
        )
        draw = lambda: bracket(float(numbers["gap"]), [("without neurons", above)])  # noqa: E731
        found.append(_picture("How near to the minimum", caption, draw, "gap"))
    caption = "Each shard can be checked where it lies; sums of shards add."
    draw = lambda: shards(facts["shard_rows"])  # noqa: E731
    return [*found, _picture("Rows and shards", caption, draw, "shards")]


def _picture(title: str, caption: str, draw: Callable[[], Figure], name: str) -> dict[str, Any]:
    drawn = drawing.inline_figure(draw, name=name, label=title)
    return {
        "title": title,
        "caption": caption,
        "svg": markup(drawn.svg),
        "panels": panels_across(drawn.svg) if name == "curves" else 0,
        "data": data_address(drawn.csv),
        "file": f"{name}.csv",
    }


def coefficients(terms: Sequence[Mapping[str, Any]]) -> Figure:
    """Signed coefficients as bars, one below the other."""
    figure, axes = drawing.new_axes("coefficient", "", grid="xy")
    figure.set_figheight(0.7 + 0.24 * len(terms))
    for place, term in enumerate(terms):
        color = drawing.RED if term["size"] >= 0 else drawing.BLUE
        axes.plot([0.0, term["size"]], [-place, -place], color=color, linewidth=4.0)
    axes.axvline(0.0, color=drawing.MUTED, linewidth=0.8)
    axes.set_yticks([-place for place in range(len(terms))], [_plain(t["name"]) for t in terms])
    axes.grid(visible=False, axis="y")
    return figure


def curves(given: Sequence[Mapping[str, Any]]) -> Figure:
    """One panel per curve, with one scale for all."""
    from matplotlib.figure import Figure

    shown = given[:DRAWN]
    across = min(3, len(shown))
    down = math.ceil(len(shown) / across)
    figure = Figure(figsize=(2.4 * across, 1.9 * down), layout="constrained")
    first: Any = None
    for i, curve in enumerate(shown):
        axes = figure.add_subplot(down, across, i + 1, sharey=first)
        first = first or axes
        axes.plot(curve["x"], curve["y"], color=drawing.BLUE, marker="o", markersize=2.5)
        axes.set_xlabel(_plain(curve["name"]))
    return figure


def shards(rows: Sequence[int]) -> Figure:
    """The rows of every shard."""
    figure, axes = drawing.new_axes("shard", "rows")
    numbers = list(range(len(rows)))
    if len(rows) <= _BARS:
        for number, count in zip(numbers, rows, strict=True):
            axes.plot([number, number], [0, count], color=drawing.BLUE, linewidth=6.0)
    else:
        axes.plot(numbers, rows, color=drawing.BLUE)
    axes.set_ylim(0.0, 1.1 * max(rows))
    axes.set_xlim(-0.6, len(rows) - 0.4)
    if len(rows) <= _NAMED:
        axes.set_xticks(numbers)
    else:
        drawing.integer_ticks(axes)
    return figure


def _plain(text: str, limit: int = 28) -> str:
    """Text that is not read as mathematics, cut to what an axis can carry."""
    shown = text if len(text) <= limit else text[: limit - 1] + "…"
    return shown.replace("$", r"\$")


def _number(value: float) -> str:
    return typeset(nearest_text(value, 4))

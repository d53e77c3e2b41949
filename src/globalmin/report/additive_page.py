"""The page of an additive network with weight decay: one self-contained HTML file with the gap in
one sentence, the checker's own statement, and the curves of the terms among the data.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from globalmin.drawing import as_inline
from globalmin.report.template import filled, markup
from globalmin.report.words import nearest_text, typeset, upper_text

TEMPLATE = "additive.html.j2"


def render(data: str, target: str, facts: Mapping[str, Any], folder: Path) -> str:
    """The page as text; checks the certificate files of the folder again.

    Parameters
    ----------
    data, target : names of the table and of the column that is predicted.
    facts : what `globalmin fit --model additive` writes into fit.json.
    folder : with the certificates and the pictures of the terms.
    """
    count = len(facts["verdict"])
    parts = [_part(facts, folder, j, count) for j in range(count)]
    colors = [part["color"] for part in parts]
    return filled(
        TEMPLATE,
        data=data,
        target=target,
        parts=parts,
        worst=next((c for c in ("red", "amber") if c in colors), "green"),
        keys=_keys(facts),
        task=facts["task"],
        loss=facts["network"]["loss"],
        asked=f"{facts['asked_gap']:g}",
        classes=facts["classes"],
    )


def _part(facts: Mapping[str, Any], folder: Path, j: int, count: int) -> dict[str, Any]:
    """What the page says of one network."""
    from globalmin_check import check_file

    ending = "" if count == 1 else f"-{j}"
    path = folder / f"certificate{ending}.gmc"
    result = check_file(path) if path.is_file() else None
    verdict = "NO CERTIFICATE" if result is None else result.verdict.value
    is_proved, is_near = verdict == "ACCEPTED", bool(facts["optimal"][j])
    found = [] if result is None else [str(claim.statement) for claim in result.claims]
    color = ("green" if is_near else "amber") if is_proved else "red"
    svg = (folder / f"terms{ending}.svg").read_text(encoding="utf-8")
    return {
        "name": facts["classes"][j] if count > 1 else "",
        "verdict": verdict,
        "color": color,
        "sentence": facts["statements"][j],
        "checker": found if is_proved else [],
        "objective": _number(facts["objective"][j]),
        "floor": _number(facts["lower_bound"][j]),
        "gap": typeset(upper_text(facts["gap"][j])) if is_proved else "–",
        "decay": _number(facts["weight_decay"][j]),
        "picture": markup(as_inline(svg, f"terms{j}", "The terms as curves, with the rows")),
        "terms": [
            (term["name"], _number(term["size"]), term["width"]) for term in facts["all_terms"][j]
        ],
    }


def _keys(facts: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    scores, data = facts["scores"], facts["data"]
    word = "accuracy" if facts["task"] == "classification" else "R²"
    neurons = ", ".join(map(str, facts["network"]["width"]))
    return [
        ("Held out", _number(scores["held_out"]), f"{word} on {data['n_held_out']:,} rows"),
        ("Training", _number(scores["training"]), f"{word} on {data['n_train']:,} rows"),
        ("Neurons", neurons, "any number was allowed"),
        ("Seconds", _number(facts["seconds"]), "decay, training, proof and check"),
    ]


def _number(value: float | None) -> str:
    return typeset(nearest_text(value, 4))

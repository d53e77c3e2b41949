"""The page of an additive network with weight decay: one self-contained HTML file with the gap in
one sentence, the checker's own statement, and the curves of the terms among the data.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from globalmin.drawing import as_inline
from globalmin.errors import DataError
from globalmin.report.template import filled, markup
from globalmin.report.words import nearest_text, typeset, upper_text
from globalmin_check import Result, check_file

FACTS, MAX_BYTES = "fit.json", 2**26
_ROUNDING = 1e-12  # of a number that went through decimals


def read_facts(folder: str | Path) -> dict[str, Any] | None:
    """What `globalmin fit --model additive` wrote into fit.json; None for other folders."""
    path = Path(folder) / FACTS
    if not path.is_file() or path.stat().st_size > MAX_BYTES:
        return None
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return found if found["network"]["kind"] == "additive" else None
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


def render(facts: Mapping[str, Any], folder: str | Path) -> tuple[str, list[str]]:
    """The page as text and the verdicts; checks the certificate files of the folder again.

    Parameters
    ----------
    facts : see `read_facts`.
    folder : with the certificates and the pictures of the terms.

    Raises
    ------
    DataError
        If the facts are damaged, or claim a smaller gap than the certificate.
    """
    try:
        count = len(facts["verdict"])
        parts = [_part(facts, Path(folder), j, count) for j in range(count)]
        page = _filled(facts, parts)
    except (KeyError, TypeError, IndexError, ValueError, AttributeError, OSError) as error:
        raise DataError(
            f"{folder}: {FACTS} does not belong to these files ({error}); run the fit again"
        ) from error
    return page, [part["verdict"] for part in parts]


def _filled(facts: Mapping[str, Any], parts: list[dict[str, Any]]) -> str:
    return filled(
        "additive.html.j2",
        data=facts["data"]["name"],
        target=facts["data"]["target"],
        parts=parts,
        keys=_keys(facts),
        task=facts["task"],
        loss=facts["network"]["loss"],
        asked=f"{facts['asked_gap']:g}",
        classes=facts["classes"],
    )


def _part(facts: Mapping[str, Any], folder: Path, j: int, count: int) -> dict[str, Any]:
    """What the page says of one network."""
    ending = "" if count == 1 else f"-{j}"
    path = folder / f"certificate{ending}.gmc"
    result = check_file(path) if path.is_file() else None
    verdict = "NO CERTIFICATE" if result is None else result.verdict.value
    numbers, statements = _verified(result)
    if numbers and not float(numbers["gap"]) <= facts["gap"][j] * (1 + _ROUNDING):
        raise ValueError(f"the certificate proves a gap of {numbers['gap']}, not a smaller one")
    near = "green" if facts["optimal"][j] else "amber"
    svg = (folder / f"terms{ending}.svg").read_text(encoding="utf-8")
    sentence = facts["statements"][j] if numbers else "No accepted certificate: nothing is proved."
    return {
        "name": facts["classes"][j] if count > 1 else "",
        "verdict": verdict,
        "color": near if numbers else "red",
        "sentence": sentence,
        "checker": statements,
        "objective": _number(facts["objective"][j]),
        "gap": typeset(upper_text(float(numbers["gap"]))) if numbers else "–",
        "decay": _number(facts["weight_decay"][j]),
        "picture": markup(as_inline(svg, f"terms{j}", "The terms as curves, with the rows")),
        "terms": [
            (term["name"], _number(term["size"]), term["width"]) for term in facts["all_terms"][j]
        ],
    }


def _verified(result: Result | None) -> tuple[Mapping[str, Any], list[str]]:
    """The numbers of the accepted claim, and the checker's statements; empty if none is."""
    if result is None or result.verdict.value != "ACCEPTED":
        return {}, []
    found = next((c.numbers for c in result.claims if c.kind == "dual-gap"), None)
    return found or {}, [str(claim.statement) for claim in result.claims]


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

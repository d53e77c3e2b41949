"""The page of a model with weight decay: one self-contained HTML file with the model that was
chosen and why, the gap in one sentence, the checker's own statement, and the model to be read:
curves, interactions, or the bound that was used.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from globalmin.drawing import as_inline
from globalmin.drawn_values import data_address
from globalmin.errors import DataError
from globalmin.report.template import filled, markup
from globalmin.report.words import nearest_text, typeset, typeset_sentence, upper_text
from globalmin_check import Result, check_file

FACTS, MAX_BYTES = "fit.json", 2**26
KINDS = {
    "additive": (
        "An additive ReLU network with weight decay: one curve per column, or one surface per "
        "pair of columns, and a constant."
    ),
    "quadratic": (
        "A quadratic network with weight decay: squares, products and single columns, each with "
        "a coefficient, and a constant."
    ),
    "relu": "A fully connected ReLU network with weight decay.",
}
BOUNDS = {
    "columns": "the exact maximum over every neuron of one column (R2)",
    "cones": "a search over cones that leaves no neuron out (R3)",
    "spectral": "one matrix inequality for all neurons (R4)",
    "slabs": "one matrix inequality for each sign and slab of the hidden bias (R4-free)",
    "quadratic": "the largest eigenvalue of one matrix (R5)",
}
LABELS = {
    "additive": "The terms as curves, with the rows",
    "quadratic": "Who interacts with whom",
    "relu": "What each column does to the output",
}
_PANEL = 190.0  # points that a panel of a picture is wide, nearly
_ROUNDING = 1e-12  # of a number that went through decimals


def picture_stem(kind: str, j: int, count: int) -> str:
    """Name of the picture of one network, without its ending."""
    name = {"quadratic": "interactions", "relu": "effects"}.get(kind, "terms")
    return name if count == 1 else f"{name}-{j}"


def read_facts(folder: str | Path) -> dict[str, Any] | None:
    """What `globalmin fit` wrote into fit.json of a model with weight decay; None for other
    folders.
    """
    path = Path(folder) / FACTS
    if not path.is_file() or path.stat().st_size > MAX_BYTES:
        return None
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return found if found["network"]["kind"] in KINDS else None
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


def render(facts: Mapping[str, Any], folder: str | Path) -> tuple[str, list[str]]:
    """The page as text and the verdicts; checks the certificate files of the folder again.

    Parameters
    ----------
    facts : see `read_facts`.
    folder : with the certificates and the pictures.

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
    kind = facts["network"]["kind"]
    return filled(
        "regularized.html.j2",
        data=facts["data"]["name"],
        target=facts["data"]["target"],
        kind=kind,
        lede=KINDS[kind],
        parts=parts,
        keys=_keys(facts),
        choice=_choice(facts.get("choice")),
        recipe=facts.get("recipe", []),
        score_note=_score_note(facts),
        task=facts["task"],
        loss=facts["network"]["loss"],
        asked=typeset(f"{facts['asked_gap']:g}"),
        classes=facts["classes"],
    )


def _part(facts: Mapping[str, Any], folder: Path, j: int, count: int) -> dict[str, Any]:
    """What the page says of one network."""
    kind, path = facts["network"]["kind"], folder / f"{_numbered('certificate', j, count)}.gmc"
    result = check_file(path) if path.is_file() else None
    verdict = "NO CERTIFICATE" if result is None else result.verdict.value
    numbers, statements = _verified(result)
    if numbers and not float(numbers["gap"]) <= facts["gap"][j] * (1 + _ROUNDING):
        raise ValueError(f"the certificate proves a gap of {numbers['gap']}, not a smaller one")
    near = "green" if facts["optimal"][j] else "amber"
    bound = str(numbers.get("constraint", "")) if numbers else ""
    return {
        "name": facts["classes"][j] if count > 1 else "",
        "verdict": verdict,
        "color": near if numbers else "red",
        "sentence": typeset_sentence(facts["statements"][j])
        if numbers
        else "No accepted certificate: nothing is proved.",
        "checker": statements,
        "command": f"globalmin-check {path.name} --explain" if result else "",
        "objective": _number(facts["objective"][j]),
        "gap": typeset(upper_text(float(numbers["gap"]))) if numbers else "–",
        "share": typeset(upper_text(facts["relative_gap"][j])) if numbers else "–",
        "decay": _number(facts["weight_decay"][j]),
        "bound": BOUNDS.get(bound, bound),
        "pictures": _pictures(facts, folder, j, count),
        "terms": [] if kind == "relu" else _terms(facts["all_terms"][j]),
    }


def _pictures(facts: Mapping[str, Any], folder: Path, j: int, count: int) -> list[dict[str, Any]]:
    """Those of one network; a file about several classes together has one for each."""
    kind, networks = facts["network"]["kind"], len(facts["network"]["width"])
    which = [j] if count == networks else list(range(networks))
    found = []
    for i in which:
        stem = picture_stem(kind, i, networks)
        if kind == "relu" and not (folder / f"{stem}.svg").is_file():
            continue  # folders of before there was one
        drawn = as_inline((folder / f"{stem}.svg").read_text("utf-8"), f"terms{i}", LABELS[kind])
        table = folder / f"{stem}.csv"  # folders of before there was one have none
        is_there = table.is_file() and table.stat().st_size <= MAX_BYTES
        found.append(
            {
                "svg": markup(drawn),
                "panels": panels_across(drawn),
                "data": data_address(table.read_text("utf-8")) if is_there else "",
                "file": table.name,
            }
        )
    return found


def panels_across(svg: str) -> int:
    """How many panels stand side by side in a drawing, by its width in points."""
    width = re.match(r'<svg viewBox="0 0 ([\d.]+) ', svg)
    return 1 if width is None else max(1, round(float(width[1]) / _PANEL))


def _terms(terms: list[dict[str, Any]]) -> list[tuple[str, str, Any]]:
    return [(term["name"], _number(term["size"]), term.get("width", "")) for term in terms]


def _verified(result: Result | None) -> tuple[Mapping[str, Any], list[str]]:
    """The numbers of the accepted claim, and the checker's statements; empty if none is."""
    if result is None or result.verdict.value != "ACCEPTED":
        return {}, []
    found = next((c.numbers for c in result.claims if c.kind == "dual-gap"), None)
    return found or {}, [str(claim.statement) for claim in result.claims]


def _choice(choice: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The table of candidates; None for folders of before there was a choice, or without one."""
    if choice is None or not choice["folds"]:
        return None
    return {
        "statement": choice["statement"],
        "folds": choice["folds"],
        "rows": [_candidate(row, choice["chosen"]) for row in choice["candidates"]],
    }


def _candidate(row: Mapping[str, Any], chosen: str) -> dict[str, Any]:
    gap = row["relative_gap"]
    held = row["loss"]
    return {
        "name": row["name"],
        "loss": "–"
        if held is None
        else f"{_number(held)} ± {typeset(nearest_text(row['spread'], 2))}",
        "skill": "–" if row["skill"] is None else f"{100 * row['skill']:.1f} %".replace("-", "−"),
        "gap": "–" if gap is None else f"≤ {typeset(upper_text(gap))}",
        "note": row["note"],
        "seconds": "" if held is None else f"{row['seconds']:.1f}",
        "is_chosen": row["name"] == chosen,
        "is_network": row["is_network"],
    }


def _keys(facts: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    scores, data = facts["scores"], facts["data"]
    word = "accuracy" if facts["task"] == "classification" else "R²"
    neurons = ", ".join(map(str, facts["network"]["width"]))
    held = f"{word} on {data['n_held_out']:,} rows, measured"
    beside = facts.get("baseline")
    keys = [("Held out", _number(scores["held_out"]), held)]
    if beside is not None:
        note = f"{beside['name']}, the same rows"
        keys.append(("Baseline held out", _number(beside["scores"]["held_out"]), note))
    return [
        *keys,
        ("Training", _number(scores["training"]), f"{word} on {data['n_train']:,} rows"),
        ("Neurons", neurons, "any number was allowed"),
        ("Seconds", _number(facts["seconds"]), "choice, training, proof and check"),
    ]


def _score_note(facts: Mapping[str, Any]) -> str:
    """What the scores say; honest where the baseline is ahead."""
    beside = facts.get("baseline")
    ours = facts["scores"]["held_out"]
    if ours is None:
        return "No rows were held out, or too few to score: how it does on new rows is unknown."
    other = None if beside is None else beside["scores"]["held_out"]
    if beside is None or other is None:
        return "The scores are measurements on a few rows, not theorems."
    if other > ours:
        return f"On the rows held out {beside['name']} does better than this network."
    if other == ours:
        return f"On the rows held out {beside['name']} does as well as this network."
    return f"On the rows held out it does better than {beside['name']}; that is no theorem."


def _numbered(name: str, j: int, count: int) -> str:
    return name if count == 1 else f"{name}-{j}"


def _number(value: float | None) -> str:
    return "–" if value is None else typeset(nearest_text(value, 4))

"""`globalmin fit --model additive`: an additive network with weight decay; certificate, curves of
the terms with the data, predictions and facts.
"""

from __future__ import annotations

import csv
import time
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import numpy as np
import typer

from globalmin import drawing
from globalmin.cli import terminal
from globalmin.cli.options import FitOptions, check_choice
from globalmin.cli.output import staged_folder
from globalmin.cli.terminal import print_json, print_rows, working
from globalmin.data import Dataset
from globalmin.data.preprocessing import split_rows
from globalmin.estimators import AdditiveNetworkClassifier, AdditiveNetworkRegressor
from globalmin.files import canonical_json

if TYPE_CHECKING:
    from globalmin._types import Indices

CERTIFICATE, PREDICTIONS, FACTS, TERMS = "certificate.gmc", "predictions.csv", "fit.json", "terms"
REGRESSION = ("squared", "huber", "quantile", "poisson")
CLASSIFICATION = ("logistic", "hinge", "squared_hinge")
LARGEST_GAP = 1e-6  # asked for, relative


@dataclass(frozen=True)
class AdditiveOptions:
    """What `--model additive` and its companions ask for, as typed."""

    loss: str | None
    interactions: str
    weight_decay: float


def fit_additive(options: FitOptions, asked: AdditiveOptions, *, as_json: bool) -> int:
    """Run the whole command; errors leave the output folder as it was."""
    if len(options.targets) != 1:
        raise typer.BadParameter("--model additive fits one target; give --target once")
    loss = check_choice("--loss", asked.loss or "squared", (*REGRESSION, *CLASSIFICATION))
    interactions = check_choice("--interactions", asked.interactions, ("none", "pairs"))
    table = Dataset.load(options.data, target=options.targets, bias=False, scaling="none")
    kind: Any = AdditiveNetworkClassifier if loss in CLASSIFICATION else AdditiveNetworkRegressor
    model = kind(
        loss=loss,
        interactions=interactions,
        weight_decay=asked.weight_decay or "cv",
        gap=LARGEST_GAP,
        random_state=options.seed,
    )
    rows = split_rows(table, options.test_size, options.seed)
    started = time.perf_counter()
    with working("training, proving and checking", quiet=options.quiet):
        model.fit(table.X[rows[0]], table.y[rows[0]])
    if table.feature_names is not None:
        model.feature_names_in_ = np.array(table.feature_names, dtype=object)
    facts = _facts(model, table, rows, time.perf_counter() - started)
    with staged_folder(options.out) as staging:
        _write(model, table, rows, staging)
        (staging / FACTS).write_text(canonical_json(facts) + "\n", encoding="utf-8")
    code = terminal.ACCEPTED if bool(np.all(model.optimal_)) else terminal.NOT_CERTIFIED
    if as_json:
        print_json({"command": "fit", "exit_code": code, "out": str(options.out), **facts})
    else:
        _show(options, facts)
    return code


def _facts(
    model: Any, table: Dataset, rows: tuple[Indices, Indices], seconds: float
) -> dict[str, Any]:
    found = model.terms_
    terms = found[0] if found and isinstance(found[0], list) else found
    scores = [
        float(_quiet_score(model, table.X[part], table.y[part])) if len(part) > 1 else None
        for part in rows
    ]
    return {
        "network": {
            "kind": "additive",
            "loss": model.loss,
            "width": np.ravel(model.width_).tolist(),
        },
        "weight_decay": np.ravel(model.weight_decay_).tolist(),
        "objective": np.ravel(model.objective_).tolist(),
        "lower_bound": np.ravel(model.lower_bound_).tolist(),
        "gap": np.ravel(model.gap_).tolist(),
        "relative_gap": np.ravel(model.relative_gap_).tolist(),
        "verdict": [str(verdict) for verdict in np.ravel(np.array(model.verdict_, dtype=object))],
        "statement": model.gap_statement(),
        "terms": [{"name": term.name, "size": term.size} for term in terms],
        "scores": {"training": scores[0], "held_out": scores[1]},
        "data": {"n_train": len(rows[0]), "n_held_out": len(rows[1])},
        "seconds": seconds,
    }


def _quiet_score(model: Any, X: Any, y: Any) -> float:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the columns have names for pictures only
        return model.score(X, y)


def _write(model: Any, table: Dataset, rows: tuple[Indices, Indices], staging: Path) -> None:
    import warnings

    certificates = (
        model.certificate_ if isinstance(model.certificate_, list) else [model.certificate_]
    )
    for i, content in enumerate(certificates):
        name = CERTIFICATE if len(certificates) == 1 else f"certificate-{model.classes_[i]}.gmc"
        if content is not None:
            (staging / name).write_bytes(content)
    X, y = table.X[rows[0]], table.y[rows[0]]
    is_real = model.loss in REGRESSION[:3]
    drawing.save(lambda: model.plot_terms(X, y if is_real else None), staging / TERMS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outputs = model.predict(table.X)
    held = set(rows[1].tolist())
    with (staging / PREDICTIONS).open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["row", "part", "label", "prediction"])
        for i, (label, output) in enumerate(zip(table.y, outputs, strict=True)):
            part = "held out" if i in held else "training"
            writer.writerow([i, part, repr(float(label)), repr(float(output))])


def _show(options: FitOptions, facts: dict[str, Any]) -> None:
    data, scores = facts["data"], facts["scores"]
    counted = f"{data['n_train']} rows to train, {data['n_held_out']} held out"
    held = "no score" if scores["held_out"] is None else f"{scores['held_out']:.3f}"
    decays = ", ".join(f"{decay:.4g}" for decay in facts["weight_decay"])
    widths = ", ".join(map(str, facts["network"]["width"]))
    rows = [
        ("data", f"{options.data.name} → {options.targets[0]}: {counted}", ""),
        ("network", f"additive, {facts['network']['loss']} loss, {widths} neurons", ""),
        ("decay", decays, ""),
        ("verdict", ", ".join(facts["verdict"]), ""),
        ("gap", facts["statement"], ""),
        ("terms", ", ".join(term["name"] for term in facts["terms"][:8]), ""),
        ("held out", f"score {held} (training {scores['training']:.3f})", ""),
        ("curves", str(options.out / f"{TERMS}.svg"), terminal.COPY),
        (
            "check again",
            f"globalmin-check {quote(str(options.out / CERTIFICATE))} --explain",
            terminal.COPY,
        ),
    ]
    print_rows(rows)

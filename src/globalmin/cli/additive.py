"""`globalmin fit --model additive`: an additive network with weight decay; model, certificate, page
with the curves of the terms and the data, predictions and facts.
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
from globalmin.data.labels import load_labeled, text_share
from globalmin.data.preprocessing import split_rows
from globalmin.estimators import AdditiveNetworkClassifier, AdditiveNetworkRegressor
from globalmin.files import canonical_json
from globalmin.report import additive_page

if TYPE_CHECKING:
    from globalmin._types import Indices, NDArray

CERTIFICATE, PREDICTIONS, FACTS, TERMS = "certificate.gmc", "predictions.csv", "fit.json", "terms"
MODEL, REPORT = "model.safetensors", "report.html"
REGRESSION = ("squared", "huber", "quantile", "poisson")
CLASSIFICATION = ("softmax", "logistic", "hinge", "squared_hinge")
TASKS = ("auto", "regression", "classification")
LARGEST_GAP = 1e-6  # asked for, relative


@dataclass(frozen=True)
class AdditiveOptions:
    """What `--model additive` and its companions ask for, as typed."""

    loss: str | None
    interactions: str
    weight_decay: float
    task: str = "auto"


@dataclass(frozen=True, eq=False)
class Labeled:
    """A table with numbers for its labels, and the labels as they are: numbers or class names."""

    table: Dataset
    labels: NDArray[Any]


def fit_additive(options: FitOptions, asked: AdditiveOptions, *, as_json: bool) -> int:
    """Run the whole command; errors leave the output folder as it was."""
    if len(options.targets) != 1:
        raise typer.BadParameter("--model additive fits one target; give --target once")
    interactions = check_choice("--interactions", asked.interactions, ("none", "pairs"))
    check_loss(asked)
    given = read_labels(options, asked)
    classifies = is_classification(asked, given.labels)
    kind: Any = AdditiveNetworkClassifier if classifies else AdditiveNetworkRegressor
    model = kind(
        loss=asked.loss or ("auto" if classifies else "squared"),
        interactions=interactions,
        weight_decay=asked.weight_decay or "cv",
        gap=LARGEST_GAP,
        random_state=options.seed,
    )
    rows = split_rows(given.table, options.test_size, options.seed)
    started = time.perf_counter()
    with working("training, proving and checking", quiet=options.quiet):
        model.fit(given.table.X[rows[0]], given.labels[rows[0]])
    if given.table.feature_names is not None:
        model.feature_names_in_ = np.array(given.table.feature_names, dtype=object)
    facts = _facts(model, given, rows, time.perf_counter() - started)
    facts["data"] |= {"name": options.data.name, "target": options.targets[0]}
    with staged_folder(options.out) as staging:
        _write(model, given, rows, staging)
        (staging / FACTS).write_text(canonical_json(facts) + "\n", encoding="utf-8")
        page, _ = additive_page.render(facts, staging)
        (staging / REPORT).write_text(page, encoding="utf-8")
    code = terminal.ACCEPTED if bool(np.all(model.optimal_)) else terminal.NOT_CERTIFIED
    if as_json:
        print_json({"command": "fit", "exit_code": code, "out": str(options.out), **facts})
    else:
        _show(options, facts)
    return code


def check_loss(asked: AdditiveOptions) -> None:
    """Refuse a loss that there is not, or that does not fit the task."""
    task = check_choice("--task", asked.task, TASKS)
    allowed = {"regression": REGRESSION, "classification": CLASSIFICATION}
    if asked.loss is not None:
        check_choice("--loss", asked.loss, allowed.get(task, (*REGRESSION, *CLASSIFICATION)))


def read_labels(options: FitOptions, asked: AdditiveOptions) -> Labeled:
    """The table; class names where the task is not regression and the column is text. A column
    with numbers in it is one of numbers unless classification is asked for, so that a slip of the
    pen is refused and not made a class.
    """
    target = options.targets[0]
    share = text_share(options.data, target)
    may_be_classes = asked.task != "regression" and asked.loss not in REGRESSION
    if may_be_classes and share > (0.0 if asked.task == "classification" else 1.0 - 1e-9):
        found = load_labeled(options.data, target)
        codes = np.unique(found.labels, return_inverse=True)[1].astype(np.float64)
        names = {"feature_names": found.feature_names, "target_names": (target,)}
        return Labeled(Dataset(found.X, codes, bias=False, scaling="none", **names), found.labels)
    table = Dataset.load(options.data, target=options.targets, bias=False, scaling="none")
    return Labeled(table, table.y)


def is_classification(asked: AdditiveOptions, labels: NDArray[Any]) -> bool:
    """As task and loss say; else for class names and for two different numbers."""
    if asked.task != "auto":
        return asked.task == "classification"
    if asked.loss is not None:
        return asked.loss in CLASSIFICATION
    return labels.dtype.kind == "U" or np.unique(labels).size == 2


def _facts(
    model: Any, given: Labeled, rows: tuple[Indices, Indices], seconds: float
) -> dict[str, Any]:
    scores = [
        float(_quiet_score(model, given.table.X[part], given.labels[part]))
        if len(part) > 1
        else None
        for part in rows
    ]
    classes = [_cell(label) for label in model.classes_] if hasattr(model, "classes_") else []
    terms = _terms(model)
    return {
        "network": {
            "kind": "additive",
            "loss": model.runs_[0].problem.loss.name,
            "width": np.ravel(model.width_).tolist(),
        },
        "weight_decay": np.ravel(model.weight_decay_).tolist(),
        "objective": np.ravel(model.objective_).tolist(),
        "lower_bound": _finite(model.lower_bound_),
        "gap": _finite(model.gap_),
        "relative_gap": _finite(model.relative_gap_),
        "verdict": [str(verdict) for verdict in np.ravel(np.array(model.verdict_, dtype=object))],
        "asked_gap": LARGEST_GAP,
        "optimal": np.ravel(model.optimal_).tolist(),
        "statement": model.gap_statement(),
        "statements": [model.gap_statement(j) for j in range(len(terms))],
        "task": "classification" if classes else "regression",
        "classes": classes,
        "terms": [{"name": term.name, "size": term.size} for term in terms[0]],
        "all_terms": [
            [{"name": t.name, "size": t.size, "width": t.width} for t in part] for part in terms
        ],
        "scores": {"training": scores[0], "held_out": scores[1]},
        "data": {"n_train": len(rows[0]), "n_held_out": len(rows[1])},
        "seconds": seconds,
    }


def _quiet_score(model: Any, X: Any, y: Any) -> float:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the columns have names for pictures only
        return model.score(X, y)


def _finite(values: Any) -> list[float | None]:
    """Numbers for JSON, which has no infinity: None where nothing is proved."""
    return [float(x) if np.isfinite(x) else None for x in np.ravel(values)]


def _terms(model: Any) -> list[list[Any]]:
    """The terms of every network; of a softmax those of the class that each column moves most."""
    found = model.terms_
    if len(model.networks_) == 1 and found and isinstance(found[0], list):
        terms = sorted((term for part in found for term in part), key=lambda term: -term.size)
        return [list({term.columns: term for term in reversed(terms)}.values())[::-1]]
    return found if found and isinstance(found[0], list) else [found]


def _cell(label: Any) -> str:
    """A label as text: numbers so that they are read back bit for bit."""
    return str(label) if isinstance(label, str) else repr(float(label))


def _write(model: Any, given: Labeled, rows: tuple[Indices, Indices], staging: Path) -> None:
    import warnings

    certificates = (
        model.certificate_ if isinstance(model.certificate_, list) else [model.certificate_]
    )
    X = given.table.X[rows[0]]
    y = given.labels[rows[0]] if model.loss in REGRESSION[:3] else None
    for i, content in enumerate(certificates):
        # numbered in the order of the classes: their names may be no names of files
        ending = "" if len(certificates) == 1 else f"-{i}"
        if content is not None:
            (staging / CERTIFICATE.replace(".", f"{ending}.")).write_bytes(content)
        drawing.save(lambda i=i: model.plot_terms(X, y, target=i), staging / f"{TERMS}{ending}")
    model.save(staging / MODEL)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outputs = model.predict(given.table.X)
    held = set(rows[1].tolist())
    with (staging / PREDICTIONS).open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["row", "part", "label", "prediction"])
        for i, (label, output) in enumerate(zip(given.labels, outputs, strict=True)):
            part = "held out" if i in held else "training"
            writer.writerow([i, part, _cell(label), _cell(output)])


def _show(options: FitOptions, facts: dict[str, Any]) -> None:
    data, scores = facts["data"], facts["scores"]
    counted = f"{data['n_train']} rows to train, {data['n_held_out']} held out"
    held = "no score" if scores["held_out"] is None else f"{scores['held_out']:.3f}"
    decays = ", ".join(f"{decay:.4g}" for decay in facts["weight_decay"])
    widths = ", ".join(map(str, facts["network"]["width"]))
    rows = [
        ("data", f"{options.data.name} → {options.targets[0]}: {counted}", ""),
        ("task", f"{facts['task']} {', '.join(facts['classes'])}".strip(), ""),
        ("network", f"additive, {facts['network']['loss']} loss, {widths} neurons", ""),
        ("decay", decays, ""),
        ("verdict", ", ".join(facts["verdict"]), ""),
        ("gap", facts["statement"], ""),
        ("terms", ", ".join(term["name"] for term in facts["terms"][:8]), ""),
        ("held out", f"score {held} (training {scores['training']:.3f})", ""),
        ("report", str(options.out / REPORT), terminal.COPY),
        (
            "check again",
            f"globalmin-check {quote(str(options.out / _first(facts)))} --explain",
            terminal.COPY,
        ),
    ]
    print_rows(rows)


def _first(facts: dict[str, Any]) -> str:
    return CERTIFICATE if len(facts["verdict"]) == 1 else CERTIFICATE.replace(".", "-0.")

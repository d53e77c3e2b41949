"""`globalmin fit` without --interpolate: a model with weight decay, chosen by cross-validation or
named; its files, page and summary. The policy of the choice lives in the estimators.
"""

from __future__ import annotations

import csv
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import numpy as np
import typer

from globalmin.cli import terminal
from globalmin.cli.options import FitOptions, check_choice, check_output
from globalmin.cli.output import plain_names, staged_folder
from globalmin.cli.regularized_facts import cell, facts_of
from globalmin.cli.regularized_pictures import write_pictures
from globalmin.cli.roads import check_weight_decay
from globalmin.cli.summary import recipe_rows
from globalmin.cli.tables import Labeled, is_plain, read_labeled
from globalmin.cli.terminal import print_json, print_rows, say, working
from globalmin.errors import DataError
from globalmin.estimators._proved import TASKS, are_whole, is_classification
from globalmin.files import canonical_json
from globalmin.regularized.objective import SHAPES
from globalmin.report import regularized_page
from globalmin.shallow.storage import load_networks, save_networks

if TYPE_CHECKING:
    from globalmin._types import Indices, NDArray

CERTIFICATE, PREDICTIONS, FACTS = "certificate.gmc", "predictions.csv", "fit.json"
MODEL, REPORT = "model.safetensors", "report.html"
REGRESSION = ("squared", "huber", "quantile", "poisson")
CLASSIFICATION = ("logistic", "softmax", "hinge", "squared_hinge")


@dataclass(frozen=True)
class Asked:
    """What `--model` and its companions ask for, as typed."""

    model: str
    loss: str | None
    interactions: str
    weight_decay: str
    task: str = "auto"
    gap: float | None = None
    bins: int | None = None
    shapes: tuple[str, ...] = ()


def fit_regularized(options: FitOptions, asked: Asked, *, as_json: bool) -> int:
    """Run the whole command; errors in the table leave the output folder as it was. Several targets
    are a model each, chosen and proved by itself, in a folder of its own.
    """
    check_loss(asked)
    parts = [_read(part, options.targets, asked) for part in _each_target(options)]
    outcomes = [_fitted(part, given, asked) for part, given in parts]
    code = terminal.worst(code for code, _ in outcomes)
    if as_json:
        shown = [
            {"out": str(part.out), "exit_code": code, **_placed(facts, part.out)}
            for (part, _), (code, facts) in zip(parts, outcomes, strict=True)
        ]
        several = {"out": str(options.out), "targets": shown}
        print_json(
            {"command": "fit", "exit_code": code, **(several if len(shown) > 1 else shown[0])}
        )
        return code
    for (part, _), (_, facts) in zip(parts, outcomes, strict=True):
        _show(part, facts)
    return code


def _placed(facts: dict[str, Any], out: Path) -> dict[str, Any]:
    """The facts with whole paths of the files, so that a program need not put them together."""
    certificates = [name and str(out / name) for name in facts["certificates"]]
    placed = {"certificates": certificates, "model": str(out / MODEL), "report": str(out / REPORT)}
    return {**facts, **placed}


def _each_target(options: FitOptions) -> list[FitOptions]:
    """One fit for each target; of several each has a folder in the output folder."""
    if len(options.targets) == 1:
        return [options]
    return [
        replace(
            options, targets=(target,), out=check_output(options.out / name, force=options.force)
        )
        for target, name in zip(options.targets, plain_names(options.targets), strict=True)
    ]


def _read(
    options: FitOptions, targets: tuple[str, ...], asked: Asked
) -> tuple[FitOptions, Labeled]:
    given = read_labeled(
        options.data,
        options.targets[0],
        options.columns,
        others=[name for name in targets if name not in options.targets],
        names_classes=_names_classes(asked),
        test_size=options.test_size,
        seed=options.seed,
    )
    return options, given


def _fitted(options: FitOptions, given: Labeled, asked: Asked) -> tuple[int, dict[str, Any]]:
    """Choose, train, prove, and write the folder of one target: exit code and facts."""
    rows = given.rows
    classes = classifies(asked, given.labels)
    model = _estimator(options, asked, classes)
    if asked.shapes:
        model.shapes = named_shapes(asked.shapes, given.table)
    _check_training(given, rows, model, classes)
    started = time.perf_counter()
    with (
        working("comparing, training, proving and checking", quiet=options.quiet),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")  # the verdict and the gap are in the summary
        weight = None if given.weight is None else given.weight[rows[0]]
        model.fit(given.table.X[rows[0]], given.labels[rows[0]], sample_weight=weight)
    if given.table.feature_names is not None:
        names = np.array(given.table.feature_names, dtype=object)
        model.best_estimator_.feature_names_in_ = names
    facts = facts_of(model, given.table.X, given.labels, rows, time.perf_counter() - started)
    facts["data"] |= {"name": options.data.name, "target": options.targets[0]}
    facts["recipe"] = [] if is_plain(given.recipe) else given.recipe.sentences()
    with staged_folder(options.out) as staging:
        facts["certificates"] = _write(model, given, options.targets[0], staging)
        (staging / FACTS).write_text(canonical_json(facts) + "\n", encoding="utf-8")
        page, _ = regularized_page.render(facts, staging)
        (staging / REPORT).write_text(page, encoding="utf-8")
    is_optimal = bool(np.all(model.optimal_))
    return (terminal.ACCEPTED if is_optimal else terminal.NOT_CERTIFIED), facts


def check_loss(asked: Asked) -> None:
    """Refuse a loss that there is not, or that does not fit the task."""
    task = check_choice("--task", asked.task, TASKS)
    allowed = {"regression": REGRESSION, "classification": CLASSIFICATION}
    if asked.loss is not None:
        check_choice("--loss", asked.loss, allowed.get(task, (*REGRESSION, *CLASSIFICATION)))


def _estimator(options: FitOptions, asked: Asked, classes: bool) -> Any:
    interactions = check_choice("--interactions", asked.interactions, ("none", "auto", "pairs"))
    if interactions != "none" and asked.model != "additive":
        raise typer.BadParameter(
            f"--interactions {interactions} is for additive networks: --model additive"
        )
    if asked.bins is not None and asked.model != "additive":
        raise typer.BadParameter(f"--bins {asked.bins} is for additive networks: --model additive")
    if asked.shapes and asked.model != "additive":
        raise typer.BadParameter(
            f"--shape {asked.shapes[0]} is for additive networks: --model additive"
        )
    if asked.gap is not None and not 0 < asked.gap < 1:
        raise typer.BadParameter(f"--gap {asked.gap:g} must lie between 0 and 1")
    return _kind(classes)(
        models=asked.model,
        loss=asked.loss or ("logistic" if classes else "squared"),
        interactions=interactions,
        bins=asked.bins,
        weight_decay=check_weight_decay(asked.weight_decay, asked.model),
        scaling=options.scaling,
        gap=asked.gap,
        random_state=options.seed,
    )


def named_shapes(texts: Sequence[str], table: Any) -> dict[int, str]:
    """Column numbers with their shapes, from texts such as income:increasing."""
    known = [str(name) for name in table.feature_names or range(table.X.shape[1])]
    found = {}
    for text in texts:
        name, _, word = text.rpartition(":")
        check_choice("--shape", word, SHAPES)
        if name not in known:
            raise typer.BadParameter(
                f"--shape {text}: the table has no column {name!r} with numbers; its columns are "
                f"{', '.join(known)}"
            )
        found[known.index(name)] = word
    return found


def _kind(classes: bool) -> Any:
    """Who chooses: for regression without scikit-learn, whose import takes longer than a fit."""
    if classes:
        from globalmin.estimators import ProvedNetworkClassifier

        return ProvedNetworkClassifier
    from globalmin.estimators._without_sklearn import PlainChoice

    return PlainChoice


def _names_classes(asked: Asked) -> float | None:
    """The share of text from which on labels are class names. A column with numbers in it is one
    of numbers unless classification is asked for, so that a slip of the pen is refused and not
    made a class.
    """
    if asked.task == "regression" or asked.loss in REGRESSION:
        return None
    return 0.0 if asked.task == "classification" else 1.0 - 1e-9


def classifies(asked: Asked, labels: NDArray[Any]) -> bool:
    """As task and loss say; else as `choose_model` decides, which is said if it is a guess."""
    if asked.task != "auto":
        return asked.task == "classification"
    if asked.loss is not None:
        return asked.loss in CLASSIFICATION
    found = is_classification(labels)
    if found and labels.dtype.kind != "U":
        low, high = (cell(x) for x in np.unique(labels))
        say(
            f"globalmin: note: the target has two values, {low} and {high}, which are taken for "
            "classes; --task regression takes them for numbers"
        )
    return found


def _check_training(
    given: Labeled, rows: tuple[Indices, Indices], model: Any, classes: bool
) -> None:
    """The split may have left a small table with one class, or with one row."""
    n, whole = len(rows[0]), len(given.labels)
    remedy = (
        "give more rows, or hold none out with --test-size 0"
        if len(rows[1])
        else ("give more rows")
    )
    if n < 2 and model.weight_decay == "cv":
        raise DataError(
            f"{n} training row(s) of {whole} are too few for cross-validation; {remedy}, or "
            "interpolate them with --interpolate"
        )
    if classes:
        if not are_whole(given.labels):
            broken = next(y for y in given.labels if y != round(y))
            raise DataError(
                f"the target has numbers that are not whole, {cell(broken)} for one, and these "
                "name no classes; write whole numbers or names, or take --task regression"
            )
        found = np.unique(given.labels[rows[0]])
        if len(found) < 2:
            raise DataError(
                f"the {n} training rows have one class only, {cell(found[0])}; {remedy}"
            )
    elif whole > 1 and np.ptp(given.labels[rows[0]]) == 0:
        say(
            f"globalmin: warning: the target is {cell(given.labels[rows[0]][0])} in all {n} "
            "training rows: nothing is learned; check that --target names the right column"
        )


def _write(model: Any, given: Labeled, target: str, staging: Path) -> list[str | None]:
    """Write all files but facts and page; the name of each network's certificate, None where there
    is none.
    """
    rows, chosen = given.rows, model.best_estimator_
    certificates = (
        chosen.certificate_ if isinstance(chosen.certificate_, list) else [chosen.certificate_]
    )
    names: list[str | None] = []
    for i, content in enumerate(certificates):
        # numbered in the order of the classes: their names may be no names of files
        name = _numbered(CERTIFICATE, i, len(certificates))
        names.append(None if content is None else name)
        if content is not None:
            (staging / name).write_bytes(content)
    X = given.table.X[rows[0]]
    y = given.labels[rows[0]] if model.loss in REGRESSION[:3] else None
    write_pictures(model.model_, chosen, X, y, staging)
    model.save(staging / MODEL)
    stored = load_networks(staging / MODEL)
    told = {"recipe": given.recipe.to_json(), "target": target}
    save_networks(staging / MODEL, stored.networks, stored.preprocessing, stored.metadata | told)
    _write_predictions(model, given, rows, staging / PREDICTIONS)
    return names


def _write_predictions(
    model: Any, given: Labeled, rows: tuple[Indices, Indices], path: Path
) -> None:
    outputs = model.predict(given.table.X)
    held = set(rows[1].tolist())
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["row", "part", "label", "prediction"])
        for i, (label, output) in enumerate(zip(given.labels, outputs, strict=True)):
            part = "held out" if i in held else "training"
            writer.writerow([i, part, cell(label), cell(output)])


def _numbered(name: str, i: int, count: int) -> str:
    return name if count == 1 else name.replace(".", f"-{i}.")


def _show(options: FitOptions, facts: dict[str, Any]) -> None:
    data = facts["data"]
    counted = f"{data['n_train']} rows to train, {data['n_held_out']} held out"
    decays = ", ".join(f"{decay:.4g}" for decay in facts["weight_decay"])
    widths = ", ".join(map(str, facts["network"]["width"]))
    kind, loss = facts["network"]["kind"], facts["network"]["loss"].replace("_", " ")
    print_rows(
        [
            ("data", f"{options.data.name} → {options.targets[0]}: {counted}", ""),
            *recipe_rows(facts["recipe"]),
            ("task", f"{facts['task']} {', '.join(facts['classes'])}".strip(), ""),
            *_candidate_rows(facts["choice"]),
            ("why", facts["choice"]["statement"], ""),
            ("network", f"{kind}, {loss} loss, {widths} neurons, weight decay {decays}", ""),
            ("verdict", ", ".join(facts["verdict"]), _style(facts)),
            *_gap_rows(facts),
            ("reads", _readable(facts), ""),
            ("held out", _scores(facts), ""),
            ("report", str(options.out / REPORT), terminal.COPY),
            *_check_rows(facts["certificates"], options.out),
        ]
    )


def _check_rows(names: list[str | None], out: Path) -> list[tuple[str, str, str]]:
    """The command that checks each certificate again: a class has its own."""
    commands = [f"globalmin-check {quote(str(out / name))} --explain" for name in names if name]
    labels = ["check again", *[""] * len(commands)]
    return [(label, line, terminal.COPY) for label, line in zip(labels, commands, strict=False)]


def _gap_rows(facts: dict[str, Any]) -> list[tuple[str, str, str]]:
    lines = facts["statements"]
    names = [f"{name}: " for name in facts["classes"]] if len(lines) > 1 else [""]
    pairs = zip(names, lines, strict=True)
    return [("gap" if i == 0 else "", name + line, "") for i, (name, line) in enumerate(pairs)]


def _style(facts: dict[str, Any]) -> str:
    return "bold green" if all(facts["optimal"]) else "bold yellow"


def _candidate_rows(choice: dict[str, Any]) -> list[tuple[str, str, str]]:
    shown = [
        f"{row['name']}: {row['loss']:.4g} ± {row['spread']:.2g}, {row['note']}"
        if row["loss"] is not None
        else f"{row['name']}: {row['note']}"
        for row in choice["candidates"]
        if row["loss"] is not None or row["note"].startswith("left out")
    ]
    return [("held-out loss" if i == 0 else "", line, "") for i, line in enumerate(shown)]


def _readable(facts: dict[str, Any]) -> str:
    """What of the model a person can read, the largest first."""
    if facts["network"]["kind"] == "relu":
        bounds = ", ".join(map(str, facts["bounds"]))
        return f"effects of columns, in the report; floor proved by {bounds}"
    names = [term["name"] for term in facts["terms"][:8]]
    return ", ".join(names) or "no column is used: the network is a constant"


def _scores(facts: dict[str, Any]) -> str:
    word = "accuracy" if facts["task"] == "classification" else "R²"
    ours, beside = facts["scores"]["held_out"], facts["baseline"]["scores"]["held_out"]
    if ours is None:
        return "no score; nothing is proved about new rows"
    other = "" if beside is None else f" ({facts['baseline']['name']} {beside:.3f})"
    return f"{word} = {ours:.3f}{other}; nothing is proved about new rows"

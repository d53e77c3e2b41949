"""The work of `globalmin fit`: from a file to what is trained on (the table, its split, the data
set of every target), train, prove and measure every target, then write everything at once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from globalmin.cli import terminal
from globalmin.cli.options import FitOptions
from globalmin.cli.output import MODEL, certificate_names, record_fit, record_target, staged_folder
from globalmin.cli.summary import Attempt, attempt, interrupted
from globalmin.cli.tables import read_dataset
from globalmin.cli.terminal import say, working
from globalmin.data import Dataset, RawPart
from globalmin.proving.proof import joined
from globalmin.report.record import FILENAME as RECORD
from globalmin.report.record import FitRecord, TargetRecord

if TYPE_CHECKING:
    from globalmin.data.recipe import Recipe
    from globalmin.deep.problem import DeepRun


@dataclass(frozen=True)
class Prepared:
    """The table as read (all rows), its training part in stored form and raw, and the held-out
    rows, raw.
    """

    table: Dataset
    training: Dataset
    raw: RawPart
    held_out: RawPart
    names: tuple[str, ...]
    recipe: Recipe | None = None


@dataclass(frozen=True)
class TargetData:
    """One target: its training rows, their loss floor, and what the user must be told."""

    training: Dataset
    floor: str
    warnings: tuple[str, ...]


def prepare(options: FitOptions) -> Prepared:
    """Read the table and hold rows out; DataError names the place in the file."""
    table, (train, test), recipe = read_dataset(
        options.data,
        options.targets,
        options.columns,
        bias=options.bias,
        scaling=options.scaling,
        test_size=options.test_size,
        seed=options.seed,
    )
    if table.raw is None:
        raise TypeError("a data set of raw rows keeps them")
    raw, held_out = (RawPart(table.raw.X[rows], table.raw.y[rows]) for rows in (train, test))
    training = table
    names = {"feature_names": table.feature_names, "target_names": table.target_names}
    if options.is_deep:
        training = _deep_training(raw, options, names)
    elif len(test):
        training = Dataset(raw.X, raw.y, bias=options.bias, scaling=options.scaling, **names)
    return Prepared(table, training, raw, held_out, table.target_names or options.targets, recipe)


def _deep_training(raw: RawPart, options: FitOptions, names: dict[str, Any]) -> Dataset:
    from globalmin.deep.inputs import check_image_shape, deep_dataset

    is_image = options.architecture == "convolutional_resnet"
    if options.image is not None:
        check_image_shape(options.image, raw.X.shape[1])
    return deep_dataset(
        raw.X,
        raw.y,
        bias=options.bias and not is_image,
        scaling=options.scaling,
        image_shape=options.image,
        **names,
    )


def prepare_target(prepared: Prepared, j: int, options: FitOptions) -> TargetData:
    """The data set of target j with its exact loss floor, and the warnings about constant and
    contradicting rows.
    """
    training = prepared.training.for_target(j)
    floor = training.degeneracy.loss_floor(options.activation).floor
    warnings = _constant_target(prepared, j)
    if floor:
        whole = prepared.table.for_target(j).degeneracy.message(options.activation)
        warnings.append(
            whole
            or training.degeneracy.message(options.activation) + " (rows of the training part)"
        )
    return TargetData(training, str(floor), tuple(warnings))


def _constant_target(prepared: Prepared, j: int) -> list[str]:
    """The warning about a target that never changes; none for a single row."""
    labels = prepared.raw.y[:, j]
    if labels.size < 2 or (labels != labels[0]).any():
        return []
    return [
        f"the target {prepared.names[j]!r} is {labels[0]:.6g} in all {labels.size} training rows: "
        "every network that outputs "
        "this number fits, and nothing is learned; check that --target names the right column"
    ]


@dataclass(frozen=True)
class Fitted:
    """One target, trained, tried to prove, and measured."""

    data: TargetData
    run: Any
    attempt: Attempt
    record: TargetRecord


@dataclass(frozen=True)
class Outcome:
    """What `fit` reports: the record that was written, the attempts at a proof, the folder and the
    exit code.
    """

    options: FitOptions
    record: FitRecord
    attempts: tuple[Attempt, ...]
    exit_code: int

    @property
    def out(self) -> Path:
        """The output folder."""
        return self.options.out


def fit_and_write(options: FitOptions) -> Outcome:
    """Run the whole command. Errors leave the output folder as it was; Ctrl-C during training keeps
    the best network.
    """
    prepared = prepare(options)
    with staged_folder(options.out) as staging:
        fitted = _fit_targets(prepared, options, staging)
        outcome = _write(fitted, prepared, options, staging)
    return outcome


def _fit_targets(prepared: Prepared, options: FitOptions, staging: Path) -> list[Fitted]:
    """Every target in turn; after an interrupt the remaining ones are left out."""
    fitted: list[Fitted] = []
    train = _trainer(options)
    for j, certificate in enumerate(certificate_names(prepared.names)):
        data = prepare_target(prepared, j, options)
        for warning in data.warnings:
            say(f"globalmin: warning: {warning}")
        started = time.perf_counter()
        run = train(data.training)
        seconds = {"train": time.perf_counter() - started}
        made = _prove(run, data, options, staging / certificate)
        made = replace(made, seconds={**seconds, **made.seconds})
        data = _told(data, made)
        record = record_target(
            prepared, j, data, run, made, certificate=certificate, options=options
        )
        fitted.append(Fitted(data, run, made, record))
        if made.exit_code == terminal.INTERRUPTED:
            break
    return fitted


def _trainer(options: FitOptions) -> Callable[[Dataset], Any]:
    """How to train, with its imports done, so that they do not count as training time."""
    if options.is_deep:
        return _deep_trainer(options)
    from globalmin.shallow.train import train_auto

    return partial(
        train_auto,
        width=options.width,
        activation=options.activation,
        method=options.method,
        trained=options.trained,
        max_iter=options.max_iter,
        until=options.until,
        seed=options.seed,
        verbose=not options.quiet,
        **({"weight_decay": options.weight_decay} if options.weight_decay else {}),
    )


def _deep_trainer(options: FitOptions) -> Callable[[Dataset], DeepRun]:
    from globalmin.deep.inputs import network_shape, train_enough

    method = "levenberg_marquardt" if options.method == "auto" else options.method

    def train(data: Dataset) -> DeepRun:
        columns = data.preprocessing.n_features_in
        form = options.architecture or "fully_connected"
        return train_enough(
            data,
            network_shape(columns, form, options.image, bias=data.bias),
            width=options.width,
            depth=options.depth,
            architecture=form,
            activation=options.activation,
            seed=options.seed,
            method=method,
            max_iter=options.max_iter,
            until="descent" if method == "gradient_descent" else "tolerance",
            verbose=not options.quiet,
        )

    return train


def _prove(run: Any, data: TargetData, options: FitOptions, path: Path) -> Attempt:
    if run.status.value == "interrupted":
        return interrupted()
    try:
        return attempt(
            run.network,
            data.training,
            path=path,
            trained=options.trained,
            weight_decay=options.weight_decay,
            quiet=options.quiet,
            **({"run": run} if options.until == "proved" else {}),
        )
    except KeyboardInterrupt:
        path.unlink(missing_ok=True)
        return interrupted()


def _told(data: TargetData, made: Attempt) -> TargetData:
    """The user is told which rows the proof leaves out, and which claim it lacks."""
    unmet = [f"not in the certificate: {joined(reasons)}"] if (reasons := _unmet(made)) else []
    notes = (*made.proof.notes_on_data, *unmet)
    for note in notes:
        say(f"globalmin: warning: {note}")
    return replace(data, warnings=(*data.warnings, *notes))


def _unmet(made: Attempt) -> Mapping[str, str]:
    """What was asked for and stands not in an accepted file, with the reasons."""
    return made.proof.reasons if made.proof.is_accepted else {}


def _write(
    fitted: Sequence[Fitted], prepared: Prepared, options: FitOptions, staging: Path
) -> Outcome:
    from globalmin.report.page import FILENAME as PAGE
    from globalmin.report.page import render
    from globalmin.shallow.storage import save_networks

    record = record_fit(
        prepared,
        [f.data for f in fitted],
        [f.record for f in fitted],
        digests=[f.attempt.stated(f.data.training).digest for f in fitted],
        options=options,
    )
    save_networks(
        staging / MODEL,
        [f.run.network for f in fitted],
        [f.data.training.preprocessing for f in fitted],
        {} if prepared.recipe is None else {"recipe": prepared.recipe.to_json()},
    )
    (staging / RECORD).write_text(record.to_json(), encoding="utf-8")
    with working("drawing the report", quiet=options.quiet):
        (staging / PAGE).write_text(
            render(record, [f.attempt.proof for f in fitted]), encoding="utf-8"
        )
    attempts = tuple(f.attempt for f in fitted)
    return Outcome(
        options, record, attempts, terminal.worst(attempt.exit_code for attempt in attempts)
    )

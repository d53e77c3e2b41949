"""From a file to what is trained on: the table, its split, and for every target the data set the
certificate will speak of.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from globalmin.data import Dataset, RawPart
from globalmin.data.splitting import split_rows

if TYPE_CHECKING:
    from globalmin.activations import Activation
    from globalmin.cli.options import FitOptions


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


@dataclass(frozen=True)
class TargetData:
    """One target: all its training rows, those that are trained on and certified, and what the user
    must be told.
    """

    training: Dataset
    certified: Dataset
    floor: str
    warnings: tuple[str, ...]


def prepare(options: FitOptions) -> Prepared:
    """Read the table and hold rows out; DataError names the place in the file."""
    table = Dataset.load(
        options.data, target=options.targets, bias=options.bias, scaling=options.scaling
    )
    if table.raw is None:
        raise TypeError("a loaded data set keeps its raw rows")
    train, test = split_rows(table, options.test_size, options.seed)
    raw, held_out = (RawPart(table.raw.X[rows], table.raw.y[rows]) for rows in (train, test))
    training = table
    if len(test):
        names = {"feature_names": table.feature_names, "target_names": table.target_names}
        training = Dataset(raw.X, raw.y, bias=options.bias, scaling=options.scaling, **names)
    return Prepared(table, training, raw, held_out, table.target_names or options.targets)


def prepare_target(prepared: Prepared, j: int, options: FitOptions) -> TargetData:
    """The data set of target j with its exact loss floor, and the warnings about constant,
    contradicting and repeated rows.
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
    certified = training
    repeats = (
        ()
        if counts_repeats(options.activation, training, options.weight_decay)
        else repeated_rows(training)
    )
    if repeats:
        certified = without_rows(training, repeats)
        warnings.append(
            f"{len(repeats)} of {training.n_samples} training rows repeat another row, inputs and "
            "target; they are left out of training and proof, because the loss is zero with them "
            "if and only if it is zero without them"
        )
    return TargetData(training, certified, str(floor), tuple(warnings))


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


def counts_repeats(activation: str | Activation, data: Dataset, weight_decay: float = 0.0) -> bool:
    """Whether a row counts as often as it occurs: where the least loss is not zero (rows conflict,
    or a quadratic network has more samples than its square has entries, or weight decay).
    """
    d = data.n_features
    if str(activation) == "quadratic" and (weight_decay > 0 or data.n_samples > d * (d + 1) // 2):
        return True
    return bool(data.degeneracy.loss_floor(activation).floor)


def repeated_rows(data: Dataset) -> tuple[int, ...]:
    """Rows equal to an earlier row, if nowhere equal rows have different labels."""
    return tuple(i for group in data.degeneracy.equal_rows for i in group[1:])


def without_rows(data: Dataset, rows: tuple[int, ...]) -> Dataset:
    """The same stored numbers without some rows; the scaling stays that of all rows."""
    kept = np.setdiff1d(np.arange(data.n_samples), rows)
    return Dataset.from_preprocessed(data.X[kept], data.y[kept], data.preprocessing)

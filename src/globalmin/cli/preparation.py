"""From a file to what is trained on: the table, its split, and the data set of every target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from globalmin.data import Dataset, RawPart
from globalmin.data.preprocessing import split_rows

if TYPE_CHECKING:
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
    """One target: its training rows, their loss floor, and what the user must be told."""

    training: Dataset
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

"""The table of a command as it is: which columns are inputs, label and weights, how they
become numbers, and which rows are held out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import numpy as np

from globalmin.cli.options import ALL_COLUMNS, Columns
from globalmin.cli.terminal import say
from globalmin.data import Dataset
from globalmin.data.columns import ColumnKind, find_kind, numbers_of, texts_of
from globalmin.data.loading import Table, load_table
from globalmin.data.loading_tables import is_number
from globalmin.data.preprocessing import split_rows
from globalmin.data.raw_table import RawTable, read_raw_table
from globalmin.data.recipe import Recipe, learn_recipe
from globalmin.errors import DataError

if TYPE_CHECKING:
    from globalmin._options import Scaling
    from globalmin._types import Array, Indices, NDArray


@dataclass(frozen=True, eq=False)
class Labeled:
    """A table as numbers, its labels (numbers, or class names), the recipe that made the numbers,
    the rows that train and those held out, and sample weights.
    """

    table: Dataset
    labels: NDArray[Any]
    recipe: Recipe
    rows: tuple[Indices, Indices]
    weight: Array | None = None


def read_labeled(
    path: Path,
    target: str,
    columns: Columns,
    *,
    others: Sequence[str] = (),
    names_classes: float | None,
    test_size: float,
    seed: int,
) -> Labeled:
    """Read the table, hold rows out, and learn the recipe from those that train.

    Parameters
    ----------
    path : Path
        The file.
    target : str
        The column to predict.
    columns : Columns
        Which other columns are taken.
    others : Sequence[str]
        Targets of other models, which are no inputs of this one.
    names_classes : float | None
        The labels are class names if more than this share of them is text; None: never.
    test_size, seed
        The rows that are held out.
    """
    raw = _read(path, (target, *others))
    inputs = _inputs(raw, (target, *others), columns)
    labels = _labels(raw, target, names_classes)
    codes = labels if labels.dtype.kind == "f" else np.unique(labels, return_inverse=True)[1]
    rows, recipe = _learned(inputs, codes.astype(np.float64), columns.categories, test_size, seed)
    table = Dataset(
        recipe.transform(inputs),
        codes.astype(np.float64),
        bias=False,
        scaling="none",
        feature_names=recipe.names,
        target_names=(target,),
    )
    return Labeled(table, labels, recipe, rows, _weights(raw, columns.sample_weight))


@dataclass(frozen=True, eq=False)
class Numbered:
    """A table of which every label is a number: rows after the recipe, labels n x targets, the rows
    that train and those held out.
    """

    X: Array
    y: Array
    recipe: Recipe
    rows: tuple[Indices, Indices]


def read_numbered(
    path: Path,
    targets: Sequence[str],
    columns: Columns,
    *,
    test_size: float,
    seed: int,
    **form: Any,
) -> Numbered:
    """As `read_labeled`, for one or several targets of numbers.

    Parameters
    ----------
    path : Path
        The file.
    targets : Sequence[str]
        The columns to predict.
    columns : Columns
        Which other columns are taken.
    test_size, seed
        The rows that are held out.
    form : Any
        Bias and scaling of the data set: equal rows with different labels are not held out.
    """
    raw = _read(path, targets)
    inputs = _inputs(raw, targets, columns)
    y = np.column_stack([_labels(raw, target, None) for target in targets])
    rows, recipe = _learned(inputs, y, columns.categories, test_size, seed, **form)
    return Numbered(recipe.transform(inputs), y, recipe, rows)


def read_dataset(
    path: Path,
    targets: Sequence[str],
    columns: Columns,
    *,
    bias: bool,
    scaling: Scaling,
    test_size: float = 0.0,
    seed: int = 0,
) -> tuple[Dataset, tuple[Indices, Indices], Recipe | None]:
    """The table as a data set of all its rows, those that train and those held out, and the recipe
    that made the numbers; None if there was nothing to make.
    """
    form: dict[str, Any] = {"bias": bias, "scaling": scaling}
    if path.suffix.lower() == ".npz" and columns == ALL_COLUMNS:
        table = Dataset.load(path, target=targets, **form)
        return table, split_rows(table, test_size, seed), None
    found = read_numbered(path, targets, columns, test_size=test_size, seed=seed, **form)
    form |= {"feature_names": found.recipe.names, "target_names": targets}
    table = Dataset(found.X, found.y, **form)
    return table, found.rows, None if is_plain(found.recipe) else found.recipe


def read_told(
    path: Path, target: str, columns: Columns, *, bias: bool, scaling: Scaling
) -> tuple[Dataset, list[str]]:
    """All rows of a table for a command that holds none out, and how the columns became numbers;
    that is also said, on stderr.
    """
    table, _, recipe = read_dataset(path, [target], columns, bias=bias, scaling=scaling)
    sentences = [] if recipe is None else recipe.sentences()
    for sentence in sentences:
        say(f"globalmin: column {sentence}")
    return table, sentences


def read_plain(
    path: Path,
    target: str,
    columns: Columns,
    *,
    reason: str,
    named: Sequence[str] | None = None,
) -> Table:
    """A table of numbers without gaps: the columns of --use and --drop, else those `named`, else
    all. Text, dates and gaps are refused for the `reason` given, with its remedy.
    """
    if path.suffix.lower() == ".npz":
        if columns != ALL_COLUMNS:
            raise DataError(f"{path}: --use and --drop name columns, and a .npz file has none")
        return load_table(path, target=target, features=named)
    raw = _read(path, [target])
    chosen = named is not None and columns == ALL_COLUMNS
    inputs = raw.only(named or (), "input") if chosen else _inputs(raw, [target], columns)
    for name in inputs.names:
        what = _not_plain(inputs, name, columns.categories)
        if what:
            raise DataError(
                f"{raw.origin}: column {name!r}{what}, and {reason}, or leave the column out "
                f"(--drop {name!r})"
            )
    X = np.column_stack([numbers_of(inputs, name) for name in inputs.names])
    return Table(X, _labels(raw, target, None)[:, None], inputs.names, (target,))


def _not_plain(table: RawTable, name: str, categories: Sequence[str]) -> str:
    """What keeps a column from being numbers without gaps, to be read after its name, or ""."""
    kind = "category" if name in categories else find_kind(table, name).kind
    if kind != "number":
        return f" is a {kind}"
    cells = table.columns[name]
    gap = next((i for i, cell in enumerate(cells) if cell is None), None)
    return "" if gap is None else f", {table.place(gap)}: the value is missing"


def read_again(
    path: Path, target: str, recipe: Recipe, *, test_size: float, seed: int, **form: Any
) -> Numbered:
    """The table of a fit again, by the recipe that is stored with its model; the rows held out are
    those that the fit held out.
    """
    raw = _read(path, (target,))
    inputs = raw.only(recipe.columns, "input")
    y = _labels(raw, target, None)[:, None]
    named = [step.column for step in recipe.steps if step.kind == "category"]
    rows, _ = _learned(inputs, y, named, test_size, seed, **form)
    return Numbered(recipe.transform(inputs), y, recipe, rows)


def _read(path: Path, targets: Sequence[str]) -> RawTable:
    raw = read_raw_table(path, target=targets)
    for target in targets:
        parts = [part.strip() for part in target.split(",")]
        if target not in raw.columns and len(parts) > 1 and set(parts) <= set(raw.columns):
            options = " ".join(f"--target {quote(part)}" for part in parts)
            raise DataError(
                f"{raw.origin}: there is no target column {target!r}; several targets are given "
                f"one by one: {options}"
            )
    raw.require(list(targets), "target")
    return raw


def _learned(
    inputs: RawTable,
    y: Array,
    categories: Sequence[str],
    test_size: float,
    seed: int,
    *,
    bias: bool = False,
    scaling: Scaling = "none",
) -> tuple[tuple[Indices, Indices], Recipe]:
    """Which rows train and which are held out, and the recipe that those which train give."""
    kinds: dict[str, ColumnKind] = dict.fromkeys(categories, "category")
    X = learn_recipe(inputs, kinds=kinds).transform(inputs)
    rows = split_rows(Dataset(X, y, bias=bias, scaling=scaling), test_size, seed)
    return rows, learn_recipe(inputs.rows(rows[0]), kinds=kinds)


def _inputs(raw: RawTable, targets: Sequence[str], columns: Columns) -> RawTable:
    other = [*targets, *([] if columns.sample_weight is None else [columns.sample_weight])]
    for option, names in (("--use", columns.use), ("--drop", columns.drop)):
        raw.require(list(names), option)
        taken = [name for name in names if name in other]
        if taken:
            raise DataError(
                f"{raw.origin}: column {taken[0]!r} is named by {option} and as target or weight; "
                "choose one"
            )
    raw.require(list(columns.categories), "--category")
    left_out = [name for name in columns.categories if name in (*columns.drop, *other)]
    if left_out:
        raise DataError(
            f"{raw.origin}: column {left_out[0]!r} is named by --category and is no input; choose "
            "one"
        )
    raw.require(other[len(targets) :], "--sample-weight")
    chosen = raw.only(columns.use) if columns.use else raw.without(other)
    return chosen.without([name for name in columns.drop if name in chosen.columns])


def _labels(raw: RawTable, target: str, names_classes: float | None) -> NDArray[Any]:
    """Numbers, or class names where enough of the labels are text."""
    cells = raw.columns[target]
    missing = next((i for i, cell in enumerate(cells) if cell is None), None)
    if missing is not None:
        raise DataError(
            f"{raw.origin}: column {target!r}, {raw.place(missing)}: the label is missing; remove "
            "the row or fill it in"
        )
    share = sum(isinstance(cell, str) and not is_number(cell) for cell in cells) / len(cells)
    if names_classes is not None and share > names_classes:
        return np.array([str(cell) for cell in texts_of(raw, target)])
    if share == 1.0:
        raise DataError(
            f"{raw.origin}: the target {target!r} holds text ({cells[0]!r:.60}), and here labels "
            "are numbers; write 1 and -1 for two classes, or let `globalmin fit --task "
            "classification` take them by name"
        )
    return numbers_of(raw, target)


def _weights(raw: RawTable, column: str | None) -> Array | None:
    if column is None:
        return None
    weights = numbers_of(raw, column)
    bad = np.flatnonzero(~(weights >= 0))
    if bad.size:
        raise DataError(
            f"{raw.origin}: column {column!r}, {raw.place(int(bad[0]))}: the sample weight is "
            "missing or negative; give numbers of at least 0"
        )
    return weights


def is_plain(recipe: Recipe) -> bool:
    """Whether every column is a number without gaps, so that there is nothing to tell."""
    return all(step.kind == "number" and not step.gaps for step in recipe.steps)

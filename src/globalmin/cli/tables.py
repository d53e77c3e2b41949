"""The table of `globalmin fit` as it is: which columns are inputs, label and weights, how they
become numbers, and which rows are held out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from globalmin.data import Dataset
from globalmin.data.columns import ColumnKind, numbers_of, texts_of
from globalmin.data.loading_tables import is_number
from globalmin.data.preprocessing import split_rows
from globalmin.data.raw_table import RawTable, read_raw_table
from globalmin.data.recipe import Recipe, learn_recipe
from globalmin.errors import DataError

if TYPE_CHECKING:
    from globalmin._types import Array, Indices, NDArray


@dataclass(frozen=True)
class Columns:
    """Which columns are taken: those to use (none: all), to drop, to take for categories, and the
    one with sample weights.
    """

    use: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    sample_weight: str | None = None


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
    names_classes : float | None
        The labels are class names if more than this share of them is text; None: never.
    test_size, seed
        The rows that are held out.
    """
    raw = read_raw_table(path, target=(target,))
    raw.require([target], "target")
    inputs = _inputs(raw, target, columns)
    labels = _labels(raw, target, names_classes)
    kinds: dict[str, ColumnKind] = dict.fromkeys(columns.categories, "category")
    X = learn_recipe(inputs, kinds=kinds).transform(inputs)
    codes = labels if labels.dtype.kind == "f" else np.unique(labels, return_inverse=True)[1]
    whole = Dataset(X, codes.astype(np.float64), bias=False, scaling="none")
    rows = split_rows(whole, test_size, seed)
    recipe = learn_recipe(inputs.rows(rows[0]), kinds=kinds)
    table = Dataset(
        recipe.transform(inputs),
        codes.astype(np.float64),
        bias=False,
        scaling="none",
        feature_names=recipe.names,
        target_names=(target,),
    )
    return Labeled(table, labels, recipe, rows, _weights(raw, columns.sample_weight))


def _inputs(raw: RawTable, target: str, columns: Columns) -> RawTable:
    other = [target, *([] if columns.sample_weight is None else [columns.sample_weight])]
    for option, names in (("--use", columns.use), ("--drop", columns.drop)):
        raw.require(list(names), option)
        taken = [name for name in names if name in other]
        if taken:
            raise DataError(
                f"{raw.origin}: column {taken[0]!r} is named by {option} and as target or weight; "
                "choose one"
            )
    raw.require(list(columns.categories), "--category")
    raw.require(other[1:], "--sample-weight")
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


def column_list(given: Sequence[str] | None) -> tuple[str, ...]:
    """Names given one by one or separated by commas, each once."""
    names = [name.strip() for part in given or () for name in part.split(",")]
    return tuple(dict.fromkeys(name for name in names if name))

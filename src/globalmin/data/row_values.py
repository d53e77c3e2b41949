"""Raw rows of a piece of a table as numbers: what is no finite number is refused with its place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from globalmin._types import Array
from globalmin.data.validation import LARGEST_EXACT_INTEGER, as_matrix
from globalmin.errors import DataError


def column_names(piece: Any) -> list[str]:
    """Of a frame, a table or a batch."""
    names = getattr(getattr(piece, "schema", None), "names", None)
    names = getattr(piece, "columns", None) if names is None else names
    if names is None:
        raise DataError(
            f"a piece of rows is a {type(piece).__name__}; give data frames or pairs (X, y)"
        )
    return [str(name) for name in names]


def raw_rows(piece: Any, columns: Sequence[str], where: str) -> Array:
    """The rows of a piece as a matrix, the columns in this order; DataError for what is no finite
    number.
    """
    if isinstance(piece, tuple):
        X, y = (np.asarray(part) for part in piece)
        rows = np.column_stack([_numeric(X, "X", where), _numeric(y, "y", where)])
        if rows.shape[1] != len(columns):
            raise DataError(
                f"{where}: {rows.shape[1] - 1} inputs in a piece, {len(columns) - 1} before; give "
                "the same columns"
            )
        return checked(rows, columns, where)
    rows = np.empty((len(piece), len(columns)))
    known = column_names(piece)
    for j, name in enumerate(columns):
        if name not in known:
            raise DataError(f"{where}: a piece has no column {name!r}; give the same columns")
        rows[:, j] = _numeric(_values(piece, name), name, where)
    return checked(rows, columns, where)


def _values(piece: Any, name: str) -> Any:
    if hasattr(piece, "schema"):  # a table or batch of pyarrow
        column = piece.column(name)
        return column.to_numpy(zero_copy_only=False)
    return np.asarray(piece[name])


def _numeric(values: Any, name: str, where: str) -> Any:
    if values.dtype.kind not in "fiub":
        raise DataError(
            f"{where}: column {name!r} has type {values.dtype}, which is not a number; encode it "
            "as numbers or leave the column out"
        )
    large = values.dtype.kind in "iu" and values.size and values.dtype.itemsize == 8
    if large and max(int(values.max()), -int(values.min())) > LARGEST_EXACT_INTEGER:
        raise DataError(
            f"{where}: column {name!r} has integers beyond 2^53, which would be rounded; subtract "
            "an offset or leave the column out"
        )
    return values


def checked(rows: Array, columns: Sequence[str], where: str) -> Array:
    """The rows, all finite."""
    if not np.isfinite(rows).all():
        i, j = np.argwhere(~np.isfinite(rows))[0]
        what = "missing (NaN)" if np.isnan(rows[i, j]) else "infinite"
        raise DataError(
            f"{where}: column {columns[j]!r}: a value is {what}, row {i + 1} of its block; remove "
            "the row or fill it in"
        )
    return rows


def raw_inputs(X: Any, features: Sequence[str]) -> Array:
    """The inputs as a matrix, by name from a table with names, else as they are."""
    named = hasattr(X, "columns") or hasattr(X, "schema")
    if named:
        return raw_rows(X, features, "X")
    rows = as_matrix(X)
    if rows.shape[1] != len(features):
        raise DataError(
            f"X has {rows.shape[1]} columns, the network was fitted on {len(features)}; give the "
            f"columns {', '.join(features[:6])}"
        )
    return rows

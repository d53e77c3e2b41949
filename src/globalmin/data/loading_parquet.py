"""Parquet tables through pyarrow, which is imported on use (the extra `globalmin[parquet]`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from globalmin._types import Array
from globalmin.data.loading import Choice, Table, select_columns
from globalmin.data.validation import LARGEST_EXACT_INTEGER
from globalmin.errors import DataError


def read_parquet(path: Path, choice: Choice, max_bytes: int) -> Table:
    """Read a parquet file; see `load_table`."""
    parquet, arrow = _pyarrow(path)
    try:
        with parquet.ParquetFile(path) as file:
            columns = list(file.schema_arrow.names)
            _refuse_duplicates(path, columns)
            features, targets = select_columns(path, columns, choice)
            _refuse_large(path, file.metadata, len(features) + len(targets), max_bytes)
            table = file.read(columns=[*features, *targets])
    except DataError:
        raise
    except (arrow.ArrowException, OSError, ValueError, OverflowError, MemoryError) as error:
        raise DataError(
            f"{path}: not a readable parquet file ({error!s:.100}); write it again"
        ) from error
    values = {
        name: _column(path, name, table.column(name), arrow) for name in (*features, *targets)
    }
    X = np.stack([values[name] for name in features], axis=1)
    return Table(X, np.stack([values[name] for name in targets], axis=1), features, targets)


def _pyarrow(path: Path) -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise DataError(
            f"{path}: reading parquet needs pyarrow; install globalmin[parquet], or save the table "
            "as csv"
        ) from error
    return pyarrow.parquet, pyarrow


def _refuse_duplicates(path: Path, columns: list[str]) -> None:
    repeated = [name for name in columns if columns.count(name) > 1]
    if repeated:
        raise DataError(
            f"{path}: the column {repeated[0]!r} exists twice; give every column its own name"
        )


def _refuse_large(path: Path, metadata: Any, n_columns: int, max_bytes: int) -> None:
    if metadata.num_rows == 0:
        raise DataError(f"{path}: the table has no rows; give at least one")
    declared = sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))
    needed = max(8 * metadata.num_rows * n_columns, declared)
    if needed > max_bytes:
        raise DataError(
            f"{path}: the table needs {needed} bytes in memory, more than the limit of "
            f"{max_bytes}; raise max_bytes if it fits"
        )


def _column(path: Path, name: str, column: Any, arrow: Any) -> Array:
    kind = column.type
    types = arrow.types
    if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)):
        first = next((value.as_py() for value in column if value.is_valid), None)
        raise DataError(
            f"{path}: column {name!r} has type {kind} (first value {first!r:.60}), which is not a "
            "number; encode it as numbers or leave the column out"
        )
    values = column.to_numpy()
    missing = np.flatnonzero(column.is_null().to_numpy().astype(bool))
    if missing.size:
        raise DataError(
            f"{path}: column {name!r}, data row {missing[0] + 1}: the value is missing (NaN); "
            "remove the row or fill it in"
        )
    if (
        types.is_integer(kind)
        and max(int(values.max()), -int(values.min())) > LARGEST_EXACT_INTEGER
    ):
        raise DataError(
            f"{path}: column {name!r} has integers beyond 2^53, which would be rounded; "
            "subtract an offset or leave the column out"
        )
    floats = np.asarray(values, dtype=np.float64)
    bad = np.flatnonzero(~np.isfinite(floats))
    if bad.size:
        what = "missing (NaN)" if np.isnan(floats[bad[0]]) else "infinite"
        raise DataError(
            f"{path}: column {name!r}, data row {bad[0] + 1}: the value is {what}; remove the row "
            "or fill it in"
        )
    return floats

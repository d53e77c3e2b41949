"""Tables from files: csv, npz (never pickle) and parquet; every refusal names the file, the place
and the remedy.
"""

from __future__ import annotations

import stat
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from globalmin._types import Array
from globalmin.errors import DataError

MAX_BYTES = 2**30


class Table(NamedTuple):
    """Raw inputs X (n x features), labels y (n x targets) and their names (None where the file has
    none).
    """

    X: Array
    y: Array
    feature_names: tuple[str, ...] | None
    target_names: tuple[str, ...] | None


class Choice(NamedTuple):
    """Which columns (or arrays) are labels and which are inputs; None means not said."""

    target: tuple[str, ...] | None
    features: tuple[str, ...] | None


def load_table(
    path: str | Path,
    *,
    target: str | Sequence[str] | None = None,
    features: str | Sequence[str] | None = None,
    max_bytes: int = MAX_BYTES,
) -> Table:
    """Read the table in `path`; the format follows the suffix (.csv, .tsv, .txt, .npz, .parquet).

    Parameters
    ----------
    target, features : as in `Dataset.load`.
    max_bytes : files, archives and tables that are larger are refused before they are read.
    """
    path = Path(path)
    reader = _reader(path)
    size = _regular_file_size(path)
    if size > max_bytes:
        raise DataError(
            f"{path}: the file has {size} bytes, more than the limit of {max_bytes}; raise "
            "max_bytes if it fits in memory"
        )
    return reader(path, Choice(_names(target, "target"), _names(features, "features")), max_bytes)


def select_columns(
    path: Path, columns: Sequence[str], choice: Choice
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of the feature and the target columns, each checked to exist."""
    listed = ", ".join(map(repr, columns))
    if choice.target is None:
        raise DataError(
            f"{path}: no target column is named; pass target= one of the columns {listed}"
        )
    features = choice.features or tuple(name for name in columns if name not in choice.target)
    for argument, names in (("target", choice.target), ("feature", features)):
        for name in names:
            if name not in columns:
                raise DataError(
                    f"{path}: there is no {argument} column {name!r}; the columns are {listed}"
                )
    both = [name for name in features if name in choice.target]
    if both:
        raise DataError(f"{path}: column {both[0]!r} is named as feature and as target; choose one")
    if not features:
        raise DataError(
            f"{path}: no column is left for the inputs; the columns are {listed}, and all of them "
            "are targets"
        )
    return features, choice.target


def _reader(path: Path) -> Callable[[Path, Choice, int], Table]:
    suffix = path.suffix.lower()
    if suffix in (".csv", ".tsv", ".txt"):
        from globalmin.data.loading_tables import read_csv

        return read_csv
    if suffix == ".npz":
        from globalmin.data.loading_npz import read_npz

        return read_npz
    if suffix in (".parquet", ".pq"):
        from globalmin.data.loading_tables import read_parquet

        return read_parquet
    raise DataError(
        f"{path}: the suffix {suffix!r} is not a known format; give a .csv, .npz or .parquet file"
    )


def _regular_file_size(path: Path) -> int:
    try:
        status = path.stat()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise DataError(f"{path}: cannot be opened ({reason}); check the path") from error
    if not stat.S_ISREG(status.st_mode):
        raise DataError(
            f"{path}: is not a regular file; give the path of a .csv, .npz or .parquet file"
        )
    return status.st_size


def _names(value: str | Sequence[str] | None, argument: str) -> tuple[str, ...] | None:
    if value is None:
        return None
    names = (value,) if isinstance(value, str) else tuple(value)
    if not names or not all(isinstance(name, str) for name in names):
        raise DataError(
            f"{argument}={value!r} must be a column name or a non-empty list of column names"
        )
    repeated = [name for name in names if names.count(name) > 1]
    if repeated:
        raise DataError(f"{argument} names {repeated[0]!r} twice; name every column once")
    return names

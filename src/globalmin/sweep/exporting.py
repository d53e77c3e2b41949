"""The table of a sweep as a parquet or csv file; the same sweep gives the same rows in the same
order.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from globalmin.errors import PlanError
from globalmin.files import canonical_json, save_atomically
from globalmin.sweep.objects import file_errors
from globalmin.sweep.reading import rows

SUFFIXES = (".parquet", ".csv")


def export(
    folder: str | os.PathLike[str], path: str | os.PathLike[str], *, timing: bool = False
) -> Path:
    """Write the table to `path`, whose suffix says how: .parquet (needs pyarrow) or .csv.

    Arrays appear as "sha256:..." texts; `timing` adds the columns seconds and tries, which differ
    from run to run.
    """
    target = Path(path)
    if target.suffix.lower() not in SUFFIXES:
        raise PlanError(f"{target}: the name must end in one of {', '.join(SUFFIXES)}")
    table = rows(folder, timing=timing)
    content = _parquet(target, table) if target.suffix.lower() == ".parquet" else _csv(table)
    return write_whole(target, content)


def write_whole(target: Path, content: bytes) -> Path:
    """Write a file so that a reader sees the old one or the whole new one."""
    with file_errors(target):
        return save_atomically(target, content)


def _csv(table: Sequence[dict[str, Any]]) -> bytes:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(table[0])
    writer.writerows([_cell(value) for value in row.values()] for row in table)
    return stream.getvalue().encode("utf-8")


def _cell(value: Any) -> Any:
    return canonical_json(value) if isinstance(value, list | dict) else value


def _parquet(target: Path, table: Sequence[dict[str, Any]]) -> bytes:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise PlanError(
            f"{target}: writing parquet needs pyarrow; install globalmin[parquet], or export to "
            ".csv"
        ) from error
    columns = {name: _column([row[name] for row in table]) for name in table[0]}
    stream = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(columns), stream)
    return stream.getvalue()


def _column(values: list[Any]) -> Any:
    """One type per column: whole numbers beside fractions become floats, anything beside a text
    becomes text.
    """
    import pyarrow

    kinds = {type(value) for value in values if value is not None}
    if not kinds:
        return pyarrow.array(values, pyarrow.string())
    if kinds == {bool}:
        return pyarrow.array(values, pyarrow.bool_())
    if kinds == {int} and all(value is None or -(2**63) <= value < 2**63 for value in values):
        return pyarrow.array(values, pyarrow.int64())
    if kinds <= {int, float}:
        return pyarrow.array(
            [None if value is None else float(value) for value in values], pyarrow.float64()
        )
    texts = [
        value if value is None or isinstance(value, str) else canonical_json(value)
        for value in values
    ]
    return pyarrow.array(texts, pyarrow.string())

"""Reading a sweep, also while it runs: status, rows, failures, arrays, and the table as a parquet
or csv file; the same sweep gives the same rows in the same order.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from globalmin.errors import PlanError, StoreError
from globalmin.files import canonical_json, save_atomically
from globalmin.sweep.canonical import ARRAY, decode_result, trial_id
from globalmin.sweep.ledger import Ledger, row_digest
from globalmin.sweep.plan import Plan
from globalmin.sweep.store import LEDGER, OBJECTS, Objects, Store, file_errors, is_driven

RATE_SECONDS = 60.0  # the rate is that of the last minute


@dataclass(frozen=True)
class Status:
    """Where a sweep stands; `rate` in trials per second and `seconds_left` are None where there is
    nothing to go by.
    """

    name: str
    total: int
    done: int
    failed: int
    running: int
    waiting: int
    driven: bool
    rate: float | None
    seconds_left: float | None


@dataclass(frozen=True)
class Failure:
    """A failed trial with the traceback of its last try."""

    trial: str
    parameters: dict[str, Any]
    seed: int
    tries: int
    error: str


@contextlib.contextmanager
def open_ledger(folder: str | os.PathLike[str]) -> Iterator[Ledger]:
    """The ledger of a folder, for reading."""
    path = Path(folder) / LEDGER
    if not path.is_file():
        raise StoreError(f"{folder}: no sweep here; give a folder made by globalmin sweep run")
    with Ledger(path, "read") as ledger:
        yield ledger


def read_plan(ledger: Ledger) -> Plan:
    """The plan that was last run in a folder."""
    text = ledger.get("plan")
    if text is None:
        raise StoreError(f"{ledger.path}: no plan was recorded; run the plan on this folder again")
    return Plan.from_json(text)


def status(folder: str | os.PathLike[str]) -> Status:
    """Counts, rate and time left; may be asked while the sweep runs."""
    with open_ledger(folder) as ledger:
        plan = read_plan(ledger)
        counts = dict(
            ledger.query(
                "SELECT state, count(*) FROM trial WHERE position IS NOT NULL GROUP BY state"
            )
        )
        driven = is_driven(Path(folder))
        rate = _rate(ledger, driven)
    running = counts.get("running", 0) if driven else 0
    total = sum(counts.values())
    open_trials = total - counts.get("done", 0) - counts.get("failed", 0)
    left = open_trials / rate if rate and driven else 0.0 if open_trials == 0 else None
    return Status(
        plan.name,
        total,
        counts.get("done", 0),
        counts.get("failed", 0),
        running,
        open_trials - running,
        driven,
        rate,
        left,
    )


def _rate(ledger: Ledger, driven: bool) -> float | None:
    """Trials per second in the last minute of the last run."""
    started = float(ledger.get("started") or 0.0)
    last = ledger.query("SELECT max(finished) FROM trial WHERE state IN ('done', 'failed')")[0][0]
    end = time.time() if driven else last
    if end is None:
        return None
    begin = max(started, end - RATE_SECONDS)
    count = ledger.query(
        "SELECT count(*) FROM trial WHERE state IN ('done', 'failed') AND finished >= ?", (begin,)
    )[0][0]
    return count / (end - begin) if count and end > begin else None


def rows(
    folder: str | os.PathLike[str], *, arrays: bool = False, timing: bool = False
) -> list[dict[str, Any]]:
    """The table: one dict per trial, in the order of the plan, with the same keys in every row.

    Parameters
    ----------
    folder : of the sweep.
    arrays : load arrays; otherwise they are the texts "sha256:...".
    timing : also `seconds` and `tries`, which differ from run to run.
    """
    objects = Objects(Path(folder) / OBJECTS)
    with open_ledger(folder) as ledger:
        plan = read_plan(ledger)
        found = ledger.query(
            "SELECT id, parameters, seed, code, state, result, error, digest, seconds, tries FROM "
            "trial WHERE position IS NOT NULL ORDER BY position"
        )
    table = [_row(plan, record, objects if arrays else None, timing) for record in found]
    results = dict.fromkeys(name for _, result in table for name in sorted(result))
    head = ["trial", *plan.parameter_names(), "seed", "status"]
    tail = ["error", *(("seconds", "tries") if timing else ())]
    return [
        {name: {**known, **result}.get(name) for name in (*head, *results, *tail)}
        for known, result in table
    ]


def _row(
    plan: Plan, record: tuple[Any, ...], objects: Objects | None, timing: bool
) -> tuple[dict[str, Any], dict[str, Any]]:
    id, text, seed, code, state, result, error, digest, seconds, tries = record
    parameters = json.loads(text)
    if trial_id(plan.recipe, parameters, seed, code) != id or (
        result is not None and row_digest(id, result) != digest
    ):
        raise StoreError(
            f"the row of trial {id[:12]} no longer matches its digest; restore the ledger from a "
            "copy"
        )
    known = {
        **parameters,
        "trial": id,
        "seed": seed,
        "status": state if state in ("done", "failed") else "waiting",
    }
    known["error"] = (
        None if error is None else error.strip().splitlines()[-1] if error.strip() else "unknown"
    )
    if timing:
        known.update(seconds=seconds, tries=tries)
    values = (
        {}
        if result is None
        else decode_result(result)
        if objects is None
        else _with_arrays(result, objects)
    )
    return known, values


def _with_arrays(result: str, objects: Objects) -> dict[str, Any]:
    import numpy as np

    values = decode_result(result)
    for name, value in json.loads(result).items():
        if isinstance(value, dict) and ARRAY in value:
            values[name] = np.load(io.BytesIO(objects.get(value[ARRAY])), allow_pickle=False)
    return values


def failures(folder: str | os.PathLike[str]) -> list[Failure]:
    """Every failed trial, in the order of the plan."""
    with open_ledger(folder) as ledger:
        found = ledger.query(
            "SELECT id, parameters, seed, tries, error FROM trial"
            " WHERE position IS NOT NULL AND state = 'failed' ORDER BY position"
        )
    return [
        Failure(id, json.loads(text), seed, tries, error) for id, text, seed, tries, error in found
    ]


def gc(folder: str | os.PathLike[str]) -> int:
    """Remove arrays that no trial names and temporary files of killed runs; returns how many
    files.
    """
    with Store(folder) as store:
        return store.collect()


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

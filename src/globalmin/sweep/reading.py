"""Reading a sweep, also while it runs: status, rows, failures, arrays. Never writes."""

from __future__ import annotations

import contextlib
import io
import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from globalmin.errors import StoreError
from globalmin.sweep.canonical import ARRAY, decode_result, trial_id
from globalmin.sweep.ledger import Ledger, row_digest
from globalmin.sweep.objects import Objects
from globalmin.sweep.plan import Plan
from globalmin.sweep.store import LEDGER, OBJECTS, Store, is_driven

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

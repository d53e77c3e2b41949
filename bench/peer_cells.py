"""Cells of a benchmark on disk: one JSON file each, written whole or not at all, so that a run can
be interrupted anywhere and goes on where it was; and work under a limit of CPU seconds.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import platform
import resource
import signal
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = (
    *("numpy", "scipy", "scikit-learn", "torch"),
    *("interpret-core", "pygam", "pyscnn"),
)


@dataclass(frozen=True)
class Cell:
    """One measurement: its name as parts, and the work that gives its numbers."""

    parts: tuple[str, ...]
    work: Callable[[], dict[str, Any]] = field(compare=False)

    @property
    def name(self) -> str:
        """The file name without its end."""
        return "__".join(part.replace(" ", "_").replace("/", "_") for part in self.parts)


@dataclass(frozen=True)
class Store:
    """A folder of cells."""

    folder: Path

    def path(self, name: str) -> Path:
        """The file of a cell."""
        return self.folder / f"{name}.json"

    def read(self, name: str) -> dict[str, Any] | None:
        """The numbers of a cell, None if it was not measured."""
        path = self.path(name)
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None

    def write(self, name: str, numbers: dict[str, Any]) -> None:
        """Whole or not at all."""
        self.folder.mkdir(parents=True, exist_ok=True)
        part = self.folder / f"{name}.part"
        part.write_text(json.dumps(numbers, indent=1) + "\n", encoding="utf-8")
        os.replace(part, self.path(name))

    def all(self) -> dict[str, dict[str, Any]]:
        """Every cell by its name."""
        return {
            path.stem: self.read(path.stem) or {} for path in sorted(self.folder.glob("*.json"))
        }


def run_cells(
    cells: Iterable[Cell],
    store: Store,
    *,
    seconds: float = float("inf"),
    skip: Callable[[Cell], bool] = lambda cell: False,
    is_timed: bool = True,
) -> int:
    """Measure what is missing, with a line of progress each; no new cell begins after `seconds`.
    Returns how many are still missing. Times of a machine that is busy otherwise are not kept.
    """
    began, missing = time.monotonic(), 0
    for cell in cells:
        if store.path(cell.name).exists() or skip(cell):
            continue
        if time.monotonic() - began > seconds:
            missing += 1
            continue
        numbers = cell.work()
        if not is_timed:
            numbers["is_timed"] = False
        store.write(cell.name, {"parts": list(cell.parts), **numbers, **where()})
        shown = {key: value for key, value in numbers.items() if not isinstance(value, list)}
        print(f"{' | '.join(cell.parts)}: {_brief(shown)}", flush=True)
    return missing


def within(limit: float, work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """The numbers of `work`, done in a forked copy of this process that the kernel ends after
    `limit` CPU seconds; whatever it raises becomes its result under "error".
    """
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_child, args=(sender, limit, work))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # threads of others: they do nothing while we fork
        child.start()
    sender.close()
    try:
        found = receiver.recv()
    except EOFError:
        found = None
    child.join()
    if found is not None:
        return found
    is_late = child.exitcode == -signal.SIGXCPU
    reason = f"more than {limit:g} CPU s" if is_late else f"ended with code {child.exitcode}"
    return {"error": reason, "seconds": limit}


def _child(sender: Any, limit: float, work: Callable[[], dict[str, Any]]) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (int(limit) + 1, int(limit) + 10))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    began = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = work()
    except Exception as failure:  # whatever a peer raises is its result
        text = f"{type(failure).__name__}: {' '.join(str(failure).split())[:200]}"
        found = {"error": text, "seconds": time.process_time() - began}
    sender.send(found)


def versions() -> dict[str, str]:
    """Of the packages that are compared, as far as they are installed."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def where() -> dict[str, Any]:
    """Date and commit of a measurement."""
    return {"date": time.strftime("%Y-%m-%d"), "commit": _commit()}


def _commit() -> str:
    head = Path(__file__).resolve().parents[1] / ".git"
    if head.is_file():  # a work tree of git
        head = Path(head.read_text(encoding="utf-8").split(":", 1)[1].strip())
    try:
        text = (head / "HEAD").read_text(encoding="utf-8").strip()
    except OSError:
        return "unknown"
    if not text.startswith("ref: "):
        return text[:8]
    common = head / "commondir"
    root = (head / common.read_text(encoding="utf-8").strip()) if common.exists() else head
    path = root / text[5:]
    return path.read_text(encoding="utf-8").strip()[:8] if path.exists() else "unknown"


def _brief(numbers: dict[str, Any]) -> str:
    return ", ".join(
        f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}"
        for key, value in numbers.items()
    )

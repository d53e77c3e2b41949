"""The progress bar: on stderr, on a terminal only, unless asked for."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any


class Progress:
    """Counts trials; this one shows nothing."""

    def advance(self, done: int, failed: int) -> None:
        """So many more trials are recorded."""


class _Bar(Progress):
    def __init__(self, display: Any, task: Any, failed: int) -> None:
        self._display, self._task, self._failed = display, task, failed

    def advance(self, done: int, failed: int) -> None:
        self._failed += failed
        self._display.update(self._task, advance=done + failed, failed=self._failed)


@contextmanager
def make_progress(wanted: bool | None, name: str, counts: Mapping[str, int]) -> Iterator[Progress]:
    """A bar while inside; None: only where stderr is a terminal."""
    if not (sys.stderr.isatty() if wanted is None else wanted):
        yield Progress()
        return
    from rich import progress
    from rich.console import Console

    columns = (
        progress.TextColumn("{task.description}", markup=False), progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TextColumn("{task.fields[failed]} failed"), progress.TimeElapsedColumn(),
        progress.TimeRemainingColumn(),
    )  # fmt: skip
    with progress.Progress(*columns, console=Console(stderr=True)) as display:
        task = display.add_task(
            name,
            total=sum(counts.values()),
            completed=counts["done"] + counts["failed"],
            failed=counts["failed"],
        )
        yield _Bar(display, task, counts["failed"])

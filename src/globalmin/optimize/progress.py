"""A progress line on the terminal; silent everywhere else."""

from __future__ import annotations

import sys
import time
from types import TracebackType

INTERVAL = 0.1  # seconds between two updates: a fast method must not spend its time drawing


class Progress:
    """Shows on stderr how far a run has come, if asked to and if stderr is a terminal."""

    def __init__(self, title: str, max_iter: int, *, visible: bool) -> None:
        self._title, self._max_iter = title, max_iter
        self._visible = visible and sys.stderr.isatty()
        self._live = None
        self._due = 0.0

    def __enter__(self) -> Progress:
        if self._visible:
            from rich.console import Console
            from rich.status import Status

            self._live = Status(self._title, console=Console(stderr=True))
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def update(self, iteration: int, words: str) -> None:
        """Redraw, at most ten times a second."""
        now = time.monotonic()
        if self._live is not None and now >= self._due:
            self._due = now + INTERVAL
            self._live.update(
                f"{self._title}: iteration {iteration} of at most {self._max_iter}, {words}"
            )

"""Ctrl-C: the first asks the sweep to end after the running trials are recorded, the second ends it
at once.
"""

from __future__ import annotations

import signal
import sys
import threading
from types import FrameType


class Interrupted(KeyboardInterrupt):
    """The sweep was ended by the user; everything that had finished is recorded, and `resume` goes
    on.
    """


class Interrupts:
    """While inside, signals set `requested` instead of breaking off; outside the main thread
    nothing changes.
    """

    def __init__(self) -> None:
        self.requested = False
        self._before: dict[int, object] = {}

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # pyright: ignore[reportArgumentType]

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True
        sys.stderr.write("\nending after the running trials; once more ends at once\n")

"""A search for inputs that break the parser, guided by where it stops.

An exception carries the lines it passed through; an input that stops the parser at a new chain of
lines is kept and changed further, so that the search goes deeper than chance. (atheris does the
same by branches of compiled code; it is not installable here.)
"""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
from tests.corpus.drafts import canonical, container, resealed
from tests.mutation.byte_mutants import byte_mutant
from tests.mutation.header_edits import edited, parts, places
from tests.mutation.sources import sealed

from globalmin_check.certificate import read_certificate
from globalmin_check.verdict import Malformed, Rejected, Undecided

Lines = tuple[tuple[str, int], ...]
WHOLE: Lines = (("whole", 0),)
LARGEST = 20_000
VALUES: list[Any] = [
    None, True, False, 0, 1, -1, 2, 2**31, 2**53 + 1, 10**18, 2**63, 0.5, float("nan"), "", "0",
    "-0", "1", "1/2", "2/4", "-7/3", "1e9", "\x00", "\u00e9", "\ud800", "9" * 2501, "relu", "W",
    "vW", [], {}, [0], [[1]], {"a": 1}, [1, 2, 3], ["1/3", "1/3"],
]  # fmt: skip


def where_it_ends(raw: bytes) -> Lines:
    """The lines of the parser that an input's refusal passes through; any other exception is the
    caller's to see.
    """
    try:
        read_certificate(raw, None)
    except (Malformed, Rejected, Undecided) as error:
        lines, trace = [], error.__traceback__
        while trace is not None:
            lines.append((trace.tb_frame.f_code.co_name, trace.tb_lineno))
            trace = trace.tb_next
        return tuple(lines)
    return WHOLE


class Explorer:
    """The pool of inputs that went somewhere new, and how often each place was met."""

    def __init__(self, seed: int) -> None:
        self.random, self.rng = random.Random(seed), np.random.default_rng(seed)  # noqa: S311
        self.pool = [raw for _, raw, _ in sealed()]
        self.seen: Counter[Lines] = Counter(map(where_it_ends, self.pool))
        self.slowest = 0.0
        self.changes: list[Callable[[bytes], bytes]] = [self._bytes, *[self._edit] * 4]

    def run(self, count: int) -> None:
        """So many inputs."""
        for _ in range(count):
            raw = self.random.choice(self.pool[-400:] if self.random.random() < 0.7 else self.pool)
            for _ in range(self.random.randint(1, 2)):
                raw = self.random.choice(self.changes)(raw)
            raw = resealed(raw) if self.random.random() < 0.95 else raw
            started = time.thread_time()
            place = where_it_ends(raw)
            self.slowest = max(self.slowest, time.thread_time() - started)
            if place not in self.seen and len(raw) < LARGEST:
                self.pool.append(raw)
            self.seen[place] += 1

    def _bytes(self, raw: bytes) -> bytes:
        """A damaged disk."""
        if len(raw) < 16 or 8 + int.from_bytes(raw[:8], "little") > len(raw):
            return raw + b"\0"
        try:
            return byte_mutant(self.rng, raw, self.random.choice(self.pool[:50]))[1]
        except (IndexError, ValueError, OverflowError):  # nothing there to change in that way
            return raw[:-1]

    def _edit(self, raw: bytes) -> bytes:
        """One place of the header, or of the object inside it."""
        try:
            header, body = parts(raw)
            inner = self.random.random() < 0.8
            target = json.loads(header["__metadata__"]["certificate"]) if inner else header
        except (ValueError, KeyError, TypeError, RecursionError):
            return raw + b"\0"
        place = self.random.choice(places(target))
        action = self.random.choice(["replace", "replace", "remove", "add", "rename"])
        target = edited(target, place, action, self._value(target))
        if inner:
            header["__metadata__"]["certificate"] = canonical(target)
            target = header
        return container(canonical(target), body)

    def _value(self, target: Any) -> Any:
        """A value from the list, or one from another place of the same object."""
        if self.random.random() < 0.6:
            return self.random.choice(VALUES)
        value = target
        for key in self.random.choice(places(target)):
            value = value[key]
        return json.loads(json.dumps(value))

"""Judge mutants: each in a child of a process that has all libraries and the whole package loaded,
until a test dies or a minute of the tests that reach the changed line is through.
"""

from __future__ import annotations

import json
import math
import os
import select
import signal
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from scripts.mutants.child import first_failure, load_libraries, load_package
from scripts.mutants.reach import Reach
from scripts.mutants.sites import Mutant

ROUNDS = (1.0, 10.0, 60.0)  # seconds of tests, fastest first, up to the end of each round
PATIENCE = 4.0  # a child may take this many times the CPU seconds of its tests, and 30 s more
DIED, SURVIVED, UNREACHED = "killed", "survived", "no test reaches it"
OUR_FAULT = 70  # exit code of a child in which the gate failed, not a test
NO_ANSWER = "(out of time, or the interpreter ended)"


@dataclass(frozen=True)
class Verdict:
    """What became of a mutant, how many tests reach it, and the test it died of."""

    mutant: Mutant
    outcome: str
    n_tests: int
    killer: str


@dataclass(frozen=True)
class Bench:
    """Where mutants are judged: the tree, what its tests reach, how many children at a time, and
    the moment (of the monotonic clock) after which no mutant is begun.
    """

    root: Path
    reach: Reach
    jobs: int
    end: float = math.inf


def judge(bench: Bench, chosen: list[Mutant], progress: Callable[[Verdict], None]) -> None:
    """Report the verdict on every mutant; cost: the tests that reach it.

    Changes of what runs at import come first, in children that import the package anew; then the
    package is loaded, and the children of that process exchange the bodies of functions only.
    """
    load_libraries()
    _judge(bench, [m for m in chosen if m.runs_at_import], progress)
    load_package(bench.root)
    _judge(bench, [m for m in chosen if not m.runs_at_import], progress)


def _judge(bench: Bench, chosen: list[Mutant], progress: Callable[[Verdict], None]) -> None:
    trusted: set[str] = set()  # tests that killed and were seen to pass without the change
    waiting: list[Mutant] = list(reversed(chosen))
    running: dict[int, tuple[int, Mutant]] = {}
    try:
        while waiting or running:
            if time.monotonic() > bench.end:
                waiting.clear()
            while waiting and len(running) < bench.jobs:
                mutant = waiting.pop()
                process, pipe = _fork(lambda m=mutant: meet(bench.root, bench.reach, m, trusted))
                running[pipe] = process, mutant
            for pipe in select.select(list(running), [], [])[0] if running else ():
                process, mutant = running.pop(pipe)
                outcome, killer = _answer(process, pipe) or (DIED, NO_ANSWER)
                trusted.add(killer)
                progress(Verdict(mutant, outcome, len(bench.reach.tests(mutant)), killer))
    finally:
        for process, _ in running.values():
            os.kill(process, signal.SIGKILL)


def _fork(work: Callable[[], object]) -> tuple[int, int]:
    """A child that does the work, and the pipe where what it returns arrives as JSON."""
    here, there = os.pipe()
    process = os.fork()
    if process:
        os.close(there)
        return process, here
    code = OUR_FAULT
    try:
        os.close(here)
        os.write(there, json.dumps(work()).encode())
        code = 0
    finally:
        if code:
            traceback.print_exc()
        os._exit(code)


def _answer(process: int, pipe: int, seconds: float | None = None) -> list[str] | None:
    """What the child returned; None if it ended without a word or let us wait too long."""
    ready = select.select([pipe], [], [], seconds)[0]
    words = os.read(pipe, 65536) if ready else b""
    if not words:
        os.kill(process, signal.SIGKILL)
    os.close(pipe)
    if os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == OUR_FAULT:
        raise RuntimeError("the gate itself failed; see above")
    return json.loads(words) if words else None


def meet(root: Path, reach: Reach, mutant: Mutant, trusted: set[str]) -> list[str]:
    """The outcome, and the test the mutant died of; the tests run in forks of this process.

    A test that fails counts only if it passes on the unchanged module in the same surroundings.
    """
    tests = reach.tests(mutant)
    if not tests:
        return [UNREACHED, ""]
    for part in _rounds(tests, reach.seconds):
        while part:
            killer = _killer(root, mutant, part, reach)
            if not killer:
                break
            if killer in (NO_ANSWER, *trusted) or not _killer(root, None, [killer], reach):
                return [DIED, killer]
            part.remove(killer)
    return [SURVIVED, ""]


def _killer(root: Path, mutant: Mutant | None, tests: list[str], reach: Reach) -> str:
    """The first test that fails, in a process of its own; empty if all pass."""
    limit = PATIENCE * sum(reach.seconds[test] for test in tests) + 30.0
    child = _fork(lambda: [first_failure(root, mutant, tests, limit)])
    answer = _answer(*child, seconds=10.0 * limit)
    return NO_ANSWER if answer is None else answer[0]


def _rounds(tests: list[str], seconds: dict[str, float]) -> Iterator[list[str]]:
    """The fastest tests, then those that still fit; always one at least."""
    spent, start = list(accumulate(seconds[test] for test in tests)), 0
    for limit in ROUNDS:
        end = max(1, sum(total <= limit for total in spent))
        if end > start:
            yield tests[start:end]
        start = end

"""Run mutants: each in a child of a process that has the heavy libraries loaded, with one module
changed, until a test dies or a minute of the tests that reach the line is through.
"""

from __future__ import annotations

import ast
import importlib.abc
import importlib.machinery
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from types import CodeType

from scripts.mutants.reach import Reach
from scripts.mutants.sites import Mutant, apply

PRELOADED = ("numpy", "scipy.optimize", "scipy.linalg", "scipy.special", "scipy.stats", "pytest")
FIRST_SECONDS, MOST_SECONDS = 10.0, 60.0  # of tests in the first round, and in both, fastest first
PATIENCE = 4.0  # a child may take this many times the seconds its tests took, and 60 s more
DIED, SURVIVED, UNREACHED = "killed", "survived", "no test reaches it"


@dataclass(frozen=True)
class Verdict:
    """What became of a mutant, and how many tests it met."""

    mutant: Mutant
    outcome: str
    n_tests: int


def judge(
    root: Path, reach: Reach, chosen: list[Mutant], jobs: int, progress: Callable[[Verdict], None]
) -> list[Verdict]:
    """The verdict on every mutant, `jobs` children at a time; cost: the tests that reach it."""
    for library in PRELOADED:
        importlib.import_module(library)
    waiting: list[Mutant] = list(reversed(chosen))
    running: dict[int, Mutant] = {}
    verdicts: list[Verdict] = []
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                mutant = waiting.pop()
                child = _fork(lambda m=mutant: _meet(root, reach, m))
                running[child] = mutant
            child, status = os.wait()
            mutant = running.pop(child)
            code = os.waitstatus_to_exitcode(status)
            verdict = Verdict(mutant, _outcome(code), len(reach.tests(mutant)))
            verdicts.append(verdict)
            progress(verdict)
    finally:
        for child in running:
            os.kill(child, signal.SIGKILL)
    return verdicts


def _outcome(code: int) -> str:
    return {0: SURVIVED, 3: UNREACHED}.get(code, DIED)


def _fork(work: Callable[[], int]) -> int:
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        code = work()
    finally:
        os._exit(code)


def _meet(root: Path, reach: Reach, mutant: Mutant) -> int:
    """In the child: two rounds of tests on the changed module, each in a grandchild so that a
    module is imported anew; 0 if all pass, 1 if one fails or time runs out, 3 if there is none.
    """
    tests = reach.tests(mutant)
    if not tests:
        return 3
    for part in _rounds(tests, reach.seconds):
        limit = PATIENCE * sum(reach.seconds[test] for test in part) + 60.0
        if not _passes(_fork(lambda part=part: _run(root, mutant, part)), limit):
            return 1
    return 0


def _rounds(tests: list[str], seconds: dict[str, float]) -> Iterator[list[str]]:
    """The fastest tests, then those that still fit; always one at least."""
    spent = list(accumulate(seconds[test] for test in tests))
    first = max(1, sum(total <= FIRST_SECONDS for total in spent))
    last = max(1, sum(total <= MOST_SECONDS for total in spent))
    yield tests[:first]
    if rest := tests[first:last]:
        yield rest


def _passes(child: int, limit: float) -> bool:
    end = time.monotonic() + limit
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status) == 0
        time.sleep(0.02)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def _run(root: Path, mutant: Mutant, tests: list[str]) -> int:
    """In the grandchild: pytest on the changed module, silent."""
    import pytest

    os.chdir(root)
    null = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(null, stream)
    os.environ["NUMBA_CACHE_DIR"] = tempfile.mkdtemp(prefix="mutant-")
    file = root / mutant.file
    tree = apply(file.read_text(encoding="utf-8"), mutant)
    sys.meta_path.insert(0, Changed(mutant.module, file, tree))
    quiet = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:pytest_cov"]
    code = int(pytest.main([*quiet, *tests]))
    return 0 if code in (0, 5) else 1


class Changed(importlib.abc.MetaPathFinder):
    """Finds one module and gives it another body."""

    def __init__(self, module: str, file: Path, tree: ast.Module) -> None:
        self.module, self.file, self.tree = module, file, tree

    def find_spec(
        self, fullname: str, _path: object = None, _target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The changed module's loader, or None for all others."""
        if fullname != self.module:
            return None
        loader = _Loader(fullname, str(self.file), self.tree)
        return importlib.machinery.ModuleSpec(fullname, loader, origin=str(self.file))


class _Loader(importlib.machinery.SourceFileLoader):
    def __init__(self, name: str, file: str, tree: ast.Module) -> None:
        super().__init__(name, file)
        self._tree = tree

    def get_code(self, fullname: str) -> CodeType:
        return compile(self._tree, self.get_filename(fullname), "exec")

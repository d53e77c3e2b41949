"""Which tests reach which lines, and how long each takes: recorded once, by coverage contexts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from coverage import CoverageData
from scripts.mutants.sites import Mutant


@dataclass(frozen=True)
class Reach:
    """Tests by line of a module, and the seconds of every test that passed.

    `lines` maps module file -> line -> tests; line 0 stands for every test that enters the module.
    """

    lines: dict[str, dict[int, list[str]]]
    seconds: dict[str, float]

    def tests(self, mutant: Mutant) -> list[str]:
        """Tests that execute the mutant's line, fastest first; for a line that runs at import,
        every test that enters the module. Then the other tests of their files, which may share what
        was computed there (a fixture of the file is recorded with its first user).
        """
        of_file = self.lines.get(mutant.file, {})
        found = set(of_file.get(0 if mutant.runs_at_import else mutant.line, []))
        files = {test.split("::")[0] for test in found}
        near = (t for t in self.seconds if t in found or t.split("::")[0] in files)
        return sorted(near, key=lambda t: (t not in found, self.seconds[t]))


def record(
    root: Path, folder: Path, package: str, tests: list[str], *, jobs: int, keeps_others: bool
) -> None:
    """Run the tests with coverage contexts and keep what they reach in `folder`; what other tests
    reach stays as it was recorded if `keeps_others`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    arguments = ["-q", "-n", str(jobs), f"--cov={package}", "--cov-context=test", "--cov-report="]
    report = ["-o", "junit_family=xunit1", f"--junitxml={folder / 'tests.xml'}"]
    environment = {"COVERAGE_FILE": str(folder / "coverage")}
    command = [sys.executable, "-m", "pytest", *arguments, *report, *tests]
    subprocess.run(command, cwd=root, env={**os.environ, **environment}, check=False)
    reach = _read(root, folder)
    if keeps_others and (folder / "reach.json").exists():
        reach = _merged(load(folder), reach, {test for test in tests if "::" not in test})
    (folder / "reach.json").write_text(json.dumps([reach.lines, reach.seconds]), encoding="utf-8")


def _merged(old: Reach, new: Reach, files: set[str]) -> Reach:
    """The tests of the new record and of its files speak for themselves; the others as before."""

    def others(tests: list[str]) -> list[str]:
        return [t for t in tests if t not in new.seconds and t.split("::")[0] not in files]

    lines: dict[str, dict[int, list[str]]] = {}
    for file in old.lines.keys() | new.lines.keys():
        before, after = old.lines.get(file, {}), new.lines.get(file, {})
        lines[file] = {
            line: sorted({*others(before.get(line, [])), *after.get(line, [])})
            for line in before.keys() | after.keys()
        }
    kept = {test: old.seconds[test] for test in others(list(old.seconds))}
    return Reach(lines, {**kept, **new.seconds})


def load(folder: Path) -> Reach:
    """What `record` kept."""
    lines, seconds = json.loads((folder / "reach.json").read_text(encoding="utf-8"))
    return Reach(
        {f: {int(n): tests for n, tests in of.items()} for f, of in lines.items()}, seconds
    )


def _read(root: Path, folder: Path) -> Reach:
    data = CoverageData(basename=str(folder / "coverage"))
    data.read()
    lines: dict[str, dict[int, list[str]]] = {}
    for file in data.measured_files():
        by_line: dict[int, set[str]] = defaultdict(set)
        for line, contexts in data.contexts_by_lineno(file).items():
            tests = {context.split("|")[0] for context in contexts if context}
            by_line[line] |= tests
            by_line[0] |= tests
        name = str(Path(file).relative_to(root)) if file.startswith(str(root)) else file
        lines[name] = {line: sorted(tests) for line, tests in by_line.items()}
    return Reach(lines, _passed(folder / "tests.xml"))


def _passed(report: Path) -> dict[str, float]:
    """Seconds of every test that passed, by its pytest name."""
    seconds = {}
    for case in ElementTree.parse(report).iter("testcase"):  # noqa: S314 - our own report
        if not any(part.tag in ("failure", "error", "skipped") for part in case):
            seconds[f"{case.get('file')}::{case.get('name')}"] = float(case.get("time") or 0.0)
    return seconds

"""A pytest plugin that keeps what each test measured: one JSON file per test, written when it ends,
so that a campaign that was stopped goes on where it was.

    pytest -p scripts.campaign.keep --kept=FOLDER --judged=globalmin_check TESTS
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import resource
import subprocess
import time
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


def sources_digest(parts: list[str]) -> str:
    """Digest of the sources that a figure judges: folders or files under src/."""
    digest = hashlib.sha256()
    for part in sorted(parts):
        base = ROOT / "src" / part
        for file in sorted(base.rglob("*.py")) if base.is_dir() else [base]:
            digest.update(f"{file.relative_to(ROOT)}\n".encode() + file.read_bytes())
    return digest.hexdigest()[:16]


def commit() -> str:
    """The commit of this tree, with a plus sign if sources or tests differ from it."""

    def git(*words: str) -> str:
        command = ["git", "-C", str(ROOT), *words]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()

    changed = git("status", "--porcelain", "--", "src", "tests")
    return git("rev-parse", "--short=10", "HEAD") + ("+" if changed else "")


def file_of(folder: Path, node: str) -> Path:
    """Where a test's numbers are kept."""
    words = re.sub(r"[^a-z0-9]+", "-", node.split("::", 1)[-1].lower())[:80]
    return folder / f"{words}-{zlib.crc32(node.encode()):08x}.json"


def write(path: Path, content: dict[str, Any]) -> None:
    """All of it or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    half = path.with_suffix(".half")
    half.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    os.replace(half, path)


def cpu_seconds() -> float:
    """Of this process and of its children that ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


class Keeper:
    """Leaves out what was measured on the same sources, and keeps the rest."""

    def __init__(self, folder: Path, digest: str) -> None:
        self.folder, self.digest, self.commit = folder, digest, commit()
        self.started = 0.0

    def is_kept(self, node: str) -> bool:
        """Whether the test passed on these very sources."""
        path = file_of(self.folder, node)
        if not path.exists():
            return False
        kept = json.loads(path.read_text(encoding="utf-8"))
        return kept["outcome"] == "passed" and kept["sources"] == self.digest

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """What is kept is not run again."""
        items[:] = [item for item in items if not self.is_kept(item.nodeid)]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Look at the clock before a test."""
        self.started = cpu_seconds()
        return (yield)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep a test that ran, or that could not start."""
        if report.when != "call" and report.passed:
            return
        content = {
            "test": report.nodeid,
            "outcome": report.outcome,
            "numbers": dict(report.user_properties),
            "reason": report.longreprtext[-2000:],
            "cpu": round(cpu_seconds() - self.started, 1),
            "seconds": round(report.duration, 1),
            "date": datetime.now(UTC).strftime("%Y-%m-%d"),
            "commit": self.commit,
            "sources": self.digest,
        }
        write(file_of(self.folder, report.nodeid), content)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--kept", required=True, help="folder of what was measured")
    parser.addoption("--judged", default="globalmin,globalmin_check", help="sources, under src/")


def pytest_configure(config: pytest.Config) -> None:
    digest = sources_digest(str(config.getoption("--judged")).split(","))
    config.pluginmanager.register(Keeper(Path(str(config.getoption("--kept"))), digest))

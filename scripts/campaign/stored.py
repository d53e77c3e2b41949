"""What earlier campaigns measured: docs/reliability.json, committed beside the page, written by
`publish`. A fresh clone has no out/campaign, and what was measured elsewhere is not lost.

An entry is what one test measured, by its node, or what all tests of one file measured together, by
the path of the file; it gives way to newer entries of that test, or of any test of that file.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from scripts.campaign.figures import FOLDER, ROOT, Figure, figures, kept
from scripts.campaign.keep import sources_digest, write

STORED = ROOT / "docs" / "reliability.json"
NAMES = ("test", "tests", "outcome", "numbers", "cpu", "date", "commit", "sources")
Entry = dict[str, Any]


def stored(id: str, path: Path = STORED) -> list[Entry]:
    """What was published of a figure."""
    if not path.exists():
        return []
    return json.loads(path.read_text(encoding="utf-8")).get(id, [])


def merged(old: list[Entry], new: list[Entry]) -> list[Entry]:
    """The new entries, and those old ones that nothing newer stands for."""
    newer = {one["test"] for one in new}
    files = {test.split("::")[0] for test in newer if "::" in test}
    others = [one for one in old if one["test"] not in newer | files]
    return sorted([*others, *new], key=lambda one: one["test"])


def measured(figure: Figure, folder: Path = FOLDER, path: Path = STORED) -> list[Entry]:
    """What is known of a figure: the folder over the stored file, each marked as stale if the
    sources that it judges were others.
    """
    now = sources_digest(figure.judged)
    known = merged(stored(figure.id, path), kept(figure.id, folder))
    return [{**one, "stale": one["sources"] != now} for one in known]


def store(folder: Path = FOLDER, path: Path = STORED) -> None:
    """Write what is known of every figure, for whoever has not measured it."""
    known = {
        id: [{name: one[name] for name in NAMES if name in one} for one in entries]
        for id, figure in figures().items()
        if (entries := measured(figure, folder, path))
    }
    write(path, known)

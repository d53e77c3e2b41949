"""Build docs/gallery.md: every figure and table of the papers at thumbnail scale, with its command,
its data file and its table.

`python scripts/gallery.py` makes what is missing in out/gallery (about ten minutes for everything
on two cores; trials of an interrupted call are kept), copies drawings and tables to docs/gallery
and writes the page; with IDs those are made again.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))

from globalmin.references import works  # noqa: E402
from globalmin.reproductions import entries, reproduce  # noqa: E402
from globalmin.reproductions.saving import RECORD, records, stem  # noqa: E402

MADE = ROOT / "out" / "gallery"
FOLDER = ROOT / "docs" / "gallery"
PAGE = ROOT / "docs" / "gallery.md"
HEAD = """# Gallery

Every figure and table of the five papers, made again at thumbnail scale by one command each:
`globalmin reproduce ID`. With `--scale paper` the published sizes are used. Where a paper prints
no number, the published column holds the reference value that the note names; rows without
*agrees* are shown and not judged. What was chosen where a paper is silent or wrong stands under
each table.

This page is made by `python scripts/gallery.py`; `tests/acceptance/test_reproductions.py` runs
all of it.
"""
BEYOND = "Beyond the papers"


def escaped(text: str) -> str:
    """Text for a cell of a Markdown table."""
    for letter in "\\|*_<":
        text = text.replace(letter, "\\" + letter)
    return text


def table(record: dict[str, Any]) -> list[str]:
    """The comparison as a Markdown table."""
    lines = [f"| {' | '.join(record['columns'])} |", "|---" * len(record["columns"]) + "|"]
    return lines + [f"| {' | '.join(escaped(cell) for cell in row)} |" for row in record["table"]]


def section(record: dict[str, Any]) -> str:
    """One item: title, command, pictures, table, choices, files."""
    lines = [f"### {record['item']}", "", f"{record['title']}. `{record['command']}`", ""]
    lines += [f"![{record['title']}](gallery/{file})" for file in record["files"]["figures"]]
    lines += ["", *table(record), ""]
    lines += [f"- {escaped(choice)}" for choice in record["choices"]]
    files = [
        f"[{file}](gallery/{file})"
        for kind in ("data", "table")
        for file in record["files"][kind]
        if file.endswith(".csv")
    ]
    return "\n".join([*lines, "", f"Files: {', '.join(files)}", ""])


def page(found: Sequence[dict[str, Any]]) -> str:
    """The whole page, one chapter a work."""
    parts, chapter = [HEAD], ""
    for record in found:
        work = works().get(record["item"].partition("-")[0])
        title = f"{work.key}: {work.title}" if work else BEYOND
        if title != chapter:
            parts.append(f"## {title}\n")
            chapter = title
        parts.append(section(record))
    return "\n".join(parts)


def make(items: Sequence[str]) -> None:
    """Make the items in out/gallery."""
    for item in items:
        found = reproduce(item, out=MADE)
        print(f"{item}: {'agrees' if found.agrees else 'DIFFERS'}", flush=True)


def copy_files(found: Sequence[dict[str, Any]]) -> None:
    """The drawings, the data and the tables of the page, and nothing else, into docs/gallery."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    for record in found:
        for file in (
            name
            for names in record["files"].values()
            for name in names
            if name.endswith((".svg", ".csv"))
        ):
            shutil.copyfile(MADE / file, FOLDER / file)


def main() -> int:
    """Make what is missing or asked for, then write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "items", nargs="*", help="IDs to make again; without any, those that are missing"
    )
    chosen = parser.parse_args()
    MADE.mkdir(parents=True, exist_ok=True)
    make(
        chosen.items
        or [item for item in entries() if not (MADE / f"{stem(item)}{RECORD}").exists()]
    )
    found = records(MADE)
    copy_files(found)
    PAGE.write_text(page(found), encoding="utf-8")
    print(
        json.dumps(
            {
                "items": len(found),
                "disagree": [record["item"] for record in found if not record["agrees"]],
            }
        )
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Build docs/gallery.md: every figure and table of the papers at thumbnail scale, with its command,
its data file and its table, and beside it what was made at paper scale.

`python scripts/gallery.py` makes what is missing in out/gallery (about ten minutes for everything
on two cores; trials of an interrupted call are kept), copies drawings and tables to docs/gallery
and writes the page; with IDs those are made again. `--paper FOLDER` takes over the items that
`globalmin reproduce ID --scale paper --out FOLDER` made: they are kept in docs/gallery/paper until
they are replaced.
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
PAPER = FOLDER / "paper"
PAGE = ROOT / "docs" / "gallery.md"
HEAD = """# Gallery

Every figure and table of the five papers, made again at thumbnail scale by one command each:
`globalmin reproduce ID`. With `--scale paper` the published sizes are used; where that was run,
its picture and table stand below the thumbnail's.

*Published* holds only what the paper prints, and the note says where. *Reference* is ours: an
earlier run, a closed form or a bound, with its source. A row is judged against the paper where the
paper prints a number, else against the reference; the tolerance comes from the errors of both
sides named in the note. A row *agrees* or *DIFFERS* only if it would catch the alternative that it
names (or a number off by half), else it is *not judged*. What was chosen where a paper is silent
stands under each table.

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


def section(record: dict[str, Any], paper: dict[str, Any] | None = None) -> str:
    """One item: title, command, pictures, table, choices, files, and what was made of it at paper
    scale.
    """
    lines = [f"### {record['item']}", "", f"{record['title']}. `{record['command']}`", ""]
    lines += [*shown(record, "gallery"), ""]
    lines += [f"- {escaped(choice)}" for choice in record["choices"]]
    lines += ["", files(record, "gallery"), ""]
    if paper is not None:
        other = [choice for choice in paper["choices"] if choice not in record["choices"]]
        lines += [f"**At paper scale.** `{paper['command']}`", "", *shown(paper, "gallery/paper")]
        lines += ["", *(f"- {escaped(choice)}" for choice in other), *([""] if other else [])]
        lines += [files(paper, "gallery/paper"), ""]
    return "\n".join(lines)


def shown(record: dict[str, Any], folder: str) -> list[str]:
    """The pictures, the count and the table."""
    pictures = [f"![{record['title']}]({folder}/{file})" for file in record["files"]["figures"]]
    return [*pictures, "", f"Rows: {record['headline']}.", "", *table(record)]


def files(record: dict[str, Any], folder: str) -> str:
    """Links to data and table."""
    links = [
        f"[{file}]({folder}/{file})"
        for kind in ("data", "table")
        for file in record["files"][kind]
        if file.endswith(".csv")
    ]
    return f"Files: {', '.join(links)}"


def page(found: Sequence[dict[str, Any]], paper: Sequence[dict[str, Any]] = ()) -> str:
    """The whole page, one chapter a work."""
    parts, chapter = [HEAD], ""
    large = {record["item"]: record for record in paper}
    for record in found:
        work = works().get(record["item"].partition("-")[0])
        title = f"{work.key}: {work.title}" if work else BEYOND
        if title != chapter:
            parts.append(f"## {title}\n")
            chapter = title
        parts.append(section(record, large.get(record["item"])))
    return "\n".join(parts)


def make(items: Sequence[str]) -> None:
    """Make the items in out/gallery."""
    for item in items:
        found = reproduce(item, out=MADE)
        print(f"{item}: {found.headline}", flush=True)


def copy_files(found: Sequence[dict[str, Any]]) -> None:
    """The drawings, the data and the tables of the page, and nothing else but docs/gallery/paper,
    into docs/gallery.
    """
    FOLDER.mkdir(exist_ok=True)
    for old in FOLDER.iterdir():
        if old.is_file():
            old.unlink()
    for record in found:
        for file in linked(record):
            shutil.copyfile(MADE / file, FOLDER / file)


def linked(record: dict[str, Any]) -> list[str]:
    """The drawings, the data and the tables of an item."""
    names = [name for names in record["files"].values() for name in names]
    return [name for name in names if name.endswith((".svg", ".csv"))]


def take_over(folder: Path) -> None:
    """Keep what was made at paper scale in `folder`, with its records, in docs/gallery/paper."""
    PAPER.mkdir(parents=True, exist_ok=True)
    for record in records(folder):
        if record["scale"] == "paper":
            for file in (*linked(record), f"{stem(record['item'])}{RECORD}"):
                shutil.copyfile(folder / file, PAPER / file)


def main() -> int:
    """Make what is missing or asked for, then write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "items", nargs="*", help="IDs to make again; without any, those that are missing"
    )
    parser.add_argument(
        "--paper", type=Path, metavar="FOLDER", help="take over what was made at paper scale there"
    )
    chosen = parser.parse_args()
    if chosen.paper is not None:
        take_over(chosen.paper)
    MADE.mkdir(parents=True, exist_ok=True)
    make(
        chosen.items
        or [item for item in entries() if not (MADE / f"{stem(item)}{RECORD}").exists()]
    )
    found = records(MADE)
    copy_files(found)
    PAGE.write_text(page(found, records(PAPER)), encoding="utf-8")
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

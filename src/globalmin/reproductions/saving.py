"""A reproduction as files: table (text and CSV), data (CSV), figures (SVG and PNG); and as text on
a terminal.
"""

from __future__ import annotations

import csv
import io
import json
import os
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from globalmin.reproductions.registry import COLUMNS, Entry, Reproduction

PAGE = "index.html"
RECORD = ".record.json"  # ending of the file from which page and gallery are made

NOTE_WIDTH = 60


def stem(item: str, name: str = "") -> str:
    """File name of an item without ending: letters, digits, dots and dashes only."""
    return f"{item}-{name}" if name else item


def table_text(found: Reproduction) -> str:
    """The table in columns, notes folded, the choices below it."""
    rows = [COLUMNS, *(row.texts() for row in found.table)]
    shown = [i for i in range(1, 6) if any(row[i] for row in rows[1:])]
    widths = [max(len(row[i]) for row in rows) for i in range(6)]
    lines = [f"{found.item}, {found.scale}: {found.headline}"]
    for row in rows:
        notes = textwrap.wrap(row[6], NOTE_WIDTH) or [""]
        head = "  ".join((row[0].ljust(widths[0]), *(row[i].rjust(widths[i]) for i in shown)))
        lines.append(f"{head}  {notes[0]}".rstrip())
        lines += [" " * (len(head) + 2) + note for note in notes[1:]]
    for choice in found.choices:
        lines += textwrap.wrap(choice, 118, initial_indent="- ", subsequent_indent="  ")
    return "\n".join(lines) + "\n"


def table_csv(found: Reproduction) -> str:
    """The table with every digit, and the tolerance and relation by which each row is judged."""
    head = (
        "quantity", "published", "where", "reference", "source", "ours", "difference", "relation",
        "tolerance", "error", "power", "agrees", "verdict", "note",
    )  # fmt: skip
    rows = (
        (r.quantity, r.published, r.where, r.reference, r.source, r.ours, r.difference, r.relation,
         r.tolerance, r.error, r.has_power, r.agrees, r.verdict, r.note)
        for r in found.table
    )  # fmt: skip
    return _csv(head, rows)


def data_csv(found: Reproduction) -> str:
    """The columns behind the figures; floats in full."""
    return _csv(tuple(found.data), zip(*found.data.values(), strict=True))


def _csv(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(head)
    writer.writerows([_plain(value) for value in row] for row in rows)
    return stream.getvalue()


def _plain(value: Any) -> Any:
    item = getattr(value, "item", None)
    return "" if value is None else item() if callable(item) else value


def save(found: Reproduction, folder: Path) -> dict[str, list[str]]:
    """Write table, data and figures of one item into `folder`; returns their names by kind."""
    from globalmin.drawing import save as save_figure

    name = stem(found.item)
    texts = {
        f"{name}.table.txt": table_text(found),
        f"{name}.table.csv": table_csv(found),
        f"{name}.data.csv": data_csv(found),
    }
    for file, text in texts.items():
        (folder / file).write_text(text, encoding="utf-8")
    pictures = [
        save_figure(draw, folder / stem(found.item, part)) for part, draw in found.figures.items()
    ]
    return {
        "table": [f"{name}.table.txt", f"{name}.table.csv"],
        "data": [f"{name}.data.csv"],
        "figures": [svg.name for svg, _ in pictures],
        "pictures": [png.name for _, png in pictures],
    }


def publish(entry: Entry, found: Reproduction, folder: Path) -> dict[str, Any]:
    """Write all files of one item and the page over everything in `folder`; returns the item's
    record.

    The files are written beside their place and moved in at the end, the record last: none is ever
    half-written.
    """
    with TemporaryDirectory(dir=folder, prefix=".new-") as name:
        staging = Path(name)
        record = {
            "item": found.item,
            "title": entry.title,
            "scale": found.scale,
            "command": command(entry, found.scale),
            "agrees": found.agrees,
            "headline": found.headline,
            "columns": list(COLUMNS),
            "table": [list(row.texts()) for row in found.table],
            "judged": [row.agrees for row in found.table],
            "choices": list(found.choices),
            "files": save(found, staging),
        }
        written = sorted(path.name for path in staging.iterdir())
        (staging / f"{stem(found.item)}{RECORD}").write_text(
            json.dumps(record, indent=1) + "\n", encoding="utf-8"
        )
        for file in (*written, f"{stem(found.item)}{RECORD}"):
            os.replace(staging / file, folder / file)
        _write_page(folder, staging)
    return record


def command(entry: Entry, scale: str) -> str:
    """The command line that makes this item at this scale."""
    return entry.command if scale == "thumbnail" else f"{entry.command} --scale {scale}"


def records(folder: Path) -> list[dict[str, Any]]:
    """The records of all items in `folder`, in the order of the registry."""
    from globalmin.reproductions.registry import entries

    order = {item: place for place, item in enumerate(entries())}
    found = [
        json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob(f"*{RECORD}"))
    ]
    return sorted(found, key=lambda record: order.get(record["item"], len(order)))


def _write_page(folder: Path, staging: Path) -> None:
    from globalmin.report.reproduction_page import render

    shown = records(folder)
    drawings = {
        file: (folder / file).read_text(encoding="utf-8")
        for record in shown
        for file in record["files"]["figures"]
    }
    (staging / PAGE).write_text(render(shown, drawings), encoding="utf-8")
    os.replace(staging / PAGE, folder / PAGE)

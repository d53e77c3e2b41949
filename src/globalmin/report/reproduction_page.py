"""The page of the reproductions: every figure with its command, its data file and its table, in one
self-contained file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from globalmin.drawing import as_inline
from globalmin.report.template import filled, markup

WORDS = {True: ("agrees", "green"), False: ("differs", "red"), None: ("not judged", "amber")}


def render(records: Sequence[Mapping[str, Any]], drawings: Mapping[str, str]) -> str:
    """The page as text, the same bytes for the same records.

    Parameters
    ----------
    records : one per item: item, title, scale, command, headline, table (texts), judged, choices
        and files.
    drawings : the SVG documents of the figures by file name.
    """
    views = [_view(record, drawings) for record in records]
    return filled("reproductions.html.j2", items=views)


def _view(record: Mapping[str, Any], drawings: Mapping[str, str]) -> dict[str, Any]:
    judged = [verdict for verdict in record["judged"] if verdict is not None]
    word, color = WORDS[record["agrees"] if judged else None]
    return {
        **record,
        "anchor": record["item"].replace(".", "-"),
        "word": word,
        "color": color,
        "count": record["headline"],
        "svgs": [
            _figure(file, record["title"], drawings[file]) for file in record["files"]["figures"]
        ],
        "links": [
            *record["files"]["data"],
            *record["files"]["table"],
            *record["files"]["figures"],
            *record["files"]["pictures"],
        ],
    }


def _figure(file: str, label: str, document: str) -> tuple[Any, float]:
    """The drawing, and its width on the page in rem: so that letters have the size of those of the
    text.
    """
    name = "".join(letter if letter.isalnum() else "-" for letter in file.removesuffix(".svg"))
    box = re.search(r'viewBox="0 0 ([\d.]+) ', document)
    return markup(as_inline(document, name, label)), round(
        0.1 * float(box.group(1)), 1
    ) if box else 40.0

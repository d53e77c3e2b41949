"""The page of the reproductions: every figure with its command, its data file and its table, in one
self-contained file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from globalmin.drawing import as_inline

WORDS = {True: ("agrees", "green"), False: ("differs", "red"), None: ("not judged", "amber")}


def render(records: Sequence[Mapping[str, Any]], drawings: Mapping[str, str]) -> str:
    """The page as text, the same bytes for the same records.

    Parameters
    ----------
    records : one per item: item, title, scale, command, table (texts), judged, choices and files.
    drawings : the SVG documents of the figures by file name.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("globalmin.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    views = [_view(record, drawings) for record in records]
    return environment.get_template("reproductions.html.j2").render(css=_css(), items=views)


def _view(record: Mapping[str, Any], drawings: Mapping[str, str]) -> dict[str, Any]:
    judged = [verdict for verdict in record["judged"] if verdict is not None]
    word, color = WORDS[record["agrees"] if judged else None]
    return {
        **record,
        "anchor": record["item"].replace(".", "-"),
        "word": word,
        "color": color,
        "count": f"{sum(judged)} of {len(judged)}" if judged else word,
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
    return _markup(as_inline(document, name, label)), round(
        0.1 * float(box.group(1)), 1
    ) if box else 40.0


def _markup(text: str) -> Any:
    from markupsafe import Markup

    return Markup(text)  # noqa: S704


def _css() -> Any:
    from importlib.resources import files

    return _markup(
        files("globalmin.report").joinpath("templates/report.css").read_text(encoding="utf-8")
    )

"""A Figure as inline SVG for one HTML page: the same bytes every time, no links, colors as CSS
variables, unique ids.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from globalmin.report.figures import PALETTE, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def inline_svg(draw: Callable[[], Figure], *, name: str, label: str) -> str:
    """Draw inside the style sheet and return one `<svg>` element.

    Parameters
    ----------
    draw : makes the figure; called once.
    name : prefix of every id, unique on the page.
    label : what a screen reader says.
    """
    import matplotlib

    with style(), matplotlib.rc_context({"svg.hashsalt": "globalmin"}):
        stream = io.StringIO()
        draw().savefig(
            stream,
            format="svg",
            metadata={"Date": None, "Creator": None, "Format": None, "Type": None},
        )
    return as_inline(stream.getvalue(), name, label)


def as_inline(document: str, name: str, label: str) -> str:
    """The `<svg>` element of a stored drawing, ready to stand in a page; `name` and `label` as in
    `inline_svg`.
    """
    from markupsafe import escape

    svg = document[document.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\sxmlns(:\w+)?="[^"]*"', "", svg)
    svg = svg.replace("xlink:href=", "href=")
    svg = re.sub(r'\sid="', f' id="{name}-', svg)
    svg = re.sub(r'(href="#|url\(#)', rf"\g<1>{name}-", svg)
    svg = re.sub(
        r'^<svg [^>]*?(viewBox="[^"]*")[^>]*>',
        rf'<svg \g<1> role="img" aria-label="{escape(label)}">',
        svg,
    )
    for variable, color in PALETTE.items():
        svg = svg.replace(color, f"var(--{variable})")
    return re.sub(r"\n\s*", "\n", svg).strip()

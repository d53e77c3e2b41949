"""The formulas of a built page as MathML, which browsers draw without a script."""

from __future__ import annotations

import html
import re

from latex2mathml.converter import convert

# what the extension arithmatex leaves of $...$ and of $$...$$
FORMULA = re.compile(r'<(span|div) class="arithmatex">\s*\\([(\[])(.*?)\\[)\]]\s*</\1>', re.DOTALL)


def with_mathml(page: str) -> str:
    """The page with its marked formulas as MathML."""
    return FORMULA.sub(_mathml, page)


def _mathml(found: re.Match[str]) -> str:
    display = "block" if found[2] == "[" else "inline"
    return str(convert(html.unescape(found[3]).strip(), display=display))

"""Build the site: refresh the theorem table, copy the certificate specification in, run zensical in
strict mode, and turn the formulas into MathML, which browsers draw without a script.
"""

from __future__ import annotations

import html
import re
import shutil
import subprocess
import sys
from pathlib import Path

import theorem_table
from latex2mathml.converter import convert

ROOT = Path(__file__).resolve().parent.parent
# what the extension arithmatex leaves of $...$ and of $$...$$
FORMULA = re.compile(r'<(span|div) class="arithmatex">\s*\\([(\[])(.*?)\\[)\]]\s*</\1>', re.DOTALL)


def main() -> int:
    """Write site/; the return code is that of the site generator."""
    theorem_table.main()
    target = ROOT / "docs" / "spec"
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(ROOT / "spec", target)
    zensical = Path(sys.executable).parent / "zensical"
    ended = subprocess.run(
        [str(zensical), "build", "--clean", "--strict"], cwd=ROOT, check=False
    ).returncode
    for page in (ROOT / "site").rglob("*.html"):
        page.write_text(with_mathml(page.read_text(encoding="utf-8")), encoding="utf-8")
    return ended


def with_mathml(page: str) -> str:
    """The page with its marked formulas as MathML."""
    return FORMULA.sub(_mathml, page)


def _mathml(found: re.Match[str]) -> str:
    display = "block" if found[2] == "[" else "inline"
    return str(convert(html.unescape(found[3]).strip(), display=display))


if __name__ == "__main__":
    sys.exit(main())

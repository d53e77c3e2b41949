"""The site of the docs, built as `make docs` builds it, in a copy: strict, formulas drawn, and
nothing that a browser would have to fetch from elsewhere.
"""

import html
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from scripts.mathml import with_mathml

ROOT = Path(__file__).resolve().parents[2]
NEEDED = ("docs", "spec", "src", "scripts", "tests", "mkdocs.yml", "README.md", "pyproject.toml")
LEFT_OUT = shutil.ignore_patterns("__pycache__", "*.gmc", "*.egg-info", "accepted", "malformed")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the pages."""
    copy = tmp_path_factory.mktemp("site")
    for name in NEEDED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, copy / name, ignore=LEFT_OUT)
        else:
            shutil.copy(ROOT / name, copy / name)
    command = [sys.executable, "scripts/build_docs.py"]
    ended = subprocess.run(command, cwd=copy, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return copy / "site"


@pytest.mark.parametrize(
    ("marked", "drawn"),
    [
        ('<span class="arithmatex">\\(a &lt; b\\)</span>', "<mo>&#x0003C;</mo><mi>b</mi>"),
        ('<div class="arithmatex">\\[x^2\\]</div>', 'display="block"'),
    ],
)
def test_a_formula_is_what_was_typed(marked: str, drawn: str) -> None:
    page = with_mathml(f"<p>{marked}</p>")
    assert page.startswith("<p><math")
    assert drawn in page
    assert ("block" in page) == ("div" in marked)


def words(page: str) -> str:
    """What a reader sees but code and formulas."""
    rest = re.sub(r"<(script|style|pre|code|math)\b.*?</\1>", "", page, flags=re.DOTALL)
    return html.unescape(re.sub(r"<[^>]+>", "", rest))


def test_every_formula_is_drawn_and_none_is_left_as_it_was_typed(site: Path) -> None:
    pages = {path.relative_to(site): path.read_text("utf-8") for path in site.rglob("*.html")}
    assert sum(page.count("<math") for page in pages.values()) > 400
    for path, page in pages.items():
        assert "arithmatex" not in page, path
        assert not re.findall(r"\$[^$\n]{1,80}\$|\\[a-zA-Z]{2,}[ {_^]", words(page)), path
    known = "<mi>&#x003C3;</mi>"  # sigma of GKZ: its least singular value
    assert known in pages[Path("gkz/index.html")]


def test_a_page_needs_nothing_from_elsewhere(site: Path) -> None:
    fetched = re.compile(r'<(?:script|img|iframe|link)\b[^>]*?(?:src|href)="(https?:)?//[^"]*"')
    for path in site.rglob("*.html"):
        found = [m[0] for m in fetched.finditer(path.read_text("utf-8"))]
        assert not [tag for tag in found if 'rel="canonical"' not in tag], path

"""The line counts of the threat model are those of the source."""

import re
from pathlib import Path

import pytest
from tests.house.source_lines import ROOT, lines_of_code

CHECKER = ROOT / "src" / "globalmin_check"


def rows() -> list[tuple[str, int]]:
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    found = re.findall(r"^\|[^|]*\| ([^|]*) \| ([\d,]+)(?: in all[^|]*)? \|$", text, re.MULTILINE)
    return [(where, int(count.replace(",", ""))) for where, count in found]


def files_of(where: str) -> list[Path]:
    names = re.findall(r"`([\w/]+)`", where)
    return [
        path
        for name in names
        for path in ([CHECKER / f"{name}.py"] if name[-1] != "/" else (CHECKER / name).glob("*.py"))
    ]


@pytest.mark.parametrize(("where", "count"), rows())
def test_a_count_is_within_a_tenth_of_the_source(where: str, count: int):
    """A tenth, so that the page need not change with every line."""
    assert sum(map(lines_of_code, files_of(where))) == pytest.approx(count, rel=0.1)


def test_every_file_of_the_checker_is_in_the_table():
    listed = {path for where, _ in rows() for path in files_of(where)}
    assert len(rows()) == 6
    assert set(CHECKER.rglob("*.py")) - listed == {CHECKER / "__main__.py"}
    pages = len(list((ROOT / "spec" / "claims").glob("*.md")))
    assert f"`spec/claims` ({pages} pages)" in (ROOT / "SECURITY.md").read_text(encoding="utf-8")

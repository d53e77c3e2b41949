"""The page docs/theorem-door.md runs as it stands."""

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "theorem-door.md"


def test_every_block_of_the_page_runs(capsys):
    names: dict[str, object] = {}
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.S)
    assert len(blocks) == 3
    for block in blocks:
        exec(block, names)  # noqa: S102 (our own page)
    printed = capsys.readouterr().out
    assert "its hypotheses hold here" in printed
    assert "(20, 36)" in printed

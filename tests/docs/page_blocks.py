"""The fenced blocks of a page, and what the reader is told not to expect to run."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
_BLOCK = re.compile(
    r"(?:<!-- not run: (?P<reason>[^>]+?) -->\n+)?^```(?P<language>\w*)\n(?P<text>.*?)^```$",
    flags=re.DOTALL | re.MULTILINE,
)
# Lines that make an environment: they need the network.
_SETUP = ("git clone", "make ", "pip install")


@dataclass(frozen=True)
class Block:
    """One fenced block: where it begins, its language and why it is not run, if it is not."""

    line: int
    language: str
    text: str
    reason: str | None

    @property
    def commands(self) -> list[str]:
        """The commands of a shell block, without comments and without what makes an environment."""
        lines = (re.sub(r"\s+#.*", "", line).strip() for line in self.text.splitlines())
        return [
            line.removeprefix(".venv/bin/")
            for line in lines
            if line and not line.startswith(_SETUP)
        ]

    @property
    def setup_lines(self) -> int:
        """Lines that make an environment, which no test runs."""
        return sum(line.startswith(_SETUP) for line in self.text.splitlines())


def blocks(page: Path) -> list[Block]:
    """Every fenced block of a page, in order."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(
            text.count("\n", 0, found.start("text")) + 1,
            found["language"],
            found["text"],
            found["reason"],
        )
        for found in _BLOCK.finditer(text)
    ]

"""Write the tree of docs/architecture.md: every room with its purpose and its files, from the
sources themselves.

Run with --check to fail when the committed page is not what the tree says.
"""

from __future__ import annotations

import ast
import configparser
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "architecture.md"
BEGIN, END = "<!-- tree: scripts/floor_plan.py -->\n", "<!-- end of tree -->\n"
WIDTH = 100


def purpose(path: Path) -> str:
    """The docstring of a package or module, first paragraph, on one line."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return " ".join(text.split("\n\n")[0].split())


def layers(root: Path = ROOT) -> list[list[str]]:
    """Rooms from the top layer to the bottom one, as the import contract says."""
    contracts = configparser.ConfigParser()
    contracts.read(root / ".importlinter")
    lines = contracts["importlinter:contract:layers"]["layers"].split("\n")
    return [
        [name.strip(" ()").removeprefix("globalmin.") for name in line.replace(":", "|").split("|")]
        for line in lines
        if line.strip()
    ]


def _files(room: Path) -> Iterator[str]:
    for path in sorted(room.glob("*.py")):
        if path.name != "__init__.py":
            yield path.stem
    for inner in sorted(path.parent for path in room.glob("*/__init__.py")):
        yield f"{inner.name}/ ({', '.join(_files(inner))})"


def _room(room: Path) -> str:
    lines = textwrap.wrap(purpose(room / "__init__.py"), WIDTH - 2)
    files = textwrap.wrap(
        ", ".join(_files(room)), WIDTH - 4, initial_indent="  ", subsequent_indent="  "
    )
    return "\n".join([f"{room.name}/", *(f"  {line}" for line in lines), *map("  ".__add__, files)])


def tree(root: Path = ROOT) -> str:
    """The block of the page: rooms by layer, from the bottom up, then the checker."""
    source = root / "src" / "globalmin"
    single = [path for path in sorted(source.glob("*.py")) if path.name != "__init__.py"]
    first = [purpose(path).split(". ")[0].split(": ")[0].rstrip(".") for path in single]
    blocks = ["\n".join(f"{p.name:16} {said}" for p, said in zip(single, first, strict=True))]
    for layer in reversed(layers(root)):
        rooms = [source / name for name in layer if (source / name).is_dir()]
        blocks += [_room(room) for room in rooms]
    blocks.append(_room(root / "src" / "globalmin_check"))
    return "```\n" + "\n\n".join(blocks) + "\n```\n"


def page(root: Path = ROOT) -> str:
    """The whole page with the tree of today."""
    text = PAGE.read_text(encoding="utf-8")
    head, rest = text.split(BEGIN)
    return head + BEGIN + tree(root) + END + rest.split(END)[1]


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(0 if page() == PAGE.read_text(encoding="utf-8") else "run scripts/floor_plan.py")
    PAGE.write_text(page(), encoding="utf-8")

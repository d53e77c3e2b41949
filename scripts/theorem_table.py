"""Write docs/theorems.md: for every catalogue item its functions, tests and figures, read from the
sources, nothing imported.

A function states an item by the decorator `@states("OS-C2")`, or answers for it on data by
`@fact("OS-C2")`. A test shows an item by naming its ID
in its own docstring or in that of its module. Run with --check to fail when the committed page is
not what the sources say.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "theorems.md"
GALLERY = PAGE.with_name("gallery.md")
ITEM = re.compile(r"\b(?:SJL|OS|FCL|GKZ|DU)-[A-Z][A-Za-z0-9]*(?:-[A-Z0-9]+)?(?:\.[A-Za-z0-9]+)?")
Definition = ast.FunctionDef | ast.ClassDef


def _definitions(path: Path) -> Iterator[Definition]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node


def _stated_items(node: Definition) -> Iterator[str]:
    for decorator in node.decorator_list:
        if (
            isinstance(decorator, ast.Call)
            and isinstance(decorator.func, ast.Name)
            and decorator.func.id in ("states", "fact")
        ):
            yield from (
                str(argument.value)
                for argument in decorator.args
                if isinstance(argument, ast.Constant)
            )


def stating_functions(root: Path = ROOT) -> dict[str, list[str]]:
    """Qualified names of the functions that state each item."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted((root / "src" / "globalmin").rglob("*.py")):
        module = ".".join(path.relative_to(root / "src").with_suffix("").parts)
        for node in _definitions(path):
            for item in _stated_items(node):
                found[item].append(f"{module}.{node.name}")
    return found


def showing_tests(root: Path = ROOT) -> dict[str, list[str]]:
    """Test functions (or whole test modules) whose docstring names each item."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted((root / "tests").rglob("test_*.py")):
        place = path.relative_to(root).as_posix()
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for item in ITEM.findall(ast.get_docstring(tree) or ""):
            found[item].append(place)
        for node in _definitions(path):
            for item in ITEM.findall(ast.get_docstring(node) or ""):
                found[item].append(f"{place}::{node.name}")
    return found


def page(root: Path = ROOT) -> str:
    """The whole page as Markdown."""
    catalogue = tomllib.loads(
        (root / "src" / "globalmin" / "catalogue.toml").read_text(encoding="utf-8")
    )
    functions, tests = stating_functions(root), showing_tests(root)
    lines = [
        "# Theorem, function, test, figure",
        "",
        "Made by `scripts/theorem_table.py` from the sources; a test fails when this page and the "
        "sources differ.",
        "",
    ]
    for key, work in catalogue.items():
        have = [item for item in work["items"] if functions.get(item)]
        lines += [
            f"## {key}: {work['title']}",
            "",
            f"{len(have)} of {len(work['items'])} items have code.",
            "",
        ]
        if have:
            lines += ["| item | functions | tests | figure |", "|---|---|---|---|"]
            lines += [
                f"| {item} | {_cell(functions[item])} | {_cell(tests.get(item, []))} | "
                f"{_figure(item, functions)} |"
                for item in have
            ]
            lines.append("")
        missing = [item for item in work["items"] if item not in have]
        lines += ["Still without code: " + (", ".join(missing) or "none") + ".", ""]
    return "\n".join(lines)


def _cell(names: list[str]) -> str:
    return "<br>".join(f"`{name}`" for name in dict.fromkeys(names)) or "**none**"


def _figure(item: str, functions: dict[str, list[str]]) -> str:
    """A link into the gallery for what is reproduced there, else the functions that draw."""
    names = functions[item]
    if f"\n### {item}\n" in GALLERY.read_text(encoding="utf-8"):
        return f"[gallery](gallery.md#{item.lower().replace('.', '')})"
    drawn = [name.rsplit(".", 1)[-1] for name in names if name.startswith("globalmin.report.")]
    return "<br>".join(f"`{name}`" for name in dict.fromkeys(drawn))


def main() -> int:
    """Write the page, or with --check compare it."""
    text = page()
    if "--check" in sys.argv:
        return 0 if PAGE.read_text(encoding="utf-8") == text else 1
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

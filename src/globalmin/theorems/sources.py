"""Which functions and tests stand behind an item, read from the sources: importing every room for
its decorators would take seconds.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path

TIES = ("states", "fact")  # decorators that name items
Definition = ast.FunctionDef | ast.ClassDef


@cache
def code_of_items() -> dict[str, list[str]]:
    """ID -> qualified names of the functions and classes tied to it, in the order of the files."""
    root = Path(str(files("globalmin")))
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted(root.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if not any(f"@{tie}(" in text for tie in TIES):
            continue
        module = ".".join(["globalmin", *path.relative_to(root).with_suffix("").parts])
        for node in definitions(text):
            for item in tied_items(node):
                found[item].append(f"{module.removesuffix('.__init__')}.{node.name}")
    return dict(found)


def tests_of(item: str) -> tuple[str, ...]:
    """Tests whose docstring names the item, if the sources of globalmin are at hand; else none."""
    root = Path(str(files("globalmin"))).parent.parent
    found = []
    for path in sorted((root / "tests").rglob("test_*.py")):
        text = path.read_text(encoding="utf-8")
        if item not in text:
            continue
        place = path.relative_to(root).as_posix()
        if _names(item, ast.get_docstring(ast.parse(text))):
            found.append(place)
        found += [
            f"{place}::{node.name}"
            for node in definitions(text)
            if _names(item, ast.get_docstring(node))
        ]
    return tuple(found)


def _names(item: str, docstring: str | None) -> bool:
    """Whether a docstring names the item and not a longer one that begins with it."""
    words = (docstring or "").replace(",", " ").replace(";", " ").replace(":", " ").split()
    return any(word.strip("().'\"`") == item for word in words)


def definitions(text: str) -> Iterator[Definition]:
    """Every function and class of a source text."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node


def tied_items(node: Definition) -> Iterator[str]:
    """The items that a definition's decorators name."""
    for decorator in node.decorator_list:
        if (
            isinstance(decorator, ast.Call)
            and isinstance(decorator.func, ast.Name)
            and decorator.func.id in TIES
        ):
            for argument in decorator.args:
                if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                    yield argument.value

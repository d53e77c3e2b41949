"""Which functions and tests stand behind an item, read from the sources: importing every room for
its decorators would take seconds.
"""

from __future__ import annotations

import ast
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib import resources
from importlib.resources import files
from pathlib import Path

from globalmin.errors import DataError

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
        for name, node in _qualified(ast.parse(text)):
            for item in tied_items(node):
                found[item].append(f"{module.removesuffix('.__init__')}.{name}")
    return dict(found)


def _qualified(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, Definition]]:
    """Definitions with their names, methods after their class."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield f"{prefix}{node.name}", node
            yield from _qualified(node, f"{prefix}{node.name}.")


def tests_of(item: str) -> tuple[str, ...]:
    """Tests whose docstring names the item, if the sources of globalmin are at hand; else none."""
    return tuple(
        name
        for path, text in _test_texts()
        if item in text
        for name, docstring in _docstrings(path)
        if _names(item, docstring)
    )


def _root() -> Path:
    return Path(str(files("globalmin"))).parent.parent


@cache
def _test_texts() -> tuple[tuple[Path, str], ...]:
    paths = sorted((_root() / "tests").rglob("test_*.py"))
    return tuple((path, path.read_text(encoding="utf-8")) for path in paths)


@cache
def _docstrings(path: Path) -> tuple[tuple[str, str | None], ...]:
    """Docstrings of a test module and of its definitions, with their places."""
    text, place = path.read_text(encoding="utf-8"), path.relative_to(_root()).as_posix()
    own = [(f"{place}::{node.name}", ast.get_docstring(node)) for node in definitions(text)]
    return (place, ast.get_docstring(ast.parse(text))), *own


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


@dataclass(frozen=True)
class Entry:
    """What one item says.

    Attributes
    ----------
    item, title : its ID and a name.
    statement : in plain words, as corrected.
    formula : in LaTeX, as corrected.
    correction : what differs from print, or which part is ours; empty if nothing.
    nothing : why there is nothing to compute; empty if there is.
    """

    item: str
    title: str
    statement: str
    formula: str
    correction: str = ""
    nothing: str = ""


@cache
def entries() -> dict[str, Entry]:
    """All entries by ID, from the files of `catalogue/`."""
    folder = resources.files("globalmin.theorems").joinpath("catalogue")
    found: dict[str, Entry] = {}
    for file in sorted(folder.iterdir(), key=lambda path: path.name):
        if file.name.endswith(".toml"):
            table = tomllib.loads(file.read_text(encoding="utf-8"))
            found |= {item: Entry(item, **fields) for item, fields in table.items()}
    return found


def entry(item: str) -> Entry:
    """The entry of one ID, in any case of letters; unknown ones are refused with close matches."""
    known = {name.upper(): name for name in entries()}
    name = known.get(item.upper())
    if name is None:
        near = get_close_matches(item.upper(), list(known), n=3, cutoff=0.5)
        hint = (
            f"did you mean {', '.join(known[match] for match in near)}?"
            if near
            else "the IDs are in docs/theorems.md"
        )
        raise DataError(f"{item!r} is not in the catalogue; {hint}")
    return entries()[name]

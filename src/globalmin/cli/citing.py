"""Which functions state which item, read from the sources: importing every room for its decorators
would take seconds.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from functools import cache
from importlib.resources import files
from pathlib import Path


@cache
def code_of_items() -> dict[str, list[str]]:
    """ID -> qualified names of the functions and classes decorated with `@states(ID)`, sorted."""
    root = Path(str(files("globalmin")))
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted(root.rglob("*.py")):
        module = ".".join(["globalmin", *path.relative_to(root).with_suffix("").parts])
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                for item in _stated(node):
                    found[item].append(f"{module.removesuffix('.__init__')}.{node.name}")
    return dict(found)


def _stated(node: ast.FunctionDef | ast.ClassDef) -> list[str]:
    calls = [
        d
        for d in node.decorator_list
        if isinstance(d, ast.Call) and isinstance(d.func, ast.Name) and d.func.id == "states"
    ]
    return [
        a.value
        for call in calls
        for a in call.args
        if isinstance(a, ast.Constant) and isinstance(a.value, str)
    ]

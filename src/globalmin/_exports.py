"""Public names imported on first use: the stub file beside a module is the one table of its names
and their homes.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any


def exported(stub: Path) -> dict[str, tuple[str, str]]:
    """Name -> (module it is imported from, its name there), as the stub's `from module import a as
    b` lines say.
    """
    statements = ast.parse(stub.read_text(encoding="utf-8")).body
    return {
        alias.asname or alias.name: (statement.module or "", alias.name)
        for statement in statements
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    }


def lazy(
    file: str, namespace: dict[str, Any]
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of the module with this file, whose globals are
    `namespace`.
    """
    homes = exported(Path(file).with_suffix(".pyi"))
    module = namespace["__name__"]

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        home, original = homes[name]
        try:
            value = import_module(f"{home}.{original}")  # a room
        except ModuleNotFoundError as error:
            if error.name not in (home, f"{home}.{original}"):
                raise  # a library that is not there
            value = getattr(import_module(home), original)
        namespace[name] = value
        return value

    return find, lambda: sorted(homes), [*homes]

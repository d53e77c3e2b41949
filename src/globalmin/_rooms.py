"""What the rooms bring to the core: modules of an agreed name, found in the tree, imported on use.

The core (`proving`, `shallow`) is below the families and may not import them. Where it needs what a
family adds, such as the kinds of claims, the family puts a module of the agreed name into its room,
and nothing else has to be changed: no table of rooms is kept anywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType

ROOT = Path(__file__).parent


def rooms_with(name: str) -> Iterator[ModuleType]:
    """The modules `globalmin.<room>.<name>`, in alphabetical order of the rooms that have one."""
    for room in iter_modules([str(ROOT)]):
        inside = iter_modules([str(ROOT / room.name)]) if room.ispkg else ()
        if any(module.name == name for module in inside):
            yield import_module(f"globalmin.{room.name}.{name}")


def modules_in(package: ModuleType) -> Iterator[ModuleType]:
    """The modules of a package, in alphabetical order; a module that is no package is its own
    only one.
    """
    if not hasattr(package, "__path__"):
        yield package
        return
    for module in iter_modules(package.__path__):
        yield import_module(f"{package.__name__}.{module.name}")

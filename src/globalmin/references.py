"""The five works and their numbered items as data, and the decorator that ties code to theorem.

`catalogue.toml` lists every item by its ID (`OS-C2`, `DU-TAB5.1`). A function that computes, checks
or draws an item carries `@states("OS-C2")`. From the sources the page *theorem -> function -> test*
is built (`docs/theorems.md`), and a test prints the items that still have no code.
"""

from __future__ import annotations

import tomllib
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TypeVar

Thing = TypeVar("Thing", bound=Callable | type)

_STATED: dict[str, list[str]] = defaultdict(list)


@dataclass(frozen=True)
class Work:
    """One of the five works: its short key, its title and the IDs of its items, in the order of the
    catalogue.
    """

    key: str
    title: str
    items: tuple[str, ...]


@cache
def works() -> dict[str, Work]:
    """The five works by key."""
    table = tomllib.loads(
        resources.files("globalmin").joinpath("catalogue.toml").read_text(encoding="utf-8")
    )
    return {key: Work(key, entry["title"], tuple(entry["items"])) for key, entry in table.items()}


def catalogue() -> tuple[str, ...]:
    """IDs of all items of all works."""
    return tuple(item for work in works().values() for item in work.items)


def states(*items: str) -> Callable[[Thing], Thing]:
    """Tie the decorated function or class to catalogue items; costs nothing at run time."""

    def tie(thing: Thing) -> Thing:
        for item in items:
            _STATED[item].append(f"{thing.__module__}.{thing.__qualname__}")
        return thing

    return tie


def stated() -> dict[str, list[str]]:
    """Items with code, as registered by the modules imported so far: ID -> qualified names."""
    return {item: list(names) for item, names in _STATED.items()}

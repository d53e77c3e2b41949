"""The reproductions by ID: the decorator that registers one, and the look-up that names close
matches of an unknown ID.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from globalmin.errors import DataError

if TYPE_CHECKING:
    from globalmin.reproductions.result import Reproduction
    from globalmin.reproductions.setting import Setting

    Function = Callable[[Setting], Reproduction]

HOMES = (
    "sjl",
    "os",
    "fcl",
    "gkz",
    "gkz_samples",
    "du_relu",
    "du_factorization",
    "du_filter",
    "du_convolution",
    "du_saddles",
    "certified_phase",
)

_ENTRIES: dict[str, Entry] = {}


@dataclass(frozen=True)
class Entry:
    """One registered reproduction: the ID of the item, its title, and the function that makes
    it.
    """

    item: str
    title: str
    run: Function

    @property
    def command(self) -> str:
        """The command line that makes it at the scale of the gallery."""
        return f"globalmin reproduce {self.item}"


def reproduction(item: str, *, title: str) -> Callable[[Function], Function]:
    """Register the decorated function as the reproduction of `item`; an ID has one function."""

    def register(function: Function) -> Function:
        known = _ENTRIES.get(item)
        if known is not None and known.run.__qualname__ != function.__qualname__:
            raise DataError(
                f"item {item!r} is reproduced by {known.run.__qualname__} and by "
                f"{function.__qualname__}; keep one"
            )
        _ENTRIES[item] = Entry(item, title, function)
        return function

    return register


def entries() -> dict[str, Entry]:
    """All reproductions by ID, in the order of the works and of their figures."""
    for home in HOMES:
        name = f"globalmin.reproductions.{home}"
        if find_spec(name) is not None:
            import_module(name)
    homes = {f"globalmin.reproductions.{home}": place for place, home in enumerate(HOMES)}
    return dict(
        sorted(_ENTRIES.items(), key=lambda pair: homes.get(pair[1].run.__module__, len(homes)))
    )


def entry(item: str) -> Entry:
    """The reproduction of `item`; an unknown ID raises `DataError` with its close matches."""
    known = entries()
    if not isinstance(item, str):
        raise DataError(
            f"item={item!r} is no ID; give one text such as 'OS-E.fig2a' (`globalmin reproduce "
            "list` names all)"
        )
    by_folded = {name.casefold(): name for name in known}
    if item.casefold() in by_folded:
        return known[by_folded[item.casefold()]]
    close = get_close_matches(item.casefold(), by_folded, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(by_folded[name] for name in close)}?" if close else ""
    raise DataError(
        f"no reproduction is called {item!r}; {hint or 'nothing is close'} (`globalmin reproduce "
        "list` names all)"
    )

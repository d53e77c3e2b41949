"""The catalogue as data: for every ID its title, statement, formula and correction."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib import resources

from globalmin.errors import DataError


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

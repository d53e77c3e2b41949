"""A reproduction: its result (a table beside the published numbers, the data, the figures, and the
choices that were made), the decorator that registers its function by ID, and the look-up that names
close matches of an unknown ID.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from importlib import import_module
from importlib.util import find_spec
from math import isfinite
from typing import TYPE_CHECKING, Any

from globalmin.errors import DataError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from globalmin.reproductions.running import Setting

    Function = Callable[[Setting], "Reproduction"]


Number = float | int
RELATIONS = ("=", "<=", ">=")
COLUMNS = ("quantity", "published", "ours", "difference", "note")


@dataclass(frozen=True)
class Row:
    """One line of the table *published | ours | difference | note*.

    Parameters
    ----------
    quantity : what is compared, in words.
    published : the number of the paper or of the spec page, or words ("straight line"), or None
        where nothing is said.
    ours : the number or the words we found.
    tolerance : largest |difference| that counts as agreement; None: shown, not judged.
    relation : "=", or "<=" / ">=": ours must be at most / at least the published number, up to the
        tolerance.
    note : where the published value is from, and what explains a difference.
    """

    quantity: str
    published: Number | str | None
    ours: Number | str
    tolerance: float | None = None
    relation: str = "="
    note: str = ""

    def __post_init__(self) -> None:
        if self.relation not in RELATIONS:
            raise DataError(
                f"relation {self.relation!r} of row {self.quantity!r} is not one of "
                f"{', '.join(RELATIONS)}"
            )
        if self.tolerance is not None and self.difference is None:
            raise DataError(
                f"row {self.quantity!r} has a tolerance but not two numbers; give both or no "
                "tolerance"
            )
        if self.tolerance is None and not self.note:
            raise DataError(f"row {self.quantity!r} is not judged; its note must say why")

    @property
    def difference(self) -> float | None:
        """Ours minus published, where both are numbers."""
        if isinstance(self.published, str) or isinstance(self.ours, str) or self.published is None:
            return None
        return float(self.ours) - float(self.published)

    @property
    def agrees(self) -> bool | None:
        """Whether ours is within the tolerance; None for a row that is not judged."""
        if self.tolerance is None or self.difference is None:
            return None
        signed = {"=": abs(self.difference), "<=": self.difference, ">=": -self.difference}[
            self.relation
        ]
        return bool(isfinite(self.difference) and signed <= self.tolerance)

    def texts(self) -> tuple[str, ...]:
        """The five cells as text, in the order of `COLUMNS`."""
        sign = "" if self.relation == "=" else {"<=": "≤ ", ">=": "≥ "}[self.relation]
        published = "" if self.published is None else sign + number_text(self.published)
        difference = (
            ""
            if self.difference is None or self.relation != "="
            else number_text(self.difference, signed=True)
        )
        return (self.quantity, published, number_text(self.ours), difference, self._note())

    def _note(self) -> str:
        if self.agrees is None:
            return self.note
        word = "agrees" if self.agrees else "DIFFERS"
        return f"{word}; {self.note}" if self.note else word


def number_text(value: Number | str, *, signed: bool = False) -> str:
    """A number with at most five digits, an integer in full, words as they are."""
    if isinstance(value, str):
        return value
    if float(value).is_integer() and abs(value) < 1e9:
        return f"{int(value):+,}" if signed else f"{int(value):,}"
    return f"{value:+.3g}" if signed else f"{value:.5g}"


@dataclass(frozen=True)
class Reproduction:
    """What one figure or table looks like here.

    Parameters
    ----------
    item : the catalogue's ID, `OS-E.fig2a`.
    scale : "thumbnail" or "paper".
    table : the comparison, one row a number.
    data : named columns (lists or arrays) of equal length, all that the figures show.
    figures : name -> function that draws it; the name is "" where there is one figure only.
    choices : sentences: what was chosen where the paper is silent or wrong.
    """

    item: str
    scale: str
    table: tuple[Row, ...]
    data: Mapping[str, Any]
    figures: Mapping[str, Callable[[], Figure]] = field(default_factory=dict)
    choices: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        lengths = {name: len(column) for name, column in self.data.items()}
        if len(set(lengths.values())) > 1:
            raise DataError(
                f"the columns of {self.item} differ in length: {lengths}; repeat keys so that each "
                "row stands alone"
            )

    @property
    def agrees(self) -> bool:
        """Whether no judged row is out of its tolerance."""
        return all(row.agrees is not False for row in self.table)

    def row(self, quantity: str) -> Row:
        """The row of the table with this quantity."""
        return next(row for row in self.table if row.quantity == quantity)

    def __str__(self) -> str:
        from globalmin.reproductions.saving import table_text

        return table_text(self)


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

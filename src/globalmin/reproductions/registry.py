"""A reproduction: its result (a table beside what the paper prints and beside our own references,
the data, the figures, and the choices that were made), the decorator that registers its function by
ID, and the look-up that names close matches of an unknown ID.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from importlib import import_module
from importlib.util import find_spec
from math import isfinite
from typing import TYPE_CHECKING, Any, TypeGuard

from globalmin.errors import DataError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from globalmin.reproductions.running import Setting

    Function = Callable[[Setting], "Reproduction"]


Number = float | int
RELATIONS = ("=", "<=", ">=")
COLUMNS = ("quantity", "published", "reference", "ours", "tolerance", "verdict", "note")
VERDICTS = {True: "agrees", False: "DIFFERS", None: "not judged"}
PAPER, REFERENCE = "the paper", "our reference"
FAR = 1.43  # tolerances: (1.96 + 0.84)/1.96, so that an alternative there is caught with 80 %


@dataclass(frozen=True)
class Row:
    """One line of the table *published | reference | ours | tolerance | verdict | note*.

    A row is judged against the paper where the paper prints a number, else against our reference;
    *agrees* and *DIFFERS* are said only by a row with **power**: one that would catch a stated
    alternative.

    Parameters
    ----------
    quantity : what is compared, in words.
    published : what the paper prints, a number or words; None where it prints nothing.
    ours : the number or the words we found.
    tolerance : largest |difference| that counts as agreement; None: shown, not judged.
    relation : "=", or "<=" / ">=": ours must be at most / at least the target, up to the tolerance.
    note : what explains a difference; why a row is not judged.
    where : where the paper prints it ("section 3, text", "caption of figure 4").
    reference : a number or words of our own: an earlier run, a closed form, a bound.
    source : where the reference is from.
    error : from which errors of both sides the tolerance comes.
    catches : an alternative in words and the value it would give (a wrong step, another rule).
        A row has power if that value lies beyond 1.43 tolerances: where the tolerance is 1.96
        standard errors, four draws of five are then caught. A row without power is not judged.
        Without `catches` the alternative is a number off by half of the target.
    """

    quantity: str
    published: Number | str | None
    ours: Number | str
    tolerance: float | None = None
    relation: str = "="
    note: str = ""
    where: str = field(default="", kw_only=True)
    reference: Number | str | None = field(default=None, kw_only=True)
    source: str = field(default="", kw_only=True)
    error: str = field(default="", kw_only=True)
    catches: tuple[str, float] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        name = f"row {self.quantity!r}"
        if self.relation not in RELATIONS:
            raise DataError(
                f"relation {self.relation!r} of {name} is not one of {', '.join(RELATIONS)}"
            )
        if self.published is not None and not self.where:
            raise DataError(
                f"{name} says published={self.published!r} but not where the paper prints it; give "
                "`where`, or move our own number into `reference` with its `source`"
            )
        if self.reference is not None and not self.source:
            raise DataError(f"{name} has reference={self.reference!r} without its `source`")
        if self.tolerance is not None and self.difference is None:
            raise DataError(
                f"{name} has a tolerance but not two numbers; give both or no tolerance"
            )
        if self.tolerance is None and not self.note:
            raise DataError(f"{name} is not judged; its note must say why")

    @property
    def target(self) -> float | None:
        """The number ours is compared with: the paper's, or else our reference."""
        return next((float(x) for x in (self.published, self.reference) if _is_number(x)), None)

    @property
    def against(self) -> str | None:
        """Against what a judged row is judged: `PAPER` or `REFERENCE`; None if it is not judged."""
        if self.agrees is None:
            return None
        return PAPER if _is_number(self.published) else REFERENCE

    @property
    def difference(self) -> float | None:
        """Ours minus the target, where both are numbers."""
        if self.target is None or isinstance(self.ours, str):
            return None
        return float(self.ours) - self.target

    @property
    def has_power(self) -> bool:
        """Whether the row would catch its alternative (see `catches`)."""
        if self.tolerance is None or self.target is None:
            return False
        if self.catches is not None:
            return not self._accepts((self.catches[1] - self.target) / FAR)
        return self.target == 0.0 or self.tolerance < abs(self.target) / 2

    @property
    def agrees(self) -> bool | None:
        """Whether ours is within the tolerance; None for a row that is not judged."""
        if self.tolerance is None or self.difference is None or not self.has_power:
            return None
        return self._accepts(self.difference)

    @property
    def verdict(self) -> str:
        """One of `VERDICTS`."""
        return VERDICTS[self.agrees]

    def _accepts(self, difference: float) -> bool:
        signed = {"=": abs(difference), "<=": difference, ">=": -difference}[self.relation]
        return bool(isfinite(difference) and signed <= (self.tolerance or 0.0))

    def texts(self) -> tuple[str, ...]:
        """The cells as text, in the order of `COLUMNS`."""
        sign = {"=": "", "<=": "≤ ", ">=": "≥ "}[self.relation]
        paper = "" if self.published is None else number_text(self.published)
        reference = "" if self.reference is None else number_text(self.reference)
        if _is_number(self.published):
            paper = sign + paper
        elif _is_number(self.reference):
            reference = sign + reference
        tolerance = "" if self.tolerance is None else f"{self.tolerance:.2g}"
        return (
            self.quantity,
            paper,
            reference,
            number_text(self.ours),
            tolerance,
            self.verdict,
            "; ".join(part for part in self._parts() if part),
        )

    def _parts(self) -> Iterator[str]:
        yield self.note
        yield f"published: {self.where}" if self.where else ""
        yield f"reference: {self.source}" if self.source else ""
        yield f"tolerance: {self.error}" if self.error and self.tolerance is not None else ""
        if self.tolerance is None:
            return
        words, value = self.catches or ("a number off by half", None)
        would = words if value is None else f"{words} ({number_text(value)})"
        if not self.has_power:
            yield f"no power: {would} would pass"
        elif self.catches is not None:
            yield f"would catch {would}"


def _is_number(value: Number | str | None) -> TypeGuard[Number]:
    return value is not None and not isinstance(value, str)


def headline(rows: Sequence[Row]) -> str:
    """How many rows agree, differ and are not judged, and against what the judged ones stand."""
    verdicts = [row.agrees for row in rows]
    yes, no, open_ = (verdicts.count(word) for word in (True, False, None))
    parts = [f"{yes} agree{'s' if yes == 1 else ''}"] if yes else []
    parts += [f"{no} differ{'s' if no == 1 else ''}"] if no else []
    parts += [f"{open_} not judged"] if open_ else []
    against = [row.against for row in rows]
    sides = [
        f"{against.count(side)} against {side}" for side in (PAPER, REFERENCE) if side in against
    ]
    return "; ".join(text for text in (", ".join(parts), ", ".join(sides)) if text) or "no rows"


def number_text(value: Number | str) -> str:
    """A number with at most five digits, an integer in full, words as they are."""
    if isinstance(value, str):
        return value
    if float(value).is_integer() and abs(value) < 1e9:
        return f"{int(value):,}"
    return f"{value:.5g}"


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

    @property
    def headline(self) -> str:
        """The honest count: rows that agree, differ, are not judged; against paper or reference."""
        return headline(self.table)

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
    "du_layers",
    "du_filter",
    "du_table",
    "du_convolution",
    "du_digits",
    "du_saddles",
    "du_escape",
    "certified_phase",
    "start_phase",
)

_ENTRIES: dict[str, Entry] = {}


@dataclass(frozen=True)
class Entry:
    """One registered reproduction: the ID of the item, its title, the function that makes it, and
    whether it can use a data file of the user's.
    """

    item: str
    title: str
    run: Function
    takes_data: bool = False

    @property
    def command(self) -> str:
        """The command line that makes it at the scale of the gallery."""
        return f"globalmin reproduce {self.item}"


def reproduction(
    item: str, *, title: str, takes_data: bool = False
) -> Callable[[Function], Function]:
    """Register the decorated function as the reproduction of `item`; an ID has one function."""

    def register(function: Function) -> Function:
        known = _ENTRIES.get(item)
        if known is not None and known.run.__qualname__ != function.__qualname__:
            raise DataError(
                f"item {item!r} is reproduced by {known.run.__qualname__} and by "
                f"{function.__qualname__}; keep one"
            )
        _ENTRIES[item] = Entry(item, title, function, takes_data)
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

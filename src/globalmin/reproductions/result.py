"""The result of a reproduction: a table beside the published numbers, the data, the figures, and
the choices that were made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import TYPE_CHECKING, Any

from globalmin.errors import DataError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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

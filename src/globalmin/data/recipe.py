"""How the columns of a raw table become numbers: learned from the training rows, stored with the
model as plain JSON, applied to the rows of tomorrow, and told in sentences.

- A number stays itself; a gap takes the median of the training rows, and a column says where gaps
  were, if the training rows have any. A column without any value is left out.
- A category becomes a column of zeros and ones for each level (one column for two levels). Rare
  levels are put together; a gap is a level of its own if the training rows have any. A level that
  is new tomorrow counts with the rare ones, or is zero in every column, and is warned of.
- A date becomes its day, month, weekday and hour as numbers, those that differ among the training
  rows.
"""

from __future__ import annotations

import datetime as dt
import json
import warnings
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from globalmin._options import one_of
from globalmin._types import Array
from globalmin.data.columns import (
    ColumnKind,
    Found,
    days_since_1970,
    find_kind,
    numbers_of,
    texts_of,
    times_of,
)
from globalmin.data.raw_table import RawTable, raw_table_of
from globalmin.errors import DataError

FORMAT = "globalmin-recipe/1"
KINDS: tuple[ColumnKind, ...] = ("number", "category", "date")
MOST_LEVELS = 20  # of a category, the rest are put together
FEWEST_ROWS = 5  # of a level of its own, where there are more levels than that
DATE_PARTS = ("days", "month", "weekday", "hour")
OTHER, GAP = "(other)", "(missing)"


@dataclass(frozen=True)
class Step:
    """What is done to one column.

    Attributes
    ----------
    column : str
        Its name.
    kind : str
        "number", "category" or "date".
    levels : tuple[str, ...]
        Of a category: the levels with a column of their own.
    others : bool
        Of a category: whether the other levels share a column.
    parts : tuple[str, ...]
        Of a date: the parts that are used.
    date_format : str
        How dates are written.
    fill : float
        The median that fills gaps, of a number or of the days of a date.
    gaps : bool
        Whether a column says where gaps are.
    """

    column: str
    kind: ColumnKind
    levels: tuple[str, ...] = ()
    others: bool = False
    parts: tuple[str, ...] = ()
    date_format: str = ""
    fill: float = 0.0
    gaps: bool = False

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of the columns of numbers that it makes."""
        missing = (f"{self.column} missing",) if self.gaps else ()
        if self.kind == "number":
            return (self.column, *missing)
        if self.kind == "date":
            return (*(f"{self.column} {part}" for part in self.parts), *missing)
        named = (*self.levels, *((OTHER,) if self.others else ()), *((GAP,) if self.gaps else ()))
        shown = named[1:] if len(named) == 2 else named
        return tuple(f"{self.column}={level}" for level in shown)

    def sentence(self) -> str:
        """What is done, in words."""
        if self.kind == "number":
            gap = f"; gaps take the median {self.fill:.6g}, and a column marks them"
            return f"{self.column}: a number{gap if self.gaps else ''}"
        if self.kind == "date":
            gap = "; gaps take the median day, and a column marks them" if self.gaps else ""
            return f"{self.column}: a date, by {', '.join(self.parts) or 'nothing'}{gap}"
        if not self.outputs:
            return f"{self.column}: left out, no value of it is there often enough"
        shown = [*self.levels[:8], *(["..."] if len(self.levels) > 8 else [])]
        shown += ["the others together" if self.levels else "any value"] * self.others
        shown += ["gaps"] * self.gaps
        return f"{self.column}: a category ({', '.join(shown)})"


@dataclass(frozen=True)
class Recipe:
    """How the columns of a table become numbers, learned by `learn_recipe`.

    Parameters
    ----------
    steps : tuple[Step, ...]
        One for each column that is used, in the order of the outputs.
    """

    steps: tuple[Step, ...] = field(default=())

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that a table must have."""
        return tuple(step.column for step in self.steps)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns of numbers."""
        return tuple(name for step in self.steps for name in step.outputs)

    def transform(self, table: object) -> Array:
        """The rows of a table (a `RawTable`, a data frame, a dict of columns) as numbers, n x
        `len(names)`; columns that the recipe does not name are left alone.
        """
        raw = raw_table_of(table)
        raw.require(self.columns, "input")
        parts = [_applied(step, raw) for step in self.steps]
        return np.ascontiguousarray(np.column_stack(parts))

    def sentences(self) -> list[str]:
        """What is done to each column, in words."""
        return [step.sentence() for step in self.steps]

    def to_json(self) -> str:
        """Plain text that `from_json` reads again, bit for bit."""
        steps = [asdict(step) for step in self.steps]
        return json.dumps({"format": FORMAT, "steps": steps}, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Recipe:
        """Inverse of `to_json`; DataError for anything else."""
        try:
            fields = json.loads(text)
            if fields["format"] != FORMAT:
                raise DataError(f"format={fields['format']!r} must be {FORMAT!r}")
            steps = [_step(given) for given in fields["steps"]]
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            raise DataError(f"the recipe of the columns is damaged: {error}") from error
        return cls(tuple(steps))


def learn_recipe(
    table: object,
    *,
    kinds: Mapping[str, ColumnKind] | None = None,
    most_levels: int = MOST_LEVELS,
) -> Recipe:
    """Learn from the training rows how each column becomes numbers.

    Parameters
    ----------
    table : object
        The inputs: a `RawTable`, a data frame, or a dict of columns.
    kinds : Mapping[str, str] | None
        "number", "category" or "date" for columns that are not to be judged by their cells.
    most_levels : int
        Levels of a category that get a column of their own; the rest share one.

    Examples
    --------
    >>> people = {"age": ["31", None, "40"], "city": ["Oslo", "Rome", "Oslo"]}
    >>> recipe = learn_recipe(people)
    >>> recipe.names
    ('age', 'age missing', 'city=Rome')
    >>> recipe.transform(people).tolist()
    [[31.0, 0.0, 0.0], [35.5, 1.0, 1.0], [40.0, 0.0, 0.0]]
    """
    raw = raw_table_of(table)
    asked: dict[str, ColumnKind] = {
        name: one_of("kinds", kind, KINDS) for name, kind in (kinds or {}).items()
    }
    raw.require(list(asked), "category")
    if most_levels < 1:
        raise DataError(f"most_levels={most_levels} must be at least 1")
    steps = [
        _learned(raw, name, _found(raw, name, asked.get(name)), most_levels) for name in raw.names
    ]
    recipe = Recipe(tuple(steps))
    if not recipe.names:
        raise DataError(
            f"{raw.origin}: no column is left for the inputs: {'; '.join(recipe.sentences())}"
        )
    return recipe


def _found(raw: RawTable, name: str, kind: ColumnKind | None) -> Found:
    if kind in (None, "date"):
        found = find_kind(raw, name)
        if kind == "date" and found.kind != "date":
            raise DataError(f"{raw.origin}: column {name!r} is not one of dates, as kinds says")
        return found
    return Found(kind)


def _learned(raw: RawTable, name: str, found: Found, most_levels: int) -> Step:
    if found.kind == "category":
        return _learned_category(name, texts_of(raw, name), most_levels)
    if found.kind == "date":
        times = times_of(raw, name, found.date_format)
        values, parts = days_since_1970(times), _date_parts(times)
    else:
        values, parts = numbers_of(raw, name), ()
    known = values[~np.isnan(values)]
    if not known.size:
        return Step(name, "category")  # without levels: what comes tomorrow says nothing either
    gaps, fill = known.size < values.size, float(np.median(known))
    return Step(name, found.kind, (), False, parts, found.date_format, fill, gaps)


def _learned_category(name: str, cells: Sequence[str | None], most_levels: int) -> Step:
    """Levels by number of rows; all of them if they are few, else the frequent ones."""
    counts = Counter(cell for cell in cells if cell is not None)
    order = sorted(counts, key=lambda level: (-counts[level], level))
    few = len(order) <= FEWEST_ROWS
    kept = [level for level in order if few or counts[level] >= FEWEST_ROWS][:most_levels]
    gaps = None in cells
    others = len(kept) < len(order) and (bool(kept) or gaps)
    return Step(name, "category", tuple(sorted(kept)), others, gaps=gaps and bool(counts))


def _date_parts(times: Sequence[dt.datetime | None]) -> tuple[str, ...]:
    """The parts that differ among the rows; years differ in the days."""
    known = [time for time in times if time is not None]
    return tuple(part for part in DATE_PARTS if len({_part(time, part) for time in known}) > 1)


def _part(time: dt.datetime, part: str) -> float:
    if part == "days":
        return float(days_since_1970([time])[0])
    if part == "month":
        return float(time.month)
    if part == "weekday":
        return float(time.isoweekday())
    return time.hour + time.minute / 60


def _applied(step: Step, raw: RawTable) -> Array:
    """The columns of numbers of one step."""
    if step.kind == "category":
        return _indicators(step, texts_of(raw, step.column))
    if step.kind == "number":
        values = numbers_of(raw, step.column)
        columns = [np.where(np.isnan(values), step.fill, values)]
        gaps = np.isnan(values)
    else:
        filled = dt.datetime(1970, 1, 1) + dt.timedelta(days=step.fill)
        times = times_of(raw, step.column, step.date_format)
        gaps = np.array([time is None for time in times])
        columns = [
            np.array([_part(filled if time is None else time, part) for time in times])
            for part in step.parts
        ]
    if step.gaps:
        columns.append(gaps.astype(np.float64))
    elif gaps.any():
        warnings.warn(
            f"column {step.column!r} has {int(gaps.sum())} gap(s), the training rows had none; "
            "they take the median of the training rows",
            UserWarning,
            stacklevel=4,
        )
    return np.array(columns).reshape(len(columns), raw.n_rows).T


def _indicators(step: Step, cells: Sequence[str | None]) -> Array:
    named = (*step.levels, *((OTHER,) if step.others else ()), *((GAP,) if step.gaps else ()))
    place = {level: j for j, level in enumerate(named)}
    known = {cell for cell in cells if cell is not None}
    _warn_of_new_levels(step, known)
    columns = np.zeros((len(cells), len(named)))
    for i, cell in enumerate(cells):
        level = GAP if cell is None else cell if cell in step.levels else OTHER
        if level in place:
            columns[i, place[level]] = 1.0
    return columns[:, 1:] if len(named) == 2 else columns


def _warn_of_new_levels(step: Step, known: Collection[str]) -> None:
    new = sorted(set(known) - set(step.levels))
    if new and not step.others and step.levels:
        is_binary = len(step.levels) + step.gaps == 2
        counted = repr(step.levels[0]) if is_binary else "none of the known ones"
        warnings.warn(
            f"column {step.column!r} has values that the training rows did not have: "
            f"{', '.join(map(repr, new[:5]))}{', ...' if len(new) > 5 else ''}; they count as "
            f"{counted}",
            UserWarning,
            stacklevel=5,
        )


def _step(given: Mapping[str, Any]) -> Step:
    """One step from plain values, each of its type."""
    step = Step(**dict(given, levels=tuple(given["levels"]), parts=tuple(given["parts"])))
    texts = (step.column, step.date_format, *step.levels, *step.parts)
    flags = (step.others, step.gaps)
    is_sound = (
        all(isinstance(text, str) for text in texts)
        and all(isinstance(flag, bool) for flag in flags)
        and set(step.parts) <= set(DATE_PARTS)
        and bool(np.isfinite(step.fill))
    )
    if not is_sound:
        raise DataError(f"step {dict(given)!r:.100} is not one")
    one_of("kind", step.kind, KINDS)
    return step

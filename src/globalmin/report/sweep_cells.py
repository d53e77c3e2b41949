"""The means behind the pictures of a sweep: which result over which parameters, and one plane of
cells for every combination of the other parameters that vary, so that nothing is averaged silently.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from globalmin.errors import PlanError

Row = Mapping[str, Any]
FIRST, LAST = ("trial",), ("seed", "status", "error")


@dataclass(frozen=True)
class Cells:
    """Means of `column` over seeds and all parameters but the axes; nan where no trial gave a
    finite number.

    Parameters
    ----------
    column : the result.
    x, y : names of the parameters; `y` is empty for a line.
    x_values, y_values : their values in the order of the plan; one empty text for a missing y.
    means, spreads, counts : one row per value of y, one column per value of x; spreads are standard
        errors.
    left_out : trials without a finite number, failed ones included.
    facet : names and values of the other parameters, where the cells are of one combination only.
    """

    column: str
    x: str
    y: str
    x_values: tuple[Any, ...]
    y_values: tuple[Any, ...]
    means: NDArray[np.float64]
    spreads: NDArray[np.float64]
    counts: NDArray[np.int64]
    left_out: int
    facet: tuple[tuple[str, Any], ...] = ()

    @property
    def title(self) -> str:
        """The combination in words, empty for the only one."""
        return ", ".join(f"{name} = {value}" for name, value in self.facet)


def choose(
    rows: Sequence[Row],
    parameters: Sequence[str],
    wanted: tuple[str | None, str | None, str | None],
) -> tuple[str, str, str]:
    """Result and axes as wanted (column, x, y), or the first numeric result over the last two
    parameters that vary.
    """
    column, x, y = wanted
    results = [name for name in rows[0] if name not in (*FIRST, *LAST, *parameters)]
    numeric = [name for name in results if any(number(row[name]) is not None for row in rows)]
    varied = [name for name in parameters if len({repr(row[name]) for row in rows}) > 1]
    if column is not None and column not in numeric:
        raise PlanError(
            f"column {column!r} is no numeric result of this sweep; there are "
            f"{', '.join(numeric) or 'none'}"
        )
    for name in (x, y):
        if name is not None and name not in varied:
            raise PlanError(
                f"axis {name!r} is no parameter that varies; those are "
                f"{', '.join(varied) or 'none'}"
            )
    if (column is None and not numeric) or not varied:
        raise PlanError(
            "nothing to draw: the sweep has no numeric result, or no parameter that varies"
        )
    x = x or next(name for name in reversed(varied) if name != y or len(varied) == 1)
    rest = [name for name in varied if name != x]
    return column or numeric[0], x, y or (rest[-1] if rest else "")


def facets(
    rows: Sequence[Row], parameters: Sequence[str], chosen: tuple[str, str, str]
) -> list[Cells]:
    """One plane of cells, with common axes, for every combination of the parameters that vary and
    are no axis.

    Parameters
    ----------
    rows : the trials.
    parameters : names of the parameters of the plan.
    chosen : result and axes, see `choose`.
    """
    column, x, y = chosen
    others = [
        name
        for name in parameters
        if name not in (x, y) and len({repr(row[name]) for row in rows}) > 1
    ]
    groups: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for row in rows:
        groups[tuple(repr(row[name]) for name in others)].append(row)
    axes = values_of(rows, x), values_of(rows, y) if y else ("",)
    return [
        replace(
            average(group, column, x, y, axes=axes),
            facet=tuple((name, group[0][name]) for name in others),
        )
        for group in groups.values()
    ]


def average(
    rows: Sequence[Row],
    column: str,
    x: str,
    y: str,
    *,
    axes: tuple[tuple[Any, ...], tuple[Any, ...]] | None = None,
) -> Cells:
    """The mean of `column` in every cell of the plane of `x` and `y`; `axes` are their values where
    other rows have more of them.
    """
    x_values, y_values = axes or (values_of(rows, x), values_of(rows, y) if y else ("",))
    found: dict[tuple[int, int], list[float]] = defaultdict(list)
    left_out = 0
    places = ({repr(value): i for i, value in enumerate(values)} for values in (y_values, x_values))
    y_places, x_places = places
    for row in rows:
        value = number(row[column])
        if value is None or not math.isfinite(value):
            left_out += 1
        else:
            found[y_places[repr(row[y])] if y else 0, x_places[repr(row[x])]].append(value)
    shape = (len(y_values), len(x_values))
    means, spreads, counts = (
        np.full(shape, np.nan),
        np.full(shape, np.nan),
        np.zeros(shape, np.int64),
    )
    for place, values in found.items():
        means[place] = np.mean(values)
        spreads[place] = (
            np.std(values, ddof=1) / math.sqrt(len(values)) if len(values) > 1 else np.nan
        )
        counts[place] = len(values)
    return Cells(column, x, y, x_values, y_values, means, spreads, counts, left_out)


def number(value: object) -> float | None:
    """Numbers and truth values as numbers; anything else is none."""
    return float(value) if isinstance(value, bool | int | float) else None


def values_of(rows: Sequence[Row], name: str) -> tuple[Any, ...]:
    """The values of a parameter: numbers in increasing order, others as they come."""
    values = list({repr(row[name]): row[name] for row in rows}.values())
    if all(number(value) is not None for value in values):
        values.sort(key=float)
    return tuple(values)

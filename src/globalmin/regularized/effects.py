"""What each column does to the output of a network whose neurons see all columns: the output at
the rows, one column moved through its range and the others left as they are.

A measurement to look at, not a theorem: the rows are moved to places where there may be no data.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from globalmin._types import Array
from globalmin.data.preprocessing import Preprocessing
from globalmin.regularized.network import RegularizedNetwork

PLACES = 41  # that a column is moved to, between its least and its largest value
ROWS = 400  # that are moved at most, evenly spaced over the table


@dataclass(frozen=True, eq=False)
class Effect:
    """One column moved, the others as they are in the rows.

    Attributes
    ----------
    column : int
        Its number.
    name : str
        Its name.
    places : Array
        The values it is moved to, in its units.
    outputs : Array
        The output at every place (columns) for every row that was moved, in the units of the
        outputs.
    size : float
        The standard deviation of the mean output over the values that the rows have: how much the
        column moves it by itself.
    """

    column: int
    name: str
    places: Array
    outputs: Array = field(repr=False)
    size: float

    @property
    def mean(self) -> Array:
        """The mean output at every place."""
        return self.outputs.mean(axis=0)


def effects_of(
    network: RegularizedNetwork, preprocessing: Preprocessing, X: Array, names: Sequence[str]
) -> list[Effect]:
    """The effects of all columns, the largest first; X are raw rows.

    The cost grows with the columns times the neurons times `ROWS` times `PLACES`.
    """
    moved = X[np.unique(np.linspace(0, len(X) - 1, min(len(X), ROWS)).astype(np.intp))]

    def output(rows: Array) -> Array:
        return preprocessing.restore(network.predict(preprocessing.transform(rows)))

    found = [_effect(output, moved, X[:, j], j, name) for j, name in enumerate(names)]
    return sorted(found, key=lambda effect: -effect.size)


def _effect(
    output: Callable[[Array], Array], rows: Array, values: Array, column: int, name: str
) -> Effect:
    known = np.unique(values)
    places = known if known.size <= PLACES else np.linspace(known[0], known[-1], PLACES)
    copies = np.repeat(rows, places.size, axis=0)
    copies[:, column] = np.tile(places, len(rows))
    outputs = output(copies).reshape(len(rows), places.size)
    size = float(np.interp(values, places, outputs.mean(axis=0)).std())
    return Effect(column, name, places, outputs, size)


def effects_table(effects: Sequence[Effect]) -> str:
    """As csv text: at every place the mean over the rows, and what nine in ten of them are above
    and below.
    """
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["column", "value", "mean", "lower tenth", "upper tenth"])
    for effect in effects:
        low, high = np.quantile(effect.outputs, (0.1, 0.9), axis=0)
        for numbers in zip(effect.places, effect.mean, low, high, strict=True):
            writer.writerow([effect.name, *(f"{number:.8g}" for number in numbers)])
    return stream.getvalue()

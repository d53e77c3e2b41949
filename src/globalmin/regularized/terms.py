"""The terms of an additive network: one curve per column, one surface per pair of columns, in the
user's units, so that a person can read the model.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from globalmin._types import Array, ArrayLike
from globalmin.data.preprocessing import Preprocessing
from globalmin.regularized.network import RegularizedNetwork

GRID = 41  # points along each axis of a surface
DRAWN = 9  # terms in a picture, if nothing else is asked for


@dataclass(frozen=True, eq=False)
class Term:
    """The part of a network that sees one group of columns, minus its mean over the training rows.

    Attributes
    ----------
    columns : tuple[int, ...]
        The columns it sees.
    name : str
        Their names.
    knots : tuple[Array, ...]
        In the units of each column: for one column the kinks and the ends of the data, between
        which the term is linear; for two the axes of a grid.
    values : Array
        The term at the knots, in the units of the outputs: (m,) or (m_1, m_2).
    size : float
        Its standard deviation over the training rows: how much it moves the outputs.
    width : int
        Its number of neurons.
    """

    columns: tuple[int, ...]
    name: str
    knots: tuple[Array, ...]
    values: Array
    size: float
    width: int
    mean: float = field(repr=False)
    network: RegularizedNetwork = field(repr=False)
    preprocessing: Preprocessing = field(repr=False)

    def __call__(self, X: ArrayLike) -> Array:
        """The contribution of the term at raw rows of all columns."""
        return _output(self.network, self.preprocessing, X) - self.mean


def _output(network: RegularizedNetwork, preprocessing: Preprocessing, X: ArrayLike) -> Array:
    return network.predict(preprocessing.transform(X)) * preprocessing.y_scale


def terms_of(
    network: RegularizedNetwork, preprocessing: Preprocessing, X: Array, names: list[str]
) -> list[Term]:
    """The terms of a network with neurons of one or two columns, the largest first; X are the raw
    training rows. A neuron of a group counts for the columns that its weights see.
    """
    groups: dict[tuple[int, ...], list[int]] = {}
    for neuron, row in enumerate(network.W):
        groups.setdefault(tuple(np.flatnonzero(row).tolist()), []).append(neuron)
    found = [
        _term(columns, _part(network, neurons), preprocessing, X, names)
        for columns, neurons in groups.items()
        if columns
    ]
    return sorted(found, key=lambda term: -term.size)


def _part(network: RegularizedNetwork, neurons: list[int]) -> RegularizedNetwork:
    return RegularizedNetwork(network.W[neurons], network.bias[neurons], network.v[neurons])


def _term(
    columns: tuple[int, ...],
    network: RegularizedNetwork,
    preprocessing: Preprocessing,
    X: Array,
    names: list[str],
) -> Term:
    outputs = _output(network, preprocessing, X)
    mean = float(outputs.mean())
    knots = (
        _kinks(columns[0], network, preprocessing, X) if len(columns) == 1 else _axes(X, columns)
    )
    places = np.meshgrid(*knots, indexing="ij")
    rows = np.tile(X[0], (places[0].size, 1))
    for column, place in zip(columns, places, strict=True):
        rows[:, column] = place.ravel()
    values = (_output(network, preprocessing, rows) - mean).reshape(places[0].shape)
    name = " × ".join(names[j] for j in columns)
    size = float(outputs.std())
    return Term(columns, name, knots, values, size, network.width, mean, network, preprocessing)


def _kinks(
    j: int, network: RegularizedNetwork, preprocessing: Preprocessing, X: Array
) -> tuple[Array, ...]:
    """The kinks inside the data and the two ends, in raw units."""
    low, high = float(X[:, j].min()), float(X[:, j].max())
    stored = -network.bias / network.W[:, j]
    raw = stored * preprocessing.x_scale[j] + preprocessing.x_shift[j]
    return (np.unique(np.r_[low, raw[(raw > low) & (raw < high)], high]),)


def _axes(X: Array, columns: tuple[int, ...]) -> tuple[Array, ...]:
    return tuple(np.linspace(X[:, j].min(), X[:, j].max(), GRID) for j in columns)


def table_of(terms: Mapping[str, Sequence[Term]]) -> str:
    """Terms of each class (or of "" where there is one output) as csv text: a line for every knot
    of a curve, and for every point of the grid of a surface, which has a second coordinate.
    """
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    has_classes = "" not in terms
    writer.writerow([*(["class"] if has_classes else []), "term", "x", "y", "value"])
    for name, part in terms.items():
        for term in part:
            places = product(*(knots.tolist() for knots in term.knots))
            for place, value in zip(places, term.values.ravel().tolist(), strict=True):
                x, y = f"{place[0]:.8g}", f"{place[1]:.8g}" if len(place) > 1 else ""
                row = [term.name, x, y, f"{value:.8g}"]
                writer.writerow([name, *row] if has_classes else row)
    return stream.getvalue()

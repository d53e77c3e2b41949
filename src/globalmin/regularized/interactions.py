"""A network of squares as the polynomial it is: constant, linear terms, squares and products of
columns, so that a person can read who interacts with whom.
"""

from __future__ import annotations

import csv
import io
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from globalmin._types import Array
from globalmin.data.preprocessing import Preprocessing
from globalmin.regularized.network import RegularizedNetwork

if TYPE_CHECKING:
    from collections.abc import Sequence

_SHOWN = 10  # rows of the table when printed


class Interaction(NamedTuple):
    """One term: the coefficient of the product of two columns, of a square (the same column twice)
    or of one column (`second` is None).
    """

    first: str
    second: str | None
    coefficient: float


@dataclass(frozen=True, eq=False)
class Interactions:
    """f(x) = constant + linear . x + x^T matrix x, in the columns after scaling and in the units of
    the outputs; print it for the largest terms.

    Attributes
    ----------
    names : tuple[str, ...]
        Of the columns.
    constant : float
        The output at the means of all columns, if they are standardized.
    linear : Array
        d coefficients.
    matrix : Array
        d x d, symmetric: the product of columns i and j has the coefficient 2 matrix[i, j], the
        square of column i has matrix[i, i].
    """

    names: tuple[str, ...]
    constant: float
    linear: Array
    matrix: Array

    def table(self, *, most: int | None = None) -> list[Interaction]:
        """All terms, the largest coefficient first; equal ones in the order of the columns."""
        d = len(self.names)
        rows = [Interaction(self.names[j], None, float(self.linear[j])) for j in range(d)]
        rows += [
            Interaction(self.names[i], self.names[j], float(self.matrix[i, j] * (1 + (i != j))))
            for i in range(d)
            for j in range(i, d)
        ]
        return sorted(rows, key=lambda row: -abs(row.coefficient))[:most]

    def as_csv(self) -> str:
        """All terms as csv text: the columns of a product, one for a single column, coefficient."""
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["first", "second", "coefficient"])
        for row in self.table():
            writer.writerow([row.first, row.second or "", repr(row.coefficient)])
        return stream.getvalue()

    def strengths(self) -> Array:
        """How much a column takes part: the norm of the coefficients of its square and products."""
        twice = self.matrix * (2.0 - np.eye(len(self.names)))
        return np.linalg.norm(twice, axis=1)

    def __str__(self) -> str:
        rows = self.table(most=_SHOWN)
        words = [
            row.first
            if row.second is None
            else f"{row.first}²"
            if row.second == row.first
            else f"{row.first} × {row.second}"
            for row in rows
        ]
        width = max(map(columns_of, words), default=0)
        pairs = zip(words, rows, strict=True)
        return "\n".join(
            f"{word}{' ' * (width - columns_of(word))}  {row.coefficient:+.4g}"
            for word, row in pairs
        )


def columns_of(text: str) -> int:
    """Columns of a terminal that a text takes: ideographs take two, marks upon letters none."""
    marks = sum(unicodedata.combining(letter) > 0 for letter in text)
    return len(text) - marks + sum(unicodedata.east_asian_width(c) in "WF" for c in text)


def shortened(name: str, most: int) -> str:
    """A name of at most so many columns, its middle left out if it is longer: beginnings and ends
    tell names apart.
    """
    if columns_of(name) <= most:
        return name
    head, tail = name, name
    while columns_of(head) > (most - 1) // 2 + (most - 1) % 2:
        head = head[:-1]
    while columns_of(tail) > (most - 1) // 2:
        tail = tail[1:]
    return f"{head}…{tail}"


def interactions_of(
    network: RegularizedNetwork, preprocessing: Preprocessing, names: Sequence[str]
) -> Interactions:
    """The polynomial of a network of squares; the labels' scaling is undone, that of the columns is
    not.
    """
    scale, shift = preprocessing.y_scale, preprocessing.y_shift
    headed = network.W * network.v[:, None]
    return Interactions(
        tuple(names),
        float(scale * (network.intercept + network.v @ np.square(network.bias)) + shift),
        2.0 * scale * (network.bias @ headed),
        scale * (headed.T @ network.W),
    )

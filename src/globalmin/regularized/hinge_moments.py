r"""Moments of hinges over rows without end: the Gram matrix of the functions 1, $x_j$,
$\mathrm{relu}(x_j - p)$ for chosen kinks p, and the label. With the squared loss, training an
additive network on these kinks needs nothing else of the rows. In floats: nothing is proved here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np

from globalmin._types import Array
from globalmin.data.row_scaling import RowScaling
from globalmin.data.shards import WholeBlocks

BLOCK = 2**12  # rows of one product


@dataclass(frozen=True, eq=False)
class HingePlan:
    """Names of the columns (the label last), their scaling, and the kinks of every column in scaled
    units.
    """

    columns: tuple[str, ...]
    scaling: RowScaling
    kinks: tuple[Array, ...] = field(repr=False)

    @property
    def order(self) -> int:
        """Functions, the label among them."""
        return 1 + len(self.kinks) + sum(map(len, self.kinks)) + 1

    def lifted(self, rows: Array) -> Array:
        """The functions at raw rows, one line each: 1, the columns, their hinges, the label."""
        scaled = self.scaling.bounded(rows, self.columns).T
        lifted = np.empty((self.order, len(rows)))
        lifted[0], lifted[-1] = 1.0, scaled[-1]
        start = 1 + len(self.kinks)
        lifted[1:start] = scaled[:-1]
        for x, kinks in zip(scaled, self.kinks, strict=False):
            part = lifted[start : start + len(kinks)]
            np.subtract(x, kinks[:, None], out=part)
            np.maximum(part, 0.0, out=part)
            start += len(kinks)
        return lifted


@dataclass(frozen=True, eq=False)
class HingeMoments:
    """The Gram matrix of some rows, and the least and largest raw number of every column."""

    gram: Array = field(repr=False)
    low: Array
    high: Array


def hinge_moments(blocks: Iterable[Array], plan: HingePlan) -> HingeMoments:
    """The moments of the rows, the same however they arrive."""
    width = len(plan.columns)
    gram, low, high = np.zeros((plan.order,) * 2), np.full(width, np.inf), np.full(width, -np.inf)
    whole = WholeBlocks(BLOCK, width)
    full = chain.from_iterable(map(whole.add, blocks))
    for rows in chain(full, whole.rest()):
        low, high = np.minimum(low, rows.min(axis=0)), np.maximum(high, rows.max(axis=0))
        S = plan.lifted(rows)
        gram += S @ S.T
    return HingeMoments(gram, low, high)


def together(parts: Sequence[HingeMoments]) -> HingeMoments:
    """The moments of all parts."""
    return HingeMoments(
        np.sum([part.gram for part in parts], axis=0),
        np.min([part.low for part in parts], axis=0),
        np.max([part.high for part in parts], axis=0),
    )

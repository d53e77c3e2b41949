"""Where the kinks of an additive network on rows without end may lie, and the edges of the bins of
its proof: many where the network has a kink, because there the dual constraint is tight.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from globalmin._types import Array
from globalmin.data.row_scaling import RowScaling
from globalmin.regularized.hinge_training import HingeFit

STEPS = np.array([-0.75, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75])  # of the way to the next kink
AWAY = 2.0 ** np.arange(-14.0, -1.0, 0.17)  # of edges to a kink, in scaled units
OFFSETS = np.concatenate([-AWAY[::-1], [0.0], AWAY])
FINEST = 2.0**20  # edges in scaled units are multiples of 1/FINEST
PARTS = 8  # of a bin that is too wide


def first_kinks(sample: Array, count: int) -> tuple[Array, ...]:
    """Quantiles of every column of scaled rows, the ends among them; all values if they are few."""
    found = []
    for x in sample.T[:-1]:
        values = np.unique(x)
        few = len(values) <= count
        found.append(values if few else np.unique(np.quantile(x, _levels(count))))
    return tuple(found)


def _levels(count: int) -> Array:
    return np.linspace(0.0, 1.0, count)


def finer_kinks(
    kinks: Sequence[Array], fit: HingeFit, peaks: Sequence[Array], ends: tuple[Array, Array]
) -> tuple[Array, ...]:
    """Around every kink of the network more, up to its neighbors; where the dual constraint is
    violated; and the ends of the columns.
    """
    low, high = ends
    finer = []
    for j, known in enumerate(kinks):
        used = np.unique(fit.kink[fit.column == j])
        place = np.searchsorted(known, used)
        before = used - known[np.maximum(place - 1, 0)]
        after = known[np.minimum(place + 1, len(known) - 1)] - used
        room = np.where(STEPS < 0, before[:, None], after[:, None])
        near = (used[:, None] + STEPS * room).ravel()
        wanted = np.concatenate([near, peaks[j], [low[j], high[j]]])
        finer.append(np.unique(np.clip(wanted, low[j], high[j])))
    return tuple(finer)


def split(bins: Array) -> Array:
    """Edges inside of bins, given by their left and right edges."""
    shares = np.arange(1, PARTS) / PARTS
    return (bins[0][:, None] + (bins[1] - bins[0])[:, None] * shares).ravel()


@dataclass(frozen=True)
class EdgeMaker:
    """Sample and scaling of the rows, and the number of bins that every column has at least."""

    sample: Array
    scaling: RowScaling
    bins: int

    def edges(
        self, fit: HingeFit, more: Sequence[Array], ends: tuple[Array, Array]
    ) -> tuple[Array, ...]:
        """For every column raw edges from its least to its largest number: quantiles of the sample
        and equal steps, closer and closer ones around the kinks, and those asked for (`more`,
        scaled); for few values one edge at each and one closely behind it.
        """
        found = []
        for j, (low, high) in enumerate(zip(*ends, strict=True)):
            values = np.unique(np.append(self.sample[:, j], [low, high]))
            if len(values) <= self.bins:
                behind = np.diff(values).min(initial=max(high - low, abs(high), 1.0)) / 2**20
                edges = np.concatenate([values, values + behind])
            else:
                used = np.unique(fit.kink[fit.column == j])
                near = np.concatenate([(used[:, None] + OFFSETS).ravel(), more[j]])
                near = np.round(near * FINEST) / FINEST
                raw = near / self.scaling.scale[j] + self.scaling.shift[j]
                levels = _levels(self.bins // 2 + 1)
                steps = low + (high - low) * levels
                inner = np.concatenate([np.quantile(values, levels), steps, raw])
                edges = np.concatenate([[low], inner[(inner > low) & (inner < high)], [high]])
            found.append(np.unique(edges))
        return tuple(found)

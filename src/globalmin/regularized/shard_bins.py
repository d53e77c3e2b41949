r"""Sums over the rows of a shard, bin by bin, with a proved bound of their rounding: all that the
proof about an additive network with the squared loss needs of the rows (theorem B of
`spec/claims/additive-stream-gap.md`). Sums of shards add.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from globalmin._types import Array, Indices
from globalmin.data.shards import UNIT, RowDigest, WholeBlocks, cut, gamma
from globalmin.errors import DataError
from globalmin.regularized.stream_network import AdditiveStreamNetwork

BLOCK = 2**13  # rows that are added before anything else: the fewer, the smaller the rounding


@dataclass(frozen=True, eq=False)
class BinPlan:
    """The network whose residuals are added, the edges of the bins of every column in the units of
    the raw rows, and how many rows a shard has at most.
    """

    network: AdditiveStreamNetwork
    edges: tuple[Array, ...] = field(repr=False)
    shard_rows: int

    @property
    def sizes(self) -> list[int]:
        """Bins of every column."""
        return [len(edges) - 1 for edges in self.edges]

    def scaled_edges(self) -> list[Array]:
        """The edges in the units of the network, in floats."""
        scaling = self.network.scaling
        return [(edges - scaling.shift[j]) * scaling.scale[j] for j, edges in enumerate(self.edges)]


@dataclass(frozen=True, eq=False)
class ShardBins:
    """Number of rows, digest, and the sums of a shard, column after column: N (integers), and S, T,
    Q as the rows of `sums`; A, B, R, Y over all rows; the radii rho, sigma, kappa, eta per row.
    """

    rows: int
    sha256: str
    counts: Indices = field(repr=False)
    sums: Array = field(repr=False)
    totals: Array
    radii: Array
    label_squares: float  # the sum of y^2, for R^2; no proof needs it


class _OpenBins:
    """A shard that rows are still added to."""

    def __init__(self, plan: BinPlan) -> None:
        width, bins = len(plan.network.columns), sum(plan.sizes)
        self.plan, self.rows, self.blocks = plan, 0, 0
        self.counts, self.sums = np.zeros(bins, np.int64), np.zeros((3, bins))
        self.totals, self.label_squares = np.zeros(4), 0.0
        self._z = plan.scaled_edges()
        self._weights = _sizes(plan.network)
        self._largest = np.zeros(3)  # of |r|, of |y|, and of what r is made of
        self._digest, self._whole = RowDigest(width), WholeBlocks(BLOCK, width)

    def add(self, rows: Array) -> None:
        """Rows in order."""
        self.rows += len(rows)
        self._digest.add(rows)
        self._add_blocks(self._whole.add(rows))

    def _add_blocks(self, blocks: Iterable[Array]) -> None:
        for rows in blocks:
            self.blocks += 1
            network = self.plan.network
            scaled = network.scaling.bounded(rows, network.columns)
            x, y = scaled[:, :-1], scaled[:, -1]
            r = network.network.predict(x) - y
            made_of = np.abs(x) @ self._weights[0] + self._weights[1] + np.abs(y)
            found = (np.abs(r).max(), np.abs(y).max(), made_of.max())
            self._largest = np.maximum(self._largest, found)
            self.totals += (r @ r, r @ y, r.sum(), y.sum())
            self.label_squares += float(y @ y)
            self._add_bins(rows, x, r)

    def _add_bins(self, rows: Array, x: Array, r: Array) -> None:
        start, squares = 0, r * r
        for j, edges in enumerate(self.plan.edges):
            size = len(edges) - 1
            place = _places(edges, rows[:, j], self.plan.network.columns[j])
            part = slice(start, start + size)
            self.counts[part] += np.bincount(place, minlength=size)
            moved = r * (x[:, j] - self._z[j][place])
            for k, values in enumerate((r, moved, squares)):
                self.sums[k, part] += np.bincount(place, values, size)
            start += size

    def closed(self) -> ShardBins:
        """The sums of all rows."""
        self._add_blocks(self._whole.rest())
        return ShardBins(
            self.rows,
            self._digest.closed(),
            self.counts,
            self.sums,
            self.totals,
            self._radii(),
            self.label_squares,
        )

    def _radii(self) -> Array:
        r"""Proved radii per row: the residual of a row has an error of at most $\epsilon$, and
        every sum that of its rows and blocks.
        """
        r, y, made_of = self._largest * (1.0 + 1e-9)
        x = max(float(np.abs(z).max()) for z in self._z)
        epsilon = gamma(self.plan.network.width + 16) * made_of
        added = gamma(BLOCK + self.blocks + 8)
        radii = (
            epsilon + added * r,
            2.0 * x * (epsilon + (added + 5.0 * UNIT) * r),
            epsilon * (2.0 * r + epsilon) + added * r * r,
            y * (epsilon + (added + 4.0 * UNIT) * (r + 1.0)),
        )
        return 1.05 * np.array(radii) + 2.0**-900


def _sizes(network: AdditiveStreamNetwork) -> tuple[Array, float]:
    """For every input the sum of |v w|, and that of |v bias| with the intercept: what the rounding
    of an output is measured by.
    """
    inner = network.network
    heads = np.abs(inner.v)
    return heads @ np.abs(inner.W), float(heads @ np.abs(inner.bias)) + abs(inner.intercept)


def _places(edges: Array, raw: Array, name: str) -> Indices:
    """The bins of raw numbers, exactly."""
    place = np.searchsorted(edges, raw, side="right") - 1
    place[raw == edges[-1]] = len(edges) - 2
    if place.min() < 0 or place.max() > len(edges) - 2:
        raise DataError(
            f"column {name!r} has a value outside of {edges[0]:.6g} to {edges[-1]:.6g}, the range "
            "of the rows that were fitted; fit anew with these rows"
        )
    return place


def bins_of(blocks: Iterable[Array], plan: BinPlan) -> list[ShardBins]:
    """The sums of the rows, cut into shards of at most `plan.shard_rows` rows."""
    return list(cut(blocks, plan.shard_rows, lambda: _OpenBins(plan)))


def added(shards: Sequence[ShardBins]) -> ShardBins:
    """The sums over all shards in floats; the radii times the rows."""
    return ShardBins(
        sum(shard.rows for shard in shards),
        "",
        np.sum([shard.counts for shard in shards], axis=0),
        np.sum([shard.sums for shard in shards], axis=0),
        np.sum([shard.totals for shard in shards], axis=0),
        np.sum([shard.rows * shard.radii for shard in shards], axis=0),
        sum(shard.label_squares for shard in shards),
    )

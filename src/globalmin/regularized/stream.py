r"""Additive ReLU networks with weight decay on rows without end: passes over the rows give moments
of hinges, from which the network is trained, with kinks that are refined; a last pass gives the
sums over bins that prove how near it is to the global minimum over every width.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import numpy as np

from globalmin._types import Array
from globalmin.data.chunks import Chunks, chunks_of, first_rows
from globalmin.data.row_scaling import SAMPLE, RowScaling, Spread
from globalmin.data.shards import over_parts
from globalmin.errors import DataError
from globalmin.proving.producer import prove
from globalmin.proving.proof import Proof
from globalmin.proving.sharded import ShardedProof, require_new, require_room
from globalmin.regularized.bin_heights import peaks, too_wide
from globalmin.regularized.claims.additive_stream import ShardsInBins, build
from globalmin.regularized.hinge_moments import HingeMoments, HingePlan, hinge_moments, together
from globalmin.regularized.hinge_training import HingeFit, fit_hinges
from globalmin.regularized.shard_bins import BinPlan, ShardBins, added, bins_of
from globalmin.regularized.stream_bins import EdgeMaker, finer_kinks, first_kinks, split
from globalmin.regularized.stream_network import AdditiveStreamNetwork


@dataclass(frozen=True, eq=False)
class AdditiveStreamedFit(ShardedProof):
    r"""An additive network fitted on shards of rows, with its proof; get one from
    `fit_additive_stream`.

    Attributes
    ----------
    network : AdditiveStreamNetwork
        The network; `predict` is its own.
    weight_decay : float
        b, of the objective $L + \frac b2\sum_l(w_l^2 + \beta_l^2 + v_l^2)$ in scaled units.
    shards : tuple
        Rows, digest and sums over bins of every shard, in order.
    proof : Proof
        What the checker says of the file; without the rows, see `check`.
    """

    network: AdditiveStreamNetwork
    weight_decay: float
    shards: tuple[ShardBins, ...] = field(repr=False)
    proof: Proof = field(repr=False)
    plan: BinPlan = field(repr=False)

    @property
    def r2(self) -> float:
        """Share of the variance of the labels that the network explains on all rows (in
        floats).
        """
        whole = added(self.shards)
        spread = whole.label_squares - whole.totals[3] ** 2 / whole.rows
        return 1.0 - float(whole.totals[0]) / spread

    @property
    def loss_without_neurons(self) -> float:
        """The objective of the best constant (in floats)."""
        whole = added(self.shards)
        return 0.5 * float(whole.label_squares - whole.totals[3] ** 2 / whole.rows)

    def curves(self) -> list[tuple[str, Array, Array]]:
        """For every column that is used its name, and its curve over the range of the rows
        (`AdditiveStreamNetwork.curve`), the one that rises or falls most first.
        """
        found = []
        for j, edges in enumerate(self.plan.edges):
            if self.network.network.W[:, j].any():
                x, y = self.network.curve(j, float(edges[0]), float(edges[-1]))
                found.append((self.network.columns[j], x, y))
        return sorted(found, key=lambda curve: -float(np.ptp(curve[2])))

    def predict(self, X: Any) -> Array:
        """Labels in their own units, of raw inputs."""
        return self.network.predict(X)

    def append(self, source: Any, *, client: Any = None) -> AdditiveStreamedFit:
        """The same network with these rows as well: only they are read, their sums are added, and
        the gap is proved anew. It grows if the new rows ask for another network.

        Parameters
        ----------
        source : Any
            As in `fit_additive_stream`, with the same columns, inside of the ranges that the
            columns had.
        client : Any
            As in `fit_additive_stream`.
        """
        columns = self.network.columns
        names = {"target": columns[-1], "features": columns[:-1]}
        chunks = chunks_of(source, **names, part_rows=self.plan.shard_rows)
        if chunks.columns != columns:
            raise DataError(
                f"source has the columns {chunks.columns[:6]}, the fit {columns[:6]}; give the same"
            )
        shards = _bins(chunks, self.plan, client)
        require_new(shards, self.shards)
        data = ShardsInBins(self.plan, (*self.shards, *shards))
        return _proved(data, self.weight_decay)


def fit_additive_stream(
    source: Any,
    *,
    target: str | None = None,
    features: Sequence[str] | None = None,
    weight_decay: float,
    kinks: int = 16,
    gap: float = 1e-5,
    rounds: int = 8,
    bins: int = 256,
    scaling: Spread | RowScaling = "standardize",
    shard_rows: int = 2**20,
    client: Any = None,
) -> AdditiveStreamedFit:
    r"""Fit an additive ReLU network with weight decay on rows that are read block by block and
    never held, and prove how near it is to the global minimum over every width.

    Parameters
    ----------
    source : Any
        A path or several (.parquet, .csv, .npy with the label in the last column), a folder of
        parquet files, a data frame, a pair (X, y) of arrays or memory maps, a Dask data frame, a
        pair of Dask arrays, or a Ray data set. The rows are read again and again, so an iterator
        will not do.
    target : str | None
        The column of the label, for tables with names.
    features : Sequence[str] | None
        The columns of the inputs; by default all others.
    weight_decay : float
        b > 0; the objective is (1/2) sum of squared residuals + (b/2) sum of squared weights (with
        hidden biases, without the intercept), in scaled units, over **all** rows.
    kinks : int
        Places in each column at which the first round allows a kink (quantiles).
    gap : float
        The relative gap at which training ends.
    rounds : int
        Rounds at most. Each reads the rows twice: for moments that the network is trained from, and
        for the sums that prove its gap and say where kinks are missing; the next one allows them
        there, and closer ones around those in use.
    bins : int
        Bins of each column in the proof, before those around the kinks; a column of at most so many
        values has one for each.
    scaling : str | RowScaling
        As in `fit_stream`.
    shard_rows : int
        Rows of a shard at most.
    client : Any
        A Dask client: files are read by its workers.

    Returns
    -------
    AdditiveStreamedFit
        With `predict`, `gap`, `certificate`, `append` and `check`.

    Theory
    ------
    Theorem B of `spec/claims/additive-stream-gap.md`.

    Examples
    --------
    >>> import numpy as np
    >>> import globalmin as gm
    >>> X = np.random.default_rng(0).standard_normal((3000, 2))
    >>> fit = gm.fit_additive_stream((X, np.abs(X[:, 0]) + X[:, 1]), weight_decay=30.0)
    >>> fit.verdict, fit.n_rows, fit.relative_gap < 1e-2
    ('ACCEPTED', 3000, True)
    """
    counts = {"kinks": kinks, "rounds": rounds, "bins": bins, "shard_rows": shard_rows}
    _check_numbers(weight_decay, gap, counts)
    chunks = _readable_again(
        chunks_of(source, target=target, features=features, part_rows=shard_rows)
    )
    sample, chunks = first_rows(chunks, min(SAMPLE, shard_rows))
    scales = RowScaling.asked(scaling, sample)
    plan = HingePlan(chunks.columns, scales, first_kinks(scales.apply(sample), kinks))
    course = _Course(chunks, EdgeMaker(sample, scales, bins), shard_rows, client)
    return _proved(course.run(plan, float(weight_decay), rounds, gap), float(weight_decay))


@dataclass(frozen=True)
class _Course:
    """The rows, and how they are read."""

    chunks: Chunks
    maker: EdgeMaker
    shard_rows: int
    client: Any

    def run(self, plan: HingePlan, weight_decay: float, rounds: int, gap: float) -> ShardsInBins:
        """Rounds of training and adding, until the gap is small; the sums of the last."""
        more = [np.empty(0)] * len(plan.kinks)
        left = rounds
        while True:
            left -= 1
            found = together(list(over_parts(self.chunks, _part_moments, plan, self.client)))
            fit = fit_hinges(found.gram, plan, weight_decay)
            data = self._added(fit, more, plan, found)
            if left <= 0 or _relative_gap(data, weight_decay) <= gap:
                return data
            level = weight_decay * (1.0 + 0.1 * gap)
            wide = too_wide(data.plan, data.shards, level)
            more = [np.append(old, split(bins)) for old, bins in zip(more, wide, strict=True)]
            above = peaks(data.plan, data.shards, level)
            low, high = (plan.scaling.apply(end)[:-1] for end in (found.low, found.high))
            plan = replace(plan, kinks=finer_kinks(plan.kinks, fit, above, (low, high)))

    def _added(
        self, fit: HingeFit, more: Sequence[Array], plan: HingePlan, found: HingeMoments
    ) -> ShardsInBins:
        """The sums over bins of the network of a fit."""
        edges = self.maker.edges(fit, more, (found.low[:-1], found.high[:-1]))
        network = AdditiveStreamNetwork(fit.network(len(edges)), plan.columns, plan.scaling)
        bin_plan = BinPlan(network, edges, self.shard_rows)
        return ShardsInBins(bin_plan, _bins(self.chunks, bin_plan, self.client))


def _relative_gap(data: ShardsInBins, weight_decay: float) -> float:
    return build(data.plan.network, data, weight_decay).summary["relative_gap"]


def _check_numbers(weight_decay: float, gap: float, counts: dict[str, int]) -> None:
    if not (math.isfinite(weight_decay) and weight_decay > 0):
        raise DataError(f"weight_decay={weight_decay!r} must be a positive number")
    if not 0 < gap < 1:
        raise DataError(f"gap={gap!r} must lie strictly between 0 and 1")
    least = {"kinks": 2, "rounds": 1, "bins": 2, "shard_rows": 1}
    for name, value in counts.items():
        if isinstance(value, bool) or not isinstance(value, int) or value < least[name]:
            raise DataError(f"{name}={value!r} must be an integer of at least {least[name]}")


def _readable_again(chunks: Chunks) -> Chunks:
    if not isinstance(chunks.parts, Sequence):
        raise DataError(
            "source is an iterator, which can be read once; an additive network needs its rows "
            "again: write them to files, or give arrays or a data frame"
        )
    return chunks


def _part_moments(part: Any, plan: HingePlan) -> HingeMoments:
    return hinge_moments(part.blocks(plan.columns), plan)


def _bins(chunks: Chunks, plan: BinPlan, client: Any) -> tuple[ShardBins, ...]:
    shards = tuple(chain.from_iterable(over_parts(chunks, _part_bins, plan, client)))
    require_room(shards, plan.shard_rows)
    return shards


def _part_bins(part: Any, plan: BinPlan) -> list[ShardBins]:
    return bins_of(part.blocks(plan.network.columns), plan)


def _proved(data: ShardsInBins, weight_decay: float) -> AdditiveStreamedFit:
    plan, shards = data.plan, data.shards
    require_room(shards, plan.shard_rows)
    proof = replace(prove(plan.network, data, weight_decay=weight_decay), data=None)
    return AdditiveStreamedFit(plan.network, weight_decay, shards, proof, plan)

r"""Quadratic networks with weight decay on rows without end: one pass over the rows gives the
moments of the shards; training, the proof, and every later shard need no row again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import numpy as np

from globalmin._options import SIGNS, Signs, one_of
from globalmin._types import Array
from globalmin.data.chunks import Chunks, chunks_of, first_rows
from globalmin.data.row_scaling import SAMPLE, RowScaling, Spread
from globalmin.data.shards import over_parts
from globalmin.errors import DataError
from globalmin.linalg.symmetric import svec, unsvec
from globalmin.proving.producer import prove
from globalmin.proving.proof import Proof
from globalmin.proving.sharded import ShardedProof, require_new, require_room
from globalmin.quadratic.held_out import Batch
from globalmin.quadratic.shard_moments import RowPlan, ShardMoments, shards_of, total_moments
from globalmin.quadratic.stream_network import StreamNetwork
from globalmin.references import states

MOST_INPUTS = 100  # with the constant: the moments grow with the fourth power
_ROUNDS = 5000  # of the solver, four steps each


@dataclass(frozen=True, eq=False)
class StreamedFit(ShardedProof):
    r"""A quadratic network fitted on shards of rows, with its proof; get one from `fit_stream`.

    Attributes
    ----------
    network : StreamNetwork
        The network; `predict` is its own.
    weight_decay : float
        w, of the objective $L + (w/2)\|W\|_F^2$ in scaled units.
    shards : tuple
        Rows, digest and moments of every shard, in order.
    proof : Proof
        What the checker says of the file; without the rows, see `check`.
    """

    network: StreamNetwork
    weight_decay: float
    shards: tuple[ShardMoments, ...] = field(repr=False)
    proof: Proof = field(repr=False)
    plan: RowPlan = field(repr=False)
    options: SolverOptions = field(repr=False)

    @property
    def r2(self) -> float:
        """Share of the variance of the labels that the network explains on all rows (in floats)."""
        moments, network = total_moments(self.shards), self.network
        left = moments.mean_error(svec((network.W * network.v[:, None]).T @ network.W))
        mean = float(moments.cross[-1]) / moments.n if self.plan.bias else 0.0  # last: constant
        return 1.0 - left / (moments.square / moments.n - mean**2)

    @property
    def loss_without_neurons(self) -> float:
        """The objective of the network that is zero (in floats)."""
        return 0.5 * total_moments(self.shards).square

    def predict(self, X: Any) -> Array:
        """Labels in their own units, of raw inputs."""
        return self.network.predict(X)

    def append(self, source: Any, *, client: Any = None) -> StreamedFit:
        """The fit on these rows as well: their moments are added, the network is trained and
        proved anew, and no row of the earlier shards is read.

        Parameters
        ----------
        source : Any
            As in `fit_stream`, with the same columns; the scaling stays.
        client : Any
            As in `fit_stream`.
        """
        names = {"target": self.plan.columns[-1], "features": self.plan.columns[:-1]}
        chunks = chunks_of(source, **names, part_rows=self.plan.shard_rows)
        if chunks.columns != self.plan.columns:
            raise DataError(
                f"source has the columns {chunks.columns[:6]}, the fit {self.plan.columns[:6]}; "
                "give the same"
            )
        return self.merge(_moments(chunks, self.plan, client))

    def merge(self, shards: Sequence[ShardMoments]) -> StreamedFit:
        """The fit on these shards as well, whose moments were taken elsewhere with the same `plan`
        (`stream_moments`).
        """
        require_new(shards, self.shards)
        whole = (*self.shards, *shards)
        return _fitted(whole, self.plan, self.weight_decay, self.options)


@dataclass(frozen=True)
class SolverOptions:
    """Signs of the heads, and the relative gap at which training ends."""

    signs: Signs
    tol: float


@states("SJL-T2.2k")
def fit_stream(
    source: Any,
    *,
    target: str | None = None,
    features: Sequence[str] | None = None,
    weight_decay: float,
    signs: Signs = "mixed",
    bias: bool = True,
    scaling: Spread | RowScaling = "standardize",
    shard_rows: int = 2**20,
    tol: float = 1e-10,
    client: Any = None,
) -> StreamedFit:
    r"""Fit a quadratic network with weight decay on rows that are read once and never held, and
    prove how near it is to the global minimum.

    Parameters
    ----------
    source : Any
        A path or several (.parquet, .csv, .npy with the label in the last column), a folder of
        parquet files, a data frame, a pair (X, y) of arrays or memory maps, an iterator of frames
        or of such pairs, a Dask data frame, a pair of Dask arrays, or a Ray data set.
    target : str | None
        The column of the label, for tables with names.
    features : Sequence[str] | None
        The columns of the inputs; by default all others.
    weight_decay : float
        w > 0; the objective is (1/2) sum of squared residuals + (w/2) sum of squared weights, in
        scaled units, over **all** rows: ten times as many rows make the same w ten times weaker.
    signs : str
        "mixed" or "positive", as in `QuadraticNetworkRegressor`.
    bias : bool
        Add a constant input.
    scaling : str | RowScaling
        "standardize": near means and standard deviations of the first 65,536 rows (of the first
        shard, if that is shorter), rounded to short binary numbers; "none"; or the scaling of
        another fit.
    shard_rows : int
        Rows of a shard at most. A shard is what can be checked, sent and added by itself.
    tol : float
        Relative gap at which training ends.
    client : Any
        A Dask client: files are read by its workers, each part where it is sent to. A worker that
        dies is replaced by another, with the same result.

    Returns
    -------
    StreamedFit
        With `predict`, `gap`, `certificate`, `append` and `check`.

    Theory
    ------
    Theorem H of `spec/claims/stream-gap.md`; the moments of the lifted rows and their proved
    rounding are in `quadratic/shard_moments.py`.

    Examples
    --------
    >>> import numpy as np
    >>> import globalmin as gm
    >>> rng = np.random.default_rng(0)
    >>> pieces = ((X, X[:, 0] * X[:, 1]) for X in (rng.standard_normal((500, 3)) for _ in range(4)))
    >>> fit = gm.fit_stream(pieces, weight_decay=1.0)
    >>> fit.verdict, fit.n_rows, len(fit.shards), fit.relative_gap < 1e-8
    ('ACCEPTED', 2000, 4, True)
    """
    one_of("signs", signs, SIGNS)
    _check_numbers(weight_decay, shard_rows, tol)
    chunks = chunks_of(source, target=target, features=features, part_rows=shard_rows)
    if len(chunks.columns) - 1 + bias > MOST_INPUTS:
        raise DataError(
            f"{len(chunks.columns) - 1} inputs: moments of more than {MOST_INPUTS} (with the "
            "constant) are not kept; choose fewer with features"
        )
    sample, chunks = first_rows(chunks, min(SAMPLE, shard_rows))
    plan = RowPlan(chunks.columns, RowScaling.asked(scaling, sample), bias, shard_rows)
    shards = _moments(chunks, plan, client)
    return _fitted(shards, plan, float(weight_decay), SolverOptions(signs, tol))


def _check_numbers(weight_decay: float, shard_rows: int, tol: float) -> None:
    if not (math.isfinite(weight_decay) and weight_decay > 0):
        raise DataError(f"weight_decay={weight_decay!r} must be a positive number")
    if isinstance(shard_rows, bool) or not isinstance(shard_rows, int) or shard_rows < 1:
        raise DataError(f"shard_rows={shard_rows!r} must be an integer of at least 1")
    if not 0 < tol < 1:
        raise DataError(f"tol={tol!r} must lie strictly between 0 and 1")


def stream_moments(source: Any, plan: RowPlan, *, client: Any = None) -> tuple[ShardMoments, ...]:
    """The moments of some rows with the plan of a fit, to be added to it by `StreamedFit.merge`:
    what a place that keeps its rows sends instead of them.

    Parameters
    ----------
    source : Any
        As in `fit_stream`.
    plan : RowPlan
        `StreamedFit.plan`: columns, scaling and size of the shards.
    client : Any
        As in `fit_stream`.
    """
    names = {"target": plan.columns[-1], "features": plan.columns[:-1]}
    return _moments(chunks_of(source, **names, part_rows=plan.shard_rows), plan, client)


def _moments(chunks: Chunks, plan: RowPlan, client: Any) -> tuple[ShardMoments, ...]:
    """The moments of all parts in their order."""
    shards = tuple(chain.from_iterable(over_parts(chunks, _part_moments, plan, client)))
    require_room(shards, plan.shard_rows)
    return shards


def _part_moments(part: Any, plan: RowPlan) -> list[ShardMoments]:
    return shards_of(part.blocks(plan.columns), plan)


def _fitted(
    shards: tuple[ShardMoments, ...], plan: RowPlan, weight_decay: float, options: SolverOptions
) -> StreamedFit:
    require_room(shards, plan.shard_rows)
    W, v = _minimum(shards, weight_decay, options)
    network = StreamNetwork(W, v, plan.columns, plan.scaling, plan.bias)
    proof = replace(prove(network, shards, weight_decay=weight_decay), data=None)
    return StreamedFit(network, weight_decay, shards, proof, plan, options)


def _minimum(
    shards: Sequence[ShardMoments], weight_decay: float, options: SolverOptions
) -> tuple[Array, Array]:
    """Weights and heads +1 and -1 of the minimum, in floats."""
    moments = total_moments(shards)
    batch = Batch.of([moments], two_sided=options.signs == "mixed")
    batch.solve(np.zeros(1, dtype=np.intp), np.array([0.5 * weight_decay]), options.tol, _ROUNDS)
    values, vectors = np.linalg.eigh(unsvec(batch.m[0]))
    kept = np.abs(values) > 1e-14 * max(float(np.abs(values).max()), np.finfo(np.float64).tiny)
    if not kept.any():
        kept[-1] = True
    heads = np.where(values < 0.0, -1.0, 1.0)
    weights = np.sqrt(np.abs(values))[:, None] * vectors.T
    if options.signs == "mixed" and len(set(heads[kept])) == 1:
        return _both_signs(weights[kept], heads[kept])
    return np.ascontiguousarray(weights[kept]), heads[kept]


def _both_signs(W: Array, v: Array) -> tuple[Array, Array]:
    """A neuron of zeros with the other sign, so that the class of the certificate has both."""
    return np.concatenate([W, np.zeros((1, W.shape[1]))]), np.append(v, -v[0])

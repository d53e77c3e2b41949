r"""Moments of the rows of a shard, with a proved bound of their rounding: all that training and
proving a quadratic network with the squared loss needs of the rows.

A row is lifted to the products $x_ax_b$ (a <= b) and the label y; $\hat G$ is the Gram matrix of
the lifted rows. For a network with matrix M, $a = (M_{aa}, 2M_{ab}, -1)$ has $\hat Ga = (\sum_i
r_ix_{ia}x_{ib}, \sum_i r_iy_i)$ and $a^T\hat Ga = \sum_i r_i^2$: the sums of the claim stream-gap.
Moments of shards add.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from globalmin._types import Array
from globalmin.data.row_scaling import RowScaling
from globalmin.data.shards import RowDigest, WholeBlocks, cut, gamma
from globalmin.linalg.symmetric import order_of
from globalmin.quadratic.held_out import Moments

BLOCK = 2048  # rows of one product: the fewer, the smaller the proved rounding


@dataclass(frozen=True, eq=False)
class RowPlan:
    """What is done with rows: the names of the columns (the label last), their scaling, whether a
    constant input is added, and how many rows a shard has at most.
    """

    columns: tuple[str, ...]
    scaling: RowScaling
    bias: bool
    shard_rows: int

    @property
    def order(self) -> int:
        """Inputs of the network."""
        return len(self.columns) - 1 + self.bias

    def lifted(self, rows: Array) -> Array:
        r"""Products $x_ax_b$ in lexicographic order and labels, one line per product."""
        X = self.scaling.bounded(rows, self.columns).T
        y, d = X[-1], self.order
        X = np.concatenate([X[:-1], np.ones((1, len(rows)))]) if self.bias else X[:-1]
        lifted = np.empty((d * (d + 1) // 2 + 1, len(rows)))
        start = 0
        for a in range(d):
            np.multiply(X[a:], X[a], out=lifted[start : start + d - a])
            start += d - a
        lifted[-1] = y
        return lifted


@dataclass(frozen=True, eq=False)
class ShardMoments:
    r"""Number of rows, digest, number of blocks, and $\hat G$ of a shard in floats.

    The entry (j, k) is within `relative_error` times $\sqrt{\hat G_{jj}\hat G_{kk}}$ of the exact
    one, plus what `radius` adds for underflow.
    """

    rows: int
    sha256: str
    blocks: int
    gram: Array = field(repr=False)

    @property
    def relative_error(self) -> float:
        r"""$\gamma_k = ku/(1-ku)$ for the sums of at most `BLOCK` rows, of the blocks, and for
        lifted numbers, each of which has five roundings.
        """
        return gamma(min(self.rows, BLOCK) + self.blocks + 12)

    @cached_property
    def radius(self) -> Array:
        r"""$\rho$ with $|\hat G_{jk} - \text{exact}| \le \rho_j\rho_k$: the lifted numbers have
        relative errors, so the bound follows from the inequality of Cauchy and Schwarz.
        """
        known = np.maximum(np.diag(self.gram), 0.0)
        return np.sqrt(1.0001 * self.relative_error * known + self.rows * 2.0**-900)


class _OpenMoments:
    """A shard that rows are still added to."""

    def __init__(self, plan: RowPlan) -> None:
        size = plan.order * (plan.order + 1) // 2 + 1
        self.plan, self.rows, self.blocks = plan, 0, 0
        self.gram = np.zeros((size, size))
        self._digest = RowDigest(len(plan.columns))
        self._whole = WholeBlocks(BLOCK, len(plan.columns))

    def add(self, rows: Array) -> None:
        """Rows in order."""
        self.rows += len(rows)
        self._digest.add(rows)
        self._add_blocks(self._whole.add(rows))

    def _add_blocks(self, blocks: Iterable[Array]) -> None:
        for rows in blocks:
            S = self.plan.lifted(rows)
            self.gram += S @ S.T
            self.blocks += 1

    def closed(self) -> ShardMoments:
        """The moments of all rows."""
        self._add_blocks(self._whole.rest())
        return ShardMoments(self.rows, self._digest.closed(), self.blocks, self.gram)


def shards_of(blocks: Iterable[Array], plan: RowPlan) -> list[ShardMoments]:
    """The moments of the rows, cut into shards of at most `plan.shard_rows` rows."""
    return list(cut(blocks, plan.shard_rows, lambda: _OpenMoments(plan)))


def total_moments(shards: Sequence[ShardMoments]) -> Moments:
    """The moments of all shards, for training: in floats, on symmetric matrices as vectors."""
    gram = np.sum([shard.gram for shard in shards], axis=0)
    order = order_of(len(gram) - 1)
    first, second = np.triu_indices(order)
    root = np.where(first == second, 1.0, math.sqrt(2.0))
    return Moments(
        gram[:-1, :-1] * root * root[:, None],
        gram[:-1, -1] * root,
        float(gram[-1, -1]),
        sum(shard.rows for shard in shards),
    )

r"""Moments of the rows of a shard, with a proved bound of their rounding: all that training and
proving a quadratic network with the squared loss needs of the rows.

A row is lifted to the products $x_ax_b$ (a <= b) and the label y; $\hat G$ is the Gram matrix of
the lifted rows. For a network with matrix M, $a = (M_{aa}, 2M_{ab}, -1)$ has $\hat Ga = (\sum_i
r_ix_{ia}x_{ib}, \sum_i r_iy_i)$ and $a^T\hat Ga = \sum_i r_i^2$: the sums of the claim stream-gap.
Moments of shards add.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from globalmin._types import Array
from globalmin.errors import DataError
from globalmin.linalg.symmetric import order_of
from globalmin.quadratic.held_out import Moments

BLOCK = 2048  # rows of one product: the fewer, the smaller the proved rounding
LARGEST = 2.0**50  # of a scaled number, so that nothing overflows and underflow is negligible
UNIT = 2.0**-53
SAMPLE = 2**16  # first rows that the scaling is taken from


@dataclass(frozen=True, eq=False)
class RowScaling:
    """x = (a - shift) scale for the inputs and, last, the label: short binary numbers, so that the
    differences and products stay short in exact arithmetic.
    """

    shift: Array
    scale: Array

    @classmethod
    def of(cls, rows: Array) -> RowScaling:
        """Near the means and standard deviations of these rows (a column that does not vary keeps
        its unit).
        """
        deviation = rows.std(axis=0)
        size = np.abs(rows).max(axis=0)
        deviation[deviation <= 1e-12 * size] = 0.0
        steps = np.exp2(np.floor(np.log2(np.where(deviation > 0, deviation, 1.0)))) / 16.0
        shift = np.round(rows.mean(axis=0) / steps) * steps
        mantissa, exponent = np.frexp(1.0 / np.where(deviation > 0, deviation, 1.0))
        return cls(shift, np.ldexp(np.round(mantissa * 256.0), exponent - 8))

    @classmethod
    def none(cls, width: int) -> RowScaling:
        """The numbers as they are."""
        return cls(np.zeros(width), np.ones(width))

    def apply(self, rows: Array) -> Array:
        """Scaled rows."""
        return (rows - self.shift) * self.scale


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
        X = self.scaling.apply(rows).T
        if not np.abs(X).max() <= LARGEST:
            j = int(np.argmax(np.abs(X).max(axis=1)))
            raise DataError(
                f"column {self.columns[j]!r} has a value more than 2^50 times its unit; remove the "
                "row, or give a larger scale"
            )
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


def gamma(k: int) -> float:
    """K roundings in a row, as a relative error."""
    return 1.0001 * k * UNIT


class _OpenShard:
    """A shard that rows are still added to."""

    def __init__(self, plan: RowPlan) -> None:
        size = plan.order * (plan.order + 1) // 2 + 1
        self.plan, self.rows, self.blocks = plan, 0, 0
        self.gram = np.zeros((size, size))
        self.digest = hashlib.sha256()
        self.rest = np.empty((0, len(plan.columns)))

    def add(self, rows: Array) -> None:
        """Rows in order; whole blocks are worked off, so that the moments do not depend on how
        the rows arrive.
        """
        self.rows += len(rows)
        self.digest.update(np.ascontiguousarray(rows, dtype="<f8").tobytes())
        rows = np.concatenate([self.rest, rows])
        whole = len(rows) - len(rows) % BLOCK
        for start in range(0, whole, BLOCK):
            self._add_block(rows[start : start + BLOCK])
        self.rest = rows[whole:]

    def _add_block(self, rows: Array) -> None:
        S = self.plan.lifted(rows)
        self.gram += S @ S.T
        self.blocks += 1

    def closed(self) -> ShardMoments:
        """The moments of all rows."""
        if len(self.rest):
            self._add_block(self.rest)
        line = f"globalmin-rows/1 {self.rows} {len(self.plan.columns)}\n"
        self.digest.update(line.encode("ascii"))
        return ShardMoments(self.rows, self.digest.hexdigest(), self.blocks, self.gram)


def shards_of(blocks: Iterable[Array], plan: RowPlan) -> list[ShardMoments]:
    """The moments of the rows, cut into shards of at most `plan.shard_rows` rows."""
    return list(_shards(blocks, plan))


def _shards(blocks: Iterable[Array], plan: RowPlan) -> Iterator[ShardMoments]:
    shard = _OpenShard(plan)
    for rows in blocks:
        left = rows
        while len(left):
            room = plan.shard_rows - shard.rows
            shard.add(left[:room])
            left = left[room:]
            if shard.rows == plan.shard_rows:
                yield shard.closed()
                shard = _OpenShard(plan)
    if shard.rows:
        yield shard.closed()


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

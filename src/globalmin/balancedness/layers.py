"""Layers of homogeneous networks: how a flat vector of parameters acts on units, and which units
its sharing ties together.

Two units belong to the same *block* on one side of a layer if a parameter serves both (DU section
4.1: W[i, j] = v[g(i, j)]): every unit is its own block for a dense or sparse layer, a block is a
channel for a convolution. Multiplying all parameters that enter a block by c > 0 multiplies the
block's pre-activations by c and touches no other unit: this is the symmetry behind the conserved
quantities, block by block.

Every layer answers the same questions; `v` is its flat vector of parameters, weights first, then
biases. `n_in`, `n_out`: units below and above. `n_weights`, `n_biases`: parameters. `fan_in`:
weights that enter one unit, on average. `output_blocks`, `input_blocks`: the block of every unit
above, below. `rows`, `columns`: the block above that every parameter enters, the block below that
it leaves (-1 for a bias). `is_free`: the weights form one unconstrained array over blocks, so that
a linear neighbour conserves a whole matrix (T4.2). `apply(v, x)`: z = W x + b for every row of x.
`gradient(x, q)` and `pull_back(v, q)`: derivatives of <q, z> by v and by x.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from globalmin._types import Array, ArrayLike, NDArray
from globalmin.data.pixels import Geometry, whole_number
from globalmin.errors import DataError
from globalmin.references import states

if TYPE_CHECKING:
    Labels = NDArray[np.intp]


@dataclass(frozen=True)
class Dense:
    """z = W x + b, every unit connected to every unit; the weights are W row by row."""

    n_in: int
    n_out: int
    bias: bool = False
    is_free: bool = field(default=True, init=False, repr=False)

    def __post_init__(self) -> None:
        whole_number(self.n_in, "n_in")
        whole_number(self.n_out, "n_out")

    @property
    def n_weights(self) -> int:
        """Entries of W."""
        return self.n_in * self.n_out

    @property
    def n_biases(self) -> int:
        """One for each unit, or none."""
        return self.n_out if self.bias else 0

    @property
    def fan_in(self) -> float:
        """Inputs."""
        return float(self.n_in)

    @property
    def output_blocks(self) -> Labels:
        """Every unit alone."""
        return np.arange(self.n_out)

    @property
    def input_blocks(self) -> Labels:
        """Every unit alone."""
        return np.arange(self.n_in)

    @property
    def rows(self) -> Labels:
        """The row i of W[i, j] and b[i]."""
        return np.concatenate(
            [np.repeat(np.arange(self.n_out), self.n_in), np.arange(self.n_biases)]
        )

    @property
    def columns(self) -> Labels:
        """The column j of W[i, j]."""
        return np.concatenate(
            [np.tile(np.arange(self.n_in), self.n_out), np.full(self.n_biases, -1)]
        )

    def apply(self, v: Array, x: Array, *, with_bias: bool = True) -> Array:
        """W x + b."""
        z = x @ self._matrix(v).T
        return z + v[self.n_weights :] if self.bias and with_bias else z

    def gradient(self, x: Array, q: Array) -> Array:
        """The entries of q^T x, and the sums of q."""
        return np.concatenate([(q.T @ x).ravel(), *([q.sum(axis=0)] if self.bias else [])])

    def pull_back(self, v: Array, q: Array) -> Array:
        """The product q W."""
        return q @ self._matrix(v)

    def _matrix(self, v: Array) -> Array:
        return v[: self.n_weights].reshape(self.n_out, self.n_in)


@states("DU-M4")
@dataclass(frozen=True, eq=False)
class Shared:
    """z = W x + b with W[i, j] = v[g(i, j)], or 0 where g(i, j) = 0: any pattern of sparsity and
    weight sharing.

    Attributes
    ----------
    groups : the table g, n_out x n_in, of integers 0..q; every number 1..q must occur.
    bias : one bias for each output unit.
    """

    groups: NDArray[np.intp]
    bias: bool = False
    is_free: bool = field(default=False, init=False, repr=False)

    def __post_init__(self) -> None:
        table = np.array(self.groups)
        if table.ndim != 2 or 0 in table.shape or not np.issubdtype(table.dtype, np.integer):
            raise DataError(
                f"groups has shape {table.shape} and type {table.dtype}; give an n_out x n_in "
                "table of integers"
            )
        if (
            not np.array_equal(np.union1d(table, [0]), np.arange(table.max() + 1))
            or table.max() == 0
        ):
            raise DataError(
                "groups must use every number from 1 to its largest, and 0 for no connection"
            )
        table = table.astype(np.intp)
        table.setflags(write=False)
        object.__setattr__(self, "groups", table)

    @property
    def n_in(self) -> int:
        """Columns of W."""
        return self.groups.shape[1]

    @property
    def n_out(self) -> int:
        """Rows of W."""
        return self.groups.shape[0]

    @cached_property
    def n_weights(self) -> int:
        """Number q of free weights."""
        return int(self.groups.max())

    @property
    def n_biases(self) -> int:
        """One for each unit, or none."""
        return self.n_out if self.bias else 0

    @property
    def fan_in(self) -> float:
        """Entries of W that are not fixed to zero, per row."""
        return max(1.0, np.count_nonzero(self.groups) / self.n_out)

    @cached_property
    def output_blocks(self) -> Labels:
        """Rows of W that share a weight, directly or through others, are one block."""
        return _tied_units(self.groups)

    @cached_property
    def input_blocks(self) -> Labels:
        """Columns of W that share a weight, directly or through others, are one block."""
        return _tied_units(self.groups.T)

    @property
    def rows(self) -> Labels:
        """Block above that every weight and bias enters."""
        return np.concatenate(
            [_block_of_weight(self.groups, self.output_blocks), self.output_blocks[: self.n_biases]]
        )

    @property
    def columns(self) -> Labels:
        """Block below that every weight leaves."""
        return np.concatenate(
            [_block_of_weight(self.groups.T, self.input_blocks), np.full(self.n_biases, -1)]
        )

    def apply(self, v: Array, x: Array, *, with_bias: bool = True) -> Array:
        """W x + b."""
        z = x @ self._matrix(v).T
        return z + v[self.n_weights :] if self.bias and with_bias else z

    def gradient(self, x: Array, q: Array) -> Array:
        """Sums of q^T x over the entries of each group, and the sums of q."""
        sums = np.bincount(
            self.groups.ravel(), weights=(q.T @ x).ravel(), minlength=self.n_weights + 1
        )[1:]
        return np.concatenate([sums.astype(np.float64), *([q.sum(axis=0)] if self.bias else [])])

    def pull_back(self, v: Array, q: Array) -> Array:
        """The product q W."""
        return q @ self._matrix(v)

    def _matrix(self, v: Array) -> Array:
        return np.concatenate([[0.0], v[: self.n_weights]])[self.groups]


def sparse(mask: ArrayLike, *, bias: bool = False) -> Shared:
    """A layer with a weight of its own wherever the mask is true, and no connection elsewhere;
    weights in row order.
    """
    table = np.asarray(mask, dtype=bool)
    return Shared(np.where(table, np.cumsum(table).reshape(table.shape), 0), bias=bias)


@dataclass(frozen=True)
class Convolution:
    """A convolution with stride 1 and zero padding on a signal or an image; units are numbered
    channel by channel.

    Attributes
    ----------
    shape : of one input: (channels, pixels) or (channels, height, width).
    out_channels : channels above; the pixels are as many as below.
    patch_size : odd side of the window.
    bias : one bias for each channel.
    """

    shape: tuple[int, ...]
    out_channels: int
    patch_size: int = 3
    bias: bool = False
    is_free: bool = field(default=True, init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", tuple(self.shape))
        whole_number(self.out_channels, "out_channels")
        if len(self.shape) not in (2, 3):
            raise DataError(
                f"shape={self.shape}: a convolution needs (channels, pixels) or (channels, height, "
                "width)"
            )
        _ = self.geometry

    @cached_property
    def geometry(self) -> Geometry:
        """Pixels and windows below."""
        return Geometry(self.shape, self.patch_size)

    @property
    def out_shape(self) -> tuple[int, ...]:
        """Shape of one output, for the next convolution."""
        return (self.out_channels, *self.shape[1:])

    @property
    def n_in(self) -> int:
        """Channels times pixels below."""
        return self.geometry.channels * self.geometry.pixels

    @property
    def n_out(self) -> int:
        """Channels times pixels above."""
        return self.out_channels * self.geometry.pixels

    @property
    def n_weights(self) -> int:
        """Channels above x pixels of the window x channels below, in this order."""
        return self.out_channels * self.geometry.window * self.geometry.channels

    @property
    def n_biases(self) -> int:
        """One for each channel, or none."""
        return self.out_channels if self.bias else 0

    @property
    def fan_in(self) -> float:
        """Weights of one channel's window."""
        return float(self.geometry.window * self.geometry.channels)

    @property
    def output_blocks(self) -> Labels:
        """The channel of every unit above."""
        return np.repeat(np.arange(self.out_channels), self.geometry.pixels)

    @property
    def input_blocks(self) -> Labels:
        """The channel of every unit below."""
        return np.repeat(np.arange(self.geometry.channels), self.geometry.pixels)

    @property
    def rows(self) -> Labels:
        """The channel above of every weight and bias."""
        channels = np.arange(self.out_channels)
        return np.concatenate(
            [np.repeat(channels, self.n_weights // self.out_channels), channels[: self.n_biases]]
        )

    @property
    def columns(self) -> Labels:
        """The channel below of every weight."""
        channels = np.tile(
            np.arange(self.geometry.channels), self.out_channels * self.geometry.window
        )
        return np.concatenate([channels, np.full(self.n_biases, -1)])

    def apply(self, v: Array, x: Array, *, with_bias: bool = True) -> Array:
        """Every window of every channel, plus the channel's bias."""
        z = self._patches(x) @ self._kernel(v).T
        z = z + v[self.n_weights :] if self.bias and with_bias else z
        return z.transpose(0, 2, 1).reshape(len(x), self.n_out)

    def gradient(self, x: Array, q: Array) -> Array:
        """Sums over inputs and pixels."""
        flat = self._by_pixel(q).reshape(-1, self.out_channels)
        weights = flat.T @ self._patches(x).reshape(len(flat), -1)
        return np.concatenate([weights.ravel(), *([flat.sum(axis=0)] if self.bias else [])])

    def pull_back(self, v: Array, q: Array) -> Array:
        """The transposed convolution."""
        return (
            self.geometry.fold(self._by_pixel(q) @ self._kernel(v))
            .transpose(0, 2, 1)
            .reshape(len(q), self.n_in)
        )

    def _by_pixel(self, q: Array) -> Array:
        return q.reshape(len(q), self.out_channels, -1).transpose(0, 2, 1)

    def _kernel(self, v: Array) -> Array:
        return v[: self.n_weights].reshape(self.out_channels, -1)

    def _patches(self, x: Array) -> Array:
        return self.geometry.patches(
            x.reshape(len(x), self.geometry.channels, -1).transpose(0, 2, 1)
        )


Layer = Dense | Shared | Convolution


def _tied_units(table: Labels) -> Labels:
    """Blocks of the rows of g: rows are joined when a group occurs in both."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n = len(table)
    i, j = np.nonzero(table)
    size = n + int(table.max())
    graph = coo_array((np.ones(len(i)), (i, n + table[i, j] - 1)), shape=(size, size))
    labels = connected_components(graph, directed=False)[1][:n]
    return np.unique(labels, return_inverse=True)[1].astype(np.intp)


def _block_of_weight(table: Labels, blocks: Labels) -> Labels:
    i, j = np.nonzero(table)
    owner = np.empty(int(table.max()), dtype=np.intp)
    owner[table[i, j] - 1] = blocks[i]
    return owner

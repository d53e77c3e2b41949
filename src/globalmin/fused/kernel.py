"""Gradient descent of one small network as one compiled loop: no allocation, no call and no
conversion inside.

A step has three parts: Z = W X in register blocks; sample by sample the output, the residual and
the slopes times residual; W <- W - eta S X^T in register blocks. All arrays are flat, their rows
padded with zeros to whole registers (`packed`), and together they fit the first-level cache for the
sizes of a phase diagram. Compiled once per precision and kept on disk; shapes are arguments.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from globalmin._types import Array
from globalmin.fused.activations import RELU, SOFTPLUS, TOGETHER, quadratic, relu, softplus_block
from globalmin.fused.lanes import (
    BYTES,
    COLUMNS,
    ROWS,
    load,
    multiply_add,
    multiply_block,
    spread,
    store,
    total,
)


class Shape(NamedTuple):
    """Sizes: samples n, neurons k, features d, numbers in a register, and in a padded row of
    samples and of features.
    """

    n: int
    k: int
    d: int
    lanes: int
    stride: int
    w_stride: int


class Arrays(NamedTuple):
    """Flat arrays: rows of features and of samples, labels, mask of real samples, weights (trained
    in place), room to work in.
    """

    features: Any
    samples: Any
    y: Any
    live: Any
    W: Any
    v: Any
    Z: Any
    P: Any
    G: Any
    head: Any


class Rules(NamedTuple):
    """Activation code, steepness, whether v is trained, step size, target of ||r||^2, step limit,
    recording stride (0: none).
    """

    code: int
    b: Any
    trains_head: bool
    eta: Any
    target: Any
    max_iter: int
    record_every: int


@njit(error_model="numpy")
def _multiply(left, right, target, sizes, lanes):  # noqa: ANN001, ANN202
    """C = A B, each matrix given as (flat array, numbers in a row); sizes: rows of A, depth,
    registers in a row of B.
    """
    (A, a_stride), (B, b_stride), (C, c_stride), (rows, depth, registers) = (
        left,
        right,
        target,
        sizes,
    )
    for i in range(0, rows, ROWS):
        for j in range(0, registers, COLUMNS):
            multiply_block(
                (A, i * a_stride, a_stride),
                (B, j * lanes, b_stride),
                (C, i * c_stride + j * lanes, c_stride),
                depth,
                min(ROWS, rows - i),
                min(COLUMNS, registers - j),
            )


@njit(error_model="numpy")
def _residual_after_softplus(a, s, rules):  # noqa: ANN001, ANN202
    """Z becomes S = diag(v) phi'(Z) diag(r), P becomes phi(Z); returns ||r||^2."""
    for place in range(0, s.k * s.stride, TOGETHER * s.lanes):
        softplus_block(a.Z, a.P, place, rules.b)
    squares = spread(a.y, 0.0)
    for at in range(0, s.stride, s.lanes):
        even, odd = spread(a.y, 0.0), spread(a.y, 0.0)
        for j in range(0, s.k - 1, 2):
            even = multiply_add(spread(a.y, a.v[j]), load(a.P, j * s.stride + at), even)
            odd = multiply_add(spread(a.y, a.v[j + 1]), load(a.P, (j + 1) * s.stride + at), odd)
        if s.k % 2:
            even = multiply_add(
                spread(a.y, a.v[s.k - 1]), load(a.P, (s.k - 1) * s.stride + at), even
            )
        r = (even + odd - load(a.y, at)) * load(a.live, at)
        squares = multiply_add(r, r, squares)
        for j in range(s.k):
            place = j * s.stride + at
            store(a.Z, place, load(a.Z, place) * (spread(a.y, a.v[j]) * r))
        if rules.trains_head:
            for j in range(s.k):
                store(
                    a.head,
                    j * s.lanes,
                    multiply_add(load(a.P, j * s.stride + at), r, load(a.head, j * s.lanes)),
                )
    return total(squares)


@njit(inline="always", error_model="numpy")
def _cheap(z, code):  # noqa: ANN001, ANN202
    """The pair (phi, phi') of an activation that costs less than a memory access."""
    if code == RELU:
        phi, slope = relu(z)
    else:
        phi, slope = quadratic(z)
    return phi, slope


@njit(error_model="numpy")
def _residual_and_activation(a, s, rules):  # noqa: ANN001, ANN202
    """The same for activations that are computed twice instead of being stored."""
    squares = spread(a.y, 0.0)
    for at in range(0, s.stride, s.lanes):
        even, odd = spread(a.y, 0.0), spread(a.y, 0.0)
        for j in range(0, s.k - 1, 2):
            even = multiply_add(
                spread(a.y, a.v[j]), _cheap(load(a.Z, j * s.stride + at), rules.code)[0], even
            )
            odd = multiply_add(
                spread(a.y, a.v[j + 1]),
                _cheap(load(a.Z, (j + 1) * s.stride + at), rules.code)[0],
                odd,
            )
        if s.k % 2:
            even = multiply_add(
                spread(a.y, a.v[s.k - 1]),
                _cheap(load(a.Z, (s.k - 1) * s.stride + at), rules.code)[0],
                even,
            )
        r = (even + odd - load(a.y, at)) * load(a.live, at)
        squares = multiply_add(r, r, squares)
        for j in range(s.k):
            place = j * s.stride + at
            phi, slope = _cheap(load(a.Z, place), rules.code)
            store(a.Z, place, slope * (spread(a.y, a.v[j]) * r))
            if rules.trains_head:
                store(a.head, j * s.lanes, multiply_add(phi, r, load(a.head, j * s.lanes)))
    return total(squares)


@njit(error_model="numpy")
def _descend_both(a, s, rules):  # noqa: ANN001, ANN202
    """W <- W - eta G, with G in the place `G`, and v <- v - eta phi(Z) r."""
    step = spread(a.y, -rules.eta)
    for place in range(0, s.k * s.w_stride, s.lanes):
        store(a.W, place, multiply_add(step, load(a.G, place), load(a.W, place)))
    if rules.trains_head:
        for j in range(s.k):
            a.v[j] -= rules.eta * total(load(a.head, j * s.lanes))
        a.head[:] = 0.0


def _compiled(sources: str) -> Any:
    """The training loop; numba's disk cache tells kernels apart by `sources`, since it watches the
    file of this function only.
    """

    @njit(error_model="numpy", nogil=True, cache=True)
    def descend(a, s, rules, records):  # noqa: ANN001, ANN202
        made_of = sources  # noqa: F841 (a free variable is part of the key of the cache)
        step = 0
        while True:
            _multiply(
                (a.W, s.w_stride),
                (a.features, s.stride),
                (a.Z, s.stride),
                (s.k, s.d, s.stride // s.lanes),
                s.lanes,
            )
            square = (
                _residual_after_softplus(a, s, rules)
                if rules.code == SOFTPLUS
                else _residual_and_activation(a, s, rules)
            )
            if rules.record_every > 0 and step % rules.record_every == 0:
                records[step // rules.record_every] = square
            if square <= rules.target or step >= rules.max_iter or not square < np.inf:
                return step, square
            _multiply(
                (a.Z, s.stride),
                (a.samples, s.w_stride),
                (a.G, s.w_stride),
                (s.k, s.n, s.w_stride // s.lanes),
                s.lanes,
            )
            _descend_both(a, s, rules)
            step += 1

    return descend


def _digest_of_sources() -> str:
    """Digest of the files that the kernel is compiled from."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


descend = _compiled(_digest_of_sources())
"""`descend(arrays, shape, rules, records)` makes steps until ||r||^2 <= target, the step limit, or
a loss that is not finite.

Returns the number of steps and ||r||^2 at the weights left in `arrays`; `records[i]` is ||r||^2
after i * record_every steps.
"""


def packed(X: Array, y: Array, W: Array, v: Array, kind: type[np.floating]) -> tuple[Arrays, Shape]:
    """Copies of data and weights in the precision `kind`, with room to work in."""
    (n, d), k, lanes = X.shape, len(v), BYTES // np.dtype(kind).itemsize
    stride, w_stride = _padded(n, lanes), _padded(d, lanes)
    work = _padded(k * stride, TOGETHER * lanes)
    arrays = Arrays(
        features=_rows(X.T, stride, kind),
        samples=_rows(X, w_stride, kind),
        y=_rows(y[None], stride, kind),
        live=_rows(np.ones((1, n)), stride, kind),
        W=_rows(W, w_stride, kind),
        v=v.astype(kind),
        Z=np.zeros(work, kind),
        P=np.zeros(work, kind),
        G=np.zeros(k * w_stride, kind),
        head=np.zeros(k * lanes, kind),
    )
    return arrays, Shape(n, k, d, lanes, stride, w_stride)


def unpacked(arrays: Arrays, shape: Shape) -> tuple[Array, Array]:
    """The weights W and v as float64."""
    W = arrays.W.reshape(shape.k, shape.w_stride)[:, : shape.d]
    return W.astype(np.float64), arrays.v.astype(np.float64)


def _padded(count: int, multiple: int) -> int:
    return -(-count // multiple) * multiple


def _rows(matrix: Array, stride: int, kind: type[np.floating]) -> np.ndarray:
    rows = np.zeros((len(matrix), stride), kind)
    rows[:, : matrix.shape[1]] = matrix
    return rows.ravel()

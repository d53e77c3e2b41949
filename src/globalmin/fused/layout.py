"""The arrays of one training in the layout of the fused kernel, and back: flat, rows padded with
zeros to whole registers.
"""

from __future__ import annotations

import numpy as np

from globalmin._types import Array
from globalmin.fused.activations import TOGETHER
from globalmin.fused.kernel import Arrays, Shape
from globalmin.fused.lanes import BYTES


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

r"""Gram matrices of networks of finite width, J J^T = (phi'(XW^T) diag(v)^2 phi'(WX^T)) o XX^T,
formed without J.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from globalmin._types import Array, ArrayLike
from globalmin.activations import Activation, get_activation
from globalmin.data.validation import as_matrix, gram_bytes, matrix_bytes, require_memory
from globalmin.errors import DataError
from globalmin.linalg.spectrum import estimate_lambda_min
from globalmin.references import states

CHUNK = 2**22  # entries of the slopes held at once


class Deviation(NamedTuple):
    """Spectral norm of the difference of two Gram matrices and the smallest eigenvalue of the
    finite one; estimates.
    """

    norm: float
    lambda_min: float


@states("OS-J", "SJL-L5.4")
def finite_gram(
    W: ArrayLike, v: ArrayLike, X: ArrayLike, activation: str | Activation = "relu"
) -> Array:
    r"""$JJ^T$, n x n, for f(x) = v . phi(Wx) with W trained.

    Parameters
    ----------
    W, v, X : ArrayLike
        k x d, k, n x d.

    Theory
    ------
    OS-J; also the derivative of the predictions under gradient flow of the loss (1/2)||f - y||^2:
    df/dt = -JJ^T (f - y).
    """
    X, W = as_matrix(X), as_matrix(W, "W")
    v = np.asarray(v, dtype=np.float64)
    if W.shape[1] != X.shape[1] or v.shape != W.shape[:1]:
        raise DataError(
            f"shapes W {W.shape}, v {v.shape}, X {X.shape} do not fit: W is k x d, v has length k, "
            "X is n x d"
        )
    return _slopes_gram(W, v, X, activation) * (X @ X.T)


@states("DU-Q2.6")
def normalized_finite_gram(
    W: ArrayLike, X: ArrayLike, activation: str | Activation = "relu"
) -> Array:
    r"""$H(W)_{ij} = \frac1m x_i \cdot x_j \sum_r \phi'(w_r \cdot x_i)\phi'(w_r \cdot x_j)$: DU's,
    where |a_r| = 1.

    For ReLU the sum counts the neurons active on both samples, exactly (DU-Q2.6, eq. 2.5). It tends
    to `limit_gram` as m grows.
    """
    X, W = as_matrix(X), as_matrix(W, "W")
    if W.shape[1] != X.shape[1]:
        raise DataError(
            f"shapes W {W.shape}, X {X.shape} do not fit: both need {X.shape[1]} columns"
        )
    G = _slopes_gram(W, np.ones(len(W)), X, activation)
    G /= len(W)
    return G * (X @ X.T)


@states("DU-L2.1")
def measure_deviation(finite: ArrayLike, limit: ArrayLike) -> Deviation:
    """How far a Gram matrix of finite width is from its limit: the two quantities of DU-L2.1,
    measured.
    """
    finite, limit = np.asarray(finite, dtype=np.float64), np.asarray(limit, dtype=np.float64)
    if finite.shape != limit.shape:
        raise DataError(
            f"shapes {finite.shape} and {limit.shape} differ; give two Gram matrices of the same "
            "samples"
        )
    difference = finite - limit
    largest = max(-estimate_lambda_min(difference), -estimate_lambda_min(-difference))
    return Deviation(largest, estimate_lambda_min(finite))


def _slopes_gram(W: Array, v: Array, X: Array, activation: str | Activation) -> Array:
    """S S^T with S = phi'(XW^T) diag(v), neurons taken in chunks."""
    phi, n = get_activation(activation), len(X)
    neurons = max(1, CHUNK // n)
    require_memory(
        gram_bytes(n, copies=3) + matrix_bytes(n, min(neurons, len(W)), copies=3),
        f"the Gram matrix of {n:,} samples",
    )
    total = np.zeros((n, n))
    for start in range(0, len(W), neurons):
        S = phi.derivative(X @ W[start : start + neurons].T)
        S *= v[start : start + neurons]
        total += S @ S.T
    return total

r"""Limiting Gram matrices of two-layer networks: Sigma(X) = K o E[phi'(Xw)phi'(Xw)^T] and its kin,
K = X X^T, w ~ N(0, I).

Rows of any norm, also zero, repeated or opposite ones. Floating point: estimates; `gram_error`
states a bar for each entry. The functions on Khatri-Rao products, separation, finite widths and
bounds of lambda_min are named here too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from globalmin._options import one_of
from globalmin._renamed import renamed
from globalmin._types import Array, ArrayLike, Indices, NDArray
from globalmin.activations import get_activation
from globalmin.activations.dual import dual_error, dual_kernel
from globalmin.activations.dual_blocks import covariance_duals
from globalmin.activations.dual_pairs import Pairs, closed_form
from globalmin.data.exact_algebra import Groups, equal_groups
from globalmin.data.preprocessing import normalized_rows
from globalmin.data.validation import as_matrix, gram_bytes, require_memory
from globalmin.references import states

if TYPE_CHECKING:
    from globalmin.activations import Activation

Kind = Literal["weights", "features"]
KINDS: tuple[Kind, ...] = get_args(Kind)


@states("OS-DEF6.1", "OS-DEF3.1", "DU-D2.1")
@renamed(kind="kernel")
def limit_gram(
    X: ArrayLike, activation: str | Activation = "relu", *, kernel: Kind = "weights"
) -> Array:
    r"""The Gram matrix of an infinitely wide two-layer network at initialization, n x n.

    Parameters
    ----------
    X : ArrayLike
        n x d inputs, any norms.
    activation : str | Activation
        Any activation of ours.
    kernel : Kind
        "weights" for $\Sigma = XX^T \circ E[\phi'(Xw)\phi'(Xw)^T]$ (training W; for ReLU it is
        DU's $H^\infty$), "features" for $\tilde\Sigma = E[\phi(Xw)\phi(Xw)^T]$ (training v).

    Theory
    ------
    OS definitions 6.1 and 3.1, DU assumption 2.1. E J J^T = ||v||^2 Sigma over W ~ N(0, 1). Angles
    between almost parallel rows are taken from the differences of the unit rows, not from cosines;
    the diagonal is exact.
    """
    X, phi, order = as_matrix(X), get_activation(activation), kernel_order(kernel)
    require_memory(gram_bytes(len(X), copies=2), f"the Gram matrix of {len(X):,} samples")
    groups = equal_groups(X)
    if (
        groups
    ):  # repeated rows get equal entries, whatever the order in which inner products are summed
        place = _first_places(len(X), groups)
        kept, place = np.unique(place, return_inverse=True)
        return _gram_of_distinct(X[kept], phi, order)[np.ix_(place, place)]
    return _gram_of_distinct(X, phi, order)


def _first_places(n: int, groups: Groups) -> NDArray[np.intp]:
    place = np.arange(n)
    for group in groups:
        place[list(group)] = group[0]
    return place


def _gram_of_distinct(X: Array, phi: Activation, order: int) -> Array:
    K = X @ X.T
    norms = np.sqrt(np.diagonal(K))
    near: list[tuple[Indices, Indices]] = []
    G = covariance_duals(phi, K, (order,), in_place=True, near=near)[0]
    if near:
        i, j = (np.concatenate(part) for part in zip(*near, strict=True))
        i, j = i[i < j], j[i < j]
        G[i, j] = G[j, i] = _refined(phi, X, norms, order, (i, j))
    return G


@renamed(kind="kernel")
def gram_error(
    X: ArrayLike, activation: str | Activation = "relu", *, kernel: Kind = "weights"
) -> Array:
    """Error bars of `limit_gram`, n x n: the bar of the dual kernel and the rounding of the inner
    products.
    """
    X, order = as_matrix(X), kernel_order(kernel)
    require_memory(
        gram_bytes(len(X), copies=8), f"the error bars of the Gram matrix of {len(X):,} samples"
    )
    a = np.square(X).sum(axis=1)
    norms = np.sqrt(a)
    bound = np.multiply.outer(norms, norms)
    angles = np.zeros_like(bound)  # any: the bar of the dual kernel is the same for all of them
    inner = (X.shape[1] + 4) * np.finfo(np.float64).eps * bound
    phi = get_activation(activation)
    smooth = phi.is_smooth or order == 0
    slope = _size(phi, a, order + 1) if smooth and phi.is_smooth else np.ones_like(a)
    bars = dual_error(phi, a[:, None], a, angles, order) + np.multiply.outer(slope, slope) * inner
    return bars * bound + _size_outer(phi, a, order) * inner if order else bars


def _size(phi: Activation, a: Array, order: int) -> Array:
    return np.sqrt(dual_kernel(phi, a, a, a, order))


def _size_outer(phi: Activation, a: Array, order: int) -> Array:
    size = _size(phi, a, order)
    return np.multiply.outer(size, size)


def kernel_order(kernel: Kind) -> int:
    """1 for the weights, 0 for the features: the derivative of phi that the kernel is made of."""
    one_of("kernel", kernel, KINDS)
    return int(kernel == "weights")


def _refined(
    phi: Activation, X: Array, norms: Array, order: int, pairs: tuple[Indices, Indices]
) -> Array:
    """Entries of almost parallel rows again: there a cosine hides the angle, and functions with a
    kink show it.
    """
    form, (i, j) = closed_form(phi), pairs
    U, found = normalized_rows(X), np.empty(i.size)
    for part in np.array_split(np.arange(i.size), 1 + i.size * X.shape[1] // 2**20):
        p, q = i[part], j[part]
        c = (X[p] * X[q]).sum(axis=1)
        if form is not None:
            values = form(Pairs(norms[p], norms[q], c, *_angles(U[p], U[q])))[order]
            found[part] = values * c if order else values
    return found


def _angles(u: Array, v: Array) -> tuple[Array, Array]:
    """Cosine and sine from chords: |u - v| and |u + v| keep their digits where u.v loses them."""
    sign = np.where((u * v).sum(axis=1) < 0, -1.0, 1.0)
    short = np.linalg.norm(u - sign[:, None] * v, axis=1)
    long = np.linalg.norm(u + sign[:, None] * v, axis=1)
    return sign * (1.0 - 0.5 * short * short), 0.5 * short * long

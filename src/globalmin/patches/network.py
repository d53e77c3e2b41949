r"""The patch network $f(x) = \sum_j\sum_i a_{ji}\,\sigma(w_j^Tz_i)$: m filters shared by the k
patches $z_i$ of a signal or image, and an output weight for every filter and patch.

One filter with weights 1/k is the network of DU chapter 6, one filter with free weights that of
chapter 5.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from globalmin._types import Array, ArrayLike
from globalmin.data.validation import as_weights
from globalmin.errors import DataError
from globalmin.patches.layout import PatchLayout
from globalmin.references import states


@dataclass(frozen=True, eq=False)
class PatchNetwork:
    """A trained patch network, ready to predict, to be saved and to be proved; the arrays are
    read-only copies.

    Attributes
    ----------
    filters : Array
        m x p, the constant entry last if the layout has one.
    head : Array
        m x k output weights.
    layout : PatchLayout
        How samples are cut.
    """

    filters: Array
    head: Array
    layout: PatchLayout

    def __post_init__(self) -> None:
        remedy = "give a matrix of finite numbers, one row per filter"
        for name in ("filters", "head"):
            value = as_weights(getattr(self, name), name, dimensions=(2,), remedy=remedy)
            object.__setattr__(self, name, value)
        m, p = self.filters.shape
        expected = (self.layout.n_patches, self.layout.entries)
        if self.head.shape[0] != m or (self.head.shape[1], p) != expected:
            raise DataError(
                f"filters {self.filters.shape} and head {self.head.shape} do not fit patches of "
                f"{expected[1]} entries, {expected[0]} of them; give (m, {expected[1]}) and "
                f"(m, {expected[0]})"
            )

    @property
    def n_filters(self) -> int:
        """Number m of filters."""
        return len(self.filters)

    @property
    def pictures(self) -> Array:
        """The filters in the shape of a patch, without their constant entries."""
        entries = self.layout.entries - int(self.layout.bias)
        return self.filters[:, :entries].reshape(self.n_filters, *self.layout.filter_shape)

    def predict(self, X: ArrayLike) -> Array:
        """Outputs for samples, each in the layout's shape or as a row."""
        return patch_outputs(self.layout.patches(X), self.filters, self.head)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PatchNetwork):
            return NotImplemented
        return (
            self.layout == other.layout
            and np.array_equal(self.filters, other.filters)
            and np.array_equal(self.head, other.head)
        )

    def __hash__(self) -> int:
        return hash((self.layout, self.filters.tobytes(), self.head.tobytes()))


@states("DU-M5", "DU-M6")
def patch_outputs(Z: Array, W: Array, A: Array) -> Array:
    r"""$\sum_j\sum_i A_{ji}\sigma(w_j^TZ_{ni})$ for every sample n of patches n x k x p."""
    return np.einsum("nkm,mk->n", np.maximum(Z @ W.T, 0.0), A, optimize=True)


def patch_jacobian(Z: Array, H: Array, A: Array, *, trains_head: bool) -> Array:
    r"""Derivative of the outputs in the filters, then in the output weights: n x (mp [+ mk]), with
    $\sigma'(0) = 0$. `H` are the products n x k x m of patches and filters.
    """
    n = len(Z)
    slopes = (H > 0.0).transpose(0, 2, 1) * A  # n x m x k
    by_filter = np.matmul(slopes, Z).reshape(n, -1)
    if not trains_head:
        return by_filter
    by_head = np.maximum(H, 0.0).transpose(0, 2, 1).reshape(n, -1)
    return np.concatenate([by_filter, by_head], axis=1)


def patch_gradient(Z: Array, H: Array, A: Array, miss: Array) -> tuple[Array, Array]:
    r"""$J^T\text{miss}$ as an m x p and an m x k array, without the matrix J."""
    n, k, p = Z.shape
    slopes = (H > 0.0) * (miss[:, None, None] * A.T)
    by_filter = slopes.reshape(n * k, -1).T @ Z.reshape(n * k, p)
    by_head = np.einsum("nkm,n->mk", np.maximum(H, 0.0), miss, optimize=True)
    return by_filter, by_head


def patch_slope(Z: Array, H: Array, A: Array, direction: tuple[Array, Array]) -> Array:
    """J times a direction (m x p, m x k), for every sample."""
    moved = (H > 0.0) * (Z @ direction[0].T)
    along = np.einsum("nkm,mk->n", moved, A, optimize=True)
    return along + np.einsum("nkm,mk->n", np.maximum(H, 0.0), direction[1], optimize=True)

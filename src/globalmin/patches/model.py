r"""The convolutional filter with average pooling, $f(w, Z) = \frac1k\sum_i\sigma(w^TZ_i)$, on
patches n x k x p (DU-M6).

k = 1 is a single neuron. Everything here is about the samples given; with labels from a filter w*
the loss is zero at w*.
"""

from __future__ import annotations

import numpy as np

from globalmin._types import Array, ArrayLike
from globalmin.errors import DataError
from globalmin.references import states


def as_patches(Z: ArrayLike, w: ArrayLike) -> tuple[Array, Array]:
    """Patches n x k x p and a filter of p numbers, checked against each other."""
    Z, w = np.asarray(Z, dtype=np.float64), np.asarray(w, dtype=np.float64)
    if Z.ndim != 3 or 0 in Z.shape or w.shape != Z.shape[2:]:
        raise DataError(
            f"Z has shape {Z.shape} and the filter has shape {w.shape}; give patches (n, k, p) and "
            "p weights"
        )
    return Z, w


@states("DU-M6")
def filter_outputs(Z: ArrayLike, w: ArrayLike) -> Array:
    r"""$\frac1k\sum_i\sigma(w^TZ_i)$ for every sample; never negative."""
    Z, w = as_patches(Z, w)
    return np.maximum(Z @ w, 0.0).mean(axis=1)


@states("DU-M6")
def filter_loss(Z: ArrayLike, y: ArrayLike, w: ArrayLike) -> float:
    r"""$\frac{1}{2n}\sum_j(f(w,Z_j) - y_j)^2$."""
    return 0.5 * float(np.mean((filter_outputs(Z, w) - np.asarray(y, dtype=np.float64)) ** 2))


@states("DU-M6")
def filter_gradient(Z: ArrayLike, y: ArrayLike, w: ArrayLike) -> Array:
    r"""Gradient of `filter_loss` with $\sigma'(0) = 1$, as the regions of DU-D6.0 are closed."""
    Z, w = as_patches(Z, w)
    H = Z @ w
    miss = (np.maximum(H, 0.0).mean(axis=1) - np.asarray(y, dtype=np.float64)) / (
        len(Z) * Z.shape[1]
    )
    return (miss[:, None] * (H >= 0.0)).ravel() @ Z.reshape(-1, w.size)


def active_patches(Z: ArrayLike, w: ArrayLike) -> Array:
    r"""$\frac1k\sum_i Z_i 1\{w^TZ_i \ge 0\}$, n x p: the derivative of the output in w."""
    Z, w = as_patches(Z, w)
    return np.einsum("nkp,nk->np", Z, (Z @ w >= 0.0) / Z.shape[1], optimize=True)


def is_dead(Z: ArrayLike, w: ArrayLike) -> bool:
    r"""Whether no patch is active, $w^TZ_i \le 0$ for all of them: the output is zero around w and
    gradient descent cannot move.

    A filter whose products are all exactly zero (the zero filter, or patches that are all zero)
    counts as dead as well.
    """
    Z, w = as_patches(Z, w)
    return not bool(np.any(Z @ w > 0.0))


def relative_loss(Z: ArrayLike, y: ArrayLike, w: ArrayLike) -> float:
    r"""Mean squared error over the squared mean label, the measure of the image experiments;
    infinity for labels of mean zero.
    """
    level = float(np.mean(np.asarray(y, dtype=np.float64))) ** 2
    return 2.0 * filter_loss(Z, y, w) / level if level > 0.0 else float("inf")

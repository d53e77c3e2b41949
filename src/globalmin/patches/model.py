r"""The convolutional filter with average pooling, $f(w, Z) = \frac1k\sum_i\sigma(w^TZ_i)$, on
patches n x k x p (DU-M6).

k = 1 is a single neuron. Everything here is about the samples given; with labels from a filter w*
the loss is zero at w*.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

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


@dataclass(frozen=True)
class Regions:
    r"""$Z_{ab} = \frac1k\sum_i Z_i 1\{i \in (ab)\}$ for every sample, each n x p."""

    both: Array
    own: Array
    other: Array

    def moment(self, first: Array, second: Array, weights: Array | None = None) -> Array:
        r"""$E[Z_a Z_b^T]$ over the samples, which may carry weights that sum to n."""
        left = first if weights is None else first * weights[:, None]
        return left.T @ second / len(first)


@states("DU-D6.0", "DU-D6.2")
def regions(Z: ArrayLike, w: ArrayLike, w_star: ArrayLike) -> Regions:
    """The averages over the three regions. For k = 1 they are the regions of one neuron."""
    Z, w = as_patches(Z, w)
    Z, w_star = as_patches(Z, w_star)
    on, wanted = Z @ w >= 0.0, Z @ w_star >= 0.0

    def average(mask: np.ndarray) -> Array:
        return np.einsum("nkp,nk->np", Z, mask / Z.shape[1], optimize=True)

    return Regions(average(on & wanted), average(on & ~wanted), average(~on & wanted))


@states("DU-D6.2")
def gradient_by_regions(Z: ArrayLike, w: ArrayLike, w_star: ArrayLike) -> Array:
    r"""The gradient for labels of w*, from the moments (corrected):

    $C_{++,++}(w-w^*) + C_{++,+-}w + C_{+-,++}(w-w^*) + C_{+-,+-}w - (C_{++,-+}+C_{+-,-+})w^*$.
    """
    w, w_star = np.asarray(w, dtype=np.float64), np.asarray(w_star, dtype=np.float64)
    R = regions(Z, w, w_star)
    gap = w - w_star
    return (
        R.moment(R.both, R.both) @ gap
        + R.moment(R.both, R.own) @ w
        + R.moment(R.own, R.both) @ gap
        + R.moment(R.own, R.own) @ w
        - (R.moment(R.both, R.other) + R.moment(R.own, R.other)) @ w_star
    )


@states("DU-L6.1")
def neuron_descent_terms(Z: ArrayLike, w: ArrayLike, w_star: ArrayLike) -> tuple[float, float]:
    r"""The two terms of $\langle\nabla\ell, w-w^*\rangle$ for one neuron (k = 1); neither is
    negative.

    $(w-w^*)^TA_{w,w^*}(w-w^*)$ and $(w-w^*)^TA_{w,-w^*}w$; this holds for the samples given, not
    only for a population.
    """
    w, w_star = np.asarray(w, dtype=np.float64), np.asarray(w_star, dtype=np.float64)
    R = regions(Z, w, w_star)
    gap = w - w_star
    return float(gap @ R.moment(R.both, R.both) @ gap), float(gap @ R.moment(R.own, R.own) @ w)


@states("DU-T6.6")
def good_start_at_least(alpha: float, p: int) -> float:
    r"""Lower bound of $P(\lVert w_0-w^*\rVert \le \sqrt{1-\alpha^2}\,W)$ for $w_0$ uniform in the
    ball of radius $\alpha W$.

    $\frac12 - \alpha\,\Gamma(\frac p2+1)/(\sqrt\pi\,\Gamma(\frac p2+\frac12))$: sharper than the
    printed `good_start_printed`.
    """
    _check(alpha, p)
    ratio = math.exp(math.lgamma(p / 2.0 + 1.0) - math.lgamma(p / 2.0 + 0.5))
    return 0.5 - alpha * ratio / math.sqrt(math.pi)


@states("DU-T6.6")
def good_start_printed(alpha: float, p: int) -> float:
    r"""The printed bound $\frac12 - \sqrt{\pi p/2}\,\alpha$ for $\alpha \le 1/\sqrt{2\pi p}$: true
    and loose.
    """
    _check(alpha, p)
    return 0.5 - math.sqrt(math.pi * p / 2.0) * alpha


def _check(alpha: float, p: int) -> None:
    if not 0.0 <= alpha <= 1.0 or p < 1:
        raise DataError(f"alpha={alpha} must lie in [0, 1] and p={p} be at least 1")

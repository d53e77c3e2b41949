r"""Regions of a filter and a teacher, the second moments over them, and the gradient (DU-D6.0,
DU-D6.2, DU-L6.1).

A patch is in $(++)$ if $w^TZ_i \ge 0$ and $w^{*T}Z_i \ge 0$, in $(+-)$ if only the first holds, in
$(-+)$ if only the second.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from globalmin._types import Array, ArrayLike
from globalmin.patches.model import as_patches
from globalmin.references import states


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

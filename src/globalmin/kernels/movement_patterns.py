r"""Which ReLU signs can change when the weights move, how much that changes Jacobian and Gram
matrix, and descent from it.

All bounds are deterministic and speak of the stored weights: Z = X W^T is n x k. Values in floats.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from globalmin._types import Array, NDArray
from globalmin.kernels.rates import kink_guarantee
from globalmin.references import states
from globalmin.shallow.guarantee import KinkDescent

if TYPE_CHECKING:
    Counts = NDArray[np.int64]


@states("OS-LC.2")
def flips_allowed(Z: Array, row_norms: Array, distance: float) -> Counts:
    r"""Per sample the largest number of signs that weights within `distance` (spectral norm) can
    have changed; exact for one sample.

    $\max\{m : \text{sum of the m smallest } (w_l\cdot x_i)^2 \le \mathrm{distance}^2\|x_i\|^2\}$: a
    sign of neuron l changes only if its pre-activation moves by at least $|w_l\cdot x_i|$, and the
    squares of all the moves sum to at most the right-hand side.

    Theory
    ------
    OS-LC.2, sharpened (ours): sort and add instead of the m-th smallest alone.
    """
    sums = np.cumsum(np.sort(np.square(Z), axis=1), axis=1)
    return (sums <= (distance * row_norms[:, None]) ** 2).sum(axis=1)


@states("OS-LC.2")
def flips_allowed_by_order(Z: Array, distance: float) -> Counts:
    r"""The printed form, unit rows: each sample flips fewer than 2m signs, m the least with
    distance $\le \sqrt m|Wx_i|_{m-}$ (0: none).
    """
    k = Z.shape[1]
    reach = np.sqrt(np.arange(1, k + 1)) * np.sort(np.abs(Z), axis=1)
    enough = reach >= distance
    m = np.where(enough.any(axis=1), enough.argmax(axis=1) + 1, k)
    return np.minimum(2 * m - 1, k)


@states("DU-L2.2")
def flippable_counts(Z: Array, row_norms: Array, R: float) -> Counts:
    r"""$|S_i^\perp(R)| = \#\{l : |w_l\cdot x_i| < R\|x_i\|\}$: neurons whose sign on sample i can
    change when each moves at most R.
    """
    return (np.abs(Z) < R * row_norms[:, None]).sum(axis=1)


def changed_signs(Z: Array, Z0: Array) -> Counts:
    """Signs per sample that differ from the first ones (convention 1{z >= 0}), measured."""
    return ((Z >= 0) != (Z0 >= 0)).sum(axis=1)


@states("DU-L2.2")
def gram_change_bound(K: Array, counts: Counts, weight: float) -> float:
    r"""Spectral norm of $(|K_{ij}|\,\mathrm{weight}\,(c_i+c_j))_{ij}$, a bound of $\|H(W)-H(0)\|$
    when sample i changes at most $c_i$ signs.

    `weight` is the square of the head's entries, 1/m for the head of DU; the matrix has nonnegative
    entries, so its norm bounds that of every matrix below it in absolute value.
    """
    bound = np.abs(K) * (weight * (counts[:, None] + counts[None, :]))
    return float(np.linalg.norm(bound, 2))


@states("OS-C3")
def kink_jacobian_change(
    Z: Array, v: Array, row_norms: Array, X_norm: float, distance: float
) -> float:
    r"""$\epsilon(R) = \|X\|\max_i\sqrt{\max\sum v_l^2}$ over sets of neurons with $\sum(w_l\cdot
    x_i)^2 \le R^2\|x_i\|^2$.

    The inner maximum is a knapsack; its fractional relaxation (cheapest $z^2/v^2$ first, the last
    one in part) is taken, which is never below it.
    """
    costs, gains = np.square(Z), np.square(v)
    with np.errstate(divide="ignore", invalid="ignore"):
        order = np.argsort(np.where(gains > 0, costs / gains, math.inf), axis=1)
    costs = np.take_along_axis(costs, order, axis=1)
    gains = gains[order]
    budget = (distance * row_norms[:, None]) ** 2
    before = np.cumsum(costs, axis=1) - costs
    left = np.clip(budget - before, 0.0, None)
    share = np.where(
        costs > 0,
        np.minimum(1.0, left / np.where(costs > 0, costs, 1.0)),
        (budget - before >= 0).astype(float),
    )
    return X_norm * math.sqrt(float((gains * share).sum(axis=1).max()))


@states("OS-C3")
def kink_descent(
    Z: Array,
    v: Array,
    row_norms: Array,
    X_norm: float,
    *,
    a: float,
    b: float,
    residual_norm: float,
    points: int = 60,
) -> KinkDescent | None:
    r"""The best radius R of a grid with $3\epsilon(R) < a$ and $\|r\|/(a-3\epsilon(R)) \le R$, or
    None.

    Parameters
    ----------
    Z, v, row_norms, X_norm : pre-activations (n x k), head, norms of the rows and of X.
    a, b, residual_norm : $\sigma_{\min}(J)$, $\|J\|$, $\|r\|$ at these weights.
    points : size of the grid, from $\|r\|/a$ to $100\|r\|/a$.
    """
    if not a > 0.0:
        return None
    for factor in np.geomspace(1.0 + 1e-9, 100.0, points):
        R = float(factor) * residual_norm / a
        eps = kink_jacobian_change(Z, v, row_norms, X_norm, R)
        found = kink_guarantee(a, b, eps, residual_norm)
        if found is None:
            return None
        if found.path <= R:
            return KinkDescent(R, eps, found)
    return None

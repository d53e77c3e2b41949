"""Dual activations of a whole covariance matrix, block by block in the cache, each pair of blocks
once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from globalmin._types import Array, Indices, Mask
from globalmin.activations import dual_pairs
from globalmin.activations.dual_pairs import pair_integral
from globalmin.activations.dual_series import block_sum, series_coefficients
from globalmin.activations.functions import horner
from globalmin.activations.moments import mean_curvature, mean_slope, mean_value
from globalmin.errors import DataError

if TYPE_CHECKING:
    from globalmin.activations.activation import Activation

    Kernel = Callable[[slice, slice, Array], list[Array]]
    Near = list[tuple[Indices, Indices]]

ROWS, COLUMNS = 128, 128  # five arrays of this shape stay in the second-level cache
POLYNOMIALS = {"quadratic": (0.0, 0.0, 1.0), "linear": (0.0, 1.0)}
EXCESS = 1e-8  # a correlation may exceed 1 by this much before the matrix is refused


def covariance_duals(
    phi: Activation,
    K: Array,
    orders: Sequence[int],
    *,
    in_place: bool = False,
    near: Near | None = None,
) -> list[Array]:
    """E[phi^(j)(u_i) phi^(j)(u_k)], u ~ N(0, K), for each order j; K symmetric with nonnegative
    diagonal, checked. `in_place`, for one order: K becomes the result, of order 1 the result times
    K, entry by entry. `near` is given the pairs of almost parallel rows of functions with a kink,
    those of a row with itself and (within a block) in both orders too.
    """
    a = np.diagonal(K).copy()
    live = a > 0
    scales = np.sqrt(np.where(live, a, 1.0))
    kernel, diagonals = block_kernel(phi, scales, orders, near)
    results = [K] if in_place else [np.empty_like(K) for _ in orders]
    times_covariance = in_place and orders[0] == 1
    for i in range(0, len(K), ROWS):
        rows = slice(i, min(i + ROWS, len(K)))
        for j in range(i, len(K), COLUMNS):
            columns = slice(j, min(j + COLUMNS, len(K)))
            C = K[rows, columns]
            for result, values in zip(results, kernel(rows, columns, C), strict=True):
                if times_covariance:  # blocks below the diagonal are written, never read again
                    values *= C
                result[columns, rows] = values.T
                result[rows, columns] = values
        for result in results:
            _mirror(result[rows, rows])
    for order, result, diagonal in zip(orders, results, diagonals, strict=True):
        np.fill_diagonal(result, diagonal * a if times_covariance else diagonal)
        if not live.all():
            fill_dead(phi, result, scales, live, order)
            if times_covariance:
                result[~live], result[:, ~live] = 0.0, 0.0
    return results


def _mirror(square: Array) -> None:
    """Copy the entries above the diagonal below it: formulas may round (i, j) and (j, i)
    differently.
    """
    np.copyto(square, square.T.copy(), where=_below(len(square)))


@lru_cache(maxsize=4)
def _below(n: int) -> Mask:
    return np.tri(n, k=-1, dtype=bool)


def fill_dead(phi: Activation, result: Array, scales: Array, live: Mask, order: int) -> None:
    """Rows of variance 0: phi^(order)(0) times the mean of the other factor."""
    value = float(phi.derivative(0.0, order))
    means = np.full(scales.shape, value)
    means[live] = mean_of_order(phi, scales[live], order)
    result[~live] = value * means
    result[:, ~live] = (value * means)[:, None]


def mean_of_order(phi: Activation, scales: Array, order: int) -> Array:
    """E phi^(order)(s g)."""
    return (mean_value, mean_slope, mean_curvature)[order](phi, scales)


def _cosines(C: Array, s: Array, t: Array) -> tuple[Array, float]:
    """C_ij/(s_i t_j), refused where it exceeds 1 by more than rounding, and its largest size."""
    R = C * (1.0 / s)[:, None]
    R *= 1.0 / t
    top = max(float(R.max()), -float(R.min()))
    if not top <= 1.0 + EXCESS:
        raise DataError(
            f"a correlation is {top:.9g}; the matrix is not a covariance: |K_ij| <= sqrt(K_ii "
            "K_jj) must hold"
        )
    return np.clip(R, -1.0, 1.0, out=R) if top > 1.0 else R, top


def block_kernel(
    phi: Activation, scales: Array, orders: Sequence[int], near: Near | None = None
) -> tuple[Kernel, list[Array]]:
    """The function of a block (rows, columns, covariances there), and the exact diagonals."""
    if phi.name in dual_pairs.KINKED and phi.name != "linear":
        return _kinked_kernel(phi, scales, orders, near)
    if dual_pairs.closed_form(phi) is not None and max(orders) <= 1:
        return _closed_kernel(phi, scales, orders)
    if phi.coefficients is not None or phi.name in POLYNOMIALS:
        return _polynomial_kernel(phi, scales, orders)
    return _series_kernel(phi, scales, orders)


def _closed_kernel(
    phi: Activation, scales: Array, orders: Sequence[int]
) -> tuple[Kernel, list[Array]]:
    form, variances = dual_pairs.closed_form(phi), np.square(scales)
    if form is None:
        raise DataError(f"{phi} has no closed form")
    diagonal = form(
        dual_pairs.Pairs(scales, scales, variances, np.ones_like(scales), np.zeros_like(scales))
    )

    def block(rows: slice, columns: slice, C: Array) -> list[Array]:
        s, t = scales[rows], scales[columns]
        rho, _ = _cosines(C, s, t)
        values = form(
            dual_pairs.Pairs(
                s[:, None],
                t,
                C,
                *dual_pairs.refined_sine(rho, variances[rows, None], variances[columns], C),
            )
        )
        return [values[order] for order in orders]

    return block, [diagonal[order] for order in orders]


def _kinked_kernel(
    phi: Activation, scales: Array, orders: Sequence[int], near: Near | None
) -> tuple[Kernel, list[Array]]:
    even, odd = dual_pairs.even_and_odd(phi)
    variances = np.square(scales)

    def block(rows: slice, columns: slice, C: Array) -> list[Array]:
        s, t = scales[rows], scales[columns]
        rho, top = _cosines(C, s, t)
        sigma = np.sqrt((1.0 - rho) * (1.0 + rho)) if 0 in orders else rho
        results = dual_pairs.piecewise_linear_block(
            dual_pairs.Pairs(s[:, None], t, C, rho, sigma), even=even, odd=odd, orders=orders
        )
        if top > dual_pairs.STEEP_COSINE:
            i, j = np.nonzero(np.abs(rho) > dual_pairs.STEEP_COSINE)
            if near is not None:
                near.append((i + rows.start, j + columns.start))
            c = C[i, j]
            steep = dual_pairs.Pairs(
                s[i],
                t[j],
                c,
                *dual_pairs.refined_sine(rho[i, j], variances[rows][i], variances[columns][j], c),
            )
            values = dual_pairs.piecewise_linear(steep, even=even, odd=odd)
            for order, result in zip(orders, results, strict=True):
                result[i, j] = values[order]
        return results

    total = even**2 + odd**2
    return block, [np.full(scales.shape, total) if order else total * variances for order in orders]


def _polynomial_kernel(
    phi: Activation, scales: Array, orders: Sequence[int]
) -> tuple[Kernel, list[Array]]:
    factors = [polynomial_factors(phi, np.square(scales), order) for order in orders]

    def sums(left: Array, right: Array, C: Array) -> Array:
        total = np.zeros(C.shape)
        for k in range(len(left) - 1, -1, -1):
            total = total * C + left[k] * right[k]
        return total

    def block(rows: slice, columns: slice, C: Array) -> list[Array]:
        return [sums(q[:, rows, None], q[:, None, columns], C) for q in factors]

    return block, [sums(q, q, np.square(scales)) for q in factors]


def _series_kernel(
    phi: Activation, scales: Array, orders: Sequence[int]
) -> tuple[Kernel, list[Array]]:
    distinct, place = distinct_scales(scales)
    tables = [series_coefficients(phi, distinct, order=order) for order in orders]
    spread = tables if distinct.size == 1 else [table.take(place) for table in tables]
    sizes = [table.sizes[place] for table in tables]

    def block(rows: slice, columns: slice, C: Array) -> list[Array]:
        R, _ = _cosines(C, scales[rows], scales[columns])
        return [one(rows, columns, C, R, which) for which in range(len(orders))]

    def one(rows: slice, columns: slice, C: Array, R: Array, which: int) -> Array:
        size = sizes[which]
        values, slow = block_sum(spread[which], rows, columns, R)
        values *= np.multiply.outer(size[rows], size[columns])
        i, j = np.divmod(slow, R.shape[1])
        s, t = scales[rows][i], scales[columns][j]
        values[i, j] = slow_pairs(
            phi,
            orders[which],
            dual_pairs.Pairs(s, t, C[i, j], *dual_pairs.cosine_and_sine(s * s, t * t, C[i, j])),
        )
        return values

    return block, [np.square(size) for size in sizes]


def slow_pairs(phi: Activation, order: int, pairs: dual_pairs.Pairs) -> Array:
    """Quadrature, pair by pair."""
    rows = zip(pairs.s, pairs.t, pairs.rho, pairs.sigma, strict=True)
    return np.array(
        [
            pair_integral(phi, float(s), float(t), (float(r), float(q)), order=order)
            for s, t, r, q in rows
        ]
    )


def polynomial_factors(phi: Activation, variances: Array, order: int) -> Array:
    """q_k(a) for each k (rows) and variance a (columns)."""
    rows = dual_pairs.polynomial_table(phi.coefficients or POLYNOMIALS[phi.name], order)
    return np.stack([horner(np.array(row), variances) for row in rows])


def distinct_scales(scales: Array) -> tuple[Array, Indices]:
    """The different scales and the place of each; scales that differ by rounding only are one."""
    low, high = float(scales.min()), float(scales.max())
    if high - low <= 2.0**-50 * high:
        return np.array([0.5 * (low + high)]), np.zeros(scales.shape, dtype=np.intp)
    distinct, place = np.unique(scales, return_inverse=True)
    return distinct, place.reshape(scales.shape)

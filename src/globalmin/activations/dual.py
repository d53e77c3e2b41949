r"""Dual activations: E[phi^(j)(u) phi^(j)(v)] for (u, v) ~ N(0, [[a, c], [c, b]]), elementwise and
for whole covariances.

Closed forms for piecewise linear functions, erf, GELU and polynomials (DU-DA1); the Hermite series
for the others (DU-DA2), as long as its tail asks for, and quadrature for the few pairs where 1,024
terms do not suffice. Floating point: estimates, accurate to about 1e-13 relative to sqrt(E phi(u)^2
E phi(v)^2); `dual_error` states a bar for each entry.

Order 2 exists for smooth functions only. Where a variance is 0 the value at 0 is taken, at a kink
from the right.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from globalmin._types import Array, ArrayLike
from globalmin.activations import dual_blocks, dual_pairs, dual_series
from globalmin.activations.dual_pairs import STATED_ERROR
from globalmin.activations.registry import get_activation
from globalmin.errors import DataError
from globalmin.references import states

if TYPE_CHECKING:
    from globalmin.activations.activation import Activation

ROUNDING = 2.0**-46  # of sums and closed forms, relative to sqrt(E phi(u)^2 E phi(v)^2)


@states("DU-DA0", "DU-DA1", "DU-DA2", "DU-DA5")
def dual_kernel(
    activation: str | Activation, a: ArrayLike, b: ArrayLike, c: ArrayLike, order: int = 0
) -> Array:
    r"""$E[\phi^{(j)}(u)\phi^{(j)}(v)]$ for (u, v) ~ N(0, [[a, c], [c, b]]), elementwise on
    broadcast arrays; j = order.

    Parameters
    ----------
    a, b : variances >= 0.
    c : covariances, |c| <= sqrt(ab) up to rounding.
    order : 0 for phi, 1 for phi', 2 for phi'' of a smooth phi.

    Theory
    ------
    DU-DA0 to DU-DA2. By Price's theorem the derivative in c is the kernel of the next order
    (DU-DA5).
    """
    phi, (a, b, c) = _checked(activation, order), _pairs(a, b, c)
    shape, a, b, c = a.shape, a.ravel(), b.ravel(), c.ravel()
    live = (a > 0) & (b > 0)
    values = np.empty(a.shape)
    dead = ~live
    if dead.any():
        values[dead] = _mean(phi, a[dead], order) * _mean(phi, b[dead], order)
    if live.any():
        values[live] = _live_values(phi, a[live], b[live], c[live], order)
    return values.reshape(shape)


def dual_matrix(activation: str | Activation, K: ArrayLike, order: int = 0) -> Array:
    """E[phi^(order)(u_i) phi^(order)(u_k)], n x n, for u ~ N(0, K); any diagonal, zeros included.

    The diagonal is computed as an integral in one variable, the rest block by block; only blocks
    are allocated beside the result.
    """
    return dual_blocks.covariance_duals(_checked(activation, order), _covariance(K), (order,))[0]


def dual_matrices(activation: str | Activation, K: ArrayLike) -> tuple[Array, Array]:
    """E[phi phi] and E[phi' phi'] for the covariance K, sharing what can be shared; see
    `dual_matrix`.
    """
    F, slope = dual_blocks.covariance_duals(_checked(activation, 1), _covariance(K), (0, 1))
    return F, slope


@states("DU-DA2")
def dual_partial_sum(
    activation: str | Activation,
    a: ArrayLike,
    b: ArrayLike,
    c: ArrayLike,
    order: int = 0,
    *,
    terms: int,
) -> Array:
    r"""The first `terms` terms of $\sum_k \alpha_k(a)\alpha_k(b)\rho^k$, for a, b > 0 and at most
    1,024 terms.
    """
    phi, (a, b, c) = _checked(activation, order), _pairs(a, b, c)
    left, right, rho, size = _expansion(phi, (a, b, c), terms, order)[:4]
    total = np.zeros(rho.shape)
    for k in range(terms - 1, -1, -1):
        total = total * rho + left[k] * right[k]
    return (total * size).reshape(a.shape)


@states("DU-DA2")
def dual_error(
    activation: str | Activation,
    a: ArrayLike,
    b: ArrayLike,
    c: ArrayLike,
    order: int = 0,
    *,
    terms: int | None = None,
) -> Array:
    r"""Error bar of `dual_kernel`, elementwise; with `terms`, that of `dual_partial_sum` with so
    many terms.

    Theory
    ------
    DU-DA2: the tail from term K on is at most $|\rho|^K \sqrt{\tau_K(a)\tau_K(b)}$, $\tau_K(a) =
    E[\phi(\sqrt a z)^2] - \sum_{k<K}\alpha_k(a)^2$ (Cauchy-Schwarz). The bar adds an allowance for
    rounding, also that of $\tau_K$; it is computed in floats and so an estimate, tested against
    sums of 100 bits.
    """
    phi, (a, b, c) = _checked(activation, order), _pairs(a, b, c)
    if terms is not None:
        *_, rho, size, tails = _expansion(phi, (a, b, c), terms, order)
        return (size * (np.abs(rho) ** terms * tails + ROUNDING)).reshape(a.shape)
    size = np.sqrt(_square(phi, a, order) * _square(phi, b, order))
    if _is_exact(phi, order):
        return size * ROUNDING
    return size * (max(dual_series.TOLERANCE, STATED_ERROR) + ROUNDING)


def _live_values(phi: Activation, a: Array, b: Array, c: Array, order: int) -> Array:
    """Flat arrays with a, b > 0."""
    form = dual_pairs.closed_form(phi) if order <= 1 else None
    if form is not None:
        return form(
            dual_pairs.Pairs(np.sqrt(a), np.sqrt(b), c, *dual_pairs.cosine_and_sine(a, b, c))
        )[order]
    if _is_exact(phi, order):
        left, right = (
            dual_blocks.polynomial_factors(phi, a, order),
            dual_blocks.polynomial_factors(phi, b, order),
        )
        total = np.zeros(c.shape)
        for k in range(len(left) - 1, -1, -1):
            total = total * c + left[k] * right[k]
        return total
    pairs = dual_pairs.Pairs(np.sqrt(a), np.sqrt(b), c, *dual_pairs.cosine_and_sine(a, b, c))
    distinct, place = dual_blocks.distinct_scales(np.stack([pairs.s, pairs.t]))
    coefficients = dual_series.series_coefficients(phi, distinct, order=order)
    values, slow = dual_series.pair_sum(coefficients, place[0], place[1], pairs.rho)
    values *= coefficients.sizes[place[0]] * coefficients.sizes[place[1]]
    values[slow] = dual_blocks.slow_pairs(phi, order, pairs.take(slow))
    return values


def _expansion(
    phi: Activation, covariance: tuple[Array, Array, Array], terms: int, order: int
) -> tuple[Array, ...]:
    """Normalized coefficients of both sides, cosines, product of sizes, product of the norms of the
    tails; flat.
    """
    if terms not in range(1, dual_series.LADDER[-1] + 1):
        raise DataError(f"terms={terms!r}: give an integer from 1 to {dual_series.LADDER[-1]}")
    a, b, c = (x.ravel() for x in covariance)
    if not ((a > 0).all() and (b > 0).all()):
        raise DataError("a and b must be positive: the series is in the correlation c/sqrt(ab)")
    distinct, place = dual_blocks.distinct_scales(np.sqrt(np.stack([a, b])))
    table = dual_series.series_coefficients(phi, distinct, order=order, least=terms)
    tails = dual_series.tail_norms(table, terms)
    left, right = place
    rho, _ = dual_pairs.cosine_and_sine(a, b, c)
    return (
        table.table[:, left],
        table.table[:, right],
        rho,
        table.sizes[left] * table.sizes[right],
        tails[left] * tails[right],
    )


def _is_exact(phi: Activation, order: int) -> bool:
    return (
        phi.coefficients is not None
        or phi.name in dual_blocks.POLYNOMIALS
        or (order <= 1 and dual_pairs.closed_form(phi) is not None)
    )


def _mean(phi: Activation, a: Array, order: int) -> Array:
    """E phi^(order)(sqrt(a) g), the value at 0 where a = 0."""
    values = np.full(a.shape, float(phi.derivative(0.0, order)))
    if (a > 0).any():
        values[a > 0] = dual_blocks.mean_of_order(phi, np.sqrt(a[a > 0]), order)
    return values


def _square(phi: Activation, a: Array, order: int) -> Array:
    return dual_kernel(phi, a, a, a, order)


def _checked(activation: str | Activation, order: int) -> Activation:
    phi = get_activation(activation)
    if order not in (0, 1, 2) or (order == 2 and not phi.is_smooth):
        raise DataError(f"order={order!r} for {phi}: give 0 or 1, or 2 for a smooth activation")
    return phi


def _pairs(a: ArrayLike, b: ArrayLike, c: ArrayLike) -> tuple[Array, Array, Array]:
    a, b, c = np.broadcast_arrays(*(np.asarray(x, dtype=np.float64) for x in (a, b, c)))
    if not (np.isfinite(a).all() and np.isfinite(b).all() and (a >= 0).all() and (b >= 0).all()):
        raise DataError("a and b must be finite and >= 0: they are variances")
    if not (np.abs(c) <= np.sqrt(a) * np.sqrt(b) * (1.0 + dual_blocks.EXCESS)).all():
        raise DataError(
            "|c| <= sqrt(a b) must hold: c is the covariance of variables with variances a and b"
        )
    return a, b, c


def _covariance(K: ArrayLike) -> Array:
    K = np.asarray(K, dtype=np.float64)
    if K.ndim != 2 or K.shape[0] != K.shape[1] or K.size == 0:
        raise DataError(f"K has shape {K.shape}; give a square covariance matrix")
    a = np.diagonal(K)
    if not (np.isfinite(a).all() and (a >= 0).all()):
        raise DataError("the diagonal of K must be finite and >= 0: it holds variances")
    return K

r"""Gaussian moments of an activation that decide the local geometry of a teacher network and its
recovery from moments.

For z ~ N(0,1): $\alpha_q(s) = E[\phi'(sz)z^q]$, $\beta_q(s) = E[\phi'(sz)^2z^q]$, $\gamma_j(s) =
E[\phi(sz)z^j]$, $m_j(s) = E[\phi(sz)He_j(z)]$ and $\rho(s)$. All by the trapezoid rule in
$\log|z|$, which keeps about 13 digits at every scale (Gauss-Hermite rules are off by 30 times at s
= 50). Floating point, no rigorous bounds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from globalmin._types import Array, ArrayLike
from globalmin.activations import get_activation
from globalmin.activations.moments import nodes_and_weights
from globalmin.errors import DataError, HypothesisError
from globalmin.references import states

if TYPE_CHECKING:
    from globalmin.activations import Activation


ORDERS = (1, 2, 3, 4)
PROBES = (0.25, 0.5, 1.0, 2.0, 4.0)  # scales at which a moment must vanish to count as zero
ZERO = 1e-11  # relative to the largest value that Cauchy-Schwarz allows
SHORTEST = 1e-12  # norms below it count as zero
# m_1' below this part of b_1: errors of a norm are amplified too much (sigmoid: norm above 5)
SATURATED_SLOPE = 1.0 / 30.0


def hermite_polynomial(j: int, z: Array) -> Array:
    """He_j(z), the probabilists' Hermite polynomial, j = 0..4."""
    if j not in range(5):
        raise DataError(f"j={j!r} must be an integer from 0 to 4")
    return (np.ones_like(z), z, z**2 - 1.0, z**3 - 3.0 * z, z**4 - 6.0 * z**2 + 3.0)[j]


@states("FCL-DEF1")
def slope_moment(sigma: ArrayLike, activation: str | Activation, q: int) -> Array:
    r"""$\alpha_q(\sigma) = E[\phi'(\sigma z)z^q]$, elementwise in sigma; q = 0, 1, 2."""
    phi = get_activation(activation)
    return _expect(sigma, lambda u, z: phi.derivative(u) * z ** _power(q))


@states("FCL-DEF1")
def squared_slope_moment(sigma: ArrayLike, activation: str | Activation, q: int) -> Array:
    r"""$\beta_q(\sigma) = E[\phi'(\sigma z)^2z^q]$, elementwise in sigma; q = 0, 1, 2."""
    phi = get_activation(activation)
    return _expect(sigma, lambda u, z: np.square(phi.derivative(u)) * z ** _power(q))


@states("FCL-DEF1", "FCL-A2")
def rho_terms(sigma: ArrayLike, activation: str | Activation) -> tuple[Array, Array]:
    r"""$\beta_0-\alpha_0^2-\alpha_1^2$ and $\beta_2-\alpha_1^2-\alpha_2^2$, without cancellation.

    They are the squared $L^2(N(0,1))$ distances of $\phi'(\sigma z)$ and of $z\phi'(\sigma z)$ from
    span{1, z}, and are computed as such: both are positive unless phi is affine (FCL-A2 is
    automatic).
    """
    phi = get_activation(activation)
    a0, a1, a2 = (slope_moment(sigma, phi, q)[..., None] for q in range(3))
    first = _expect(sigma, lambda u, z: np.square(phi.derivative(u) - a0 - a1 * z))
    second = _expect(sigma, lambda u, z: np.square(z * phi.derivative(u) - a1 - a2 * z))
    return first, second


@states("FCL-DEF1", "FCL-F2", "FCL-A2")
def rho(sigma: ArrayLike, activation: str | Activation) -> Array:
    r"""$\rho(\sigma) = \min\{\beta_0-\alpha_0^2-\alpha_1^2,\ \beta_2-\alpha_1^2-\alpha_2^2\}$,
    elementwise in sigma.

    Parameters
    ----------
    sigma : positive numbers, the norms of the neurons.
    activation : twice differentiable; for an affine one rho = 0.

    Theory
    ------
    FCL-DEF1. The curvature of the population loss at a teacher with orthogonal neurons of norm
    sigma is $\rho/K^2$ (FCL-ORTH).
    """
    return np.minimum(*rho_terms(sigma, activation))


@states("FCL-GAM")
def value_moment(sigma: ArrayLike, activation: str | Activation, j: int) -> Array:
    r"""$\gamma_j(\sigma) = E[\phi(\sigma z)z^j]$, elementwise in sigma; j = 0..4."""
    phi = get_activation(activation)
    return _expect(sigma, lambda u, z: phi(u) * z ** _power(j, 4))


@states("FCL-GAM")
def hermite_moment(sigma: ArrayLike, activation: str | Activation, j: int) -> Array:
    r"""$m_j(\sigma) = E[\phi(\sigma z)He_j(z)] = \sigma^jE[\phi^{(j)}(\sigma z)]$, elementwise in
    sigma; j = 0..4.

    The moment tensors of a teacher are $M_j = \frac1K\sum_i m_j(\|w_i\|)\,\bar w_i^{\otimes j}$.
    """
    phi = get_activation(activation)
    return _expect(sigma, lambda u, z: phi(u) * hermite_polynomial(j, z))


@dataclass(frozen=True)
class MomentOrders:
    """Which moment tensors of an activation are zero, and the orders that the recovery reads.

    Attributes
    ----------
    vanishing : the j in 1..4 with m_j = 0 at every scale.
    magnitude : l_1, the first order that does not vanish.
    matrix : j_2 >= 2, the order contracted to the matrix P_2.
    tensor : j_3 >= 3, the order contracted to the tensor P_3.
    """

    vanishing: tuple[int, ...]
    magnitude: int
    matrix: int
    tensor: int


@states("FCL-GAM", "FCL-DEF3", "FCL-A3")
def moment_orders(activation: str | Activation) -> MomentOrders:
    r"""The orders $l_1, j_2, j_3$, decided from $m_j$ on five scales and never from data.

    Raises
    ------
    HypothesisError
        If M_1, both of M_2 and M_3, or both of M_3 and M_4 vanish: then no version of the algorithm
        applies (FCL-A3).
    """
    phi = get_activation(activation)
    return _moment_orders(phi)


@lru_cache(maxsize=64)
def _moment_orders(phi: Activation) -> MomentOrders:
    size = np.sqrt(_expect(PROBES, lambda u, z: np.square(phi(u))))
    vanishing = tuple(
        j
        for j in ORDERS
        if np.all(
            np.abs(hermite_moment(PROBES, phi, j)) <= ZERO * size * math.sqrt(math.factorial(j))
        )
    )
    if 1 in vanishing:
        raise HypothesisError(
            f"the first moment of {phi} vanishes, so the signs of neurons cannot be told; use an "
            "increasing activation",
            hypothesis="m_1 != 0",
            value=vanishing,
        )
    matrix = next((j for j in (2, 3) if j not in vanishing), None)
    tensor = next((j for j in (3, 4) if j not in vanishing), None)
    if matrix is None or tensor is None:
        raise HypothesisError(
            f"the moments of order {', '.join(map(str, vanishing))} of {phi} vanish, so neurons "
            "cannot be told apart (FCL-A3); "
            "use a nonlinear activation such as sigmoid, tanh or softplus",
            hypothesis="FCL-A3",
            value=vanishing,
        )
    return MomentOrders(vanishing, 1, matrix, tensor)


@states("FCL-A4", "FCL-GAM")
def first_moment_inverse(
    value: float, activation: str | Activation, *, largest: float = 100.0
) -> float:
    r"""The sigma in [0, largest] with $m_1(\sigma) = $ value; `largest` when the value is at or
    above $m_1$ there (a clip).

    Theory
    ------
    FCL-A4: $m_1' = \alpha_2 > 0$ for increasing activations, so the root is unique; errors grow by
    $1/\alpha_2$.
    """
    from scipy.optimize import brentq

    phi = get_activation(activation)
    if not value >= 0:
        raise DataError(f"value={value} must be >= 0: the absolute value of a first moment")
    if value <= float(hermite_moment(SHORTEST, phi, 1)):
        return 0.0
    if value >= float(hermite_moment(largest, phi, 1)):
        return largest
    root = brentq(lambda s: float(hermite_moment(s, phi, 1)) - value, SHORTEST, largest, xtol=1e-14)
    return float(root)  # pyright: ignore[reportArgumentType]


def saturation_norm(activation: str | Activation, *, largest: float = 100.0) -> float:
    r"""The norm above which neurons cannot be told apart by length: where $m_1' = \alpha_2$ falls
    below `SATURATED_SLOPE` b_1.

    About 5 for the sigmoid, 2.5 for tanh, `largest` for softplus, whose first moment grows for
    ever.
    """
    from scipy.optimize import brentq

    phi = get_activation(activation)
    floor = SATURATED_SLOPE * float(phi.supremum(1))
    if not math.isfinite(floor) or float(slope_moment(largest, phi, 2)) >= floor:
        return largest
    start = next(
        (s for s in np.geomspace(largest, 1e-3, 60) if float(slope_moment(s, phi, 2)) >= floor),
        None,
    )
    if start is None:
        return largest
    return float(brentq(lambda s: float(slope_moment(s, phi, 2)) - floor, start, largest))  # pyright: ignore[reportArgumentType]


def _power(q: int, most: int = 2) -> int:
    if q not in range(most + 1):
        raise DataError(f"the power {q!r} is not available; give an integer from 0 to {most}")
    return q


def _expect(sigma: ArrayLike, integrand) -> Array:  # noqa: ANN001  (a function of u = sigma z and z)
    scales = np.asarray(sigma, dtype=np.float64)
    if not (np.isfinite(scales).all() and (scales > 0).all()):
        raise DataError(f"sigma={sigma!r} must be positive and finite: the norm of a neuron")
    z, weights = nodes_and_weights(8)
    return integrand(scales[..., None] * z, z) @ weights

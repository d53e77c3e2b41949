r"""Networks with activation $\alpha z^2 + \beta z + \gamma$ as networks of squares on $(x, 1)$
(GKZ-C2.2).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from globalmin.errors import DataError
from globalmin.references import states
from globalmin.shallow.network import ShallowNetwork

if TYPE_CHECKING:
    from globalmin.activations import Activation


def require_coefficients(coefficients: tuple[float, float, float]) -> tuple[float, float, float]:
    r"""$(\alpha, \beta, \gamma)$ as finite floats with $\alpha \ne 0$."""
    alpha, beta, gamma = (float(value) for value in coefficients)
    if not all(map(math.isfinite, (alpha, beta, gamma))) or alpha == 0.0:
        raise DataError(
            f"coefficients={coefficients!r} must be finite (alpha, beta, gamma) with alpha != 0"
        )
    return alpha, beta, gamma


def quadratic_coefficients(network: ShallowNetwork) -> tuple[float, float, float]:
    r"""$(\alpha, \beta, \gamma)$ of a network whose activation is quadratic or a polynomial of
    degree two.
    """
    if network.activation.name == "quadratic":
        return 1.0, 0.0, 0.0
    c = network.activation.coefficients or ()
    if network.activation.name != "polynomial" or len(c) < 3 or any(c[3:]):
        raise DataError(
            f"activation {network.activation} is not quadratic; give 'quadratic' or "
            "'polynomial(c0,c1,c2)'"
        )
    return require_coefficients((c[2], c[1], c[0]))


def is_quadratic(activation: Activation) -> bool:
    r"""Whether phi is $\alpha z^2 + \beta z + \gamma$ with $\alpha \ne 0$: "quadratic" or a
    polynomial of degree two.
    """
    c = activation.coefficients or ()
    return activation.name == "quadratic" or (
        activation.name == "polynomial" and len(c) >= 3 and c[2] != 0 and not any(c[3:])
    )


@states("GKZ-C2.2")
def complete_square(network: ShallowNetwork) -> ShallowNetwork:
    r"""The same function as a network with activation $z^2$ on $(x, 1)$: one more feature, the
    constant 1 last, and one more neuron.

    Neuron $(v_l, w_l)$ becomes $(\alpha v_l, (w_l, \beta/2\alpha))$; the last neuron carries the
    constant $(\gamma - \beta^2/4\alpha)\sum_lv_l$.
    """
    alpha, beta, gamma = quadratic_coefficients(network)
    k, d = network.W.shape
    W = np.zeros((k + 1, d + 1))
    W[:k, :d], W[:k, d], W[k, d] = network.W, beta / (2.0 * alpha), 1.0
    constant = (gamma - beta**2 / (4.0 * alpha)) * float(network.v.sum())
    return ShallowNetwork(W, np.append(alpha * network.v, constant), "quadratic")

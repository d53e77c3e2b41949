r"""Networks with activation $\alpha z^2 + \beta z + \gamma$ as networks of squares on $(x, 1)$
(GKZ-C2.2), and the data on which a statement about the squares is one about the network.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from globalmin._types import Array
from globalmin.errors import DataError
from globalmin.references import states
from globalmin.shallow.network import ShallowNetwork, residual

if TYPE_CHECKING:
    from globalmin.activations import Activation

PIN = 64.0  # size of the row that holds the constant; a power of two, its square is exact


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
    return coefficients_of(network.activation)


def coefficients_of(activation: Activation) -> tuple[float, float, float]:
    r"""$(\alpha, \beta, \gamma)$ of such an activation."""
    if activation.name == "quadratic":
        return 1.0, 0.0, 0.0
    c = activation.coefficients or ()
    if activation.name != "polynomial" or len(c) < 3 or any(c[3:]):
        raise DataError(
            f"activation {activation} is not quadratic; give 'quadratic' or 'polynomial(c0,c1,c2)'"
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


@dataclass(frozen=True)
class Squares:
    """A network of squares, the data to compare it on, whether their last column is the constant 1,
    and what a reader of a proof about it must know.
    """

    network: ShallowNetwork
    X: Array
    y: Array
    bias: bool
    note: str


@states("GKZ-C2.2")
def as_squares(network: ShallowNetwork, X: Array, y: Array, *, trained: str = "W") -> Squares:
    r"""Squares and data such that a bound of the gap of the squares is one for the network among
    all networks with its activation (and, for trained "W", its head), of any W.

    - The last column of X is 1: it takes the shift $\beta/2\alpha$, and the same data serve.
    - $\beta = 0$, head frozen: the constant $c = \gamma\sum_lv_l$ goes to the labels, $y - c$.
    - Otherwise on (x, 1). The constant c is the same for all networks with this head, while squares
      on (x, 1) can change it. One further row $(0, K)$ ends that: all networks of the class have
      the value $K^2c$ there, so its term is one number for all of them, whatever its label. The
      label $K^2c + K^{-2}\sum_ir_i$ makes its residual the Lagrange multiplier of the constant, so
      that a minimum of the class is a minimum of all squares on the n + 1 rows.
    """
    alpha, beta, gamma = quadratic_coefficients(network)
    d, constant = X.shape[1], gamma * float(network.v.sum())
    says = (
        f"the activation {network.activation} was completed to squares: the file holds the network "
        "with z^2 that is the same function, its weights rounded to doubles, and weights of which "
        "it speaks are those of the squares"
    )
    if bool((X[:, -1] == 1.0).all()):
        merged = complete_square(network)
        W = merged.W[:, :d].copy()
        W[:, -1] += merged.W[:, d]
        return Squares(merged.with_weights(W=W), X, y, True, says)
    if beta == 0.0 and trained == "W":
        plain = ShallowNetwork(network.W, alpha * network.v, "quadratic")
        shifted = f"; the constant {constant:.6g} was subtracted from the labels"
        return Squares(plain, X, y - constant, False, says + (shifted if constant else ""))
    squares, ones = complete_square(network), np.ones((X.shape[0], 1))
    if trained == "vW" and gamma != 0.0:
        return Squares(squares, np.hstack([X, ones]), y, True, f"{says}, on (x, 1)")
    pin = np.append(np.zeros(d), PIN)
    multiplier = float(residual(network, X, y).sum()) / PIN**2
    rows, labels = np.vstack([np.hstack([X, ones]), pin]), np.append(y, 0.0)
    labels[-1] = float(squares.predict(pin[None, :])[0]) + multiplier
    row = (
        f", on (x, 1). One row (0, {PIN:g}) was added: there all networks with this head have one "
        f"value, so it adds {multiplier**2 / 2.0:.3g} to the loss of each and nothing to a gap"
    )
    return Squares(squares, rows, labels, False, says + row)

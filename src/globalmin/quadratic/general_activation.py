r"""General quadratic activations $\alpha z^2 + \beta z + \gamma$ (GKZ-C2.2), reduced to $z^2$.

Completing the square, $\alpha z^2 + \beta z + \gamma = \alpha(z + \tfrac{\beta}{2\alpha})^2 + \gamma - \tfrac{\beta^2}{4\alpha}$,
so a network of such neurons is one of square neurons on $(x, 1)$. Conversely pairs $\pm w$ cancel the linear term, and one neuron
supplies a prescribed one.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from globalmin.data.memory import matrix_bytes, require_memory
from globalmin.errors import DataError
from globalmin.linalg.symmetric import design_matrix
from globalmin.quadratic.risk import require_coefficients
from globalmin.references import states
from globalmin.shallow.network import ShallowNetwork

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from globalmin.activations import Activation

    Array = NDArray[np.float64]


def activation_name(coefficients: tuple[float, float, float]) -> str:
    r"""Spelling of $\alpha z^2 + \beta z + \gamma$ for `get_activation`: lowest degree first."""
    alpha, beta, gamma = require_coefficients(coefficients)
    return f"polynomial({gamma!r},{beta!r},{alpha!r})"


def quadratic_coefficients(network: ShallowNetwork) -> tuple[float, float, float]:
    r"""$(\alpha, \beta, \gamma)$ of a network whose activation is quadratic or a polynomial of degree two."""
    if network.activation.name == "quadratic":
        return 1.0, 0.0, 0.0
    c = network.activation.coefficients or ()
    if network.activation.name != "polynomial" or len(c) < 3 or any(c[3:]):
        raise DataError(f"activation {network.activation} is not quadratic; give 'quadratic' or 'polynomial(c0,c1,c2)'")
    return require_coefficients((c[2], c[1], c[0]))


def is_quadratic(activation: Activation) -> bool:
    r"""Whether phi is $\alpha z^2 + \beta z + \gamma$ with $\alpha \ne 0$: "quadratic" or a polynomial of degree two."""
    c = activation.coefficients or ()
    return activation.name == "quadratic" or (activation.name == "polynomial" and len(c) >= 3 and c[2] != 0 and not any(c[3:]))


@states("GKZ-C2.2")
def complete_square(network: ShallowNetwork) -> ShallowNetwork:
    r"""The same function as a network with activation $z^2$ on $(x, 1)$: one more feature, the constant 1 last, and one more
    neuron.

    Neuron $(v_l, w_l)$ becomes $(\alpha v_l, (w_l, \beta/2\alpha))$; the last neuron carries the constant $(\gamma -
    \beta^2/4\alpha)\sum_lv_l$.
    """
    alpha, beta, gamma = quadratic_coefficients(network)
    k, d = network.W.shape
    W = np.zeros((k + 1, d + 1))
    W[:k, :d], W[:k, d], W[k, d] = network.W, beta / (2.0 * alpha), 1.0
    constant = (gamma - beta**2 / (4.0 * alpha)) * float(network.v.sum())
    return ShallowNetwork(W, np.append(alpha * network.v, constant), "quadratic")  # pyright: ignore[reportArgumentType]


@states("GKZ-C2.2", "SJL-T2.1")
def estimate_general_gap(network: ShallowNetwork, X: Array, r: Array, *, trained: str = "W") -> float:
    r"""$L - \min L$ from above, over networks of any width with this quadratic activation: $(1/2)\|\Pi r\|^2$, in floats.

    On (x, 1) the functions of the class differ by symmetric matrices (`complete_square`): their entries are free, but those of
    x times 1 only if $\beta \ne 0$, and that of 1 times 1, the constant $\gamma\sum_lv_l$, only if the head is trained and
    $\gamma \ne 0$. $\Pi$ projects on the free monomials. Tight where enough heads of both signs are there.

    Parameters
    ----------
    network, X : weights and samples.
    r : residual of the network.
    trained : "W" (the class keeps the sum of the head) or "vW" (any head).
    """
    _, beta, gamma = quadratic_coefficients(network)
    n, d = X.shape
    rows, columns = np.triu_indices(d + 1)
    free = columns < d
    if beta != 0.0:
        free |= (columns == d) & (rows < d)
    if gamma != 0.0 and trained == "vW":
        free |= rows == d
    require_memory(matrix_bytes(n, free.size, copies=3), f"the {free.size} monomials of {n} samples")
    features = design_matrix(np.hstack([X, np.ones((n, 1))]))[:, free]
    projected = features @ np.linalg.lstsq(features, r, rcond=None)[0]
    return 0.5 * float(projected @ projected)


@states("GKZ-C2.2")
def general_network(M: Array, b: Array, coefficients: tuple[float, float, float]) -> ShallowNetwork:
    r"""A network with activation $\alpha z^2 + \beta z + \gamma$ that equals $x^TMx + b \cdot x$ exactly: 4d + 2 neurons, half of
    them with v = 1, half -1.

    The constants cancel since the head sums to zero. One neuron h = b/beta carries the linear part; its square is taken out of M,
    whose eigenvalues then sit on pairs $\pm w$. With $\beta = 0$ a nonzero b cannot be represented.
    """
    alpha, beta, _ = require_coefficients(coefficients)
    d = M.shape[0]
    if beta == 0.0 and b.any():
        raise DataError("beta = 0, so the network has no linear part; append a constant feature and give b = 0")
    h = b / beta if beta != 0.0 else np.zeros(d)
    eigenvalues, vectors = np.linalg.eigh((M - alpha * np.outer(h, h)) / alpha)
    v = np.repeat([1.0, -1.0], 2 * d + 1)
    W = np.zeros((4 * d + 2, d))
    W[0] = h
    free = {1.0: 1, -1.0: 2 * d + 1}
    for value, q in zip(eigenvalues, vectors.T, strict=True):
        sign = 1.0 if value > 0 else -1.0
        w = math.sqrt(abs(value) / 2.0) * q
        W[free[sign]], W[free[sign] + 1] = w, -w
        free[sign] += 2
    return ShallowNetwork(W, v, activation_name(coefficients))  # pyright: ignore[reportArgumentType]

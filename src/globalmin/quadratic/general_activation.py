r"""General quadratic activations $\alpha z^2 + \beta z + \gamma$ (GKZ-C2.2), reduced to $z^2$.

Completing the square, $\alpha z^2 + \beta z + \gamma = \alpha(z + \tfrac{\beta}{2\alpha})^2 +
\gamma - \tfrac{\beta^2}{4\alpha}$, so a network of such neurons is one of square neurons on $(x,
1)$. Conversely pairs $\pm w$ cancel the linear term, and one neuron supplies a prescribed one.
"""

from __future__ import annotations

import math

import numpy as np

from globalmin._types import Array
from globalmin.data.memory import matrix_bytes, require_memory
from globalmin.errors import DataError
from globalmin.linalg.symmetric import design_matrix
from globalmin.references import states
from globalmin.shallow.complete_square import quadratic_coefficients, require_coefficients
from globalmin.shallow.network import ShallowNetwork


def activation_name(coefficients: tuple[float, float, float]) -> str:
    r"""Spelling of $\alpha z^2 + \beta z + \gamma$ for `get_activation`: lowest degree first."""
    alpha, beta, gamma = require_coefficients(coefficients)
    return f"polynomial({gamma!r},{beta!r},{alpha!r})"


@states("GKZ-C2.2", "SJL-T2.1")
def estimate_general_gap(
    network: ShallowNetwork, X: Array, r: Array, *, trained: str = "W"
) -> float:
    r"""$L - \min L$ from above, over networks of any width with this quadratic activation:
    $(1/2)\|\Pi r\|^2$, in floats.

    On (x, 1) the functions of the class differ by symmetric matrices (`complete_square`): their
    entries are free, but those of x times 1 only if $\beta \ne 0$, and that of 1 times 1, the
    constant $\gamma\sum_lv_l$, only if the head is trained and $\gamma \ne 0$. $\Pi$ projects on
    the free monomials. Tight where enough heads of both signs are there.

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
    require_memory(
        matrix_bytes(n, free.size, copies=3), f"the {free.size} monomials of {n} samples"
    )
    features = design_matrix(np.hstack([X, np.ones((n, 1))]))[:, free]
    projected = features @ np.linalg.lstsq(features, r, rcond=None)[0]
    return 0.5 * float(projected @ projected)


@states("GKZ-C2.2")
def general_network(M: Array, b: Array, coefficients: tuple[float, float, float]) -> ShallowNetwork:
    r"""A network with activation $\alpha z^2 + \beta z + \gamma$ that equals $x^TMx + b \cdot x$
    exactly: 4d + 2 neurons, half of them with v = 1, half -1.

    The constants cancel since the head sums to zero. One neuron h = b/beta carries the linear part;
    its square is taken out of M, whose eigenvalues then sit on pairs $\pm w$. With $\beta = 0$ a
    nonzero b cannot be represented.
    """
    alpha, beta, _ = require_coefficients(coefficients)
    d = M.shape[0]
    if beta == 0.0 and b.any():
        raise DataError(
            "beta = 0, so the network has no linear part; append a constant feature and give b = 0"
        )
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
    return ShallowNetwork(W, v, activation_name(coefficients))

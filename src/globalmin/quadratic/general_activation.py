r"""General quadratic activations $\alpha z^2 + \beta z + \gamma$ (GKZ-C2.2), reduced to $z^2$.

Completing the square, $\alpha z^2 + \beta z + \gamma = \alpha(z + \tfrac{\beta}{2\alpha})^2 +
\gamma - \tfrac{\beta^2}{4\alpha}$, so a network of such neurons is one of square neurons on $(x,
1)$. Conversely pairs $\pm w$ cancel the linear term, and one neuron supplies a prescribed one.
"""

from __future__ import annotations

import math

import numpy as np

from globalmin._options import Trained
from globalmin._types import Array
from globalmin.data.validation import matrix_bytes, require_memory
from globalmin.errors import DataError
from globalmin.linalg.symmetric import design_matrix, unsvec
from globalmin.quadratic.solve import TOL, QuadraticSolution, checked_data, solved
from globalmin.references import states
from globalmin.shallow.complete_square import quadratic_coefficients, require_coefficients
from globalmin.shallow.network import ShallowNetwork, outputs


def activation_name(coefficients: tuple[float, float, float]) -> str:
    r"""Spelling of $\alpha z^2 + \beta z + \gamma$ for `get_activation`: lowest degree first."""
    alpha, beta, gamma = require_coefficients(coefficients)
    return f"polynomial({gamma!r},{beta!r},{alpha!r})"


@states("GKZ-C2.2", "SJL-T2.1")
def estimate_general_gap(
    network: ShallowNetwork, X: Array, r: Array, *, trained: Trained = "W"
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


@states("GKZ-C2.2")
def solve_general_quadratic(
    X: object, y: object, coefficients: tuple[float, float, float], *, tol: float = TOL
) -> QuadraticSolution:
    r"""The global minimum of L over networks $\sum_lv_l(\alpha z_l^2 + \beta z_l + \gamma)$ whose
    head sums to zero.

    The width is any. Such networks are exactly the functions $x^TMx + b \cdot x$ (b = 0 if $\beta =
    0$), so this is least squares on the monomials of degree two and, unless $\beta = 0$, one. For a
    free constant append the constant feature 1. The network returned has 4d + 2 neurons with head
    +-1.

    Parameters
    ----------
    X, y : samples (n x d) and labels (n).
    coefficients : $(\alpha, \beta, \gamma)$ with $\alpha \ne 0$.
    """
    samples, labels = checked_data(X, y)
    _, beta, _ = require_coefficients(coefficients)
    n, d = samples.shape
    require_memory(
        matrix_bytes(n, d * (d + 3) // 2, copies=3),
        f"least squares on the {d * (d + 3) // 2} monomials of {n} samples",
    )
    S = design_matrix(samples)
    features = np.hstack([S, samples]) if beta != 0.0 else S
    solution = np.asarray(np.linalg.lstsq(features, labels, rcond=None)[0], dtype=np.float64)
    b = solution[S.shape[1] :] if beta != 0.0 else np.zeros(d)
    r = features @ solution - labels
    correction = features @ np.linalg.lstsq(features, r, rcond=None)[0]
    network = general_network(unsvec(solution[: S.shape[1]]), b, coefficients)
    loss, excess = _half_square(outputs(network, samples) - labels), _half_square(correction)
    scale = _half_square(labels)
    lower = 0.0 if loss <= 1e-3 * tol * scale else max(_half_square(r) - excess, 0.0)
    is_close = loss - lower <= max(tol * loss, 1e-3 * tol * scale)
    run = solved(
        network,
        is_close=is_close,
        gap=loss - lower,
        losses=(scale, loss),
        n_iter=1,
        method="least squares",
    )
    return QuadraticSolution.of(
        run,
        M=unsvec(solution[: S.shape[1]]),
        objective=loss,
        lower_estimate=lower,
        gap=loss - lower,
        dual=r,
        weight_decay=0.0,
    )


def _half_square(vector: Array) -> float:
    return 0.5 * float(vector @ vector)

r"""From the least-squares weights to the maximum of the likelihood of binary labels, by Fisher
scoring (not in the paper).

Binary labels have variance p(1-p), which the squared loss ignores; weighting by its inverse is
asymptotically the best there is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from globalmin._types import Array
from globalmin.linalg.symmetric import row_blocks
from globalmin.recovery.geometry import check_local_inputs, local_activation

if TYPE_CHECKING:
    from globalmin.activations import Activation


SMALLEST = 1e-9  # probabilities are kept this far from 0 and 1


def log_likelihood(X: Array, y: Array, W: Array, activation: str | Activation) -> float:
    r"""$\frac1n\sum_iy_i\log p_i + (1-y_i)\log(1-p_i)$ with $p_i = \frac1K\sum_k\phi(w_k\cdot
    x_i)$.
    """
    phi, total = local_activation(activation), 0.0
    check_local_inputs(W, X, y)
    for rows in row_blocks(*X.shape):
        p = _probabilities(phi(X[rows] @ W.T))
        total += float((y[rows] * np.log(p) + (1.0 - y[rows]) * np.log1p(-p)).sum())
    return total / X.shape[0]


def likelihood_refinement(
    X: Array, y: Array, W: Array, activation: str | Activation, *, most: int = 25
) -> Array:
    """Fisher scoring from W with halved steps until the likelihood no longer rises; W itself if it
    never does.
    """
    phi, best = local_activation(activation), log_likelihood(X, y, W, activation)
    for _ in range(most):
        move, length = _scoring_step(X, y, W, phi), 1.0
        while length > 1e-3:
            trial = W + length * move
            value = log_likelihood(X, y, trial, phi)
            if value > best:
                break
            length /= 2.0
        else:
            return W
        done = value - best < 1e-14 * max(1.0, abs(best))
        W, best = trial, value
        if done:
            return W
    return W


def _probabilities(values: Array) -> Array:
    return np.clip(values.mean(axis=1), SMALLEST, 1.0 - SMALLEST)


def _scoring_step(X: Array, y: Array, W: Array, phi: Activation) -> Array:
    (n, d), K = X.shape, W.shape[0]
    information, score = np.zeros((K * d, K * d)), np.zeros(K * d)
    for rows in row_blocks(n, K * d):
        part = X[rows]
        Z = part @ W.T
        p = _probabilities(phi(Z))
        weights = 1.0 / (p * (1.0 - p))
        J = ((phi.derivative(Z) / K)[:, :, None] * part[:, None, :]).reshape(len(part), K * d)
        information += (J * weights[:, None]).T @ J
        score += J.T @ (weights * (y[rows] - p))
    move = np.asarray(np.linalg.lstsq(information, score, rcond=None)[0], dtype=np.float64)
    return move.reshape(W.shape)

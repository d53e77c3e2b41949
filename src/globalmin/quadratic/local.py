"""Descent on the weights of a narrow quadratic network, where no theorem makes every local minimum
global.
"""

from __future__ import annotations

import numpy as np

from globalmin._types import Array
from globalmin.quadratic.duality import network_objective


def local_minimum(
    X: Array, y: Array, W0: Array, v: Array, *, weight_decay: float = 0.0, max_iter: int = 2_000
) -> tuple[Array, int]:
    r"""A local minimum of $L + (w/2)\|W\|_F^2$ over W by L-BFGS from $W_0$, and the iterations;
    cost nkd each.
    """
    from scipy.optimize import minimize

    unit = max(0.5 * float(y @ y), np.finfo(np.float64).tiny)

    def value_and_gradient(theta: Array) -> tuple[float, Array]:
        W = theta.reshape(W0.shape)
        outputs = X @ W.T
        r = np.square(outputs) @ v - y
        gradient = 2.0 * v[:, None] * ((outputs * r[:, None]).T @ X) + weight_decay * W
        value = 0.5 * float(r @ r) + 0.5 * weight_decay * float(theta @ theta)
        return value / unit, gradient.ravel() / unit

    settings = {
        "maxcor": 30,
        "maxiter": max_iter,
        "maxfun": 10 * max_iter,
        "ftol": 1e-16,
        "gtol": 1e-13,
    }
    found = minimize(value_and_gradient, W0.ravel(), jac=True, method="L-BFGS-B", options=settings)
    return found.x.reshape(W0.shape), int(found.nit)


def best_local_minimum(
    X: Array, y: Array, start: Array, v: Array, *, weight_decay: float, starts: int, seed: int
) -> tuple[Array, int]:
    """The best of the local minima from `start` and from random starts of the same size, and all
    iterations.
    """
    rng = np.random.default_rng(seed)
    size = max(
        float(np.linalg.norm(start)) / np.sqrt(start.size),
        1e-3 * float(np.sqrt(np.abs(y).max())) / float(np.abs(X).max()),
    )
    # zero rows never move, so the first start is stirred a little as well
    first = start + 1e-3 * size * rng.standard_normal(start.shape)
    others = [size * rng.standard_normal(start.shape) for _ in range(starts - 1)]
    found = [local_minimum(X, y, W0, v, weight_decay=weight_decay) for W0 in (first, *others)]
    best = min(
        (W for W, _ in found),
        key=lambda W: network_objective(W, v, X, y, weight_decay=weight_decay),
    )
    return best, sum(count for _, count in found)

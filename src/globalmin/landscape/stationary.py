r"""A stationary point near given weights, saddle or minimum alike: damped Newton steps on the gradient."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from globalmin.errors import DataError
from globalmin.landscape.hessian import check_landscape_inputs, gradient, hessian

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from globalmin.networks.shallow import ShallowNetwork

    Array = NDArray[np.float64]

MOST_PARAMETERS = 1_500  # the Hessian is formed and factored in every step


def nearest_stationary(network: ShallowNetwork, X: Array, y: Array, *, tol: float = 1e-12, max_iter: int = 200) -> ShallowNetwork:
    r"""Weights W near the given ones with $\|\nabla_WL\|$ at most `tol` times its value there, or the least found.

    Levenberg-Marquardt on $\frac12\|\nabla L\|^2$: steps $-(H^2 + \mu I)^{-1}Hg$, which do not care whether the point is a
    saddle. It may end where $Hg = 0$ and $g \ne 0$; look at the gradient of the result.
    """
    check_landscape_inputs(network, X, y, "W")
    if network.W.size > MOST_PARAMETERS:
        raise DataError(f"{network.W.size} weights are too many for the Hessian of every step; at most {MOST_PARAMETERS}")
    g = gradient(network, X, y)[0].ravel()
    goal, mu = tol * float(np.linalg.norm(g)), 1e-3
    for _ in range(max_iter):
        norm = float(np.linalg.norm(g))
        if not norm > goal:
            break
        eigenvalues, vectors = np.linalg.eigh(hessian(network, X, y))
        scale = float(np.max(eigenvalues**2))
        moved, g_moved = network, g
        while mu < 1e6:
            step = vectors @ (eigenvalues * (vectors.T @ g) / (eigenvalues**2 + mu * scale))
            moved = network.with_weights(network.W - step.reshape(network.W.shape))
            g_moved = gradient(moved, X, y)[0].ravel()
            if float(np.linalg.norm(g_moved)) < norm:
                break
            mu *= 8.0
        else:
            break
        network, g, mu = moved, g_moved, max(mu / 8.0, 1e-30)
    return network

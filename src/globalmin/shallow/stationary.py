r"""A stationary point near given weights, saddle or minimum alike: damped Newton steps on the
gradient.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from globalmin._types import Array
from globalmin.errors import DataError
from globalmin.shallow.hessian import check_landscape_inputs, gradient, hessian

if TYPE_CHECKING:
    from globalmin.shallow.network import ShallowNetwork


MOST_PARAMETERS = 1_500  # the Hessian is formed and factored in every step


def nearest_stationary(
    network: ShallowNetwork,
    X: Array,
    y: Array,
    *,
    trained: str = "W",
    tol: float = 1e-12,
    max_iter: int = 200,
) -> ShallowNetwork:
    r"""Weights near the given ones with $\|\nabla L\|$ at most `tol` times its value there, or the
    least found.

    Levenberg-Marquardt on $\frac12\|\nabla L\|^2$: steps $-(H^2 + \mu I)^{-1}Hg$, which do not care
    whether the point is a saddle. It may end where $Hg = 0$ and $g \ne 0$; look at the gradient of
    the result.

    Parameters
    ----------
    network : ShallowNetwork
        The start and the data.
    X, y : Array
        The start and the data.
    trained : str
        "W" or "vW", the weights that move.
    tol : float
        Part of the gradient that may be left.
    max_iter : int
        Steps, each with the eigenvalues of a Hessian.
    """
    check_landscape_inputs(network, X, y, trained)
    size = network.W.size + (network.width if trained == "vW" else 0)
    if size > MOST_PARAMETERS:
        raise DataError(
            f"{size} weights are too many for the Hessian of every step; at most {MOST_PARAMETERS}"
        )
    g = _flat_gradient(network, X, y, trained)
    goal, mu = tol * float(np.linalg.norm(g)), 1e-3
    for _ in range(max_iter):
        norm = float(np.linalg.norm(g))
        if not norm > goal:
            break
        eigenvalues, vectors = np.linalg.eigh(hessian(network, X, y, trained=trained))
        scale = float(np.max(eigenvalues**2))
        moved, g_moved = network, g
        while mu < 1e6:
            step = vectors @ (eigenvalues * (vectors.T @ g) / (eigenvalues**2 + mu * scale))
            moved = _stepped(network, step, trained)
            g_moved = _flat_gradient(moved, X, y, trained)
            if float(np.linalg.norm(g_moved)) < norm:
                break
            mu *= 8.0
        else:
            break
        network, g, mu = moved, g_moved, max(mu / 8.0, 1e-30)
    return network


def _flat_gradient(network: ShallowNetwork, X: Array, y: Array, trained: str) -> Array:
    """Gradient in the order of the Hessian: v first, then W row by row."""
    in_W, in_v = gradient(network, X, y, trained=trained)
    return in_W.ravel() if in_v is None else np.concatenate([in_v, in_W.ravel()])


def _stepped(network: ShallowNetwork, step: Array, trained: str) -> ShallowNetwork:
    head = network.width if trained == "vW" else 0
    W = network.W - step[head:].reshape(network.W.shape)
    return network.with_weights(W, network.v - step[:head] if head else None)

"""How far gradient, Hessian and curvature of the loss may be off in floats: estimates that the
classification of points and the producers of certificates share.
"""

from __future__ import annotations

import numpy as np

from globalmin._types import Array
from globalmin.shallow.lipschitz import output_rounding
from globalmin.shallow.network import ShallowNetwork, preactivations

EPS = float(np.finfo(np.float64).eps)


def gradient_rounding(network: ShallowNetwork, X: Array, y: Array, *, trained: str) -> float:
    """Estimated norm of the rounding error of the gradient: of the residual and of the products."""
    Z, phi = preactivations(network, X), network.activation
    rounding = output_rounding(network, X, y) + 16.0 * EPS * np.abs(phi(Z) @ network.v - y)
    slopes = (np.abs(phi.derivative(Z)) + EPS * np.abs(phi.derivative(Z, order=2))) * np.abs(
        network.v
    )
    noise = float(np.linalg.norm((slopes * rounding[:, None]).T @ np.abs(X)))
    if trained == "vW":
        noise += float(np.linalg.norm(np.abs(phi(Z)).T @ rounding))
    return noise


def hessian_rounding(network: ShallowNetwork, X: Array, y: Array) -> float:
    """Estimated norm of the rounding error of the Hessian as it is formed; its eigenvalue routine
    comes on top.
    """
    Z, phi = preactivations(network, X), network.activation
    norms = np.linalg.norm(X, axis=1)
    slopes = np.linalg.norm(
        np.abs(phi.derivative(Z)) * np.abs(network.v), axis=1
    ) * norms + np.linalg.norm(phi(Z), axis=1)
    bends = (
        np.max(np.abs(phi.derivative(Z, order=2)) * np.maximum(np.abs(network.v), 1.0), axis=1)
        * norms**2
    )
    rounding = output_rounding(network, X, y) + 4.0 * EPS * np.abs(phi(Z) @ network.v - y)
    return 8.0 * EPS * float(slopes @ slopes) + float(rounding @ bends)


def curvature_rounding(
    network: ShallowNetwork, X: Array, y: Array, U: Array, u: Array | None = None
) -> float:
    """Estimated rounding error of `curvature_along` a direction."""
    Z, phi = preactivations(network, X), network.activation
    r, moved = np.abs(phi(Z) @ network.v - y), np.abs(X) @ np.abs(U).T
    first, second = np.abs(phi.derivative(Z)), np.abs(phi.derivative(Z, order=2))
    along = (first * moved) @ np.abs(network.v) + (0.0 if u is None else np.abs(phi(Z)) @ np.abs(u))
    bent = (second * moved**2) @ np.abs(network.v) + (
        0.0 if u is None else 2.0 * (first * moved) @ np.abs(u)
    )
    return 8.0 * sum(U.shape) * EPS * float(along @ along + r @ bent) + float(
        output_rounding(network, X, y) @ bent
    )

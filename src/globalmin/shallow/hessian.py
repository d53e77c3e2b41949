r"""Gradient and Hessian of $L = (1/2)\sum_i r_i^2$ for smooth shallow networks, in closed form
(SJL-D1 to SJL-D4).

The papers' loss is 1/n of this one. Parameters are ordered v first (when the head is trained), then
W row by row; trained is "W" or "vW".
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from globalmin._options import TRAINED, Trained, one_of
from globalmin._types import Array
from globalmin.data.validation import matrix_bytes, require_memory
from globalmin.errors import DataError, HypothesisError
from globalmin.linalg.quartic import largest_eigenvalue
from globalmin.linalg.symmetric import moment_matrix, row_blocks
from globalmin.references import states
from globalmin.shallow.lipschitz import estimate_lipschitz, output_rounding
from globalmin.shallow.network import (
    ShallowNetwork,
    head_gradient,
    jacobian_gram,
    jacobian_transpose_times,
    preactivations,
    residual,
)

if TYPE_CHECKING:
    from globalmin.shallow.network import ShallowNetwork


def check_landscape_inputs(network: ShallowNetwork, X: Array, y: Array, trained: Trained) -> None:
    """Refuse kinked activations, unknown parameter sets and data of another shape, with the
    remedy.
    """
    one_of("trained", trained, TRAINED)
    if not network.activation.is_smooth:
        raise HypothesisError(
            f"activation {network.activation} has kinks, so there is no Hessian; use a smooth one",
            hypothesis="smooth",
            value=str(network.activation),
        )
    if (
        X.ndim != 2
        or X.shape[1] != network.n_features
        or y.shape != (X.shape[0],)
        or X.shape[0] == 0
    ):
        raise DataError(
            f"X has shape {X.shape} and y {y.shape}; the network takes {network.n_features} "
            "features and one label per row"
        )


@states("SJL-D1")
def gradient(
    network: ShallowNetwork, X: Array, y: Array, *, trained: Trained = "W"
) -> tuple[Array, Array | None]:
    r"""$\nabla_WL = D_v\phi'(WX^T)\mathrm{diag}(r)X$ and, for both layers, $\nabla_vL =
    \phi(WX^T)r$ (None otherwise).
    """
    check_landscape_inputs(network, X, y, trained)
    r = residual(network, X, y)
    return jacobian_transpose_times(network, X, r), head_gradient(
        network, X, r
    ) if trained == "vW" else None


def gradient_norm(network: ShallowNetwork, X: Array, y: Array, *, trained: Trained = "W") -> float:
    """Euclidean norm of the gradient over the trained parameters."""
    in_W, in_v = gradient(network, X, y, trained=trained)
    return math.hypot(
        float(np.linalg.norm(in_W)), 0.0 if in_v is None else float(np.linalg.norm(in_v))
    )


@states("SJL-D2")
def hessian(network: ShallowNetwork, X: Array, y: Array, *, trained: Trained = "W") -> Array:
    r"""The dense Hessian, p x p with p = kd (trained "W") or k + kd ("vW").

    $H_{WW} = J^TJ + \mathrm{blockdiag}_p(v_p\sum_ir_i\phi''(z_{ip})x_ix_i^T)$, $H_{vv} =
    \phi^T\phi$ and the cross block $\sum_i\phi(z_{ip})v_q\phi'(z_{iq})x_i +
    1\{p=q\}\sum_ir_i\phi'(z_{ip})x_i$, which the paper leaves out.
    """
    check_landscape_inputs(network, X, y, trained)
    (k, d), head = network.W.shape, network.width if trained == "vW" else 0
    require_memory(
        matrix_bytes(head + k * d, head + k * d, copies=3),
        f"the Hessian of {head + k * d} parameters",
    )
    H = np.zeros((head + k * d, head + k * d))
    for rows in row_blocks(X.shape[0], head + k * d):
        J = _jacobian(network, X[rows], trained)
        H += J.T @ J
    r = residual(network, X, y)
    blocks = curvature_blocks(network, X, r)
    slopes = (network.activation.derivative(preactivations(network, X)) * r[:, None]).T @ X
    for q in range(k):
        place = slice(head + q * d, head + (q + 1) * d)
        H[place, place] += blocks[q]
        if head:
            H[q, place] += slopes[q]
            H[place, q] += slopes[q]
    return H


def _jacobian(network: ShallowNetwork, X: Array, trained: Trained) -> Array:
    Z = preactivations(network, X)
    S = network.activation.derivative(Z) * network.v
    J = (S[:, :, None] * X[:, None, :]).reshape(X.shape[0], -1)
    return np.hstack([network.activation(Z), J]) if trained == "vW" else J


def curvature_blocks(network: ShallowNetwork, X: Array, r: Array) -> Array:
    r"""$v_l\sum_ir_i\phi''(z_{il})x_ix_i^T$ for every neuron, k x d x d: the Hessian in W minus
    $J^TJ$.
    """
    second = network.activation.derivative(preactivations(network, X), order=2) * network.v
    return np.stack([moment_matrix(X, r * second[:, q]) for q in range(network.width)])


@states("SJL-D2")
def hessian_times(
    network: ShallowNetwork, X: Array, y: Array, U: Array, u: Array | None = None
) -> tuple[Array, Array | None]:
    r"""Product of the Hessian with a direction (U in W, u in v; u = None for "W" only), without
    forming it; cost O(nkd).
    """
    check_landscape_inputs(network, X, y, "W")
    Z, r, v = preactivations(network, X), residual(network, X, y), network.v
    phi, first, second = (
        network.activation(Z),
        network.activation.derivative(Z),
        network.activation.derivative(Z, order=2),
    )
    moved = X @ U.T
    tangent = (first * v * moved).sum(axis=1) + (0.0 if u is None else phi @ u)
    weights = first * v * tangent[:, None] + second * v * moved * r[:, None]
    if u is None:
        return weights.T @ X, None
    in_v = phi.T @ tangent + (first * moved).T @ r
    return (weights + first * u * r[:, None]).T @ X, in_v


@states("SJL-D2")
def curvature_along(
    network: ShallowNetwork, X: Array, y: Array, U: Array, u: Array | None = None
) -> float:
    r"""$\|r'\|^2 + r \cdot r''$ along the direction (U, u), the quadratic form of the Hessian (not
    divided by the squared length).
    """
    Z, r, v = preactivations(network, X), residual(network, X, y), network.v
    first, second, moved = (
        network.activation.derivative(Z),
        network.activation.derivative(Z, order=2),
        X @ U.T,
    )
    r1, r2 = (first * moved) @ v, (second * moved**2) @ v
    if u is not None:
        r1, r2 = r1 + network.activation(Z) @ u, r2 + 2.0 * (first * moved) @ u
    return float(r1 @ r1) + float(r @ r2)


@states("SJL-D3")
def quadratic_hessian_form(W: Array, v: Array, X: Array, y: Array, U: Array) -> float:
    r"""For $\phi = z^2$: $2\langle U^TD_vU, Z\rangle + 4\sum_i(x_i^TW^TD_vUx_i)^2$ with $Z =
    \sum_ir_ix_ix_i^T$ (the paper's second factor is half of it).
    """
    outputs, moved = X @ W.T, X @ U.T
    r = np.square(outputs) @ v - y
    mixed = (outputs * moved) @ v
    return 2.0 * float(np.sum(moved**2 @ v * r)) + 4.0 * float(mixed @ mixed)


@states("SJL-D3")
def quadratic_gradient(W: Array, v: Array, X: Array, y: Array) -> Array:
    r"""For $\phi = z^2$: $\nabla_WL = 2D_vWZ$; $\langle W, \nabla L\rangle = 2\langle M, Z\rangle$
    (Euler).
    """
    r = np.square(X @ W.T) @ v - y
    return 2.0 * v[:, None] * (W @ moment_matrix(X, r))


def estimate_least_eigenvalue_below(network: ShallowNetwork, X: Array, y: Array) -> float:
    r"""A lower bound of $\lambda_{\min}$ of the Hessian in W, in floats: the least eigenvalue of
    the k curvature blocks; cost k n d^2.

    True since $J^TJ \ge 0$ (route B of the second-order-stationary claim); no p x p matrix is
    formed.
    """
    blocks = curvature_blocks(network, X, residual(network, X, y))
    return min(float(np.linalg.eigvalsh(block)[0]) for block in blocks)


@states("SJL-D4")
def estimate_hessian_norm(
    network: ShallowNetwork, X: Array, y: Array, *, trained: Trained = "W"
) -> float:
    r"""$\|J\|^2 + \mathrm{Lip}\,\|r\|$, an upper bound of the norm of the Hessian up to rounding
    (SJL-D4 corrected).
    """
    check_landscape_inputs(network, X, y, trained)
    Lip = estimate_lipschitz(network, X, 0.0, trained=trained)
    norm = float(np.linalg.norm(residual(network, X, y)))
    return largest_eigenvalue(jacobian_gram(network, X, trained=trained)) + Lip * norm


EPS = float(np.finfo(np.float64).eps)


def gradient_rounding(network: ShallowNetwork, X: Array, y: Array, *, trained: Trained) -> float:
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

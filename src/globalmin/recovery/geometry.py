r"""Loss, gradient, Hessian with its two parts, and third derivative of the squared loss of a
network with head 1/K.

$f_n(W) = \frac1{2n}\sum_i(\frac1K\sum_k\phi(w_k\cdot x_i) - y_i)^2$. The papers store W as d x K by
columns; here it is K x d by rows, so that their vec(W) is `W.reshape(-1)`. The head is 1/K and the
loss 1/(2n): n times it is the loss of the rest of globalmin for a network with v = 1/K. Samples are
streamed in blocks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from globalmin._types import Array, ArrayLike
from globalmin.activations import get_activation
from globalmin.data.validation import matrix_bytes, require_memory
from globalmin.errors import DataError, HypothesisError
from globalmin.linalg.symmetric import row_blocks
from globalmin.references import states
from globalmin.shallow.lipschitz import third_derivative
from globalmin.shallow.network import ShallowNetwork

if TYPE_CHECKING:
    from globalmin.activations import Activation


def local_activation(activation: str | Activation) -> Activation:
    """The activation, refused unless three times differentiable with a bounded slope (FCL-A1)."""
    phi = get_activation(activation)
    if not phi.is_smooth or not np.isfinite(float(phi.supremum(1))):
        raise HypothesisError(
            f"activation {phi} has kinks or an unbounded slope; use a smooth one with bounded "
            "slope such as sigmoid or softplus",
            hypothesis="FCL-A1",
            value=str(phi),
        )
    return phi


def check_local_inputs(W: Array, X: Array, y: Array) -> None:
    """Refuse shapes that do not fit: W K x d, X n x d, y (n,)."""
    if (
        W.ndim != 2
        or X.ndim != 2
        or W.shape[1] != X.shape[1]
        or y.shape != (X.shape[0],)
        or 0 in (*W.shape, *X.shape)
    ):
        raise DataError(
            f"W has shape {W.shape}, X {X.shape}, y {y.shape}; they must be (K, d), (n, d) and "
            "(n,), none empty"
        )


@states("FCL-D1", "FCL-SYM")
def empirical_loss_and_gradient(
    W: Array, X: Array, y: Array, activation: str | Activation
) -> tuple[float, Array]:
    r"""$f_n(W)$ and its gradient $\frac1{nK}\sum_ie_i\phi'(w_j\cdot x_i)x_i$ by rows, K x d; cost
    4ndK, memory one block.
    """
    phi = get_activation(activation)
    check_local_inputs(W, X, y)
    n, K = X.shape[0], W.shape[0]
    total, G = 0.0, np.zeros(W.shape)
    for rows in row_blocks(*X.shape):
        part = X[rows]
        Z = part @ W.T
        e = phi(Z).mean(axis=1) - y[rows]
        total += float(e @ e)
        G += (phi.derivative(Z) * e[:, None]).T @ part
    return total / (2 * n), G / (n * K)


def empirical_loss(W: Array, X: Array, y: Array, activation: str | Activation) -> float:
    r"""$f_n(W)$."""
    return empirical_loss_and_gradient(W, X, y, activation)[0]


@dataclass(frozen=True)
class HessianParts:
    """The Gauss-Newton part G_0 (positive semidefinite) and the residual part N_0 (block diagonal)
    of a Hessian, Kd x Kd.
    """

    gauss_newton: Array
    residual: Array

    @property
    def total(self) -> Array:
        """The Hessian."""
        return self.gauss_newton + self.residual


@states("FCL-D2")
def hessian_parts(W: Array, X: Array, y: Array, activation: str | Activation) -> HessianParts:
    r"""$G_0 = \frac1n\sum_i(\phi'_j\phi'_l/K^2)\,x_ix_i^T$ and $N_0 =
    \frac1n\sum_i(e_i\phi''_j/K)\,x_ix_i^T$ on the diagonal.
    """
    phi = local_activation(activation)
    check_local_inputs(W, X, y)
    (n, d), K = X.shape, W.shape[0]
    require_memory(matrix_bytes(K * d, K * d, copies=4), f"the Hessian of {K * d} weights")
    G0, N0 = np.zeros((K * d, K * d)), np.zeros((K * d, K * d))
    for rows in row_blocks(n, K * d):
        part = X[rows]
        Z = part @ W.T
        J = ((phi.derivative(Z) / K)[:, :, None] * part[:, None, :]).reshape(len(part), K * d)
        G0 += J.T @ J
        weights = phi.derivative(Z, order=2) * (phi(Z).mean(axis=1) - y[rows])[:, None] / K
        for j in range(K):
            place = slice(j * d, (j + 1) * d)
            N0[place, place] += (part * weights[:, j : j + 1]).T @ part
    return HessianParts(G0 / n, (N0 + N0.T) / (2 * n))


def empirical_hessian(W: Array, X: Array, y: Array, activation: str | Activation) -> Array:
    r"""$\nabla^2f_n(W)$, Kd x Kd in the order of `W.reshape(-1)`."""
    return hessian_parts(W, X, y, activation).total


@states("FCL-D2")
def hessian_times(W: Array, A: Array, X: Array, y: Array, activation: str | Activation) -> Array:
    r"""$\nabla^2f_n(W)$ applied to A of the shape of W, K x d, without the matrix: cost 6ndK,
    memory one block.
    """
    phi = local_activation(activation)
    check_local_inputs(W, X, y)
    out, K = np.zeros(W.shape), W.shape[0]
    for rows in row_blocks(*X.shape):
        part = X[rows]
        Z, S = part @ W.T, part @ A.T
        slopes, e = phi.derivative(Z), phi(Z).mean(axis=1) - y[rows]
        along = (slopes * S).mean(axis=1)
        out += (slopes * along[:, None] + phi.derivative(Z, order=2) * S * e[:, None]).T @ part
    return out / (X.shape[0] * K)


@states("FCL-D3")
def third_tensor(W: Array, X: Array, y: Array, activation: str | Activation) -> Array:
    r"""$D^3f_n(W)$ as a symmetric (Kd)^3 array; only blocks with two equal neurons differ from
    zero.

    Block (j, k, k) is $\frac1n\sum_ic_i\,x_i^{\otimes3}$ with $c = \phi'_j\phi''_k/K^2$ for j != k
    and $c = 3\phi'_j\phi''_j/K^2 + e\phi'''_j/K$ for j = k.
    """
    phi = local_activation(activation)
    check_local_inputs(W, X, y)
    (n, d), K = X.shape, W.shape[0]
    require_memory(8 * (K * d) ** 3, f"the third derivative of {K * d} weights")
    network, total = ShallowNetwork(W, np.full(K, 1.0 / K), phi), np.zeros((K * d,) * 3)
    for rows in row_blocks(n, d * d):
        total += third_derivative(network, X[rows], y[rows])
    return total / n


@states("FCL-D3")
def directional_derivatives(
    W: Array, A: Array, X: Array, y: Array, activation: str | Activation
) -> tuple[float, float]:
    r"""$D^2f_n[A,A] = \mathrm{mean}(A_1^2 + eA_2)$ and $D^3f_n[A,A,A] = \mathrm{mean}(3A_1A_2 +
    eA_3)$, no tensor formed.

    $A_p = \frac1K\sum_k\phi^{(p)}(w_k\cdot x)(a_k\cdot x)^p$; A has the shape of W.
    """
    phi = local_activation(activation)
    check_local_inputs(W, X, y)
    second = third = 0.0
    for rows in row_blocks(*X.shape):
        Z, S = X[rows] @ W.T, X[rows] @ A.T
        e = phi(Z).mean(axis=1) - y[rows]
        A1, A2, A3 = ((phi.derivative(Z, order=p) * S**p).mean(axis=1) for p in (1, 2, 3))
        second += float(A1 @ A1 + e @ A2)
        third += float(3.0 * (A1 @ A2) + e @ A3)
    return second / X.shape[0], third / X.shape[0]


def fourth_derivative(z: ArrayLike, activation: str | Activation) -> Array:
    r"""$\phi''''(z)$ of sigmoid, softplus, tanh or erf, from its lower derivatives; other
    activations are refused.
    """
    phi, z = local_activation(activation), np.asarray(z, dtype=np.float64)
    b = 1.0 if phi.parameter is None else phi.parameter
    first, second = phi.derivative(z), phi.derivative(z, order=2)
    if phi.name == "sigmoid":
        return b**2 * second * (1.0 - 12.0 * first / b)
    if phi.name == "softplus":
        return b**2 * second * (1.0 - 6.0 * second / b)
    if phi.name == "tanh":
        return second * (4.0 - 12.0 * first)
    if phi.name == "erf":
        near = np.clip(z, -40.0, 40.0)  # beyond, the first derivative is zero in floats
        return first * (12.0 * near - 8.0 * near**3)
    raise HypothesisError(
        f"no fourth derivative of {phi}; use sigmoid, softplus, tanh or erf",
        hypothesis="FCL-D3",
        value=str(phi),
    )


@states("FCL-D3")
def fourth_directional_derivative(
    W: Array, A: Array, X: Array, y: Array, activation: str | Activation
) -> float:
    r"""$D^4f_n[A,A,A,A] = \mathrm{mean}(3A_2^2 + 4A_1A_3 + eA_4)$, $A_p =
    \frac1K\sum_k\phi^{(p)}(w_k\cdot x)(a_k\cdot x)^p$.
    """
    phi, total = local_activation(activation), 0.0
    check_local_inputs(W, X, y)
    for rows in row_blocks(*X.shape):
        Z, S = X[rows] @ W.T, X[rows] @ A.T
        e = phi(Z).mean(axis=1) - y[rows]
        A1, A2, A3 = ((phi.derivative(Z, order=p) * S**p).mean(axis=1) for p in (1, 2, 3))
        A4 = (fourth_derivative(Z, phi) * S**4).mean(axis=1)
        total += float(3.0 * (A2 @ A2) + 4.0 * (A1 @ A3) + e @ A4)
    return total / X.shape[0]

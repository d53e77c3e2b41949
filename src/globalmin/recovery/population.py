r"""The population loss of a teacher-student pair for Gaussian inputs, with its gradient and
Hessian, exactly (FCL-POP).

$f(W) = \frac12E(\frac1K\sum_k\phi(w_k\cdot x) - \frac1K\sum_k\phi(w^*_k\cdot x))^2$ for x ~ N(0,
I_d): every expectation involves two neurons at a time, hence a two-dimensional Gaussian integral,
done by the trapezoid rule to about 1e-14. Weights are K x d by rows. Labels of the classification
model add a constant only.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from globalmin._types import Array
from globalmin.errors import DataError
from globalmin.recovery.geometry import (
    empirical_hessian,
    empirical_loss_and_gradient,
    local_activation,
)
from globalmin.recovery.moments import rho_terms, slope_moment
from globalmin.references import states

if TYPE_CHECKING:
    from globalmin.activations import Activation

Function = Callable[[Array], Array]

REACH = 9.0  # the density at 9 is below 1e-18
SIGMOID_STEEPNESS = 0.3849  # b_2/b_1 of the sigmoid, for which a step of 0.1 is exact up to norm 3
LONGEST = 60.0


class PairRule:
    """Trapezoid rule for E[g(u.x) h(v.x) (1, x, x x^T)], x ~ N(0, I_d), good for vectors up to a
    given steepness times norm.
    """

    def __init__(self, steepness: float) -> None:
        self.z, self.weights = _grid(0.1 / max(1.0, steepness / 3.0))

    def second(self, u: Array, g: Function, v: Array, h: Function) -> tuple[float, Array, Array]:
        """c, S, Q with E[g h] = c and E[g h x x^T] = c (I - Q Q^T) + Q S Q^T, Q an orthonormal
        basis of a plane through u, v.
        """
        Q, R = np.linalg.qr(np.stack([u, v], axis=1))
        z, w = self.z, self.weights
        left = g(R[0, 0] * z) * w
        table = left[:, None] * h(R[0, 1] * z[:, None] + R[1, 1] * z[None, :]) * w[None, :]
        rows, columns = table.sum(axis=1), table.sum(axis=0)
        cross = float(z @ table @ z)
        S = np.array([[rows @ z**2, cross], [cross, columns @ z**2]])
        return float(rows.sum()), S, Q

    def matrix(self, u: Array, g: Function, v: Array, h: Function) -> Array:
        """E[g(u.x) h(v.x) x x^T], d x d."""
        c, S, Q = self.second(u, g, v, h)
        return c * np.eye(len(u)) + Q @ (S - c * np.eye(2)) @ Q.T

    def vector(self, u: Array, g: Function, v: Array, h: Function) -> Array:
        """E[g(u.x) h(v.x) x], in R^d."""
        Q, R = np.linalg.qr(np.stack([u, v], axis=1))
        z, w = self.z, self.weights
        table = (
            (g(R[0, 0] * z) * w)[:, None]
            * h(R[0, 1] * z[:, None] + R[1, 1] * z[None, :])
            * w[None, :]
        )
        return Q @ np.array([table.sum(axis=1) @ z, table.sum(axis=0) @ z])

    def scalar(self, u: Array, g: Function, v: Array, h: Function) -> float:
        """E[g(u.x) h(v.x)]."""
        return self.second(u, g, v, h)[0]


@lru_cache(maxsize=8)
def _grid(step: float) -> tuple[Array, Array]:
    count = int(np.ceil(REACH / step))
    z = step * np.arange(-count, count + 1)
    return z.astype(np.float64), np.asarray(
        step * np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi), dtype=np.float64
    )


def _prepare(W: Array, Wstar: Array, phi: Activation) -> tuple[Array, Array, PairRule]:
    if (
        W.ndim != 2
        or W.shape != Wstar.shape
        or 0 in W.shape
        or not (np.isfinite(W).all() and np.isfinite(Wstar).all())
    ):
        raise DataError(
            f"W has shape {W.shape} and the teacher {Wstar.shape}; both must be finite and (K, d)"
        )
    steep = max(1.0, float(phi.supremum(2)) / float(phi.supremum(1)) / SIGMOID_STEEPNESS)
    longest = steep * max(float(np.linalg.norm(A, axis=1).max()) for A in (W, Wstar))
    if longest > LONGEST:
        raise DataError(
            f"a neuron of steepness times norm {longest:.3g} is too long for the grid; the limit "
            f"is {LONGEST:g}"
        )
    pad = ((0, 0), (0, 1 if W.shape[1] == 1 else 0))  # a plane is needed even on the line
    return np.pad(W, pad), np.pad(Wstar, pad), PairRule(longest)


@states("FCL-POP")
def population_loss(W: Array, Wstar: Array, activation: str | Activation) -> float:
    r"""$f(W) = \frac12E(\hat y_W - \hat y_{W^*})^2$."""
    phi = local_activation(activation)
    A, B, rule = _prepare(W, Wstar, phi)
    both, signs = np.vstack([A, B]), np.repeat([1.0, -1.0], len(A))
    total = sum(
        (1.0 if i == j else 2.0) * signs[i] * signs[j] * rule.scalar(both[i], phi, both[j], phi)
        for i in range(len(both))
        for j in range(i + 1)
    )
    return max(total, 0.0) / (2 * len(A) ** 2)


@states("FCL-POP")
def population_gradient(W: Array, Wstar: Array, activation: str | Activation) -> Array:
    r"""$\nabla f(W)$, K x d: row j is $\frac1{K^2}\sum_iE[(\phi(w_i\cdot x) - \phi(w^*_i\cdot
    x))\phi'(w_j\cdot x)x]$.
    """
    phi = local_activation(activation)
    A, B, rule = _prepare(W, Wstar, phi)
    G = np.zeros(A.shape)
    for j, w in enumerate(A):
        for sign, others in ((1.0, A), (-1.0, B)):
            G[j] += sign * sum(rule.vector(w, phi.derivative, u, phi) for u in others)
    return G[:, : W.shape[1]] / len(A) ** 2


@states("FCL-POP")
def population_hessian(W: Array, Wstar: Array, activation: str | Activation) -> Array:
    r"""$\nabla^2f(W)$, Kd x Kd in the order of `W.reshape(-1)`, exact up to quadrature (about 1e-14
    up to norm 3).

    Theory
    ------
    FCL-POP: $H_{jl} = E[\phi'_j\phi'_lxx^T]/K^2$, and on the diagonal blocks
    $+\frac1{K^2}\sum_i(E[\phi(w_i\cdot x)\phi''_jxx^T] - E[\phi(w^*_i\cdot x)\phi''_jxx^T])$.
    """
    phi = local_activation(activation)
    A, B, rule = _prepare(W, Wstar, phi)
    K, d = A.shape
    H = np.zeros((K, d, K, d))
    for j in range(K):
        for i in range(j + 1):
            block = rule.matrix(A[j], phi.derivative, A[i], phi.derivative)
            H[j, :, i, :] = block
            H[i, :, j, :] = block.T
        for sign, others in ((1.0, A), (-1.0, B)) if not np.array_equal(A, B) else ():
            for u in others:
                H[j, :, j, :] += sign * rule.matrix(
                    A[j], lambda z: phi.derivative(z, order=2), u, phi
                )
    keep = W.shape[1]
    return H[:, :keep, :, :keep].reshape(K * keep, K * keep) / K**2


@states("FCL-ORTH")
def orthonormal_hessian(sigma: float, K: int, d: int, activation: str | Activation) -> Array:
    r"""$\nabla^2f(W^*)$ for $W^* = \sigma[I_K\ 0]$ in closed form from one-dimensional moments, Kd
    x Kd.

    Theory
    ------
    FCL-ORTH: $p = \phi'(\sigma z)$ and $zp$ are split along span{1, z}; the remainders of different
    neurons are orthogonal.
    """
    if not 1 <= K <= d:
        raise DataError(f"K={K} orthogonal neurons in dimension d={d}; 1 <= K <= d is needed")
    r0, r2 = (float(r) for r in rho_terms(sigma, activation))
    a0, a1, a2 = (float(slope_moment(sigma, activation, q)) for q in range(3))
    E = np.eye(K * d).reshape(K, d, K * d)  # E[i, j] is the functional A -> A_ij
    own = np.stack([E[i, i] for i in range(K)])
    H = (
        r0 * np.eye(K * d)
        + (r2 - r0) * own.T @ own
        + a1**2 * np.outer(own.sum(axis=0), own.sum(axis=0))
    )
    for j in range(d):
        column = a0 * (E[:, j].sum(axis=0) - (E[j, j] if j < K else 0.0)) + (
            a2 * E[j, j] if j < K else 0.0
        )
        H += np.outer(column, column)
        for i in range(K):
            pair = E[i, j] + E[j, i] if i < j < K else E[i, j] if j >= K else None
            H += 0.0 if pair is None else a1**2 * np.outer(pair, pair)
    return H / K**2


@states("FCL-L3")
def hessian_deviation(
    W: Array, Wstar: Array, X: Array, y: Array, activation: str | Activation
) -> float:
    r"""$\|\nabla^2f_n(W) - \nabla^2f(W)\|$, which FCL-L3 bounds by a constant times $\sqrt{d\log
    n/(nK)}$.
    """
    H = empirical_hessian(W, X, y, activation) - population_hessian(W, Wstar, activation)
    return float(np.linalg.norm(H, 2))


@states("FCL-L4")
def gradient_deviation(
    W: Array, Wstar: Array, X: Array, y: Array, activation: str | Activation
) -> float:
    r"""$\|\nabla f_n(W) - \nabla f(W)\|$, which FCL-L4 bounds by a constant times $\sqrt{d\log
    n/n}$.
    """
    G = empirical_loss_and_gradient(W, X, y, activation)[1] - population_gradient(
        W, Wstar, activation
    )
    return float(np.linalg.norm(G))

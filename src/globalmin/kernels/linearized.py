r"""The linearized prediction of gradient descent, $u(t) = y + (I-\eta G)^t(u_0-y)$, and the exact
identity behind it.

G = J J^T is the Gram matrix at the first weights, u the outputs on the samples. Values in floats.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from globalmin._types import Array, ArrayLike
from globalmin.references import states

if TYPE_CHECKING:
    from globalmin.activations import Activation
    from globalmin.shallow.network import ShallowNetwork


@dataclass(frozen=True)
class LinearizedRun:
    r"""Spectral form of the prediction: G = V diag(eigenvalues) V^T and the first residual
    $V^T(u_0-y)$ in that basis.
    """

    eigenvalues: Array
    vectors: Array
    coordinates: Array
    y: Array

    def residual_norms(self, steps: ArrayLike, step_size: float) -> Array:
        r"""$\|u(t)-y\|$ after the given numbers of gradient steps."""
        return np.linalg.norm(self._factors(steps, step_size) * self.coordinates, axis=1)

    def outputs(self, steps: ArrayLike, step_size: float) -> Array:
        r"""u(t), one row per entry of `steps`."""
        return self.y + (self._factors(steps, step_size) * self.coordinates) @ self.vectors.T

    def flow_norms(self, times: ArrayLike) -> Array:
        r"""$\|e^{-Gt}(u_0-y)\|$ at the given times of the gradient flow."""
        t = np.asarray(times, dtype=np.float64)[:, None]
        return np.linalg.norm(np.exp(-self.eigenvalues * t) * self.coordinates, axis=1)

    def flow_outputs(self, times: ArrayLike) -> Array:
        r"""$y+e^{-Gt}(u_0-y)$, one row per time."""
        t = np.asarray(times, dtype=np.float64)[:, None]
        return self.y + (np.exp(-self.eigenvalues * t) * self.coordinates) @ self.vectors.T

    @property
    def largest_step(self) -> float:
        r"""$2/(\lambda_{\max}+\lambda_{\min})$, the step with the best guaranteed rate."""
        return 2.0 / float(self.eigenvalues[-1] + self.eigenvalues[0])

    def rate(self, step_size: float) -> float:
        r"""$\max|1-\eta\lambda|$ over the spectrum: the factor per step in the long run."""
        return float(np.abs(1.0 - step_size * self.eigenvalues[[0, -1]]).max())

    def _factors(self, steps: ArrayLike, step_size: float) -> Array:
        t = np.asarray(steps, dtype=np.int64)[:, None]
        return (1.0 - step_size * self.eigenvalues) ** t


@states("DU-Q2.6")
def linearize_run(G: Array, outputs: Array, y: Array) -> LinearizedRun:
    r"""Diagonalize G once; every later step of $u(t+1)-y = (I-\eta G)(u(t)-y)$ is then a vector
    operation.

    Theory
    ------
    DU-Q2.6: $du/dt = G(y-u)$ with G held at its first value; gradient descent obeys it up to the
    change of G along the way.
    """
    eigenvalues, vectors = np.linalg.eigh(G)
    return LinearizedRun(
        eigenvalues, vectors, vectors.T @ (outputs - y), np.asarray(y, dtype=np.float64)
    )


def secant_slopes(activation: Activation, Z: Array, Z_next: Array) -> Array:
    r"""$(\phi(z')-\phi(z))/(z'-z)$, and the derivative half-way where a pre-activation moved so
    little that the quotient cancels.
    """
    moved = Z_next - Z
    still = (
        np.abs(moved) <= 1e-5 if activation.is_smooth else moved == 0.0
    )  # a kinked phi is piecewise linear: its quotient is exact
    quotient = (activation(Z_next) - activation(Z)) / np.where(still, 1.0, moved)
    return np.where(still, activation.derivative(Z + moved / 2.0), quotient)


@states("DU-Q2.6", "OS-DEFG.2")
def secant_gram(network: ShallowNetwork, W_next: Array, X: Array) -> Array:
    r"""$\hat H = \bar JJ^T$, $\hat H_{ij} = (x_i\cdot x_j)\sum_lv_l^2\theta_{il}\phi'(z_{jl})$,
    with $\theta$ the secant slopes of the step.

    Gradient descent then obeys $u(t+1)-y = (I-\eta\hat H)(u(t)-y)$ exactly: no linearization, no
    error term. Not symmetric.

    Theory
    ------
    OS-DEFG.2: $\bar J = \int_0^1J(W+t(W'-W))dt$ has the rows $(v_l\theta_{il}x_i)_l$, because
    $\int_0^1\phi'(z+t\Delta)dt$ is the secant slope. DU-Q2.6 for ReLU.
    """
    Z = X @ network.W.T
    slopes = network.activation.derivative(Z) * network.v
    return ((secant_slopes(network.activation, Z, X @ W_next.T) * network.v) @ slopes.T) * (X @ X.T)


def predicted_steps(
    run: LinearizedRun, step_size: float, fraction: float = 1e-3, *, limit: int = 10**9
) -> float:
    r"""Least t with $\|u(t)-y\| \le$ fraction $\cdot\|u_0-y\|$ by bisection on the prediction;
    infinite beyond `limit`.
    """
    target = fraction * float(np.linalg.norm(run.coordinates))
    if run.rate(step_size) >= 1.0 or run.residual_norms([limit], step_size)[0] > target:
        return math.inf
    low, high = 0, 1
    while run.residual_norms([high], step_size)[0] > target:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (
            (low, middle)
            if run.residual_norms([middle], step_size)[0] <= target
            else (middle, high)
        )
    return float(high)

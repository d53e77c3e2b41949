r"""The linearized prediction of gradient descent in spectral form, $u(t) = y +
(I-\eta G)^t(u_0-y)$, for any network with a Gram matrix G = J J^T, or the limit of one: the
outputs u on the samples alone. Values in floats.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from globalmin._types import Array, ArrayLike
from globalmin.references import states


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

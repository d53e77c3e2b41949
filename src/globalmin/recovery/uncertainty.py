r"""Error bars of recovered weights, from the samples and the end point alone.

At the minimum $\hat W$ of the squared loss with Hessian $H$ and $J_i = \frac1K(\phi'(w_k\cdot
x_i)x_i)_k$ the covariance of $\hat W$ is about

* regression with noise of unknown variance: $\frac{\hat s^2}nH^{-1}G_0H^{-1}$, $\hat s^2 =
  \frac1{n-Kd}\sum e_i^2$, $G_0 = \frac1n\sum J_iJ_i^T$;
* classification: the sandwich $\frac1nH^{-1}SH^{-1}$, $S = \frac1n\sum p_i(1-p_i)J_iJ_i^T$;
* maximum of the likelihood: the same with $S = I = \frac1n\sum J_iJ_i^T/(p_i(1-p_i))$ and H the
  Hessian of the negative log-likelihood, whose mean is I.

This is the error of FCL-T2 (8) with its constant, in the limit of large n: estimates, tested by
their coverage. They know of the basin only that the end point is in it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from globalmin._options import Estimator, Labels
from globalmin._types import Array
from globalmin.data.validation import matrix_bytes, require_memory
from globalmin.errors import DataError
from globalmin.linalg.symmetric import row_blocks
from globalmin.recovery.geometry import check_local_inputs, local_activation
from globalmin.references import states

if TYPE_CHECKING:
    from globalmin.activations import Activation

SMALLEST = 1e-9  # probabilities are kept this far from 0 and 1
FLAT = 1e-13  # a least curvature below this part of the largest is rounding


@dataclass(frozen=True)
class ErrorBars:
    r"""How well the samples know the weights; estimates for large n.

    Attributes
    ----------
    weights : K x d, the centers.
    covariance : Kd x Kd in the order of `weights.reshape(-1)`; infinite where the loss is flat.
    noise : estimated standard deviation of the labels around the network.
    curvature : least eigenvalue of the Hessian of the loss 1/(2n) (or of the negative mean
        log-likelihood) at the end point.
    drift : K x d, the Newton step that is left; the error bars include it.
    """

    weights: Array
    covariance: Array = field(repr=False)
    noise: float
    curvature: float
    drift: Array = field(repr=False)

    @property
    def standard_errors(self) -> Array:
        """Of every weight, K x d; never below the rounding of the weights."""
        variances = np.diag(self.covariance).reshape(self.weights.shape)
        rounding = np.finfo(np.float64).eps * float(np.abs(self.weights).max())
        return np.asarray(np.sqrt(variances + self.drift**2 + rounding**2), dtype=np.float64)

    @property
    def expected_error(self) -> float:
        r"""The root mean square of $\|\hat W-W^*\|_F/\|W^*\|_F$ to be expected, infinite where
        nothing is known; $\|W^*\|^2$ is estimated by $\|\hat W\|^2$ minus the variance.
        """
        variance = float(np.square(self.standard_errors).sum())
        left = float(np.square(self.weights).sum()) - variance
        return math.sqrt(variance / left) if left > 0.0 else math.inf

    def likely_error(self, chance: float = 0.001) -> float:
        """The relative error that is exceeded with this chance only: a multiple of chi-square with
        the mean and the variance of the squared error (Satterthwaite); infinite where nothing is
        known.
        """
        from scipy.special import chdtri

        expected = self.expected_error
        if math.isinf(expected) or expected == 0.0:
            return expected
        total = float(np.square(self.standard_errors).sum())
        C = self.covariance + np.outer(self.drift, self.drift)
        freedom = total**2 / float(np.square(C).sum())
        return expected * math.sqrt(float(chdtri(freedom, chance)) / freedom)

    def mapped(self, T: Array) -> ErrorBars:
        """The error bars of T w for every row w of the weights."""
        whole = np.kron(np.eye(len(self.weights)), T)
        unknown = np.isinf(self.covariance).any()
        covariance = self.covariance if unknown else whole @ self.covariance @ whole.T
        return replace(
            self, weights=self.weights @ T.T, covariance=covariance, drift=self.drift @ T.T
        )

    def intervals(self, level: float = 0.95) -> tuple[Array, Array]:
        """Lower and upper ends, K x d each, of intervals that contain a weight with this
        probability.
        """
        from scipy.special import ndtri

        if not 0.0 < level < 1.0:
            raise DataError(f"level={level} must lie strictly between 0 and 1, for example 0.95")
        reach = float(ndtri(0.5 + level / 2.0)) * self.standard_errors
        return self.weights - reach, self.weights + reach


@states("FCL-T2", "FCL-L4")
def error_bars(
    X: Array,
    y: Array,
    W: Array,
    activation: str | Activation = "sigmoid",
    *,
    labels: Labels = "regression",
    estimator: Estimator = "squares",
) -> ErrorBars:
    """Error bars at W, the minimum of the squared loss or the maximum of the likelihood.

    Parameters
    ----------
    X, y : n x d and (n,), n above the number of weights.
    W : K x d.
    labels, estimator : as in `recover_teacher`.
    """
    phi, n = local_activation(activation), X.shape[0]
    check_local_inputs(W, X, y)
    sums = _sums(W, X, y, phi, labels=labels, estimator=estimator)
    eigenvalues, vectors = np.linalg.eigh(sums.bread)
    noise = math.sqrt(sums.squares / max(n - W.size, 1))
    if n <= W.size or not eigenvalues[0] > FLAT * abs(eigenvalues[-1]):
        unknown = np.full((W.size, W.size), math.inf)
        return ErrorBars(W, unknown, noise, float(eigenvalues[0]), np.zeros(W.shape))
    inverse = (vectors / eigenvalues) @ vectors.T
    meat = sums.meat * (noise**2 if labels == "regression" else n / (n - W.size))
    covariance = inverse @ meat @ inverse / n
    drift = (inverse @ sums.gradient).reshape(W.shape)
    return ErrorBars(W, covariance, noise, float(eigenvalues[0]), drift)


@dataclass(frozen=True)
class _Sums:
    """Means over the samples: Hessian, middle of the sandwich and gradient; and the sum of squared
    residuals.
    """

    bread: Array
    meat: Array
    gradient: Array
    squares: float


def _sums(
    W: Array, X: Array, y: Array, phi: Activation, *, labels: Labels, estimator: Estimator
) -> _Sums:
    (n, _), (K, d) = X.shape, W.shape
    require_memory(matrix_bytes(K * d, K * d, copies=6), f"the covariance of {K * d} weights")
    bread, meat = np.zeros((K * d, K * d)), np.zeros((K * d, K * d))
    gradient, squares = np.zeros(K * d), 0.0
    for rows in row_blocks(n, K * d):
        part, label = X[rows], y[rows]
        Z = part @ W.T
        p = phi(Z).mean(axis=1)
        e = p - label
        J = ((phi.derivative(Z) / K)[:, :, None] * part[:, None, :]).reshape(len(part), K * d)
        slope, curvature, middle = _weights(p, label, labels=labels, estimator=estimator)
        bread += (J * curvature[:, None]).T @ J
        second = phi.derivative(Z, order=2) * slope[:, None] / K
        for j in range(K):
            place = slice(j * d, (j + 1) * d)
            bread[place, place] += (part * second[:, j : j + 1]).T @ part
        meat += (J * middle[:, None]).T @ J
        gradient += J.T @ slope
        squares += float(e @ e)
    return _Sums((bread + bread.T) / (2 * n), meat / n, gradient / n, squares)


def _weights(
    p: Array, y: Array, *, labels: Labels, estimator: Estimator
) -> tuple[Array, Array, Array]:
    """First and second derivative of one sample's loss by its output p, and the variance of the
    first one (up to that of the noise, for regression).
    """
    ones = np.ones(len(p))
    if labels == "regression":
        return p - y, ones, ones
    inside = np.clip(p, SMALLEST, 1.0 - SMALLEST)
    variance = inside * (1.0 - inside)
    if estimator == "squares":
        return p - y, ones, variance
    return (
        (inside - y) / variance,
        y / inside**2 + (1.0 - y) / (1.0 - inside) ** 2,
        1.0 / variance,
    )

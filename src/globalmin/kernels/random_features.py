r"""Random first layer, trained head: the fit by least norm, and how many features make it possible
(OS-T3.2).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from globalmin._types import Array
from globalmin.errors import HypothesisError
from globalmin.kernels.probability import chernoff_exponent, chernoff_failure
from globalmin.references import states

if TYPE_CHECKING:
    from globalmin.shallow.network import ShallowNetwork


@dataclass(frozen=True)
class RandomFeatureFit:
    r"""The network with its least-norm head, $\lambda_{\min}(\Phi\Phi^T)$ and the relative residual
    in floats.
    """

    network: ShallowNetwork
    lambda_min: float
    relative_residual: float


@states("OS-T3.2")
def fit_random_features(network: ShallowNetwork, X: Array, y: Array) -> RandomFeatureFit:
    r"""Keep W, replace v by $\hat v = \Phi^T(\Phi\Phi^T)^{-1}y$, $\Phi = \phi(XW^T)$: the
    interpolating head of least norm.

    Raises
    ------
    HypothesisError
        If $\Phi$ does not have full row rank, numerically: more features are needed, or rows
        repeat.
    """
    Phi = network.activation(X @ network.W.T)
    left, singular, right = np.linalg.svd(Phi, full_matrices=False)
    n = X.shape[0]
    low = float(singular[n - 1]) ** 2 if len(singular) >= n else 0.0
    if not low > (max(Phi.shape) * np.finfo(np.float64).eps * float(singular[0])) ** 2:
        raise HypothesisError(
            f"the {n} x {network.width} feature matrix has no full row rank, so no head fits all "
            "labels; take a larger width",
            hypothesis="lambda_min(Phi Phi^T) > 0",
            value=low,
        )
    v = right.T @ ((left.T @ y) / singular)
    fitted = network.with_weights(v=v)
    misfit = float(np.linalg.norm(Phi @ v - y)) / (float(np.linalg.norm(y)) or 1.0)
    return RandomFeatureFit(fitted, low, misfit)


@states("OS-T3.2")
def feature_width(n: int, lam: float, B: float) -> float:
    r"""$k \ge \frac{101}{q(1/2)}(\sqrt{404}+1.9/\sqrt{\ln n})^2B^2\ln^2(n)\,n/\tilde\lambda$
    (constants of the proof); n >= 2.

    Parameters
    ----------
    lam : $\tilde\lambda(X) = \lambda_{\min}(E\,\phi(Xw)\phi(Xw)^T)$.
    B : bound of |phi'| and of |phi(0)|; rows of norm 1.

    Theory
    ------
    OS-T3.2: then $\lambda_{\min}(\Phi\Phi^T) \ge \frac k2(\tilde\lambda - 6B^2n^{-100})$ with
    probability $1-n^{-100}$.
    """
    if not lam > 0.0:
        return math.inf
    log = math.log(max(n, 2))
    C = 101.0 / chernoff_exponent(0.5) * (math.sqrt(404.0) + 1.9 / math.sqrt(log)) ** 2
    return C * B**2 * log**2 * n / lam


def truncation_loss(T: float, mean: float, spread: float) -> float:
    r"""Bound of $E[\|\phi(Xw)\|^2 1\{\|\phi(Xw)\| > T\}]$ for T above `mean`.

    $\|\phi(Xw)\|$ is Lipschitz in w with constant `spread` $= B\|X\|$ and has a mean of at most
    `mean` $= (\sum_iE\phi(\|x_i\|g)^2)^{1/2}$, so $P(\cdot > \mathrm{mean}+t) \le
    e^{-t^2/(2\,\mathrm{spread}^2)}$; integrated by parts.
    """
    t = T - mean
    tail = math.exp(-(t**2) / (2.0 * spread**2))
    gauss = math.sqrt(math.pi / 2.0) * spread * math.erfc(t / (spread * math.sqrt(2.0)))
    return (T**2 + 2.0 * spread**2) * tail + 2.0 * mean * gauss


@states("OS-T3.2")
def feature_failure(
    n: int, k: float, lam: float, *, T: float, mean: float, spread: float, theta: float = 0.5
) -> float:
    r"""Bound on $P(\lambda_{\min}(\Phi\Phi^T) < (1-\theta)k(\tilde\lambda - \text{loss}))$, loss as
    in `truncation_loss` (ours).

    The truncated features have $\|\phi\phi^T\| \le T^2$ and an expectation of at least
    $\tilde\lambda - $ loss, and dropping the others only lowers the sum. Returns 1 where the loss
    eats $\tilde\lambda$.
    """
    left = lam - truncation_loss(T, mean, spread)
    return chernoff_failure(n, k * left / T**2, theta) if left > 0.0 else 1.0


@states("OS-T3.2")
def feature_width_explicit(
    n: int, lam: float, *, mean: float, spread: float, delta: float = 0.01, theta: float = 0.5
) -> float:
    r"""Least k for which `feature_failure` is at most delta, the threshold T chosen by a scan
    (ours; any row norms).
    """
    if not lam > 0.0:
        return math.inf
    best, log = math.inf, math.log(n / delta)
    for t in np.linspace(0.5, 12.0, 116):
        T = mean + float(t) * spread
        left = lam - truncation_loss(T, mean, spread)
        if left > 0.0:
            best = min(best, T**2 * log / (chernoff_exponent(theta) * left))
    return math.ceil(best) if math.isfinite(best) else math.inf

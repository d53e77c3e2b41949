r"""How accurately the weights of a teacher can be known from n binary labels: Fisher information
and asymptotic errors.

With $J(x) = \frac1K(\phi'(w^*_k\cdot x)x)_k$ and $p(x)$ the teacher's probability, the minimizer of
the squared loss has covariance about $\frac1nH^{-1}SH^{-1}$, $H = E[JJ^T]$, $S = E[p(1-p)JJ^T]$;
that of the likelihood $\frac1nI^{-1}$, $I = E[JJ^T/(p(1-p))]$, which no unbiased estimator beats
(Cramer-Rao). Both are limits for large n, in floats: estimates.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from globalmin._types import Array
from globalmin.activations import get_activation
from globalmin.errors import DataError, HypothesisError
from globalmin.linalg.symmetric import row_blocks
from globalmin.recovery.bounds import conditioning
from globalmin.recovery.geometry import local_activation
from globalmin.references import states

if TYPE_CHECKING:
    from globalmin.activations import Activation


REACH = 7.5  # the density at 7.5 is below 1e-12
GRID_NEURONS = 3  # up to which the trapezoid rule over the neurons' span is affordable
POINTS = 400_000  # of the seeded sample above that
SMALLEST = 1e-12


@dataclass(frozen=True)
class LabelInformation:
    r"""What n = 1 sample tells, Kd x Kd each in the order of `W.reshape(-1)`.

    Attributes
    ----------
    curvature : H, the Hessian of the population squared loss at the teacher.
    noise : S, the covariance of one sample's gradient there.
    fisher : I, the Fisher information of one sample.
    """

    curvature: Array = field(repr=False)
    noise: Array = field(repr=False)
    fisher: Array = field(repr=False)

    @property
    def squares_covariance(self) -> Array:
        r"""$H^{-1}SH^{-1}$: n times the asymptotic covariance of the minimizer of the squared
        loss.
        """
        inverse = np.linalg.inv(self.curvature)
        return inverse @ self.noise @ inverse

    @property
    def likelihood_covariance(self) -> Array:
        r"""$I^{-1}$: n times the asymptotic covariance of the maximum of the likelihood, the
        Cramer-Rao bound.
        """
        return np.asarray(np.linalg.inv(self.fisher), dtype=np.float64)


def gives_probabilities(activation: str | Activation) -> bool:
    """Whether all values lie in [0, 1], seen on a grid: what labels of FCL-M1 need."""
    values = get_activation(activation)(np.linspace(-50.0, 50.0, 1001))
    return bool(values.min() >= 0.0 and values.max() <= 1.0)


@states("FCL-L4", "FCL-T2")
def estimate_label_information(
    Wstar: Array, activation: str | Activation, *, seed: int = 0
) -> LabelInformation:
    r"""H, S and I of binary labels for a teacher, inputs N(0, I_d).

    Up to three neurons by the trapezoid rule over their span, above that from a seeded sample of
    the span.

    Theory
    ------
    FCL-L4: $E\|\nabla f_n(W^*)\|^2 = \mathrm{tr}\,S/n$. The error of FCL-T2 (8) with its constant,
    in the limit of large n.
    """
    phi, W = local_activation(activation), np.asarray(Wstar, dtype=np.float64)
    conditioning(W, phi)
    if not gives_probabilities(phi):
        raise HypothesisError(
            f"{phi} gives no probabilities", hypothesis="values in [0, 1]", value=str(phi)
        )
    K, d = W.shape
    Q = np.linalg.qr(W.T)[0]
    means, seconds = np.zeros((3, K, K)), np.zeros((3, K, K, K, K))
    for Z, weights in _span_points(K, float(np.linalg.norm(W, axis=1).max()), seed):
        values = Z @ (W @ Q).T
        p = np.clip(phi(values).mean(axis=1), SMALLEST, 1.0 - SMALLEST)
        slopes = phi.derivative(values) / K
        for place, factor in enumerate((np.ones_like(p), p * (1.0 - p), 1.0 / (p * (1.0 - p)))):
            scaled = slopes * (factor * weights)[:, None]
            means[place] += scaled.T @ slopes
            seconds[place] += np.einsum("ij,il,ia,ib->jlab", scaled, slopes, Z, Z, optimize=True)
    return LabelInformation(*(_lift(m, s, Q, d) for m, s in zip(means, seconds, strict=True)))


def _lift(means: Array, seconds: Array, Q: Array, d: int) -> Array:
    """E[c_jl x x^T] = E[c_jl] (I - Q Q^T) + Q E[c_jl z z^T] Q^T for all pairs, as one Kd x Kd
    matrix.
    """
    K = means.shape[0]
    outside = np.eye(d) - Q @ Q.T
    blocks = np.einsum("jl,ab->jalb", means, outside) + np.einsum(
        "as,jlst,bt->jalb", Q, seconds, Q, optimize=True
    )
    return np.asarray(blocks.reshape(K * d, K * d), dtype=np.float64)


def _span_points(K: int, longest: float, seed: int) -> Iterator[tuple[Array, Array]]:
    """Points of R^K in blocks, with weights that integrate against N(0, I_K)."""
    if K > GRID_NEURONS:
        points = np.random.default_rng(seed).standard_normal((POINTS, K))
        for rows in row_blocks(POINTS, K):
            yield points[rows], np.full(len(points[rows]), 1.0 / POINTS)
        return
    step = 0.15 / max(1.0, longest / 4.0)
    count = math.ceil(REACH / step)
    z = step * np.arange(-count, count + 1, dtype=np.float64)
    w = step * np.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)
    for first, weight in zip(z, w, strict=True):
        rest = np.meshgrid(*[z] * (K - 1), indexing="ij")
        heavy = np.meshgrid(*[w] * (K - 1), indexing="ij")
        Z = np.stack([np.full(z.size ** (K - 1), first), *(r.reshape(-1) for r in rest)], axis=1)
        yield Z, weight * math.prod((h.reshape(-1) for h in heavy), start=np.ones(len(Z)))


def asymptotic_error(covariance: Array, n: int) -> float:
    r"""$\sqrt{\mathrm{tr}\,C/n}$: the root mean square of $\|\hat W - W^*\|_F$ for an estimator of
    covariance C/n.
    """
    if n < 1:
        raise DataError(f"n={n} must be at least 1")
    return math.sqrt(float(np.trace(covariance)) / n)


def estimate_median_error(
    covariance: Array, n: int, *, draws: int = 100_000, seed: int = 0
) -> float:
    r"""The median of $\|N(0, C/n)\|$ by simulation; its standard error is about $0.4\%$ of the
    spread for 100,000 draws.
    """
    eigenvalues = np.maximum(np.linalg.eigvalsh(covariance), 0.0)
    g = np.random.default_rng(seed).standard_normal((draws, len(eigenvalues)))
    return float(np.median(np.sqrt(g**2 @ eigenvalues))) / math.sqrt(n)

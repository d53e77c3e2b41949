r"""From a gradient norm and a least eigenvalue to a bound of the loss: approximate second-order
points of quadratic networks.

$L = (1/2)\sum_i r_i^2$, $Z(u) = \sum_i u_ix_ix_i^T$. True over the reals for true inputs; evaluated
in floats, hence estimates.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from globalmin._types import Array
from globalmin.errors import DataError, HypothesisError
from globalmin.linalg.symmetric import head_counts, moment_matrix
from globalmin.references import states


@states("SJL-T2.1q")
def estimate_mixed_excess(
    W: Array, v: Array, *, gradient_norm: float, negative_curvature: float, nuclear_norm: float
) -> float:
    r"""Bound of $L - \min L$ at an approximate second-order point, heads of both signs:
    $\frac{\epsilon_g}{4}\|W\|_F + \frac{\epsilon_H}{4\bar v}\|\hat M\|_*$.

    Parameters
    ----------
    W, v : the network; more than d heads of each sign.
    gradient_norm : $\epsilon_g \ge \|\nabla_W L\|$.
    negative_curvature : $\epsilon_H \ge 0$ with Hessian $\ge -\epsilon_H I$.
    nuclear_norm : $\|\hat M\|_*$ of some least-squares minimizer.

    Theory
    ------
    SJL-T2.1q. $\bar v$ is the (d+1)-th largest |v| of each sign, the smaller of the two: null
    vectors need d + 1 neurons, and give $\|Z(r)\| \le \epsilon_H/(2\bar v)$. Since $Z(r) =
    A^*A(M-\hat M)$, $L - \min L = \frac12\langle Z(r), M-\hat M\rangle$ exactly (half of what
    convexity gives), and $\langle Z(r), M\rangle = \frac12\langle W, \nabla L\rangle$. Attained for
    d = 1.
    """
    vbar = _head_of_null_vectors(v, W.shape[1])
    return (
        0.25 * gradient_norm * float(np.linalg.norm(W))
        + negative_curvature / (4.0 * vbar) * nuclear_norm
    )


def _head_of_null_vectors(v: Array, d: int) -> float:
    plus, minus = head_counts(v)
    if min(plus, minus) <= d:
        raise HypothesisError(
            f"v has {plus} positive and {minus} negative entries; the bound needs at least d + 1 = "
            f"{d + 1} of each",
            hypothesis="signs",
            value=(plus, minus),
        )
    return float(min(np.sort(v[v > 0])[-(d + 1)], np.sort(-v[v < 0])[-(d + 1)]))


@dataclass(frozen=True)
class PlantedBound:
    r"""`loss` bounds L at an approximate second-order point with planted labels; `weight_norm`
    bounds ||W||_F, `teacher_trace` bounds tr M*.
    """

    loss: float
    weight_norm: float
    teacher_trace: float


@states("SJL-T2.2a")
def estimate_planted_excess(
    X: Array,
    y: Array,
    *,
    head: float,
    gradient_norm: float,
    negative_curvature: float,
    weight_norm: float | None = None,
) -> PlantedBound:
    r"""Bound of L at any W with $\|\nabla_WL\| \le \epsilon_g$ and Hessian $\ge -\epsilon_HI$,
    labels planted by some $M^* \ge 0$, head $\nu 1$, k > d.

    $L \le \frac{\epsilon_g}{4}\bar w + \frac{\epsilon_H}{4\nu}\frac{\bar y}{\kappa_1}$, $\kappa_1 =
    \lambda_{\min}(X^TX/n)$ and $\bar w$ the largest root of $\kappa_1^2\nu^2w^3 - \kappa_2\nu w =
    \epsilon_g/(2n)$, $\kappa_2 = \lambda_{\max}(Z(y)/n)$. A function of the data and two numbers
    only.

    Parameters
    ----------
    weight_norm : the actual ||W||_F in place of its bound, if known.

    Theory
    ------
    SJL-T2.2a sharpened (deterministic, for $L = (1/2)\sum r_i^2$): the paper's version has unknown
    constants and Gaussian inputs.
    """
    n = X.shape[0]
    kappa1 = float(np.linalg.eigvalsh(X.T @ X / n)[0])
    if not kappa1 > 0 or X.shape[0] < X.shape[1]:
        raise HypothesisError(
            "X does not have full column rank, so the bound is infinite; drop dependent features",
            hypothesis="kappa1 > 0",
            value=kappa1,
        )
    if not (math.isfinite(head) and head > 0):
        raise DataError(f"head={head!r} must be a positive number")
    kappa2 = float(np.linalg.eigvalsh(moment_matrix(X, y) / n)[-1])
    trace = float(y.mean()) / kappa1
    largest = largest_cubic_root(kappa1**2 * head**2, kappa2 * head, gradient_norm / (2.0 * n))
    norm = largest if weight_norm is None else min(weight_norm, largest)
    return PlantedBound(
        0.25 * gradient_norm * norm + 0.25 * negative_curvature / head * trace, largest, trace
    )


@states("SJL-T2.2a")
def printed_planted_excess(
    n: int, *, head: float, gradient_norm: float, negative_curvature: float, nuclear_norm: float
) -> float:
    r"""The printed bound of SJL-T2.2a for $L = (1/2)\sum r_i^2$, to compare with ours:
    $\frac{\epsilon_g}{\sqrt\nu}\max(\sqrt{1+14\|M^*\|_*}, \frac{4\epsilon_g}{n\sqrt\nu}) +
    \frac{\epsilon_H}{2\nu}\|M^*\|_*$.

    It holds for Gaussian inputs and $cd\log d \le n \le Cd^2$ with a probability whose constant
    only exists; never a bound for the data at hand.
    """
    root = math.sqrt(head)
    first = max(math.sqrt(1.0 + 14.0 * nuclear_norm), 4.0 * gradient_norm / (n * root))
    return gradient_norm / root * first + negative_curvature / (2.0 * head) * nuclear_norm


def largest_cubic_root(a: float, b: float, c: float) -> float:
    r"""The largest real root w of $aw^3 - bw = c$ with a > 0, c >= 0 (at least 0)."""
    roots = np.roots([a, 0.0, -b, -c])
    real = roots[np.abs(roots.imag) <= 1e-8 * (1.0 + np.abs(roots.real))].real
    return max(float(real.max(initial=0.0)), 0.0)

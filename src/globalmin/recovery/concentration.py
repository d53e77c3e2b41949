r"""Concentration of gradient and Hessian of $f_n$ around their means, with every constant explicit
(FCL-L5, L7, and L3, L4, T1).

The paper's constants only exist. Here: nets (FCL-L5), one moment inequality and Bernstein's
inequality. For a unit direction A, $Q = \|Ax\|^2$ with x ~ N(0, I) is a convex combination of
chi-squares, hence $E\,Q^{p/2} \le E|g|^p$ for p >= 2 and $E\,e^{sQ} \le (1-2s)^{-1/2}$; and
$|u\cdot\nabla\ell| \le b_1\bar eK^{-1/2}\sqrt Q$, $|D^2\ell[A,A]| \le (b_1^2+b_2\bar e)K^{-1}Q$,
where $\bar e$ bounds the residuals. True statements about Gaussian inputs, evaluated in floats. Far
from sharp: they replace a constant nobody knows by one everybody can compute, and the certificate
*unique-minimum* stays the tool for one instance.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from globalmin._types import Array, ArrayLike
from globalmin.errors import DataError, HypothesisError
from globalmin.recovery.bounds import population_radius
from globalmin.recovery.geometry import check_local_inputs, local_activation
from globalmin.references import states

if TYPE_CHECKING:
    from globalmin.activations import Activation


GAUSSIAN_PSI2 = math.sqrt(8.0 / 3.0)  # the psi_2 norm of N(0, 1)
CUBE = (
    2.0 * math.sqrt(2.0 / math.pi) / 3.0
)  # E|g|^p <= (p!/2) CUBE^(p-2) for p >= 2, with equality at p = 3


@states("FCL-L5")
def log_net_size(dimension: int, eps: float, radius: float = 1.0) -> float:
    r"""$m\log(1+2r/\epsilon)$, at least the logarithm of the size of some $\epsilon$-net of a ball
    (or sphere) of radius r in $R^m$; the paper's $(3r/\epsilon)^m$ needs $\epsilon \le r$.
    """
    if dimension < 1 or not (eps > 0 and radius >= 0):
        raise DataError(
            f"dimension={dimension}, eps={eps}, radius={radius}: dimension >= 1, eps > 0, radius "
            ">= 0 are needed"
        )
    return dimension * math.log1p(2.0 * radius / eps)


def residual_limit(activation: str | Activation) -> float:
    r"""$\bar e$: the length of the activation's range, at least every residual for labels of both
    models; refused if infinite.
    """
    phi = local_activation(activation)
    low, high = (float(phi(np.array(z))) for z in (-1e6, 1e6))
    if not (phi.name in ("sigmoid", "tanh", "erf") and math.isfinite(high - low)):
        raise HypothesisError(
            f"{phi} is not bounded, and neither are its residuals; use sigmoid, tanh or erf",
            hypothesis="FCL-M1",
            value=str(phi),
        )
    return high - low


@states("FCL-L7")
def gradient_psi2_limit(K: int, activation: str | Activation) -> float:
    r"""$\sqrt{8/3}\,b_1\bar e/\sqrt K \ge \|u\cdot\nabla\ell(W;x)\|_{\psi_2}$ for every W and unit
    u, x ~ N(0, I).

    Theory
    ------
    FCL-L7 with its constant: $\|Z\|_{\psi_2} = \inf\{s: Ee^{Z^2/s^2} \le 2\}$ and $Ee^{Q/s^2} \le
    (1-2/s^2)^{-1/2}$. The paper's triangle inequality over neurons gives the same order.
    """
    return (
        GAUSSIAN_PSI2
        * float(local_activation(activation).supremum(1))
        * residual_limit(activation)
        / math.sqrt(K)
    )


@states("FCL-L7")
def estimate_psi2_norm(values: ArrayLike) -> float:
    r"""The s with $\mathrm{mean}\,e^{z_i^2/s^2} = 2$ by bisection: the psi_2 norm of the empirical
    law of the values.
    """
    z = np.abs(np.asarray(values, dtype=np.float64).reshape(-1))
    top = float(z.max(initial=0.0))
    if z.size == 0 or not math.isfinite(top):
        raise DataError(f"{z.size} values with maximum {top}: at least one, all finite, are needed")
    low, high = top / math.sqrt(math.log(2.0 * z.size)), top / math.sqrt(math.log(2.0))
    for _ in range(200 if top > 0.0 else 0):
        middle = 0.5 * (low + high)
        low, high = (
            (middle, high) if float(np.exp((z / middle) ** 2).mean()) > 2.0 else (low, middle)
        )
    return high


@states("FCL-L7")
def sample_gradients_along(
    u: Array, W: Array, X: Array, y: Array, activation: str | Activation
) -> Array:
    r"""$u\cdot\nabla\ell(W;x_i,y_i)$ for every sample, (n,); u has the shape of W."""
    phi = local_activation(activation)
    check_local_inputs(W, X, y)
    if u.shape != W.shape:
        raise DataError(f"u has shape {u.shape}, W {W.shape}; they must agree")
    Z = X @ W.T
    return (phi(Z).mean(axis=1) - y) * (phi.derivative(Z) * (X @ u.T)).mean(axis=1)


def _bernstein(t: float, n: int, variance: float, scale: float) -> float:
    r"""$\sqrt{2vt/n} + ct/n$: exceeded by a mean minus its expectation with probability at most
    $e^{-t}$, if $E|Z|^p \le \frac{p!}{2}vc^{p-2}$ for p >= 2.
    """
    return math.sqrt(2.0 * variance * t / n) + scale * t / n


def _check(n: int, delta: float) -> None:
    if n < 1 or not 0.0 < delta < 1.0:
        raise DataError(f"n={n} and delta={delta} must satisfy n >= 1 and 0 < delta < 1")


@states("FCL-L3", "FCL-L5")
def hessian_deviation_limit(
    n: int, d: int, K: int, activation: str | Activation, *, delta: float, radius: float = 0.0
) -> float:
    r"""Bound of $\sup\|\nabla^2f_n(W)-\nabla^2f(W)\|$ over a fixed ball of W, failing with
    probability at most delta.

    Parameters
    ----------
    radius : of the ball of W (Frobenius); 0 for one fixed W.

    Theory
    ------
    FCL-L3 with explicit constants. One W: $2(\sqrt{6c^2t/n} + 2ct/n)$ with $c = (b_1^2+b_2\bar
    e)/K$ and $t = dK\log9 + \log(2/\delta)$, since $E\,Q^p \le (2p-1)!! \le
    \frac{p!}{2}\,3\cdot2^{p-2}$ and a 1/4-net doubles at most. A ball: an $\epsilon$-net of it as
    well, and $\epsilon$ times the mean Lipschitz constant of FCL-L6, whose excess Markov's
    inequality pays for.
    """
    _check(n, delta)
    phi, e = local_activation(activation), residual_limit(activation)
    b1, b2, b3 = (float(phi.supremum(order)) for order in (1, 2, 3))
    c, m = (b1**2 + b2 * e) / K, d * K
    t = log_net_size(m, 0.25) + math.log(2.0 / delta)
    if radius == 0.0:
        return 2.0 * _bernstein(t, n, 3.0 * c**2, 2.0 * c)
    J = (3.0 * b1 * b2 / K**1.5 + b3 * e / K) * _third_moment(d)
    eps = c / (n * J * (1.0 + 2.0 / delta))
    t += log_net_size(m, eps, radius) + math.log(2.0)
    return 2.0 * _bernstein(t, n, 3.0 * c**2, 2.0 * c) + c / n


@states("FCL-L4")
def gradient_deviation_limit(
    n: int, d: int, K: int, activation: str | Activation, *, delta: float, radius: float = 0.0
) -> float:
    r"""Bound of $\sup\|\nabla f_n(W)-\nabla f(W)\|$ over a fixed ball of W, failing with
    probability at most delta.

    Theory
    ------
    FCL-L4 with explicit constants. One W: $2a(\sqrt{2t/n} + .532t/n)$ with $a = b_1\bar e/\sqrt K$
    and $t = dK\log5 + \log(1/\delta)$ (a 1/2-net doubles at most). A ball: as for the Hessian, with
    Lipschitz constant $(b_1^2+b_2\bar e)K^{-1}\mathrm{mean}\|x\|^2$.
    """
    _check(n, delta)
    phi, e = local_activation(activation), residual_limit(activation)
    b1, b2 = (float(phi.supremum(order)) for order in (1, 2))
    a, m = b1 * e / math.sqrt(K), d * K
    t = log_net_size(m, 0.5) + math.log(1.0 / delta)
    if radius == 0.0:
        return 2.0 * _bernstein(t, n, a**2, CUBE * a)
    eps = a / (n * (b1**2 + b2 * e) / K * d * (1.0 + 2.0 / delta))
    t += log_net_size(m, eps, radius) + math.log(2.0)
    return 2.0 * _bernstein(t, n, a**2, CUBE * a) + a / n


def _third_moment(d: int) -> float:
    r"""$E\|x\|^3 = 2^{3/2}\Gamma((d+3)/2)/\Gamma(d/2)$ for x ~ N(0, I_d)."""
    return 2.0**1.5 * math.exp(math.lgamma((d + 3) / 2.0) - math.lgamma(d / 2.0))


@dataclass(frozen=True)
class ExplicitSamples:
    """FCL-T1 with numbers.

    Attributes
    ----------
    samples : from this n on the Hessian of f_n has all eigenvalues above `least` on the ball,
        except with probability delta.
    radius : of that ball around the teacher.
    least, most : bounds of the eigenvalues of the Hessian of f_n there.
    delta : probability of failure.
    """

    samples: int
    radius: float
    least: float
    most: float
    delta: float


@states("FCL-T1", "FCL-C1")
def explicit_samples(
    Wstar: Array,
    activation: str | Activation = "sigmoid",
    *,
    theta: float = 0.5,
    delta: float = 0.01,
    curvature: float | None = None,
) -> ExplicitSamples:
    r"""So many samples suffice for strong convexity of $f_n$ around the teacher, both label models;
    no unknown constant.

    Parameters
    ----------
    theta : part of the population curvature kept on the ball (FCL-L2); half of it is then left to
        the sample.
    curvature : lower bound of $\lambda_{\min}(\nabla^2f(W^*))$; default FCL-LMIN.

    Theory
    ------
    FCL-T1, FCL-C1 from FCL-L2 and FCL-L3 as above. The answer is far larger than what experiments
    need.
    """
    found = population_radius(Wstar, activation, theta, curvature=curvature)
    K, d = Wstar.shape
    allowed = found.least / 2.0

    def enough(n: int) -> bool:
        return (
            hessian_deviation_limit(n, d, K, activation, delta=delta, radius=found.radius)
            <= allowed
        )

    return ExplicitSamples(_least(enough), found.radius, allowed, found.most + allowed, delta)


def _least(enough: Callable[[int], bool]) -> int:
    """The least n that is enough, to a millionth, for a condition that stays true."""
    high = 1
    while not enough(high):
        high *= 2
    low = high // 2
    while high - low > max(1, high // 10**6):
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


@states("FCL-T2", "FCL-C4")
def explicit_error_samples(
    Wstar: Array,
    activation: str | Activation = "sigmoid",
    *,
    error: float,
    theta: float = 0.5,
    delta: float = 0.01,
    curvature: float | None = None,
) -> int:
    r"""So many samples suffice for exactly one critical point in the ball of `explicit_samples`, at
    most `error` $\|W^*\|_F$ from the teacher, both label models; no unknown constant.

    Theory
    ------
    FCL-T2 (8) and FCL-C4: with $\nabla f(W^*) = 0$ and curvature $\mu$ of $f_n$ on the ball of
    radius r, a gradient $\|\nabla f_n(W^*)\| \le \mu\min(r, \mathrm{error}\|W^*\|)$ puts the
    minimum of the ball inside it. Half of delta is for the curvature (FCL-T1), half for the
    gradient at one point (FCL-L4).
    """
    if not error > 0.0:
        raise DataError(f"error={error} must be positive: a relative error such as 0.1")
    convex = explicit_samples(
        Wstar, activation, theta=theta, delta=delta / 2.0, curvature=curvature
    )
    K, d = Wstar.shape
    allowed = convex.least * min(convex.radius, error * float(np.linalg.norm(Wstar)))

    def enough(n: int) -> bool:
        return gradient_deviation_limit(n, d, K, activation, delta=delta / 2.0) <= allowed

    return max(convex.samples, _least(enough))

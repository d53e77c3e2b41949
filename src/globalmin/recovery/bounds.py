r"""The constants that the proofs leave unnamed, made explicit: curvature of the population loss
near the teacher (FCL-LMIN, HMAX, L1, L2), and the scales of the finite-sample theorems, whose
constants are only known to exist.

Evaluated in floating point, so the numbers are bounds up to rounding. Weights are K x d by rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from globalmin._types import Array
from globalmin.errors import DataError, HypothesisError
from globalmin.recovery.geometry import local_activation
from globalmin.recovery.moments import rho
from globalmin.references import states

if TYPE_CHECKING:
    from globalmin.activations import Activation


LIPSCHITZ_FACTOR = 6.0 * math.sqrt(
    2.0 / math.pi
)  # three block families, each with E|z|^3 = 2 sqrt(2/pi)


@dataclass(frozen=True)
class Conditioning:
    r"""What the theorems read off a teacher.

    Attributes
    ----------
    sigma_min, kappa : smallest singular value of W* and condition number.
    volume : the paper's lambda, $\prod_i\sigma_i/\sigma_K$; can be exponential in K.
    rho : rho(sigma_min).
    """

    sigma_min: float
    kappa: float
    volume: float
    rho: float

    @property
    def effective(self) -> float:
        r"""$\rho/(\kappa^2\lambda)$, the curvature times $K^2$."""
        return self.rho / (self.kappa**2 * self.volume)


def conditioning(Wstar: Array, activation: str | Activation) -> Conditioning:
    """Singular values of the teacher and rho at the smallest; refused when the neurons are
    dependent.
    """
    phi = local_activation(activation)
    K, d = Wstar.shape
    if d < K:
        raise HypothesisError(
            f"K={K} neurons in dimension d={d}; the theory needs K <= d",
            hypothesis="K <= d",
            value=(K, d),
        )
    singular = np.linalg.svd(Wstar, compute_uv=False)
    smallest = float(singular[-1])
    if not smallest > 1e-12 * float(singular[0]):
        raise HypothesisError(
            "the neurons are linearly dependent", hypothesis="sigma_K > 0", value=smallest
        )
    volume = math.exp(float(np.log(singular / smallest).sum()))
    return Conditioning(smallest, float(singular[0]) / smallest, volume, float(rho(smallest, phi)))


@states("FCL-LMIN")
def population_curvature_least(Wstar: Array, activation: str | Activation) -> float:
    r"""$\lambda_{\min}(\nabla^2f(W^*)) \ge \rho(\sigma_K)/(K^2\kappa^2\lambda)$, with constant
    exactly 1 (up to rounding).
    """
    return conditioning(Wstar, activation).effective / Wstar.shape[0] ** 2


@states("FCL-HMAX")
def population_curvature_most(K: int, activation: str | Activation) -> float:
    r"""$\|\nabla^2f(W^*)\| \le b_1^2/K$ for K neurons."""
    return float(local_activation(activation).supremum(1)) ** 2 / K


@states("FCL-L1")
def population_hessian_lipschitz(K: int, activation: str | Activation) -> float:
    r"""$\|\nabla^2f(W)-\nabla^2f(W^*)\| \le 6\sqrt{2/\pi}\,b_1b_2K^{-3/2}\|W-W^*\|_F$: the factor
    in front of the distance.
    """
    phi = local_activation(activation)
    return LIPSCHITZ_FACTOR * float(phi.supremum(1)) * float(phi.supremum(2)) / K**1.5


@states("FCL-L6")
def pathwise_hessian_lipschitz(
    X: Array, K: int, activation: str | Activation, *, residual: float = 1.0
) -> float:
    r"""A Lipschitz constant of $\nabla^2f_n$ wherever no residual exceeds `residual` (1 for the
    sigmoid and labels in [0, 1]).

    $(3b_1b_2K^{-3/2} + b_3\,\mathrm{residual}\,K^{-1})\,\mathrm{mean}\|x_i\|^3$.

    Theory
    ------
    FCL-L6, corrected: the second term falls like $K^{-1}$ only, not like the printed $K^{-3/2}$.
    """
    phi = local_activation(activation)
    b1, b2, b3 = (float(phi.supremum(order)) for order in (1, 2, 3))
    return (3.0 * b1 * b2 / K**1.5 + b3 * residual / K) * float(
        np.mean(np.linalg.norm(X, axis=1) ** 3)
    )


@dataclass(frozen=True)
class PopulationRadius:
    """On the ball of this radius around the teacher all eigenvalues of the population Hessian lie
    in [least, most].
    """

    radius: float
    least: float
    most: float
    conditioning: Conditioning


@states("FCL-L2")
def population_radius(
    Wstar: Array,
    activation: str | Activation,
    theta: float = 0.5,
    *,
    curvature: float | None = None,
) -> PopulationRadius:
    r"""Radius on which the population loss keeps the part theta of its curvature at the teacher.

    Parameters
    ----------
    theta : in (0, 1); the paper's constant c is then $6\sqrt{2/\pi}/(1-\theta)$.
    curvature : a lower bound of $\lambda_{\min}(\nabla^2f(W^*))$; default FCL-LMIN. The exact value
        from `population_hessian` gives a larger radius.

    Theory
    ------
    FCL-L2: $r = (1-\theta)\lambda_{\min}/\mathrm{Lip}$ with Lip of FCL-L1; then
    $\theta\lambda_{\min}I \le \nabla^2f(W) \le (b_1^2/K + (1-\theta)\lambda_{\min})I$.
    """
    if not 0 < theta < 1:
        raise DataError(f"theta={theta} must lie strictly between 0 and 1")
    K, facts = Wstar.shape[0], conditioning(Wstar, activation)
    least = facts.effective / K**2 if curvature is None else float(curvature)
    if not least > 0:
        raise DataError(f"curvature={curvature} must be positive")
    radius = (1.0 - theta) * least / population_hessian_lipschitz(K, activation)
    most = population_curvature_most(K, activation) + (1.0 - theta) * least
    return PopulationRadius(radius, theta * least, most, facts)


@dataclass(frozen=True)
class TheoremScales:
    """The orders of FCL-T1, T2, C1, C2, L3 and L4 without their unknown constants; never bounds.

    Attributes
    ----------
    samples : n over C that FCL-T1 asks for.
    radius : r times c.
    hessian_least, hessian_most : orders of the eigenvalues on the ball.
    error : ||What - W*||_F over C_1 (classification; zero for regression, FCL-C2).
    hessian_deviation, gradient_deviation : FCL-L3, FCL-L4.
    step : H_min/H_max^2, the order of the paper's step.
    """

    samples: float
    radius: float
    hessian_least: float
    hessian_most: float
    error: float
    hessian_deviation: float
    gradient_deviation: float
    step: float


@states("FCL-T1", "FCL-C1", "FCL-T2", "FCL-C2", "FCL-A1")
def theorem_scales(Wstar: Array, n: int, activation: str | Activation) -> TheoremScales:
    r"""Orders of the finite-sample theorems for n samples, with $L = \max(b_1, b_2, b_3)$ and all
    constants set to 1.

    Theory
    ------
    FCL-T1, FCL-T2 and their corollaries for regression labels; the constants exist but are not
    stated, and in practice the Hessian is positive definite from far fewer samples. The certificate
    *unique-minimum* replaces them.
    """
    phi = local_activation(activation)
    (K, d), facts = Wstar.shape, conditioning(Wstar, phi)
    if n < 2 or d < 2:
        raise DataError(f"n={n} samples of d={d} features; both must be at least 2")
    L = max(float(phi.supremum(order)) for order in (1, 2, 3))
    least, most = facts.effective / K**2, L**2 / K
    noise = math.sqrt(d * math.log(n) / n)
    return TheoremScales(
        samples=d * K**3 * math.log(d) ** 2 * ((L + 1.0) * L / facts.effective) ** 2,
        radius=facts.effective / (math.sqrt(K) * L**2),
        hessian_least=least,
        hessian_most=most,
        error=L / least * noise,
        hessian_deviation=(L**2 + L) * noise / math.sqrt(K),
        gradient_deviation=L * noise,
        step=least / most**2,
    )


@states("FCL-T2")
def descent_rate(least: float, most: float, eta: float | None = None) -> tuple[float, float]:
    r"""Step and factor per step of gradient descent where the Hessian lies in [least, most]:
    $1-\eta\,$least for any $\eta \le 2/(\mathrm{least}+\mathrm{most})$, the largest by default
    (FCL-T2 repaired).
    """
    if not 0 < least <= most:
        raise DataError(f"least={least}, most={most} must satisfy 0 < least <= most")
    largest = 2.0 / (least + most)
    step = largest if eta is None else float(eta)
    if not 0 < step <= largest * (1 + 1e-12):
        raise DataError(f"eta={eta} must lie in (0, {largest:.6g}]")
    return step, 1.0 - step * least

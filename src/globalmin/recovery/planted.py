r"""Both layers trained near a planted teacher (SJL-T2.5): the theorem's orders, and a basin without
unknown constants (OS-C5).

Labels are the teacher's outputs, loss $\frac12\sum r^2$ (SJL's is that over n, so its step is n
times ours). SJL-T2.5 promises linear convergence from a ball whose radius carries a constant that
only exists; `planted_basin` computes such a ball for the instance, `joint_descent` tests one start.
In floats: estimates of true bounds, which *descent* certificates prove.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from globalmin._types import Array
from globalmin.activations.moments import MeanSign, average_class
from globalmin.errors import DataError, HypothesisError
from globalmin.references import states
from globalmin.shallow.lipschitz import Method, estimate_lipschitz
from globalmin.shallow.network import jacobian_gram, residual
from globalmin.shallow.provability import (
    DescentQuantities,
    Linearization,
    descent_quantities,
    linearize,
)

if TYPE_CHECKING:
    from globalmin.shallow.network import ShallowNetwork


ROUNDS = 60


@dataclass(frozen=True)
class PlantedScales:
    r"""The orders of SJL-T2.5 with all constants set to 1; never bounds. Loss $\frac1{2n}\sum r^2$
    as in the paper.

    Attributes
    ----------
    odd_class : class (b) of SJL-A2.3 (mean curvature identically zero): $\sigma_{\min}(W^*)$ counts
        as 1.
    step : 1/beta, beta = (sigma_max^2 + 1) k.
    radius, head_radius : of the start, Frobenius for W, largest entry for v.
    exponent : sigma_min^2 d^2/n, what multiplies the step in the rate of the loss (the proof's;
        printed: d/n).
    """

    odd_class: bool
    step: float
    radius: float
    head_radius: float
    exponent: float


@states("SJL-T2.5", "SJL-A2.3")
def planted_scales(teacher: ShallowNetwork, n: int) -> PlantedScales:
    r"""Orders of SJL-T2.5 for n samples: start within
    $\frac{\sigma_{\min}^3}{\sigma_{\max}}\frac{d^{5/2}}{n^{3/2}k}$.
    """
    k, d = teacher.W.shape
    if n < 1 or k < d:
        raise HypothesisError(
            f"n={n}, k={k}, d={d}; SJL-T2.5 needs n >= 1 and k >= d",
            hypothesis="k >= d",
            value=(n, k, d),
        )
    singular = np.linalg.svd(teacher.W, compute_uv=False)
    odd = average_class(teacher.activation).curvature is MeanSign.ALWAYS
    high = float(singular[0])
    low = 1.0 if odd else float(singular[-1])
    radius = low**3 / high * d**2.5 / (n**1.5 * k)
    return PlantedScales(
        odd, 1.0 / ((high**2 + 1.0) * k), radius, radius / math.sqrt(k), low**2 * d**2 / n
    )


@dataclass(frozen=True)
class JointDescent:
    """OS-C5 at one point: constants of the descent theorem with the Lipschitz constant valid on the
    radius rho.
    """

    quantities: DescentQuantities
    Lip: float
    rho: float


@states("OS-C5", "SJL-T2.5")
def joint_descent(
    network: ShallowNetwork,
    X: Array,
    y: Array,
    *,
    eta: float | None = None,
    method: Method = "rows",
) -> JointDescent | None:
    r"""Whether gradient descent on both layers with one step reaches zero loss from these weights;
    None if not shown.

    Parameters
    ----------
    eta : the step on $\frac12\sum r^2$; the largest allowed by default.
    method : of the quartic form, "rows" or "svec" (sharper, slower).

    Theory
    ------
    OS-C5: the least rho with $S(\mathrm{Lip}(\rho)) \le \rho$, found upward from 0; $\|r_t\| \le
    \mathrm{rate}^t\|r_0\|$ and the path stays shorter than S.
    """
    point = linearize(jacobian_gram(network, X, trained="vW"), residual(network, X, y))
    if point is None:
        return None
    rho = 0.0
    for _ in range(ROUNDS):
        Lip = estimate_lipschitz(network, X, rho, trained="vW", method=method)
        found = descent_quantities(point, Lip, eta=eta)
        if found is None:
            return None
        if rho >= found.S:
            return JointDescent(found, Lip, rho)
        rho = found.S * (1.0 + 1e-9)
    return None


@dataclass(frozen=True)
class PlantedBasin:
    r"""From every start within `radius` of the teacher (both layers, Euclidean) descent reaches
    zero loss.

    Attributes
    ----------
    radius : of the starts.
    reach : no iterate leaves this distance from the teacher; Lip holds up to there.
    step, rate : a step on $\frac12\sum r^2$ allowed for all these starts, and the factor of $\|r\|$
        per step.
    path : bound of the length of every path.
    Lip : Lipschitz constant of the Jacobian used.
    point : singular values of the Jacobian at the teacher.
    """

    radius: float
    reach: float
    step: float
    rate: float
    path: float
    Lip: float
    point: Linearization


@states("SJL-T2.5", "OS-C5")
def planted_basin(
    teacher: ShallowNetwork, X: Array, *, share: float = 0.5, method: Method = "rows"
) -> PlantedBasin | None:
    r"""SJL-T2.5 without unknown constants, for given inputs; None where the Jacobian at the teacher
    has no full row rank.

    Parameters
    ----------
    teacher : v*, W*; the labels are its outputs.
    share : in (0, 1), of the largest radius allowed; the rest is kept as rate.

    Theory
    ------
    At distance R of the teacher $\|r\| \le bR + \mathrm{Lip}R^2/2$, $\sigma_{\min}(J) \ge a -
    \mathrm{Lip}R$, so OS-C1 applies for $R < a^2/(2\mathrm{Lip}(a+b))$, where $\alpha^2 = a^2 -
    2\mathrm{Lip}(a+b)R$ exactly (ours). Lip must hold up to R + S, hence the bisection.
    """
    if not 0.0 < share < 1.0:
        raise DataError(f"share={share} must lie strictly between 0 and 1")
    point = linearize(jacobian_gram(teacher, X, trained="vW"), np.zeros(X.shape[0]))
    if point is None:
        return None

    def at(reach: float) -> PlantedBasin:
        Lip = estimate_lipschitz(teacher, X, reach, trained="vW", method=method)
        return _basin(point, Lip, reach, share)

    low, high = 0.0, _extent(at(0.0))
    for _ in range(ROUNDS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if _extent(at(middle)) > middle else (low, middle)
    return at(high) if math.isfinite(at(high).Lip) else None


def _extent(basin: PlantedBasin) -> float:
    return basin.radius + basin.path


def _basin(point: Linearization, Lip: float, reach: float, share: float) -> PlantedBasin:
    a, b = point.a, point.b
    if not (math.isfinite(Lip) and Lip > 0.0):
        return PlantedBasin(0.0, reach, 0.0, 1.0, 0.0, Lip, point)
    R = share * a**2 / (2.0 * Lip * (a + b))
    alpha = a * math.sqrt(1.0 - share)
    S = 2.0 * (b * R + Lip * R**2 / 2.0) / (a - Lip * R + alpha)
    step = 1.0 / (b + Lip * (R + S)) ** 2
    return PlantedBasin(R, reach, step, 1.0 - step * alpha**2, S, Lip, point)


@states("SJL-PL", "SJL-T2.5")
def trapped_loss(m_L: float, m_U: float, radius: float) -> float:
    r"""$(m_Lr/4)^2/m_U$: from a loss below it the path $\frac4{m_L}\sqrt{m_UL_0}$ of SJL-PL stays
    within the radius r.
    """
    if not (0.0 < m_L <= m_U and radius >= 0.0):
        raise DataError(
            f"m_L={m_L}, m_U={m_U}, radius={radius} must satisfy 0 < m_L <= m_U and radius >= 0"
        )
    return (m_L * radius / 4.0) ** 2 / m_U

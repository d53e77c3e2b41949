r"""Stochastic gradient descent on a filter: DU-L6.2, DU-L6.3 and DU-T6.4 with repaired, explicit
constants.

The printed step size and two lemmas do not stand; these are the repaired statements: Azuma on the
stopped supermartingale for the whole path, Markov on the non-negative squared distance for its end.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from globalmin.errors import HypothesisError
from globalmin.references import states

if TYPE_CHECKING:
    from globalmin.patches.constants import FilterConstants


@dataclass(frozen=True)
class SgdBounds:
    r"""What the repaired lemmas say about T steps.

    Attributes
    ----------
    alpha : contraction $\gamma(\varphi_1) - 6L_{cross} - \eta M^2$. inner, outer : $r_0$ and $r_1$.
    leave_upper : probability that some iterate is farther than $r_1$ from w* (at most 1).
    miss_upper : probability that $\lVert w_T-w^*\rVert \ge 2\epsilon W$ (at most 1).
    """

    alpha: float
    inner: float
    outer: float
    leave_upper: float
    miss_upper: float


@states("DU-T6.4")
def largest_good_angle(constants: FilterConstants, n_angles: int = 721) -> float:
    r"""$\varphi_*$: the largest angle of a grid on $[0, \pi/2]$ up to which $\gamma \ge 6L_{cross}$
    everywhere; 0 if nowhere.
    """
    best = 0.0
    for phi in np.linspace(0.0, math.pi / 2.0, n_angles):
        if constants.gamma(float(phi)) < 6.0 * constants.cross(float(phi)):
            break
        best = float(phi)
    return best


@states("DU-L6.2", "DU-L6.3", "DU-T6.4")
def sgd_bounds(
    constants: FilterConstants,
    start_distance: float,
    step_size: float,
    n_steps: int,
    *,
    gradient_bound: float,
    eps: float,
    W: float,
) -> SgdBounds:
    r"""Probabilities for T steps of SGD with $\lVert g\rVert \le B$ from distance $r_0$ (DU-T6.4,
    repaired).

    Hypotheses, all checked: $\alpha > 0$, $\eta\alpha \le 1$, $\eta B^2/\alpha \le r_0^2 < r_1^2 =
    W^2\sin^2\varphi_1$ with $\varphi_1 = (\varphi_*+\varphi_0)/2$. Raises `HypothesisError` naming
    the one that fails.
    """
    ratio = start_distance / W
    _require(0.0 < ratio < 1.0, "0 < r0 < W", ratio)
    phi_star, phi0 = largest_good_angle(constants), math.asin(ratio)
    _require(phi_star > phi0, "phi0 < phi_*", phi0)
    phi1 = 0.5 * (phi_star + phi0)
    cross = max(constants.cross(phi) for phi in np.linspace(0.0, phi1, 65))
    M = constants.largest(0.0) + 10.0 * cross + 4.0 * constants.beta
    alpha = constants.gamma(phi1) - 6.0 * cross - step_size * M**2
    _require(alpha > 0.0, "alpha = gamma(phi1) - 6 L_cross - eta M^2 > 0", alpha)
    _require(step_size * alpha <= 1.0, "eta alpha <= 1", step_size * alpha)
    floor = step_size * gradient_bound**2 / alpha
    _require(floor <= start_distance**2, "eta B^2/alpha <= r0^2", floor)
    r1 = W * math.sin(phi1)
    leave = stay_failure_upper(step_size, alpha, gradient_bound, (start_distance, r1), n_steps)
    end = ((1.0 - step_size * alpha) ** n_steps * start_distance**2 + floor) / (4.0 * eps**2 * W**2)
    return SgdBounds(alpha, start_distance, r1, leave, min(1.0, leave + end))


@states("DU-L6.2")
def stay_failure_upper(
    step_size: float, alpha: float, gradient_bound: float, radii: tuple[float, float], n_steps: int
) -> float:
    r"""Bound of the probability that some iterate leaves the ball $r_1$, at most 1.

    $T\exp(-\eta\alpha(r_1^2-r_0^2)^2/(2c^2))$ with $c = 4\eta Br_1 + 4\eta^2B^2$.
    """
    r0, r1 = radii
    c = 4.0 * step_size * gradient_bound * r1 + 4.0 * step_size**2 * gradient_bound**2
    return min(1.0, n_steps * math.exp(-step_size * alpha * (r1**2 - r0**2) ** 2 / (2.0 * c**2)))


def _require(condition: bool, hypothesis: str, value: float) -> None:
    if not condition:
        raise HypothesisError(
            f"DU-T6.4 says nothing here: {hypothesis} fails (value {value:.4g})",
            hypothesis=hypothesis,
            value=value,
        )

r"""Steps and rates of gradient descent for one neuron and for a convolutional filter (DU-T6.1 to
DU-T6.3).

Both theorems follow $\lVert w_t - w^*\rVert$ through $\varphi_t = \arcsin(\lVert w_t-w^*\rVert/W)$,
which bounds the angle to w*.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from globalmin.errors import HypothesisError
from globalmin.patches.model import filter_loss, filter_outputs
from globalmin.references import states

if TYPE_CHECKING:
    from globalmin.patches.constants import FilterConstants


CELLS = 64  # of the interval [0, phi] over which a step has to be small enough


def angle_limit(w: ArrayLike, w_star: ArrayLike) -> float:
    r"""$\varphi = \arcsin(\lVert w-w^*\rVert/W)$, an upper bound of the angle; raises unless
    $\lVert w-w^*\rVert < W$.
    """
    w, w_star = np.asarray(w, dtype=np.float64), np.asarray(w_star, dtype=np.float64)
    ratio = float(np.linalg.norm(w - w_star)) / max(float(np.linalg.norm(w_star)), 1e-300)
    if ratio >= 1.0:
        raise HypothesisError(
            f"|w - w*|/|w*| = {ratio:.4g} is not below 1", hypothesis="|w - w*| < |w*|", value=ratio
        )
    return math.asin(ratio)


@states("DU-T6.1")
def starts_below_zero(Z: ArrayLike, w: ArrayLike, w_star: ArrayLike) -> bool:
    r"""The start condition $\ell(w_0) < \ell(0) = \frac12E\,\sigma(w^{*T}Z)^2$ of DU-T6.1, on the
    samples.
    """
    y = filter_outputs(Z, w_star)
    return filter_loss(Z, y, w) < 0.5 * float(np.mean(y**2))


@states("DU-T6.2", "DU-T6.3")
def max_step(constants: FilterConstants, phi: float) -> float:
    r"""Largest step of the theorems at $\varphi_t = \varphi$.

    $\min_{0\le\psi\le\varphi}\frac{\gamma(\psi)-6L_{cross}}{2(L(\psi)+10L_{cross}+4\beta)^2}$.

    The minimum is taken over cells with $\gamma$ at their right end and L at their left end, so it
    never exceeds the true one if the constants are exact. $L_{cross}$ is taken at the angle: the
    proof needs it there only. Not positive: no step is covered.
    """
    edges = np.linspace(0.0, phi, CELLS + 1)
    gain, size = [], []
    for left, right in itertools.pairwise(edges):
        cross = max(constants.cross(float(left)), constants.cross(float(right)))
        gain.append(constants.gamma(float(right)) - 6.0 * cross)
        size.append(
            2.0 * (constants.largest(float(left)) + 10.0 * cross + 4.0 * constants.beta) ** 2
        )
    return min(float(a / b) if b > 0.0 else 0.0 for a, b in zip(gain, size, strict=True))


@states("DU-T6.2", "DU-T6.3")
def contraction(constants: FilterConstants, phi: float, step_size: float) -> float:
    r"""Factor per step of $\lVert w_t-w^*\rVert^2$ for a step up to `max_step`.

    $1 - \eta(\gamma(\varphi_t) - 6L_{cross}(\varphi_t))/2$.
    """
    return 1.0 - step_size * (constants.gamma(phi) - 6.0 * constants.cross(phi)) / 2.0


@states("DU-T6.2")
def iterations_at_most(
    constants: FilterConstants, phi0: float, step_size: float, eps: float
) -> int:
    r"""Steps after which $\lVert w-w^*\rVert \le \epsilon\lVert w_0-w^*\rVert$ for one neuron.

    $\lceil 2\ln(1/\epsilon^2)/(\eta\gamma(\varphi_0))\rceil$ for a constant step.
    """
    return math.ceil(2.0 * math.log(1.0 / eps**2) / (step_size * constants.gamma(phi0)))


@states("DU-T6.3")
def cross_margin(constants: FilterConstants, phi: float) -> float:
    r"""$\gamma(\varphi) - 6L_{cross}(\varphi)$; the theorem speaks only where it is positive."""
    return constants.gamma(phi) - 6.0 * constants.cross(phi)


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
def sgd_limits(
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
    leave = stay_failure_at_most(step_size, alpha, gradient_bound, (start_distance, r1), n_steps)
    end = ((1.0 - step_size * alpha) ** n_steps * start_distance**2 + floor) / (4.0 * eps**2 * W**2)
    return SgdBounds(alpha, start_distance, r1, leave, min(1.0, leave + end))


@states("DU-L6.2")
def stay_failure_at_most(
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

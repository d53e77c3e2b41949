r"""Steps and rates of gradient descent for one neuron and for a convolutional filter (DU-T6.1 to
DU-T6.4), and how far down they reach.

The theorems follow $\lVert w_t - w^*\rVert$ through $\varphi_t = \arcsin(\lVert w_t-w^*\rVert/W)$,
which bounds the angle $\theta_t$ to w*. The proof of DU-T6.3 needs the cross moments at $\theta_t$
only, and bounds their sum by $c(\varphi_t) = L_{cross}(\varphi_t)\varphi_t$, the largest one over
angles up to $\varphi_t$. So it holds with $L_{cross}$ at $\varphi_t$ at every step, as long as
$\gamma > 6L_{cross}$ there: down to some angle, hence to some distance from w*.
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

    $\min_{0\le\psi\le\varphi}\frac{\gamma(\psi)-6L_{cross}}{2(L(\psi)+10L_{cross}+4\beta)^2}$ with
    $L_{cross}$ at $\varphi$.

    The minimum is taken over cells with $\gamma$ at their right end and L at their left end, so it
    never exceeds the true one if the constants are exact. Not positive: no step is covered.
    """
    cross = constants.cross(phi)
    if math.isinf(cross):
        return -math.inf
    least = math.inf
    for left, right in itertools.pairwise(np.linspace(0.0, phi, CELLS + 1)):
        gain = constants.gamma(float(right)) - 6.0 * cross
        size = constants.largest(float(left)) + 10.0 * cross + 4.0 * constants.beta
        least = min(least, gain / (2.0 * size**2) if size > 0.0 else 0.0)
    return least


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


RATIO = 1.01  # of the angles of the scan
FINEST = 1e-6  # its smallest angle; below it the theorem is said to reach 0


@states("DU-T6.3", "DU-T6.4")
def good_angles(constants: FilterConstants, phi0: float | None = None) -> tuple[float, float]:
    r"""The angles low, high between which $\gamma > 6L_{cross}$ holds without a gap: around phi0,
    or the widest such range; (0, 0) if there is none. high is the $\varphi_*$ of DU-T6.4.

    DU-T6.3 promises descent from distance $W\sin\varphi$ with $\varphi$ between them down to
    $W\sin$ low. low is 0 if nothing stands in the way; both are found to one per cent.
    """
    count = math.ceil(math.log(math.pi / 2.0 / FINEST) / math.log(RATIO))
    angles = math.pi / 2.0 * RATIO ** -np.arange(count)[::-1]
    good = [cross_margin(constants, float(phi)) > 0.0 for phi in angles]
    ends = np.flatnonzero(np.diff([0, *good, 0]))
    runs = [
        (0.0 if i == 0 else float(angles[i]), float(angles[j - 1]))
        for i, j in zip(ends[::2], ends[1::2], strict=True)
    ]
    if phi0 is not None:
        runs = [run for run in runs if run[0] <= phi0 <= run[1] * RATIO]
    return max(runs, key=lambda run: run[1] - run[0], default=(0.0, 0.0))


@states("DU-T6.6", "DU-C6.1")
def good_start_chance(phi_star: float, p: int) -> float:
    r"""Probability that $\lVert w_0-w^*\rVert \le W\sin\varphi_*$ for $w_0$ uniform in the ball of
    radius $W\cos\varphi_*$, the radius of DU-C6.1; by one integral, where the corollary has a lower
    bound.

    At length $s$ (in units of W) a direction is good if its cosine to w* is at least $(s^2 +
    \cos^2\varphi_*)/(2s)$; a cosine is $2B-1$ with $B \sim$ Beta((p-1)/2, (p-1)/2). It is the half
    for $\varphi_* = \pi/2$ and 0 for $\varphi_* = 0$.
    """
    from scipy.integrate import quad
    from scipy.stats import beta

    alpha = math.cos(phi_star)
    if p == 1:
        return _good_on_the_line(alpha)
    if alpha < 1e-12:
        return 0.5
    half = (p - 1) / 2.0
    least = 1.0 - math.sin(phi_star)  # shorter filters are too far away in every direction

    def at(share: float) -> float:
        s = alpha * share ** (1.0 / p)  # so that the share is uniform
        cosine = (s**2 + alpha**2) / (2.0 * s)
        return float(beta.sf((1.0 + cosine) / 2.0, half, half))

    return float(quad(at, (least / alpha) ** p, 1.0, epsabs=1e-10)[0]) if least < alpha else 0.0


def _good_on_the_line(alpha: float) -> float:
    """The same for filters of one number: uniform on [-alpha, alpha], good from 1 - sin on."""
    least = 1.0 - math.sqrt(1.0 - alpha**2)
    return max(alpha - least, 0.0) / (2.0 * alpha) if alpha > 0.0 else 0.5


@dataclass(frozen=True)
class SgdBounds:
    r"""What the repaired lemmas say about T steps.

    Attributes
    ----------
    alpha : contraction $\gamma(\varphi_1) - 6L_{cross} - \eta M^2$. inner, outer : $r_0$ and $r_1$.
    floor : mean of $\lVert w_T-w^*\rVert^2$ that stays however many steps are made.
    leave_upper : probability that some iterate is farther than $r_1$ from w* (at most 1).
    miss_upper : probability that $\lVert w_T-w^*\rVert \ge 2\epsilon W$ (at most 1).
    """

    alpha: float
    inner: float
    outer: float
    floor: float
    leave_upper: float
    miss_upper: float


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
    down_to: float | None = None,
) -> SgdBounds:
    r"""Probabilities for T steps of SGD with $\lVert g\rVert \le B$ from distance $r_0$ (DU-T6.4,
    repaired).

    Hypotheses, all checked: $\alpha > 0$, $\eta\alpha \le 1$, floor $\le r_0^2 < r_1^2 =
    W^2\sin^2\varphi_1$ with $\varphi_1 = (\varphi_*+\varphi_0)/2$. Raises `HypothesisError` naming
    the one that fails.

    Parameters
    ----------
    down_to : the angle $\psi$ down to which $L_{cross}$ is used, between the good angles; default
        twice the lowest of them. Nearer to w* only $c \le c(\psi)$ is used: there $\langle\nabla,
        w-w^*\rangle \ge \gamma r^2 - 3c(\psi)Wr$, so the mean of the next $r^2$ is at most
        $(1-\eta\alpha)r^2 + \eta^2B^2 + \eta\kappa$ with $\kappa = 6c(\psi)W^2\sin\psi$ (ours), and
        the floor is $(\eta B^2+\kappa)/\alpha$; $\kappa = 0$ if the good angles reach 0.
    """
    reach = _reach(constants, start_distance / W, down_to)
    return _limits(constants, reach, step_size, n_steps, (start_distance, gradient_bound, eps, W))


def _limits(
    constants: FilterConstants,
    reach: tuple[float, float, float],
    step_size: float,
    n_steps: int,
    sizes: tuple[float, float, float, float],
) -> SgdBounds:
    (phi1, cross, kappa), (start_distance, gradient_bound, eps, W) = reach, sizes
    M = constants.largest(0.0) + 10.0 * cross + 4.0 * constants.beta
    alpha = constants.gamma(phi1) - 6.0 * cross - step_size * M**2
    _require(alpha > 0.0, "alpha = gamma(phi1) - 6 L_cross - eta M^2 > 0", alpha)
    _require(step_size * alpha <= 1.0, "eta alpha <= 1", step_size * alpha)
    floor = (step_size * gradient_bound**2 + kappa * W**2) / alpha
    _require(floor <= start_distance**2, "(eta B^2 + kappa)/alpha <= r0^2", floor)
    r1 = W * math.sin(phi1)
    leave = stay_failure_at_most(step_size, alpha, gradient_bound, (start_distance, r1), n_steps)
    end = ((1.0 - step_size * alpha) ** n_steps * start_distance**2 + floor) / (4.0 * eps**2 * W**2)
    return SgdBounds(alpha, start_distance, r1, floor, leave, min(1.0, leave + end))


def _reach(
    constants: FilterConstants, ratio: float, down_to: float | None
) -> tuple[float, float, float]:
    r"""$\varphi_1$, the largest $L_{cross}$ from `down_to` to $\varphi_1$, and $\kappa/W^2$."""
    _require(0.0 < ratio < 1.0, "0 < r0 < W", ratio)
    phi0 = math.asin(ratio)
    low, high = good_angles(constants, phi0)
    _require(phi0 < high, "phi0 < phi_*", phi0)
    phi1 = 0.5 * (high + phi0)
    if low == 0.0 and down_to is None:
        return phi1, max(constants.cross(float(x)) for x in np.linspace(1e-9, phi1, 65)), 0.0
    least = 2.0 * low if down_to is None else down_to
    _require(low < least < phi0, "the good angles reach below phi0", least)
    cells = itertools.pairwise(np.geomspace(least, phi1, CELLS + 1))
    cross = max(constants.cross(float(b)) * float(b / a) for a, b in cells)
    return phi1, cross, 6.0 * constants.cross(least) * least * math.sin(least)


@dataclass(frozen=True)
class SgdPlan:
    r"""A step and a number of steps after which $\lVert w_T-w^*\rVert < \epsilon W$ with
    probability at least $1-\delta$, and the bounds that say so.
    """

    step_size: float
    n_steps: int
    bounds: SgdBounds


@states("DU-T6.4")
def plan_sgd(
    constants: FilterConstants,
    start_distance: float,
    *,
    gradient_bound: float,
    eps: float,
    delta: float,
    W: float,
    down_to: float | None = None,
) -> SgdPlan:
    r"""DU-T6.4 itself: from the accuracy $\epsilon$ and the failure probability $\delta$ to a step
    and a number of steps, by the repaired lemmas.

    A quarter of $\epsilon^2W^2\delta$ is left to the floor and as much to the rest of the start,
    half of $\delta$ to leaving the ball; the step is the largest found by halving that keeps all
    three, within 1/64 of itself. Raises `HypothesisError` if no step does, as where $\kappa/\alpha$
    is too large already.
    """
    _require(0.0 < eps < 1.0 and 0.0 < delta < 1.0, "0 < eps, delta < 1", min(eps, delta))
    share, sizes = 0.25 * (eps * W) ** 2 * delta, (start_distance, gradient_bound, eps / 2.0, W)
    reach = _reach(constants, start_distance / W, down_to)

    def tried(step: float) -> SgdPlan | None:
        try:
            alpha = _limits(constants, reach, step, 1, sizes).alpha
        except HypothesisError:
            return None
        shrink = math.log1p(-min(step * alpha, 1.0 - 1e-12))
        steps = max(1, math.ceil(math.log(min(share / start_distance**2, 1.0)) / shrink))
        found = _limits(constants, reach, step, steps, sizes)
        kept = found.floor <= share and found.leave_upper <= delta / 2.0
        return SgdPlan(step, steps, found) if kept else None

    step, plan = 1.0, None
    while plan is None and step > SMALLEST:
        step /= 2.0
        plan = tried(step)
    if plan is None:
        raise HypothesisError(
            f"DU-T6.4 promises no accuracy eps={eps:.4g} with delta={delta:.4g} for any step: give "
            "a larger eps or delta, or constants measured at smaller angles on more samples",
            hypothesis="floor <= eps^2 W^2 delta/4",
            value=eps,
        )
    for i in range(1, 6):
        plan = tried(plan.step_size * (1.0 + 0.5**i)) or plan
    return plan


SMALLEST = 1e-18  # a step below it would need more steps than anyone can make


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

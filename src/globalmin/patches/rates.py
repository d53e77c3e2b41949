r"""Steps and rates of gradient descent for one neuron and for a convolutional filter (DU-T6.1 to
DU-T6.3).

Both theorems follow $\lVert w_t - w^*\rVert$ through $\varphi_t = \arcsin(\lVert w_t-w^*\rVert/W)$,
which bounds the angle to w*.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from globalmin.errors import HypothesisError
from globalmin.patches.model import filter_loss, filter_outputs
from globalmin.references import states

if TYPE_CHECKING:
    from globalmin.patches.constants import FilterConstants

CELLS = 64  # of the interval [0, phi] over which a step has to be small enough


def angle_bound(w: ArrayLike, w_star: ArrayLike) -> float:
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
def iterations_upper(constants: FilterConstants, phi0: float, step_size: float, eps: float) -> int:
    r"""Steps after which $\lVert w-w^*\rVert \le \epsilon\lVert w_0-w^*\rVert$ for one neuron.

    $\lceil 2\ln(1/\epsilon^2)/(\eta\gamma(\varphi_0))\rceil$ for a constant step.
    """
    return math.ceil(2.0 * math.log(1.0 / eps**2) / (step_size * constants.gamma(phi0)))


@states("DU-T6.3")
def cross_margin(constants: FilterConstants, phi: float) -> float:
    r"""$\gamma(\varphi) - 6L_{cross}(\varphi)$; the theorem speaks only where it is positive."""
    return constants.gamma(phi) - 6.0 * constants.cross(phi)

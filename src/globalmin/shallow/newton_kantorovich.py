r"""Scalar quantities of the interpolation theorem (Newton-Kantorovich, OS-C2) and of the descent
theorem (OS-C1).

Pure functions of a = sigma_min(J), e = ||J^+ r||, g = ||r||, b = ||J|| and Lip; in floats, hence
estimates.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from globalmin._types import Array
from globalmin.references import states


@dataclass(frozen=True)
class Linearization:
    r"""Smallest singular value a of J, norm b of J, Newton step e = ||J^+ r|| and residual norm g,
    at one point.
    """

    a: float
    b: float
    e: float
    g: float


def linearize(K: Array, r: Array) -> Linearization | None:
    r"""a, b, e, g from $K = J J^T$ and r by one symmetric eigendecomposition; None if K is
    numerically singular.
    """
    eigenvalues, vectors = np.linalg.eigh(K)
    low, high = float(eigenvalues[0]), float(eigenvalues[-1])
    if not low > K.shape[0] * np.finfo(np.float64).eps * high:
        return None
    coordinates = vectors.T @ r
    e = math.sqrt(float(np.sum(coordinates**2 / eigenvalues)))
    return Linearization(math.sqrt(low), math.sqrt(high), e, float(np.linalg.norm(r)))


def newton_ratio(a: float, e: float, Lip: float) -> float:
    r"""$2\,\mathrm{Lip}\,e/a$; a zero of r is near if it is at most 1. `math.inf` if a = 0."""
    return 2.0 * Lip * e / a if a > 0 else math.inf


@states("OS-C2")
def newton_radius(a: float, e: float, Lip: float) -> float:
    r"""$R = 2e/(1+\sqrt{1-2\,\mathrm{Lip}\,e/a})$: a zero-loss point lies within R. `math.inf` if
    the hypothesis fails.
    """
    ratio = newton_ratio(a, e, Lip)
    return 2.0 * e / (1.0 + math.sqrt(1.0 - ratio)) if ratio <= 1.0 else math.inf


@states("OS-C2")
def newton_radius_below(a: float, e: float, Lip: float) -> float:
    r"""$R_{lo} = 2e/(1+\sqrt{1+2\,\mathrm{Lip}\,e/a})$: no zero-loss point is closer, if Lip holds
    on that ball.
    """
    return 2.0 * e / (1.0 + math.sqrt(1.0 + newton_ratio(a, e, Lip))) if a > 0 else 0.0


@dataclass(frozen=True)
class DescentQuantities:
    """Path bound S, slowest rate alpha, largest step eta_max and the factor `rate` per step at the
    step eta.
    """

    alpha: float
    S: float
    eta_max: float
    eta: float
    rate: float


def descent_ratio(a: float, g: float, Lip: float) -> float:
    r"""$2\,\mathrm{Lip}\,g/a^2$; gradient descent from here converges if it is below 1. `math.inf`
    if a = 0.
    """
    return 2.0 * Lip * g / a**2 if a > 0 else math.inf


@states("OS-C1", "OS-C5")
def descent_quantities(
    point: Linearization, Lip: float, *, eta: float | None = None
) -> DescentQuantities | None:
    r"""Constants of the descent theorem, or None if $2\,\mathrm{Lip}\,g < a^2$ fails or eta is too
    large.

    $\alpha = \sqrt{a^2 - 2\,\mathrm{Lip}\,g}$, $S = 2g/(a+\alpha)$, $\eta_{\max} = (b +
    \mathrm{Lip}\,S)^{-2}$, rate $1-\eta\alpha^2$.

    Theory
    ------
    OS-C1: the path of gradient descent on (1/2)||r||^2 is at most S long and each step multiplies
    ||r|| by at most the rate.
    """
    if not descent_ratio(point.a, point.g, Lip) < 1.0:
        return None
    alpha = math.sqrt(point.a**2 - 2.0 * Lip * point.g)
    S = 2.0 * point.g / (point.a + alpha)
    eta_max = 1.0 / (point.b + Lip * S) ** 2
    step = eta_max if eta is None else eta
    if not 0.0 < step <= eta_max:
        return None
    return DescentQuantities(alpha, S, eta_max, step, 1.0 - step * alpha**2)

r"""E[psi(u) psi(v)] by quadrature, one pair at a time: for the few pairs whose Hermite series
converges too slowly.

Three rules. *Line*, for |rho| = 1: one integral, by the rule of `moments`. *Plane*: trapezoid
sums in the standardized variables of u and of v given u, whose steps resolve the spectrum of psi;
the cheaper the closer |rho| is to 1. *Sectors*, for steep psi: in polar coordinates the lines u = 0
and v = 0 cut the plane into four sectors; radius and the distances to both edges of a sector are
put on a logarithmic scale, where psi is analytic in a strip of width pi/2 however steep it is.

`estimate_by_gauss_hermite` is the textbook rule, for comparison: fine for smooth psi of small
variance, poor for steep psi and kinks; nothing else uses it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from globalmin._types import Array
from globalmin.activations.dual_series import bandwidth, short_step
from globalmin.activations.moments import nodes_and_weights
from globalmin.errors import DataError
from globalmin.references import states

if TYPE_CHECKING:
    from globalmin.activations.activation import Activation

    Function = Callable[[Array], Array]

REACH = 8.9  # the normal density is below e^{-39} there
PLANE_NODES = 2**18
MOST_NODES = 320  # the outermost weights of Gauss-Hermite rules underflow beyond about 350 nodes
STATED_ERROR = 2.0**-43  # relative to sqrt(E psi(u)^2 E psi(v)^2); measured errors are below 1e-14


@states("DU-DA4")
def pair_integral(
    phi: Activation, s: float, t: float, angle: tuple[float, float], *, order: int
) -> float:
    """E[phi^(order)(u) phi^(order)(v)] for standard deviations s, t > 0 and `angle` = (cosine,
    sine).
    """
    rho, sigma = angle
    psi = phi.derivatives[order]
    if sigma == 0.0:
        g, weights = nodes_and_weights()
        return math.fsum(psi(s * g) * psi(math.copysign(t, rho) * g) * weights)
    band = bandwidth(phi)
    if s < t:
        s, t = t, s
    if band is not None:
        steps = short_step(9.5 + band * (s + abs(rho) * t)), short_step(9.5 + band * t * sigma)
        if PLANE_NODES * steps[0] * steps[1] >= (2.0 * REACH) ** 2:
            return _plane(psi, s, t, angle, steps)
    return _sectors(psi, s, t, angle)


@states("DU-DA3")
def estimate_by_gauss_hermite(
    phi: Activation,
    s: float,
    t: float,
    angle: tuple[float, float],
    *,
    order: int = 0,
    nodes: int = 40,
) -> float:
    r"""E[phi^(order)(u) phi^(order)(v)] by the product Gauss-Hermite rule with `nodes` squared
    points; arguments as above.

    Theory
    ------
    DU-DA3: $u = sz_1$, $v = t(\rho z_1 + \sqrt{1-\rho^2}z_2)$. Exact for polynomials of degree
    below `nodes`; the error falls like $e^{-c\sqrt{nodes}}$ for functions analytic in a strip, and
    only like a power of `nodes` for those with a kink.
    """
    if nodes not in range(1, MOST_NODES + 1):
        raise DataError(f"nodes={nodes!r}: give an integer from 1 to {MOST_NODES}")
    z, weights = _gauss_hermite_rule(nodes)
    psi = phi.derivatives[order]
    inner = psi(t * (angle[0] * z[:, None] + angle[1] * z)) @ weights
    return math.fsum(psi(s * z) * inner * weights)


@lru_cache(maxsize=16)
def _gauss_hermite_rule(nodes: int) -> tuple[Array, Array]:
    z, weights = np.polynomial.hermite_e.hermegauss(nodes)
    return z, weights / math.sqrt(2.0 * math.pi)


@lru_cache(maxsize=64)
def _normal_rule(step: float) -> tuple[Array, Array]:
    half = math.ceil(REACH / step)
    z = step * np.arange(-half, half + 1, dtype=np.float64)
    return z, np.exp(-0.5 * z * z) * (step / math.sqrt(2.0 * math.pi))


def _plane(
    psi: Function, s: float, t: float, angle: tuple[float, float], steps: tuple[float, float]
) -> float:
    (x, p), (y, q) = _normal_rule(steps[0]), _normal_rule(steps[1])
    inner = psi(t * (angle[0] * x[:, None] + angle[1] * y)) @ q
    return math.fsum(psi(s * x) * inner * p)


@cache
def _radial_rule() -> tuple[Array, Array]:
    """Radii r and weights of r e^{-r^2/2} dr/(2 pi)."""
    step = 0.09375
    r = np.exp(step * np.arange(-203, 29))
    return r, step * r * r * np.exp(-0.5 * r * r) / (2.0 * math.pi)


@cache
def _angular_rule() -> tuple[Array, Array]:
    """Fractions of a sector and their weights; the fractions counted from the other edge are the
    reverse.
    """
    x = 0.25 * np.arange(-148, 149)
    fraction = 1.0 / (1.0 + np.exp(-x))
    return fraction, 0.25 * fraction * fraction[::-1]


def _sectors(psi: Function, s: float, t: float, angle: tuple[float, float]) -> float:
    r, radial = _radial_rule()
    fraction, angular = _angular_rule()
    total = []
    for sign in (1.0, -1.0):
        width = math.atan2(angle[1], -sign * angle[0])
        # u and v have equal signs in the first sector and its reflection, opposite ones in the
        # second
        u, v = (
            (s * r[:, None]) * np.sin(width * fraction),
            (t * r[:, None]) * np.sin(width * fraction[::-1]),
        )
        values = psi(u) * psi(sign * v) + psi(-u) * psi(-sign * v)
        total.append(width * float(radial @ (values @ angular)))
    return math.fsum(total)

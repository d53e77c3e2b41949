r"""The octopus around any place and of any size, so that a start concentrated anywhere meets its
saddles (DU-C7.2).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from globalmin._types import Array, ArrayLike
from globalmin.errors import DataError
from globalmin.octopus.constants import OctopusSmoothness, octopus_smoothness_upper
from globalmin.octopus.function import Octopus
from globalmin.references import states


@states("DU-C7.2")
@dataclass(frozen=True)
class MovedOctopus:
    r"""$F(x) = f((x - z)/R)$: gradient descent on F with the step $\eta$ is gradient descent on f
    with $\eta/R^2$.

    Whatever law draws the start: if at least $1 - \delta$ of it lies in the cube of half-width R
    around z, then with that probability gradient descent is held for a time exponential in the
    dimension.
    """

    octopus: Octopus
    center: Array = field(repr=False)
    radius: float = 1.0

    def __post_init__(self) -> None:
        if not 0.0 < self.radius < math.inf:
            raise DataError(f"radius={self.radius} must be positive and finite")
        if np.shape(self.center) != (self.octopus.dimension,):
            raise DataError(
                f"center has shape {np.shape(self.center)}; it must have {self.octopus.dimension} "
                "entries"
            )

    def inside(self, x: ArrayLike) -> Array:
        """The coordinates $(x - z)/R$ of the octopus."""
        return (np.asarray(x, dtype=np.float64) - self.center) / self.radius

    def value(self, x: ArrayLike) -> Array:
        """The function at points (..., d)."""
        return self.octopus.value(self.inside(x))

    def gradient(self, x: ArrayLike) -> Array:
        """The gradient at points (..., d)."""
        return self.octopus.gradient(self.inside(x)) / self.radius

    def hessian(self, x: ArrayLike) -> Array:
        """The Hessian at points (..., d)."""
        return self.octopus.hessian(self.inside(x)) / self.radius**2

    def inner_step_size(self, step_size: float) -> float:
        r"""$\eta/R^2$, to be at most 1/(2L)."""
        return step_size / self.radius**2

    def smoothness_upper(self) -> OctopusSmoothness:
        r"""Upper bounds: B as before, $\ell/R^2$, $\rho/R^3$; and the epsilon of DU-C7.1 for them,
        1/R times as large.
        """
        s, R = octopus_smoothness_upper(self.octopus), self.radius
        away = 1.0 + 1e-12
        return OctopusSmoothness(
            s.value, s.gradient / R**2 * away, s.hessian / R**3 * away, s.epsilon / R / away
        )


@states("DU-C7.2")
def gaussian_miss_probability(dimension: int, radius: float) -> float:
    r"""$1 - (2\Phi(R) - 1)^d$: how often a standard Gaussian start lies outside of the cube of
    half-width R, exact to rounding.

    The thesis takes $R = \log d$ (in units of the standard deviation).
    """
    if dimension < 1 or not radius > 0.0:
        raise DataError(f"dimension={dimension} must be at least 1 and radius={radius} positive")
    return -math.expm1(dimension * math.log1p(-math.erfc(radius / math.sqrt(2.0))))


@states("DU-C7.2")
def gaussian_radius(dimension: int, probability: float) -> float:
    r"""$\sqrt{2\ln(2d/\delta)}$: a cube of this half-width misses a standard Gaussian start with
    probability at most $\delta$.

    The union bound over 2d tails, each at most $e^{-R^2/2}$; better than $\log d$ whenever a given
    $\delta$ is wanted.
    """
    if dimension < 1 or not 0.0 < probability < 1.0:
        raise DataError(
            f"dimension={dimension} must be at least 1 and probability={probability} between 0 and "
            "1"
        )
    return math.sqrt(2.0 * math.log(2.0 * dimension / probability))

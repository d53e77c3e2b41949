r"""Smoothness constants of the octopus as proved bounds: values, gradients, Hessians (DU-O7,
DU-C7.1); and the octopus around any place and of any size, so that a start concentrated anywhere
meets its saddles (DU-C7.2).

On the domain the Hessian is diagonal with entries $2L$ and $-2\gamma$, but for a block of two
coordinates in a buffer. In $u = (y_i-\tau)/\tau$ and $w = y_{i+1}/\tau$, both in [0, 1], the block
does not depend on $\tau$, and the third derivatives are $1/\tau$ times polynomials. A search by
cells encloses the largest norm of either: the norm at the center of a cell plus that of the largest
change inside it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from globalmin._renamed import renamed
from globalmin._types import Array, ArrayLike
from globalmin.errors import DataError
from globalmin.octopus.extension import ExtendedOctopus
from globalmin.octopus.function import Octopus, Splines, derivative, horner
from globalmin.references import states

if TYPE_CHECKING:
    Entries = tuple[tuple[Array, int], ...]  # polynomials in u with the power of w they come with


ROUNDED_UP = 1.0 + 1e-9  # far above the rounding of the few operations for each cell
ANGLES = 256


@states("DU-O7", "DU-C7.1")
@dataclass(frozen=True)
class OctopusSmoothness:
    r"""Upper bounds on the domain.

    `value`: $|f| \le B = d\nu$. `gradient`: the norm of the Hessian, $\ell$. `hessian`: that of the
    third derivatives, $\rho$, so the Hessian is Lipschitz with it along every segment inside the
    domain. `epsilon`: $\min(2\gamma\tau, 4\gamma^2/\rho)$; for any $\varepsilon$ below it, no point
    that has not passed the last saddle is $\varepsilon$-second-order stationary.

    Of an `ExtendedOctopus` all but `value` are on $R^d$; `value` where the function is at most
    $(d-1)L$, which no descent from $[-1, 1]^d$ leaves.
    """

    value: float
    gradient: float
    hessian: float
    epsilon: float


@states("DU-O7", "DU-C7.1")
@renamed(tolerance="tol")
def octopus_smoothness_upper(octopus: Octopus, *, tol: float = 1e-3) -> OctopusSmoothness:
    r"""Proved upper bounds of B, $\ell$, $\rho$ on the domain, the last two within about
    `tol` of the least possible ones; of an `ExtendedOctopus`, those on $R^d$ that docs/octopus.md
    proves.

    Theory
    ------
    $|f| \le d\nu$: the least value is $-d\nu$ and the largest at most $(d-1)L\tau^2$. A point that
    has not passed the last saddle has an eigenvalue of at most $-2\gamma$, or a slope of at least
    $2\gamma\tau$ in a buffer, which gives `epsilon`.
    """
    if isinstance(octopus, ExtendedOctopus):
        gradient, hessian = octopus.gradient_lipschitz_upper, octopus.hessian_lipschitz_upper
    else:
        gradient, hessian = _largest_norms(octopus, tol)
    gamma, tau = octopus.gamma, octopus.tau
    value = octopus.dimension * octopus.drop * ROUNDED_UP
    epsilon = min(2.0 * gamma * tau, 4.0 * gamma**2 / hessian) / ROUNDED_UP
    return OctopusSmoothness(value, gradient, hessian, epsilon)


def _largest_norms(octopus: Octopus, tol: float) -> tuple[float, float]:
    reach = 0.0 if octopus.dimension == 1 else 1.0  # with one coordinate there is no next one
    block, third = buffer_entries(octopus)
    ell = largest(block, matrix_norm, np.array([1.0, 2.0, 1.0]), reach, tol)
    rho = largest(third, form_norm, np.array([1.0, 3.0, 3.0]), reach, tol)
    return max(ell, 2.0 * octopus.L * ROUNDED_UP), rho / octopus.tau * ROUNDED_UP


def buffer_entries(octopus: Octopus) -> tuple[tuple[Entries, ...], tuple[Entries, ...]]:
    r"""Entries (11, 12, 22) of the Hessian and (111, 112, 122) of the third derivatives times
    $\tau$, in a buffer: each a sum of polynomials in u times powers of w.
    """
    unit = Splines(octopus.L, octopus.gamma, 1.0)
    g1, g2 = unit.g1_coefficients, unit.g2_coefficients
    block = (((g1[2], 0), (g2[2], 2)), ((2.0 * g2[1], 1),), ((2.0 * g2[0], 0),))
    third = (((g1[3], 0), (g2[3], 2)), ((2.0 * g2[2], 1),), ((2.0 * g2[1], 0),))
    return block, third


def largest(
    entries: tuple[Entries, ...],
    norm: Callable[[Array], Array],
    weights: Array,
    reach: float,
    tol: float,
) -> float:
    r"""Upper bound of the norm over (u, w) in [0, 1] x [0, reach], by splitting the cells that
    could exceed the best center.

    `weights` make the Euclidean norm of the entries (with multiplicity) an upper bound of the norm.
    """
    centers, half, best = np.array([[0.5, 0.5 * reach]]), 0.5, 0.0
    while True:
        middle, spread = enclosures(entries, centers, half)
        at_center = norm(middle)
        upper = (at_center + np.sqrt(spread**2 @ weights)) * ROUNDED_UP
        best = max(best, float(at_center.max()))
        if float(upper.max()) <= (1.0 + tol) * best:
            return max(
                float(upper.max()), (1.0 + 0.5 * tol) * best
            )  # the second for the cells given up
        kept = centers[upper > (1.0 + 0.5 * tol) * best]
        half *= 0.5
        corners = np.array([[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]]) * half
        centers = np.unique(
            np.clip((kept[:, None, :] + corners).reshape(-1, 2), 0.0, [1.0, reach]), axis=0
        )


def enclosures(entries: tuple[Entries, ...], centers: Array, half: float) -> tuple[Array, Array]:
    """Values of the entries at the centers and the most they change within `half` in both
    variables, by Taylor's formula.
    """
    u, w = centers.T
    far = w + half
    middle, spread = np.zeros((len(u), len(entries))), np.zeros((len(u), len(entries)))
    for column, terms in enumerate(entries):
        for coefficients, power in terms:
            value = horner(coefficients, u)
            change, row = np.zeros_like(u), coefficients
            for order in range(1, len(coefficients)):
                row = derivative(row)
                change += np.abs(horner(row, u)) * half**order / math.factorial(order)
            middle[:, column] += value * w**power
            spread[:, column] += change * far**power + np.abs(value) * (far**power - w**power)
    return middle, spread


def matrix_norm(entries: Array) -> Array:
    """Spectral norms of the symmetric matrices [[a, b], [b, c]]."""
    a, b, c = entries.T
    return 0.5 * np.abs(a + c) + np.hypot(0.5 * (a - c), b)


def form_norm(entries: Array) -> Array:
    r"""Upper bounds of $\max_\theta|a\cos^3 + 3b\cos^2\sin + 3c\cos\sin^2|$, the norms of symmetric
    third-order tensors.

    A trigonometric polynomial of degree 3 is, within an angle $\delta$ of where it is largest, at
    least $\cos3\delta$ times that.
    """
    a, b, c = entries.T[..., None]
    angle = np.pi / ANGLES * np.arange(ANGLES)
    cosine, sine = np.cos(angle), np.sin(angle)
    values = np.abs(cosine * (a * cosine**2 + 3.0 * b * cosine * sine + 3.0 * c * sine**2))
    return values.max(axis=1) / math.cos(1.5 * math.pi / ANGLES)


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

    def smoothness_at_most(self) -> OctopusSmoothness:
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

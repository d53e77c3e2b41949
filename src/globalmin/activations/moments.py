"""Gaussian moments of activations: E phi(sg), E phi'(sg), E phi''(sg), squares, and Hermite
coefficients; g ~ N(0,1); the rule that integrates them, `expectation`; and second moments over
half-spaces.

Floating point, accurate to about 1e-13 relative to the size of the integrand; not rigorous bounds.
Closed forms for piecewise linear functions, polynomials and erf, quadrature for the others. `scale`
is a number or an array of numbers s > 0 (the norm of an input); the result has its shape.

Quadrature, to about 1e-14 for functions that are smooth away from 0, however steep they are there:
each half line is mapped to the line by g = e^u and summed with the trapezoid rule of step h. In the
variable u the Gaussian stays analytic and decaying for |Im u| < pi/4, and so does psi(s g) for
every activation of the catalog at every scale s (their poles lie on the imaginary axis, Im u =
pi/2): the error is about e^{-(pi^2/2)/h} for every s. Gauss-Hermite rules lose all digits where
psi(s g) is steep.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from globalmin._types import Array, ArrayLike
from globalmin.activations.registry import get_activation
from globalmin.errors import DataError
from globalmin.references import states

if TYPE_CHECKING:
    from globalmin.activations.activation import Activation


SYMMETRY = 32.0 * float(np.finfo(np.float64).eps)  # parts of phi' below this vanish


def angle(u: ArrayLike, v: ArrayLike) -> float:
    r"""$\angle(u, v) \in [0, \pi]$ without cancellation (never arccos); u and v are not zero."""
    u, v = np.asarray(u, dtype=np.float64), np.asarray(v, dtype=np.float64)
    lengths = float(np.linalg.norm(u)), float(np.linalg.norm(v))
    if min(lengths) == 0.0 or not all(map(math.isfinite, lengths)):
        raise DataError(
            "the angle of a zero vector is not defined; give two finite vectors that are not zero"
        )
    u, v = u / lengths[0], v / lengths[1]
    return 2.0 * math.atan2(float(np.linalg.norm(u - v)), float(np.linalg.norm(u + v)))


@states("DU-L5.6", "DU-D6.0")
def both_half_spaces_times(w: ArrayLike, w_star: ArrayLike) -> Array:
    r"""$E[zz^T 1\{z^Tw \ge 0, z^Tw^* \ge 0\}]\,w^* = ((\pi-\varphi)w^* + \sin\varphi\,(W/\lVert
    w\rVert)\,w)/(2\pi)$.
    """
    w, w_star = np.asarray(w, dtype=np.float64), np.asarray(w_star, dtype=np.float64)
    phi = angle(w, w_star)
    scale = float(np.linalg.norm(w_star)) / float(np.linalg.norm(w))
    return ((math.pi - phi) * w_star + math.sin(phi) * scale * w) / (2.0 * math.pi)


CHUNK = 2**22  # entries of the largest temporary array


@cache
def nodes_and_weights(frequency: int = 0) -> tuple[Array, Array]:
    """Nodes g and weights for E psi(g); `frequency` is the highest degree of a Hermite polynomial
    in psi.
    """
    step = 2.0 ** -(
        5 + max(0, math.ceil(math.log2(max(1.0, frequency) / 16.0) / 2))
    )  # a power of two makes the nodes exact
    u = -40.0 + step * np.arange(
        math.ceil((40.0 + math.log(14.0)) / step)
    )  # e^{-40} is below rounding, so is the density at 14
    half = np.exp(u)
    weights = step * half * np.exp(-0.5 * half * half) / math.sqrt(2.0 * math.pi)
    return np.concatenate([-half[::-1], half]), np.concatenate([weights[::-1], weights])


def expectation(psi: Callable[[Array], Array], *, frequency: int = 0) -> float:
    """E psi(g), g ~ N(0,1), for a function of an array."""
    g, weights = nodes_and_weights(frequency)
    return math.fsum(psi(g) * weights)


@cache
def hermite_weights(count: int) -> tuple[Array, Array]:
    """Nodes g and the matrix (nodes x count) of weights times h_r(g), h_r the orthonormal Hermite
    polynomials, r < count.
    """
    g, weights = nodes_and_weights(count)
    root = np.exp(-0.25 * g * g)  # carried along so that the polynomials do not overflow
    columns = [root, g * root]
    for r in range(1, count - 1):
        columns.append((g * columns[r] - math.sqrt(r) * columns[r - 1]) / math.sqrt(r + 1))
    return g, np.stack(columns[:count], axis=1) * (weights / root)[:, None]


def hermite_integrals(psi: Callable[[Array], Array], count: int, scales: Array) -> Array:
    """E[psi(s g) h_r(g)] for the given scales s (rows) and r = 0..count-1 (columns)."""
    g, table = hermite_weights(count)
    rows = max(1, CHUNK // g.size)
    pieces = [psi(scales[i : i + rows, None] * g) @ table for i in range(0, scales.size, rows)]
    return np.concatenate(pieces) if pieces else np.empty((0, count))


PIECEWISE_LINEAR = ("relu", "leaky_relu", "abs", "linear")


@states("OS-HERM", "DU-DA2")
def hermite_coefficients(
    activation: str | Activation, count: int, scale: ArrayLike = 1.0, *, order: int = 0
) -> Array:
    r"""mu_r(phi^(order); s) = E[phi^(order)(s g) h_r(g)] for r = 0..count-1, along a new last axis.

    Parameters
    ----------
    count : number of coefficients, at most 512.
    scale : s > 0, a number or an array.
    order : 0 for phi, 1 for phi', 2 for phi'' (a kink then contributes its point mass, as by
        Stein's identity).

    Theory
    ------
    OS-HERM (appendix H), extended to any scale; mu_r(phi'; s) = sqrt(r+1)/s mu_{r+1}(phi; s)
    (DU-DA2).
    """
    phi, scales = get_activation(activation), _scales(scale)
    if count not in range(1, 513) or order not in (0, 1, 2):
        raise DataError(
            f"count={count!r}, order={order!r}: count must be an integer from 1 to 512 and order "
            "0, 1 or 2"
        )
    closed = _closed_coefficients(phi, count + order, scales.ravel())
    done = 0 if closed is not None else order if phi.is_smooth else min(order, 1)
    table = (
        hermite_integrals(phi.derivatives[done], count + order - done, scales.ravel())
        if closed is None
        else closed
    )
    for _ in range(order - done):
        table = (
            table[:, 1:] * np.sqrt(np.arange(1, table.shape[1])) / scales.ravel()[:, None]
        )  # Stein's identity
    return table.reshape(*scales.shape, count)


@states("OS-L6.4", "OS-LH.1")
def slope_coefficients(activation: str | Activation, count: int) -> Array:
    r"""$\mu_r(\phi') = E[\phi'(g) h_r(g)]$ for r < count, exactly 0 where symmetry makes it so.

    Write phi' = even + odd part. Where the odd part vanishes (tanh, sigmoid, erf) every odd
    coefficient is 0, among them $\mu_\phi = \mu_1(\phi')$; where the even part is constant
    (softplus, ReLU) every even one from r = 2 on; where it vanishes, r = 0 too. Quadrature alone
    leaves some 1e-17 there, which a test for > 0 takes for positive.
    """
    phi = get_activation(activation)
    found = hermite_coefficients(phi, count, order=1).copy()
    half = nodes_and_weights()[0]
    half = half[half > 0.0]
    right, left = phi.derivative(half), phi.derivative(-half)
    rounding = SYMMETRY * max(float(np.abs(right).max()), float(np.abs(left).max()))
    even, odd = (right + left) / 2.0, (right - left) / 2.0
    if np.abs(odd).max() <= rounding:
        found[1::2] = 0.0
    if np.ptp(even) <= rounding:
        found[2::2] = 0.0
    if np.abs(even).max() <= rounding:
        found[::2] = 0.0
    return found


def mean_value(activation: str | Activation, scale: ArrayLike = 1.0) -> Array:
    """E phi(s g)."""
    return hermite_coefficients(activation, 1, scale)[..., 0]


@states("SJL-A2.3", "SJL-Ex2.4")
def mean_slope(activation: str | Activation, scale: ArrayLike = 1.0) -> Array:
    """mu(s) = E phi'(s g)."""
    return hermite_coefficients(activation, 1, scale, order=1)[..., 0]


@states("SJL-A2.3")
def mean_curvature(activation: str | Activation, scale: ArrayLike = 1.0) -> Array:
    """gamma(s) = E phi''(s g) = E[phi'(s g) g]/s (Stein), so that a kink counts with its point
    mass.
    """
    return hermite_coefficients(activation, 1, scale, order=2)[..., 0]


PROBED_SCALES = np.geomspace(2.0**-6, 2.0**6, 49)  # where the signs of mu and gamma are looked at
VANISHING = 1e-10  # of the root mean square of phi'(s g), which is accurate to about 1e-13


class MeanSign(StrEnum):
    """Whether a mean is zero at every scale, at none, or at some."""

    NEVER = "nowhere zero"
    ALWAYS = "zero everywhere"
    SOMETIMES = "zero at some scales"


class AverageClass(NamedTuple):
    """SJL-A2.3 of an activation, looked at on a grid of scales, an estimate."""

    slope: MeanSign
    curvature: MeanSign

    @property
    def letter(self) -> str:
        """The class of the paper, "a" or "b"; empty if the assumption is not fulfilled."""
        if MeanSign.SOMETIMES in self:
            return ""
        return "a" if self.curvature is MeanSign.NEVER else "b"


@states("SJL-A2.3", "SJL-Ex2.4")
def average_class(activation: str | Activation) -> AverageClass:
    r"""Whether $\mu(s) = E\phi'(sg)$ and $\gamma(s) = E\phi''(sg)$ are zero for all s, for none, or
    for some.

    Compared with $(E\phi'(sg)^2)^{1/2}$ at 49 scales from 1/64 to 64, $s\gamma(s) = E[\phi'(sg)g]$
    in place of $\gamma$. Scales where a mean is below what floats resolve say nothing; a change of
    sign between the others is a zero.
    """
    phi, s = get_activation(activation), PROBED_SCALES
    size = np.sqrt(mean_square_slope(phi, s))
    return AverageClass(
        _mean_sign(mean_slope(phi, s), size), _mean_sign(s * mean_curvature(phi, s), size)
    )


def _mean_sign(means: Array, size: Array) -> MeanSign:
    signs = np.sign(means[np.abs(means) > VANISHING * size])
    if not signs.size:
        return MeanSign.ALWAYS
    return MeanSign.NEVER if (signs == signs[0]).all() else MeanSign.SOMETIMES


def mean_square(activation: str | Activation, scale: ArrayLike = 1.0) -> Array:
    """E phi(s g)^2."""
    phi, scales = get_activation(activation), _scales(scale)
    if phi.name == "erf":
        t = 2.0 * np.square(scales)
        return (2.0 / math.pi) * np.arcsin(t / (1.0 + t))  # DU-DA1
    return _square(phi, scales, order=0)


def mean_square_slope(activation: str | Activation, scale: ArrayLike = 1.0) -> Array:
    """E phi'(s g)^2."""
    phi, scales = get_activation(activation), _scales(scale)
    if phi.name == "erf":
        return (4.0 / math.pi) / np.sqrt(1.0 + 4.0 * np.square(scales))  # DU-DA1
    return _square(phi, scales, order=1)


def variance(activation: str | Activation, scale: ArrayLike = 1.0) -> Array:
    """Var phi(s g), without cancellation."""
    phi, scales = get_activation(activation), _scales(scale)
    polynomial = _coefficients(phi)
    if polynomial is not None:
        return np.square(hermite_coefficients(phi, len(polynomial), scales)[..., 1:]).sum(axis=-1)
    if phi.name in PIECEWISE_LINEAR:
        even, odd = _even_and_odd(phi)
        return (even**2 * (1.0 - 2.0 / math.pi) + odd**2) * np.square(scales)
    if phi.is_odd:
        return mean_square(phi, scales)
    centers = mean_value(phi, scales).ravel()
    values = [
        expectation(lambda g, c=c, s=s: np.square(phi(s * g) - c))
        for c, s in zip(centers, scales.ravel(), strict=True)
    ]
    return np.array(values).reshape(scales.shape)


@states("DU-DA6")
def normalizer(activation: str | Activation) -> float:
    """c_sigma = 1/E phi(g)^2, the factor that keeps the size of deep layers (DU-DA6)."""
    return 1.0 / float(mean_square(activation))


def _scales(scale: ArrayLike) -> Array:
    scales = np.asarray(scale, dtype=np.float64)
    if not (np.isfinite(scales).all() and (scales > 0).all()):
        raise DataError(
            "scale must be positive and finite: the standard deviation of the argument of phi"
        )
    return scales


def _square(phi: Activation, scales: Array, *, order: int) -> Array:
    """E phi^(order)(s g)^2: the finite Hermite sum for polynomials, closed or quadrature for the
    others.
    """
    polynomial = _coefficients(phi)
    if polynomial is not None:
        return np.square(hermite_coefficients(phi, len(polynomial), scales, order=order)).sum(
            axis=-1
        )
    if phi.name in PIECEWISE_LINEAR:
        even, odd = _even_and_odd(phi)
        return (even**2 + odd**2) * scales ** (2 - 2 * order)
    return hermite_integrals(lambda z: np.square(phi.derivatives[order](z)), 1, scales.ravel())[
        :, 0
    ].reshape(scales.shape)


def _closed_coefficients(phi: Activation, count: int, scales: Array) -> Array | None:
    """Rows of mu_r(phi; s), r < count, where a closed form is known."""
    polynomial = _coefficients(phi)
    if polynomial is not None:
        return np.array([_polynomial_coefficients(polynomial, count, s) for s in scales]).reshape(
            scales.size, count
        )
    if phi.name in PIECEWISE_LINEAR:
        even, odd = _even_and_odd(phi)
        return scales[:, None] * (
            even * _coefficients_of_abs(count) + odd * (np.arange(count) == 1)
        )
    if phi.name == "erf":
        return np.array([_coefficients_of_erf(count, s) for s in scales]).reshape(
            scales.size, count
        )
    return None


def _coefficients(phi: Activation) -> tuple[float, ...] | None:
    return (0.0, 0.0, 1.0) if phi.name == "quadratic" else phi.coefficients


def _even_and_odd(phi: Activation) -> tuple[float, float]:
    """Beta and alpha of phi(z) = beta |z| + alpha z."""
    right, left = float(phi(1.0)), float(phi(-1.0))
    return (right + left) / 2, (right - left) / 2


def _coefficients_of_abs(count: int) -> Array:
    """E[|g| h_r(g)]: 2 He_{r-2}(0)/sqrt(2 pi r!) for even r >= 2 (OS-HERM), sqrt(2/pi) for r = 0,
    else 0.
    """
    values = np.zeros(max(count, 3))
    values[0] = math.sqrt(2.0 / math.pi)
    values[2] = 1.0 / math.sqrt(math.pi)
    for r in range(2, count - 2, 2):
        values[r + 2] = -values[r] * (r - 1) / math.sqrt((r + 1) * (r + 2))
    return values[:count]


def _coefficients_of_erf(count: int, s: float) -> Array:
    """From E[e^{-s^2 g^2} h_{2m}(g)] = (1+2s^2)^{-1/2} (-q)^m sqrt((2m-1)!!/(2m)!!), q =
    2s^2/(1+2s^2).
    """
    t = 2.0 * s * s
    values, slope = np.zeros(count), (2.0 / math.sqrt(math.pi)) / math.sqrt(1.0 + t)
    for r in range(1, count, 2):
        values[r] = s * slope / math.sqrt(r)
        slope *= -(t / (1.0 + t)) * math.sqrt(r / (r + 1))
    return values


def _polynomial_coefficients(coefficients: tuple[float, ...], count: int, s: float) -> Array:
    """By g^j = sum_m j!/(2^m m! (j-2m)!) He_{j-2m}(g) and He_r = sqrt(r!) h_r."""
    values = np.zeros(count)
    for r in range(min(count, len(coefficients))):
        terms = (
            c * s**j * math.factorial(j) / (2.0 ** ((j - r) // 2) * math.factorial((j - r) // 2))
            for j, c in enumerate(coefficients)
            if j >= r and (j - r) % 2 == 0
        )
        values[r] = math.fsum(terms) / math.sqrt(math.factorial(r))
    return values

r"""E[phi(u) phi(v)] and E[phi'(u) phi'(v)] for (u, v) ~ N(0, [[a, c], [c, b]]): closed forms
(DU-DA1), and quadrature one pair at a time for the few pairs whose Hermite series converges too
slowly.

Every form is written in a = s^2, b = t^2, c, the determinant $\Delta = ab - c^2$ and the angle
$\psi = \arcsin\rho$, $\rho = c/(st)$, so that nothing cancels when u and v are almost parallel.

The arcsine of whole blocks is numpy's own where that has vector instructions (AVX-512). Elsewhere
it goes entry by entry through the mathematical library of the system, and a polynomial is faster:
$\arcsin x = x\,P(x^2)$ for $x^2 \le 1/4$, P the polynomial
through the Chebyshev nodes of [0, 1/4] of degree 13, and $\arcsin x = \pm(\pi/2 -
2\arcsin\sqrt{(1-|x|)/2})$ beyond. Error at most 4 units in the last place (tested against 100
bits).

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
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from globalmin._types import Array, NDArray
from globalmin.activations.dual_series import bandwidth, short_step
from globalmin.activations.moments import nodes_and_weights
from globalmin.errors import DataError
from globalmin.references import states

if TYPE_CHECKING:
    from globalmin.activations.activation import Activation

    Function = Callable[[Array], Array]

KINKED = ("relu", "leaky_relu", "abs", "linear")
STEEP_COSINE = 0.999  # above, the sine is computed from the determinant without rounding
SNAP = 2.0**-49  # cosines this close to 1 are 1: a covariance in doubles cannot tell them apart
_SPLITTER = 134217729.0  # 2^27 + 1


@dataclass(frozen=True)
class Pairs:
    """Covariances of many pairs: standard deviations s, t > 0, covariance c, cosine rho and sine
    sigma of the angle.
    """

    s: Array
    t: Array
    c: Array
    rho: Array
    sigma: Array

    @property
    def determinant(self) -> Array:
        """The determinant ab - c^2."""
        return np.square(self.s * self.t * self.sigma)

    def take(self, places: NDArray[np.intp]) -> Pairs:
        """The pairs at the given places of flat arrays."""
        return Pairs(*(x[places] for x in (self.s, self.t, self.c, self.rho, self.sigma)))


def cosine_and_sine(a: Array, b: Array, c: Array) -> tuple[Array, Array]:
    """Cosine c/sqrt(ab) and sine of the angle for a, b > 0; the sine keeps its digits near 0."""
    return refined_sine(np.clip(c / (np.sqrt(a) * np.sqrt(b)), -1.0, 1.0), a, b, c)


def refined_sine(rho: Array, a: Array, b: Array, c: Array) -> tuple[Array, Array]:
    """The given cosines, set to +-1 where rounding hides the difference, and the sines; a, b, c
    broadcast to the shape of rho.
    """
    sigma = np.sqrt((1.0 - rho) * (1.0 + rho))
    near = np.abs(rho) > STEEP_COSINE
    if near.any():
        a, b, c = (np.broadcast_to(x, rho.shape)[near] for x in (a, b, c))
        (ma, ea), (mb, eb) = (
            np.frexp(a),
            np.frexp(b),
        )  # scaled by powers of two: splitting neither overflows nor underflows
        odd = (ea + eb) % 2
        ma, mc = np.ldexp(ma, -odd), np.ldexp(c, -((ea + eb + odd) // 2))
        defect = np.maximum(_difference_of_products(ma, mb, mc), 0.0) / (ma * mb)
        defect[defect <= 2.0 * SNAP] = 0.0
        sigma[near] = np.sqrt(defect)
        rho[near] = np.where(defect == 0.0, np.sign(rho[near]), rho[near])
    return rho, sigma


def _difference_of_products(a: Array, b: Array, c: Array) -> Array:
    """The difference ab - c^2, correct to the last place or so: both products are split into a
    double and its rounding error.
    """
    (p, p_error), (q, q_error) = _two_product(a, b), _two_product(c, c)
    return (p - q) + (p_error - q_error)


def _two_product(a: Array, b: Array) -> tuple[Array, Array]:
    (a1, a0), (b1, b0) = _split(a), _split(b)
    product = a * b
    return product, ((a1 * b1 - product) + a1 * b0 + a0 * b1) + a0 * b0


def _split(a: Array) -> tuple[Array, Array]:
    big = _SPLITTER * a
    high = big - (big - a)
    return high, a - high


ClosedForm = Callable[[Pairs], tuple["Array", "Array"]]


@states("DU-DA1")
def closed_form(phi: Activation) -> ClosedForm | None:
    """The function pairs -> (E[phi phi], E[phi' phi']) where a closed form is known, None
    elsewhere.
    """
    if phi.name in KINKED:
        even, odd = even_and_odd(phi)
        return lambda pairs: piecewise_linear(pairs, even=even, odd=odd)
    if phi.name == "quadratic":
        return lambda p: (np.square(p.s * p.t) + 2.0 * np.square(p.c), 4.0 * p.c)
    return {"erf": _erf, "gelu": _gelu}.get(phi.name)


def piecewise_linear(p: Pairs, *, even: float, odd: float) -> tuple[Array, Array]:
    r"""phi(z) = even |z| + odd z: mixed terms vanish, $E|uv| = \frac{2st}{\pi}(\sigma + \rho\psi)$,
    $E\,sgn\,sgn = 2\psi/\pi$.
    """
    if even == 0.0:
        return odd**2 * p.c, np.full(p.c.shape, odd**2)
    signs = np.arctan2(p.rho, p.sigma) * (2.0 / math.pi)
    return even**2 * _mean_sizes(p, signs) + odd**2 * p.c, even**2 * signs + odd**2


def _mean_sizes(p: Pairs, signs: Array) -> Array:
    """E|uv|."""
    return (p.s * p.t) * ((2.0 / math.pi) * p.sigma + p.rho * signs)


def even_and_odd(phi: Activation) -> tuple[float, float]:
    """The numbers of phi(z) = even |z| + odd z for a piecewise linear phi."""
    right, left = float(phi(1.0)), float(phi(-1.0))
    return (right + left) / 2, (right - left) / 2


def piecewise_linear_block(
    p: Pairs, *, even: float, odd: float, orders: Sequence[int]
) -> list[Array]:
    """The same for a block, faster; entries of almost parallel pairs are for the caller to
    replace.
    """
    signs = arcsine(p.rho)
    signs *= 2.0 / math.pi
    results = []
    for order in orders:
        if order:
            result = signs if order == orders[-1] else signs.copy()
        else:
            result = _mean_sizes(p, signs)
        result *= even**2
        result += odd**2 if order else odd**2 * p.c
        results.append(result)
    return results


def _erf(p: Pairs) -> tuple[Array, Array]:
    root = np.sqrt(1.0 + 2.0 * (np.square(p.s) + np.square(p.t)) + 4.0 * p.determinant)
    return (2.0 / math.pi) * np.arctan2(2.0 * p.c, root), (4.0 / math.pi) / root


def _gelu(p: Pairs) -> tuple[Array, Array]:
    r"""By Stein's identity twice, $D = (1+a)(1+b) - c^2$, $G = E[\Phi\Phi]$: $F = cG + N/(2\pi\sqrt
    D)$, and dF/dc is the other.

    $N = ab - c^2 + c^2/(1+a) + c^2/(1+b)$.
    """
    a, b = np.square(p.s), np.square(p.t)
    tilt = 1.0 / (1.0 + a) + 1.0 / (1.0 + b)
    D = 1.0 + a + b + p.determinant
    root, G = 2.0 * math.pi * np.sqrt(D), 0.25 + np.arctan2(p.c, np.sqrt(D)) / (2.0 * math.pi)
    N = p.determinant + np.square(p.c) * tilt
    return p.c * G + N / root, G + p.c * (2.0 * tilt - 1.0 + N / D) / root


def polynomial_table(coefficients: tuple[float, ...], order: int) -> list[list[float]]:
    r"""Row k holds the coefficients of $q_k(a) = \alpha_k(a)/a^{k/2}$, so that E = sum_k q_k(a)
    q_k(b) c^k; for phi^(order).
    """
    from numpy.polynomial.polynomial import polyder

    derived = [
        float(x) for x in np.atleast_1d(polyder(np.array(coefficients, dtype=np.float64), order))
    ]
    rows = []
    for k in range(len(derived)):
        terms = range(0, (len(derived) - 1 - k) // 2 + 1)
        scale = [
            math.factorial(k + 2 * m) / (2.0**m * math.factorial(m) * math.sqrt(math.factorial(k)))
            for m in terms
        ]
        rows.append([derived[k + 2 * m] * scale[m] for m in terms])
    return rows


DEGREE = 13
FEW = 8  # when less than one entry in so many is beyond 1/2, those go through numpy


@cache
def arcsine_polynomial() -> tuple[float, ...]:
    r"""Coefficients of P, lowest first: interpolation at Chebyshev nodes in rational arithmetic,
    values from the series.
    """
    from fractions import Fraction

    nodes = [
        Fraction((1.0 + math.cos((2 * i + 1) * math.pi / (2 * DEGREE + 2))) / 8.0)
        for i in range(DEGREE + 1)
    ]
    series = [
        Fraction(math.comb(2 * j, j), 4**j * (2 * j + 1)) for j in range(40)
    ]  # 4^{-40} is below rounding
    table = [sum(q * t**j for j, q in enumerate(series)) for t in nodes]
    for k in range(1, DEGREE + 1):  # Newton's divided differences
        for i in range(DEGREE, k - 1, -1):
            table[i] = (table[i] - table[i - 1]) / (nodes[i] - nodes[i - k])
    result = [Fraction(0)]
    for value, node in zip(reversed(table), reversed(nodes), strict=True):
        shifted = [Fraction(0), *result]
        result = [a - node * b for a, b in zip(shifted, [*result, Fraction(0)], strict=True)]
        result[0] += value
    return tuple(float(x) for x in result[: DEGREE + 1])


@cache
def has_vector_arcsine() -> bool:
    """Whether numpy computes the arcsine of doubles by vector instructions here."""
    try:
        found = np.lib.introspect.opt_func_info(func_name="^arcsin$", signature="float64")
    except AttributeError:  # numpy 2.0
        return False
    return any(
        not str(how["current"]).startswith("baseline")
        for types in found.values()
        for how in types.values()
    )


def arcsine(x: Array) -> Array:
    """Arcsin of an array with |x| <= 1."""
    return np.arcsin(x) if has_vector_arcsine() else arcsine_by_polynomial(x)


def arcsine_by_polynomial(x: Array) -> Array:
    """The same by arithmetic and square roots alone."""
    size = np.abs(x)
    beyond = size > 0.5
    count = np.count_nonzero(beyond)
    if count * FEW <= x.size:
        result = _times_polynomial(x, x * x)
        if count:
            result[beyond] = np.arcsin(x[beyond])
        return result
    t = np.where(beyond, 0.5 * (1.0 - size), size * size)
    result = _times_polynomial(np.where(beyond, np.sqrt(t), size), t)
    result[beyond] = math.pi / 2 - 2.0 * result[beyond]
    return np.copysign(result, x)


def _times_polynomial(x: Array, t: Array) -> Array:
    coefficients = arcsine_polynomial()
    total = coefficients[-1] * t
    for q in coefficients[-2:0:-1]:
        total += q
        total *= t
    total *= x
    return total + x


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

r"""Suprema of |phi^(j)|: over the line as fractions rounded up, over intervals as floats rounded
up.

How the bounds are proved
-------------------------
*Line.* The decimals below are rounded up. Where they come from, with s the logistic function and g
the normal density:

- sigmoid: s'' vanishes only at 0, so b_1 = 1/4. s''' = s'(1-6s') vanishes where s' = 1/6, z =
  +-log(2+sqrt 3), so b_2 = 1/(6 sqrt 3). s'''' = s''(1-12s') vanishes at 0 (|s'''| = 1/8) and where
  s' = 1/12, z = +-log(5+2 sqrt 6) (1/24). b_4 is the value at v^2 = (15 - sqrt 105)/30, v =
  tanh(z/2). softplus' = s and tanh z = 2 s(2z) - 1 give the other two.
- erf: erf^(j+1) is a Hermite polynomial times (2/sqrt pi) e^{-z^2}; its critical points are the
  roots of the next one.
- GELU: phi'' = (2-z^2) g, phi''' = (z^3-4z) g, phi'''' = -(z^4-7z^2+4) g, and phi''''' = z
  (z^2-2)(z^2-9) g.
- swish: phi'' = s'(2 - z tanh(z/2)) and the following derivatives have no closed-form roots; they
  were found by bisection in ball arithmetic.

The test suite proves every one of them again by ball arithmetic: a large interval [-T, T] is cut up
until each ball value is below the bound, and beyond T an explicit exponential or Gaussian tail is.
It also shows each bound to be within 1e-7 (relative) of a value attained.

*Interval.* Outside small enclosures of its critical points ("peaks"), psi = phi^(j) is monotone, so
on [low, high] the maximum of |psi| is at an end or at a peak inside. The tests prove by ball
arithmetic that psi' has no zero outside the listed enclosures and that |psi| is at most the listed
value inside. The two end values are floats: their error is far below SLACK times the supremum over
the line, which is added. This rests on one assumption: exp, tanh and the normal distribution
function of numpy and scipy are accurate to 64 units in the last place of the function's largest
value.

*Polynomials.* Critical points are enclosed in ball arithmetic, everything else is exact or rounded
up.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from globalmin._types import Array
from globalmin.activations.functions import Derivatives, horner

if TYPE_CHECKING:
    from flint import arb

    LocalBound = Callable[[int, Array, Array], Array]

Supremum = Fraction | float


SLACK = 2.0**-44  # relative to the supremum over the line: 256 units in the last place
REACH = 2.0**-40  # relative half-width of the enclosures of critical points


@dataclass(frozen=True)
class Peak:
    """A critical point of phi^(j) lies in [low, high], and |phi^(j)| is at most `value` there."""

    low: float
    high: float
    value: float


@dataclass(frozen=True)
class Suprema:
    """`line[j-1]` >= sup |phi^(j)| for j = 1..4; `local(j, low, high)` >= sup over [low, high] for
    j = 1..3.
    """

    line: tuple[Supremum, Supremum, Supremum, Supremum]
    local: LocalBound


def float_above(value: Supremum) -> float:
    """The least float that is certainly >= value (or infinity)."""
    nearest = float(value)
    if math.isfinite(nearest) and Fraction(nearest) < value:
        return math.nextafter(nearest, math.inf)
    return nearest


def _fractions(*decimals: str) -> tuple[Fraction, Fraction, Fraction, Fraction]:
    first, second, third, fourth = (Fraction(text) for text in decimals)
    return first, second, third, fourth


LOGISTIC_LINE = _fractions("1/4", "0.09622505", "1/8", "0.12768393")
TANH_LINE = _fractions("1", "0.76980036", "2", "4.08588551")
ERF_LINE = _fractions("1.12837917", "0.96788290", "2.25675834", "4.40470272")
SWISH_LINE = _fractions("1.09983933", "1/2", "0.30818152", "1/2")
GELU_LINE = _fractions("1.12890415", "0.79788457", "0.77876964", "1.59576913")

_ROOT = {n: math.sqrt(n) for n in (2, 3, 6, 33)}
_LOGISTIC_2_PEAK = math.log(2 + _ROOT[3])
_LOGISTIC_3_PEAK = math.log(5 + 2 * _ROOT[6])
_GELU_3_PEAKS = (math.sqrt((7 - _ROOT[33]) / 2), math.sqrt((7 + _ROOT[33]) / 2))

Peaks = tuple[tuple[float, str], ...]  # critical points with |psi| there, rounded up


def _both(place: float, value: str) -> Peaks:
    return ((place, value), (-place, value))


LOGISTIC_PEAKS: tuple[Peaks, ...] = (
    ((0.0, "1/4"),),
    _both(_LOGISTIC_2_PEAK, "0.096225044865"),
    ((0.0, "1/8"), *_both(_LOGISTIC_3_PEAK, "1/24")),
)
TANH_PEAKS: tuple[Peaks, ...] = (
    ((0.0, "1"),),
    _both(_LOGISTIC_2_PEAK / 2, "0.769800358920"),
    ((0.0, "2"), *_both(_LOGISTIC_3_PEAK / 2, "2/3")),
)
ERF_PEAKS: tuple[Peaks, ...] = (
    ((0.0, "1.128379167096"),),
    _both(math.sqrt(1 / 2), "0.967882898077"),
    ((0.0, "2.256758334192"), *_both(math.sqrt(3 / 2), "1.007101697049")),
)
SWISH_PEAKS: tuple[Peaks, ...] = (
    ((2.399357280515468, "1.099839320129"), (-2.399357280515468, "0.099839320129")),
    ((0.0, "1/2"), *_both(3.435840993535111, "0.036914373200")),
    (*_both(1.031958241780749, "0.308181515797"), *_both(4.429235100557228, "0.013862297656")),
)
GELU_PEAKS: tuple[Peaks, ...] = (
    ((_ROOT[2], "1.128904145186"), (-_ROOT[2], "0.128904145186")),
    ((0.0, "0.797884560803"), *_both(2.0, "0.107981933027")),
    (*_both(_GELU_3_PEAKS[0], "0.778769635056"), *_both(_GELU_3_PEAKS[1], "0.098741658612")),
)


def _enclosures(peaks: Peaks, *, rate: float, factor: Fraction) -> tuple[Peak, ...]:
    """Peaks of factor * psi(rate z); the reach dwarfs the rounding of place and rate."""
    found = []
    for place, value in peaks:
        center, reach = place / rate, REACH * (1.0 + abs(place)) / rate
        found.append(Peak(center - reach, center + reach, float_above(factor * Fraction(value))))
    return tuple(found)


def bounded(
    derivatives: Derivatives,
    line: tuple[Fraction, ...],
    peaks: tuple[Peaks, ...],
    *,
    rate: float = 1.0,
    gain: Fraction = Fraction(1),
) -> Suprema:
    """Suprema of gain * phi(rate z) from those of phi, whose derivatives are monotone between the
    given peaks.
    """
    factors = [gain * Fraction(rate) ** order for order in (1, 2, 3, 4)]
    first, second, third, fourth = (
        bound * factor for bound, factor in zip(line, factors, strict=True)
    )
    tops = [float_above(bound) for bound in (first, second, third)]
    enclosures = [_enclosures(peaks[j], rate=rate, factor=factors[j]) for j in range(3)]

    def local(order: int, low: Array, high: Array) -> Array:
        ends = np.maximum(np.abs(derivatives[order](low)), np.abs(derivatives[order](high)))
        return np.minimum(
            raise_to_peaks(ends, enclosures[order - 1], low, high) + SLACK * tops[order - 1],
            tops[order - 1],
        )

    return Suprema((first, second, third, fourth), local)


def raise_to_peaks(bound: Array, peaks: tuple[Peak, ...], low: Array, high: Array) -> Array:
    """The larger of `bound` and the value of every peak that [low, high] may contain."""
    for peak in peaks:
        inside = (low <= peak.high) & (high >= peak.low)
        bound = np.where(inside, np.maximum(bound, peak.value), bound)
    return bound


def softplus_suprema(derivatives: Derivatives, b: float) -> Suprema:
    """softplus_b = log(1+e^{bz})/b: phi' is the logistic function of bz, increasing and below 1."""
    line = (Fraction(1), *LOGISTIC_LINE[:3])
    peaks = ((), *LOGISTIC_PEAKS[:2])
    return bounded(derivatives, line, peaks, rate=b, gain=1 / Fraction(b))


def piecewise_linear_suprema(left: float, right: float) -> Suprema:
    """Slope `left` below 0, `right` above: exact for order 1; of higher order infinite where an
    interval touches the kink.
    """
    slopes = (abs(left), abs(right))
    top = Fraction(max(slopes))
    higher: Supremum = Fraction(0) if left == right else math.inf

    def local(order: int, low: Array, high: Array) -> Array:
        if order == 1:
            return np.maximum(
                np.where(low <= 0, slopes[0], 0.0), np.where(high >= 0, slopes[1], 0.0)
            )
        return np.where((low <= 0) & (high >= 0), float(higher), 0.0)

    return Suprema((top, higher, higher, higher), local)


def given_suprema(
    derivatives: Derivatives,
    line: tuple[Supremum, Supremum, Supremum, Supremum],
    *,
    known: tuple[bool, ...] = (True, True, True, True),
) -> Suprema:
    """Bounds of a user's activation; `known[j]` says whether the formula of phi^(j) was given.

    Over an interval: the smaller of b_j and |psi(middle)| + b_{j+1} * half-width (section 0 of the
    certificates). They are as true as the b_j and the formulas are.
    """
    tops = [float_above(bound) for bound in line]

    def local(order: int, low: Array, high: Array) -> Array:
        top, slope = tops[order - 1], tops[order]
        if not (known[order] and math.isfinite(slope)):
            return np.full(low.shape, top)
        middle = 0.5 * low + 0.5 * high
        half = np.maximum(high - middle, middle - low)
        size = np.abs(derivatives[order](middle))
        bound = (size + slope * half) * (1.0 + SLACK) + SLACK * (
            top if math.isfinite(top) else slope
        )
        return np.minimum(bound, top)

    return Suprema(line, local)


# Horner's rule then errs by at most 2 * 32 units in the last place of sum |c_j z^j|, four times
# below SLACK
MAX_DEGREE = 32

Exact = tuple[Fraction, ...]


def exact_derivative(coefficients: tuple[float, ...], order: int) -> Exact:
    """Coefficients of the order-th derivative, lowest degree first, exactly; () is the zero
    polynomial.
    """
    exact = tuple(Fraction(c) for c in coefficients)
    for _ in range(order):
        exact = tuple(j * c for j, c in enumerate(exact))[1:]
    while exact and exact[-1] == 0:
        exact = exact[:-1]
    return exact


def polynomial_suprema(coefficients: tuple[float, ...]) -> Suprema:
    """Over the line: the constant itself, or infinity; over an interval: the ends and the critical
    points inside.
    """
    first, second, third, fourth = (
        _line(exact_derivative(coefficients, order)) for order in (1, 2, 3, 4)
    )

    def local(order: int, low: Array, high: Array) -> Array:
        exact = exact_derivative(coefficients, order)
        ends = np.maximum(_above(exact, low), _above(exact, high))
        return raise_to_peaks(ends, critical_peaks(exact), low, high)

    return Suprema((first, second, third, fourth), local)


def _line(exact: Exact) -> Supremum:
    return math.inf if len(exact) > 1 else abs(sum(exact, Fraction(0)))


def _above(exact: Exact, z: Array) -> Array:
    """|p(z)| rounded up: Horner's rule and a bound on its error (SLACK times sum |c_j z^j|)."""
    if len(exact) <= 1:
        return np.full(np.shape(z), float_above(_line(exact)))
    floats = np.array([float(c) for c in exact])
    with np.errstate(over="ignore", invalid="ignore"):
        bound = np.abs(horner(floats, z)) + SLACK * horner(np.abs(floats), np.abs(z)) + 2.0**-1000
    return np.where(np.isnan(bound), np.inf, bound)


@cache
def critical_peaks(exact: Exact) -> tuple[Peak, ...]:
    """Enclosures of the real critical points of a polynomial with bounds of |p| on them, by ball
    arithmetic.
    """
    slope = tuple(j * c for j, c in enumerate(exact))[1:]
    if len(slope) <= 1:
        return ()
    from flint import arb

    peaks = []
    for root in _real_roots(slope):
        low, high = _outward(root)
        around, value = arb(low).union(arb(high)), arb(0)
        for c in reversed(exact):
            value = value * around + arb(c.numerator) / arb(c.denominator)
        peaks.append(Peak(low, high, _outward(abs(value))[1]))
    return tuple(peaks)


def _real_roots(exact: Exact) -> list[arb]:
    """Balls that contain every real root (and perhaps the real part of a root that could not be
    told from a real one).
    """
    from flint import fmpq, fmpq_poly

    found: Any = fmpq_poly(
        [fmpq(c.numerator, c.denominator) for c in exact]
    ).complex_roots()  # the stub omits multiplicities
    return [root.real for root, _ in found if root.imag.contains(0)]


def _outward(ball: arb) -> tuple[float, float]:
    """Floats certainly below and above a real ball."""
    return math.nextafter(float(ball.lower()), -math.inf), math.nextafter(
        float(ball.upper()), math.inf
    )

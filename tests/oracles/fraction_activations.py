"""The activations of certificate version 1 on exact rationals: enclosures of phi, phi' and phi'',
and the suprema of the spec's table.

`suprema(name, b, exact=False)` returns the rationals b_1, b_2, b_3 that the theorems are stated
with (rounded up). With `exact=True` the lower ends of the true suprema are returned instead: an
oracle that wants to call a claim false must not count the rounding of a constant.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from tests.oracles.fraction_elementary import decay, erf, log_one_plus, two_over_root_pi
from tests.oracles.fraction_intervals import Interval

# linear is smooth, but it is not in the table of suprema that the theorems are stated with, so it
# is not certifiable
SMOOTH = ("softplus", "sigmoid", "tanh", "erf", "quadratic")
ZERO_AT_ZERO = ("tanh", "erf", "quadratic", "linear", "abs", "relu", "leaky_relu")
ODD = ("tanh", "erf")
NONNEGATIVE = ("softplus", "sigmoid", "quadratic", "abs", "relu")

Derivatives = tuple[Interval, Interval, Interval]


def _signed(x: Interval, z: Fraction) -> Interval:
    return x if z >= 0 else -x


def _logistic(z: Fraction, bits: int) -> Derivatives:
    """s, s' = s(1-s), s'' = -s' tanh(z/2) with e = e^{-|z|}: s' = e/(1+e)^2, tanh(|z|/2) =
    (1-e)/(1+e).
    """
    e, complement = decay(abs(z), bits)
    whole = Interval.of(1, bits) + e
    slope = e / whole.square()
    return (
        (whole.reciprocal() if z >= 0 else e / whole),
        slope,
        -_signed(slope * (complement / whole), z),
    )


def _sigmoid(z: Fraction, bits: int, b: Fraction) -> Derivatives:
    factor = Interval.of(b, bits)
    value, slope, curvature = _logistic(b * z, bits)
    return value, factor * slope, factor.square() * curvature


def _softplus(z: Fraction, bits: int, b: Fraction) -> Derivatives:
    factor = Interval.of(b, bits)
    tail = log_one_plus(decay(abs(b * z), bits)[0]) / factor
    value, slope, _ = _logistic(b * z, bits)
    return Interval.of(max(z, Fraction(0)), bits) + tail, value, factor * slope


def _tanh(z: Fraction, bits: int) -> Derivatives:
    e, complement = decay(2 * abs(z), bits)
    whole = Interval.of(1, bits) + e
    value = _signed(complement / whole, z)
    slope = Interval.of(4, bits) * e / whole.square()
    return value, slope, -(Interval.of(2, bits) * value * slope)


def _erf(z: Fraction, bits: int) -> Derivatives:
    slope = two_over_root_pi(bits) * decay(z * z, bits)[0]
    return _signed(erf(abs(z), bits), z), slope, Interval.of(-2 * z, bits) * slope


def exact_value(name: str, z: Fraction, parameter: Fraction | None) -> Fraction | None:
    """phi(z) where it is rational for rational z, else None."""
    if name == "quadratic":
        return z * z
    if name == "linear":
        return z
    if name == "abs":
        return abs(z)
    if name == "relu":
        return max(z, Fraction(0))
    if name == "leaky_relu":
        return z if z >= 0 else z * (parameter or 0)
    return None


@lru_cache(
    maxsize=2**15
)  # campaigns attack the same stored network many times, and its series are most of their time
def derivatives(name: str, z: Fraction, bits: int, parameter: Fraction | None) -> Derivatives:
    """Enclosures of phi(z), phi'(z), phi''(z) for a smooth activation."""
    b = Fraction(1) if parameter is None else parameter
    if name == "softplus":
        return _softplus(z, bits, b)
    if name == "sigmoid":
        return _sigmoid(z, bits, b)
    if name == "tanh":
        return _tanh(z, bits)
    if name == "erf":
        return _erf(z, bits)
    if name == "quadratic":
        return Interval.of(z * z, bits), Interval.of(2 * z, bits), Interval.of(2, bits)
    raise ValueError(f"{name} is not in the table of suprema")


def value(name: str, z: Fraction, bits: int, parameter: Fraction | None) -> Interval:
    """Enclosure of phi(z) for every activation."""
    rational = exact_value(name, z, parameter)
    return (
        derivatives(name, z, bits, parameter)[0]
        if rational is None
        else Interval.of(rational, bits)
    )


# Closed forms: sup |s''| = sqrt(3)/18, sup |tanh''| = 4/(3 sqrt 3), and for erf
# 2/sqrt(pi) times 1, sqrt(2/e), 2.
_UNIT = Fraction(1, 10**8)
_RATIONALS: dict[str, tuple[Fraction | None, Fraction, Fraction]] = {
    "softplus": (Fraction(1), Fraction(1, 4), 9622505 * _UNIT),
    "sigmoid": (Fraction(1, 4), 9622505 * _UNIT, Fraction(1, 8)),
    "tanh": (Fraction(1), 76980036 * _UNIT, Fraction(2)),
    "erf": (112837917 * _UNIT, 96788290 * _UNIT, 225675834 * _UNIT),
    "quadratic": (None, Fraction(2), Fraction(0)),
}
_ROUNDED = {("softplus", 3), ("sigmoid", 2), ("tanh", 2), ("erf", 1), ("erf", 2), ("erf", 3)}


def suprema(
    name: str, parameter: Fraction | None, *, exact: bool = False
) -> tuple[Fraction | None, Fraction, Fraction]:
    """(b_1, b_2, b_3); None stands for infinity."""
    first, second, third = _RATIONALS[name]
    if exact:
        lowered = [
            b - 2 * _UNIT if b and (name, j) in _ROUNDED else b
            for j, b in enumerate(_RATIONALS[name], start=1)
        ]
        first, second, third = lowered[0], lowered[1] or Fraction(0), lowered[2] or Fraction(0)
    b = Fraction(1) if parameter is None else parameter
    if name == "softplus":
        return first, second * b, third * b**2
    if name == "sigmoid":
        return (None if first is None else first * b), second * b**2, third * b**3
    return first, second, third

"""Activations in balls with two derivatives, and the suprema of their derivatives (proofs:
`spec/claims/activations.md`).
"""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from globalmin_check.balls import ball

SMOOTH = ("softplus", "sigmoid", "tanh", "erf", "quadratic")
RATIONAL = ("relu", "leaky_relu", "abs", "linear", "quadratic")
NONNEGATIVE = ("softplus", "sigmoid", "quadratic", "abs", "relu")

_SIGMOID = (Fraction(1, 4), Fraction(9622505, 10**8), Fraction(1, 8), Fraction(12768393, 10**8))
# Upper bounds of sup |phi^(j)| for j = 1..4 at slope 1; None is infinite.
_SUPREMA: dict[str, tuple[Fraction | None, ...]] = {
    "softplus": (Fraction(1), *_SIGMOID[:3]),
    "sigmoid": _SIGMOID,
    "tanh": (Fraction(1), Fraction(76980036, 10**8), Fraction(2), Fraction(408588551, 10**8)),
    "erf": (
        Fraction(112837917, 10**8),
        Fraction(96788290, 10**8),
        Fraction(225675834, 10**8),
        Fraction(440470272, 10**8),
    ),
    "quadratic": (None, Fraction(2), Fraction(0), Fraction(0)),
}


def supremum(name: str, b: Fraction, order: int) -> Fraction | None:
    """A rational b_j >= sup |phi^(j)| over the line, order j = 1..4, scaled by a power of the slope
    b; None: infinite.
    """
    value = _SUPREMA[name][order - 1]
    power = {"softplus": order - 1, "sigmoid": order}.get(name, 0)
    return None if value is None else value * b**power


def steepest(name: str, b: Fraction) -> arb:
    """The ball of b_1 >= sup |phi'|; NaN, which no comparison lets pass, where it is infinite."""
    bound = supremum(name, b, 1)
    return arb("nan") if bound is None else ball(bound)


def jet(name: str, b: Fraction, z: arb) -> tuple[arb, arb, arb]:
    """phi(z), phi'(z), phi''(z) of a smooth activation."""
    if name == "quadratic":
        return z * z, 2 * z, arb(2)
    if name == "erf":
        slope = 2 * (-z * z).exp() / arb.pi().sqrt()
        return z.erf(), slope, -2 * z * slope
    if name == "tanh":
        s, ds, _ = _sigmoid(2 * z)
        return z.tanh(), 4 * ds, -8 * ds * (2 * s - 1)
    slope_b = ball(b)
    u = slope_b * z
    s, ds, e = _sigmoid(u)
    if name == "sigmoid":
        return s, slope_b * ds, slope_b * slope_b * ds * (1 - 2 * s)
    return (u.max(arb(0)) + e.log1p()) / slope_b, s, slope_b * ds


def value_and_slope(name: str, b: Fraction, z: arb) -> tuple[arb, arb]:
    """phi(z) and phi'(z) of a smooth activation: what `jet` gives, without its cost for phi''."""
    if name == "tanh":
        e = (-2 * abs(z)).exp()
        below = 1 + e
        return z.tanh(), 4 * e / (below * below)
    return jet(name, b, z)[:2]


def values_and_slopes(name: str, b: Fraction, zs: list[arb]) -> tuple[list[arb], list[arb]]:
    """The values and slopes of a smooth activation at many points, with few operations: for long
    replays, where absolute errors count (a saturated slope is known to 2^-bits, not to 2^-bits of
    itself).
    """
    if name == "quadratic":
        return [z * z for z in zs], [2 * z for z in zs]
    if name == "tanh":
        values = list(map(arb.tanh, zs))
        return values, [1 - value * value for value in values]
    if name == "erf":
        scale = 2 / arb.pi().sqrt()
        return list(map(arb.erf, zs)), [scale * (-z * z).exp() for z in zs]
    slope = ball(b)
    powers = [(slope * z).exp() for z in zs]
    shares = [power / (1 + power) for power in powers]
    if name == "sigmoid":
        return shares, [slope * share * (1 - share) for share in shares]
    return [power.log1p() / slope for power in powers], shares


def _sigmoid(u: arb) -> tuple[arb, arb, arb]:
    """1/(1+e^-u), its derivative, and e^-|u|; written so that no exponential overflows."""
    e = (-abs(u)).exp()
    below = 1 + e
    s = 1 / below if u >= 0 else e / below if u <= 0 else 1 / (1 + (-u).exp())
    return s, e / (below * below), e


def value(name: str, parameter: Fraction, z: arb) -> arb:
    """phi(z) of any activation."""
    if name in SMOOTH:
        return jet(name, parameter, z)[0]
    if name == "linear":
        return z
    if name == "abs":
        return abs(z)
    return z.max(arb(0)) if name == "relu" else z.max(ball(parameter) * z)


def exact_value(name: str, parameter: Fraction, z: Fraction) -> Fraction:
    """phi(z) of a piecewise polynomial activation, exactly."""
    if name == "quadratic":
        return z * z
    if name == "linear" or z >= 0:
        return z
    return {"abs": -z, "relu": Fraction(0)}.get(name, parameter * z)

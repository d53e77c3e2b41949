"""Activations with two derivatives in floats, each with a proved radius (E1 to E3 of
`spec/fast-route.md`). Only + - * /, rint and ldexp are used: numpy's own exp and log have no
proved bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from globalmin_check.fast.rounding import TAU, Floats, NotProved, U, up

KNOWN = ("softplus", "sigmoid", "tanh", "quadratic")
INVERSE_LN2 = 1.4426950408889634
LN2_HIGH = float.fromhex("0x1.62e42fee00000p-1")  # 33 bits of ln 2
_LN2_LOW = float.fromhex("0x1.a39ef35793c76p-33")
_EXP = [1 / math.factorial(j) for j in range(15)]
_LOG = [1 / (2 * j + 1) for j in range(19)]


@dataclass(frozen=True)
class Enclosed:
    """Floats and radii: every true number is within its radius of its float."""

    values: Floats
    radii: Floats

    @property
    def sizes(self) -> Floats:
        """At least the absolute values of the true numbers."""
        return up(np.abs(self.values) + self.radii)


def exp_below_zero(x: Floats) -> Floats:
    """E1, x <= 0: within 8 u result + 2^-1009 of e^x."""
    x = np.maximum(x, -700.0)
    q = np.rint(x * INVERSE_LN2)
    r = (x - q * LN2_HIGH) - q * _LN2_LOW
    p = np.full_like(r, _EXP[-1])
    for coefficient in reversed(_EXP[:-1]):
        p = p * r + coefficient
    return np.ldexp(p, q.astype(np.int32))


def log1p_unit(e: Floats) -> Floats:
    """E2, 0 <= e <= 1: within 8 u result + 2^-1000 of log(1 + e)."""
    s = e / (2.0 + e)
    q = s * s
    p = np.full_like(s, _LOG[-1])
    for coefficient in reversed(_LOG[:-1]):
        p = p * q + coefficient
    return 2.0 * s * p


def jet(name: str, z: Floats, dz: Floats) -> tuple[Enclosed, Enclosed, Enclosed]:
    """E3: phi, phi', phi'' at true arguments within dz of z."""
    if name == "quadratic":
        square = up(2 * U * (z * z) + up((2.0 * np.abs(z) + dz) * dz, 3), 3)
        second = Enclosed(np.full_like(z, 2.0), np.zeros_like(z))
        return Enclosed(z * z, square + 4 * TAU), Enclosed(2.0 * z, 2.0 * dz), second
    if name not in KNOWN:
        raise NotProved(f"the fast route does not know the activation {name}")
    e = exp_below_zero((-2.0 if name == "tanh" else -1.0) * np.abs(z))
    below = 1.0 + e
    bell = e / (below * below)
    if name == "tanh":
        value = np.where(z >= 0, 1.0, -1.0) * ((1.0 - e) / below)
        return (
            _with_radius(value, 8 * U * np.ones_like(z), 1.0, dz),
            _with_radius(4.0 * bell, 16 * U * (4.0 * bell), 0.76980036, dz),
            _with_radius(-2.0 * value * (4.0 * bell), 48 * U * (4.0 * bell), 2.0, dz),
        )
    share = np.where(z >= 0, 1.0 / below, e / below)
    first = _with_radius(share, 12 * U * share, 0.25, dz)
    second = _with_radius(bell, 16 * U * bell, 0.09622505, dz)
    if name == "sigmoid":
        third = _with_radius(bell * (1.0 - 2.0 * share), 48 * U * bell, 0.125, dz)
        return first, second, third
    log = log1p_unit(e)
    value = np.maximum(z, 0.0) + log
    return _with_radius(value, U * value + 8 * U * (log + e), 1.0, dz), first, second


def _with_radius(values: Floats, rounding: Floats, slope: float, dz: Floats) -> Enclosed:
    return Enclosed(values, up(rounding + slope * dz, 4) + 4 * TAU)

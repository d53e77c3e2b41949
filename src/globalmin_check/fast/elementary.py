"""Derivatives of activations in floats, each with a proved radius (E3 of `spec/fast-route.md`).
Only + - * / are used: numpy's own exp and log have no proved bound.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from globalmin_check.fast.rounding import Floats, NotProved, U, up

KNOWN = ("softplus", "sigmoid", "tanh", "quadratic")
TINY = 2.0**-860  # covers what is lost where e is below the range of W4


@dataclass(frozen=True)
class Enclosed:
    """Floats and radii: every true number is within its radius of its float."""

    values: Floats
    radii: Floats

    @property
    def sizes(self) -> Floats:
        """At least the absolute values of the true numbers."""
        return up(np.abs(self.values) + self.radii)


def slopes(name: str, z: Floats, dz: Floats, e: Floats) -> tuple[Enclosed, Enclosed]:
    """E3: phi', phi'' at true arguments within dz of z, e being that of the true ones (W5)."""
    if name == "quadratic":
        return Enclosed(2.0 * z, 2.0 * dz), Enclosed(np.full_like(z, 2.0), np.zeros_like(z))
    if name not in KNOWN:
        raise NotProved(f"the fast route does not know the activation {name}")
    below = 1.0 + e
    bell = e / (below * below)
    if name == "tanh":
        value = np.where(z >= 0, 1.0, -1.0) * ((1.0 - e) / below)
        bell = 4.0 * bell
        second = _with_radius(-2.0 * value * bell, 48 * U, bell, 2.0, dz)
        return _with_radius(bell, 16 * U, bell, 0.76980036, dz), second
    share = np.where(z >= 0, 1.0, e) / below
    first = _with_radius(bell, 16 * U, bell, 0.09622505, dz)
    if name == "sigmoid":
        return first, _with_radius(bell * (1.0 - 2.0 * share), 48 * U, bell, 0.125, dz)
    return _with_radius(share, 12 * U, share, 0.25, dz), first


def _with_radius(values: Floats, unit: float, size: Floats, slope: float, dz: Floats) -> Enclosed:
    return Enclosed(values, up(unit * size + slope * dz, 4) + TINY)

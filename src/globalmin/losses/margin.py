"""Losses of two classes, labels -1 and 1, as functions of the margin yf: logistic, hinge, squared
hinge.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from globalmin._types import Array
from globalmin.losses.loss import Labels, Loss, xlogx


def _ends(y: Array, largest: float) -> tuple[Array, Array]:
    """The interval of u with 0 <= -yu <= largest."""
    return np.where(y > 0, -largest, 0.0), np.where(y > 0, 0.0, largest)


@dataclass(frozen=True)
class Logistic(Loss):
    r"""$\log(1 + e^{-yf})$; $1/(1+e^{-f})$ estimates the probability of the class 1."""

    name: ClassVar[str] = "logistic"
    labels: ClassVar[Labels] = "signs"

    @property
    def smoothness(self) -> float:
        """A quarter."""
        return 0.25

    def value(self, f: Array, y: Array) -> Array:
        """Without overflow."""
        return np.logaddexp(0.0, -y * f)

    def derivative(self, f: Array, y: Array) -> Array:
        """-y/(1 + e^{yf})."""
        return -y * _sigmoid(-y * f)

    def second(self, f: Array, y: Array) -> Array:
        """p(1 - p)."""
        p = _sigmoid(f)
        return p * (1.0 - p)

    def conjugate(self, u: Array, y: Array) -> Array:
        """Entropy p log p + (1 - p) log(1 - p) for p = -yu in [0, 1]."""
        p = -y * u
        rest = (1.0 - p) * np.log1p(-np.where(p < 1.0, p, 0.0))  # exact to the last digits near 0
        return self._finite_inside(xlogx(p) + rest, u, y)

    def domain(self, y: Array) -> tuple[Array, Array]:
        """0 <= -yu <= 1."""
        return _ends(y, 1.0)

    def constant(self, y: Array, weight: Array) -> float:
        """The weighted log odds; infinite for one class alone."""
        positive, total = float(weight @ (y > 0)), float(weight.sum())
        if positive in (0.0, total):
            return math.inf if positive else -math.inf
        return math.log(positive / (total - positive))


@dataclass(frozen=True)
class Hinge(Loss):
    r"""$\max(0, 1 - yf)$, that of support vector machines.

    With `smoothing` > 0 its Moreau envelope of that width, which has the conjugate
    $-p + \mathrm{smoothing}\cdot p^2/2$, $p = -yu\in[0, 1]$.
    """

    name: ClassVar[str] = "hinge"
    labels: ClassVar[Labels] = "signs"
    smoothing: float = 0.0

    @property
    def smoothness(self) -> float | None:
        """One over the width of the envelope."""
        return 1.0 / self.smoothing if self.smoothing > 0 else None

    def value(self, f: Array, y: Array) -> Array:
        """The missing margin, or its envelope."""
        missing = 1.0 - y * f
        if self.smoothing > 0:
            p = np.clip(missing / self.smoothing, 0.0, 1.0)
            return p * missing - 0.5 * self.smoothing * p * p
        return np.maximum(missing, 0.0)

    def derivative(self, f: Array, y: Array) -> Array:
        """-y where margin is missing; zero at the kink."""
        missing = 1.0 - y * f
        if self.smoothing > 0:
            return -y * np.clip(missing / self.smoothing, 0.0, 1.0)
        return -y * (missing > 0)

    def second(self, f: Array, y: Array) -> Array:
        """Zero, or that of the envelope."""
        if not self.smoothing > 0:
            return np.zeros_like(f)
        z = (1.0 - y * f) / self.smoothing
        return ((z > 0) & (z < 1)) / self.smoothing

    def conjugate(self, u: Array, y: Array) -> Array:
        """-p for p = -yu in [0, 1]."""
        p = -y * u
        return self._finite_inside(-p + 0.5 * self.smoothing * p * p, u, y)

    def domain(self, y: Array) -> tuple[Array, Array]:
        """0 <= -yu <= 1."""
        return _ends(y, 1.0)

    def constant(self, y: Array, weight: Array) -> float:
        """The sign of the heavier class."""
        return 1.0 if float(weight @ y) >= 0 else -1.0

    def smoothed(self, width: float) -> Hinge:
        """The envelope of that width."""
        return Hinge(smoothing=width)


@dataclass(frozen=True)
class SquaredHinge(Loss):
    r"""$\max(0, 1 - yf)^2/2$."""

    name: ClassVar[str] = "squared_hinge"
    labels: ClassVar[Labels] = "signs"

    @property
    def smoothness(self) -> float:
        """One."""
        return 1.0

    def value(self, f: Array, y: Array) -> Array:
        """Half the square of the missing margin."""
        return 0.5 * np.square(np.maximum(1.0 - y * f, 0.0))

    def derivative(self, f: Array, y: Array) -> Array:
        """-y times the missing margin."""
        return -y * np.maximum(1.0 - y * f, 0.0)

    def second(self, f: Array, y: Array) -> Array:
        """One where margin is missing."""
        return (y * f < 1.0).astype(np.float64)

    def conjugate(self, u: Array, y: Array) -> Array:
        """-p + p^2/2 for p = -yu >= 0."""
        p = -y * u
        return self._finite_inside(-p + 0.5 * p * p, u, y)

    def domain(self, y: Array) -> tuple[Array, Array]:
        """-yu >= 0."""
        return _ends(y, math.inf)

    def constant(self, y: Array, weight: Array) -> float:
        """The weighted mean of the labels."""
        return float(weight @ y / weight.sum())


def _sigmoid(z: Array) -> Array:
    """1/(1 + e^{-z}) without overflow."""
    small = np.exp(-np.abs(z))
    return np.where(z >= 0, 1.0, small) / (1.0 + small)

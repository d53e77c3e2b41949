"""Losses of real labels and counts: squared, Huber, quantile, Poisson."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from globalmin._types import Array
from globalmin.losses.loss import Labels, Loss, root_of_slope, xlogx


@dataclass(frozen=True)
class Squared(Loss):
    r"""$(f-y)^2/2$, with the conjugate $uy + u^2/2$."""

    name: ClassVar[str] = "squared"

    @property
    def smoothness(self) -> float:
        """One."""
        return 1.0

    def value(self, f: Array, y: Array) -> Array:
        """Half the squared residual."""
        return 0.5 * np.square(f - y)

    def derivative(self, f: Array, y: Array) -> Array:
        """The residual."""
        return f - y

    def second(self, f: Array, y: Array) -> Array:
        """One."""
        return np.ones_like(f)

    def conjugate(self, u: Array, y: Array) -> Array:
        """Equal to u y + u^2/2."""
        return u * y + 0.5 * u * u

    def domain(self, y: Array) -> tuple[Array, Array]:
        """The whole line."""
        return np.full_like(y, -math.inf), np.full_like(y, math.inf)

    def constant(self, y: Array, weight: Array) -> float:
        """The weighted mean."""
        return float(weight @ y / weight.sum())


@dataclass(frozen=True)
class Huber(Loss):
    r"""$r^2/2$ for $|r|\le h$, else $h|r| - h^2/2$, with $r = f-y$ and h the parameter."""

    name: ClassVar[str] = "huber"
    parameter: float = 1.0

    @property
    def smoothness(self) -> float:
        """One."""
        return 1.0

    def value(self, f: Array, y: Array) -> Array:
        """Quadratic near zero, linear beyond."""
        size, h = np.abs(f - y), self.parameter
        return np.where(size <= h, 0.5 * size * size, h * size - 0.5 * h * h)

    def derivative(self, f: Array, y: Array) -> Array:
        """The residual, clipped."""
        return np.clip(f - y, -self.parameter, self.parameter)

    def second(self, f: Array, y: Array) -> Array:
        """One inside, zero outside."""
        return (np.abs(f - y) <= self.parameter).astype(np.float64)

    def conjugate(self, u: Array, y: Array) -> Array:
        """Equal to u y + u^2/2 for |u| <= h."""
        return self._finite_inside(u * y + 0.5 * u * u, u, y)

    def domain(self, y: Array) -> tuple[Array, Array]:
        """[-h, h]."""
        return np.full_like(y, -self.parameter), np.full_like(y, self.parameter)

    def constant(self, y: Array, weight: Array) -> float:
        """By bisection."""
        return root_of_slope(self, y, weight)


@dataclass(frozen=True)
class Quantile(Loss):
    r"""$\max(a(y-f), (a-1)(y-f))$ for the level a: its minimizer estimates that quantile.

    With `smoothing` > 0 its Moreau envelope of that width, which has the conjugate
    $uy + \mathrm{smoothing}\cdot u^2/2$ on the same interval.
    """

    name: ClassVar[str] = "quantile"
    parameter: float = 0.5
    smoothing: float = 0.0

    @property
    def smoothness(self) -> float | None:
        """One over the width of the envelope."""
        return 1.0 / self.smoothing if self.smoothing > 0 else None

    def value(self, f: Array, y: Array) -> Array:
        """The pinball loss, or its envelope."""
        r, a = f - y, self.parameter
        if self.smoothing > 0:
            u = self.derivative(f, y)
            return u * r - 0.5 * self.smoothing * u * u
        return np.maximum(-a * r, (1.0 - a) * r)

    def derivative(self, f: Array, y: Array) -> Array:
        """Between -a and 1 - a; zero at the kink."""
        r, a = f - y, self.parameter
        if self.smoothing > 0:
            return np.clip(r / self.smoothing, -a, 1.0 - a)
        return np.where(r > 0, 1.0 - a, np.where(r < 0, -a, 0.0))

    def second(self, f: Array, y: Array) -> Array:
        """Zero, or that of the envelope."""
        if not self.smoothing > 0:
            return np.zeros_like(f)
        z = (f - y) / self.smoothing
        return ((z > -self.parameter) & (z < 1.0 - self.parameter)) / self.smoothing

    def conjugate(self, u: Array, y: Array) -> Array:
        """Equal to u y on [-a, 1 - a]."""
        return self._finite_inside(u * y + 0.5 * self.smoothing * u * u, u, y)

    def domain(self, y: Array) -> tuple[Array, Array]:
        """[-a, 1 - a], its upper end rounded down: the doubles a and 1 - a need not add up to 1."""
        high = 1.0 - self.parameter
        if Fraction(high) > 1 - Fraction(self.parameter):
            high = math.nextafter(high, 0.0)
        return np.full_like(y, -self.parameter), np.full_like(y, high)

    def constant(self, y: Array, weight: Array) -> float:
        """A weighted quantile of the labels."""
        order = np.argsort(y, kind="stable")
        share = np.cumsum(weight[order])
        return float(y[order[min(np.searchsorted(share, self.parameter * share[-1]), y.size - 1)]])

    def smoothed(self, width: float) -> Quantile:
        """The envelope of that width."""
        return Quantile(self.parameter, width)


@dataclass(frozen=True)
class Poisson(Loss):
    r"""$e^f - yf$ for counts y, the log link: $e^f$ estimates the mean."""

    name: ClassVar[str] = "poisson"
    labels: ClassVar[Labels] = "counts"

    def value(self, f: Array, y: Array) -> Array:
        """Up to a constant of the label the negative log likelihood; infinity from e^709 on."""
        with np.errstate(over="ignore"):
            return np.exp(f) - y * f

    def derivative(self, f: Array, y: Array) -> Array:
        """e^f - y."""
        with np.errstate(over="ignore"):
            return np.exp(f) - y

    def second(self, f: Array, y: Array) -> Array:
        """e^f."""
        with np.errstate(over="ignore"):
            return np.exp(f)

    def conjugate(self, u: Array, y: Array) -> Array:
        """Equal to q log q - q for q = u + y >= 0."""
        q = u + y
        return self._finite_inside(xlogx(q) - q, u, y)

    def domain(self, y: Array) -> tuple[Array, Array]:
        """From -y on."""
        return -y, np.full_like(y, math.inf)

    def constant(self, y: Array, weight: Array) -> float:
        """The logarithm of the weighted mean; -infinity without a positive label."""
        mean = float(weight @ y / weight.sum())
        return math.log(mean) if mean > 0 else -math.inf

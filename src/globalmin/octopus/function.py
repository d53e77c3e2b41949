r"""The tube and the octopus: functions whose saddles hold gradient descent for a time exponential
in the dimension (DU-O7).

For $y = |x|$ let i be the first index with $y_i < 2\tau$. A point has passed the saddles 1 to i - 1
and is at the i-th: it leaves it along $y_i$, while every later coordinate is pressed towards zero,
so that each saddle takes a fixed factor longer than the one before. The tube lives on $x \ge 0$;
the octopus is its $2^d$ mirror images.

Two splines lead from one saddle to the next (DU-L7.4). With $u = (y - \tau)/\tau \in [0, 1]$ on the
buffer $\tau \le y \le 2\tau$: $g_1'$ is the cubic with $g_1'(\tau) = -2\gamma\tau$, $g_1''(\tau) =
-2\gamma$, $g_1'(2\tau) = -4L\tau$, $g_1''(2\tau) = 2L$, and $g_2 = L - (L+\gamma)(10u^3 - 15u^4 +
6u^5)$ leads from L to $-\gamma$ with two vanishing derivatives at both ends. So the pieces of the
octopus fit together twice differentiably.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from globalmin._types import Array, ArrayLike, NDArray
from globalmin.errors import DataError
from globalmin.references import states

ORDERS = 4  # the value and three derivatives


@states("DU-L7.4")
@dataclass(frozen=True)
class Splines:
    r"""$g_1$ and $g_2$ for given $L$, $\gamma$, $\tau$, with derivatives up to the third."""

    L: float
    gamma: float
    tau: float

    @cached_property
    def g1_coefficients(self) -> tuple[Array, ...]:
        r"""Coefficients in u, lowest first, of $g_1$ and its derivatives by y."""
        L, gamma = self.L, self.gamma
        first = np.array(
            [-gamma, -2 * gamma, -gamma, (10 * gamma - 14 * L) / 3, (5 * L - 3 * gamma) / 2]
        )
        return _derivatives(self.tau**2 * first, self.tau)

    @cached_property
    def g2_coefficients(self) -> tuple[Array, ...]:
        r"""Coefficients in u, lowest first, of $g_2$ and its derivatives by y."""
        rise = -(self.L + self.gamma) * np.array([0.0, 0.0, 0.0, 10.0, -15.0, 6.0])
        rise[0] = self.L
        return _derivatives(rise, self.tau)

    def g1(self, y: Array | float, order: int = 0) -> Array:
        r"""$g_1$ or its derivative of this order (0 to 3) at y, elementwise; eqs. (7.7), (7.9)."""
        return horner(self.g1_coefficients[order], np.asarray(y, dtype=np.float64) / self.tau - 1.0)

    def g2(self, y: Array | float, order: int = 0) -> Array:
        r"""$g_2$ or its derivative of this order (0 to 3) at y, elementwise; eq. (7.7)."""
        return horner(self.g2_coefficients[order], np.asarray(y, dtype=np.float64) / self.tau - 1.0)

    @property
    def drop(self) -> float:
        r"""$\nu = 4L\tau^2 - g_1(2\tau) = (37L + 13\gamma)\tau^2/6$: by so much each saddle lies
        below the one before it.
        """
        return (37.0 * self.L + 13.0 * self.gamma) * self.tau**2 / 6.0


def horner(coefficients: Array, u: Array) -> Array:
    """The polynomial with these coefficients, lowest first, at u, elementwise."""
    value = np.full_like(u, coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        value = value * u + coefficient
    return value


def derivative(coefficients: Array) -> Array:
    """Coefficients of the derivative."""
    return coefficients[1:] * np.arange(1, len(coefficients))


def _derivatives(coefficients: Array, tau: float) -> tuple[Array, ...]:
    rows = [coefficients]
    for _ in range(ORDERS - 1):
        rows.append(derivative(rows[-1]) / tau)
    return tuple(rows)


class _Place(NamedTuple):
    """Where points are: magnitudes, the coordinate i they leave along (0-based, d if none), masks,
    and whether in a buffer.
    """

    y: Array
    i: NDArray[np.intp]
    before: NDArray[np.bool_]
    at: NDArray[np.bool_]
    after: NDArray[np.bool_]
    next: NDArray[np.bool_]
    leaving: Array
    following: Array
    buffer: NDArray[np.bool_]


@states("DU-O7")
@dataclass(frozen=True)
class Octopus:
    r"""The octopus in any dimension, or the tube (`mirrored=False`); eqs. (7.4) to (7.18).

    Parameters
    ----------
    dimension : int
        d, the number of saddles on every way down.
    L : float
        Curvature of the walls, at least `gamma`.
    gamma : float
        Curvature of the way out: every saddle has one eigenvalue $-2\gamma$ and all others $2L$.
    tau : float
        Width, at least e.
    mirrored : bool
        The octopus on all sign patterns (default) or the tube on $x \ge 0$.

    Notes
    -----
    Outside of the domain (`in_domain`) value, gradient and Hessian are NaN: the thesis extends them
    by a theorem that gives no formula. Gradient descent from $[-1, 1]^d$ with a step of at most
    1/(2L) never leaves the domain. `ExtendedOctopus` is finite everywhere, for any other optimizer.

    Examples
    --------
    >>> octopus = Octopus(3, L=math.e)
    >>> round(float(octopus.value([0.5, 0.3, -0.2])), 12)
    0.1033766377
    """

    dimension: int = 5
    L: float = 2.0
    gamma: float = 1.0
    tau: float = math.e
    mirrored: bool = True

    def __post_init__(self) -> None:
        if int(self.dimension) != self.dimension or self.dimension < 1:
            raise DataError(f"dimension={self.dimension} must be a whole number, at least 1")
        if not all(
            isinstance(value, int | float | np.number) for value in (self.L, self.gamma, self.tau)
        ):
            raise DataError(
                f"L={self.L!r}, gamma={self.gamma!r} and tau={self.tau!r} must be numbers"
            )
        if not (math.isfinite(self.L) and 0.0 < self.gamma <= self.L):
            raise DataError(f"L={self.L} and gamma={self.gamma} must satisfy L >= gamma > 0")
        if not (math.isfinite(self.tau) and self.tau >= math.e):
            raise DataError(
                f"tau={self.tau} must be at least e = {math.e}: with less the descent can leave "
                "the domain"
            )

    @cached_property
    def splines(self) -> Splines:
        """The connecting splines."""
        return Splines(self.L, self.gamma, self.tau)

    @property
    def drop(self) -> float:
        r"""$\nu$: the function falls by this from each saddle to the next, and to the minimum from
        the last.
        """
        return self.splines.drop

    @property
    def least(self) -> float:
        r"""The least value $-d\nu$, taken at the minima $(\pm4\tau, \dots, \pm4\tau)$."""
        return -self.dimension * self.drop

    def in_domain(self, x: ArrayLike) -> NDArray[np.bool_]:
        """Whether points (..., d) are in the domain (7.5) of the tube, or (7.12) of the octopus,
        the union taken to d + 1.
        """
        points = self._points(x)
        return self._inside(points, self._place(np.abs(points)))

    def stage(self, x: ArrayLike) -> NDArray[np.intp]:
        """How many saddles points (..., d) have passed, 0 to d: the first coordinate below 2 tau in
        magnitude, 0-based.
        """
        return self._place(np.abs(self._points(x))).i

    def value(self, x: ArrayLike) -> Array:
        """The function at points (..., d); NaN outside of the domain."""
        points = self._points(x)
        place, L = self._place(np.abs(points)), self.L
        squares = np.where(
            place.before, (place.y - 4.0 * self.tau) ** 2, np.where(place.after, place.y**2, 0.0)
        )
        a, b2 = place.leaving, place.following**2
        spline = self.splines.g1(a) + (self.splines.g2(a) - L) * b2
        total = (
            L * squares.sum(axis=-1)
            - place.i * self.drop
            + np.where(place.buffer, spline, -self.gamma * a * a)
        )
        return np.where(self._inside(points, place), total, np.nan)

    def gradient(self, x: ArrayLike) -> Array:
        """The gradient at points (..., d), of the same shape; NaN outside of the domain."""
        points = self._points(x)
        place, s = self._place(np.abs(points)), self.splines
        a, b = place.leaving, place.following
        G = 2.0 * self.L * np.where(place.before, place.y - 4.0 * self.tau, place.y)
        along = np.where(place.buffer, s.g1(a, 1) + s.g2(a, 1) * b * b, -2.0 * self.gamma * a)
        G = np.where(place.at, along[..., None], G)
        G = np.where(place.next, 2.0 * (s.g2(a) * b)[..., None], G)
        G = np.where(points < 0.0, -G, G)
        return np.where(self._inside(points, place)[..., None], G, np.nan)

    def hessian(self, x: ArrayLike) -> Array:
        """The Hessian at points (..., d), of shape (..., d, d): diagonal but for one 2 x 2 block;
        NaN outside of the domain.
        """
        points = self._points(x)
        place, s = self._place(np.abs(points)), self.splines
        a, b = place.leaving, place.following
        along = np.where(place.buffer, s.g1(a, 2) + s.g2(a, 2) * b * b, -2.0 * self.gamma)
        diagonal = np.where(place.at, along[..., None], 2.0 * self.L)
        diagonal = np.where(place.next, 2.0 * s.g2(a)[..., None], diagonal)
        H = diagonal[..., None] * np.eye(self.dimension)
        sign = np.where(points < 0.0, -1.0, 1.0)
        one, two = np.where(place.at, sign, 0.0), np.where(place.next, sign, 0.0)
        mixed = one[..., :, None] * two[..., None, :]
        H = H + (2.0 * s.g2(a, 1) * b)[..., None, None] * (mixed + np.swapaxes(mixed, -1, -2))
        return np.where(self._inside(points, place)[..., None, None], H, np.nan)

    @states("DU-L7.1")
    def saddle(self, passed: int, signs: ArrayLike | None = None) -> Array:
        r"""The saddle $(\pm4\tau, \dots, \pm4\tau, 0, \dots, 0)$ with `passed` (0 to d - 1) leading
        entries; d gives a minimum.

        `signs`: of the leading entries, all positive by default. The tube has d saddles and one
        minimum, the octopus $2^d - 1$ saddles and $2^d$ minima.
        """
        if not 0 <= passed <= self.dimension:
            raise DataError(f"passed={passed} must be from 0 to the dimension {self.dimension}")
        x = np.zeros(self.dimension)
        x[:passed] = (
            4.0
            * self.tau
            * (1.0 if signs is None else np.sign(np.asarray(signs, dtype=np.float64)[:passed]))
        )
        if not self.mirrored and (x < 0.0).any():
            raise DataError(
                "signs: the tube has positive entries only; use mirrored=True for the octopus"
            )
        return x

    @states("DU-L7.1")
    def critical_counts(self) -> tuple[int, int]:
        """Numbers of saddles and of minima."""
        return (2**self.dimension - 1, 2**self.dimension) if self.mirrored else (self.dimension, 1)

    def _points(self, x: ArrayLike) -> Array:
        points = np.asarray(x, dtype=np.float64)
        if points.ndim < 1 or points.shape[-1] != self.dimension:
            raise DataError(
                f"x has shape {points.shape}; its last axis must have the dimension "
                f"{self.dimension}"
            )
        return points

    def _inside(self, points: Array, place: _Place) -> NDArray[np.bool_]:
        limit = np.where(place.before, 6.0, np.where(place.after, 1.0, 2.0)) * self.tau
        inside = np.asarray((place.y <= limit).all(axis=-1))
        return inside if self.mirrored else inside & (points >= 0.0).all(axis=-1)

    def _place(self, y: Array) -> _Place:
        d, tau = self.dimension, self.tau
        passed = y >= 2.0 * tau
        i = np.where(passed.all(axis=-1), d, np.argmin(passed, axis=-1))
        index = np.arange(d)
        at, after = index == i[..., None], index > i[..., None]
        leaving = np.where(at, y, 0.0).sum(axis=-1)
        buffer = leaving > tau
        behind = index == i[..., None] + 1
        following = np.where(behind, y, 0.0).sum(axis=-1)
        return _Place(
            y,
            i,
            index < i[..., None],
            at,
            after,
            behind & buffer[..., None],
            leaving,
            following,
            buffer,
        )

r"""Free hidden biases in any number of columns (theorem R4-free): bounds of
$\sum_i u_i\,\mathrm{relu}(w\cdot x_i + \beta)$ over |w| = 1 and all $\beta$, slab by slab of the
bias.

With $y_i = x_i - m$ the shifted bias of the largest sum is a kink $-w\cdot y_k$, so the slabs need
to cover only $|\beta| \le \max_k|y_k|$. In the slab [e, f] a pre-activation t lies in
$[e - |y_i|, f + |y_i|]$, which decides rows or makes their slopes sharper than without slabs. The
sum is at most $c\cdot\omega + \omega^TQ\omega + k$ with $\omega = (w, \beta)$, and a multiplier
gamma of $|w|^2 = 1$ and one delta >= 0 of $(\beta - e)(\beta - f) \le 0$ bound that.

The slopes are found by fictitious play as in `spectral`, on the sphere that holds |w| = 1 and the
slab, with a share kappa of the bias.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from globalmin._types import Array
from globalmin.regularized.spectral import (
    EPS,
    SLOPE_BITS,
    largest_on_sphere,
    short,
    short_down,
    short_up,
)

MAX_SLABS = 16
_STEPS = 150
_PATIENCE = 40
_KAPPAS = (0.03, 0.3)
_FIRST = 4  # slabs that the search begins with
_NO_CURVATURE = 1e-150


@dataclass(frozen=True, eq=False)
class Slab:
    """What bounds the sums of u and -u in one slab.

    Attributes
    ----------
    low, high : its ends.
    rho, sig, al, be : one number per row, rounded; rho, sig for the sign in which u_i is positive,
        al, be for the other. rho = 0 stands for a row that is decided.
    gamma, delta : multipliers for u and for -u.
    bounds : of both sums, in floats.
    """

    low: float
    high: float
    rho: Array
    sig: Array
    al: Array
    be: Array
    gamma: tuple[float, float]
    delta: tuple[float, float]
    bounds: tuple[float, float]

    def scaled(self, factor: float) -> Slab:
        """The same for `factor` u."""

        def times(pair: tuple[float, float]) -> tuple[float, float]:
            return factor * pair[0], factor * pair[1]

        return replace(
            self, gamma=times(self.gamma), delta=times(self.delta), bounds=times(self.bounds)
        )


@dataclass(frozen=True, eq=False)
class SlabProof:
    """Slabs that cover every kink, in order, and the shift m of the rows."""

    center: Array
    slabs: tuple[Slab, ...]

    @property
    def bound(self) -> float:
        """Of H(u), in floats."""
        return max(max(slab.bounds) for slab in self.slabs)

    def scaled(self, factor: float) -> SlabProof:
        """The same for `factor` u."""
        return replace(self, slabs=tuple(slab.scaled(factor) for slab in self.slabs))


def slab_proof(X: Array, u: Array, *, max_slabs: int = MAX_SLABS) -> SlabProof:
    """Slabs of a vector with sum zero; the one with the largest bound is halved again and again."""
    center = X.mean(axis=0)
    Y = X - center
    norms = np.sqrt(np.square(Y).sum(axis=1))
    radius = max(float(norms.max()), 1e-100) * (1.0 + 1e-9)
    edges = np.linspace(-radius, radius, _FIRST + 1)
    slabs = [_slab(Y, norms, u, ends) for ends in pairwise(edges)]
    while len(slabs) < max_slabs:
        j = int(np.argmax([max(slab.bounds) for slab in slabs]))
        middle = 0.5 * (slabs[j].low + slabs[j].high)
        halves = [
            _slab(Y, norms, u, ends) for ends in ((slabs[j].low, middle), (middle, slabs[j].high))
        ]
        slabs[j : j + 1] = halves
    return SlabProof(center, tuple(slabs))


def _slab(Y: Array, norms: Array, u: Array, ends: tuple[float, float]) -> Slab:
    low, high = float(ends[0]), float(ends[1])
    plus, minus = (
        min((_play(Y, norms, sign * u, (low, high), kappa) for kappa in _KAPPAS), key=_bound)
        for sign in (1.0, -1.0)
    )
    is_up = u > 0
    return Slab(
        low,
        high,
        np.where(is_up, plus.rho, minus.rho),
        np.where(is_up, plus.sig, minus.sig),
        np.where(is_up, minus.al, plus.al),
        np.where(is_up, minus.be, plus.be),
        (plus.gamma, minus.gamma),
        (plus.delta, minus.delta),
        (plus.bound, minus.bound),
    )


@dataclass(frozen=True, eq=False)
class _Found:
    """The best slopes of one sign."""

    rho: Array
    sig: Array
    al: Array
    be: Array
    gamma: float
    delta: float
    bound: float
    direction: Array


def _bound(found: _Found) -> float:
    return found.bound


@dataclass(frozen=True, eq=False)
class _Sphere:
    """The rows of one slab on the sphere of kappa: t = rows . omega + middle, |omega| <= 1."""

    rows: Array
    middle: float
    half: float
    kappa: float
    below: Array  # how far t may be below and above zero
    above: Array

    @classmethod
    def of(cls, Y: Array, norms: Array, ends: tuple[float, float], kappa: float) -> _Sphere:
        low, high = ends
        half = 0.5 * (high - low)
        bias = np.full((len(Y), 1), half / np.sqrt(kappa))
        rows = np.sqrt(1.0 + kappa) * np.hstack([Y, bias])
        wide = norms * (1.0 + 1e-12)
        return cls(
            rows,
            0.5 * (low + high),
            half,
            kappa,
            np.maximum(wide - low, 0.0),
            np.maximum(wide + high, 0.0),
        )

    @property
    def width(self) -> Array:
        """Length of the range of t where it has both signs."""
        return np.maximum(self.below + self.above, 1e-300)

    def found(self, u: Array, sig: Array, lines: Array) -> _Found:
        """Rounded slopes and their bound."""
        rho, sig, al, be = self._rounded(sig, lines)
        is_on, is_off = self.below == 0.0, self.above == 0.0
        up = u > 0
        is_sure = up & (is_on | is_off)
        rho, sig = np.where(is_sure, 0.0, rho), np.where(is_sure, 0.0, sig)
        curve = np.where(up, 0.5 * u * rho, u * be)
        slope = np.where(up, np.where(is_sure, np.where(is_on, u, 0.0), 0.5 * u), u * al)
        k = 0.5 * float((u * sig)[up].sum())
        k += float((slope * self.middle + curve * self.middle**2).sum())
        Q = (self.rows * curve[:, None]).T @ self.rows
        c = self.rows.T @ (slope + 2.0 * self.middle * curve)
        value, gamma, direction = _largest(0.5 * (Q + Q.T), c)
        first = gamma / (1.0 + self.kappa)
        delta = first * self.kappa / self.half**2
        return _Found(rho, sig, al, be, first, delta, value + k, direction)

    def _rounded(self, sig: Array, lines: Array) -> tuple[Array, Array, Array, Array]:
        """Stored slopes; the conditions of the theorem hold for them exactly (see `spectral`)."""
        rho = short(1.0 / (4.0 * np.maximum(sig, _NO_CURVATURE)))
        sig = np.nextafter(short_up(1.0 / (4.0 * rho)), np.inf)
        al = np.clip(lines[1] + lines[2] * self.below / self.width, 0.0, 1.0)
        al = np.round(al * 2.0**SLOPE_BITS) / 2.0**SLOPE_BITS
        room = 1.0 - (self.rows.shape[1] + 16) * EPS
        most = np.minimum(
            np.divide(al, self.below, out=np.full_like(al, np.inf), where=self.below > 0),
            np.divide(1.0 - al, self.above, out=np.full_like(al, np.inf), where=self.above > 0),
        )
        most = np.where(np.isfinite(most), most, 0.0)
        be = np.minimum(lines[2] / self.width, most * room)
        return rho, sig, al, short_down(np.maximum(np.floor(be * 2.0**60) / 2.0**60, 0.0))


def _largest(Q: Array, c: Array) -> tuple[float, float, Array]:
    """As `largest_on_sphere`, with gamma > 0: the multiplier of an inequality."""
    value, gamma, direction = largest_on_sphere(Q, c)
    least = 1e-9 * (float(np.abs(Q).max()) + float(np.linalg.norm(c)) + 1e-300)
    if gamma >= least:
        return value, gamma, direction
    value = least + 0.25 * float(c @ np.linalg.solve(least * np.eye(len(c)) - Q, c))
    return value, least, direction


def _play(Y: Array, norms: Array, u: Array, ends: tuple[float, float], kappa: float) -> _Found:
    """Fictitious play for one sign, slab and kappa."""
    sphere = _Sphere.of(Y, norms, ends, kappa)
    n, size = sphere.rows.shape
    a = np.square(sphere.rows).sum(axis=1) / size + sphere.middle**2
    t, lines = np.full(n, sphere.middle), np.zeros((3, n))
    lines[2] = 1.0
    best = found = sphere.found(u, 0.5 * np.sqrt(a), lines)
    last = 0
    for step in range(_STEPS):
        share = 2.0 / (step + 3.0)
        met = sphere.rows @ found.direction + sphere.middle
        a, t = (1.0 - share) * a + share * met * met, (1.0 - share) * t + share * met
        bent = (sphere.below * t + a) / sphere.width
        answer = np.argmax(np.stack([np.zeros(n), t, bent]), axis=0)
        lines = (1.0 - share) * lines + share * (answer == np.arange(3)[:, None])
        found = sphere.found(u, 0.5 * np.sqrt(np.maximum(a, _NO_CURVATURE)), lines)
        if found.bound < best.bound:
            best, last = found, step
        if step - last > _PATIENCE:
            break
    return best

r"""Multipliers rho of the constraints $f(z_{k+1}) \ge f(z_k)$ of an increasing curve (R7 (b)), for
a dual vector that is feasible over the atoms.

In the sums $U_j + \rho_j - \rho_{j-1}$ the function G becomes $G - R$ with $R(t) = \int_t^\infty
\hat\rho$, linear between the values and falling, $\rho_k$ its slope: the tube $|G - R| \le b\,k(t)$
has to hold such an R.
"""

from __future__ import annotations

import numpy as np

from globalmin._types import Array
from globalmin.regularized.curves import Curve

_EXACT = 1e-10  # of the decay: rounding
_ROUNDS = 12  # of moving the tangents to where the tube is tightest


def multipliers(curve: Curve, u: Array, b: float) -> Array:
    """One number of at least 0 per row, in the first row of every value but the largest."""
    G = curve.gains(u)[0] / b
    rho = np.zeros(curve.inverse.size)
    if curve.z.size < 2 or G[0] <= 0:
        return rho
    R = _tube(curve, G)
    first = np.unique(curve.inverse, return_index=True)[1]
    rho[first[:-1]] = b * np.maximum(R[:-1] - R[1:], 0.0) / np.diff(curve.z)
    return rho


def _tube(curve: Curve, G: Array) -> Array:
    """R at the values, from G at the first to 0 at the last, in the tube |G - R| <= k if there is
    room for it.

    In a cell a line is below the convex k if its ends are below a tangent. With a tangent for each
    cell and side, at first where a bend would be in a cell where R does not fall, the ends are in
    intervals, and a falling sequence is half way between the largest lower end to come and the
    smallest upper end so far.
    """
    slopes = np.diff(G) / np.diff(curve.z)
    up, down = (curve.cells(G, slopes, sign, 1.0).places[1:-1] for sign in (-1.0, 1.0))
    best, least = G, np.inf
    for _ in range(_ROUNDS):
        low, high = G - _ends_below(curve, down), G + _ends_below(curve, up)
        low[0] = high[0] = G[0]
        low[-1] = high[-1] = 0.0
        low = np.maximum.accumulate(np.clip(low, 0.0, G[0])[::-1])[::-1]
        high = np.minimum.accumulate(np.clip(high, 0.0, G[0]))
        R = np.minimum.accumulate(0.5 * (low + high))
        values, places = bends_between(curve, G - R)
        if float(values.max()) < least:
            best, least = R, float(values.max())
        if least <= 1.0 + _EXACT or np.isinf(curve.tau):
            break
        wrong = values > 1.0 + _EXACT
        up, down = np.where(wrong, places, up), np.where(wrong, places, down)
    return best


def _ends_below(curve: Curve, places: Array) -> Array:
    """For every value the least height there of the tangents to k at one place in each of its
    cells.
    """
    z, price = curve.z, curve.price(places)
    left = (1.0 + places * z[:-1] / curve.tau**2) / price
    right = (1.0 + places * z[1:] / curve.tau**2) / price
    return np.minimum(np.r_[left, np.inf], np.r_[np.inf, right])


def bends_between(curve: Curve, D: Array) -> tuple[Array, Array]:
    """The largest |D|/k inside of every cell between two values, D linear there, and its place; the
    larger end where the largest value is at an end.
    """
    z, price = curve.z, curve.price(curve.z)
    slope = np.diff(D) / np.diff(z)
    constant = D[:-1] - slope * z[:-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        t = slope * curve.tau**2 / constant
    is_inside = (t > z[:-1]) & (t < z[1:])
    at_ends = np.abs(D) / price
    ends = np.maximum(at_ends[:-1], at_ends[1:])
    end = np.where(at_ends[:-1] >= at_ends[1:], z[:-1], z[1:])
    t = np.where(is_inside, t, end)
    inside = np.abs(constant + slope * t) / curve.price(t)
    return np.where(is_inside, np.maximum(inside, ends), ends), t


def height_with(curve: Curve, u: Array, rho: Array) -> float:
    """H of the column with these multipliers, in floats: neurons of both sides and signs."""
    G = curve.gains(u)[0]
    weights = np.bincount(curve.inverse, weights=rho, minlength=curve.z.size)
    falls = weights[:-1] * np.diff(curve.z)
    R = np.r_[np.cumsum(falls[::-1])[::-1], 0.0]
    D = G - R
    # neurons that look left see G - G_0 + R_0 - R
    return max(_both_ends(curve, D), _both_ends(curve, D - D[0]))


def _both_ends(curve: Curve, D: Array) -> float:
    """The largest |D|/k on the whole line, D constant outside of the values."""
    outside = [(D[0], min(0.0, curve.z[0])), (D[-1], max(0.0, curve.z[-1]))]
    best = max(abs(float(value)) / curve.price_at(float(t)) for value, t in outside)
    inside = bends_between(curve, D)[0] if curve.z.size > 1 else np.zeros(1)
    return max(best, float(inside.max()))

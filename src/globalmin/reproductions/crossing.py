r"""Where a share of successes crosses one half: a logistic curve by penalized likelihood, with a
confidence interval.

$p(x) = 1/(1 + e^{-s(x - c)})$, c the crossing. The likelihood is that of the counts, times
Jeffreys' prior (the root of the determinant of the information): without it the slope is infinite
whenever the counts jump from none to all between two points. The interval holds every crossing
whose profile likelihood is within $\chi^2_1(0.95)/2 = 1.92$ of the best.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from globalmin._types import Array, ArrayLike
from globalmin.errors import DataError

DROP = 1.9207  # half of the 95 % quantile of chi-square with one degree of freedom
# of the grid, which is laid twice: over everything, then over the interval found
CENTERS, SLOPES = 301, 81


@dataclass(frozen=True)
class Crossing:
    """A fitted curve: its crossing of one half, the 95 % interval, and its slope there (in logits
    per unit of x).

    A crossing outside the range of the points is not to be trusted; the interval then ends at the
    edge of the search, half a range beyond the points.
    """

    center: float
    low: float
    high: float
    slope: float

    def curve(self, x: Array) -> Array:
        """The fitted share at x."""
        return 1.0 / (1.0 + np.exp(-np.clip(self.slope * (x - self.center), -700.0, 700.0)))


def logistic_crossing(x: ArrayLike, successes: ArrayLike, trials: ArrayLike) -> Crossing:
    """Fit the curve to `successes` of `trials` at the points x; the share must grow with x.

    Raises
    ------
    DataError
        If there are fewer than two different points, or counts that are no counts.
    """
    points, hits, n = (np.asarray(value, dtype=np.float64) for value in (x, successes, trials))
    n = np.broadcast_to(n, hits.shape)
    if points.shape != hits.shape or np.unique(points).size < 2:
        raise DataError(
            f"x={x!r} and successes={successes!r} must be two lists of one length, with two "
            "different x at least"
        )
    if (hits < 0).any() or (hits > n).any():
        raise DataError(f"successes={successes!r} must lie between 0 and trials={trials!r}")
    points, group = np.unique(points, return_inverse=True)
    hits, n = (np.bincount(group, weights=value).astype(np.float64) for value in (hits, n))
    half = float(np.ptp(points)) / 2
    coarse = _on_grid(points, hits, n, (points[0] - half, points[-1] + half))
    step = 4 * half / (CENTERS - 1)
    return _on_grid(
        points,
        hits,
        n,
        (max(coarse.low - step, points[0] - half), min(coarse.high + step, points[-1] + half)),
    )


def most_failures(ours: int, others: int, *, level: float = 0.05) -> int:
    """The most failures in `ours` runs that Fisher's exact test (one-sided) cannot tell from none
    in `others` runs.

    Given x failures in all, they fall into ours alone with probability C(ours, x)/C(ours + others,
    x).
    """
    failures, probability = 0, 1.0
    while failures < ours:
        probability *= (ours - failures) / (ours + others - failures)
        if probability < level:
            break
        failures += 1
    return failures


def _on_grid(points: Array, hits: Array, n: Array, edges: tuple[float, float]) -> Crossing:
    """The best of a grid of centers between the edges and of slopes, with the interval of the
    profile likelihood.
    """
    centers, span = np.linspace(*edges, CENTERS), float(np.ptp(points))
    slopes = np.geomspace(0.1 / span, 400.0 / span, SLOPES)
    height = _penalized(points, hits, n, centers[:, None], slopes[None, :])
    profile = height.max(axis=1)
    best = int(np.argmax(profile))
    inside = centers[profile >= profile[best] - DROP]
    return Crossing(
        float(centers[best]),
        float(inside[0]),
        float(inside[-1]),
        float(slopes[int(np.argmax(height[best]))]),
    )


def _penalized(x: Array, hits: Array, n: Array, center: Array, slope: Array) -> Array:
    """Logarithm of likelihood times Jeffreys' prior on a grid of centers and slopes.

    The prior is that of intercept and slope, the usual parameters of the logistic curve.
    """
    shape = np.broadcast_shapes(center.shape, slope.shape)
    total, information = np.zeros(shape), np.zeros((3, *shape))
    for point, count, size in zip(x, hits, n, strict=True):
        logit = slope * (point - center)
        growth, decay = np.logaddexp(0.0, logit), np.logaddexp(0.0, -logit)
        total -= count * decay + (size - count) * growth
        weight = size * np.exp(-growth - decay)
        information += weight * np.array([1.0, point, point**2]).reshape(3, 1, 1)
    determinant = information[0] * information[2] - information[1] ** 2
    return total + 0.5 * np.log(np.maximum(determinant, 1e-300))

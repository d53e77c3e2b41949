r"""The constants $\gamma(\varphi)$, $L(\varphi)$, $\beta$, $L_{cross}(\varphi)$ of a patch law:
closed forms and estimates.

DU-D6.1, DU-D6.2: $\gamma(\varphi)$ is the least eigenvalue of $E[Z_{++}Z_{++}^T]$ over filters at
angle $\varphi$ from w*, $L(\varphi)$ the largest, $\lVert E[Z_{+-}Z_{+-}^T]\rVert \le
\beta\varphi$, and $L_{cross}(\varphi)\varphi = c(\varphi)$ is the largest sum of the norms of the
three cross moments over filters at angles *up to* $\varphi$ (Assumption 6.3). So c does not fall
with the angle, but $c/\varphi$ may grow towards 0, and samples show nothing at angles between which
no patch lies: $L_{cross}$ is known down to the smallest angle that was measured.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from globalmin._types import Array, ArrayLike
from globalmin.errors import DataError
from globalmin.patches.model import Regions, as_patches, regions
from globalmin.references import states

LEVEL = 0.95


class FilterConstants(Protocol):
    r"""What the rate theorems need to know about the inputs; L and gamma do not grow with the
    angle, $\varphi L_{cross}(\varphi)$ does not fall.
    """

    @property
    def smallest_angle(self) -> float:
        """Angle down to which the constants are known; 0 for a closed form."""
        ...

    @property
    def beta(self) -> float:
        """Growth of the moment over the region (+-)."""
        ...

    def gamma(self, phi: float) -> float:
        """Least eigenvalue at an angle."""
        ...

    def largest(self, phi: float) -> float:
        """Largest eigenvalue at an angle."""
        ...

    def cross(self, phi: float) -> float:
        """L_cross at an angle; 0 for one neuron."""
        ...


@states("DU-D6.1", "DU-T6.7", "DU-T6.8")
@dataclass(frozen=True)
class RotationInvariantConstants:
    r"""Closed forms for one neuron with rotation-invariant inputs, $m = E\lVert z\rVert^2/p$ =
    `second_moment`, p >= 2.

    $\gamma = m(\pi-\varphi-\sin\varphi)/2\pi$, $L = m(\pi-\varphi+\sin\varphi)/2\pi$, $\beta =
    m/\pi$.
    """

    second_moment: float

    @property
    def smallest_angle(self) -> float:
        """Zero: known everywhere."""
        return 0.0

    @property
    def beta(self) -> float:
        r"""$m/\pi$, the limit of $(\varphi+\sin\varphi)/(2\pi\varphi)$ at zero."""
        return self.second_moment / math.pi

    def gamma(self, phi: float) -> float:
        r"""$m(\pi-\varphi-\sin\varphi)/2\pi$."""
        return self.second_moment * (math.pi - phi - math.sin(phi)) / (2.0 * math.pi)

    def largest(self, phi: float) -> float:
        r"""$m(\pi-\varphi+\sin\varphi)/2\pi$."""
        return self.second_moment * (math.pi - phi + math.sin(phi)) / (2.0 * math.pi)

    def cross(self, phi: float) -> float:
        """Zero: one neuron has disjoint regions."""
        return 0.0 * phi


@dataclass(frozen=True)
class Interval:
    """An estimate with the ends of its confidence interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class EstimatedConstants:
    r"""Constants measured on patches, at a grid of angles and finitely many directions around w*;
    estimates, not bounds.

    Attributes
    ----------
    angles : the grid, ascending, from 0. gammas, largests, owns, crosses : arrays angles x 3
        (value, low, high); `owns` is the norm of the (+-) moment, `crosses` the sum of the three
        cross norms divided by the angle, NaN at 0. beta_interval : of the maximum over the grid of
        `owns`/angle.
    n_directions, n_bootstrap, level : how they were found. The interval is the percentile bootstrap
        over samples at these directions; it knows nothing about directions that were not tried, so
        the true gamma is smaller and the others larger.
    """

    angles: Array
    gammas: Array
    largests: Array
    owns: Array
    crosses: Array
    beta_interval: Interval
    n_directions: int
    n_bootstrap: int
    level: float = LEVEL

    @property
    def smallest_angle(self) -> float:
        """The smallest positive angle of the grid: nothing was measured below it."""
        return float(self.angles[1])

    @property
    def beta(self) -> float:
        """The estimate of beta."""
        return self.beta_interval.value

    def gamma(self, phi: float) -> float:
        """Value at the next grid angle from above, because gamma does not grow; 0 beyond the
        grid.
        """
        i = int(np.searchsorted(self.angles, phi - 1e-12))
        return float(self.gammas[i, 0]) if i < len(self.angles) else 0.0

    def largest(self, phi: float) -> float:
        """Value at the next grid angle from below, because L does not grow."""
        return float(self.largests[max(int(np.searchsorted(self.angles, phi + 1e-12)) - 1, 0), 0])

    def cross_norm(self, phi: float) -> float:
        r"""$c(\varphi)$: the largest sum of cross norms up to the next grid angle from above.

        Infinite where nothing was measured, beyond the grid and below its smallest positive angle,
        unless all sums are 0, as for equal patches.
        """
        sums = self.crosses[1:, 0] * self.angles[1:]
        i = int(np.searchsorted(self.angles, phi * (1.0 - 1e-12)))
        if i < len(self.angles) and phi >= self.smallest_angle * (1.0 - 1e-12):
            return float(np.max(sums[:i]))
        return math.inf if i >= len(self.angles) or np.any(sums > 0.0) else 0.0

    def cross(self, phi: float) -> float:
        r"""$L_{cross}(\varphi) = c(\varphi)/\varphi$."""
        norm = self.cross_norm(phi)
        return norm / phi if phi > 0.0 else norm


WEDGE = 50  # patches between two hyperplanes at the smallest angle of the default grid, if round
COARSEST = math.pi / 16.0  # its smallest positive angle at most
STEPS = 32  # geometric ones from the smallest angle to pi/2


def angle_grid(n_patches: int) -> Array:
    r"""Angles from 0 to $\pi/2$ for this many patches: geometric towards 0, as far down as about 50
    patches of a round law lie between the two hyperplanes, where a moment is still a mean of many.
    """
    smallest = min(2.0 * math.pi * WEDGE / n_patches, COARSEST)
    return np.concatenate([[0.0], np.geomspace(smallest, math.pi / 2.0, STEPS + 1)])


@states("DU-D6.1", "DU-D6.2")
def estimate_constants(
    Z: ArrayLike,
    w_star: ArrayLike,
    *,
    angles: ArrayLike | None = None,
    n_directions: int = 20,
    n_bootstrap: int = 50,
    level: float = LEVEL,
    seed: int = 0,
) -> EstimatedConstants:
    """Measure the constants on patches n x k x p around a teacher (or a fitted filter).

    Parameters
    ----------
    angles : ascending, in [0, pi/2], the first one 0; default `angle_grid`, geometric towards 0.
    n_directions : filters per angle; in dimension 2 both of them, whatever is asked.
    n_bootstrap : resamples for the intervals; 0 makes them NaN.
    """
    Z, w_star = as_patches(Z, w_star)
    grid = (
        angle_grid(Z.shape[0] * Z.shape[1])
        if angles is None
        else np.asarray(angles, dtype=np.float64)
    )
    _check(grid, w_star, n_directions, n_bootstrap, level)
    rng = np.random.default_rng(seed)
    across = _directions(w_star, n_directions, rng)
    weights = [
        None,
        *rng.multinomial(len(Z), np.full(len(Z), 1.0 / len(Z)), size=n_bootstrap).astype(
            np.float64
        ),
    ]
    table = np.array([_at_angle(Z, w_star, across, phi, weights) for phi in grid])
    slopes = np.max(table[1:, 2] / grid[1:, None], axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        crosses = np.where(grid[:, None] > 0.0, table[:, 3] / grid[:, None], np.nan)
    return EstimatedConstants(
        angles=grid,
        gammas=_with_ends(table[:, 0], level),
        largests=_with_ends(table[:, 1], level),
        owns=_with_ends(table[:, 2], level),
        crosses=_with_ends(crosses, level),
        beta_interval=Interval(*(float(x) for x in _with_ends(slopes[None, :], level)[0])),
        n_directions=len(across),
        n_bootstrap=n_bootstrap,
        level=level,
    )


def _directions(w_star: Array, count: int, rng: np.random.Generator) -> Array:
    """Unit vectors across w*; none of them in dimension 1, where a filter can only keep or lose its
    sign.
    """
    if w_star.size == 1:
        return np.zeros((1, 1))
    unit = w_star / np.linalg.norm(w_star)
    if w_star.size == 2:
        return np.array([[-unit[1], unit[0]], [unit[1], -unit[0]]])
    basis = np.linalg.qr(unit[:, None], mode="complete")[0][:, 1:]  # a draw may lie along w*
    across = rng.standard_normal((count, w_star.size - 1)) @ basis.T
    return across / np.linalg.norm(across, axis=1, keepdims=True)


def _at_angle(
    Z: Array, w_star: Array, across: Array, phi: float, weights: list[Array | None]
) -> Array:
    """Rows gamma, L, norm of the (+-) moment, sum of the cross norms; one column per set of
    weights.
    """
    unit, found = w_star / np.linalg.norm(w_star), []
    for u in across if phi > 0.0 else across[:1]:
        R = regions(Z, math.cos(phi) * unit + math.sin(phi) * u, w_star)
        found.append([_measures(R, each) for each in weights])
    values = np.array(found)
    return np.array([values[..., 0].min(axis=0), *(values[..., j].max(axis=0) for j in (1, 2, 3))])


def _measures(R: Regions, weights: Array | None) -> tuple[float, float, float, float]:
    spectrum = np.linalg.eigvalsh(R.moment(R.both, R.both, weights))
    own = float(np.linalg.eigvalsh(R.moment(R.own, R.own, weights))[-1])
    pairs = ((R.both, R.own), (R.both, R.other), (R.own, R.other))
    norms = (
        np.linalg.norm(R.moment(a, b, weights), 2) if np.any(a) and np.any(b) else 0.0
        for a, b in pairs
    )
    return max(float(spectrum[0]), 0.0), float(spectrum[-1]), max(own, 0.0), float(sum(norms))


def _with_ends(table: Array, level: float) -> Array:
    """Value and percentile interval of every row; the first column is the value, the others are
    resamples.
    """
    if table.shape[1] == 1:
        return np.column_stack([table[:, 0], np.full((len(table), 2), np.nan)])
    tail = (1.0 - level) / 2.0
    return np.column_stack([table[:, 0], np.quantile(table[:, 1:], [tail, 1.0 - tail], axis=1).T])


def _check(grid: Array, w_star: Array, n_directions: int, n_bootstrap: int, level: float) -> None:
    if not np.any(w_star):
        raise DataError(
            "w_star is zero: angles to it are not defined; give a teacher that is not zero"
        )
    if (
        grid.ndim != 1
        or grid.size < 2
        or grid[0] != 0.0
        or grid[-1] > math.pi / 2.0 + 1e-12
        or np.any(np.diff(grid) <= 0.0)
    ):
        raise DataError("angles must ascend from 0 to at most pi/2, at least two of them")
    if n_directions < 1 or n_bootstrap < 0 or not 0.0 < level < 1.0:
        raise DataError(
            f"n_directions={n_directions}, n_bootstrap={n_bootstrap}, level={level}: at least 1, "
            "at least 0, in (0, 1)"
        )

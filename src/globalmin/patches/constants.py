r"""The constants $\gamma(\varphi)$, $L(\varphi)$, $\beta$, $L_{cross}(\varphi)$ of a patch law:
closed forms and estimates; and close patches, which make a filter easy to learn: DU-T6.5, corrected
(both bounds are false as printed).

DU-D6.1, DU-D6.2: $\gamma(\varphi)$ is the least eigenvalue of $E[Z_{++}Z_{++}^T]$ over filters at
angle $\varphi$ from w*, $L(\varphi)$ the largest, $\lVert E[Z_{+-}Z_{+-}^T]\rVert \le
\beta\varphi$, and $L_{cross}(\varphi)\varphi$ bounds the sum of the norms of the cross moments.
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
    """What the rate theorems need to know about the inputs; L and gamma do not grow with the
    angle.
    """

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
    angles : the grid, ascending, from 0. gammas, largests, crosses : arrays angles x 3 (value, low,
        high); `crosses` is the sum of the three norms divided by the angle, NaN at 0. beta_interval
        : of the maximum over the grid of norm/angle.
    n_directions, n_bootstrap, level : how they were found. The interval is the percentile bootstrap
        over samples at these directions; it knows nothing about directions that were not tried, so
        the true gamma is smaller and the others larger.
    """

    angles: Array
    gammas: Array
    largests: Array
    crosses: Array
    beta_interval: Interval
    n_directions: int
    n_bootstrap: int
    level: float = LEVEL

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

    def cross(self, phi: float) -> float:
        """The larger value of the two neighboring positive grid angles."""
        i = int(np.clip(np.searchsorted(self.angles, phi), 1, len(self.angles) - 1))
        return float(np.max(self.crosses[max(i - 1, 1) : i + 1, 0]))


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
    angles : ascending, in [0, pi/2], the first one 0; default 9 of them.
    n_directions : filters per angle; in dimension 2 both of them, whatever is asked.
    n_bootstrap : resamples for the intervals; 0 makes them NaN.
    """
    Z, w_star = as_patches(Z, w_star)
    grid = (
        np.linspace(0.0, math.pi / 2.0, 9)
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
    across = rng.standard_normal((count, w_star.size))
    across -= np.outer(across @ unit, unit)
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


@dataclass(frozen=True)
class Closeness:
    r"""Closeness of the patches of the samples given, and the corrected bounds.

    Attributes
    ----------
    rho : largest angle between a patch and the mean patch of its sample. unit_norm : whether all
        patches have length 1.
    mu_star, mu : mass within angle $\varphi \le 2\rho$ of the hyperplane of w* and of w, divided by
        $\varphi$ (largest ratio).
    gamma_average : least eigenvalue of the second moment of the mean patch over samples where it is
        on the positive side of both.
    gamma_lower : `gamma_average` minus twice the largest mass of a patch within $\rho$ of either
        hyperplane.
    cross_upper : $3\max(\mu^*, \mu)$.
    """

    rho: float
    unit_norm: bool
    mu_star: float
    mu: float
    gamma_average: float
    gamma_lower: float
    cross_upper: float


@states("DU-T6.5")
def closeness(Z: ArrayLike, w: ArrayLike, w_star: ArrayLike) -> Closeness:
    r"""The quantities of DU-T6.5 for the empirical law of the samples; measure $\gamma$ and
    $L_{cross}$ directly where you can.

    $\gamma \ge \gamma_{avg} - 2\max_iP[Z_i$ within $\rho$ of a hyperplane$]$ holds for the samples
    themselves if no patch is longer than 1 (the average patch is not normalized). The density bound
    is over the angles seen in the samples.
    """
    Z, w = as_patches(Z, w)
    Z, w_star = as_patches(Z, w_star)
    lengths = np.linalg.norm(Z, axis=2)
    if not np.all(lengths > 0.0) or not np.any(w) or not np.any(w_star):
        raise DataError(
            "closeness needs patches and filters that are not zero; drop the zero patches, or "
            "scale the others"
        )
    mean = Z.mean(axis=1)
    rho = float(np.max(_angles(Z, mean[:, None, :])))
    near = [
        np.abs(np.arcsin(np.clip(Z @ u / (lengths * np.linalg.norm(u)), -1.0, 1.0)))
        for u in (w_star, w)
    ]
    mass = float(np.max(np.mean((near[0] <= rho) | (near[1] <= rho), axis=0)))
    both = mean[(mean @ w >= 0.0) & (mean @ w_star >= 0.0)]
    average = float(np.linalg.eigvalsh(both.T @ both / len(Z))[0]) if len(both) else 0.0
    mu_star, mu = (_density(x, 2.0 * rho) for x in near)
    unit = bool(np.allclose(lengths, 1.0, atol=1e-9))
    return Closeness(
        rho, unit, mu_star, mu, max(average, 0.0), average - 2.0 * mass, 3.0 * max(mu_star, mu)
    )


def _angles(A: Array, B: Array) -> Array:
    A = A / np.linalg.norm(A, axis=-1, keepdims=True)
    length = np.linalg.norm(B, axis=-1, keepdims=True)
    B = np.divide(B, length, out=np.zeros_like(B), where=length > 0.0)
    return 2.0 * np.arctan2(np.linalg.norm(A - B, axis=-1), np.linalg.norm(A + B, axis=-1))


def _density(near: Array, limit: float) -> float:
    """Largest mass per angle over angles up to the limit, for the patch position where it is
    largest.
    """
    worst = 0.0
    for column in near.T:
        seen = np.sort(column)
        inside = seen <= limit
        if inside.any():
            share = np.arange(1, inside.sum() + 1) / len(seen)
            worst = max(
                worst,
                float(
                    np.max(
                        np.divide(
                            share,
                            seen[inside],
                            out=np.full(len(share), math.inf),
                            where=seen[inside] > 0,
                        )
                    )
                ),
            )
    return worst

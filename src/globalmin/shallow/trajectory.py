"""What the training of a shallow network leaves behind."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from globalmin._types import Array, NDArray
from globalmin.optimize.follow import Iterate, Recorder
from globalmin.optimize.run import Run, Trajectory
from globalmin.shallow.network import ShallowNetwork
from globalmin.shallow.problem import Point, length

if TYPE_CHECKING:
    Counts = NDArray[np.int64]

EXACT_SPECTRUM = 128  # up to this n all eigenvalues are computed, which costs a millisecond
# up to this n the smallest one is estimated from a Cholesky factor, which costs a few training
# steps
SPECTRUM_LIMIT = 2_000
SIGMA = 5  # place of sigma_min in a row


@dataclass(frozen=True)
class ShallowTrajectory(Trajectory):
    """The recorded steps of a run, one entry per recorded step in every array.

    Attributes
    ----------
    iteration : number of the step; 0 is the start.
    loss : (1/2) sum of squares at the network's own activation (also during a homotopy).
    gradient_norm : norm of the gradient of the loss in the trained weights.
    distance : movement from the start, ||theta_t - theta_0||.
    path_length : length of the path so far; at least `distance`.
    sigma_min : smallest singular value of the Jacobian (an estimate in floats, accurate to about
        1e-8 ||J||; for n > 128 a value from above, a few per cent off) at the steps 0, 1, 2, 4, 8,
        ... that are recorded and at the last one, if n <= 2,000; NaN elsewhere, because a value
        costs a factorization.
    pattern_changes : number of pairs (neuron, sample) whose pre-activation w_l . x_i has another
        sign than at the start.
    """

    gradient_norm: Array
    distance: Array
    path_length: Array
    sigma_min: Array
    pattern_changes: Counts


@dataclass(frozen=True, eq=False, kw_only=True)
class ShallowRun(Run[ShallowNetwork]):
    """The result of training.

    Attributes
    ----------
    network : the best network seen.
    trajectory : the recorded steps of the start that gave `network`.
    n_iter : iterations of that start (for Levenberg-Marquardt: linear systems solved, rejected
        steps included).
    relative_residual : at `network`; ||f - y*||/||y|| with the best reachable labels y* (y itself
        unless the data conflict).
    floor : loss that no network of this kind can go below (positive for conflicting data; a float,
        not a proof).
    starts : how many initializations were tried.
    """

    trajectory: ShallowTrajectory
    relative_residual: float
    floor: float = 0.0
    starts: int = 1

    @property
    def width(self) -> int:
        """Number of hidden neurons."""
        return self.network.width

    def with_starts(self, starts: int) -> ShallowRun:
        """The same run, found after so many initializations."""
        return replace(self, starts=starts)


class ShallowRecorder(Recorder[Point]):
    """Collects the quantities that the theorems about shallow networks speak of."""

    def __init__(self, start: Point) -> None:
        super().__init__(ShallowTrajectory, self._row)
        self._start, self._signs = start, start.preactivations > 0
        self._here, self._path_length = start, 0.0

    def passed(self, iterate: Iterate[Point]) -> None:
        """Add to the length of the path."""
        point, travel = iterate.point, iterate.travel
        self._path_length += point.distance(self._here) if travel is None else travel
        self._here = point

    def _row(self, point: Point, iteration: int) -> tuple[float, ...]:
        wants_spectrum = iteration & (iteration - 1) == 0
        changes = int(np.count_nonzero((point.preactivations > 0) != self._signs))
        sigma = _smallest_singular_value(point) if wants_spectrum else np.nan
        slope, distance = length(point.gradient), point.distance(self._start)
        return slope, distance, self._path_length, sigma, changes

    def record(self, point: Point, iteration: int) -> None:
        """Append one entry."""
        super().record(point, iteration)
        self._last_point = point

    def close(self) -> Trajectory:
        """The trajectory so far, with the spectrum of the last entry."""
        if self.rows and np.isnan(self.rows[-1][SIGMA]):
            *others, changes = self.rows[-1]
            others[SIGMA] = _smallest_singular_value(self._last_point)
            self.rows[-1] = (*others, changes)
        return super().close()


def _smallest_singular_value(point: Point) -> float:
    n = len(point.residual)
    if n > SPECTRUM_LIMIT:
        return np.nan
    K = point.gram()
    if not np.isfinite(K).all():
        return np.nan
    smallest = float(np.linalg.eigvalsh(K)[0]) if n <= EXACT_SPECTRUM else _smallest_eigenvalue(K)
    return float(np.sqrt(max(smallest, 0.0)))


def _smallest_eigenvalue(K: Array) -> float:
    from scipy.linalg import LinAlgError, cholesky

    from globalmin.linalg.spectrum import smallest_eigenvalue_from_factor

    try:
        return smallest_eigenvalue_from_factor(cholesky(K, lower=True, check_finite=False))
    except LinAlgError:
        return 0.0

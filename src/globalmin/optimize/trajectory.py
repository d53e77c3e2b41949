"""What training leaves behind: how it ended, the path it took, and the network."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Self

import numpy as np

from globalmin._types import Array, NDArray
from globalmin.shallow.problem import length

if TYPE_CHECKING:
    from globalmin.shallow.network import ShallowNetwork
    from globalmin.shallow.problem import Point

    Counts = NDArray[np.int64]

EXACT_SPECTRUM = 128  # up to this n all eigenvalues are computed, which costs a millisecond
# up to this n the smallest one is estimated from a Cholesky factor, which costs a few training
# steps
SPECTRUM_LIMIT = 2_000


class SpokenStatus(StrEnum):
    """How a run ended: a string that carries its message in words."""

    message: str

    def __new__(cls, value: str, message: str) -> Self:
        """The value with its message."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.message = message
        return member


class Status(SpokenStatus):
    """How a training run ended; `message` says it in words."""

    CONVERGED = "converged", "the relative residual reached the tolerance or the rounding floor"
    PROVABLE = "provable", "the claim asked for can be expected to be provable at these weights"
    MAX_ITER = "max_iter", "the iteration limit was reached before the tolerance"
    STALLED = "stalled", "no further decrease was found although the tolerance is not reached"
    DIVERGED = "diverged", "the loss overflowed; the best network seen is kept"
    INTERRUPTED = "interrupted", "interrupted by the user; the best network seen is kept"

    @property
    def is_success(self) -> bool:
        """Whether the run reached what it was asked for."""
        return self in (Status.CONVERGED, Status.PROVABLE)


@dataclass(frozen=True)
class Trajectory:
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

    iteration: Counts
    loss: Array
    gradient_norm: Array
    distance: Array
    path_length: Array
    sigma_min: Array
    pattern_changes: Counts

    def __len__(self) -> int:
        return len(self.iteration)

    def columns(self) -> dict[str, NDArray]:
        """The arrays by name, ready for a table."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


@dataclass(frozen=True)
class Run:
    """The result of training.

    Attributes
    ----------
    network : the best network seen.
    status, message : how the run ended.
    trajectory : the recorded steps of the start that gave `network`.
    n_iter : iterations of that start (for Levenberg-Marquardt: linear systems solved, rejected
        steps included).
    method : name of the method.
    loss, relative_residual : at `network`; ||f - y*||/||y|| with the best reachable labels y* (y
        itself unless the data conflict).
    floor : loss that no network of this kind can go below (positive for conflicting data; a float,
        not a proof).
    starts : how many initializations were tried.
    """

    network: ShallowNetwork
    status: Status
    message: str
    trajectory: Trajectory
    n_iter: int
    method: str
    loss: float
    relative_residual: float
    floor: float = 0.0
    starts: int = 1

    @property
    def losses(self) -> Array:
        """Loss at the recorded steps."""
        return self.trajectory.loss

    @property
    def width(self) -> int:
        """Number of hidden neurons."""
        return self.network.width

    def with_starts(self, starts: int) -> Run:
        """The same run, found after so many initializations."""
        return replace(self, starts=starts)


class Recorder:
    """Collects a trajectory: every step at first, then thinned geometrically; a million steps leave
    two thousand entries.
    """

    def __init__(self, start: Point, *, dense: int = 200) -> None:
        self._start, self._signs, self._dense = start, start.preactivations > 0, dense
        self._rows: list[tuple[float, ...]] = []
        self._next = 0
        self._last_point = start

    def is_due(self, iteration: int) -> bool:
        """Whether this step is to be recorded."""
        return iteration >= self._next

    def record(self, point: Point, iteration: int, path_length: float) -> None:
        """Append one entry."""
        wants_spectrum = iteration & (iteration - 1) == 0
        changes = int(np.count_nonzero((point.preactivations > 0) != self._signs))
        self._rows.append(
            (
                iteration,
                point.loss,
                length(point.gradient),
                point.distance(self._start),
                path_length,
                _smallest_singular_value(point) if wants_spectrum else np.nan,
                changes,
            )
        )
        self._next = iteration + max(1, iteration // self._dense)
        self._last_point = point

    def close(self) -> Trajectory:
        """The trajectory so far, with the spectrum of the last entry."""
        table = np.array(self._rows, dtype=np.float64).reshape(-1, 7)
        iteration, loss, gradient, distance, path, sigma, changes = table.T.copy()
        if len(sigma) and np.isnan(sigma[-1]):
            sigma[-1] = _smallest_singular_value(self._last_point)
        return Trajectory(
            iteration.astype(np.int64),
            loss,
            gradient,
            distance,
            path,
            sigma,
            changes.astype(np.int64),
        )


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

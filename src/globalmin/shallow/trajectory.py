"""What the training of a shallow network leaves behind."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from globalmin._options import UNTIL, Trained, Until, one_of
from globalmin._types import Array, NDArray
from globalmin.errors import DataError
from globalmin.optimize import follow as loop
from globalmin.optimize.follow import Iterate, Recorder, Watch
from globalmin.optimize.run import Run, Status, Trajectory
from globalmin.shallow.network import ShallowNetwork
from globalmin.shallow.problem import Point, length

if TYPE_CHECKING:
    Counts = NDArray[np.int64]


EXACT_SPECTRUM = 128  # up to this n all eigenvalues are computed, which costs a millisecond
# up to this n the smallest one is estimated from a Cholesky factor, which costs a few training
# steps
SPECTRUM_LIMIT = 2_000
POINTS = 5  # place of the points in a row


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
        costs a factorization. Computed when it is first asked for: training does not wait for it.
    pattern_changes : number of pairs (neuron, sample) whose pre-activation w_l . x_i has another
        sign than at the start.
    """

    gradient_norm: Array
    distance: Array
    path_length: Array
    points: Any = field(repr=False, compare=False)  # where sigma_min is wanted, else None
    pattern_changes: Counts

    @cached_property
    def sigma_min(self) -> Array:
        """See the class."""
        return np.array(
            [np.nan if point is None else _smallest_singular_value(point) for point in self.points],
            dtype=np.float64,
        )

    def columns(self) -> dict[str, NDArray]:
        """The arrays by name, ready for a table."""
        held = super().columns()
        return {
            "sigma_min" if name == "points" else name: self.sigma_min
            if name == "points"
            else column
            for name, column in held.items()
        }

    def __getstate__(self) -> dict[str, Any]:
        """A copy for another process carries the values, not the points with their data."""
        return vars(self) | {"sigma_min": self.sigma_min, "points": ()}


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
    step_size : of gradient descent, which with `start` and `n_iter` determines the run; None for
        other methods.
    """

    trajectory: ShallowTrajectory
    relative_residual: float
    floor: float = 0.0
    starts: int = 1
    step_size: float | None = None

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

    def _row(self, point: Point, iteration: int) -> tuple[Any, ...]:
        wants_spectrum = iteration & (iteration - 1) == 0
        changes = int(np.count_nonzero((point.preactivations > 0) != self._signs))
        slope, distance = length(point.gradient), point.distance(self._start)
        kept = _fresh(point) if wants_spectrum else None
        return slope, distance, self._path_length, kept, changes

    def record(self, point: Point, iteration: int) -> None:
        """Append one entry."""
        super().record(point, iteration)
        self._last_point = point

    def close(self) -> Trajectory:
        """The trajectory so far, with the last point."""
        if self.rows and self.rows[-1][POINTS] is None:
            *others, changes = self.rows[-1]
            others[POINTS] = _fresh(self._last_point)
            self.rows[-1] = (*others, changes)
        return super().close()


def _fresh(point: Point) -> Point:
    """The same weights without what was computed from them, which would be kept in memory."""
    return point.problem.at(point.W, point.v)


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


class Options(loop.Options, total=False):
    """Options that every method takes; see `globalmin.shallow.train`."""

    trained: Trained
    tol: float
    until: Until
    seed: int | np.random.Generator | None


class Target:
    """What a run is asked to reach: a relative residual, or weights at which a claim is provable.

    Attributes
    ----------
    stops_at_tol : whether the tolerance ends the run; a method that polishes ends by itself.
    """

    def __init__(
        self, network: ShallowNetwork, start: Point, options: Options, *, stops_at_tol: bool
    ) -> None:
        self._network, self._problem = network, start.problem
        self.tol, self._until = check_stopping(
            options.get("tol", 1e-13), options.get("until", "tolerance")
        )
        self.stops_at_tol = stops_at_tol
        # no theorem applies to a network that has not begun to fit
        self._checked_at = 0.2 * start.problem.scale

    def reached(self, point: Point, best: Point) -> Status | None:
        """Whether the run is over."""
        if self._until != "tolerance" and self._is_provable(point):
            return Status.PROVABLE
        fits = self.stops_at_tol and best.relative_residual <= self.tol
        return Status.CONVERGED if fits or best.norm == 0.0 else None

    def ending(self, best: Point, otherwise: Status) -> Status:
        """CONVERGED if the tolerance is met, or missed only by rounding, whatever ended the run."""
        return Status.CONVERGED if best.is_fitted(self.tol) else otherwise

    def _is_provable(self, point: Point) -> bool:
        """Ask the theory, but only when the residual fell by a fifth since the last question: an
        answer costs a factorization.
        """
        problem = self._problem
        if point.norm > self._checked_at or problem.floor > 0:
            return False
        from globalmin.shallow.provability import LANDED, estimate_provability

        self._checked_at = 0.8 * point.norm
        claim = "interpolation" if self._until == "provable" else "descent"
        network = self._network.with_weights(W=point.W, v=point.v)
        found = estimate_provability(network, problem.X, problem.y, problem.trained, claim=claim)
        return found < (LANDED if self._until == "proved" else 1.0)


def shallow_watch(
    network: ShallowNetwork,
    start: Point,
    options: Options,
    *,
    method: str,
    default_max_iter: int,
    stops_at_tol: bool = True,
) -> Watch[Point, ShallowNetwork]:
    """A watch over the training of one network."""
    target = Target(network, start, options, stops_at_tol=stops_at_tol)
    return Watch(
        start,
        lambda point: network.with_weights(W=point.W, v=point.v),
        ShallowRecorder(start),
        options,
        method=method,
        default_max_iter=default_max_iter,
        reached=target.reached,
        ending=target.ending,
    )


def follow(watch: Watch[Point, ShallowNetwork], iterates: Iterator[Iterate[Point]]) -> ShallowRun:
    """Pull iterates until the watch or the method says that it is over.

    The watch sees the weights in the problem that was posed; a method may work on a smoothed or
    reduced one.
    """
    posed = watch.start.problem
    seen = (
        iterate
        if iterate.point.problem is posed
        else iterate._replace(point=posed.at(iterate.point.W, iterate.point.v))
        for iterate in iterates
    )
    return shallow_run(watch, loop.follow(watch, seen))


def shallow_run(watch: Watch[Point, ShallowNetwork], run: Run[ShallowNetwork]) -> ShallowRun:
    """A run with what the watch knows of its best point."""
    best = watch.chosen
    return ShallowRun.of(run, relative_residual=best.relative_residual, floor=best.problem.floor)


def check_stopping(tol: float, until: Until) -> tuple[float, str]:
    """Refuse stopping rules without meaning."""
    if not tol >= 0:
        raise DataError(f"tol={tol!r} must be a number >= 0 (relative residual ||f - y||/||y||)")
    one_of("until", until, UNTIL)
    return float(tol), until

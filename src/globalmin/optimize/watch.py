"""The part of a training run that is the same for every method: recording, stopping, interrupts,
progress, the best network.

A method is a generator of iterates and contains only mathematics; `follow` pulls its iterates
through a `Watch`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypedDict

import numpy as np

from globalmin.errors import DataError, NotConverged
from globalmin.optimize.progress import Progress
from globalmin.optimize.trajectory import Recorder, Run, Status

if TYPE_CHECKING:
    from globalmin.shallow.network import ShallowNetwork
    from globalmin.shallow.problem import Point

UNTIL = ("tolerance", "provable", "descent")


class Iterate(NamedTuple):
    """One step of a method: the new point, how many iterations it stands for, and how far it
    travelled (None: straight).
    """

    point: Point
    steps: int = 1
    travel: float | None = None


@dataclass(frozen=True)
class Step:
    """What a monitor sees: `monitor(step)` is called at every recorded step; raise
    KeyboardInterrupt in it to stop.
    """

    iteration: int
    loss: float
    relative_residual: float
    network: Callable[[], ShallowNetwork]


class Options(TypedDict, total=False):
    """Options that every method takes; see `globalmin.training.train`."""

    trained: str
    max_iter: int | None
    tol: float
    until: str
    seed: int | np.random.Generator | None
    verbose: bool
    throw: bool
    monitor: Callable[[Step], object] | None


class Watch:
    """Follows one run: sees every iterate, says when to stop, and makes the `Run`."""

    def __init__(
        self,
        network: ShallowNetwork,
        start: Point,
        options: Options,
        *,
        method: str,
        default_max_iter: int,
        stops_at_tol: bool = True,
    ) -> None:
        self.network, self.method, self.max_iter = (
            network,
            method,
            iteration_limit(options, default_max_iter),
        )
        self.tol, self.until = check_stopping(
            options.get("tol", 1e-13), options.get("until", "tolerance")
        )
        self.stops_at_tol = stops_at_tol
        self.monitor, self.throw = options.get("monitor"), bool(options.get("throw", False))
        self.iteration, self.path_length = 0, 0.0
        self.start = self.point = self.best = start
        self._recorder = Recorder(start)
        self._progress = Progress(
            method, self.max_iter, visible=bool(options.get("verbose", False))
        )
        self._checked_at = (
            0.2 * start.problem.scale
        )  # no theorem applies to a network that has not begun to fit

    def see(self, iterate: Iterate) -> Status | None:
        """Take in one iterate; the status if the run is over."""
        point = self._at_target(iterate.point)
        self.iteration += iterate.steps
        if not np.isfinite(point.norm):
            return Status.DIVERGED
        if point is not self.point:
            self.path_length += (
                point.distance(self.point) if iterate.travel is None else iterate.travel
            )
            self.point = point
            self.best = point if point.norm < self.best.norm else self.best
        status = self._status()
        if status is not None or self._recorder.is_due(self.iteration):
            self._show(point)
        return status

    def _at_target(self, point: Point) -> Point:
        """The same weights in the problem that was posed (a method may work on a smoothed or
        reduced one).
        """
        return (
            point
            if point.problem is self.start.problem
            else self.start.problem.at(point.W, point.v)
        )

    def _status(self) -> Status | None:
        if self.until != "tolerance" and self._is_provable():
            return Status.PROVABLE
        if self.best.norm == 0.0 or (self.stops_at_tol and self.best.relative_residual <= self.tol):
            return Status.CONVERGED
        if self.iteration >= self.max_iter:
            return self.status_at_end(Status.MAX_ITER)
        return None

    def _is_provable(self) -> bool:
        """Ask the theory, but only when the residual fell by a fifth since the last question: an
        answer costs a factorization.
        """
        if self.point.norm > self._checked_at or self.start.problem.floor > 0:
            return False
        from globalmin.shallow.provability import estimate_provability

        self._checked_at = 0.8 * self.point.norm
        claim = "descent" if self.until == "descent" else "interpolation"
        problem = self.start.problem
        if (
            estimate_provability(
                self._network_at(self.point), problem.X, problem.y, problem.trained, claim=claim
            )
            >= 1.0
        ):
            return False
        self.best = self.point
        return True

    def _show(self, point: Point) -> None:
        self._recorder.record(point, self.iteration, self.path_length)
        self._progress.update(self.iteration, point.relative_residual)
        if self.monitor is not None:
            self.monitor(
                Step(
                    self.iteration,
                    point.loss,
                    point.relative_residual,
                    lambda: self._network_at(point),
                )
            )

    def status_at_end(self, otherwise: Status) -> Status:
        """CONVERGED if the tolerance is met, or missed only by rounding, whatever ended the run."""
        return Status.CONVERGED if self.best.is_fitted(self.tol) else otherwise

    def run(self, body: Callable[[Watch], Status]) -> Run:
        """Run `body`, which feeds `see`, and return the result; Ctrl-C keeps the best network."""
        with np.errstate(over="ignore", invalid="ignore"), self._progress:
            try:
                status = self.see(Iterate(self.start, 0)) or body(self)
            except KeyboardInterrupt:
                status = Status.INTERRUPTED
            result = self._result(status)
        if self.throw and not status.is_success:
            raise NotConverged(
                f"{result.message}; try another seed, a wider network or a larger max_iter"
            )
        return result

    def _result(self, status: Status) -> Run:
        best = self.best
        message = (
            f"{self.method}: {status.message} (relative residual {best.relative_residual:.2e} "
            f"after {self.iteration} iterations)"
        )
        return Run(
            network=self._network_at(best),
            status=status,
            message=message,
            trajectory=self._recorder.close(),
            n_iter=self.iteration,
            method=self.method,
            loss=best.loss,
            relative_residual=best.relative_residual,
            floor=best.problem.floor,
        )

    def _network_at(self, point: Point) -> ShallowNetwork:
        return self.network.with_weights(W=point.W, v=point.v)


def follow(watch: Watch, iterates: Iterator[Iterate]) -> Run:
    """Pull iterates until the watch or the method says that it is over."""

    def body(watch: Watch) -> Status:
        for iterate in iterates:
            status = watch.see(iterate)
            if status is not None:
                return status
        return watch.status_at_end(Status.STALLED)

    return watch.run(body)


def iteration_limit(options: Options, default: int) -> int:
    """The iteration limit the caller gave, or the method's own."""
    max_iter = options.get("max_iter")
    if max_iter is None:
        return default
    if isinstance(max_iter, bool) or int(max_iter) != max_iter or max_iter < 0:
        raise DataError(
            f"max_iter={max_iter!r} must be a whole number >= 0, or None for the method's own limit"
        )
    return int(max_iter)


def check_stopping(tol: float, until: str) -> tuple[float, str]:
    """Refuse stopping rules without meaning."""
    if not tol >= 0:
        raise DataError(f"tol={tol!r} must be a number >= 0 (relative residual ||f - y||/||y||)")
    if until not in UNTIL:
        raise DataError(f"until={until!r} is unknown; give one of {', '.join(UNTIL)}")
    return float(tol), until

"""How the training of a shallow network is followed: when it is over, and what it leaves behind."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from globalmin.errors import DataError
from globalmin.optimize import follow as loop
from globalmin.optimize.follow import Iterate, Watch
from globalmin.optimize.run import Run, Status
from globalmin.shallow.network import ShallowNetwork
from globalmin.shallow.problem import Point
from globalmin.shallow.trajectory import ShallowRecorder, ShallowRun

UNTIL = ("tolerance", "provable", "descent")


class Options(loop.Options, total=False):
    """Options that every method takes; see `globalmin.shallow.train`."""

    trained: str
    tol: float
    until: str
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
        from globalmin.shallow.provability import estimate_provability

        self._checked_at = 0.8 * point.norm
        claim = "descent" if self._until == "descent" else "interpolation"
        network = self._network.with_weights(W=point.W, v=point.v)
        found = estimate_provability(network, problem.X, problem.y, problem.trained, claim=claim)
        return found < 1.0


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


def check_stopping(tol: float, until: str) -> tuple[float, str]:
    """Refuse stopping rules without meaning."""
    if not tol >= 0:
        raise DataError(f"tol={tol!r} must be a number >= 0 (relative residual ||f - y||/||y||)")
    if until not in UNTIL:
        raise DataError(f"until={until!r} is unknown; give one of {', '.join(UNTIL)}")
    return float(tol), until

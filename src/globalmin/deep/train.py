"""Training of deep networks, all layers and the head: gradient descent as in DU-T3.1 to T3.3, and
Levenberg-Marquardt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from globalmin.data.memory import gram_bytes, require_memory
from globalmin.deep.lipschitz import estimate_deep_descent
from globalmin.deep.methods import damped_steps, descent_steps
from globalmin.deep.problem import DeepPoint, pose_deep
from globalmin.deep.trajectory import DeepRecorder, DeepRun
from globalmin.errors import DataError
from globalmin.optimize.trajectory import Status
from globalmin.optimize.watch import iteration_limit
from globalmin.references import states
from globalmin.shallow.methods.gradient_descent import check_step

if TYPE_CHECKING:
    from globalmin.deep.network import DeepNetwork

MAX_ITER = {"gradient_descent": 20_000, "levenberg_marquardt": 200}
ROUNDED_FIT = (
    1e-8  # a run that stops by itself below this relative residual has met the rounding floor
)
UNTIL = ("tolerance", "descent")


@states("DU-T3.1", "DU-T3.2", "DU-T3.3")
def train_deep(
    network: DeepNetwork,
    data: Any,
    *,
    method: str = "levenberg_marquardt",
    step_size: float | None = None,
    max_iter: int | None = None,
    tol: float = 1e-12,
    until: str = "tolerance",
    monitor: Callable[[int, DeepPoint], object] | None = None,
) -> DeepRun:
    """Train all layers on L = (1/2) sum of r_i^2.

    Parameters
    ----------
    network : DeepNetwork
        The start.
    data : Any
        A pair (X, y), or anything with X and y such as a Dataset; X has one input per row, of the
        network's input shape.
    method : str
        "gradient_descent", the method of the theorems, or "levenberg_marquardt", which reaches late
        iterates fast.
    step_size : float | None
        Eta of gradient descent; default 1/||J(theta_0)||^2, the limit of theorem DS's step as the
        radius shrinks.
    tol : float
        The run ends when ||r|| <= tol ||y||.
    until : str
        "tolerance", or "descent" to end as soon as theorem DS can be expected to hold
        (`estimate_deep_descent`).
    monitor : Callable[[int, DeepPoint], object] | None
        Called as monitor(iteration, point) at every recorded step; raise KeyboardInterrupt in it to
        stop.
    """
    if method not in MAX_ITER or until not in UNTIL or not tol >= 0:
        raise DataError(
            f"method={method!r}, until={until!r}, tol={tol!r}: choose a method of "
            f"{', '.join(MAX_ITER)}, until of {', '.join(UNTIL)}, and tol >= 0"
        )
    X, y = (data.X, data.y) if hasattr(data, "X") else data
    problem = pose_deep(network, X, y)
    n, pixels, _ = problem.inputs.shape
    require_memory(
        gram_bytes(n * pixels, copies=3) + gram_bytes(n, copies=network.depth + 4),
        f"training on n={n} inputs",
    )
    start = problem.at(network)
    eta = (
        (_largest_step(start) if step_size is None else check_step(step_size))
        if method == "gradient_descent"
        else np.nan
    )
    steps = descent_steps(start, eta) if method == "gradient_descent" else damped_steps(start)
    limit = iteration_limit({"max_iter": max_iter}, MAX_ITER[method])
    return _DeepWatch(start, method, until, tol, monitor=monitor).follow(steps, limit, eta)


def _largest_step(start: DeepPoint) -> float:
    largest = float(np.linalg.eigvalsh(start.gram)[-1])
    if not 0 < largest < np.inf:
        raise DataError(
            "the Jacobian is zero or not finite at these weights: no step moves the outputs; draw "
            "another network"
        )
    return 1.0 / largest


class _DeepWatch:
    """Records a run, says when it is over and keeps the best point."""

    def __init__(
        self,
        start: DeepPoint,
        method: str,
        until: str,
        tol: float,
        *,
        monitor: Callable[[int, DeepPoint], object] | None,
    ) -> None:
        self.best, self.last, self.iteration = start, start, 0
        self.method, self.until, self.tol, self.monitor = method, until, tol, monitor
        self._recorder = DeepRecorder(start)
        self._asked = np.inf

    def follow(self, steps: Iterator[DeepPoint | None], limit: int, eta: float) -> DeepRun:
        """Pull points until the run is over."""
        with np.errstate(over="ignore", invalid="ignore"):
            try:
                status = self._pull(steps, limit)
            except KeyboardInterrupt:
                status = Status.INTERRUPTED
            if not self._recorder.is_recorded(self.iteration):
                self._recorder.record(self.last, self.iteration)
        return self._run(status, eta)

    def _pull(self, steps: Iterator[DeepPoint | None], limit: int) -> Status:
        status = self._see(self.best)
        while status is None:
            if self.iteration >= limit:
                return self._at_end(Status.MAX_ITER)
            point = next(steps, self)
            if point is self:
                return self._at_end(Status.STALLED)
            if not isinstance(point, DeepPoint) or not np.isfinite(point.norm):
                return Status.DIVERGED
            self.iteration += 1
            status = self._see(point)
        return status

    def _see(self, point: DeepPoint) -> Status | None:
        self.last = point
        self.best = point if point.norm < self.best.norm else self.best
        if self._recorder.is_due(self.iteration):
            self._recorder.record(point, self.iteration)
            if self.monitor is not None:
                self.monitor(self.iteration, point)
        if self.until == "descent" and self._is_provable(point):
            self.best = point
            return Status.PROVABLE
        return Status.CONVERGED if point.relative_residual <= self.tol else None

    def _is_provable(self, point: DeepPoint) -> bool:
        """Ask theorem DS, but only when the residual fell by a fifth since the last question."""
        if point.norm > 0.8 * self._asked:
            return False
        self._asked = point.norm
        problem = point.problem
        return (
            problem.floor == 0.0
            and estimate_deep_descent(point.network, self._inputs(point), problem.y).holds
        )

    @staticmethod
    def _inputs(point: DeepPoint) -> np.ndarray:
        return point.problem.inputs.transpose(0, 2, 1).reshape(len(point.problem.inputs), -1)

    def _at_end(self, otherwise: Status) -> Status:
        rounded = otherwise is Status.STALLED and self.best.relative_residual <= ROUNDED_FIT
        return Status.CONVERGED if rounded else otherwise

    def _run(self, status: Status, eta: float) -> DeepRun:
        best = self.best
        message = (
            f"{self.method}: {status.message} (relative residual {best.relative_residual:.2e}, "
            f"{self.iteration} iterations)"
        )
        if best.problem.floor > 0:
            message += f"; equal or zero inputs keep the loss at or above {best.problem.floor:.3g}"
        return DeepRun(
            network=best.network,
            status=status,
            message=message,
            trajectory=self._recorder.close(eta),
            n_iter=self.iteration,
            method=self.method,
            loss=best.loss,
            relative_residual=best.relative_residual,
            floor=best.problem.floor,
        )

"""What the optimizers for general smooth functions share: how a run ended, what it leaves behind,
and the record of its steps.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from globalmin._types import Array
from globalmin.errors import DataError, NotConverged
from globalmin.optimize.progress import INTERVAL, Progress
from globalmin.optimize.second_order import SecondOrderEstimate, estimate_at
from globalmin.optimize.trajectory import SpokenStatus
from globalmin.optimize.watch import iteration_limit

if TYPE_CHECKING:
    from globalmin.optimize.objective import Objective


class Ending(SpokenStatus):
    """How the minimization of a general function ended; `message` says it in words."""

    SECOND_ORDER = (
        "second_order",
        "gradient and least eigenvalue of the Hessian are within the tolerances (estimated in "
        "floats)",
    )
    NO_DECREASE = (
        "no_decrease",
        "the loss did not fall by the threshold after a perturbation, the stopping rule of the "
        "method",
    )
    STOPPED = "stopped", "the caller's stop function asked for it"
    STALLED = "stalled", "no further decrease was found although the tolerances are not reached"
    MAX_ITER = "max_iter", "the iteration limit was reached"
    DIVERGED = "diverged", "the loss or its gradient is not finite; the point of least loss is kept"
    INTERRUPTED = "interrupted", "interrupted by the user; the point of least loss is kept"

    @property
    def is_success(self) -> bool:
        """Whether the run reached what it was asked for."""
        return self in (Ending.SECOND_ORDER, Ending.NO_DECREASE, Ending.STOPPED)


@dataclass(frozen=True, eq=False)
class Minimization:
    """The result of minimizing a general smooth function.

    Attributes
    ----------
    point : in the caller's own form: an array, a pytree of arrays, or a copy of the torch module.
    vector : the same point as one float64 vector (a module in single precision rounds it).
    loss : at the point.
    status, message : how the run ended.
    losses, gradient_norms : one entry per iteration, the start first; after a perturbation those of
        the perturbed point.
    perturbations : the iterations at which noise was added, or a step of negative curvature taken.
    n_iter : iterations.
    method : name of the method.
    estimate : the second-order test at the point, if the run made one.
    """

    point: Any
    vector: Array
    loss: float
    status: Ending
    message: str
    losses: Array
    gradient_norms: Array
    perturbations: tuple[int, ...]
    n_iter: int
    method: str
    estimate: SecondOrderEstimate | None = None


@dataclass(frozen=True)
class Tolerances:
    """Second-order test of a run: gradient at most `gradient`, least eigenvalue at least
    -`curvature`; gradient 0 means no test.
    """

    gradient: float
    curvature: float

    @classmethod
    def checked(cls, gradient: float, curvature: float | None) -> Tolerances:
        """Refuse tolerances without meaning; by default the curvature tolerance is the square root
        of the other (rho = 1).
        """
        if not 0.0 <= gradient < np.inf:
            raise DataError(
                f"gradient_tol={gradient!r} must be a number >= 0 (0: no second-order test)"
            )
        curvature = float(np.sqrt(gradient)) if curvature is None else float(curvature)
        if not 0.0 <= curvature < np.inf:
            raise DataError(f"curvature_tol={curvature!r} must be a number >= 0")
        return cls(float(gradient), curvature)


class LossProgress(Progress):
    """The progress line with loss and gradient instead of a relative residual."""

    def show(self, iteration: int, loss: float, gradient: float) -> None:
        """Redraw, at most ten times a second."""
        now = time.monotonic()
        if self._live is not None and now >= self._due:
            self._due = now + INTERVAL
            self._live.update(
                f"{self._title}: iteration {iteration} of at most {self._max_iter}, loss "
                f"{loss:.6g}, gradient {gradient:.2e}"
            )


class Tracker:
    """Follows one run: sees every iterate, says when to stop, and makes the `Minimization`."""

    def __init__(
        self,
        objective: Objective,
        tolerances: Tolerances,
        *,
        method: str,
        max_iter: int,
        stop: Callable[[Array], bool] | None,
        verbose: bool,
    ) -> None:
        self.objective, self.tolerances, self.method, self.stop = (
            objective,
            tolerances,
            method,
            stop,
        )
        self.max_iter = iteration_limit({"max_iter": max_iter}, max_iter)
        self.perturbations: list[int] = []
        self.estimate: SecondOrderEstimate | None = None
        self._losses: list[float] = []
        self._norms: list[float] = []
        self._best: tuple[float, Array] = (np.inf, objective.start)
        self._progress = LossProgress(method, self.max_iter, visible=verbose)

    @property
    def n_iter(self) -> int:
        """Iterations so far; 0 at the start."""
        return len(self._losses) - 1

    def see(self, x: Array, value: float, slope: Array) -> Ending | None:
        """Take in the next iterate; how the run ended, if it is over."""
        norm = float(np.linalg.norm(slope))
        self._losses.append(value)
        self._norms.append(norm)
        if not (np.isfinite(value) and np.isfinite(norm)):
            return Ending.DIVERGED
        if value < self._best[0]:
            self._best = (value, x)
        self._progress.show(self.n_iter, value, norm)
        if self.stop is not None and self.stop(x.copy()):
            return self.settle(x, value, Ending.STOPPED)
        return Ending.MAX_ITER if self.n_iter >= self.max_iter else None

    def amend(self, value: float, slope: Array) -> None:
        """The present iterate was perturbed: note the step, and the loss and gradient after it."""
        self.perturbations.append(self.n_iter)
        self._losses[-1], self._norms[-1] = value, float(np.linalg.norm(slope))

    def settle(self, x: Array, value: float, ending: Ending) -> Ending:
        """Make this point the result."""
        self._best = (value, x)
        return ending

    def is_second_order(self, x: Array, value: float, slope: Array) -> bool:
        """Whether the gradient is small and no eigenvalue of the Hessian is far below zero; if so
        the point is the result.
        """
        self.estimate = None
        if not 0.0 < self.tolerances.gradient >= float(np.linalg.norm(slope)):
            return False
        self.estimate = estimate_at(
            self.objective,
            x,
            slope,
            epsilon=self.tolerances.gradient,
            delta=self.tolerances.curvature,
        )
        if self.estimate.least_eigenvalue < -self.tolerances.curvature:
            return False
        self.settle(x, value, Ending.SECOND_ORDER)
        return True

    def run(self, body: Callable[[Tracker], Ending], *, throw: bool = False) -> Minimization:
        """Run `body`, which feeds `see`; Ctrl-C keeps the point of least loss."""
        with np.errstate(over="ignore", invalid="ignore"), self._progress:
            try:
                ending = body(self)
            except KeyboardInterrupt:
                ending = Ending.INTERRUPTED
        result = self._result(ending)
        if throw and not ending.is_success:
            raise NotConverged(
                f"{result.message}; try a larger max_iter, another step or looser tolerances"
            )
        return result

    def _result(self, ending: Ending) -> Minimization:
        value, x = self._best
        return Minimization(
            point=self.objective.restore(x),
            vector=x.copy(),
            loss=value,
            status=ending,
            message=f"{self.method}: {ending.message} (loss {value:.6g} after "
            f"{max(self.n_iter, 0)} iterations)",
            losses=np.array(self._losses),
            gradient_norms=np.array(self._norms),
            perturbations=tuple(self.perturbations),
            n_iter=max(self.n_iter, 0),
            method=self.method,
            estimate=self.estimate if ending is Ending.SECOND_ORDER else None,
        )

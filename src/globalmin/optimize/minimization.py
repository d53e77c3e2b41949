"""What the optimizers for general smooth functions share: a point, the second-order test, the
record of the steps and what a run leaves behind.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from globalmin._types import Array
from globalmin.errors import DataError
from globalmin.optimize.follow import End, Options, Recorder, Watch, every_step
from globalmin.optimize.run import Run, Status, Trajectory
from globalmin.optimize.second_order import SecondOrderEstimate, estimate_at

if TYPE_CHECKING:
    from globalmin.optimize.objective import Objective


@dataclass(frozen=True)
class Place:
    """A vector with the loss and its gradient there."""

    x: Array
    loss: float
    gradient: Array

    @classmethod
    def of(cls, objective: Objective, x: Array) -> Place:
        """The place of this vector."""
        return cls(x, *objective.value_and_gradient(x))

    @cached_property
    def gradient_norm(self) -> float:
        """Length of the gradient."""
        return float(np.linalg.norm(self.gradient))

    @property
    def error(self) -> float:
        """The loss; not finite where the gradient is not."""
        return self.loss if np.isfinite(self.gradient_norm) else np.nan

    def in_words(self) -> str:
        """Loss and gradient."""
        return f"loss {self.loss:.6g}, gradient {self.gradient_norm:.2e}"


@dataclass(frozen=True)
class DescentTrajectory(Trajectory):
    """Loss and gradient norm of every iteration, the start first; after a perturbation those of the
    perturbed point.
    """

    gradient_norm: Array


@dataclass(frozen=True, eq=False, kw_only=True)
class Minimization(Run[Any]):
    """The result of minimizing a general smooth function.

    Attributes
    ----------
    network : the point in the caller's own form: an array, a pytree of arrays, or a copy of the
        torch module; also called `point`.
    vector : the same point as one float64 vector (a module in single precision rounds it).
    perturbations : the iterations at which noise was added, or a step of negative curvature taken.
    estimate : the second-order test at the point, if the run made one.
    """

    trajectory: DescentTrajectory
    vector: Array
    perturbations: tuple[int, ...]
    estimate: SecondOrderEstimate | None = None

    @property
    def point(self) -> Any:
        """The point in the caller's own form."""
        return self.network

    @property
    def gradient_norms(self) -> Array:
        """Norm of the gradient at every iteration."""
        return self.trajectory.gradient_norm


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


class SecondOrderTest:
    """Looks at gradient and least eigenvalue; `estimate` is the last look, None if the gradient was
    too large for one.
    """

    def __init__(self, objective: Objective, tolerances: Tolerances) -> None:
        self._objective, self.tolerances = objective, tolerances
        self.estimate: SecondOrderEstimate | None = None

    def holds(self, place: Place) -> bool:
        """Whether the gradient is small and no eigenvalue of the Hessian is far below zero."""
        self.estimate = None
        if not 0.0 < self.tolerances.gradient >= place.gradient_norm:
            return False
        self.estimate = estimate_at(
            self._objective,
            place.x,
            place.gradient,
            epsilon=self.tolerances.gradient,
            delta=self.tolerances.curvature,
        )
        return self.estimate.least_eigenvalue >= -self.tolerances.curvature


class DescentRecorder(Recorder[Place]):
    """Every iteration, and the perturbations among them."""

    def __init__(self) -> None:
        super().__init__(DescentTrajectory, lambda at, _: (at.gradient_norm,), gap=every_step)
        self.perturbations: list[int] = []

    def perturbed(self, place: Place) -> None:
        """The present iterate was perturbed: note the step, and the loss and gradient after it."""
        iteration = self.rows[-1][0]
        self.perturbations.append(iteration)
        self.rows[-1] = (iteration, place.loss, place.gradient_norm)


# feeds the watch and returns how it ended
Body = Callable[[Watch[Place, Any], SecondOrderTest, DescentRecorder], "End[Place] | Status | None"]


def minimized(
    objective: Objective,
    tolerances: Tolerances,
    body: Body,
    options: Options,
    *,
    method: str,
    stop: Callable[[Array], bool] | None,
) -> Minimization:
    """Run `body`, which feeds the watch."""
    test, recorder = SecondOrderTest(objective, tolerances), DescentRecorder()
    watch: Watch[Place, Any] = Watch(
        Place.of(objective, objective.start),
        lambda place: objective.restore(place.x),
        recorder,
        options,
        method=method,
        default_max_iter=0,
        reached=lambda place, _: (
            Status.STOPPED if stop is not None and stop(place.x.copy()) else None
        ),
    )
    run = watch.run(lambda: body(watch, test, recorder))
    return Minimization.of(
        run,
        vector=watch.chosen.x.copy(),
        perturbations=tuple(recorder.perturbations),
        estimate=test.estimate if run.status is Status.SECOND_ORDER else None,
    )

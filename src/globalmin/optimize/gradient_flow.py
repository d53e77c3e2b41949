"""Gradient flow d theta/dt = -grad L(theta) with an adaptive solver of scipy.integrate, on any loss
that `as_objective` reads.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from globalmin._options import one_of
from globalmin._types import Array
from globalmin.errors import DataError
from globalmin.optimize.follow import End, Iterate, Monitor, Recorder, Watch, every_step, follow
from globalmin.optimize.objective import as_objective
from globalmin.optimize.run import Run, Status, Trajectory

if TYPE_CHECKING:
    Oracle = Callable[[Array], tuple[float, Array]]

Method = Literal["DOP853", "RK45", "RK23", "Radau", "BDF", "LSODA"]
METHODS: tuple[Method, ...] = get_args(Method)
# errors of the invariants below 1e-8 on runs of some ten thousand steps of the solver
RTOL, ATOL = 1e-11, 1e-12
_SLIDING = (
    "a flow that slides along a kink needs a smoothed slope (kink_width), another flow a larger "
    "max_evaluations"
)


@dataclass(frozen=True)
class FlowTrajectory(Trajectory):
    """The flow at the recorded steps of the solver; the first is the start and the last the end.

    Attributes
    ----------
    time, gradient_norm : at each recorded step.
    measured : what `measure` returned, one row per recorded step; no columns without it.
    integral : of the integrand from 0 to each recorded time; no columns without one.
    """

    time: Array
    gradient_norm: Array
    measured: Array
    integral: Array


@dataclass(frozen=True, eq=False, kw_only=True)
class FlowRun(Run[Any]):
    """The flow from time 0 on; CONVERGED if the end time or the gradient's tolerance was reached.

    Attributes
    ----------
    network : the parameters at the end, in the caller's form; also called `parameters`.
    theta : the same as a flat vector.
    n_iter : accepted steps of the solver.
    n_evaluations : evaluations of the gradient.
    """

    trajectory: FlowTrajectory
    theta: Array
    n_evaluations: int

    @property
    def parameters(self) -> Any:
        """The parameters at the end, in the caller's form."""
        return self.network

    @property
    def n_steps(self) -> int:
        """Accepted steps of the solver."""
        return self.n_iter

    @property
    def time(self) -> Array:
        """Times of the recorded steps."""
        return self.trajectory.time

    @property
    def gradient_norm(self) -> Array:
        """Norm of the gradient at the recorded steps."""
        return self.trajectory.gradient_norm

    @property
    def measured(self) -> Array:
        """What `measure` returned at the recorded steps."""
        return self.trajectory.measured

    @property
    def integral(self) -> Array:
        """Integral of the integrand up to the recorded steps."""
        return self.trajectory.integral


def gradient_flow(
    loss: Callable[..., Any],
    start: Any,
    *,
    time: float,
    measure: Callable[[Any], Any] | None = None,
    gradient: Callable[..., Any] | None = None,
    **options: Any,
) -> FlowRun:
    """Follow the flow of a loss from `start` until `time`.

    Parameters
    ----------
    loss : Callable[..., Any]
        A function of an array, of a JAX pytree, or of a torch module; see
        `optimize.objective.as_objective`.
    start : Any
        A function of an array, of a JAX pytree, or of a torch module; see
        `optimize.objective.as_objective`.
    gradient : Callable[..., Any] | None
        A function of an array, of a JAX pytree, or of a torch module; see
        `optimize.objective.as_objective`.
    measure : Callable[[Any], Any] | None
        Called with the parameters in the caller's form at every recorded step; returns a vector to
        record.
    options : Any
        Of `integrate_flow`.
    """
    if measure is not None and not callable(measure):
        raise DataError(
            f"measure={measure!r} must be a function of the parameters that returns a vector"
        )
    objective = as_objective(loss, start, gradient=gradient)
    seen = None if measure is None else lambda theta: measure(objective.restore(theta))
    return integrate_flow(
        objective.value_and_gradient,
        objective.start,
        time=time,
        measure=seen,
        restore=objective.restore,
        **options,
    )


def integrate_flow(
    oracle: Oracle,
    theta: Array,
    *,
    time: float,
    measure: Callable[[Array], Any] | None = None,
    integrand: Callable[[Array, Array], Any] | None = None,
    restore: Callable[[Array], Any] | None = None,
    method: Method = "DOP853",
    rtol: float = RTOL,
    atol: float = ATOL,
    tol: float = 0.0,
    max_evaluations: int = 100_000,
    max_records: int = 1_000,
    verbose: bool = False,
    throw: bool = False,
    monitor: Monitor | None = None,
) -> FlowRun:
    """The flow of a function of one vector.

    Parameters
    ----------
    oracle : theta -> (loss, gradient).
    integrand : a vector-valued function of (theta, gradient), integrated over time by the solver
        together with the flow.
    method, rtol, atol : the solver of scipy.integrate and its tolerances; "LSODA" or "Radau" for
        stiff flows.
    tol : the run ends when the gradient's norm is at most this.
    max_evaluations : of the gradient; the run ends as MAX_ITER there. At a kink that the flow
        slides along, steps become tiny.
    max_records : the solver's steps are recorded all, then thinned to at most so many.
    verbose, throw, monitor : as in `train`.
    """
    one_of("method", method, METHODS)
    if not 0 < time < np.inf:
        raise DataError(f"time={time!r} must be a positive number: the end of the flow")
    flow = _Flow(oracle, np.array(theta, dtype=np.float64), integrand)
    convert = restore or (lambda vector: vector.copy())
    watch = Watch(
        flow.at(0.0, flow.first),
        lambda at: convert(at.theta),
        Recorder(FlowTrajectory, _columns(measure), gap=every_step, most=max_records),
        {"verbose": verbose, "throw": throw, "monitor": monitor},
        method="gradient_flow",
        default_max_iter=max_evaluations,
        reached=lambda at, _: None,
        keeps_last=True,
    )
    tolerances = {"rtol": rtol, "atol": atol}
    steps = flow.steps(watch.start, time, method, tolerances, tol=tol, limit=max_evaluations)
    run = follow(watch, steps)
    return FlowRun.of(run, theta=watch.chosen.theta, n_evaluations=flow.n_evaluations)


@dataclass(frozen=True)
class _Moment:
    """The flow at one time."""

    time: float
    theta: Array
    loss: float
    gradient_norm: float
    integral: Array

    @property
    def error(self) -> float:
        return self.loss

    def in_words(self) -> str:
        return f"time {self.time:.6g}, loss {self.loss:.6g}"


def _columns(
    measure: Callable[[Array], Any] | None,
) -> Callable[[_Moment, int], tuple[Any, ...]]:
    def row(at: _Moment, _iteration: int) -> tuple[Any, ...]:
        seen = () if measure is None else measure(at.theta)
        measured = np.asarray(seen, dtype=np.float64).ravel()
        return at.time, at.gradient_norm, measured, at.integral

    return row


class _Flow:
    """One integration: the right-hand side and the last evaluation."""

    def __init__(
        self, oracle: Oracle, theta: Array, integrand: Callable[[Array, Array], Any] | None
    ) -> None:
        self.oracle, self.integrand = oracle, integrand
        self.size, self.n_evaluations = theta.size, 0
        self._seen: tuple[Array, float, Array] | None = None
        count = 0 if integrand is None else self._integrand(theta, self.evaluate(theta)[1]).size
        self.first = np.concatenate([theta, np.zeros(count)])

    def evaluate(self, theta: Array) -> tuple[float, Array]:
        """Loss and gradient; the last evaluation is kept, since the solver's last stage is the
        step's end.
        """
        if self._seen is None or not np.array_equal(self._seen[0], theta):
            value, gradient = self.oracle(theta)
            self.n_evaluations += 1
            self._seen = theta.copy(), float(value), np.asarray(gradient, dtype=np.float64)
        return self._seen[1:]

    def at(self, time: float, state: Array) -> _Moment:
        """What is known at this state."""
        theta = state[: self.size].copy()
        value, gradient = self.evaluate(theta)
        size = float(np.linalg.norm(gradient))
        return _Moment(time, theta, value, size, state[self.size :].copy())

    def slope(self, _time: float, state: Array) -> Array:
        """Right-hand side for the parameters and the running integral."""
        theta = state[: self.size]
        gradient = self.evaluate(theta)[1]
        return np.concatenate([-gradient, self._integrand(theta, gradient)])

    def _integrand(self, theta: Array, gradient: Array) -> Array:
        if self.integrand is None:
            return np.zeros(0)
        return np.asarray(self.integrand(theta, gradient), dtype=np.float64).ravel()

    def steps(
        self,
        here: _Moment,
        time: float,
        method: Method,
        tolerances: dict[str, float],
        *,
        tol: float,
        limit: int,
    ) -> Generator[Iterate[_Moment], None, End[_Moment]]:
        """The accepted steps of the solver until the end."""
        import scipy.integrate

        solver = getattr(scipy.integrate, method)(self.slope, 0.0, self.first, time, **tolerances)
        steps = 0
        while solver.status == "running":
            now = f"at time {solver.t:.6g}"
            if here.gradient_norm <= tol:
                note = f"the gradient's norm is at most tol={tol:g} {now}"
                return End(Status.CONVERGED, note=note)
            if self.n_evaluations >= limit:
                note = f"{limit:,} evaluations used {now} of {time:g}; {_SLIDING}"
                return End(Status.MAX_ITER, note=note)
            complaint = solver.step()
            if solver.status == "failed" or not np.isfinite(solver.y).all():
                why = complaint or "values overflowed"
                note = f"the solver stopped at time {solver.t:.6g}: {why}"
                return End(Status.STALLED, note=note)
            here, steps = self.at(float(solver.t), solver.y), steps + 1
            yield Iterate(here)
        return End(Status.CONVERGED, note=f"reached time {time:g} in {steps:,} steps")

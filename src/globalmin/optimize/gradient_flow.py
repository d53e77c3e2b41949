"""Gradient flow d theta/dt = -grad L(theta) with an adaptive solver of scipy.integrate, on any loss
that `as_objective` reads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from globalmin._types import Array, NDArray
from globalmin.errors import DataError
from globalmin.optimize.objective import as_objective
from globalmin.optimize.trajectory import Status

if TYPE_CHECKING:
    Oracle = Callable[[Array], tuple[float, Array]]

METHODS = ("DOP853", "RK45", "RK23", "Radau", "BDF", "LSODA")
# errors of the invariants below 1e-8 on runs of some ten thousand steps of the solver
RTOL, ATOL = 1e-11, 1e-12
_SLIDING = (
    "a flow that slides along a kink needs a smoothed slope (kink_width), another flow a larger "
    "max_evaluations"
)


@dataclass(frozen=True)
class FlowRun:
    """The flow from time 0 on, at the recorded steps of the solver.

    Attributes
    ----------
    time, loss, gradient_norm : at each recorded step; the first is the start and the last the end.
    measured : what `measure` returned, one row per recorded step; no columns without it.
    integral : of the integrand from 0 to each recorded time; no columns without one.
    parameters : at the end, in the caller's form.
    theta : the same as a flat vector.
    n_steps, n_evaluations : accepted steps of the solver, and evaluations of the gradient.
    status, message : CONVERGED if the end time or the gradient's tolerance was reached.
    """

    time: Array
    loss: Array
    gradient_norm: Array
    measured: Array
    integral: Array
    parameters: Any
    theta: Array
    n_steps: int
    n_evaluations: int
    status: Status
    message: str


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
        `training.objective.as_objective`.
    start : Any
        A function of an array, of a JAX pytree, or of a torch module; see
        `training.objective.as_objective`.
    gradient : Callable[..., Any] | None
        A function of an array, of a JAX pytree, or of a torch module; see
        `training.objective.as_objective`.
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
    method: str = "DOP853",
    rtol: float = RTOL,
    atol: float = ATOL,
    tol: float = 0.0,
    max_evaluations: int = 100_000,
    max_records: int = 1_000,
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
    """
    if method not in METHODS:
        raise DataError(f"method={method!r} is unknown; choose one of {', '.join(METHODS)}")
    if not 0 < time < np.inf:
        raise DataError(f"time={time!r} must be a positive number: the end of the flow")
    flow = _Flow(oracle, np.array(theta, dtype=np.float64), measure, integrand)
    status, message, n_steps = flow.run(
        time, method, {"rtol": rtol, "atol": atol}, tol, limit=max_evaluations
    )
    kept = _thinned(len(flow.records), max_records)
    rows = [flow.records[i] for i in kept]
    end, convert = flow.theta, restore or (lambda vector: vector.copy())
    return FlowRun(
        time=np.array([row[0] for row in rows]),
        loss=np.array([row[1] for row in rows]),
        gradient_norm=np.array([row[2] for row in rows]),
        measured=np.array([row[3] for row in rows]),
        integral=np.array([row[4] for row in rows]),
        parameters=convert(end),
        theta=end,
        n_steps=n_steps,
        n_evaluations=flow.n_evaluations,
        status=status,
        message=message,
    )


class _Flow:
    """One integration: the right-hand side, the last evaluation, and the records."""

    def __init__(
        self,
        oracle: Oracle,
        theta: Array,
        measure: Callable[[Array], Any] | None,
        integrand: Callable[[Array, Array], Any] | None,
    ) -> None:
        self.oracle, self.measure, self.integrand = oracle, measure, integrand
        self.theta, self.size, self.n_evaluations = theta, theta.size, 0
        self.records: list[tuple[float, float, float, Array, Array]] = []
        self._seen: tuple[Array, float, Array] | None = None

    def evaluate(self, theta: Array) -> tuple[float, Array]:
        """Loss and gradient; the last evaluation is kept, since the solver's last stage is the
        step's end.
        """
        if self._seen is None or not np.array_equal(self._seen[0], theta):
            value, gradient = self.oracle(theta)
            self.n_evaluations += 1
            self._seen = theta.copy(), float(value), np.asarray(gradient, dtype=np.float64)
        return self._seen[1:]

    def slope(self, _time: float, state: Array) -> Array:
        """Right-hand side for the parameters and the running integral."""
        theta = state[: self.size]
        gradient = self.evaluate(theta)[1]
        return (
            -gradient
            if self.integrand is None
            else np.concatenate([-gradient, self._integrand(theta, gradient)])
        )

    def run(
        self, time: float, method: str, tolerances: dict[str, float], tol: float, *, limit: int
    ) -> tuple[Status, str, int]:
        """Step until the end; returns how it ended and how many steps were accepted."""
        import scipy.integrate

        state = self._first_state()
        self._record(0.0, state)
        solver = getattr(scipy.integrate, method)(self.slope, 0.0, state, time, **tolerances)
        steps = 0
        while solver.status == "running":
            if self.records[-1][2] <= tol:
                return (
                    Status.CONVERGED,
                    f"the gradient's norm is at most tol={tol:g} at time {solver.t:.6g}",
                    steps,
                )
            if self.n_evaluations >= limit:
                return (
                    Status.MAX_ITER,
                    f"{limit:,} evaluations used at time {solver.t:.6g} of {time:g}; {_SLIDING}",
                    steps,
                )
            complaint = solver.step()
            if solver.status == "failed" or not np.isfinite(solver.y).all():
                return (
                    Status.STALLED,
                    f"the solver stopped at time {solver.t:.6g}: "
                    f"{complaint or 'values overflowed'}",
                    steps,
                )
            steps += 1
            self._record(float(solver.t), solver.y)
        return Status.CONVERGED, f"reached time {time:g} in {steps:,} steps", steps

    def _first_state(self) -> Array:
        if self.integrand is None:
            return self.theta.copy()
        count = self._integrand(self.theta, self.evaluate(self.theta)[1]).size
        return np.concatenate([self.theta, np.zeros(count)])

    def _integrand(self, theta: Array, gradient: Array) -> Array:
        return (
            np.zeros(0)
            if self.integrand is None
            else np.asarray(self.integrand(theta, gradient), dtype=np.float64).ravel()
        )

    def _record(self, time: float, state: Array) -> None:
        self.theta = state[: self.size].copy()
        value, gradient = self.evaluate(self.theta)
        measured = (
            np.zeros(0)
            if self.measure is None
            else np.asarray(self.measure(self.theta), dtype=np.float64).ravel()
        )
        self.records.append(
            (time, value, float(np.linalg.norm(gradient)), measured, state[self.size :].copy())
        )


def _thinned(n: int, most: int) -> NDArray[np.intp]:
    """First, last and evenly spaced places between, at most so many."""
    return (
        np.arange(n)
        if n <= most
        else np.unique(np.linspace(0, n - 1, max(2, most)).round().astype(np.intp))
    )

"""What the optimizers for general smooth functions share: a point, its second-order report
(gradient, least eigenvalue, what kind of point it is), the record of the steps and what a run
leaves behind.

Everything here is an estimate in floats; the claims second-order-stationary and strict-saddle prove
it for networks.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np

from globalmin._options import one_of
from globalmin._types import Array
from globalmin.errors import DataError
from globalmin.linalg.spectrum import least_eigenvalue
from globalmin.optimize.follow import End, Options, Recorder, Watch, every_step
from globalmin.optimize.objective import DerivativesFrom, Objective, as_objective
from globalmin.optimize.run import Run, Status, Trajectory
from globalmin.references import states

DENSE = 500  # parameters up to which the whole Hessian is formed and factored
Method = Literal["auto", "dense", "lanczos"]
METHODS: tuple[Method, ...] = get_args(Method)
RITZ = 1e-8  # relative accuracy of the least Ritz value


@dataclass(frozen=True, eq=False)
class SecondOrderEstimate:
    r"""Gradient and curvature at one point, in floats.

    Attributes
    ----------
    kind : "second-order stationary" ($\|\nabla f\| \le \epsilon$, $\lambda_{\min} \ge -\delta$),
        "strict saddle" (small gradient, $\lambda_{\min} < -\delta$) or "large gradient".
    gradient_norm, least_eigenvalue : the two numbers; `lanczos` approaches the eigenvalue from
        above.
    direction : unit vector along which the second derivative is `least_eigenvalue`.
    epsilon, delta : the tolerances of `kind`.
    method : "dense" or "lanczos".
    """

    kind: str
    gradient_norm: float
    least_eigenvalue: float
    direction: Array
    epsilon: float
    delta: float
    method: Method

    def least_epsilon(self, rho: float) -> float:
        r"""The least $\epsilon$ for which the point is $\epsilon$-second-order stationary
        (DU-D7.5), for a $\rho$-Lipschitz Hessian: $\max(\|\nabla f\|, \lambda_{\min}^2/\rho$ if
        negative$)$.
        """
        return max(
            self.gradient_norm, min(self.least_eigenvalue, 0.0) ** 2 / check_positive("rho", rho)
        )

    def __str__(self) -> str:
        return (
            f"{self.kind} (estimate): gradient norm {self.gradient_norm:.3g} against "
            f"{self.epsilon:.3g}, least eigenvalue "
            f"{self.least_eigenvalue:.3g} against {-self.delta:.3g} ({self.method})"
        )


@states("DU-D7.4", "DU-D7.5", "DU-CERT7")
def estimate_second_order(
    loss: Callable[..., Any],
    point: Any,
    *,
    epsilon: float = 1e-6,
    rho: float | None = None,
    delta: float | None = None,
    gradient: Callable[..., Any] | None = None,
    hessian: Callable[..., Any] | None = None,
    derivatives: DerivativesFrom = "auto",
    method: Method = "auto",
) -> SecondOrderEstimate:
    r"""What kind of point this is, in floats: second-order stationary, strict saddle, or with a
    large gradient.

    Parameters
    ----------
    loss : Callable[..., Any]
        As in `perturbed_gradient_descent`.
    point : Any
        As in `perturbed_gradient_descent`.
    gradient, hessian : Callable[..., Any] | None
        As in `perturbed_gradient_descent`.
    derivatives : str
        As in `perturbed_gradient_descent`.
    epsilon : float
        Largest gradient norm of a stationary point.
    rho : float | None
        Lipschitz constant of the Hessian, a hypothesis of the caller; the curvature tolerance is
        then $\sqrt{\rho\epsilon}$.
    delta : float | None
        The curvature tolerance itself, instead of rho. Default: $\sqrt{\epsilon}$, that is rho = 1.
    method : str
        "dense" (whole Hessian), "lanczos" (products only) or "auto": dense up to 500 parameters.

    Theory
    ------
    DU-D7.4, DU-D7.5: $\epsilon$-second-order stationary means $\|\nabla f\| \le \epsilon$ and
    $\lambda_{\min} \ge -\sqrt{\rho\epsilon}$. DU-CERT7 proves it; this only estimates it.
    """
    objective = as_objective(
        loss, point, gradient=gradient, hessian=hessian, derivatives=derivatives
    )
    if rho is not None and delta is not None:
        raise DataError("give rho or delta, not both: delta = sqrt(rho epsilon)")
    epsilon = check_positive("epsilon", epsilon)
    tolerance = (
        math.sqrt((1.0 if rho is None else check_positive("rho", rho)) * epsilon)
        if delta is None
        else float(delta)
    )
    slope = objective.value_and_gradient(objective.start)[1]
    return estimate_at(
        objective, objective.start, slope, epsilon=epsilon, delta=tolerance, method=method
    )


def estimate_at(
    objective: Objective,
    x: Array,
    slope: Array,
    *,
    epsilon: float,
    delta: float,
    method: Method = "auto",
) -> SecondOrderEstimate:
    """The report at x, where the gradient is `slope`."""
    one_of("method", method, METHODS)
    chosen = ("dense" if x.size <= DENSE else "lanczos") if method == "auto" else method
    value, direction = _densely(objective, x) if chosen == "dense" else _by_lanczos(objective, x)
    norm = float(np.linalg.norm(slope))
    stationary = "strict saddle" if value < -delta else "second-order stationary"
    kind = "large gradient" if norm > epsilon else stationary
    return SecondOrderEstimate(kind, norm, value, direction, epsilon, delta, chosen)


def _densely(objective: Objective, x: Array) -> tuple[float, Array]:
    H = objective.hessian(x)
    if not np.isfinite(H).all():
        raise DataError(
            "the Hessian at this point is not finite; choose a point where the loss is smooth"
        )
    return least_eigenvalue((H + H.T) / 2.0)


def _by_lanczos(objective: Objective, x: Array) -> tuple[float, Array]:
    """The least Ritz value: never below the least eigenvalue (up to rounding), and near it when
    converged.
    """
    from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

    if x.size < 3:
        return _densely(objective, x)
    shape, times = (x.size, x.size), lambda u: objective.hessian_times(x, np.ravel(u))
    operator = LinearOperator(shape, matvec=times, dtype=np.float64)  # pyright: ignore
    first = np.random.default_rng(0).standard_normal(x.size)
    try:
        options = {"ncv": min(x.size, 40), "maxiter": 50 * x.size, "tol": RITZ}
        values, vectors = eigsh(operator, k=1, which="SA", v0=first, **options)
    except ArpackNoConvergence as error:
        raise DataError(
            "Lanczos did not find the least eigenvalue of the Hessian; use method='dense'"
        ) from error
    u = vectors[:, 0] / np.linalg.norm(vectors[:, 0])
    return float(values[0]), u


def check_positive(name: str, value: float) -> float:
    """A positive finite number, or a DataError that names the argument."""
    number = float(value) if isinstance(value, int | float | np.number) else math.nan
    if not 0.0 < number < math.inf:
        raise DataError(f"{name}={value!r} must be a positive number")
    return number


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
        return self.curvature_holds(place)

    def curvature_holds(self, place: Place) -> bool:
        """Whether no eigenvalue of the Hessian is far below zero, whatever the gradient."""
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

r"""Second-order methods for general smooth functions: trust-region Newton (scipy) and cubic
regularization, with negative curvature.

scipy's trust-region methods stop where the gradient is small, also at a saddle. Here the least
eigenvalue of the Hessian is looked at there; if it is negative, a step along its eigenvector is
taken and the method goes on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, get_args

import numpy as np

from globalmin._options import one_of
from globalmin._renamed import renamed
from globalmin._types import Array
from globalmin.errors import DataError
from globalmin.optimize import minimization
from globalmin.optimize.cubic_regularization import cubic_steps
from globalmin.optimize.follow import End, Iterate, Monitor, Watch
from globalmin.optimize.objective import DerivativesFrom, Objective, as_objective
from globalmin.optimize.run import Status
from globalmin.references import states

Solver = Literal["trust-exact", "trust-krylov", "trust-ncg", "cubic"]
METHODS: tuple[Solver, ...] = get_args(Solver)
Method = Literal["auto", Solver]
MAX_ITER = 2_000
# parameters up to which "auto" takes trust-exact, which loses its quadratic convergence where the
# Hessian is singular
TINY = 10
DENSE = 500  # parameters up to which the Hessian is formed
PATIENCE = 40  # iterations without a move after which rounding is taken to be the reason
HALVINGS = 60
STUCK = "stuck"  # a round that cannot move although the gradient is not small


@states("DU-D7.5", "DU-CERT7")
@renamed(gradient_tolerance="gradient_tol", curvature_tolerance="curvature_tol")
def minimize(
    loss: Callable[..., Any],
    start: Any,
    *,
    method: Method = "auto",
    gradient_tol: float = 1e-6,
    curvature_tol: float | None = None,
    gradient: Callable[..., Any] | None = None,
    hessian: Callable[..., Any] | None = None,
    derivatives: DerivativesFrom = "auto",
    max_iter: int = MAX_ITER,
    stop: Callable[[Array], bool] | None = None,
    verbose: bool = False,
    throw: bool = False,
    monitor: Monitor | None = None,
) -> minimization.Minimization:
    r"""Minimize a smooth function by a second-order method until gradient and curvature are within
    tolerances.

    Parameters
    ----------
    loss : Callable[..., Any]
        As in `perturbed_gradient_descent`. Points at which it or a derivative is not finite
        (outside of the domain) are never stepped to; beyond 500 parameters products with the
        Hessian are not tested.
    start : Any
        As in `perturbed_gradient_descent`.
    method : str
        "trust-exact" (dense Hessian), "trust-krylov" or "trust-ncg" (products only) of scipy;
        "cubic" for cubic regularization; "auto": trust-exact up to 10 parameters, trust-krylov
        beyond.
    gradient_tol : float
        Stop where the gradient is at most this and the curvature within its tolerance.
    curvature_tol : float | None
        The least eigenvalue of the Hessian must be at least minus this; by default the square root
        of `gradient_tol`.
    gradient, hessian : Callable[..., Any] | None
        As in `perturbed_gradient_descent`.
    derivatives : str
        As in `perturbed_gradient_descent`.
    max_iter : int
        Iteration limit, refused steps included.
    stop : Callable[[Array], bool] | None
        Called with every iterate (a flat vector); True ends the run.
    verbose : bool
        Show a progress line if stderr is a terminal.
    throw : bool
        Raise NotConverged instead of returning a run that did not end as it should.
    monitor : Monitor | None
        Called with a `Step` at every iteration, as in `train`.

    Theory
    ------
    DU-D7.5 for the target; the step along w is part (b) of theorem SO (DU-CERT7): $f(x \pm \tau w)
    \le f - c\tau^2/2 + \rho\tau^3/6$.
    """
    one_of("method", method, ("auto", *METHODS))
    objective = as_objective(
        loss, start, gradient=gradient, hessian=hessian, derivatives=derivatives
    )
    chosen = (
        ("trust-exact" if objective.size <= TINY else "trust-krylov")
        if method == "auto"
        else method
    )
    if not gradient_tol > 0:
        raise DataError(f"gradient_tol={gradient_tol!r} must be positive")
    tolerances = minimization.Tolerances.checked(gradient_tol, curvature_tol)
    return minimization.minimized(
        objective,
        tolerances,
        lambda watch, test, recorder: _search(watch, objective, chosen, test, recorder),
        {"max_iter": max_iter, "verbose": verbose, "throw": throw, "monitor": monitor},
        method=chosen,
        stop=stop,
    )


def _search(
    watch: Watch[minimization.Place, Any],
    objective: Objective,
    method: str,
    test: minimization.SecondOrderTest,
    recorder: minimization.DescentRecorder,
) -> End[minimization.Place] | Status | None:
    """Local rounds of the method; between two of them a step along a direction of negative
    curvature.
    """

    def see(x: Array, value: float, slope: Array) -> Status | None:
        return watch.see(Iterate(minimization.Place(x, value, slope)))

    place, ended = watch.start, None
    while ended is None:
        if place.gradient_norm <= test.tolerances.gradient:
            if test.holds(place):
                return End(Status.SECOND_ORDER, place)
            moved = _along_negative_curvature(test, objective, place)
            if moved is None:
                return None
            place = moved
            ended = watch.see(Iterate(place))
            recorder.perturbed(place)
        else:
            tolerance = test.tolerances.gradient
            ended, x, value, slope = descend(
                objective, place.x, see, method=method, gradient_tol=tolerance
            )
            place = minimization.Place(x, value, slope)
    return ended if isinstance(ended, Status) else None


def _along_negative_curvature(
    test: minimization.SecondOrderTest, objective: Objective, place: minimization.Place
) -> minimization.Place | None:
    found = test.estimate
    if found is None or found.least_eigenvalue >= 0:
        return None
    w = found.direction if float(place.gradient @ found.direction) <= 0 else -found.direction
    moved = negative_curvature_step(objective, place.x, w, -found.least_eigenvalue)
    return None if moved is None else minimization.Place(*moved)


def negative_curvature_step(
    objective: Objective, x: Array, w: Array, c: float
) -> tuple[Array, float, Array] | None:
    r"""The point $x + \tau w$ with f lower by at least $c\tau^2/4$, $\tau$ a power of two as large
    as it may be; None if there is none.

    With $w^THw = -c$ and $\nabla f \cdot w \le 0$ every $\tau \le 3c/(2\rho)$ will do, $\rho$ the
    Lipschitz constant of the Hessian (SO (b)).
    """
    value = objective.value_and_gradient(x)[0]

    def falls(tau: float) -> bool:
        new = objective.value_and_gradient(x + tau * w)[0]
        return bool(np.isfinite(new)) and new < value and value - new >= 0.25 * c * tau**2

    tau, halvings = 1.0, 0
    while not falls(tau) and halvings < HALVINGS:
        tau, halvings = tau / 2.0, halvings + 1
    if halvings == HALVINGS:
        return None
    while halvings == 0 and tau < 2.0**20 and falls(2.0 * tau):
        tau *= 2.0
    return (x + tau * w, *objective.value_and_gradient(x + tau * w))


def descend(
    objective: Objective,
    x: Array,
    see: Callable[[Array, float, Array], Any],
    *,
    method: str,
    gradient_tol: float,
) -> tuple[Any, Array, float, Array]:
    """One local round from x: what ended it (None: the gradient is small enough; STUCK; or what
    `see` said) and the last iterate, value and gradient.

    `see` is called with every iterate, refused steps included, and ends the round by returning
    something else than None. Where scipy's methods cannot move any more (trust-krylov near singular
    Hessians), cubic regularization goes on.
    """
    round_ = _Round(
        objective,
        x,
        see,
        gradient_tol,
        dense=method == "trust-exact" or objective.size <= DENSE,
    )
    if method != "cubic":
        _by_scipy(round_, x, method, gradient_tol)
    if not round_.is_over:
        round_.forgive()
        for iterate in cubic_steps(objective, round_.result()[1], dense=objective.size <= DENSE):
            if round_.take(*iterate):
                break
    return round_.result()


def _by_scipy(round_: _Round, x: Array, method: str, gradient_tol: float) -> None:
    from scipy.optimize import minimize as scipy_minimize

    curvature = {"hess": round_.hessian} if method == "trust-exact" else {"hessp": round_.times}

    def callback(intermediate_result: Any) -> None:
        if round_.take(*round_.recall(intermediate_result.x)):
            raise StopIteration

    scipy_minimize(
        round_.evaluate,
        x,
        jac=True,
        method=method,
        callback=callback,
        options={"gtol": gradient_tol, "maxiter": 10**9},
        **curvature,  # pyright: ignore[reportArgumentType]
    )


class _Round:
    """The iterates of one local round, and when it is over."""

    def __init__(
        self,
        objective: Objective,
        x: Array,
        see: Callable[[Array, float, Array], Any],
        gradient_tol: float,
        *,
        dense: bool,
    ) -> None:
        self._objective, self._see, self._tolerance = objective, see, gradient_tol
        self._recent: list[tuple[Array, float, Array]] = []
        self._last, self._idle, self._ended = (x, *objective.value_and_gradient(x)), 0, None
        self._dense = dense
        self._bent: list[tuple[Array, Array]] = []

    def evaluate(self, x: Array) -> tuple[float, Array]:
        """Value and gradient, kept for the next iterate; infinite, hence a refused step, where
        anything is not finite.
        """
        value, slope = self._objective.value_and_gradient(x)
        self._recent = [*self._recent[-1:], (x.copy(), value, slope)]
        return (value if self._is_inside(x, value, slope) else np.inf), slope

    def _is_inside(self, x: Array, value: float, slope: Array) -> bool:
        """Whether all that is known at x is finite; a Hessian is formed only where the loss fell,
        there it is needed next.
        """
        if not (np.isfinite(value) and np.isfinite(slope).all()):
            return False
        return not (self._dense and value < self._last[1]) or bool(np.isfinite(self._bend(x)).all())

    def hessian(self, x: Array) -> Array:
        """Hessian at x. scipy asks for it before the value and takes finite ones only: zeros stand
        in, `evaluate` refuses x.
        """
        H = self._bend(x)
        return H if np.isfinite(H).all() else np.zeros_like(H)

    def times(self, x: Array, u: Array) -> Array:
        """Hessian at x times u; of small problems the Hessian is formed once, which is cheaper than
        many products.
        """
        return self._bend(x) @ u if self._dense else self._objective.hessian_times(x, u)

    def _bend(self, x: Array) -> Array:
        """The dense Hessian at x, computed again only if it is neither of the last two: an iterate
        and a step from it.
        """
        for known, H in self._bent:
            if np.array_equal(known, x):
                return H
        self._bent = [*self._bent[-1:], (x.copy(), self._objective.hessian(x))]
        return self._bent[-1][1]

    def recall(self, x: Array) -> tuple[Array, float, Array]:
        """The evaluation at x, computed again only if it is neither of the last two."""
        for known in (self._last, *self._recent):
            if np.array_equal(known[0], x):
                return known
        return (x.copy(), *self._objective.value_and_gradient(x))

    def take(self, x: Array, value: float, slope: Array) -> bool:
        """See one iterate; whether the round is over."""
        self._idle = self._idle + 1 if np.array_equal(x, self._last[0]) else 0
        self._last = (x, value, slope)
        self._ended = self._see(x, value, slope)
        return self.is_over or self._idle >= PATIENCE

    @property
    def is_over(self) -> bool:
        """Whether the caller ended the round or the gradient is within the tolerance."""
        return self._ended is not None or float(np.linalg.norm(self._last[2])) <= self._tolerance

    def forgive(self) -> None:
        """Forget the steps without a move, for another method to try."""
        self._idle = 0

    def result(self) -> tuple[Any, Array, float, Array]:
        """How it ended: None only if the gradient is within the tolerance."""
        x, value, slope = self._last
        return (self._ended if self.is_over else STUCK), x, value, slope

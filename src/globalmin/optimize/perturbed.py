r"""Perturbed gradient descent (DU-A2): gradient descent that adds a little noise where the gradient
is small.

Gradient descent needs exponentially many steps on some functions with strict saddles (the octopus);
with noise, polynomially many.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Generator
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np

from globalmin._renamed import renamed
from globalmin._types import Array
from globalmin.errors import DataError, HypothesisError
from globalmin.linalg.sampling import uniform_in_ball
from globalmin.optimize import minimization
from globalmin.optimize.follow import End, Iterate, Monitor, pull
from globalmin.optimize.objective import DerivativesFrom, Objective, as_objective
from globalmin.optimize.run import Status
from globalmin.references import states

MAX_ITER = 100_000
GRADIENT_TOLERANCE, RADIUS, WAIT = 1e-6, 1e-3, 100  # by hand: what is not given


@dataclass(frozen=True)
class Perturbation:
    r"""The numbers of Algorithm 2.

    Attributes
    ----------
    step_size : $\eta$.
    radius : r, the noise is uniform on the ball of this radius.
    gradient_threshold : $g_{thres}$, noise is added only where the gradient is at most this.
    wait : $t_{thres}$, and only if more than this many steps have passed since the last noise.
    decrease : $f_{thres}$ of the cited source: stop, at the point before the noise, if `wait` steps
        after it the loss is not lower by this. None: no such stop, as in the thesis.
    """

    step_size: float
    radius: float
    gradient_threshold: float
    wait: int
    decrease: float | None = None

    def __post_init__(self) -> None:
        for name in ("step_size", "radius"):
            minimization.check_positive(name, getattr(self, name))
        if not 0.0 <= self.gradient_threshold < math.inf:
            raise DataError(f"gradient_threshold={self.gradient_threshold!r} must be a number >= 0")
        if isinstance(self.wait, bool) or int(self.wait) != self.wait or self.wait < 0:
            raise DataError(f"wait={self.wait!r} must be a whole number of steps >= 0")
        if self.decrease is not None:
            minimization.check_positive("decrease", self.decrease)


@states("DU-D7.1", "DU-D7.2", "DU-D7.3")
@dataclass(frozen=True)
class Smoothness:
    r"""What the theorem asks of the function, given by the caller and not checked.

    Attributes
    ----------
    gradient_lipschitz : float
        $\ell$, Lipschitz constant of the gradient (DU-D7.2).
    hessian_lipschitz : float
        $\rho$, Lipschitz constant of the Hessian (DU-D7.3).
    loss_range : float
        $\Delta_f \ge f(x_0) - \inf f$ (B of DU-D7.1 will do).
    """

    gradient_lipschitz: float
    hessian_lipschitz: float
    loss_range: float

    def __post_init__(self) -> None:
        for name in ("gradient_lipschitz", "hessian_lipschitz", "loss_range"):
            minimization.check_positive(name, getattr(self, name))


@states("DU-A2", "DU-T7.2")
def perturbation_parameters(
    smoothness: Smoothness,
    dimension: int,
    *,
    epsilon: float,
    failure: float = 0.1,
    constant: float = 1.0,
) -> Perturbation:
    r"""The setting that the source cited for DU-T7.2 publishes with its Algorithm 2.

    $\chi = 3\max\{\log(d\ell\Delta_f/(c\epsilon^2\delta)), 4\}$, $\eta = c/\ell$, $r =
    \sqrt{c}\,\epsilon/(\chi^2\ell)$, $g_{thres} = \sqrt{c}\,\epsilon/\chi^2$, $f_{thres} =
    (c/\chi^3)\sqrt{\epsilon^3/\rho}$, $t_{thres} = \chi\ell/(c^2\sqrt{\rho\epsilon})$ (rounded up).

    Parameters
    ----------
    smoothness : Smoothness
        $\ell$, $\rho$ and $\Delta_f$.
    dimension : int
        d.
    epsilon : float
        The accuracy, at most $\ell^2/\rho$.
    failure : float
        $\delta$, the probability of failure.
    constant : float
        c. The theorem holds for every c below some absolute constant that nobody has named; 1 (a
        step of $1/\ell$) is a choice, not a proof. Certify the point that comes out (claim
        second-order-stationary) instead of trusting c.

    Theory
    ------
    DU-T7.2 says that such parameters exist; it gives none.
    """
    ell, rho = smoothness.gradient_lipschitz, smoothness.hessian_lipschitz
    minimization.check_positive("epsilon", epsilon)
    minimization.check_positive("constant", constant)
    if not 0.0 < failure < 1.0:
        raise DataError(f"failure={failure!r} must lie strictly between 0 and 1")
    if epsilon > ell**2 / rho:
        raise HypothesisError(
            f"epsilon={epsilon:.3g} exceeds ell^2/rho = {ell**2 / rho:.3g}, beyond which DU-T7.2 "
            "says nothing; take less",
            hypothesis="epsilon <= ell^2/rho",
            value=epsilon,
        )
    chi = 3.0 * max(
        math.log(dimension * ell * smoothness.loss_range / (constant * epsilon**2 * failure)), 4.0
    )
    threshold = math.sqrt(constant) * epsilon / chi**2
    return Perturbation(
        step_size=constant / ell,
        radius=threshold / ell,
        gradient_threshold=threshold,
        wait=math.ceil(chi * ell / (constant**2 * math.sqrt(rho * epsilon))),
        decrease=constant / chi**3 * math.sqrt(epsilon**3 / rho),
    )


@states("DU-T7.2")
def perturbed_descent_steps(
    smoothness: Smoothness, dimension: int, *, epsilon: float, failure: float = 0.1
) -> float:
    r"""$(\ell B/\epsilon^2)\log^4(d\ell B/(\epsilon^2\delta))$, the order of the number of steps in
    DU-T7.2; its constant is unnamed.
    """
    ratio = smoothness.gradient_lipschitz * smoothness.loss_range / epsilon**2
    return ratio * math.log(dimension * ratio / failure) ** 4


@states("DU-A2", "DU-T7.1", "DU-T7.2")
@renamed(gradient_tolerance="gradient_tol", curvature_tolerance="curvature_tol")
def perturbed_gradient_descent(
    loss: Callable[..., Any],
    start: Any,
    *,
    step_size: float | None = None,
    radius: float | None = None,
    gradient_threshold: float | None = None,
    wait: int | None = None,
    decrease: float | None = None,
    smoothness: Smoothness | None = None,
    epsilon: float | None = None,
    failure: float = 0.1,
    constant: float = 1.0,
    gradient_tol: float | None = None,
    curvature_tol: float | None = None,
    gradient: Callable[..., Any] | None = None,
    hessian: Callable[..., Any] | None = None,
    derivatives: DerivativesFrom = "auto",
    max_iter: int | None = None,
    stop: Callable[[Array], bool] | None = None,
    seed: int | np.random.Generator | None = 0,
    verbose: bool = False,
    throw: bool = False,
    monitor: Monitor | None = None,
) -> minimization.Minimization:
    r"""Minimize a smooth function by gradient descent that leaves saddle points by noise.

    Either give `step_size` (and more by hand), or `smoothness` and `epsilon`, from which the
    published setting follows; numbers given by hand win.

    Parameters
    ----------
    loss : Callable[..., Any]
        A function of an array, of a JAX pytree, or of a torch module (or a closure that calls the
        module); returns one number.
    start : Any
        An array or list of numbers; a pytree of arrays; a torch module (it is not changed).
    step_size : float | None
        $\eta$.
    radius : float | None
        Of the ball of the noise; 1e-3 by default.
    gradient_threshold : float | None
        Noise only where the gradient is at most this; by default `gradient_tol`.
    wait : int | None
        Steps between two perturbations; 100 by default.
    decrease : float | None
        Stop if so many steps after a perturbation the loss is not lower by this (default: only with
        `smoothness`).
    smoothness : Smoothness | None
        See `perturbation_parameters`.
    epsilon : float | None
        See `perturbation_parameters`.
    failure, constant : float
        See `perturbation_parameters`.
    gradient_tol, curvature_tol : float | None
        Stop where the gradient is at most the first and the least eigenvalue of the Hessian at
        least minus the second (looked at once per `wait` steps, and only where the gradient is
        small). Defaults: 1e-6 and the square root of the first, or $\sqrt{\rho\epsilon}$; 0 for no
        such test, which is also the default with `smoothness`. Where the test finds the curvature
        within its tolerance there is nothing to leave, and no noise is added: a
        `gradient_threshold` above `gradient_tol` does not keep the run from ending.
    gradient, hessian : Callable[..., Any] | None
        For functions of an array, see `as_objective`.
    derivatives : str
        For functions of an array, see `as_objective`.
    max_iter : int | None
        Iteration limit; 100,000 by default.
    stop : Callable[[Array], bool] | None
        Called with every iterate (a flat vector); True ends the run.
    seed : int | np.random.Generator | None
        Of the noise.
    verbose : bool
        Show a progress line if stderr is a terminal.
    throw : bool
        Raise NotConverged instead of returning a run that did not end as it should.

    Returns
    -------
    Minimization
        A `Minimization`: point (in the form of `start`), status, losses, perturbations.

    Theory
    ------
    DU-A2, with the stopping rule of the source (`decrease`) as an option. DU-T7.2: with high
    probability an epsilon-second-order point after $O((\ell B/\epsilon^2)\log^4)$ steps. DU-T7.1:
    without noise, almost surely in the limit, after any number of steps. Without the second-order
    test (`gradient_tol=0`) the run is Algorithm 2 to the letter.
    """
    objective = as_objective(
        loss, start, gradient=gradient, hessian=hessian, derivatives=derivatives
    )
    if gradient_tol is None:
        gradient_tol = GRADIENT_TOLERANCE if smoothness is None else 0.0
    if curvature_tol is None and smoothness is not None and epsilon is not None:
        curvature_tol = math.sqrt(smoothness.hessian_lipschitz * epsilon)
    tolerances = minimization.Tolerances.checked(gradient_tol, curvature_tol)
    if smoothness is None and step_size is not None:
        derived = Perturbation(step_size, RADIUS, gradient_tol, WAIT)
    elif smoothness is not None and epsilon is not None:
        derived = perturbation_parameters(
            smoothness, objective.size, epsilon=epsilon, failure=failure, constant=constant
        )
    else:
        raise DataError("give step_size, or both smoothness and epsilon, from which it follows")
    numbers = _overruled(derived, (step_size, radius, gradient_threshold, wait, decrease))
    if not tolerances.gradient and numbers.decrease is None and stop is None and max_iter is None:
        warnings.warn(
            "nothing can end this run but the limit of iterations: gradient_tol=0 tests no point, "
            "and noise goes on at a minimum; give gradient_tol, decrease, stop or max_iter",
            RuntimeWarning,
            stacklevel=3,
        )
    rng = np.random.default_rng(seed)
    return minimization.minimized(
        objective,
        tolerances,
        lambda watch, test, recorder: pull(
            watch, _steps(watch.start, objective, numbers, rng, (test, recorder))
        ),
        {
            "max_iter": MAX_ITER if max_iter is None else max_iter,
            "verbose": verbose,
            "throw": throw,
            "monitor": monitor,
        },
        method="perturbed_gradient_descent",
        stop=stop,
    )


def _overruled(derived: Perturbation, given: tuple[Any, ...]) -> Perturbation:
    """The derived numbers, except those given by hand."""
    return Perturbation(
        *(old if new is None else new for old, new in zip(astuple(derived), given, strict=True))
    )


def _steps(
    place: minimization.Place,
    objective: Objective,
    numbers: Perturbation,
    rng: np.random.Generator,
    seen: tuple[minimization.SecondOrderTest, minimization.DescentRecorder],
) -> Generator[Iterate[minimization.Place], None, End[minimization.Place]]:
    """Algorithm 2: noise where the gradient is small and the last noise is long ago, then a
    gradient step; no noise where the second-order test finds no negative curvature.
    """
    (test, recorder), wait, tol = seen, numbers.wait, seen[0].tolerances.gradient
    t, noisy, tested, before = 0, -wait - 1, -wait - 1, place
    level = False  # whether the last look at the curvature found nothing to leave
    while True:
        norm = place.gradient_norm
        if tol > 0.0 and norm <= max(tol, numbers.gradient_threshold) and t - tested > wait:
            tested, level = t, test.curvature_holds(place)
            if level and norm <= tol:
                return End(Status.SECOND_ORDER, place)
        if norm <= numbers.gradient_threshold and t - noisy > wait and not level:
            noisy, before = t, place
            noise = uniform_in_ball(place.x.size, numbers.radius, rng)
            place = minimization.Place.of(objective, place.x + noise)
            recorder.perturbed(place)
        elif (
            numbers.decrease is not None
            and t - noisy == wait
            and place.loss - before.loss > -numbers.decrease
        ):
            return End(Status.NO_DECREASE, before)
        place, t = (
            minimization.Place.of(objective, place.x - numbers.step_size * place.gradient),
            t + 1,
        )
        yield Iterate(place)

"""Perturbed gradient descent and trust-region Newton on the loss of a shallow network: the methods
of `train` that leave saddles.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Unpack

import numpy as np

from globalmin._options import Trained, one_of
from globalmin._types import Array
from globalmin.errors import HypothesisError
from globalmin.linalg.sampling import uniform_in_ball
from globalmin.optimize.follow import Iterate, Watch
from globalmin.optimize.minimization import estimate_at
from globalmin.optimize.objective import Objective
from globalmin.optimize.perturbed import Perturbation
from globalmin.optimize.run import Status
from globalmin.optimize.trust_region import DENSE, METHODS, descend, negative_curvature_step
from globalmin.references import states
from globalmin.shallow.degenerate import pose
from globalmin.shallow.hessian import hessian, hessian_times
from globalmin.shallow.methods.gradient_descent import PATIENCE, check_step
from globalmin.shallow.methods.lbfgs import pack, unpack
from globalmin.shallow.problem import length
from globalmin.shallow.step_sizes import theory_step
from globalmin.shallow.trajectory import Options, follow, shallow_run, shallow_watch

if TYPE_CHECKING:
    from globalmin.shallow.network import ShallowNetwork
    from globalmin.shallow.problem import HasData, Point
    from globalmin.shallow.trajectory import ShallowRun


MAX_ITER, MAX_NEWTON = 100_000, 2_000
# the gradient counts as small below this times ||J||_F ||r||, which a good fit never meets
RELATIVE_GRADIENT = 1e-3
FLAT = 1e-8  # eigenvalues above minus this times ||J||_F^2 count as nonnegative
SMALL_GRADIENT = 1e-14  # relative to the gradient at the start


@states("DU-A2")
def perturbed_gradient_descent(
    network: ShallowNetwork,
    data: HasData,
    *,
    step_size: float | str | None = None,
    radius: float = 1e-3,
    wait: int = 100,
    gradient_threshold: float | None = None,
    **options: Unpack[Options],
) -> ShallowRun:
    r"""Train by gradient descent that adds noise to the trained weights where the gradient is small
    (DU-A2).

    Parameters
    ----------
    network, data : the start, with a smooth activation, and the data.
    step_size : as for gradient_descent.
    radius, wait : radius of the noise, and steps between two perturbations.
    gradient_threshold : noise only where $\|\nabla L\|$ is at most this. Default: where it is below
        $10^{-3}\|J\|_F\|r\|$, so that the residual of a network about to fit is left alone.
    options : as in `globalmin.train`; `seed` is that of the noise.
    """
    start = _smooth_start(network, data, options.get("trained", "W"), "perturbed_gradient_descent")
    eta = theory_step(network, start) if step_size in (None, "theory") else check_step(step_size)
    numbers = Perturbation(
        eta, radius, 0.0 if gradient_threshold is None else gradient_threshold, wait
    )
    watch = shallow_watch(
        network, start, options, method="perturbed_gradient_descent", default_max_iter=MAX_ITER
    )
    rng = np.random.default_rng(options.get("seed", 0))
    return follow(watch, perturbed_steps(start, numbers, rng, relative=gradient_threshold is None))


def perturbed_steps(
    point: Point, numbers: Perturbation, rng: np.random.Generator, *, relative: bool
) -> Iterator[Iterate[Point]]:
    """Steps of Algorithm 2, until the loss has found no new minimum for a thousand of them and for
    one wait.
    """
    lowest, since, t, noisy = point.norm, 0, 0, -numbers.wait - 1
    while since < PATIENCE + numbers.wait:
        threshold = (
            RELATIVE_GRADIENT * _slope_scale(point) * point.norm
            if relative
            else numbers.gradient_threshold
        )
        if length(point.gradient) <= threshold and t - noisy > numbers.wait:
            point, noisy = _noisy(point, numbers.radius, rng), t
        point = point.moved(point.gradient, -numbers.step_size)
        yield Iterate(point)
        t += 1
        lowest, since = (point.norm, 0) if point.norm < lowest else (lowest, since + 1)


def _slope_scale(point: Point) -> float:
    """The Frobenius norm of the Jacobian."""
    X = point.problem.X
    square = float(np.sum(point.slopes**2, axis=1) @ np.einsum("ij,ij->i", X, X))
    return float(
        np.sqrt(
            square + (float(np.sum(point.features**2)) if point.problem.trained == "vW" else 0.0)
        )
    )


def _noisy(point: Point, radius: float, rng: np.random.Generator) -> Point:
    theta = pack(point.W, point.v if point.problem.trained == "vW" else None)
    return unpack(point, theta + uniform_in_ball(theta.size, radius, rng))


@states("DU-CERT7")
def trust_region(
    network: ShallowNetwork, data: HasData, *, solver: str | None = None, **options: Unpack[Options]
) -> ShallowRun:
    r"""Train by a trust-region Newton method with the exact Hessian; where the gradient vanishes,
    along negative curvature.

    Parameters
    ----------
    network, data : the start, with a smooth activation, and the data.
    solver : "trust-exact" (default up to 500 parameters), "trust-krylov" (default beyond) or
        "trust-ncg" of scipy, or "cubic" (cubic regularization).
    options : as in `globalmin.train`. A run that ends "stalled" has reached a second-order
        point (in floats) that does not fit: for quadratic networks with enough neurons of each sign
        that is a global minimum (SJL-T2.1, SJL-T2.2k).
    """
    if solver is not None:
        one_of("solver", solver, METHODS)
    start = _smooth_start(network, data, options.get("trained", "W"), "trust_region")
    chosen = solver or ("trust-exact" if network.W.size <= DENSE else "trust-krylov")
    watch = shallow_watch(
        network, start, options, method="trust_region", default_max_iter=MAX_NEWTON
    )
    return shallow_run(watch, watch.run(lambda: _newton(watch, network, start, chosen)))


def _newton(
    watch: Watch[Point, ShallowNetwork], network: ShallowNetwork, start: Point, solver: str
) -> Status | None:
    objective = network_objective(network, start)
    x, (value, slope) = objective.start, objective.value_and_gradient(objective.start)
    tolerance = SMALL_GRADIENT * float(np.linalg.norm(slope))

    def see(x: Array, value: float, slope: Array) -> Status | None:
        return watch.see(Iterate(unpack(start, x)))

    while True:
        if float(np.linalg.norm(slope)) > tolerance:
            ended, x, value, slope = descend(
                objective, x, see, method=solver, gradient_tol=tolerance
            )
            if isinstance(ended, Status):
                return ended
        flat = FLAT * _slope_scale(unpack(start, x)) ** 2
        found = estimate_at(objective, x, slope, epsilon=np.inf, delta=flat)
        w = found.direction if float(slope @ found.direction) <= 0 else -found.direction
        moved = (
            negative_curvature_step(objective, x, w, -found.least_eigenvalue)
            if found.least_eigenvalue < -flat
            else None
        )
        if moved is None:
            return None
        x, value, slope = moved
        status = see(x, value, slope)
        if status is not None:
            return status


def network_objective(network: ShallowNetwork, start: Point) -> Objective:
    """The training loss as a function of W (row by row), then v if it is trained, with its exact
    Hessian.
    """
    X, y, trained, size = start.problem.X, start.problem.y, start.problem.trained, network.W.size
    order = np.roll(np.arange(size + network.width), size) if trained == "vW" else np.arange(size)

    def at(x: Array) -> ShallowNetwork:
        point = unpack(start, x)
        return network.with_weights(W=point.W, v=point.v)

    def value_and_gradient(x: Array) -> tuple[float, Array]:
        point = unpack(start, x)
        return 0.5 * point.square, pack(*point.gradient)

    def times(x: Array, u: Array) -> Array:
        return pack(
            *hessian_times(
                at(x),
                X,
                y,
                u[:size].reshape(network.W.shape),
                u[size:] if trained == "vW" else None,
            )
        )

    def dense(x: Array) -> Array:
        H = hessian(at(x), X, y, trained=trained)  # v first
        return H[np.ix_(order, order)]

    first = pack(start.W, start.v if trained == "vW" else None)
    return Objective(first, value_and_gradient, times, dense, at, "network")


def _smooth_start(network: ShallowNetwork, data: HasData, trained: Trained, method: str) -> Point:
    if not network.activation.is_smooth:
        raise HypothesisError(
            f"method={method!r} needs a smooth activation, not {network.activation}; use "
            "'homotopy' or 'gradient_descent'",
            hypothesis="smooth",
            value=str(network.activation),
        )
    return pose(network, data, trained)

"""Quadratic networks trained by their convex problem, as a run like any other: what `method="auto"`
means for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from globalmin.errors import DataError
from globalmin.optimize.follow import Iterate, Monitor, Step
from globalmin.optimize.run import Run, Status, Trajectory
from globalmin.quadratic.general_activation import (
    balanced_head,
    carries_all,
    solve_general_quadratic,
)
from globalmin.quadratic.solve import MAX_ITER, QuadraticSolution, solve_quadratic
from globalmin.references import states
from globalmin.shallow.complete_square import is_quadratic, quadratic_coefficients
from globalmin.shallow.network import ShallowNetwork, residual
from globalmin.shallow.problem import Problem
from globalmin.shallow.solvers import Solver
from globalmin.shallow.trajectory import ShallowRecorder, ShallowRun

if TYPE_CHECKING:
    from globalmin.activations import Activation
    from globalmin.data import Dataset
    from globalmin.shallow.problem import HasData


def solve_from(
    network: ShallowNetwork,
    data: HasData,
    *,
    weight_decay: float = 0.0,
    max_iter: int | None = None,
    seed: int = 0,
    monitor: Monitor | None = None,
) -> ShallowRun:
    """The global minimum over the hidden weights, with the head of `network`; a local one where the
    head has too few neurons for it, with the gap in the message.
    """
    solution = solve_quadratic(
        data.X,
        data.y,
        head=network.v,
        weight_decay=weight_decay,
        max_iter=max_iter or MAX_ITER,
        seed=seed,
    )
    return _shown(_run(solution, solution.network, data, network), monitor)


def solve_fresh(
    data: Dataset,
    width: int | str = "auto",
    activation: str | Activation = "quadratic",
    *,
    weight_decay: float = 0.0,
    max_iter: int | None = None,
    seed: int = 0,
    monitor: Monitor | None = None,
) -> ShallowRun:
    """The global minimum over networks with heads +1 and -1: as many neurons as it needs, or as
    many as are asked for. The run starts at zero weights.
    """
    solution = solve_quadratic(
        data.X,
        data.y,
        width=None if width == "auto" else int(width),
        weight_decay=weight_decay,
        max_iter=max_iter or MAX_ITER,
        seed=seed,
    )
    found = solution.network
    network = without_zero_neurons(found) if width == "auto" else found
    start = found.with_weights(W=np.zeros_like(found.W))
    return _shown(_run(solution, network, data, start), monitor)


def without_zero_neurons(network: ShallowNetwork) -> ShallowNetwork:
    """The network without the neurons that are zero; one of each sign stays, because it names the
    class of the proof.
    """
    keep = np.asarray(network.W.any(axis=1))
    for sign in (1.0, -1.0):
        members = np.flatnonzero(sign * network.v > 0)
        keep[members[:1]] |= not keep[members].any()
    return ShallowNetwork(network.W[keep], network.v[keep], network.activation)


def _run(
    solution: QuadraticSolution, network: ShallowNetwork, data: HasData, start: ShallowNetwork
) -> ShallowRun:
    r = residual(network, data.X, data.y)
    size = float(np.linalg.norm(data.y))
    run = Run(
        network=network,
        status=solution.status,
        message=_message(solution),
        trajectory=_trajectory(solution, data, start),
        n_iter=solution.n_iter,
        method=solution.method.replace(" ", "_"),
        loss=0.5 * float(r @ r),
    )
    relative = float(np.linalg.norm(r)) / size if size > 0 else 0.0
    return ShallowRun.of(run, relative_residual=relative)


def _shown(run: ShallowRun, monitor: Monitor | None) -> ShallowRun:
    """The run, after its monitor has seen the end: the stages before are known only then."""
    if monitor is not None:
        monitor(Step(run.n_iter, run, lambda: run.network))
    return run


def _message(solution: QuadraticSolution) -> str:
    if solution.status is Status.CONVERGED:
        return "the gap to the lower bound is below the tolerance"
    remedy = "widen the network" if solution.method == "local" else "raise max_iter"
    return f"{solution.gap:.2g} above the lower bound; {remedy}"


def _trajectory(solution: QuadraticSolution, data: HasData, start: ShallowNetwork) -> Trajectory:
    """The start, the weights after every stage of the convex problem, and the solution; the path
    goes straight from one to the next.
    """
    found = solution.network
    problem = Problem(data.X, data.y, found.activation)
    point = problem.at(start.W, start.v)
    recorder = ShallowRecorder(point)
    recorder.record(point, 0)
    last = max(solution.n_iter, 1)
    between = [(used, W) for used, W in solution.stages if 0 < used < last]
    for used, W in [*between, (last, found.W)]:
        point = problem.at(W, found.v)
        recorder.passed(Iterate(point))
        recorder.record(point, used)
    return recorder.close()


def _covers(network: ShallowNetwork) -> bool:
    return bool(network.v.any())


@states("GKZ-C2.2")
def solve_general_from(
    network: ShallowNetwork,
    data: HasData,
    *,
    weight_decay: float = 0.0,
    max_iter: int | None = None,
    seed: int = 0,
    monitor: Monitor | None = None,
) -> ShallowRun:
    r"""The global minimum over W for $\alpha z^2 + \beta z + \gamma$, with the head of `network`:
    one least-squares problem.
    """
    _refuse_decay(weight_decay, network.activation)
    coefficients = quadratic_coefficients(network)
    solution = solve_general_quadratic(data.X, data.y, coefficients, head=network.v)
    found = network.with_weights(W=solution.network.W)
    return _shown(_run(solution, found, data, network), monitor)


def solve_general_fresh(
    data: Dataset,
    width: int | str,
    activation: Activation,
    *,
    weight_decay: float = 0.0,
    max_iter: int | None = None,
    seed: int = 0,
    monitor: Monitor | None = None,
) -> ShallowRun | None:
    """The same with heads 1 and -1, d + 1 of each or as many as are asked for; None for a width
    with fewer. The run starts at zero weights.
    """
    _refuse_decay(weight_decay, activation)
    v = balanced_head(2 * data.n_features + 2 if width == "auto" else int(width))
    if not carries_all(activation, v, data.n_features):
        return None
    start = ShallowNetwork(np.zeros((v.size, data.n_features)), v, activation)
    return solve_general_from(start, data, monitor=monitor)


def _refuse_decay(weight_decay: float, activation: Activation) -> None:
    if weight_decay:
        raise DataError(
            f"weight_decay={weight_decay!r} with {activation}: the penalized loss has a convex "
            "problem for the activation 'quadratic' only; use that, or leave weight_decay out"
        )


def _covers_general(network: ShallowNetwork) -> bool:
    return carries_all(network.activation, network.v, network.n_features)


SOLVERS = (
    Solver("quadratic", solve_from, solve_fresh, _covers),
    Solver("polynomial", solve_general_from, solve_general_fresh, _covers_general, is_quadratic),
)

"""`globalmin fit --activation quadratic`: the global minimum by the convex problem, told as a
run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from globalmin.cli.console import working
from globalmin.estimators._quadratic import without_zero_neurons
from globalmin.optimize.run import Status
from globalmin.quadratic.solve import MAX_ITER, QuadraticSolution, solve_quadratic
from globalmin.shallow.network import residual
from globalmin.shallow.trajectory import ShallowRun, ShallowTrajectory

if TYPE_CHECKING:
    from globalmin.cli.options import FitOptions
    from globalmin.data import Dataset


def solve(data: Dataset, options: FitOptions) -> ShallowRun:
    """Heads of both signs; as many neurons as the minimum needs, or as many as were asked for."""
    width = None if options.width == "auto" else int(options.width)
    with working("solving", quiet=options.quiet):
        solution = solve_quadratic(
            data.X,
            data.y,
            width=width,
            weight_decay=options.weight_decay,
            max_iter=options.max_iter or MAX_ITER,
            seed=options.seed,
        )
    network = without_zero_neurons(solution.network) if width is None else solution.network
    r = residual(network, data.X, data.y)
    size = float(np.linalg.norm(data.y))
    return ShallowRun(
        network=network,
        status=solution.status,
        message=_message(solution),
        trajectory=_endpoints(data, solution),
        n_iter=solution.n_iter,
        method=solution.method.replace(" ", "_"),
        loss=0.5 * float(r @ r),
        relative_residual=float(np.linalg.norm(r)) / size if size > 0 else 0.0,
    )


def _message(solution: QuadraticSolution) -> str:
    if solution.status is Status.CONVERGED:
        return "the gap to the lower bound is below the tolerance"
    remedy = "widen the network" if solution.method == "local" else "raise --max-iter"
    return f"{solution.gap:.2g} above the lower bound; {remedy}"


def _endpoints(data: Dataset, solution: QuadraticSolution) -> ShallowTrajectory:
    """Zero weights and the solution; the stages in between are points of another problem, not
    weights.
    """
    unknown = np.full(2, np.nan)
    losses = np.array([0.5 * float(data.y @ data.y), solution.loss])
    steps = np.array([0, max(solution.n_iter, 1)], dtype=np.int64)
    return ShallowTrajectory(
        steps, losses, unknown, unknown, unknown, unknown, np.zeros(2, dtype=np.int64)
    )

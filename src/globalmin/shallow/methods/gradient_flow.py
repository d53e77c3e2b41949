"""Gradient flow on the loss of a shallow network, as a method of `train`: each step of an adaptive
solver is an iterate.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from globalmin._options import one_of
from globalmin._types import Array
from globalmin.optimize.follow import Iterate
from globalmin.optimize.gradient_flow import METHODS
from globalmin.optimize.trust_region import DENSE
from globalmin.shallow.degenerate import pose
from globalmin.shallow.methods.lbfgs import unpack
from globalmin.shallow.methods.saddle_escape import network_objective
from globalmin.shallow.trajectory import Options, follow, shallow_watch

if TYPE_CHECKING:
    from globalmin.optimize.objective import Objective
    from globalmin.shallow.network import ShallowNetwork
    from globalmin.shallow.problem import HasData, Point
    from globalmin.shallow.trajectory import ShallowRun


MAX_ITER = 20_000
IMPLICIT = ("Radau", "BDF")  # the solvers that are given the Hessian
LAST_TIME = 1e100  # a flow has no end of its own; tolerance, patience or the iteration limit end it


def gradient_flow(
    network: ShallowNetwork,
    data: HasData,
    *,
    solver: str | None = None,
    rtol: float = 1e-6,
    atol: float = 1e-9,
    **options: Unpack[Options],
) -> ShallowRun:
    r"""Train by following the flow $\dot\theta = -\nabla L(\theta)$.

    Parameters
    ----------
    network, data : the start and the data.
    solver : of scipy.integrate. By default "BDF", which takes long steps when the flow has become
        slow, for a smooth activation and at most 500 parameters; else "DOP853", whose steps stay of
        the order of one over the largest curvature.
    rtol, atol : tolerances of the solver on the parameters.
    options : as in `globalmin.train`; an iteration is an accepted step of the solver. The
        times are not recorded; use `globalmin.gradient_flow` to measure along a flow.

    Notes
    -----
    Cost of a step: a few gradients; with "BDF" also a Hessian and a factorization now and then,
    which grow with n p^2 + p^3.
    """
    if solver is not None:
        one_of("solver", solver, METHODS)
    start = pose(network, data, options.get("trained", "W"))
    objective = network_objective(network, start)
    small = network.activation.is_smooth and objective.start.size <= DENSE
    chosen = solver or ("BDF" if small else "DOP853")
    watch = shallow_watch(
        network, start, options, method="gradient_flow", default_max_iter=MAX_ITER
    )
    exact = chosen in IMPLICIT and network.activation.is_smooth
    return follow(
        watch, flow_steps(start, objective, chosen, {"rtol": rtol, "atol": atol}, exact=exact)
    )


def flow_steps(
    start: Point, objective: Objective, solver: str, tolerances: dict[str, float], *, exact: bool
) -> Iterator[Iterate[Point]]:
    """The accepted steps of the solver, until it fails or the flow stands still; `exact` gives it
    the Hessian of the loss.
    """
    import scipy.integrate

    def slope(_time: float, theta: Array) -> Array:
        return -objective.value_and_gradient(theta)[1]

    further: dict[str, Any] = dict(tolerances)
    if exact:
        further["jac"] = lambda _time, theta: -objective.hessian(theta)
    flow = getattr(scipy.integrate, solver)(slope, 0.0, objective.start, LAST_TIME, **further)
    while flow.status == "running":
        before = flow.y.copy()
        flow.step()
        if flow.status == "failed" or np.array_equal(before, flow.y):
            return
        yield Iterate(unpack(start, flow.y.copy()))

"""Gradient descent on L = (1/2) sum of r_i^2 with a constant step: the method the theorems speak
of.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Unpack

import numpy as np

from globalmin.errors import DataError
from globalmin.optimize.follow import Iterate
from globalmin.references import states
from globalmin.shallow.degenerate import pose
from globalmin.shallow.step_sizes import theory_step
from globalmin.shallow.trajectory import Options, follow, shallow_watch

if TYPE_CHECKING:
    from globalmin.shallow.network import ShallowNetwork
    from globalmin.shallow.problem import HasData, Point
    from globalmin.shallow.trajectory import ShallowRun

MAX_ITER = 100_000
# steps without a new smallest loss after which rounding, not the step size, is taken to be the
# reason
PATIENCE = 1_000


@states("OS-T2.1", "OS-T2.3")
def gradient_descent(
    network: ShallowNetwork,
    data: HasData,
    *,
    step_size: float | str | None = None,
    **options: Unpack[Options],
) -> ShallowRun:
    """Train by theta <- theta - eta grad L, all trained weights with one step.

    Parameters
    ----------
    network, data : the start and the data.
    step_size : eta, or "theory" (default) for the step of the theorem that applies, see
        `step_sizes.theory_step`. The loss is half the *sum* of squares: a step for the mean is n
        times larger.
    options : as in `globalmin.train`.

    Theory
    ------
    OS-T2.1, OS-T6.2 (smooth), OS-T2.3, OS-T6.3 (ReLU); linear convergence from any start where
    OS-C1 holds.
    """
    start = pose(network, data, options.get("trained", "W"))
    eta = _theory(network, start) if step_size in (None, "theory") else check_step(step_size)
    watch = shallow_watch(
        network, start, options, method="gradient_descent", default_max_iter=MAX_ITER
    )
    return replace(follow(watch, steps(start, eta)), step_size=eta)


def _theory(network: ShallowNetwork, start: Point) -> float:
    r"""The step of the theorem that applies; $1/\|\Phi\|^2$ for the head alone, whose loss is a
    convex quadratic function with this Lipschitz constant of its gradient.
    """
    if start.problem.moves_W:
        return theory_step(network, start)
    largest = float(np.linalg.norm(start.features, 2)) ** 2
    return 1.0 / largest if largest > 0.0 else 1.0


def steps(point: Point, eta: float) -> Iterator[Iterate[Point]]:
    """Gradient steps until the loss has found no new minimum for a thousand of them."""
    lowest, since = point.norm, 0
    while since < PATIENCE:
        point = point.moved(point.gradient, -eta)
        yield Iterate(point)
        lowest, since = (point.norm, 0) if point.norm < lowest else (lowest, since + 1)


def check_step(step_size: float | str | None) -> float:
    """A given step as a positive finite float."""
    try:
        eta = float(step_size)  # pyright: ignore[reportArgumentType]
    except (TypeError, ValueError):
        eta = float("nan")
    if not 0.0 < eta < float("inf"):
        raise DataError(
            f"step_size={step_size!r} is not usable; give a positive number or 'theory'"
        )
    return eta

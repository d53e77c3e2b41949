r"""Stochastic gradient descent, $\theta \leftarrow \theta - \eta\, r_g \nabla f(x_g)$ with g drawn
uniformly (OS-T2.6).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Unpack

import numpy as np

from globalmin.errors import DataError
from globalmin.optimize.follow import Iterate
from globalmin.references import states
from globalmin.shallow.degenerate import pose
from globalmin.shallow.methods.gradient_descent import check_step
from globalmin.shallow.problem import Point, Problem, length
from globalmin.shallow.step_sizes import sgd_step
from globalmin.shallow.trajectory import Options, follow, shallow_watch

if TYPE_CHECKING:
    from globalmin.shallow.network import ShallowNetwork
    from globalmin.shallow.problem import HasData
    from globalmin.shallow.trajectory import ShallowRun

MAX_ITER = 1_000_000


@states("OS-T2.6")
def sgd(
    network: ShallowNetwork,
    data: HasData,
    *,
    step_size: float | str | None = None,
    batch_size: int = 1,
    **options: Unpack[Options],
) -> ShallowRun:
    r"""Train by $\theta \leftarrow \theta - \frac{\eta}{s} \sum_g r_g \nabla f(x_g)$ over s samples
    drawn with replacement.

    Parameters
    ----------
    network, data : the start and the data.
    step_size : eta; "theory" for the (very small) step of OS-T2.6; by default the largest step for
        which no single sample can overshoot, $1/\max_i \|J_i\|^2$ with $\|J_i\| \le B \|v\|
        \|x_i\|$, measured at the start if phi' is unbounded or v is trained.
    batch_size : s.
    options : as in `globalmin.train`. `max_iter` counts updates; the full loss is looked
        at once per n/s updates.

    Theory
    ------
    OS-T2.6 (s = 1).
    """
    start = pose(network, data, options.get("trained", "W"))
    if int(batch_size) != batch_size or batch_size < 1:
        raise DataError(f"batch_size={batch_size!r} must be a whole number >= 1")
    rng = np.random.default_rng(options.get("seed", 0))
    watch = shallow_watch(network, start, options, method="sgd", default_max_iter=MAX_ITER)
    return follow(
        watch,
        steps(
            start,
            _step(network, start, step_size),
            batch=int(batch_size),
            limit=watch.max_iter,
            rng=rng,
        ),
    )


def _step(network: ShallowNetwork, start: Point, step_size: float | str | None) -> float:
    if step_size == "theory":
        return sgd_step(start.problem.X, start.problem.y, network.activation)
    return check_step(step_size) if step_size is not None else _sample_step(network, start)


def _sample_step(network: ShallowNetwork, start: Point) -> float:
    X, B = start.problem.X, float(network.activation.supremum(1))
    if start.problem.trained == "W" and math.isfinite(B):
        largest = B**2 * float(network.v @ network.v) * float(np.max(np.sum(X**2, axis=1)))
    else:
        squares = np.sum(start.slopes**2, axis=1) * np.sum(X**2, axis=1)
        largest = float(
            np.max(
                squares
                + (np.sum(start.features**2, axis=1) if start.problem.trained == "vW" else 0.0)
            )
        )
    return 1.0 / largest if largest > 0 else 1.0


def steps(
    point: Point, eta: float, *, batch: int, limit: int, rng: np.random.Generator
) -> Iterator[Iterate[Point]]:
    """Updates; one iterate per pass over as many samples as there are (the last pass ends at the
    iteration limit).
    """
    problem, done = point.problem, 0
    while True:
        updates = max(1, min(math.ceil(len(problem.y) / batch), limit - done))
        travel = 0.0
        for chosen in rng.integers(len(problem.y), size=(updates, batch)):
            direction = _on_samples(problem, point, chosen).gradient
            travel += eta / batch * length(direction)
            point = point.moved(direction, -eta / batch)
        done += updates
        yield Iterate(point, updates, travel)


def _on_samples(problem: Problem, point: Point, chosen: np.ndarray) -> Point:
    part = Problem(problem.X[chosen], problem.y[chosen], problem.activation, problem.trained)
    return part.at(point.W, point.v)

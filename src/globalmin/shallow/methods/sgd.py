r"""Stochastic gradient descent, $\theta \leftarrow \theta - \eta\, r_g \nabla f(x_g)$ with g drawn
uniformly (OS-T2.6, OS-C4).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Unpack

import numpy as np

from globalmin.errors import DataError, HypothesisError
from globalmin.optimize.follow import Iterate
from globalmin.references import states
from globalmin.shallow.degenerate import pose
from globalmin.shallow.methods.gradient_descent import check_step
from globalmin.shallow.problem import Point, length
from globalmin.shallow.sgd_guarantee import guarantee_at
from globalmin.shallow.step_sizes import sgd_step
from globalmin.shallow.trajectory import Options, follow, shallow_watch

if TYPE_CHECKING:
    from globalmin.shallow.methods.sgd_kernel import Sampler
    from globalmin.shallow.network import ShallowNetwork
    from globalmin.shallow.problem import HasData
    from globalmin.shallow.trajectory import ShallowRun

MAX_ITER = 1_000_000
EACH = 50  # after so many passes the full loss is looked at after each 50th part of the updates
MAX_PASS = 65_536  # updates between two looks at most: Ctrl-C waits for them


@states("OS-T2.6", "OS-C4")
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
    step_size : eta; "theory" for the (very small) step of OS-T2.6, which speaks of random starts;
        "local" for the step of OS-C4 at these weights, see `sgd_guarantee`; by default the largest
        step for which no single sample can overshoot, $1/\max_i \|J_i\|^2$ with $\|J_i\| \le B
        \|v\| \|x_i\|$, measured at the start if phi' is unbounded or v is trained.
    batch_size : s.
    options : as in `globalmin.train`. `max_iter` counts updates; the full loss is looked
        at once per n/s updates, and after 50 passes whenever 2 per cent more are made (a look
        costs as much as a hundred updates).

    Theory
    ------
    OS-T2.6 and OS-C4 (s = 1).
    """
    start = pose(network, data, options.get("trained", "W"))
    if int(batch_size) != batch_size or batch_size < 1:
        raise DataError(f"batch_size={batch_size!r} must be a whole number >= 1")
    rng = np.random.default_rng(options.get("seed", 0))
    watch = shallow_watch(network, start, options, method="sgd", default_max_iter=MAX_ITER)
    eta = _step(network, start, step_size)
    plan = {"batch": int(batch_size), "limit": watch.max_iter, "rng": rng}
    return follow(watch, steps(start, eta, sampler=_sampler(network, start, eta), **plan))


def _step(network: ShallowNetwork, start: Point, step_size: float | str | None) -> float:
    if step_size == "theory":
        if start.problem.trained != "W":
            raise HypothesisError(
                f"OS-T2.6 moves the hidden weights alone; with trained={start.problem.trained!r} "
                "give step_size as a number, or 'local' for OS-C4",
                hypothesis="trained='W'",
            )
        X, y = start.problem.X, start.problem.y
        return sgd_step(X, y, network.activation, n_weights=network.W.size)
    if step_size == "local":
        return _local_step(network, start)
    return check_step(step_size) if step_size is not None else sample_step(network, start)


def _local_step(network: ShallowNetwork, start: Point) -> float:
    if not start.problem.moves_W:
        raise HypothesisError(
            "step_size='local' is for moving hidden weights; for trained='v' leave it out",
            hypothesis="trained='W' or 'vW'",
        )
    found = guarantee_at(network, start)
    if not found.failure < 1.0:
        raise HypothesisError(
            "step_size='local': OS-C4 bounds the probability of leaving the ball around these "
            "weights by 1 only, which promises nothing; train further first (until='descent', or a "
            "smaller tol), or give a number",
            hypothesis="P(T < infinity) < 1",
            value=found.failure,
        )
    return found.step_size


def sample_step(network: ShallowNetwork, start: Point) -> float:
    r"""The per-sample rule $\eta = 1/\max_i\|J_i\|^2$: no update carries the residual of its own
    sample beyond zero, to first order.
    """
    X, B, problem = start.problem.X, float(network.activation.supremum(1)), start.problem
    if problem.trained == "W" and math.isfinite(B):
        largest = B**2 * float(network.v @ network.v) * float(np.max(np.sum(X**2, axis=1)))
    else:
        squares = np.zeros(len(X))
        if problem.moves_W:
            squares += np.sum(start.slopes**2, axis=1) * np.sum(X**2, axis=1)
        if problem.moves_v:
            squares += np.sum(start.features**2, axis=1)
        largest = float(np.max(squares))
    return 1.0 / largest if largest > 0 else 1.0


def _sampler(network: ShallowNetwork, start: Point, eta: float) -> Sampler | None:
    """The compiled loop, or None for an activation that it does not know."""
    from globalmin.shallow.methods.sgd_kernel import CODES, Rule, Sampler

    phi, problem = network.activation, start.problem
    if phi.name not in CODES:
        return None
    parameter = 0.0 if phi.parameter is None else float(phi.parameter)
    rule = Rule(CODES[phi.name], parameter, eta, problem.moves_W, problem.moves_v, math.inf)
    return Sampler(problem.X, problem.y, start.W, start.v, rule)


def steps(
    point: Point,
    eta: float,
    *,
    batch: int,
    limit: int,
    rng: np.random.Generator,
    sampler: Sampler | None = None,
) -> Iterator[Iterate[Point]]:
    """Updates; one iterate per pass over as many samples as there are, later per so many passes as
    are a 50th part (the last one ends at the iteration limit). With a `sampler` the updates are
    compiled, and the same up to rounding.
    """
    problem, done = point.problem, 0
    one_pass = math.ceil(len(problem.y) / batch)
    while True:
        wanted = one_pass * max(1, done // (EACH * one_pass))
        updates = max(1, min(wanted, MAX_PASS, limit - done))
        picks = rng.integers(len(problem.y), size=(updates, batch))
        if sampler is None:
            point, travel = _updated(point, eta / batch, picks)
        else:
            travel, _ = sampler.run(picks)
            point = _at(point, sampler)
        done += updates
        yield Iterate(point, updates, travel)


def _at(point: Point, sampler: Sampler) -> Point:
    """The point with the weights of the sampler."""
    problem = point.problem
    if not problem.moves_W:
        return point.with_head(sampler.v)
    return problem.at(sampler.W, sampler.v if problem.moves_v else point.v)


def _updated(point: Point, eta: float, picks: np.ndarray) -> tuple[Point, float]:
    """The updates in numpy, for every activation: the reference of the compiled loop."""
    problem, travel = point.problem, 0.0
    W, v, phi = point.W.copy(), point.v.copy(), point.problem.activation
    for chosen in picks:
        x = problem.X[chosen]
        z = x @ W.T
        features = phi(z)
        r = features @ v - problem.y[chosen]
        in_W = (phi.derivative(z) * v * r[:, None]).T @ x if problem.moves_W else np.zeros((1, 1))
        in_v = features.T @ r if problem.moves_v else None
        travel += eta * length((in_W, in_v))
        if problem.moves_W:
            W -= eta * in_W
        if in_v is not None:
            v -= eta * in_v
    return problem.at(W, v), travel

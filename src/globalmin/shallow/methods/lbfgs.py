"""L-BFGS from scipy: no n x n array, for data too large for Levenberg-Marquardt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

import numpy as np

from globalmin._types import Array
from globalmin.optimize.follow import Iterate, Watch
from globalmin.optimize.run import Status
from globalmin.shallow.degenerate import pose
from globalmin.shallow.trajectory import Options, shallow_run, shallow_watch

if TYPE_CHECKING:
    from globalmin.shallow.network import ShallowNetwork
    from globalmin.shallow.problem import HasData, Point
    from globalmin.shallow.trajectory import ShallowRun


MAX_ITER = 20_000


def lbfgs(
    network: ShallowNetwork, data: HasData, *, memory: int = 30, **options: Unpack[Options]
) -> ShallowRun:
    """Train by scipy's L-BFGS-B without bounds.

    Parameters
    ----------
    network, data : the start and the data.
    memory : number of stored pairs.
    options : as in `globalmin.train`.
    """
    start = pose(network, data, options.get("trained", "W"))
    watch = shallow_watch(network, start, options, method="lbfgs", default_max_iter=MAX_ITER)
    return shallow_run(watch, watch.run(lambda: _minimize(watch, start, memory=memory)))


def _minimize(watch: Watch[Point, ShallowNetwork], start: Point, *, memory: int) -> Status | None:
    from scipy.optimize import minimize

    ended: list[Status] = []
    unit = max(
        start.problem.scale**2, np.finfo(np.float64).tiny
    )  # scipy's tests are partly absolute: the loss is given in units of ||y||^2

    def value_and_gradient(theta: Array) -> tuple[float, Array]:
        point = unpack(start, theta)
        value = 0.5 * point.norm**2 / unit
        return (value if np.isfinite(value) else np.inf), pack(*point.gradient) / unit

    def callback(theta: Array) -> None:
        status = watch.see(Iterate(unpack(start, theta)))
        if status is not None:
            ended.append(status)
            raise StopIteration

    settings = {
        "maxcor": memory,
        "maxiter": watch.max_iter,
        "maxfun": 10 * watch.max_iter + 100,
        "ftol": 0.0,
        "gtol": 0.0,
        "maxls": 50,
    }
    minimize(
        value_and_gradient,
        pack(start.W, start.v if start.problem.trained == "vW" else None),
        jac=True,
        method="L-BFGS-B",
        callback=callback,
        options=settings,
    )
    return ended[0] if ended else None


def pack(in_W: Array, in_v: Array | None) -> Array:
    """One vector of all trained weights."""
    return in_W.ravel() if in_v is None else np.concatenate([in_W.ravel(), in_v])


def unpack(start: Point, theta: Array) -> Point:
    """The point of such a vector."""
    size = start.W.size
    v = start.v if theta.size == size else theta[size:].copy()
    return start.problem.at(theta[:size].reshape(start.W.shape).copy(), v)

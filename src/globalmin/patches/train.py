r"""Training of one convolutional filter $f(w,Z) = \frac1k\sum_i\sigma(w^TZ_i)$: gradient descent,
SGD, least squares in cells.

The steps of DU-T6.2 and DU-T6.3 need the teacher and the constants of the patch law. A start at
which no patch is active is dead: its gradient is zero for ever. It is detected before the first
step and whenever a run gets there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Literal, Unpack, get_args

import numpy as np

from globalmin._options import one_of
from globalmin._types import Array, ArrayLike
from globalmin.errors import DataError
from globalmin.optimize.follow import (
    Iterate,
    Options,
    Recorder,
    Watch,
    Watching,
    Weighed,
    every_step,
    follow,
)
from globalmin.optimize.run import Run, Status, Trajectory
from globalmin.patches import model
from globalmin.patches.rates import angle_limit, max_step
from globalmin.references import states

if TYPE_CHECKING:
    from globalmin.patches.constants import FilterConstants

    Step = Callable[[Array, float], float]
    Filter = Weighed[Array]
    Path = Iterator[Iterate[Filter]]

Method = Literal["auto", "gradient_descent", "sgd", "least_squares"]
METHODS: tuple[Method, ...] = get_args(Method)


@dataclass(frozen=True)
class FilterTrajectory(Trajectory):
    """The loss (1/2n) sum of squared residuals at the start and after every step (every epoch for
    SGD), and the distance |w_t - w*| to the teacher, NaN if it was not given.
    """

    distance: Array


@dataclass(frozen=True, eq=False, kw_only=True)
class FilterRun(Run[Array]):
    """A trained filter.

    Attributes
    ----------
    network : the last filter; also called `w`.
    n_iter : steps (epochs for SGD).
    dead_starts, starts : random starts that were dead, and all that were drawn; `fit_random_start`
        fills them in.
    """

    trajectory: FilterTrajectory
    dead_starts: int = 0
    starts: int = 1

    @property
    def w(self) -> Array:
        """The filter."""
        return self.network

    @property
    def distances(self) -> Array:
        """Distances to the teacher at the recorded steps; empty if it was not given."""
        known = self.trajectory.distance
        return known[~np.isnan(known)]


@states("DU-M6")
def fit_filter(
    Z: ArrayLike,
    y: ArrayLike,
    w0: ArrayLike,
    *,
    method: Method = "gradient_descent",
    step_size: float | tuple[float, float] | str | None = None,
    max_iter: int = 1000,
    tol: float = 1e-12,
    batch_size: int = 32,
    seed: int = 0,
    w_star: ArrayLike | None = None,
    constants: FilterConstants | None = None,
    **options: Unpack[Watching],
) -> FilterRun:
    r"""Train a filter on patches n x k x p from the start `w0`.

    Parameters
    ----------
    method : "gradient_descent", "sgd" (an iteration is an epoch), "least_squares" (least squares
        for the current activity pattern, with step halving; not in the thesis), or "auto": gradient
        descent, then least squares.
    step_size : a number; two of them, the second from the moment on when the loss is half of its
        start (two stages: the theorem allows larger steps closer to the teacher); "theory" for the
        largest step of DU-T6.3 at every step, which needs `w_star` and `constants`; None for
        $1/\lambda_{max}$ of the second moment of all patches.
    tol : the run ends when the loss is at most tol times half the mean of y squared.
    options : verbose, throw, monitor as in `train`.
    """
    Z, w = model.as_patches(Z, w0)
    y = _labels(y, len(Z))
    one_of("method", method, METHODS)
    if max_iter < 1 or batch_size < 1 or not tol >= 0.0 or not np.isfinite(w).all():
        raise DataError(
            f"max_iter={max_iter!r}, batch_size={batch_size!r}, tol={tol!r}: give max_iter and "
            "batch_size >= 1, tol >= 0 and a finite w0"
        )
    truth = None if w_star is None else model.as_patches(Z, w_star)[1]
    step = _step_rule(Z, y, w, step_size, (truth, constants))
    start = Weighed(w, model.filter_loss(Z, y, w))
    if method == "least_squares":
        path = _cell_path(Z, y, start)
    elif method == "sgd":
        path = _sgd_path(Z, y, start, step, (batch_size, seed))
    elif method == "gradient_descent":
        path = _gradient_path(Z, y, start, step)
    else:
        path = _gradient_then_cells(Z, y, start, step, max_iter)
    limit = 2 * max_iter if method == "auto" else max_iter
    target, following = tol * 0.5 * float(np.mean(y**2)), Options(max_iter=limit, **options)
    watch = Watch(
        start,
        lambda point: point.network,
        Recorder(FilterTrajectory, _distance(truth), gap=every_step),
        following,
        method=method,
        default_max_iter=limit,
        reached=lambda point, _: _reached(Z, point, target),
        keeps_last=True,
    )
    return FilterRun.of(follow(watch, path))


def fit_random_start(
    Z: ArrayLike, y: ArrayLike, *, restarts: int = 10, seed: int = 0, **options: object
) -> FilterRun:
    """Train from random directions, scaled to fit the labels best; dead directions are drawn again
    and counted.

    Of up to `restarts` + 1 living starts the first that converges is returned, else the one of
    least loss. If all draws are dead (at most 100 times as many are tried) the status says so.
    """
    Z = np.asarray(Z, dtype=np.float64)
    if Z.ndim != 3 or 0 in Z.shape or restarts < 0:
        raise DataError(
            f"Z has shape {Z.shape}, restarts={restarts}; give patches (n, k, p) and restarts >= 0"
        )
    rng, y = np.random.default_rng(seed), _labels(y, len(Z))
    best, dead, alive, last = None, 0, 0, np.zeros(Z.shape[2])
    while alive <= restarts and dead < 100 * (restarts + 1):
        last = _scaled(Z, y, rng.standard_normal(Z.shape[2]))
        if model.is_dead(Z, last):
            dead += 1
            continue
        alive += 1
        fit = fit_filter(Z, y, last, seed=int(rng.integers(2**31)), **options)  # pyright: ignore[reportArgumentType]
        best = fit if best is None or fit.loss < best.loss else best
        if fit.status.is_success or fit.status is Status.INTERRUPTED:
            break
    if best is None:
        best = fit_filter(Z, y, last, **options)  # pyright: ignore[reportArgumentType]
    return replace(best, dead_starts=dead, starts=dead + alive)


def _scaled(Z: Array, y: Array, direction: Array) -> Array:
    """The multiple of a direction that fits the labels best; a positive one in any case."""
    output = model.filter_outputs(Z, direction)
    size, match = float(output @ output), float(output @ y)
    return (
        direction * (match / size)
        if size > 0.0 and match > 0.0
        else direction / np.linalg.norm(direction)
    )


def _reached(Z: Array, point: Filter, target: float) -> Status | None:
    if point.loss <= target:
        return Status.CONVERGED
    return Status.DEAD if model.is_dead(Z, point.network) else None


def _distance(truth: Array | None) -> Callable[[Filter, int], tuple[float]]:
    if truth is None:
        return lambda point, _: (math.nan,)
    return lambda point, _: (float(np.linalg.norm(point.network - truth)),)


def _gradient_path(Z: Array, y: Array, point: Filter, step: Step) -> Path:
    w, value = point.network, point.loss
    while True:
        w = w - step(w, value) * model.filter_gradient(Z, y, w)
        value = model.filter_loss(Z, y, w)
        yield Iterate(Weighed(w, value))


def _sgd_path(Z: Array, y: Array, point: Filter, step: Step, batches: tuple[int, int]) -> Path:
    size, seed = batches
    w, value, rng = point.network, point.loss, np.random.default_rng(seed)
    while True:
        order = rng.permutation(len(Z))
        for first in range(0, len(Z), size):
            batch = order[first : first + size]
            w = w - step(w, value) * model.filter_gradient(Z[batch], y[batch], w)
        value = model.filter_loss(Z, y, w)
        yield Iterate(Weighed(w, value))


def _cell_path(Z: Array, y: Array, point: Filter) -> Path:
    """Least squares for the active patches of the moment; inside a cell the output is linear in w.
    Ends without a decrease.
    """
    w, value = point.network, point.loss
    while True:
        aim = np.linalg.lstsq(model.active_patches(Z, w), y, rcond=None)[0]
        tries = ((1.0 - t) * w + t * aim for t in 0.5 ** np.arange(20))
        better = next(
            (
                (z, new)
                for z in tries
                if (new := model.filter_loss(Z, y, z)) < value * (1.0 - 1e-12)
            ),
            None,
        )
        if better is None:
            return
        w, value = better
        yield Iterate(Weighed(w, value))


def _gradient_then_cells(Z: Array, y: Array, point: Filter, step: Step, steps: int) -> Path:
    for iterate in islice(_gradient_path(Z, y, point, step), steps):
        point = iterate.point
        yield iterate
    yield from _cell_path(Z, y, point)


@states("DU-T6.2", "DU-T6.3")
def _step_rule(
    Z: Array,
    y: Array,
    w0: Array,
    step_size: float | tuple[float, float] | str | None,
    theory: tuple[Array | None, FilterConstants | None],
) -> Step:
    truth, constants = theory
    if isinstance(step_size, str):
        if step_size != "theory" or truth is None or constants is None:
            raise DataError(
                f"step_size={step_size!r}: only 'theory' has a name, and it needs w_star and "
                "constants"
            )
        return lambda w, value: max(max_step(constants, angle_limit(w, truth)), 0.0)
    if step_size is None:
        flat = Z.reshape(-1, Z.shape[2])
        top = float(np.linalg.eigvalsh(flat.T @ flat / len(flat))[-1])
        step_size = 1.0 / top if top > 0.0 else 1.0
    first, second = step_size if isinstance(step_size, tuple) else (step_size, step_size)
    if not (0.0 < first < math.inf and 0.0 < second < math.inf):
        raise DataError(
            f"step_size={step_size!r}: give a positive number, or two of them for two stages"
        )
    half = 0.5 * model.filter_loss(Z, y, w0)
    return lambda w, value: first if value > half else second


def _labels(y: ArrayLike, n: int) -> Array:
    y = np.asarray(y, dtype=np.float64)
    if y.shape != (n,) or not np.isfinite(y).all():
        raise DataError(f"y has shape {y.shape}; give one finite label for each of the {n} samples")
    return y

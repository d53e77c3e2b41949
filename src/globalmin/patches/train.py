r"""Training of one convolutional filter $f(w,Z) = \frac1k\sum_i\sigma(w^TZ_i)$: gradient descent,
SGD, least squares in cells.

The steps of DU-T6.2 and DU-T6.3 need the teacher and the constants of the patch law. A start at
which no patch is active is dead: its gradient is zero for ever. It is detected before the first
step and whenever a run gets there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from globalmin._types import Array, ArrayLike
from globalmin.errors import DataError
from globalmin.patches.model import (
    active_patches,
    as_patches,
    filter_gradient,
    filter_loss,
    filter_outputs,
    is_dead,
)
from globalmin.patches.rates import angle_bound, max_step
from globalmin.references import states

if TYPE_CHECKING:
    from globalmin.patches.constants import FilterConstants

    Step = Callable[[Array, float], float]
    Path = Iterator[tuple[Array, float]]

METHODS = ("auto", "gradient_descent", "sgd", "least_squares")


class FilterStatus(StrEnum):
    """How the training of a filter ended."""

    CONVERGED = "converged"
    MAX_ITER = "max_iter"
    STALLED = "stalled"
    DEAD = "dead"


MESSAGES = {
    FilterStatus.CONVERGED: "the loss reached the tolerance",
    FilterStatus.MAX_ITER: "the iteration limit was reached before the tolerance",
    FilterStatus.STALLED: "no further decrease was found although the tolerance is not reached",
    FilterStatus.DEAD: "no patch is active (w . Z_i <= 0 for all patches), so the gradient is "
    "zero: start from another filter",
}


@dataclass(frozen=True)
class FilterFit:
    """A trained filter.

    Attributes
    ----------
    w : the last filter. losses : (1/2n) sum of squared residuals at the start and after every step
        (every epoch for SGD).
    distances : |w_t - w*| at the same moments if the teacher was given, else empty. status, message
        : how the run ended.
    dead_starts, starts : random starts that were dead, and all that were drawn; `fit_random_start`
        fills them in.
    """

    w: Array
    losses: Array
    status: FilterStatus
    distances: Array = field(default_factory=lambda: np.empty(0))
    dead_starts: int = 0
    starts: int = 1

    @property
    def loss(self) -> float:
        """The last loss."""
        return float(self.losses[-1])

    @property
    def n_iter(self) -> int:
        """Steps (epochs for SGD)."""
        return len(self.losses) - 1

    @property
    def message(self) -> str:
        """The status in words."""
        return MESSAGES[self.status]


@states("DU-M6")
def fit_filter(
    Z: ArrayLike,
    y: ArrayLike,
    w0: ArrayLike,
    *,
    method: str = "gradient_descent",
    step_size: float | tuple[float, float] | str | None = None,
    max_iter: int = 1000,
    tol: float = 1e-12,
    batch_size: int = 32,
    seed: int = 0,
    w_star: ArrayLike | None = None,
    constants: FilterConstants | None = None,
) -> FilterFit:
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
    """
    Z, w = as_patches(Z, w0)
    y = _labels(y, len(Z))
    if (
        method not in METHODS
        or max_iter < 1
        or batch_size < 1
        or not tol >= 0.0
        or not np.isfinite(w).all()
    ):
        raise DataError(
            f"method={method!r} must be one of {METHODS}; max_iter, batch_size >= 1; tol >= 0; w0 "
            "finite"
        )
    truth = None if w_star is None else as_patches(Z, w_star)[1]
    step = _step_rule(Z, y, w, step_size, (truth, constants))
    path: Path
    if method == "least_squares":
        path = _cell_path(Z, y, w)
    elif method == "sgd":
        path = _sgd_path(Z, y, w, step, (batch_size, seed))
    else:
        path = _gradient_path(Z, y, w, step)
    fit = _follow(path, Z, y, (max_iter, tol), truth)
    if method != "auto" or fit.status is not FilterStatus.MAX_ITER:
        return fit
    end = _follow(_cell_path(Z, y, fit.w), Z, y, (max_iter, tol), truth)
    joined = np.concatenate([fit.losses, end.losses[1:]])
    return replace(end, losses=joined, distances=np.concatenate([fit.distances, end.distances[1:]]))


def fit_random_start(
    Z: ArrayLike, y: ArrayLike, *, restarts: int = 10, seed: int = 0, **options: object
) -> FilterFit:
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
        if is_dead(Z, last):
            dead += 1
            continue
        alive += 1
        fit = fit_filter(Z, y, last, seed=int(rng.integers(2**31)), **options)  # pyright: ignore[reportArgumentType]
        best = fit if best is None or fit.loss < best.loss else best
        if fit.status is FilterStatus.CONVERGED:
            break
    if best is None:
        best = fit_filter(Z, y, last, **options)  # pyright: ignore[reportArgumentType]
    return replace(best, dead_starts=dead, starts=dead + alive)


def _scaled(Z: Array, y: Array, direction: Array) -> Array:
    """The multiple of a direction that fits the labels best; a positive one in any case."""
    output = filter_outputs(Z, direction)
    size, match = float(output @ output), float(output @ y)
    return (
        direction * (match / size)
        if size > 0.0 and match > 0.0
        else direction / np.linalg.norm(direction)
    )


def _follow(
    path: Path, Z: Array, y: Array, limits: tuple[int, float], truth: Array | None
) -> FilterFit:
    """Walk a path of (filter, loss) until it converges, dies, ends or is long enough."""
    max_iter, tol = limits
    target = tol * 0.5 * float(np.mean(y**2))
    losses, distances, status, w = [], [], FilterStatus.STALLED, np.empty(0)
    for t, (w, value) in enumerate(path):
        losses.append(value)
        if truth is not None:
            distances.append(float(np.linalg.norm(w - truth)))
        if not math.isfinite(value):
            raise DataError("step_size is too large: the loss overflowed; give a smaller step")
        if value <= target:
            status = FilterStatus.CONVERGED
        elif is_dead(Z, w):
            status = FilterStatus.DEAD
        elif t >= max_iter:
            status = FilterStatus.MAX_ITER
        else:
            continue
        break
    return FilterFit(w, np.array(losses), status, np.array(distances))


def _gradient_path(Z: Array, y: Array, w: Array, step: Step) -> Path:
    while True:
        value = filter_loss(Z, y, w)
        yield w, value
        w = w - step(w, value) * filter_gradient(Z, y, w)


def _sgd_path(Z: Array, y: Array, w: Array, step: Step, batches: tuple[int, int]) -> Path:
    size, seed = batches
    rng = np.random.default_rng(seed)
    while True:
        value = filter_loss(Z, y, w)
        yield w, value
        order = rng.permutation(len(Z))
        for first in range(0, len(Z), size):
            batch = order[first : first + size]
            w = w - step(w, value) * filter_gradient(Z[batch], y[batch], w)


def _cell_path(Z: Array, y: Array, w: Array) -> Path:
    """Least squares for the active patches of the moment; inside a cell the output is linear in w.
    Ends without a decrease.
    """
    value = filter_loss(Z, y, w)
    while True:
        yield w, value
        aim = np.linalg.lstsq(active_patches(Z, w), y, rcond=None)[0]
        tries = ((1.0 - t) * w + t * aim for t in 0.5 ** np.arange(20))
        better = next(
            ((z, new) for z in tries if (new := filter_loss(Z, y, z)) < value * (1.0 - 1e-12)), None
        )
        if better is None:
            return
        w, value = better


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
        return lambda w, value: max(max_step(constants, angle_bound(w, truth)), 0.0)
    if step_size is None:
        flat = Z.reshape(-1, Z.shape[2])
        top = float(np.linalg.eigvalsh(flat.T @ flat / len(flat))[-1])
        step_size = 1.0 / top if top > 0.0 else 1.0
    first, second = step_size if isinstance(step_size, tuple) else (step_size, step_size)
    if not (0.0 < first < math.inf and 0.0 < second < math.inf):
        raise DataError(
            f"step_size={step_size!r}: give a positive number, or two of them for two stages"
        )
    half = 0.5 * filter_loss(Z, y, w0)
    return lambda w, value: first if value > half else second


def _labels(y: ArrayLike, n: int) -> Array:
    y = np.asarray(y, dtype=np.float64)
    if y.shape != (n,) or not np.isfinite(y).all():
        raise DataError(f"y has shape {y.shape}; give one finite label for each of the {n} samples")
    return y

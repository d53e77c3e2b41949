"""Thousands of tiny trainings: gradient descent with a constant step on many starts at once, in a
fused compiled kernel.

Against `gradient_descent` this keeps no trajectory and takes ReLU, softplus and quadratic networks
only; on n = 100 samples with k = d = 20 it makes about fifteen times as many steps a second as
numpy. The kernel is compiled on first use and kept on disk.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np

from globalmin._options import TRAINED, Trained, one_of
from globalmin._types import Array, ArrayLike, NDArray
from globalmin.activations import Activation, get_activation
from globalmin.errors import DataError
from globalmin.optimize.run import Status
from globalmin.references import states
from globalmin.shallow.methods.gradient_descent import check_step
from globalmin.shallow.problem import Problem

Precision = Literal["double", "single", "screened"]
PRECISIONS: tuple[Precision, ...] = get_args(Precision)
UNCLEAR = (
    1.5  # a failure in float32 this close to the tolerance is decided by a second run in float64
)


@dataclass(frozen=True)
class ManyRuns:
    """How so many trainings ended, one entry each.

    Attributes
    ----------
    W, v : the last weights, (t, k, d) and (t, k).
    iterations : steps made.
    relative_residual : ||r||/||y|| at these weights, computed in float64; infinite if the run
        diverged.
    reached : whether the relative residual is at most the tolerance; a run that diverged has not
        reached it.
    diverged : whether the loss overflowed.
    residuals : ||r||/||y|| after 0, e, 2e, ... steps for `record_every` = e, in the precision of
        the run, NaN after it; (t, m).
    """

    W: Array
    v: Array
    iterations: NDArray[np.int64]
    relative_residual: Array
    reached: NDArray[np.bool_]
    diverged: NDArray[np.bool_]
    residuals: Array

    @property
    def statuses(self) -> tuple[Status, ...]:
        """How each run ended."""
        missed = (Status.DIVERGED if lost else Status.MAX_ITER for lost in self.diverged)
        return tuple(
            Status.CONVERGED if ok else other
            for ok, other in zip(self.reached, missed, strict=True)
        )


class _Trial(NamedTuple):
    X: Array
    y: Array
    W: Array
    v: Array


class _End(NamedTuple):
    W: Array
    v: Array
    iterations: int
    residual: float
    diverged: bool
    residuals: Array


class _Job(NamedTuple):
    activation: Activation
    trained: Trained
    step_size: float
    max_iter: int
    tol: float
    record_every: int


@states("OS-T2.1", "OS-T2.3")
def train_many(
    X: ArrayLike,
    y: ArrayLike,
    W: ArrayLike,
    v: ArrayLike,
    *,
    step_size: float,
    activation: str | Activation = "softplus",
    trained: Trained = "W",
    max_iter: int = 15_000,
    tol: float = 2.5e-3,
    precision: Precision = "double",
    record_every: int = 0,
    threads: int = 1,
) -> ManyRuns:
    """Train t networks of one shape by gradient descent on L = (1/2) sum of r_i^2, each until ||r||
    <= tol ||y||.

    Parameters
    ----------
    X, y : inputs (t, n, d) and labels (t, n); (n, d) and (n,) serve all trainings.
    W, v : first weights (t, k, d) and heads (t, k); a head of shape (k,) serves all.
    step_size : eta on the half sum of squares; a step for the mean of squares is n times larger.
    activation : "relu", "softplus", "softplus(b)" or "quadratic".
    trained : "W" or "vW", both layers with the same step at the same time.
    precision : "double"; "single" (float32, twice as fast); "screened": float32, then float64 goes
        on from the weights of every run that reached the tolerance until it holds in float64, and
        repeats every run that overflowed or ended near it.
    record_every : keep the residual every so many steps; 0 keeps none.
    threads : threads that share the trainings; the kernel holds no lock.

    Theory
    ------
    The method of OS-T2.1, OS-T2.3 and of the experiments OS-E and SJL-E.
    """
    trials = _trials(X, y, W, v)
    job = _job(activation, trained, step_size, (max_iter, tol, record_every))
    run = _runner(precision, job)
    if threads > 1:
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(threads) as pool:
            ends = list(pool.map(run, trials))
    else:
        ends = [run(trial) for trial in trials]
    return _collected(ends, tol)


def _runner(precision: Precision, job: _Job) -> Callable[[_Trial], _End]:
    one_of("precision", precision, PRECISIONS)
    if precision == "double":
        return lambda trial: _run(trial, job, np.float64)
    if precision == "single":
        return lambda trial: _run(trial, job, np.float32)
    return lambda trial: _screened(trial, job)


def _screened(trial: _Trial, job: _Job) -> _End:
    """A run in float32, confirmed, continued or repeated in float64."""
    end = _run(trial, job, np.float32)
    used_all_steps = end.iterations == job.max_iter
    if end.diverged or (used_all_steps and job.tol < end.residual <= UNCLEAR * job.tol):
        return _run(trial, job, np.float64)
    if end.residual > job.tol and not used_all_steps:
        further = job._replace(max_iter=job.max_iter - end.iterations, record_every=0)
        more = _run(_Trial(trial.X, trial.y, end.W, end.v), further, np.float64)
        return more._replace(iterations=end.iterations + more.iterations, residuals=end.residuals)
    return end


def _run(trial: _Trial, job: _Job, kind: type[np.floating]) -> _End:
    """One training in one precision; the final residual is computed in float64 from the weights."""
    from globalmin.fused.activations import CODES
    from globalmin.fused.kernel import Rules, descend, packed, unpacked

    arrays, shape = packed(trial.X, trial.y, trial.W, trial.v, kind)
    norm = float(np.linalg.norm(trial.y)) or 1.0
    b = 1.0 if job.activation.parameter is None else job.activation.parameter
    rules = Rules(
        CODES[job.activation.name],
        kind(b),
        job.trained == "vW",
        kind(job.step_size),
        kind((job.tol * norm) ** 2),
        job.max_iter,
        job.record_every,
    )
    records = np.full(
        job.max_iter // job.record_every + 1 if job.record_every else 0, np.nan, dtype=kind
    )
    iterations, square = descend(arrays, shape, rules, records)
    W, v = unpacked(arrays, shape)
    diverged = not np.isfinite(square)
    residual = (
        np.inf
        if diverged
        else Problem(trial.X, trial.y, job.activation, scale=norm).at(W, v).relative_residual
    )
    return _End(
        W, v, int(iterations), float(residual), diverged, np.sqrt(records.astype(np.float64)) / norm
    )


def _collected(ends: list[_End], tol: float) -> ManyRuns:
    residual = np.array([end.residual for end in ends])
    return ManyRuns(
        W=np.stack([end.W for end in ends]),
        v=np.stack([end.v for end in ends]),
        iterations=np.array([end.iterations for end in ends], dtype=np.int64),
        relative_residual=residual,
        reached=residual <= tol,
        diverged=np.array([end.diverged for end in ends]),
        residuals=np.stack([end.residuals for end in ends]),
    )


def _job(
    activation: str | Activation, trained: Trained, step_size: float, limits: tuple[int, float, int]
) -> _Job:
    max_iter, tol, record_every = limits
    phi = get_activation(activation)
    if phi.name not in ("relu", "softplus", "quadratic"):
        raise DataError(
            f"activation {phi} has no fused kernel; choose relu, softplus or quadratic, or use "
            "`train`"
        )
    one_of("trained", trained, TRAINED)
    if max_iter < 0 or record_every < 0 or not tol >= 0:
        raise DataError(
            f"max_iter={max_iter}, record_every={record_every} and tol={tol} must be at least 0"
        )
    return _Job(phi, trained, check_step(step_size), int(max_iter), float(tol), int(record_every))


def _trials(X: ArrayLike, y: ArrayLike, W: ArrayLike, v: ArrayLike) -> list[_Trial]:
    """The arrays of each training, after a check that their shapes belong together and that they
    are finite.
    """
    arrays = [np.asarray(value, dtype=np.float64) for value in (X, y, W, v)]
    names, dims = ("X", "y", "W", "v"), (3, 2, 3, 2)
    if arrays[2].ndim != 3 or 0 in arrays[2].shape:
        raise DataError(
            f"W has shape {arrays[2].shape}; give three axes: trainings, neurons, features"
        )
    t = len(arrays[2])
    for place, (name, value, dim) in enumerate(zip(names, arrays, dims, strict=True)):
        if value.ndim == dim - 1:
            arrays[place] = np.broadcast_to(value, (t, *value.shape))
        elif value.ndim != dim or value.shape[0] != t or 0 in value.shape:
            raise DataError(
                f"{name} has shape {value.shape}; give {dim} axes, the first for the {t} trainings "
                "of W"
            )
        if not np.isfinite(value).all():
            raise DataError(
                f"{name} contains NaN or infinity; remove or impute these entries first"
            )
    X_, y_, W_, v_ = arrays
    if X_.shape[1] != y_.shape[1] or X_.shape[2] != W_.shape[2] or W_.shape[1] != v_.shape[1]:
        raise DataError(
            f"X {X_.shape}, y {y_.shape}, W {W_.shape}, v {v_.shape} do not fit; give (t,n,d), "
            "(t,n), (t,k,d), (t,k)"
        )
    return [_Trial(*parts) for parts in zip(X_, y_, W_, v_, strict=True)]

r"""Algorithm 9 of chapter 4: gradient descent on both factors of $\frac12\lVert UV^T-M\rVert_F^2$,
and a finish to rounding.

A step costs two products of M with r columns; the residual is never formed while it is large.
Gradient descent with a constant step brings a small random start near the minimum; the finish then
turns the span of V into that of the leading right singular vectors (locally optimal block
iteration, as in LOBPCG), which no plateau delays, because only the span matters.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count

import numpy as np

from globalmin._types import Array, ArrayLike, NDArray
from globalmin.errors import DataError
from globalmin.factorization.factors import Factors, Span, checked_matrix, improve_span
from globalmin.factorization.landscape import Monitors, lemma_monitors
from globalmin.optimize.follow import Iterate, Monitor, Progress, Recorder, Watch, follow, raised_if
from globalmin.optimize.run import Run, Status, Trajectory
from globalmin.references import states

Schedule = Callable[[int], float]

STEP = 0.4  # times 1/sigma_1: the Hessian at a balanced minimum is at most 2 sigma_1
START = 0.1  # c_init of Theorem 4.5
HANDOVER = 1e-3  # relative gradient at which the finish takes over
_DIRECT = 1e-6  # below this share of |M|^2/2 the loss is computed from the residual itself


@dataclass(frozen=True)
class FactorTrajectory(Trajectory):
    """The recorded steps, the start included.

    Attributes
    ----------
    iteration : number of the step. loss : without any penalty. objective : with it.
    imbalance : the norm of U^T U - V^T V. norm_u, norm_v : Frobenius norms.
    gradient_norm : norm of the gradient.
    """

    objective: Array
    imbalance: Array
    norm_u: Array
    norm_v: Array
    gradient_norm: Array


@dataclass(frozen=True, eq=False, kw_only=True)
class FactorizationRun(Run[Factors]):
    """A run of gradient descent on two factors.

    Attributes
    ----------
    network : the last factors; also called `factors`.
    n_iter : steps of gradient descent. n_sweeps : rounds of the finish, 0 without one.
    leak : after a finish, the norm of (I - Q) M^T M Q over that of M squared, Q the projector on
        the span of V (estimate).
    """

    trajectory: FactorTrajectory
    n_sweeps: int = 0
    leak: float = math.nan

    @property
    def factors(self) -> Factors:
        """The factors."""
        return self.network

    @property
    def iteration(self) -> NDArray[np.int64]:
        """Numbers of the recorded steps."""
        return self.trajectory.iteration

    @property
    def objectives(self) -> Array:
        """Loss with the penalty at the recorded steps."""
        return self.trajectory.objective

    @property
    def imbalance(self) -> Array:
        """Norm of U^T U - V^T V at the recorded steps."""
        return self.trajectory.imbalance

    @property
    def norm_u(self) -> Array:
        """Frobenius norm of U at the recorded steps."""
        return self.trajectory.norm_u

    @property
    def norm_v(self) -> Array:
        """Frobenius norm of V at the recorded steps."""
        return self.trajectory.norm_v

    @property
    def gradients(self) -> Array:
        """Norm of the gradient at the recorded steps."""
        return self.trajectory.gradient_norm

    def monitors(self, M: ArrayLike, accuracy: float) -> Monitors:
        """Lemma 4.1 read off the recorded steps, for an accuracy eps."""
        sizes = np.maximum(self.norm_u, self.norm_v) ** 2
        return lemma_monitors((self.losses, self.imbalance, sizes), M, self.factors.rank, accuracy)


@states("DU-A4.9", "DU-T4.4", "DU-T4.5", "DU-F4.1")
def descend_factors(
    M: ArrayLike,
    start: Factors,
    *,
    step_size: float | Schedule | None = None,
    max_iter: int = 10_000,
    tol: float = 1e-14,
    penalty: float = 0.0,
    record_every: int = 1,
    verbose: bool = False,
    throw: bool = False,
    monitor: Monitor | None = None,
) -> FactorizationRun:
    r"""Gradient descent on U and V at once: $U^+=U-\eta_tRV$, $V^+=V-\eta_tR^TU$, $R=UV^T-M$.

    Parameters
    ----------
    step_size : a number, a function of t (`printed_schedule`, `footnote_schedule`), or None for
        $.4/\sigma_1$ (estimated).
    tol : stop when the gradient is at most this times $\sigma_1(\lVert U\rVert_F^2+\lVert
        V\rVert_F^2)^{1/2}$; at a small random start that ratio is of the order of 1, however small
        the start.
    penalty : weight of $\lVert U^TU-V^TV\rVert_F^2$; 1/8 is the regularized objective (4.3).
    verbose, throw, monitor : as in `train`.
    """
    M = checked_matrix(M)
    start.require_fit(M)
    steps, top = _schedule(step_size, M)
    if max_iter < 0 or record_every < 1:
        raise DataError(
            f"max_iter={max_iter!r} must be at least 0 and record_every={record_every!r} at least 1"
        )
    task = _Task(M, penalty, tol * top)
    watch = Watch(
        task.at(start),
        lambda point: Factors(point.U, point.V),
        Recorder(FactorTrajectory, _columns, gap=lambda iteration: record_every),
        {"max_iter": max_iter, "verbose": verbose, "throw": throw, "monitor": monitor},
        method="factorization",
        default_max_iter=max_iter,
        reached=lambda point, _: Status.CONVERGED if point.is_stationary else None,
        keeps_last=True,
    )
    return FactorizationRun.of(follow(watch, _descent(watch.start, steps)))


@states("DU-A4.9", "DU-T4.4")
def factorize(
    M: ArrayLike,
    rank: int,
    *,
    start: Factors | None = None,
    step_size: float | None = None,
    max_iter: int = 5_000,
    max_sweeps: int = 2_000,
    seed: int = 0,
    verbose: bool = False,
    throw: bool = False,
    monitor: Monitor | None = None,
) -> FactorizationRun:
    r"""Factors of the best matrix of this rank: gradient descent from a small random start, then
    the finish to rounding.

    Parameters
    ----------
    start : Factors | None
        Factors to begin with; by default Gaussian entries of standard deviation
        $.1\sqrt{\sigma_1/\max(m,n)}$.
    max_iter, max_sweeps : int
        Limits of gradient descent and of the finish.
    throw : bool
        Raise NotConverged if the finish did not reach rounding.
    verbose : bool
        As in `train`.
    monitor : Monitor | None
        As in `train`; the monitor sees the steps of gradient descent.

    Returns
    -------
    FactorizationRun
        A run whose factors are balanced (U^T U = V^T V). Whether they are globally optimal is
        proved by `certify_factorization`.
    """
    M = checked_matrix(M)
    top = estimate_norm(M)
    if start is None:
        scale = START * math.sqrt(top / max(M.shape)) if top > 0.0 else 1.0
        start = Factors.initialize((M.shape[0], M.shape[1]), rank, scale=scale, seed=seed)
    elif start.rank != rank:
        raise DataError(f"rank={rank!r}, but the factors of the start have {start.rank} columns")
    if top == 0.0:
        start = Factors(np.zeros_like(start.U), np.zeros_like(start.V))
    run = descend_factors(
        M,
        start,
        step_size=step_size,
        max_iter=max_iter,
        tol=HANDOVER,
        verbose=verbose,
        monitor=monitor,
    )
    if top > 0.0 and run.status in (Status.CONVERGED, Status.MAX_ITER):
        run = _finished(M, run, max_sweeps, verbose)
    return raised_if(throw, run)


def estimate_norm(M: Array) -> float:
    """The largest singular value by 30 rounds of the power method: a little too small."""
    x = np.random.default_rng(0).standard_normal(M.shape[1])
    size = 0.0
    for _ in range(30):
        length = float(np.linalg.norm(x))
        if length == 0.0:
            return 0.0
        y = M @ (x / length)
        size, x = float(np.linalg.norm(y)), M.T @ y
    return size


def _schedule(step_size: float | Schedule | None, M: Array) -> tuple[Schedule, float]:
    top = estimate_norm(M)
    if callable(step_size):
        return step_size, top
    if step_size is None:
        step_size = STEP / top if top > 0.0 else 1.0
    if not (step_size > 0.0 and math.isfinite(step_size)):
        raise DataError(
            f"step_size={step_size!r} is not a positive number; leave it out for .4/sigma_1"
        )
    constant = float(step_size)
    return lambda t: constant, top


@dataclass(frozen=True)
class _Task:
    """The matrix, the weight of the penalty, and the gradient per length that counts as zero."""

    M: Array
    penalty: float
    small: float

    @cached_property
    def square(self) -> float:
        return float(np.linalg.norm(self.M)) ** 2

    def at(self, factors: Factors) -> _Point:
        return self.point(factors.U, factors.V)

    def point(self, U: Array, V: Array) -> _Point:
        UU, VV, MV = U.T @ U, V.T @ V, self.M @ V
        by_u, by_v = U @ VV - MV, V @ UU - self.M.T @ U
        if self.penalty:
            weight = 4.0 * self.penalty
            by_u, by_v = by_u + weight * U @ (UU - VV), by_v - weight * V @ (UU - VV)
        return _Point(self, U, V, by_u=by_u, by_v=by_v, MV=MV, UU=UU, VV=VV)


@dataclass(frozen=True)
class _Point:
    """Two factors with the gradient and what came with it: M V and the two Gram matrices."""

    task: _Task
    U: Array
    V: Array
    by_u: Array
    by_v: Array
    MV: Array
    UU: Array
    VV: Array

    @cached_property
    def gradient_norm(self) -> float:
        return math.hypot(float(np.linalg.norm(self.by_u)), float(np.linalg.norm(self.by_v)))

    @property
    def is_stationary(self) -> bool:
        square = float(np.trace(self.UU) + np.trace(self.VV))
        return self.gradient_norm <= self.task.small * math.sqrt(max(square, 0.0))

    @cached_property
    def _loss(self) -> float:
        """Without forming the residual, where that is accurate."""
        square = self.task.square
        cross, product = float(np.vdot(self.U, self.MV)), float(np.vdot(self.UU, self.VV))
        loss = 0.5 * (square - 2.0 * cross + product)
        if loss < _DIRECT * 0.5 * square:
            return direct_loss(Factors(self.U, self.V), self.task.M)
        return loss

    @property
    def loss(self) -> float:
        return self._loss

    @property
    def error(self) -> float:
        return self._loss

    def in_words(self) -> str:
        return f"loss {self.loss:.6g}"

    def moved(self, eta: float) -> _Point:
        return self.task.point(self.U - eta * self.by_u, self.V - eta * self.by_v)


def _columns(point: _Point, _iteration: int) -> tuple[float, ...]:
    off = float(np.linalg.norm(point.UU - point.VV))
    norms = math.sqrt(float(np.trace(point.UU))), math.sqrt(float(np.trace(point.VV)))
    return point.loss + point.task.penalty * off**2, off, *norms, point.gradient_norm


def _descent(point: _Point, steps: Schedule) -> Iterator[Iterate[_Point]]:
    for t in count():
        point = point.moved(steps(t))
        yield Iterate(point)


def direct_loss(factors: Factors, M: Array) -> float:
    """The loss from the residual, in strips of rows: accurate also where it is tiny."""
    height, total = max(1, 2**20 // M.shape[1]), 0.0
    for start in range(0, M.shape[0], height):
        part = factors.U[start : start + height] @ factors.V.T - M[start : start + height]
        total += float(np.vdot(part, part))
    return 0.5 * total


def _finished(M: Array, run: FactorizationRun, max_sweeps: int, verbose: bool) -> FactorizationRun:
    """Add the finish to a run of gradient descent, and its last point to the record."""
    with Progress("factorization, finish", max_sweeps, visible=verbose) as progress:
        span: Span = improve_span(
            M, run.factors, max_sweeps, lambda t, leak: progress.update(t, f"leak {leak:.2e}")
        )
    factors = span.factors(M, run.factors.rank)
    end = _Task(M, 0.0, 0.0).at(factors)
    row = (run.n_iter + span.sweeps, end.loss, *_columns(end, 0))
    joined = zip(run.trajectory.columns().values(), row, strict=True)
    status = Status.CONVERGED if span.settled else Status.MAX_ITER
    done = f"loss {end.loss:.6g} after {run.n_iter} steps and {span.sweeps} sweeps"
    return replace(
        run,
        network=factors,
        status=status,
        message=f"{run.method}: {status.message} ({done})",
        trajectory=FactorTrajectory(*(np.append(column, value) for column, value in joined)),
        loss=end.loss,
        n_sweeps=span.sweeps,
        leak=span.leak,
    )

r"""Algorithm 9 of chapter 4: gradient descent on both factors of $\frac12\lVert UV^T-M\rVert_F^2$,
and a finish to rounding.

A step costs two products of M with r columns; the residual is never formed while it is large.
Gradient descent with a constant step brings a small random start near the minimum; the finish then
turns the span of V into that of the leading right singular vectors (locally optimal block
iteration, as in LOBPCG), which no plateau delays, because only the span matters.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from globalmin._types import Array, ArrayLike
from globalmin.errors import DataError, NotConverged
from globalmin.factorization.factors import Factors, checked_matrix
from globalmin.factorization.landscape import Monitors, lemma_monitors
from globalmin.factorization.span import Span, improve_span
from globalmin.optimize.progress import Progress
from globalmin.optimize.trajectory import Status
from globalmin.references import states

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Schedule = Callable[[int], float]

STEP = 0.4  # times 1/sigma_1: the Hessian at a balanced minimum is at most 2 sigma_1
START = 0.1  # c_init of Theorem 4.5
HANDOVER = 1e-3  # relative gradient at which the finish takes over
_DIRECT = 1e-6  # below this share of |M|^2/2 the loss is computed from the residual itself


@dataclass(frozen=True)
class FactorizationRun:
    """A run of gradient descent on two factors; arrays have one entry per recorded step, the start
    included.

    Attributes
    ----------
    factors : the last ones. status, message : how the run ended.
    iteration : number of the recorded step. losses : the loss without any penalty. objectives :
        with it.
    imbalance : the norm of U^T U - V^T V. norm_u, norm_v : Frobenius norms. gradients : norms of
        the gradient.
    n_iter : steps of gradient descent. n_sweeps : rounds of the finish, 0 without one.
    leak : after a finish, the norm of (I - Q) M^T M Q over that of M squared, Q the projector on
        the span of V (estimate).
    """

    factors: Factors
    status: Status
    message: str
    iteration: NDArray[np.int64]
    losses: Array
    objectives: Array
    imbalance: Array
    norm_u: Array
    norm_v: Array
    gradients: Array
    n_iter: int
    n_sweeps: int = 0
    leak: float = field(default=math.nan)

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
    """
    M = checked_matrix(M)
    start.require_fit(M)
    steps, top = _schedule(step_size, M)
    if max_iter < 0 or record_every < 1:
        raise DataError(
            f"max_iter={max_iter!r} must be at least 0 and record_every={record_every!r} at least 1"
        )
    log = _Log(M, penalty)
    point, status, t = start, Status.MAX_ITER, 0
    with (
        Progress("factorization", max_iter, visible=verbose) as progress,
        np.errstate(over="ignore", invalid="ignore"),
    ):
        try:
            for t in range(max_iter + 1):
                slopes = _Slopes.at(point, M, penalty)
                small = slopes.norm <= tol * top * slopes.length
                if t % record_every == 0 or small or t == max_iter:
                    loss = log.note(t, point, slopes)
                    progress.update(t, math.sqrt(2.0 * loss) / log.norm if log.norm > 0.0 else 0.0)
                    if not math.isfinite(loss):
                        status = Status.DIVERGED
                        break
                if small or t == max_iter:
                    status = Status.CONVERGED if small else Status.MAX_ITER
                    break
                point = slopes.step(point, steps(t))
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
    return log.run(point if status is not Status.DIVERGED else start, status, t)


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
        M, start, step_size=step_size, max_iter=max_iter, tol=HANDOVER, verbose=verbose
    )
    if top > 0.0 and run.status in (Status.CONVERGED, Status.MAX_ITER):
        run = _finished(M, run, max_sweeps, verbose)
    if throw and not run.status.is_success:
        raise NotConverged(f"{run.message} after {run.n_iter} steps and {run.n_sweeps} sweeps")
    return run


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
class _Slopes:
    """The gradient at a point and what came with it: M V, the two Gram matrices, the norm of the
    gradient and of the point.
    """

    by_u: Array
    by_v: Array
    MV: Array
    grams: tuple[Array, Array]
    norm: float
    length: float

    @classmethod
    def at(cls, point: Factors, M: Array, penalty: float) -> _Slopes:
        U, V = point.U, point.V
        UU, VV, MV = U.T @ U, V.T @ V, M @ V
        by_u, by_v = U @ VV - MV, V @ UU - M.T @ U
        if penalty:
            by_u, by_v = by_u + 4.0 * penalty * U @ (UU - VV), by_v - 4.0 * penalty * V @ (UU - VV)
        norm = math.hypot(float(np.linalg.norm(by_u)), float(np.linalg.norm(by_v)))
        return cls(
            by_u, by_v, MV, (UU, VV), norm, math.sqrt(max(float(np.trace(UU) + np.trace(VV)), 0.0))
        )

    def step(self, point: Factors, eta: float) -> Factors:
        return _unchecked(point.U - eta * self.by_u, point.V - eta * self.by_v)


def _unchecked(U: Array, V: Array) -> Factors:
    """Factors without the copies and tests of the public constructor, inside the loop; overflow is
    met by the loss.
    """
    factors = object.__new__(Factors)
    object.__setattr__(factors, "U", U)
    object.__setattr__(factors, "V", V)
    return factors


class _Log:
    """The recorded steps of a run."""

    def __init__(self, M: Array, penalty: float) -> None:
        self.M, self.penalty = M, penalty
        self.norm = float(np.linalg.norm(M))
        self.rows: list[tuple[float, ...]] = []

    def note(self, t: int, point: Factors, slopes: _Slopes) -> float:
        UU, VV = slopes.grams
        loss = 0.5 * (
            self.norm**2 - 2.0 * float(np.vdot(point.U, slopes.MV)) + float(np.vdot(UU, VV))
        )
        if loss < _DIRECT * 0.5 * self.norm**2:
            loss = direct_loss(point, self.M)
        off = float(np.linalg.norm(UU - VV))
        norms = (math.sqrt(float(np.trace(UU))), math.sqrt(float(np.trace(VV))))
        self.rows.append((float(t), loss, loss + self.penalty * off**2, off, *norms, slopes.norm))
        return loss

    def run(self, point: Factors, status: Status, n_iter: int) -> FactorizationRun:
        table = np.array(self.rows).T
        factors = Factors(point.U, point.V)
        return FactorizationRun(
            factors, status, status.message, table[0].astype(np.int64), *table[1:], n_iter=n_iter
        )


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
        span: Span = improve_span(M, run.factors, max_sweeps, progress.update)
    factors = span.factors(M, run.factors.rank)
    log = _Log(M, 0.0)
    log.note(run.n_iter + span.sweeps, factors, _Slopes.at(factors, M, 0.0))
    status = Status.CONVERGED if span.settled else Status.MAX_ITER
    last = log.run(factors, status, run.n_iter)
    joined = {
        name: np.concatenate([getattr(run, name), getattr(last, name)])
        for name in (
            "iteration",
            "losses",
            "objectives",
            "imbalance",
            "norm_u",
            "norm_v",
            "gradients",
        )
    }
    return FactorizationRun(
        factors,
        status,
        status.message,
        n_iter=run.n_iter,
        n_sweeps=span.sweeps,
        leak=span.leak,
        **joined,
    )

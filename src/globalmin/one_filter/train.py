r"""Algorithm 1 of chapter 5: gradient descent on filter and output weights together, on the
population loss or on samples.

The start is drawn by DU-T5.4: one of the four sign flips (±v, ±a) lies in the basin set of the
global minimum. Where the size of the teacher is not known, the radius of the ball is guessed and
halved after a failure (Remark 5.3).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Unpack

import numpy as np

from globalmin._types import Array, ArrayLike
from globalmin.activations.moments import angle
from globalmin.errors import DataError
from globalmin.linalg.sampling import uniform_in_ball
from globalmin.one_filter.landscape import Basin, trap_test
from globalmin.one_filter.network import (
    FilterTeacher,
    OneFilterNetwork,
    empirical_gradient,
    empirical_loss,
    population_gradient,
    population_loss,
)
from globalmin.one_filter.phases import PHASE_TWO_HEAD, two_phases
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
from globalmin.references import states

if TYPE_CHECKING:
    from collections.abc import Callable

    Gradient = Callable[[Array, Array], tuple[Array, Array]]
    Weights = Weighed[tuple[Array, Array]]

OVERFLOW = 1e100  # a loss beyond it belongs to a diverging run


@dataclass(frozen=True)
class PhaseTrajectory(Trajectory):
    """Every step of a population run: angle to w*, a . a*, |sum a - W sum a*|, |a - W a*|."""

    phi: Array
    b: Array
    sum_error: Array
    head_error: Array


@dataclass(frozen=True, eq=False, kw_only=True)
class OneFilterRun(Run[OneFilterNetwork]):
    """A run of Algorithm 1; the trajectory has one entry per step, the start included.

    Attributes
    ----------
    network : the last one. loss, losses : population or empirical loss.
    basin : what the trap test says of the last network; undecided for runs on samples, where the
        theorem says nothing.
    phi, b, sum_error, head_error : the columns of `PhaseTrajectory`; empty for runs on samples.
    """

    step_size: float
    basin: Basin = Basin.UNDECIDED

    @property
    def converged(self) -> bool:
        """Whether the loss reached the tolerance."""
        return self.status is Status.CONVERGED

    @property
    def phi(self) -> Array:
        """Angle to w*."""
        return self._column("phi")

    @property
    def b(self) -> Array:
        """A . a*."""
        return self._column("b")

    @property
    def sum_error(self) -> Array:
        """|sum a - W sum a*|."""
        return self._column("sum_error")

    @property
    def head_error(self) -> Array:
        """|a - W a*|."""
        return self._column("head_error")

    def _column(self, name: str) -> Array:
        return getattr(self.trajectory, name, np.empty(0))


@dataclass(frozen=True)
class Phases:
    r"""The two phases seen in a run.

    Attributes
    ----------
    first_steps : first t with $\cos\varphi \ge 1/2$ and $a^Ta^* \ge .213\,W\lVert a^*\rVert^2$;
        None if the run never gets there.
    first_slope, second_slope : change per step of $\log\sin^2\varphi$ (least squares) before and
        after it; NaN if unknown.
    first_bound, second_bound : what DU-T5.3x promises; NaN if a hypothesis fails. A measured slope
        is at most its bound.
    """

    first_steps: int | None
    first_slope: float
    second_slope: float
    first_bound: float
    second_bound: float
    first_steps_bound: float


@states("DU-A1")
def population_run(
    network: OneFilterNetwork,
    teacher: FilterTeacher,
    *,
    step_size: float = 0.1,
    max_iter: int = 1000,
    tol: float = 1e-14,
    **options: Unpack[Watching],
) -> OneFilterRun:
    r"""Algorithm 1 on the population loss until it is at most `tol` $W^2\lVert a^*\rVert^2$ or
    `max_iter` steps are done; `options` are verbose, throw, monitor as in `train`.
    """

    def row(point: Weights, _iteration: int) -> tuple[float, ...]:
        v, a = point.network
        miss = a - teacher.W * teacher.a
        turn = angle(v, teacher.w)
        return turn, float(a @ teacher.a), abs(float(miss.sum())), float(np.linalg.norm(miss))

    run = _descend(
        network,
        lambda v, a: population_loss(v, a, teacher),
        lambda v, a: population_gradient(v, a, teacher),
        Recorder(PhaseTrajectory, row, gap=every_step),
        (step_size, max_iter, tol * teacher.W**2 * teacher.size, options),
    )
    return replace(run, basin=trap_test(run.network.v, run.network.a, teacher))


@states("DU-A1")
def sample_run(
    network: OneFilterNetwork,
    Z: ArrayLike,
    y: ArrayLike,
    *,
    step_size: float = 0.1,
    max_iter: int = 1000,
    tol: float = 1e-10,
    **options: Unpack[Watching],
) -> OneFilterRun:
    """Algorithm 1 on the empirical loss of patches n x k x p, until it is at most `tol` times half
    the mean of y squared; `options` are verbose, throw, monitor as in `train`.
    """
    Z, y = np.asarray(Z, dtype=np.float64), np.asarray(y, dtype=np.float64)
    return _descend(
        network,
        lambda v, a: empirical_loss(Z, y, v, a),
        lambda v, a: empirical_gradient(Z, y, v, a),
        Recorder(gap=every_step),
        (step_size, max_iter, tol * 0.5 * float(np.mean(y**2)), options),
    )


def _descend(
    network: OneFilterNetwork,
    loss: Callable[[Array, Array], float],
    gradient: Gradient,
    recorder: Recorder[Weights],
    limits: tuple[float, int, float, Watching],
) -> OneFilterRun:
    step_size, max_iter, target, options = limits
    _check(step_size, max_iter)

    def steps() -> Iterator[Iterate[Weights]]:
        v, a = network.v, network.a
        while True:
            dv, da = gradient(v, a)
            v, a = v - step_size * dv, a - step_size * da
            yield Iterate(Weighed((v, a), loss(v, a)))

    def reached(point: Weights, _best: object) -> Status | None:
        if point.loss <= target:
            return Status.CONVERGED
        return None if point.loss < OVERFLOW else Status.DIVERGED

    watch = Watch(
        Weighed((network.v, network.a), loss(network.v, network.a)),
        lambda point: OneFilterNetwork(*point.network),
        recorder,
        Options(max_iter=max_iter, **options),
        method="gradient_descent",
        default_max_iter=max_iter,
        reached=reached,
        keeps_last=True,
    )
    return OneFilterRun.of(follow(watch, steps()), step_size=step_size)


@states("DU-T5.4")
def sign_flips(network: OneFilterNetwork) -> tuple[OneFilterNetwork, ...]:
    """(v, a), (v, -a), (-v, a), (-v, -a): one of them satisfies the start conditions of DU-T5.3."""
    return tuple(
        OneFilterNetwork(i * network.v, j * network.a) for i in (1.0, -1.0) for j in (1.0, -1.0)
    )


@states("DU-T5.4")
def draw_network(
    patch_size: int, n_patches: int, radius: float, rng: np.random.Generator
) -> OneFilterNetwork:
    """A filter uniform on the unit sphere, output weights uniform in the ball of this radius; zero
    weights for radius 0.
    """
    v = rng.standard_normal(patch_size)
    return OneFilterNetwork(v / np.linalg.norm(v), uniform_in_ball(n_patches, radius, rng))


def _starts(
    shape: tuple[int, int], radius: float, restarts: int, seed: int
) -> Iterator[OneFilterNetwork]:
    rng = np.random.default_rng(seed)
    for attempt in range(restarts + 1):
        yield from sign_flips(draw_network(*shape, radius * 0.5**attempt, rng))


@states("DU-T5.4")
def population_fit(
    teacher: FilterTeacher,
    *,
    seed: int = 0,
    restarts: int = 5,
    step_size: float = 0.1,
    max_iter: int = 2000,
    tol: float = 1e-14,
) -> OneFilterRun:
    r"""Algorithm 1 from the sign flips of random starts until a run is in the basin of the global
    minimum.

    The radius is $|s|W/\sqrt k$ (DU-T5.4), halved with every restart (Remark 5.3). Returns the
    first run that converged or that the trap test sends to the global minimum, else the one of
    least loss.
    """
    radius = abs(teacher.s) * teacher.W / math.sqrt(teacher.k)
    best: OneFilterRun | None = None
    for start in _starts((teacher.p, teacher.k), radius, restarts, seed):
        run = population_run(start, teacher, step_size=step_size, max_iter=max_iter, tol=tol)
        if run.converged or run.basin is Basin.GLOBAL:
            return run
        best = run if best is None or run.loss < best.loss else best
    if best is None:
        raise DataError(f"restarts={restarts}: give an integer of at least 0")
    return best


@states("DU-T5.4")
def sample_fit(
    Z: ArrayLike,
    y: ArrayLike,
    *,
    radius: float | None = None,
    seed: int = 0,
    restarts: int = 3,
    step_size: float = 0.1,
    max_iter: int = 1000,
    tol: float = 1e-10,
) -> OneFilterRun:
    r"""Algorithm 1 on samples from the sign flips of random starts; the first run that reaches
    `tol`, else the one of least loss.

    `radius` defaults to $\sqrt{2\pi}\,|\bar y|/\sqrt k$, because $E y = Ws/\sqrt{2\pi}$ for
    standard Gaussian patches; it is halved with every restart. The theorems are about the
    population loss: that a run reaches the tolerance is seen, not promised.
    """
    Z, y = np.asarray(Z, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if Z.ndim != 3 or 0 in Z.shape or y.shape != (len(Z),):
        raise DataError(
            f"Z has shape {Z.shape} and y has shape {y.shape}; give patches (n, k, p) and n labels"
        )
    k, p = Z.shape[1:]
    reach = math.sqrt(2.0 * math.pi / k) * abs(float(y.mean())) if radius is None else radius
    best: OneFilterRun | None = None
    for start in _starts((p, k), reach, restarts, seed):
        run = sample_run(start, Z, y, step_size=step_size, max_iter=max_iter, tol=tol)
        best = run if best is None or run.loss < best.loss else best
        if run.converged:
            return run
    if best is None:
        raise DataError(f"restarts={restarts}: give an integer of at least 0")
    return best


@states("DU-T5.3", "DU-T5.3x")
def detect_phases(run: OneFilterRun, start: OneFilterNetwork, teacher: FilterTeacher) -> Phases:
    """Where phase one of a population run ends, the two measured rates and the rates of the
    explicit theorem.
    """
    if run.phi.size == 0:
        raise DataError(
            "phases are seen in population runs only: a run on samples has no angle to a teacher"
        )
    size = teacher.W * teacher.size
    there = np.flatnonzero((np.cos(run.phi) >= 0.5) & (run.b >= PHASE_TWO_HEAD * size))
    first = int(there[0]) if there.size else None
    promised = two_phases(start.v, start.a, teacher, run.step_size)
    end = len(run.phi) if first is None else first + 1
    return Phases(
        first_steps=first,
        first_slope=_slope(run.phi[:end]),
        second_slope=math.nan if first is None else _slope(run.phi[first:]),
        first_bound=math.nan if promised is None else math.log(promised.first_rate),
        second_bound=math.nan if promised is None else math.log(promised.second_rate),
        first_steps_bound=math.nan
        if promised is None
        else promised.first_steps + promised.head_steps,
    )


def _slope(phi: Array) -> float:
    """Least-squares slope of log sin^2 phi by step, where the angle is above the rounding floor."""
    seen = np.flatnonzero((phi > 1e-7) & (phi < math.pi - 1e-7))
    if seen.size < 2:
        return math.nan
    return float(np.polyfit(seen, 2.0 * np.log(np.sin(phi[seen])), 1)[0])


def _check(step_size: float, max_iter: int) -> None:
    if not 0.0 < step_size < math.inf or max_iter < 1:
        raise DataError(
            f"step_size={step_size} and max_iter={max_iter}: give a positive step and at least one "
            "iteration"
        )

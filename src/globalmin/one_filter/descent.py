r"""Algorithm 1 of chapter 5 from one start: gradient descent on filter and output weights together,
on the population loss or on samples.

A step that is given is used as it is, and a run that it blows up says so; without one the step
comes from the teacher or from the data.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Unpack

import numpy as np

from globalmin._types import Array, ArrayLike
from globalmin.activations.moments import angle
from globalmin.errors import DataError
from globalmin.one_filter.landscape import Basin, smoothness, trap_test
from globalmin.one_filter.network import (
    FilterTeacher,
    OneFilterNetwork,
    empirical_gradient,
    empirical_loss,
    population_gradient,
    population_loss,
)
from globalmin.optimize.follow import (
    End,
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

OVERFLOW = 1e6  # times the loss of the start or of the zero network: a run beyond it diverges
LARGEST_STEP = 0.1  # of population runs with a step of their own choice
HALVINGS = 60


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
        theorem says nothing (`trap_verdict` asks the data).
    step_size : the step, the last one where it is chosen as the run goes (for patches and labels of
        mean square 1).
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


@states("DU-A1")
def population_run(
    network: OneFilterNetwork,
    teacher: FilterTeacher,
    *,
    step_size: float | None = 0.1,
    max_iter: int = 1000,
    tol: float = 1e-14,
    **options: Unpack[Watching],
) -> OneFilterRun:
    r"""Algorithm 1 on the population loss until it is at most `tol` $W^2\lVert a^*\rVert^2$ or
    `max_iter` steps are done; `options` are verbose, throw, monitor as in `train`.

    `step_size` None takes the smaller of 0.1 and 1/`smoothness` at the start, with which the loss
    falls at every step (a theorem). A step that is too large ends as diverged, with a message.
    """
    if step_size is None:
        step_size = min(LARGEST_STEP, 1.0 / smoothness(network.v, network.a, teacher))

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
        (step_size, max_iter, teacher.W**2 * teacher.size, tol, options),
    )
    return replace(run, basin=trap_test(run.network.v, run.network.a, teacher))


@states("DU-A1")
def sample_run(
    network: OneFilterNetwork,
    Z: ArrayLike,
    y: ArrayLike,
    *,
    step_size: float | None = None,
    max_iter: int = 1000,
    tol: float = 1e-10,
    **options: Unpack[Watching],
) -> OneFilterRun:
    """Algorithm 1 on the empirical loss of patches n x k x p, until it is at most `tol` times half
    the mean of y squared; `options` are verbose, throw, monitor as in `train`.

    `step_size` None: patches and labels are brought to a mean square of 1, the first step is that
    of the output weights alone (one over the largest eigenvalue of their second moment), and a step
    that would raise the loss is halved, so that units do not matter and nothing diverges. A number
    is the step of the thesis, in the units of the data; too large a one ends as diverged.
    """
    Z, y = np.asarray(Z, dtype=np.float64), np.asarray(y, dtype=np.float64)
    zero = 0.5 * float(np.mean(y**2))
    if step_size is not None:
        return _descend(
            network,
            lambda v, a: empirical_loss(Z, y, v, a),
            lambda v, a: empirical_gradient(Z, y, v, a),
            Recorder(gap=every_step),
            (step_size, max_iter, zero, tol, options),
        )
    size, level = root_mean_square(Z), math.sqrt(2.0 * zero) or 1.0
    Z, y = np.asarray(Z / size), np.asarray(y / level)
    unit = OneFilterNetwork(network.v, network.a * (size / level))
    active = np.maximum(Z @ (unit.v / np.linalg.norm(unit.v)), 0.0)
    top = float(np.linalg.eigvalsh(active.T @ active / len(Z))[-1])
    run = _descend(
        unit,
        lambda v, a: empirical_loss(Z, y, v, a),
        lambda v, a: empirical_gradient(Z, y, v, a),
        Recorder(gap=every_step),
        (1.0 / top if top > 0.0 else 1.0, max_iter, 0.5 if zero > 0.0 else 0.0, tol, options),
        halves=True,
    )
    back = OneFilterNetwork(run.network.v, run.network.a * (level / size))
    losses = replace(run.trajectory, loss=run.trajectory.loss * level**2)
    loss = run.loss * level**2
    return replace(run, network=back, start=network, loss=loss, trajectory=losses)


def root_mean_square(Z: Array) -> float:
    """Root mean square of the entries; 1 for patches that are all zero."""
    return math.sqrt(float(np.mean(Z**2))) or 1.0


def _descend(
    network: OneFilterNetwork,
    loss: Callable[[Array, Array], float],
    gradient: Gradient,
    recorder: Recorder[Weights],
    limits: tuple[float, int, float, float, Watching],
    *,
    halves: bool = False,
) -> OneFilterRun:
    """Gradient steps from a network; `halves` shortens a step that would raise the loss."""
    step, max_iter, zero, tol, options = limits
    _check(step, max_iter)
    first = Weighed((network.v, network.a), loss(network.v, network.a))
    ceiling = OVERFLOW * max(first.loss, zero)

    def steps() -> Generator[Iterate[Weights], None, End[Weights] | None]:
        nonlocal step
        point = first
        while True:
            v, a = point.network
            dv, da = gradient(v, a)
            for _ in range(HALVINGS if halves else 1):
                new = v - step * dv, a - step * da
                value = loss(*new)
                if not halves or value <= point.loss:
                    break
                step *= 0.5
            else:
                return None
            if not value <= ceiling and not halves:
                note = (
                    f"the loss overflowed ({value:.3g}) with step_size={step:.3g}; give a smaller "
                    "step, or None for a safe one"
                )
                return End(Status.DIVERGED, None, note)
            point = Weighed(new, value)
            yield Iterate(point)

    watch = Watch(
        first,
        lambda point: OneFilterNetwork(*point.network),
        recorder,
        Options(max_iter=max_iter, **options),
        method="gradient_descent",
        default_max_iter=max_iter,
        reached=lambda point, _: Status.CONVERGED if point.loss <= tol * zero else None,
        keeps_last=True,
    )
    run = follow(watch, steps())
    return OneFilterRun.of(run, step_size=step, start=network)


def _check(step_size: float, max_iter: int) -> None:
    if not 0.0 < step_size < math.inf or max_iter < 1:
        raise DataError(
            f"step_size={step_size} and max_iter={max_iter}: give a positive step and at least one "
            "iteration"
        )

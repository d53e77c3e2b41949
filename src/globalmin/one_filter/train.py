r"""Algorithm 1 of chapter 5 from random starts, on the population loss or on samples, and the
phases of its runs.

The start is drawn by DU-T5.4: one of the four sign flips (±v, ±a) lies in the basin set of the
global minimum. Where the size of the teacher is not known, the radius of the ball is guessed and
halved after a failure (Remark 5.3).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from globalmin._types import Array, ArrayLike
from globalmin.errors import DataError
from globalmin.linalg.sampling import uniform_in_ball
from globalmin.one_filter.descent import (
    OneFilterRun,
    population_run,
    root_mean_square,
    sample_run,
)
from globalmin.one_filter.descent import (
    PhaseTrajectory as PhaseTrajectory,
)
from globalmin.one_filter.landscape import Basin, trap_test
from globalmin.one_filter.network import FilterTeacher, OneFilterNetwork
from globalmin.one_filter.phases import PHASE_TWO_HEAD, two_phases
from globalmin.references import states


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
    largest_step : the largest step DU-T5.3x allows from this start; NaN where it allows none.
    start_basin, basin : what the trap test says of the start and of the end of the run: a theorem
        for every step below 2/smoothness, and mostly the stronger statement.
    promise : what is promised of this run, in words.
    """

    first_steps: int | None
    first_slope: float
    second_slope: float
    first_bound: float
    second_bound: float
    first_steps_bound: float
    largest_step: float
    start_basin: Basin
    basin: Basin
    promise: str


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
    step_size: float | None = None,
    max_iter: int = 2000,
    tol: float = 1e-14,
) -> OneFilterRun:
    r"""Algorithm 1 from the sign flips of random starts until a run is in the basin of the global
    minimum.

    The radius is $|s|W/\sqrt k$ (DU-T5.4), halved with every restart (Remark 5.3). Returns the
    first run that converged or that the trap test sends to the global minimum, else the one of
    least loss. `step_size` as in `population_run`.
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
    step_size: float | None = None,
    max_iter: int = 1000,
    tol: float = 1e-10,
) -> OneFilterRun:
    r"""Algorithm 1 on samples from the sign flips of random starts; the first run that reaches
    `tol`, else the one of least loss.

    `radius` defaults to $\sqrt{2\pi}\,|\bar y|/(q\sqrt k)$, q the root mean square of the patch
    entries, because $E y = Wsq/\sqrt{2\pi}$ for Gaussian patches; it is halved with every restart.
    `step_size` as in `sample_run`. The theorems are about the population loss: that a run reaches
    the tolerance is seen, not promised. `PatchNetworkRegressor` goes on with least squares.
    """
    Z, y = np.asarray(Z, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if Z.ndim != 3 or 0 in Z.shape or y.shape != (len(Z),):
        raise DataError(
            f"Z has shape {Z.shape} and y has shape {y.shape}; give patches (n, k, p) and n labels"
        )
    k, p = Z.shape[1:]
    reach = radius
    if reach is None:
        reach = math.sqrt(2.0 * math.pi / k) * abs(float(y.mean())) / root_mean_square(Z)
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
def detect_phases(
    run: OneFilterRun, start: OneFilterNetwork | None, teacher: FilterTeacher
) -> Phases:
    """Where phase one of a population run ends, the two measured rates, the rates of the explicit
    theorem where it applies, and what the trap test says.

    `start` None is the start of the run.
    """
    start = run.start if start is None else start
    if run.phi.size == 0 or start is None:
        raise DataError(
            "phases are seen in population runs only: a run on samples has no angle to a teacher"
        )
    size = teacher.W * teacher.size
    there = np.flatnonzero((np.cos(run.phi) >= 0.5) & (run.b >= PHASE_TWO_HEAD * size))
    first = int(there[0]) if there.size else None
    promised = two_phases(start.v, start.a, teacher, run.step_size)
    allowed = two_phases(start.v, start.a, teacher)
    most = math.nan if allowed is None else allowed.max_step
    basins = trap_test(start.v, start.a, teacher), run.basin
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
        largest_step=most,
        start_basin=basins[0],
        basin=basins[1],
        promise=_promise(promised is not None, most, run.step_size, basins),
    )


def _promise(is_covered: bool, most: float, step_size: float, basins: tuple[Basin, Basin]) -> str:
    """One sentence about DU-T5.3x and one about the trap test."""
    if is_covered:
        rates = "DU-T5.3x promises its two rates"
    elif math.isnan(most):
        rates = "DU-T5.3x is empty: the start does not satisfy its hypotheses"
    else:
        rates = f"DU-T5.3x is empty: the step {step_size:.3g} is above its largest, {most:.3g}"
    return f"{rates}; the trap test says {basins[0]} at the start and {basins[1]} at the end"


def _slope(phi: Array) -> float:
    """Least-squares slope of log sin^2 phi by step, where the angle is above the rounding floor."""
    seen = np.flatnonzero((phi > 1e-7) & (phi < math.pi - 1e-7))
    if seen.size < 2:
        return math.nan
    return float(np.polyfit(seen, 2.0 * np.log(np.sin(phi[seen])), 1)[0])

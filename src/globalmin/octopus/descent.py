"""Gradient descent on the octopus in logarithms (DU-X7.a), plain and perturbed (DU-A2): noise
where the gradient is small takes it past every saddle.

Float64 cannot run plain gradient descent on the octopus: the coordinates that wait shrink by a
constant factor a step, and once one of them is the least number above zero the rounded step no
longer moves it. In logarithms the waiting is exact, and since it multiplies every coordinate by a
constant it can be taken in one jump, so that $10^{30}$ steps cost as much as ten.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from typing import TYPE_CHECKING

import numpy as np

from globalmin._types import Array, ArrayLike, NDArray
from globalmin.errors import DataError
from globalmin.linalg.sampling import uniform_in_ball
from globalmin.octopus.function import Octopus
from globalmin.optimize.run import Status
from globalmin.references import states

if TYPE_CHECKING:
    from collections.abc import Sequence

DIGITS = 30  # beyond those of the number of steps


def checked_start(octopus: Octopus, start: ArrayLike | None, rng: np.random.Generator) -> Array:
    """The start as an array in $[-1, 1]^d$; uniform there if not given."""
    if start is None:
        return rng.uniform(-1.0, 1.0, octopus.dimension)
    x = np.array(start, dtype=np.float64)
    if x.shape != (octopus.dimension,) or not (np.abs(x) <= 1.0).all():
        raise DataError(
            f"start of shape {x.shape} must be a vector of {octopus.dimension} numbers between -1 "
            "and 1"
        )
    return x


def checked_step_size(octopus: Octopus, step_size: float) -> float:
    """The step, in (0, 1/(2L)]: beyond it descent can leave the domain."""
    if not 0.0 < step_size <= 0.5 / octopus.L:
        raise DataError(
            f"step_size={step_size} must be positive and at most 1/(2L) = {0.5 / octopus.L:.6g}"
        )
    return float(step_size)


class _Waiting:
    r"""Gradient descent on its way in logarithms: `t` steps done, `k` saddles passed, `y` the
    magnitudes of passed coordinates.

    A coordinate that is not yet k or k + 1 has shrunk at every step, so its logarithm is
    $\ln|x_j^{(0)}| + t\ln(1 - 2\eta L)$. The digits kept grow with d, since the logarithms become
    as large as the number of steps.
    """

    def __init__(self, octopus: Octopus, start: Array, step_size: float) -> None:
        L, gamma, eta = (Decimal(float(number)) for number in (octopus.L, octopus.gamma, step_size))
        digits = DIGITS + octopus.dimension * math.log10(2.0 + 4.0 * octopus.L / octopus.gamma)
        self.context = Context(prec=math.ceil(digits), Emax=MAX_EMAX, Emin=MIN_EMIN)
        with localcontext(self.context):
            self.up, shrink = (1 + 2 * eta * gamma).ln(), 1 - 2 * eta * L
            self.down = shrink.ln()  # minus infinity for a step of 1/(2L)
            self.start = [abs(Decimal(float(x))).ln() for x in start]
            self.goal = Decimal(octopus.tau).ln()
        self.octopus, self.step_size, self.shrink = octopus, float(step_size), float(shrink)
        self.t = self.k = 0
        self.y = np.zeros(octopus.dimension)
        self.growing, self.following = self.start[0], self._untouched(1)

    def _untouched(self, j: int) -> Decimal:
        if j >= self.octopus.dimension:
            return Decimal("-Infinity")
        return self.start[j] + self.t * self.down if self.t else self.start[j]

    @property
    def is_over(self) -> bool:
        """Whether no saddle is left, or the run stays at one for ever: the coordinate that should
        grow is exactly zero.
        """
        return self.k == self.octopus.dimension or not self.growing.is_finite()

    @property
    def wait(self) -> int:
        """Steps until the coordinate that grows is beyond tau; 0 in the buffer."""
        with localcontext(self.context):
            return max(0, math.floor((self.goal - self.growing) / self.up) + 1)

    def jump(self, n: int) -> None:
        """Do n steps of waiting at once."""
        with localcontext(self.context):
            self.growing += n * self.up
            if n:
                self.following += n * self.down
        self._settle(n)

    def cross(self) -> None:
        """One step in the buffer, exactly as gradient descent does it."""
        k, eta, s = self.k, self.step_size, self.octopus.splines
        a = self.y[k] = math.exp(self.growing) if self.y[k] == 0.0 else self.y[k]
        growth = 1.0 - 2.0 * eta * float(s.g2(a))
        slope = float(s.g1(a, 1) + s.g2(a, 1) * math.exp(2 * self.following))
        with localcontext(self.context):
            self.following += Decimal(growth).ln()
        self._settle(1)
        self.y[k] = a - eta * slope
        self.growing = Decimal(self.y[k]).ln(self.context)
        if self.y[k] >= 2.0 * self.octopus.tau:
            self.k += 1
            with localcontext(self.context):
                self.growing, self.following = self.following, self._untouched(k + 2)

    def _settle(self, n: int) -> None:
        center = 4.0 * self.octopus.tau
        self.y[: self.k] = center + (self.y[: self.k] - center) * self.shrink ** float(n)
        self.t += n

    def magnitudes(self) -> Array:
        """|x| here; below the range of float64 zero."""
        k, d = self.k, self.octopus.dimension
        with localcontext(self.context):
            logs = [self.growing, self.following, *(self._untouched(j) for j in range(k + 2, d))]
        x = self.y.copy()
        x[k:] = [math.exp(log) for log in logs[: d - k]]
        return x


@states("DU-X7.a")
def descent_escape_times(octopus: Octopus, start: ArrayLike, step_size: float) -> list[float]:
    r"""First steps t at which $|x_k| \ge 2\tau$, k = 1 to d, of gradient descent; infinite where it
    never happens.

    Whole numbers of any size. The waiting is exact; the few steps across each buffer are done in
    float64.

    Examples
    --------
    >>> descent_escape_times(Octopus(5, L=1.0), [0.5] * 5, 1 / 4)
    [6, 21, 62, 173, 472]
    """
    return descent_stage_times(octopus, start, step_size)[1]


@states("DU-X7.a", "DU-K7")
def descent_stage_times(
    octopus: Octopus, start: ArrayLike, step_size: float
) -> tuple[list[float], list[float]]:
    r"""First steps at which $|x_k| > \tau$, and those of `descent_escape_times`."""
    x = checked_start(octopus, start, np.random.default_rng(0))
    run = _Waiting(octopus, x, checked_step_size(octopus, step_size))
    reached: list[float] = []
    passed: list[float] = []
    while not run.is_over:
        run.jump(run.wait)
        reached.append(run.t)
        while run.k == len(passed):
            run.cross()
        passed.append(run.t)
    never = [math.inf] * (octopus.dimension - len(passed))
    return reached + never, passed + never


@states("DU-X7.a")
def descent_points(
    octopus: Octopus, start: ArrayLike, step_size: float, steps: Sequence[int] | NDArray[np.int64]
) -> Array:
    """The points of gradient descent after each of the numbers `steps`, in increasing order,
    len(steps) x d; also after 1e30.

    What is below the range of float64 is zero here, though not in the run.
    """
    x = checked_start(octopus, start, np.random.default_rng(0))
    run = _Waiting(octopus, x, checked_step_size(octopus, step_size))
    points = np.empty((len(steps), octopus.dimension))
    for row, step in zip(points, map(int, steps), strict=True):
        if step < run.t:
            raise DataError(f"steps must increase and not be negative: {step} comes after {run.t}")
        while run.t < step:
            ahead = step - run.t if run.is_over else min(step - run.t, run.wait)
            if ahead:
                run.jump(ahead)
            else:
                run.cross()
        row[:] = run.magnitudes()
    return np.where(x < 0.0, -points, points)


@states("DU-X7.a", "DU-F7.3", "DU-F7.4")
def descent_values(
    octopus: Octopus, start: ArrayLike, step_size: float, steps: Sequence[int] | NDArray[np.int64]
) -> Array:
    """The function along gradient descent after each of the numbers `steps`, see
    `descent_points`.
    """
    return octopus.value(descent_points(octopus, start, step_size, steps))


@dataclass(frozen=True)
class PerturbedRun:
    r"""Perturbed gradient descent on the octopus: first steps with $|x_k| \ge 2\tau$, steps with
    noise, values by step.
    """

    escape_times: list[float]
    noise_steps: list[int] = field(repr=False)
    values: Array = field(repr=False)
    x: Array = field(repr=False)

    @property
    def status(self) -> Status:
        """CONVERGED if every saddle was passed."""
        return Status.MAX_ITER if math.inf in self.escape_times else Status.CONVERGED


@states("DU-A2", "DU-F7.3", "DU-F7.4")
def perturbed_descent(
    octopus: Octopus,
    start: ArrayLike | None,
    step_size: float,
    rng: np.random.Generator,
    *,
    radius: float | None = None,
    noise_gap: int = 1,
    gradient_threshold: float | None = None,
    max_iter: int | None = None,
    n_values: int = 0,
    visited: list[Array] | None = None,
) -> PerturbedRun:
    r"""Algorithm 2 on the octopus until every saddle is passed; a general optimizer is
    `optimize.perturbed`.

    Parameters
    ----------
    octopus, start, step_size : as in `octopus_escape_times`; a start of None is drawn uniformly
        from $[-1, 1]^d$.
    rng : draws the start and the noise.
    radius : of the ball the noise is uniform in; e/100 by default, as in the thesis.
    noise_gap : noise comes after more than so many steps without noise.
    gradient_threshold : noise comes where the gradient is at most so long; $\gamma e/100$ by
        default.
    max_iter : steps at most, 10,000 d by default; a saddle not passed by then counts as infinity.
    n_values : record the function at the steps 0 to `n_values`, if positive, and go on that long.
    visited : a list that the points are appended to, before noise.
    """
    x, eta = checked_start(octopus, start, rng), checked_step_size(octopus, step_size)
    r = math.e / 100.0 if radius is None else radius
    threshold = octopus.gamma * math.e / 100.0 if gradient_threshold is None else gradient_threshold
    most, d = 10_000 * octopus.dimension if max_iter is None else max_iter, octopus.dimension
    times: list[float] = []
    noises: list[int] = []
    values: list[float] = []
    last = -noise_gap - 1
    for t in range(max(most, n_values) + 1):
        times += [t] * (_passed(octopus, x) - len(times))
        if visited is not None:
            visited.append(x)
        if t <= n_values and n_values:
            values.append(float(octopus.value(x)))
        if (len(times) == d and t >= n_values) or t == max(most, n_values):
            break
        G = _gradient(octopus, x)
        if t - last > noise_gap and float(G @ G) <= threshold**2:
            x, last = x + uniform_in_ball(d, r, rng), t
            noises.append(t)
            G = _gradient(octopus, x)
        x = x - eta * G
    return PerturbedRun(times + [math.inf] * (d - len(times)), noises, np.array(values), x)


def _passed(octopus: Octopus, x: Array) -> int:
    waiting = np.flatnonzero(np.abs(x) < 2.0 * octopus.tau)
    return int(waiting[0]) if waiting.size else octopus.dimension


def _gradient(octopus: Octopus, x: Array) -> Array:
    """The gradient at one point, faster than `Octopus.gradient`, which is for many."""
    y, i, s = np.abs(x), _passed(octopus, x), octopus.splines
    if y[:i].max(initial=0.0) > 6.0 * octopus.tau or y[i + 1 :].max(initial=0.0) > octopus.tau:
        raise DataError(
            "the run left the domain of the octopus; choose a smaller radius of the noise or a "
            "smaller step_size"
        )
    G = 2.0 * octopus.L * y
    G[:i] -= 8.0 * octopus.L * octopus.tau
    if i < octopus.dimension:
        a = float(y[i])
        G[i] = -2.0 * octopus.gamma * a
        if a > octopus.tau:
            G[i] = s.g1(a, 1)
            if i + 1 < octopus.dimension:
                G[i] += s.g2(a, 1) * y[i + 1] ** 2
                G[i + 1] = 2.0 * s.g2(a) * y[i + 1]
    return np.copysign(G, G * x)

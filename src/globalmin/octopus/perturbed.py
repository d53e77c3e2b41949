"""Perturbed gradient descent on the octopus (DU-A2): noise where the gradient is small takes it
past every saddle.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from globalmin._types import Array, ArrayLike
from globalmin.errors import DataError
from globalmin.linalg.sampling import uniform_in_ball
from globalmin.octopus.descent import checked_start, checked_step_size
from globalmin.octopus.function import Octopus
from globalmin.optimize.run import Status
from globalmin.references import states


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

r"""A descent on the octopus that can be explained: plain gradient descent in logarithms, or with
noise, with its points and the steps at which every arm began and ended.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from globalmin._options import one_of
from globalmin._types import Array, ArrayLike, NDArray
from globalmin.errors import DataError
from globalmin.facts.explanation import steps_to_read
from globalmin.octopus import descent
from globalmin.octopus.escape import METHODS, Method
from globalmin.octopus.function import Octopus
from globalmin.optimize.run import Run, Status, Trajectory
from globalmin.references import states

LONGEST = 2**62  # steps that an int64 can count
SETTLING = 40  # steps after the last saddle, in which the last coordinate comes to rest


@dataclass(frozen=True, eq=False, kw_only=True)
class OctopusRun(Run[Array]):
    r"""A descent on the octopus, get one from `follow_octopus`.

    Attributes
    ----------
    network : Array
        The last point; also called `point`.
    octopus : Octopus
        What was descended.
    step_size : float
        The step.
    points : Array
        len(trajectory) x d, at the recorded steps; what is below the range of float64 is zero.
    reached, passed : tuple[float, ...]
        First steps with $|x_k| > \tau$, where the buffer of arm k begins, and with
        $|x_k| \ge 2\tau$, where it ends; infinite where that never happened.
    noise_steps : tuple[int, ...]
        At which noise was added.
    """

    octopus: Octopus
    step_size: float
    points: Array = field(repr=False)
    reached: tuple[float, ...]
    passed: tuple[float, ...]
    noise_steps: tuple[int, ...] = ()

    @property
    def point(self) -> Array:
        """The last point."""
        return self.network


@states("DU-X7.a", "DU-A2")
def follow_octopus(
    octopus: Octopus,
    start: ArrayLike | None = None,
    step_size: float | None = None,
    *,
    method: Method = "gradient_descent",
    seed: int = 0,
    **options: Any,
) -> OctopusRun:
    r"""Descend the octopus past all of its saddles, and keep the way.

    Parameters
    ----------
    octopus : Octopus
        The function.
    start : ArrayLike | None
        In $[-1, 1]^d$; drawn there if not given.
    step_size : float | None
        At most 1/(2L); the 1/(4L) of the thesis if not given.
    method : str
        "gradient_descent", in logarithms (any number of steps up to 4e18), or
        "perturbed_gradient_descent" with the `options` radius, noise_gap, gradient_threshold and
        max_iter of `octopus_escape_times`.
    seed : int
        Of the start and the noise.

    Examples
    --------
    >>> run = follow_octopus(Octopus(5), [0.5] * 5)
    >>> run.passed
    (11, 50, 211, 875, 3598)
    """
    one_of("method", method, METHODS)
    rng = np.random.default_rng(seed)
    x = descent.checked_start(octopus, start, rng)
    eta = descent.checked_step_size(
        octopus, 0.25 / octopus.L if step_size is None else float(step_size)
    )
    if method == "gradient_descent":
        if options:
            raise DataError(f"{', '.join(options)}: gradient descent has no noise; leave it out")
        return _plain(octopus, x, eta)
    return _perturbed(octopus, x, eta, rng, options)


def _plain(octopus: Octopus, x: Array, eta: float) -> OctopusRun:
    reached, passed = descent.descent_stage_times(octopus, x, eta)
    known = [int(t) for t in (*reached, *passed) if t < LONGEST]
    last = min(max(known, default=0) + SETTLING, LONGEST)
    events = [t + shift for t in known for shift in (-1, 0, 1)]
    steps = np.unique(np.clip([*steps_to_read(last).tolist(), *events], 0, last))
    points = descent.descent_points(octopus, x, eta, steps)
    times = tuple(reached), tuple(passed)
    return _run(octopus, eta, (steps, points), times, ())


def _perturbed(
    octopus: Octopus, x: Array, eta: float, rng: np.random.Generator, options: dict[str, Any]
) -> OctopusRun:
    points: list[Array] = []
    run = descent.perturbed_descent(octopus, x, eta, rng, visited=points, **options)
    path, d = np.array(points), octopus.dimension
    reached = tuple(_first(np.abs(path[:, k]) > octopus.tau) for k in range(d))
    times = reached, tuple(run.escape_times)
    return _run(octopus, eta, (np.arange(len(path)), path), times, tuple(run.noise_steps))


def _first(marks: NDArray[np.bool_]) -> float:
    return int(np.argmax(marks)) if marks.any() else math.inf


def _run(
    octopus: Octopus,
    eta: float,
    path: tuple[NDArray[np.int64], Array],
    times: tuple[tuple[float, ...], tuple[float, ...]],
    noise: tuple[int, ...],
) -> OctopusRun:
    steps, points = path
    values = octopus.value(points)
    count = sum(t <= steps[-1] for t in times[1])
    is_over = count == octopus.dimension
    return OctopusRun(
        network=points[-1],
        status=Status.CONVERGED if is_over else Status.MAX_ITER,
        message=f"{count} of {octopus.dimension} saddles passed",
        trajectory=Trajectory(steps, values),
        n_iter=int(steps[-1]),
        method="perturbed_gradient_descent" if noise else "gradient_descent",
        loss=float(values[-1]),
        start=points[0],
        octopus=octopus,
        step_size=eta,
        points=points,
        reached=times[0],
        passed=times[1],
        noise_steps=noise,
    )

r"""Chapter 7 along a way on the octopus: what holds gradient descent at every arm, lemma by lemma,
and what no point on the way is.

The lemmas about gradient descent speak where the way is one: starts in the cube, a step of at most
1/(2L), and every recorded pair of neighbors one step apart. Along noise or another optimizer they
are silent; those about the function speak everywhere in its domain.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from globalmin._types import Array, ArrayLike, NDArray
from globalmin.errors import DataError
from globalmin.facts.explanation import Explanation, Lemma, Promise, steps_to_read
from globalmin.octopus.constants import OctopusSmoothness, octopus_smoothness_upper
from globalmin.octopus.escape import (
    buffer_steps_upper,
    escape_ratio_lower,
    escape_step_lower,
    escape_times_lower,
)
from globalmin.octopus.function import Octopus
from globalmin.octopus.runs import OctopusRun
from globalmin.references import states

ARMS = 8  # rows of the picture, if there are more arms
SAME = 1e-9  # of a step, relative: two neighbors are one step of descent apart
ULPS = 1e-15  # of a point: the rounding of the step


@dataclass(frozen=True)
class Way:
    """Recorded points of a way, and whether plain gradient descent made it."""

    octopus: Octopus
    steps: NDArray[np.int64]
    points: Array
    step_size: float | None
    reached: tuple[float, ...]
    passed: tuple[float, ...]
    noise: tuple[int, ...] = ()
    is_descent: bool = False

    @property
    def silent(self) -> Array:
        """NaN at every step."""
        return np.full(len(self.steps), np.nan)

    @property
    def eta(self) -> float:
        """The step of gradient descent."""
        return math.nan if self.step_size is None else self.step_size


@states("DU-L7.2", "DU-L7.3", "DU-C7.1", "DU-T7.3")
def explain_run(run: OctopusRun) -> Explanation:
    """The lemmas of chapter 7 along a run of `follow_octopus`."""
    is_descent = not run.noise_steps
    steps, points = run.trajectory.iteration, run.points
    if not is_descent and len(steps) > 1:
        kept = np.union1d(steps_to_read(len(steps) - 1), _events(run))
        steps, points = steps[kept], points[kept]
    return _explained(
        Way(
            run.octopus,
            steps,
            points,
            run.step_size,
            run.reached,
            run.passed,
            run.noise_steps,
            is_descent,
        )
    )


def _events(run: OctopusRun) -> NDArray[np.int64]:
    known = [int(t) for t in (*run.reached, *run.passed) if math.isfinite(t)]
    return np.array(known, dtype=np.int64)


@states("DU-L7.2", "DU-L7.3", "DU-C7.1")
def explain_path(octopus: Octopus, path: ArrayLike, step_size: float | None) -> Explanation:
    """The same along the points of any optimizer, one row per step; what is said of gradient
    descent is silent unless these points are gradient descent with this step.
    """
    points = np.asarray(path, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != octopus.dimension or len(points) < 2:
        raise DataError(
            f"the path has shape {points.shape}; give at least two points of the "
            f"{octopus.dimension} coordinates of the octopus, one row per step"
        )
    y = np.abs(points)
    reached, passed = (
        tuple(_first(y[:, k], level) for k in range(octopus.dimension))
        for level in (np.nextafter(octopus.tau, np.inf), 2.0 * octopus.tau)
    )
    is_descent = step_size is not None and _is_descent(octopus, points, step_size)
    every = Way(octopus, np.arange(len(points)), points, step_size, reached, passed, (), is_descent)
    return _explained(every)


def _first(values: Array, level: float) -> float:
    marks = values >= level
    return int(np.argmax(marks)) if marks.any() else math.inf


def _is_descent(octopus: Octopus, points: Array, eta: float) -> bool:
    """Whether every point is one step of gradient descent after the one before."""
    if not 0.0 < eta <= 0.5 / octopus.L or not (np.abs(points[0]) <= 1.0).all():
        return False
    moves = -eta * octopus.gradient(points[:-1])
    off = np.linalg.norm(points[1:] - points[:-1] - moves, axis=1)
    allowed = SAME * np.linalg.norm(moves, axis=1) + ULPS * np.linalg.norm(points[1:], axis=1)
    return bool((off <= allowed).all())


def _explained(way: Way) -> Explanation:
    octopus, values = way.octopus, way.octopus.value(way.points)
    smooth = octopus_smoothness_upper(octopus)
    lower = escape_times_lower(octopus, way.eta) if way.is_descent else None
    d, count = octopus.dimension, sum(t <= way.steps[-1] for t in way.passed)
    how = "gradient descent" if way.is_descent else "descent with noise" if way.noise else "a way"
    step = "" if way.step_size is None else f", step {way.step_size:.4g}"
    last = way.passed[-1]
    ended = f"the last after {last:,.0f} steps" if count == d else "not at a minimum"
    return Explanation(
        f"{how} on the octopus, d = {d}, L = {octopus.L:.4g}, γ = {octopus.gamma:.4g}, τ = "
        f"{octopus.tau:.4g}{step}, {int(way.steps[-1]):,} steps (DU chapter 7)",
        f"{count} of {d} saddles passed, {ended}; noise at {len(way.noise)} steps",
        way.steps,
        (*_about_descent(way, lower), *_about_function(way, smooth)),
        (*_of_descent(way), *_of_noise(way, smooth)),
        values - octopus.least,
        way.silent if lower is None else _floor(way, lower),
        "f − min f",
    )


def _about_descent(way: Way, lower: Array | None) -> list[Lemma]:
    """What is said of gradient descent from the cube; silent along anything else."""
    octopus, y = way.octopus, np.abs(way.points)
    stage = octopus.stage(way.points)
    limit = np.where(np.arange(y.shape[1]) < stage[:, None], 6.0, 1.0) * octopus.tau
    limit = np.where(np.arange(y.shape[1]) == stage[:, None], 2.0 * octopus.tau, limit)
    room = (limit - y).min(axis=1)
    speaks = np.ones(len(y), dtype=bool) if lower is not None else np.zeros(len(y), dtype=bool)
    lemmas = [
        Lemma("DU-O7", "the way stays in the domain", _where(speaks, room), octopus.tau),
        Lemma(
            "DU-L7.2",
            "|x_j| of an arm that waits is at most (1 − 2ηL)^t",
            _shrinking(way) if lower is not None else way.silent,
        ),
    ]
    for k in _arms(octopus.dimension):
        before = way.steps < (0.0 if lower is None else lower[k])
        lemmas.append(
            Lemma(
                "DU-L7.3",
                f"arm {k + 1}: |x_{k + 1}| < 2τ before the step T_{k + 1} of the bound",
                _where(speaks & before, 2.0 * octopus.tau - y[:, k]),
                octopus.tau,
            )
        )
    return lemmas


def _arms(d: int) -> list[int]:
    """All arms, or evenly spaced ones with the last."""
    return list(range(d)) if d <= ARMS else np.linspace(0, d - 1, ARMS).round().astype(int).tolist()


def _where(marks: NDArray[np.bool_], values: Array) -> Array:
    return np.where(marks, values, np.nan)


def _shrinking(way: Way) -> Array:
    """The least t ln(1 - 2 eta L) - ln|x_j| over the arms j whose predecessor has not reached tau;
    NaN where all of them are below the range of floats.
    """
    d, t = way.octopus.dimension, way.steps.astype(np.float64)
    before = np.array([math.inf, *way.reached[: d - 1]])  # when arm j - 1 reached tau
    waits = (t[:, None] <= before) & (np.arange(d) > 0)
    rate = math.log1p(-2.0 * way.eta * way.octopus.L) if way.eta * way.octopus.L < 0.5 else -np.inf
    y = np.abs(way.points)
    with np.errstate(divide="ignore", invalid="ignore"):
        slack = t[:, None] * rate - np.log(y)
    known = waits & (y > 1e-300) & np.isfinite(slack)
    return np.where(known.any(axis=1), np.where(known, slack, np.inf).min(axis=1), np.nan)


def _about_function(way: Way, smooth: OctopusSmoothness) -> list[Lemma]:
    """What is said of every point of the domain."""
    octopus, points = way.octopus, way.points
    inside, stage = octopus.in_domain(points), octopus.stage(points)
    d = octopus.dimension
    G = octopus.gradient(points) * np.where(points < 0.0, -1.0, 1.0)
    rows, at = np.arange(len(points)), np.minimum(stage, d - 1)
    y = np.abs(points)
    buffer = inside & (stage < d) & (y[rows, at] > octopus.tau)
    pull = -2.0 * octopus.gamma * octopus.tau - G[rows, at]
    following = np.minimum(at + 1, d - 1)
    press = G[rows, following] + 2.0 * octopus.gamma * y[rows, following]
    eps, rho = smooth.epsilon, smooth.hessian
    norm = np.linalg.norm(G, axis=1)
    least = np.array(
        [np.linalg.eigvalsh(H)[0] if ok else np.nan for H, ok in zip(
            octopus.hessian(points), inside & (stage < d), strict=True)]
    )  # fmt: skip
    missed = np.maximum(norm - eps, -math.sqrt(rho * eps) - least)
    size = 2.0 * octopus.gamma * octopus.tau
    return [
        Lemma("DU-L7.4", "in a buffer the way out pulls by at least 2γτ", _where(buffer, pull),
              size),
        Lemma("DU-L7.4", "and the next arm leaves by at most 2γ|x| a unit",
              _where(buffer & (at + 1 < d), press), size),
        Lemma("DU-C7.1", f"no ε-second-order point before the end, ε = {eps:.3g}",
              _where(inside & (stage < d), missed), 2.0 * octopus.gamma),
    ]  # fmt: skip


def _floor(way: Way, lower: Array) -> Array:
    r"""(d - k) nu while at most k - 1 saddles can have been passed: with i saddles passed the
    function is at least $-(i + 1)\nu$.
    """
    most = (way.steps[:, None] >= lower).sum(axis=1)
    left = way.octopus.dimension - 1 - most
    return np.where(left > 0, left * way.octopus.drop, np.nan)


def _of_descent(way: Way) -> list[Promise]:
    octopus, d = way.octopus, way.octopus.dimension
    if not way.is_descent:
        words = "silent: this is not gradient descent from the cube with a step up to 1/(2L)"
        return [Promise("DU-T7.3", words, happened=float(way.passed[-1]))]
    ratio = escape_ratio_lower(octopus.L, octopus.gamma)
    found = []
    for k in (k for k in _arms(d) if k > 0 and math.isfinite(way.reached[k - 1])):
        promised, happened = ratio * way.reached[k - 1], float(way.reached[k])
        words = f"arm {k + 1} reaches τ after (L+γ)/γ times the steps of arm {k}"
        found.append(Promise("DU-K7", words, promised, happened, _later(way, happened, promised)))
    pairs = zip(way.reached, way.passed, strict=True)
    crossings = [b - a for a, b in pairs if math.isfinite(b)]
    if crossings:
        most, longest = float(buffer_steps_upper(octopus, way.eta)), max(crossings)
        words = "steps across a buffer, at most ⌈1/(2ηγ)⌉"
        found.append(Promise("DU-L7.2", words, most, longest, longest <= most))
    happened = float(way.passed[-1])
    bounds = {
        "steps past all saddles, at least, as printed": escape_step_lower(
            d, octopus.L, octopus.gamma
        ),
        "the same, by its proof": escape_step_lower(d, octopus.L, octopus.gamma, way.eta),
        "the same, our sharper bound": float(escape_times_lower(octopus, way.eta)[-1]),
    }
    found += [
        Promise("DU-L7.3", words, bound, happened, _later(way, happened, bound))
        for words, bound in bounds.items()
    ]
    return found


def _later(way: Way, happened: float, promised: float) -> bool | None:
    """Whether something came no sooner than promised; None if the way ended before both."""
    is_known = math.isfinite(happened) or way.steps[-1] >= promised
    return happened >= promised if is_known else None


def _of_noise(way: Way, smooth: OctopusSmoothness) -> list[Promise]:
    """What is said of descent with noise, and of limits."""
    found = []
    if way.noise:
        words = "with noise polynomially many steps; the constant is unnamed. T_d"
        found.append(Promise("DU-T7.3", words, happened=float(way.passed[-1])))
    if way.step_size is not None:
        largest = 1.0 / smooth.gradient
        is_short = way.step_size < largest
        words = "the limit is a minimum for almost every start, step below 1/ℓ"
        words = words if is_short else "silent: the step is not below 1/ℓ (limits are minima)"
        found.append(Promise("DU-T7.1", words, largest, way.step_size))
    return found

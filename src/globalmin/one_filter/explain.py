r"""Chapter 5 along a run of Algorithm 1: invariants, phases, the trap test, and what the explicit
theorem promised.

The run is followed once more by the exact recursion of four numbers (DU-X5.a), which knows the
length of v and the sum of a that a run does not keep, and must meet the recorded angles.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from globalmin.errors import DataError
from globalmin.facts.explanation import Explanation, Lemma, Promise
from globalmin.facts.finding import number
from globalmin.one_filter import phases
from globalmin.one_filter.landscape import Basin, filter_landscape, smoothness_at
from globalmin.one_filter.network import FilterTeacher, g, pi_minus_g
from globalmin.one_filter.train import detect_phases
from globalmin.references import states

if TYPE_CHECKING:
    from globalmin._types import Array
    from globalmin.one_filter.network import OneFilterNetwork
    from globalmin.one_filter.train import OneFilterRun

REPLAYED = 1e-6  # the recursion must meet the recorded angles to this many radians
SAYS = {
    "angle": ("DU-L5.2", "the angle to w* does not grow"),
    "side": ("DU-L5.3", "a . a* stays positive"),
    "sum": ("DU-L5.4", "the sum of a does not pass that of the teacher"),
    "sine": ("DU-L5.5", "sin² of the angle shrinks by 1 − ηλ cos φ"),
    "head": ("DU-L5.7", "a . a* grows towards its lower limit"),
    "bounded": ("DU-L5.8", "a . a* stays below |a*|² + s²"),
}


@states("DU-L5.2", "DU-L5.3", "DU-L5.4", "DU-L5.5", "DU-L5.7", "DU-L5.8", "DU-L5.10", "DU-L5.11",
        "DU-L5.12", "DU-X5.a", "DU-C5.1", "DU-C5.2", "DU-T5.3x", "DU-T5.5", "DU-B5")  # fmt: skip
def explain_run(run: OneFilterRun, teacher: FilterTeacher) -> Explanation:
    """Every lemma of chapter 5 at every step of a population run, for its teacher."""
    if not isinstance(teacher, FilterTeacher):
        raise DataError(f"data={teacher!r}: chapter 5 needs the FilterTeacher of the run")
    if run.phi.size == 0 or run.start is None:
        raise DataError(
            "chapter 5 is about the population loss, and this run was made on samples: explain a "
            "run of one_filter.train.population_run"
        )
    unit, t = phases.unit_teacher(teacher), np.arange(len(run.phi))
    path = phases.trajectory(
        phases.state_of(run.start.v, run.start.a, unit), unit, run.step_size, len(t) - 1
    )
    seen = {name: values[:, 0] for name, values in path.items()}
    if float(np.max(np.abs(seen["phi"] - run.phi))) > REPLAYED:
        raise DataError("data: the run is not gradient descent on the loss of this teacher")
    promise = phases.two_phases(run.start.v, run.start.a, teacher, run.step_size)
    bound = np.full(len(t), np.nan)
    if promise is not None:
        rate = promise.first_rate**t
        bound = np.asarray(math.sin(run.phi[0]) ** 2 * rate, dtype=np.float64)
    lemmas = (
        *_invariants(seen, unit, run.step_size),
        *_errors(run, run.start.a, unit),
        *_phase_lemmas(seen, bound, promise),
    )
    return Explanation(
        f"gradient descent on one filter, k = {unit.k} patches of {unit.p}, step {run.step_size:g},"
        f" {len(t) - 1} steps (DU chapter 5)",
        _verdict(run, teacher),
        t,
        lemmas,
        (*_trap(run, unit, seen), *_promises(run, run.start, teacher, promise)),
        np.sin(run.phi) ** 2,
        bound,
        "sin² of the angle to the true filter",
    )


def _invariants(seen: dict[str, Array], unit: FilterTeacher, eta: float) -> list[Lemma]:
    whole = phases.FilterState(
        seen["phi"], seen["length2"], seen["alpha"], seen["b"], np.zeros_like(seen["phi"])
    )
    later = np.arange(len(seen["phi"])) > 0
    found = phases.invariant_slacks(whole.keep(~np.roll(~later, -1)), whole.keep(later), unit, eta)
    scales = {"angle": 1.0, "sine": 1.0}
    return [
        Lemma(*SAYS[name], np.append(np.nan, slack), scales.get(name, unit.size + unit.s**2))
        for name, slack in found.items()
    ]


def _errors(run: OneFilterRun, a0: Array, unit: FilterTeacher) -> list[Lemma]:
    """The bounds of sum, head and loss; the first two while the angle has not grown."""
    eta, phi0, t = run.step_size, float(run.phi[0]), range(len(run.phi))
    tame = (np.maximum.accumulate(run.phi) <= phi0 + 1e-12) & (
        eta <= 2.0 * math.pi / (unit.k + math.pi - 1.0)
    )
    sums = [phases.sum_error_at_most(float(a0.sum()), phi0, unit, eta, i) for i in t]
    heads = [phases.head_error_at_most(a0, phi0, unit, eta, i) for i in t]
    height = math.sqrt(unit.size)
    eps = np.maximum(run.head_error / height, pi_minus_g(run.phi))
    near = np.array([phases.loss_at_most_near_truth(float(x), unit) for x in eps])
    return [
        Lemma("DU-L5.10", "error of the sum of a, under its bound",
              np.where(tame, np.array(sums) - run.sum_error, np.nan), abs(unit.s) + height),
        Lemma("DU-L5.11", "error of a, under its bound",
              np.where(tame, np.array(heads) - run.head_error, np.nan), height),
        Lemma("DU-L5.12", "loss, by how far angle and a are from the teacher",
              near - run.losses, unit.size),
    ]  # fmt: skip


def _phase_lemmas(
    seen: dict[str, Array], bound: Array, promise: phases.TwoPhases | None
) -> list[Lemma]:
    silent = np.full_like(bound, np.nan)
    floor = silent if promise is None else seen["b"] - promise.b_lower
    length = silent if promise is None else 2.0 - seen["length2"]
    return [
        Lemma("DU-T5.3x", "sin² of the angle, under the rate of phase one",
              bound - np.sin(seen["phi"]) ** 2),
        Lemma("DU-C5.1", "a . a* never below β₀", floor),
        Lemma("DU-L5.9", "|v|² at most 2", length),
    ]  # fmt: skip


def _trap(run: OneFilterRun, unit: FilterTeacher, seen: dict[str, Array]) -> list[Promise]:
    """The first step at which the trap test decides, and whether its step condition holds there."""
    scene = filter_landscape(unit)
    below = np.flatnonzero((run.losses < scene.barrier) & (seen["b"] != 0.0))
    if not below.size:
        return [Promise("DU-B5", "trap test: the loss never fell below the barrier", scene.barrier,
                        float(run.losses.min()))]  # fmt: skip
    first = int(below[0])
    side = "the global" if seen["b"][first] > 0.0 else "the spurious"
    limit = 2.0 / smoothness_at(
        math.sqrt(float(seen["length2"][first])), float(run.losses[first]), unit
    )
    covered = run.step_size < limit
    end = run.basin is (Basin.GLOBAL if seen["b"][first] > 0.0 else Basin.SPURIOUS)
    words = f"trap test: from step {first} on it goes to {side} minimum"
    stays = bool(np.all(np.sign(seen["b"][first:]) == np.sign(seen["b"][first])))
    return [
        Promise("DU-B5", words if covered else f"{words}, if the step were below the promised",
                limit, run.step_size, (stays and end) if covered else None)
    ]  # fmt: skip


def _promises(
    run: OneFilterRun,
    start: OneFilterNetwork,
    teacher: FilterTeacher,
    promise: phases.TwoPhases | None,
) -> list[Promise]:
    measured = detect_phases(run, start, teacher)
    first = math.nan if measured.first_steps is None else float(measured.first_steps)
    found = [_head_promise(run, start, teacher)]
    if promise is None:
        found.append(Promise("DU-T5.3x", _why_silent(start, teacher, run.step_size),
                             happened=first))  # fmt: skip
    else:
        late = promise.first_steps + promise.head_steps
        kept = None if len(run.phi) <= late else first <= late
        found.append(
            Promise("DU-T5.3x", "phase one is over after so many steps", late, first, kept)
        )
    bad = phases.spurious_start(start.v, start.a, teacher)
    words = "the start is one of those that end at the spurious minimum"
    kept = run.basin is Basin.SPURIOUS if bad and run.basin is not Basin.UNDECIDED else None
    return [*found, Promise("DU-T5.5", words if bad else f"not said: {words}", kept=kept)]


def _head_promise(run: OneFilterRun, start: OneFilterNetwork, teacher: FilterTeacher) -> Promise:
    """DU-C5.2: the steps until a . a* is half of X at the first angle."""
    eta, X = run.step_size, (float(g(run.phi[0])) - 1.0) / (math.pi - 1.0) * teacher.size
    reached = np.flatnonzero(run.b >= 0.5 * teacher.W * X)
    happened, most = float(reached[0]) if reached.size else math.nan, phases.head_time(eta)
    words = "a . a* reaches half of its lower limit"
    if not (phases.in_basin_set(start.v, start.a, teacher) and eta < 2.0):
        return Promise("DU-C5.2", f"not said: {words} (start not in the basin set)",
                       happened=happened)  # fmt: skip
    kept = None if len(run.phi) <= most else happened <= math.ceil(most)
    return Promise("DU-C5.2", words, most, happened, kept)


def _why_silent(start: OneFilterNetwork, teacher: FilterTeacher, eta: float) -> str:
    """The hypothesis of the two-phase theorem that fails."""
    most = phases.two_phases(start.v, start.a, teacher)
    if most is not None:
        return f"silent: the step {eta:g} is above {number(most.max_step)}"
    if abs(float(start.v @ start.v) - 1.0) > 1e-12:
        return "silent: the first filter does not have length 1"
    return "silent: the start is not in the basin set"


def _verdict(run: OneFilterRun, teacher: FilterTeacher) -> str:
    scene = filter_landscape(teacher)
    if run.basin is Basin.SPURIOUS:
        return f"trapped: it ends at the spurious minimum, loss {scene.spurious_loss:.6g}"
    if run.basin is Basin.GLOBAL:
        return f"on the way to the global minimum, loss {run.loss:.3g}: {run.status.message}"
    return f"undecided: loss {run.loss:.4g}, barrier {scene.barrier:.4g}: {run.status.message}"

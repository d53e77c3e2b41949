"""The theorems of DU chapter 5 for one teacher: a start is drawn as DU-T5.4 says, and every lemma
is read at it and along a run from it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from globalmin.activations.moments import angle, both_half_spaces_times
from globalmin.facts.finding import TheoremReport, check, fact, number
from globalmin.one_filter import network, phases
from globalmin.one_filter.train import draw_network, sign_flips

STEPS = 200  # of the run along which the lemmas are read
SEED = 0


class Drawn(NamedTuple):
    """The unit teacher, the start used, its angle, the step, and the run's states."""

    teacher: network.FilterTeacher
    start: network.OneFilterNetwork
    phi: float
    step_size: float
    run: tuple[phases.FilterState, ...]


def drawn(teacher: network.FilterTeacher) -> Drawn:
    """The best of the four sign flips of a start drawn as in DU-T5.4, and a run from it."""
    unit = phases.unit_teacher(teacher)
    radius = abs(unit.s) / math.sqrt(unit.k)
    first = draw_network(unit.p, unit.k, radius, np.random.default_rng(SEED))
    start = max(sign_flips(first), key=lambda net: (_inside(net, unit), net.a @ unit.a))
    eta = 1.0 / (unit.k + math.pi - 1.0)
    states = [phases.state_of(start.v, start.a, unit)]
    for _ in range(STEPS):
        states.append(phases.step(states[-1], unit, eta))
    return Drawn(unit, start, angle(start.v, unit.w), eta, tuple(states))


def _inside(net: network.OneFilterNetwork, teacher: network.FilterTeacher) -> bool:
    return phases.in_basin_set(net.v, net.a, teacher)


@fact(
    "DU-B5",
    "DU-T5.3",
    "DU-T5.3x",
    "DU-L5.9",
    "DU-C5.1",
    "DU-C5.2",
    "DU-T5.4",
    subject=network.FilterTeacher,
)
def convergence(teacher: network.FilterTeacher) -> TheoremReport:
    """The two-phase theorem at a drawn start."""
    it = drawn(teacher)
    found = phases.two_phases(it.start.v, it.start.a, it.teacher)
    numbers = [
        (
            "median of |cos φ₀| over uniform filters",
            network.initial_cosine_quantile(0.75, teacher.p),
        )
        if teacher.p > 1
        else ("patch size", 1.0),
        ("cos φ₀ of the drawn start", math.cos(it.phi)),
        ("steps until aᵀa* reaches half of its limit", phases.head_time(it.step_size)),
    ]
    if found is not None:
        numbers += [
            ("largest step", found.max_step),
            ("aᵀa* at least, for all steps", found.b_lower),
            ("steps of the first phase", float(found.first_steps)),
            ("factor of sin²φ per step, second phase", found.second_rate),
        ]
    return TheoremReport(
        "DU-B5",
        "from a start on the right side gradient descent turns the filter slowly, then linearly, "
        "to the teacher",
        (
            check(
                "the best of four sign flips lies in the basin set", _inside(it.start, it.teacher)
            ),
            check("the explicit theorem applies there", found is not None),
        ),
        step_size=found.max_step if found else None,
        numbers=tuple(numbers),
    )


@fact(
    "DU-L5.2",
    "DU-L5.3",
    "DU-L5.4",
    "DU-L5.5",
    "DU-L5.7",
    "DU-L5.8",
    "DU-L5.10",
    "DU-L5.11",
    "DU-L5.12",
    "DU-X5.a",
    "DU-A1",
    subject=network.FilterTeacher,
)
def invariants(teacher: network.FilterTeacher) -> TheoremReport:
    """Every invariant along a run of the exact recursion; slack at least 0 where it holds."""
    it = drawn(teacher)
    slacks: dict[str, float] = {}
    for before, after in zip(it.run[:-1], it.run[1:], strict=True):
        found = phases.invariant_slacks(before, after, it.teacher, it.step_size)
        for name, value in found.items():
            if np.isfinite(value).all():
                slacks[name] = min(slacks.get(name, math.inf), float(value.min()))
    last, options = it.run[-1], (it.teacher, it.step_size, STEPS)
    alpha0 = float(it.start.a.sum())
    least = min(slacks.values(), default=0.0)
    return TheoremReport(
        "DU-L5.2",
        f"what never gets worse along gradient descent, over {STEPS} steps from a drawn start",
        (check("no invariant fails beyond rounding", least >= -1e-12, number(least)),),
        numbers=(
            *((f"least slack, {name}", value) for name, value in slacks.items()),
            ("|1ᵀa − 1ᵀa*| at the end ≤", phases.sum_error_at_most(alpha0, it.phi, *options)),
            ("|1ᵀa − 1ᵀa*| at the end", abs(float(last.alpha[0]) - it.teacher.s)),
            ("‖a − a*‖ at the end ≤", phases.head_error_at_most(it.start.a, it.phi, *options)),
            ("loss within 1 % of the teacher ≤", phases.loss_at_most_near_truth(0.01, it.teacher)),
        ),
    )


@fact("DU-T5.5", subject=network.FilterTeacher)
def failure(teacher: network.FilterTeacher) -> TheoremReport:
    """How often a random start provably ends at the spurious minimum."""
    it = drawn(teacher)
    flips = sign_flips(it.start)
    bad = [net for net in flips if phases.spurious_start(net.v, net.a, it.teacher)]
    chance = phases.spurious_flip_probability(it.teacher.ratio, teacher.p) if teacher.p > 1 else 0.0
    return TheoremReport(
        "DU-T5.5",
        "if the teacher's weights nearly cancel, some sign flips of a start end at a spurious "
        "minimum",
        (
            check(
                "r = (1ᵀa*)²/‖a*‖² < ½", it.teacher.ratio < 0.5, f"r = {number(it.teacher.ratio)}"
            ),
        ),
        numbers=(
            ("chance that a flip of a uniform filter meets the condition", chance),
            ("flips of the drawn start that do", float(len(bad))),
        ),
    )


@fact("DU-L5.6", "DU-R5.2", subject=network.FilterTeacher)
def identities(teacher: network.FilterTeacher) -> TheoremReport:
    """The Gaussian identities by simulation, and the loss with patches on a sphere."""
    it = drawn(teacher)
    w, w_star = it.start.v, it.teacher.w
    Z = np.random.default_rng(SEED).standard_normal((200_000, w.size))
    on = Z @ w >= 0.0
    product = float((np.maximum(Z @ w, 0.0) * np.maximum(Z @ w_star, 0.0)).mean())
    mean = (Z * on[:, None]).mean(axis=0)
    second = (Z * (on * (Z @ w))[:, None]).mean(axis=0)
    both = (Z * (on * (Z @ w_star >= 0.0) * (Z @ w_star))[:, None]).mean(axis=0)
    together = both_half_spaces_times(w, w_star)
    root = math.sqrt(w.size)
    moments = network.sphere_moments(w.size, root)
    sphere = network.rotation_invariant_loss(w, it.start.a, it.teacher, *moments)
    slope = network.rotation_invariant_gradient(w, it.start.a, it.teacher, *moments)
    half, whole = network.half_space_mean(w), network.half_space_second_moment_times(w)
    return TheoremReport(
        "DU-L5.6",
        "four Gaussian integrals give the loss in closed form; other round laws change two numbers",
        (),
        numbers=(
            ("E[σ(z·w)σ(z·w*)]", network.relu_product_mean(w, w_star)),
            ("the same over 200,000 draws", product),
            ("largest error of E[z 1{z·w ≥ 0}] over the draws", float(np.abs(mean - half).max())),
            ("the same of E[zzᵀ1{z·w ≥ 0}]w", float(np.abs(second - whole).max())),
            ("the same of E[zzᵀ1{both ≥ 0}]w*", float(np.abs(both - together).max())),
            (
                "loss at the drawn start, Gaussian patches",
                network.population_loss(w, it.start.a, it.teacher),
            ),
            ("loss there, patches on the sphere of radius √p", sphere),
            ("slope in v there, sphere", float(np.linalg.norm(slope[0]))),
        ),
    )

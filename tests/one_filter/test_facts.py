"""The facts of chapter 5 about a teacher: the numbers that `gm.theorem` prints, computed again."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import beta

import globalmin as gm
from globalmin.facts.finding import number
from globalmin.one_filter.facts import STEPS, drawn
from globalmin.one_filter.network import population_gradient, population_loss
from globalmin.one_filter.phases import spurious_start
from globalmin.one_filter.train import sign_flips

TEACHER = gm.FilterTeacher([0.0, 1.5, 2.0], [0.9, -0.3, 0.4, 0.2])


def numbers(item: str, teacher: gm.FilterTeacher = TEACHER) -> dict[str, float]:
    report = gm.theorem(item, teacher).report
    assert report is not None
    return dict(report.numbers)


def test_start_is_drawn_for_the_unit_teacher_and_followed() -> None:
    """DU-T5.4, DU-X5.a: unit filter, a in the ball |s|W/sqrt(k), step 1/(k + pi - 1), and the
    states of gradient descent itself.
    """
    it = drawn(TEACHER)
    assert np.linalg.norm(it.teacher.w) == pytest.approx(1.0)
    np.testing.assert_allclose(it.teacher.a, 2.5 * TEACHER.a)
    assert np.linalg.norm(it.start.v) == pytest.approx(1.0)
    assert np.linalg.norm(it.start.a) <= abs(it.teacher.s) / 2
    assert it.step_size == pytest.approx(1 / (4 + math.pi - 1))
    assert it.start.a @ it.teacher.a == max(n.a @ it.teacher.a for n in sign_flips(it.start))
    assert it.start.v @ it.teacher.w > 0
    assert len(it.run) == STEPS + 1
    v, a = it.start.v, it.start.a
    for _ in range(STEPS):
        dv, da = population_gradient(v, a, it.teacher)
        v, a = v - it.step_size * dv, a - it.step_size * da
    assert it.run[-1].alpha[0] == pytest.approx(a.sum(), rel=1e-9)
    assert it.run[-1].b[0] == pytest.approx(a @ it.teacher.a, rel=1e-9)


def test_numbers_of_the_two_phases() -> None:
    """DU-T5.3, DU-C5.2, DU-T5.4: the median cosine, the time of the head, the promise."""
    it, found = drawn(TEACHER), numbers("DU-T5.3")
    assert found["median of |cos φ₀| over uniform filters"] == pytest.approx(
        2 * beta.ppf(0.75, 1.0, 1.0) - 1
    )
    cosine = float(it.start.v @ it.teacher.w)
    assert found["cos φ₀ of the drawn start"] == pytest.approx(cosine)
    assert found["steps until aᵀa* reaches half of its limit"] == pytest.approx(
        2 * math.pi * math.log(2) / (math.pi - 1) / it.step_size
    )
    eta, size = found["largest step"], it.teacher.size
    assert found["factor of sin²φ per step, second phase"] == pytest.approx(1 - 0.0177 * eta * size)
    lower = found["aᵀa* at least, for all steps"]
    assert found["steps of the first phase"] == math.ceil(
        8 * math.log(4 / 3) / (eta * cosine * lower)
    )
    assert gm.theorem("DU-B5", TEACHER).report.step_size == eta
    line = gm.FilterTeacher([2.0], [1.0, 0.5])
    assert numbers("DU-T5.3", line)["patch size"] == 1.0


def test_numbers_of_the_invariants() -> None:
    """DU-L5.10, DU-L5.11, DU-L5.12: bounds and values at the last step, no slack below rounding."""
    it, found = drawn(TEACHER), numbers("DU-L5.10")
    last, eta, k = it.run[-1], it.step_size, 4
    error = abs(float(last.alpha[0]) - it.teacher.s)
    assert found["|1ᵀa − 1ᵀa*| at the end"] == pytest.approx(error)
    gap = math.pi - ((math.pi - it.phi) * math.cos(it.phi) + math.sin(it.phi))
    c = (k + math.pi - 1) / (2 * math.pi)
    bound = (1 - eta * c) ** STEPS * abs(it.teacher.s - it.start.a.sum())
    bound += gap * abs(it.teacher.s) / (k + math.pi - 1)
    assert found["|1ᵀa − 1ᵀa*| at the end ≤"] == pytest.approx(bound)
    head = (1 - eta * (math.pi - 1) / (2 * math.pi)) ** STEPS
    head = head * np.linalg.norm(it.start.a - it.teacher.a)
    head += gap / (math.pi - 1) * math.sqrt(it.teacher.size)
    assert found["‖a − a*‖ at the end ≤"] == pytest.approx(head)
    near = ((k + math.pi - 1) * 0.01 / (4 * math.pi) + 1.01 / (2 * math.pi)) * 0.01
    assert found["loss within 1 % of the teacher ≤"] == pytest.approx(near * it.teacher.size)
    least = [value for name, value in found.items() if name.startswith("least slack")]
    assert len(least) == 6
    assert min(least) >= -1e-12
    assert gm.theorem("DU-L5.2", TEACHER).report.finding == "holds"


def test_the_invariant_that_is_told_is_the_worst_one() -> None:
    """DU-L5.2: what the finding was measured at is the least of the six slacks."""
    least = [value for name, value in numbers("DU-L5.2").items() if name.startswith("least slack")]
    report = gm.theorem("DU-L5.2", TEACHER).report
    assert report is not None
    assert report.hypotheses[0].measured == number(min(least))
    assert number(max(least)) != number(min(least))


def test_numbers_of_the_failure_theorem() -> None:
    """DU-T5.5: r below one half, the chance, and the flips of the drawn start that qualify."""
    teacher = gm.FilterTeacher([0.0, 1.5, 2.0], [1.0, -0.9, 0.1, -0.1])
    it, found = drawn(teacher), numbers("DU-T5.5", teacher)
    bad = sum(spurious_start(n.v, n.a, it.teacher) for n in sign_flips(it.start))
    assert found["flips of the drawn start that do"] == bad
    assert found["chance that a flip of a uniform filter meets the condition"] > 0.5
    assert gm.theorem("DU-T5.5", teacher).report.finding == "holds"
    assert gm.theorem("DU-T5.5", TEACHER).report.finding == "fails"


def test_gaussian_identities_agree_with_the_draws() -> None:
    """DU-L5.6, DU-R5.2: 200,000 draws, 5 standard errors (entries have variance below 1, and below
    3 with a second factor); the two losses.
    """
    it, found = drawn(TEACHER), numbers("DU-L5.6")
    assert found["E[σ(z·w)σ(z·w*)]"] == pytest.approx(
        found["the same over 200,000 draws"], abs=5 * math.sqrt(1.5 / 200_000)
    )
    Z = np.random.default_rng(0).standard_normal((200_000, 3))
    own = np.mean(np.maximum(Z @ it.start.v, 0) * np.maximum(Z @ it.teacher.w, 0))
    assert found["the same over 200,000 draws"] == pytest.approx(own, rel=1e-9)
    for name, variance in (
        ("largest error of E[z 1{z·w ≥ 0}] over the draws", 1.0),
        ("the same of E[zzᵀ1{z·w ≥ 0}]w", 3.0),
        ("the same of E[zzᵀ1{both ≥ 0}]w*", 3.0),
    ):
        assert 0.0 < found[name] <= 5 * math.sqrt(variance / 200_000)
    loss = population_loss(it.start.v, it.start.a, it.teacher)
    assert found["loss at the drawn start, Gaussian patches"] == pytest.approx(loss)
    assert found["slope in v there, sphere"] == pytest.approx(
        np.linalg.norm(population_gradient(it.start.v, it.start.a, it.teacher)[0])
    )
    rng = np.random.default_rng(5)
    Z = rng.standard_normal((100_000, 4, 3))
    Z *= math.sqrt(3) / np.linalg.norm(Z, axis=2, keepdims=True)
    miss = (
        np.maximum(Z @ it.start.v, 0) @ it.start.a - np.maximum(Z @ it.teacher.w, 0) @ it.teacher.a
    )
    draws = 0.5 * miss**2
    assert found["loss there, patches on the sphere of radius √p"] == pytest.approx(
        draws.mean(), abs=5 * draws.std() / math.sqrt(len(draws))
    )

"""The constants of chapter 5's rates, each derived here again or met at its edge; lemma bounds for
filters of any norm.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from globalmin.activations.moments import angle
from globalmin.one_filter.basin import quasi_static_probability
from globalmin.one_filter.landscape import angle_of_g, barrier, smoothness
from globalmin.one_filter.network import FilterTeacher, population_gradient, population_loss
from globalmin.one_filter.phases import (
    FilterState,
    head_error_at_most,
    heads_state,
    invariant_slacks,
    spurious_start,
    state_of,
    step,
    sum_error_at_most,
    trajectory,
    two_phases,
)


def own_g(phi: float) -> float:
    return (math.pi - phi) * math.cos(phi) + math.sin(phi)


def runs(seed: int, W: float):
    """Weights along descent from a start whose angle shrinks, for a filter of norm W."""
    rng = np.random.default_rng(seed)
    w, k = rng.standard_normal(4), int(rng.integers(2, 6))
    teacher = FilterTeacher(W * w / np.linalg.norm(w), rng.standard_normal(k) + 0.4)
    v, a = rng.standard_normal(4), 0.3 * W * teacher.a + 0.05 * W * rng.standard_normal(k)
    v *= np.sign(v @ teacher.w)
    eta = 0.4 * 2 * math.pi / (k + math.pi - 1)
    for t in range(150):
        yield t, v, a, teacher, eta
        dv, da = population_gradient(v, a, teacher)
        v, a = v - eta * dv, a - eta * da


@pytest.mark.parametrize("W", [0.1, 0.5, 2.0, 7.0])
def test_errors_of_sum_and_head_stay_below_their_bounds_for_any_filter_norm(W: float) -> None:
    """DU-L5.10, DU-L5.11: |W s - sum a| and |a - W a*| at every step while the angle shrinks."""
    seen = 0
    for seed in range(6):
        for t, v, a, teacher, eta in runs(seed, W):
            if t == 0:
                start, phi0 = a, angle(v, teacher.w)
            if angle(v, teacher.w) > phi0 + 1e-12 or a @ teacher.a <= 0.0:
                break
            seen += 1
            miss = a - teacher.W * teacher.a
            bound = sum_error_at_most(float(start.sum()), phi0, teacher, eta, t)
            assert abs(miss.sum()) <= bound * (1 + 1e-12)
            assert np.linalg.norm(miss) <= head_error_at_most(start, phi0, teacher, eta, t) + 1e-12
    assert seen > 300


def test_the_instance_on_which_the_bounds_were_false() -> None:
    """DU-L5.10, DU-L5.11: filter (2, 0, 0, 0), a* = (1, .5, .8), step .1, after 1 and 5 steps."""
    teacher = FilterTeacher([2.0, 0, 0, 0], [1.0, 0.5, 0.8])
    v, a = np.array([0.8, 0.6, 0, 0]), np.array([0.2, 0.1, 0.1])
    start, phi0 = a, angle(v, teacher.w)
    for t in range(1, 6):
        dv, da = population_gradient(v, a, teacher)
        v, a = v - 0.1 * dv, a - 0.1 * da
        miss = a - 2 * teacher.a
        assert abs(miss.sum()) <= sum_error_at_most(0.4, phi0, teacher, 0.1, t)
        assert np.linalg.norm(miss) <= head_error_at_most(start, phi0, teacher, 0.1, t)
    assert abs(miss.sum()) == pytest.approx(2.884, abs=1e-3)


@pytest.mark.parametrize("W", [0.3, 1.0, 4.0])
def test_floors_of_both_bounds_are_attained_by_a_filter_that_cannot_turn(W: float) -> None:
    """DU-L5.10, DU-L5.11: a filter of length 1e6 keeps its angle; the sum, and the head across 1,
    tend to the floors exactly.
    """
    phi, eta = 1.0, 0.3
    teacher = FilterTeacher(np.array([W, 0.0]), np.array([1.0, -0.4, 0.7]))
    state = heads_state(np.array([phi]), np.array([1e12]), np.zeros((1, 3)), teacher)
    alpha = trajectory(state, teacher, eta, 400)["alpha"][-1, 0]
    assert abs(W * teacher.s - alpha) == pytest.approx(
        sum_error_at_most(0.0, phi, teacher, eta, 400), rel=1e-9
    )
    across = FilterTeacher(np.array([W, 0.0]), np.array([1.0, -1.0]))
    a = np.zeros(2)
    for _ in range(400):
        a = a - eta * population_gradient([1e6 * math.cos(phi), 1e6 * math.sin(phi)], a, across)[1]
    assert np.linalg.norm(a - W * across.a) == pytest.approx(
        head_error_at_most(np.zeros(2), phi, across, eta, 400), rel=1e-9
    )
    first = sum_error_at_most(0.0, phi, teacher, eta, 1) - sum_error_at_most(
        0.0, phi, teacher, eta, 2
    )
    c = (3 + math.pi - 1) / (2 * math.pi)
    assert first == pytest.approx(W * abs(teacher.s) * (1 - eta * c) * eta * c)
    one = head_error_at_most(np.zeros(2), phi, across, eta, 0) - head_error_at_most(
        np.zeros(2), phi, across, eta, 1
    )
    assert one == pytest.approx(W * math.sqrt(2) * eta * (math.pi - 1) / (2 * math.pi))


def test_slacks_do_not_depend_on_how_the_teacher_is_scaled() -> None:
    """DU-L5.2, DU-L5.3, DU-L5.4, DU-L5.5, DU-L5.7, DU-L5.8: (3 w*, a*/3) is the same function."""
    rng = np.random.default_rng(1)
    head = np.array([0.9, -0.2, 0.4])
    heads, phi = rng.standard_normal((3000, 3)), rng.uniform(0, 3.1, 3000)
    length2 = rng.uniform(0.3, 3.0, 3000)
    found = []
    for W in (1.0, 3.0):
        teacher = FilterTeacher(np.array([W, 0.0]), head / W)
        before = heads_state(phi, length2, heads, teacher)
        after = step(before, teacher, 0.4)
        found.append(invariant_slacks(before, after, teacher, 0.4))
    for name, slack in found[0].items():
        np.testing.assert_allclose(found[1][name], slack, atol=1e-12, err_msg=name)
        assert np.nanmin(slack) >= -1e-12
        assert np.isfinite(slack).sum() > 100


def test_slacks_are_zero_at_the_edges_of_the_lemmas() -> None:
    """DU-L5.4, DU-L5.5, DU-L5.7: at the fixed sum, for lambda = 0, and for s = 0 with b below X the
    inequalities are equalities.
    """
    one = np.ones(1)
    teacher = FilterTeacher(np.array([1.0, 0.0]), np.array([1.0, -1.0]))  # s = 0
    before = FilterState(one, one, 0 * one, 0.1 * one, 0 * one)
    slack = invariant_slacks(before, step(before, teacher, 0.2), teacher, 0.2)
    assert slack["head"][0] == pytest.approx(0.0, abs=1e-14)
    assert slack["sum"][0] == 0.0
    flat = FilterState(0 * one, one, 0 * one, 0.1 * one, 0 * one)
    slack = invariant_slacks(flat, step(flat, teacher, 0.2), teacher, 0.2)
    assert slack["sine"][0] == slack["angle"][0] == 0.0
    top = FilterState(one * 0.0, one, 0 * one, 2.0 * one, 0 * one)  # b at its bound, size + s^2
    slack = invariant_slacks(top, step(top, teacher, 0.2), teacher, 0.2)
    assert slack["bounded"][0] == pytest.approx(0.0, abs=1e-12)


def test_hypotheses_of_the_slacks_are_the_printed_limits() -> None:
    """DU-L5.2 needs eta lambda <= 2, DU-L5.5 eta lambda <= cos(phi), DU-L5.4 a step below
    2 pi/(k + pi - 1): a hair to each side.
    """
    teacher = FilterTeacher(np.array([1.0, 0.0]), np.array([1.0, 1.0]))
    phi = 0.7
    lam = 1.5 * (math.pi - phi) / (2 * math.pi)

    def at(eta: float) -> dict[str, np.ndarray]:
        before = heads_state(np.array([phi]), np.ones(1), np.array([[0.75, 0.75]]), teacher)
        return invariant_slacks(before, step(before, teacher, eta), teacher, eta)

    limits = {
        "angle": 2.0 / lam,
        "sine": math.cos(phi) / lam,
        "sum": 2 * math.pi / (1 + math.pi),
        "side": 2.0,
    }
    for name, limit in limits.items():
        assert np.isfinite(at(0.999 * limit)[name][0]), name
        assert np.isnan(at(1.001 * limit)[name][0]), name


def test_two_phase_constants_follow_from_the_proof() -> None:
    """DU-T5.3x: every number of the promise from the inequalities it comes from, W = 2."""
    phi, W = 1.2, 2.0
    teacher = FilterTeacher(np.array([W, 0.0, 0.0]), np.array([0.5, 0.1]))
    v, a = np.array([math.cos(phi), math.sin(phi), 0.0]), np.array([0.3, 0.1])
    size, s, b = W**2 * 0.26, W * 0.6, W * 0.16
    S, c0 = max(size + s**2, b), math.cos(phi)
    beta0 = min(b, (own_g(phi) - 1) / (math.pi - 1) * size)
    most = min(c0 * beta0 / (2 * S**2), c0 / S, 2 * math.pi / (2 + math.pi - 1))
    found = two_phases(v, a, teacher)
    assert found is not None
    assert found.max_step == pytest.approx(most)
    assert found.b_lower == pytest.approx(beta0)
    # lambda >= beta0 (pi/2)/(2 pi |v|^2) with |v|^2 <= 2, and cos(phi) >= cos(phi0)
    rate = 1 - most * c0 * beta0 * (math.pi / 2) / (2 * math.pi * 2)
    assert found.first_rate == pytest.approx(rate, rel=1e-12)
    # sin^2 <= 3/4 after log(4/3) divided by the loss of log sin^2 per step
    assert found.first_steps == math.ceil(math.log(4 / 3) / (1 - rate))
    # then b reaches half of X(pi/3) in log 2 / (eta (pi-1)/2 pi) steps, rounded up to 2.04
    needed = math.log(2) * 2 * math.pi / (math.pi - 1) / most
    assert needed <= found.head_steps <= math.ceil(1.004 * needed)
    half = (own_g(math.pi / 3) - 1) / (math.pi - 1) / 2
    assert half == pytest.approx(0.213, abs=3e-4)
    # and lambda >= .213 size (2 pi/3)/(2 pi 2), cos(phi) >= 1/2
    second = 0.213 * size * (2 * math.pi / 3) / (4 * math.pi) / 2
    assert found.second_rate == pytest.approx(1 - most * second, rel=2e-3 * most)
    assert found.second_rate >= 1 - most * half * size / 12
    shorter = two_phases(v, a, teacher, 0.5 * most)
    assert shorter is not None
    assert shorter.step_size == 0.5 * most


def test_second_phase_is_met_at_its_edge() -> None:
    """DU-T5.3x, DU-C5.2: from phi = pi/3 and a head near 0 on a filter that cannot turn, b is below
    .213 |a*|^2 one tenth before the promised steps and above it after them.
    """
    teacher = FilterTeacher(np.array([1.0, 0.0]), np.array([1.0, -1.0]) / math.sqrt(2))
    eta = 0.01
    state = heads_state(
        np.array([math.pi / 3]), np.array([1e12]), np.array([[1e-9, -1e-9]]), teacher
    )
    b = trajectory(state, teacher, eta, 210)["b"][:, 0]
    promised = math.ceil(2.04 / eta)
    assert b[promised] >= 0.213
    assert b[int(0.9 * promised)] < 0.213


def test_start_of_the_failure_theorem_at_its_edge() -> None:
    """DU-T5.5: g(phi0) <= 1 - 2 r and nothing weaker; the sum up to W |s|; the sign of a . a*."""
    across = np.array([1.0, -1.0, 1.0, -1.0]) / 2
    W, r = 2.0, 0.2
    head = math.sqrt(r) / 4 + math.sqrt(1 - r / 4) * across
    teacher = FilterTeacher(np.array([W, 0.0]), head)
    assert teacher.ratio == pytest.approx(r)

    def filter_with(g: float) -> np.ndarray:
        phi = angle_of_g(g)
        return np.array([math.cos(phi), math.sin(phi)])

    a = -0.1 * across
    assert spurious_start(filter_with(1 - 2.001 * r), a, teacher)
    assert not spurious_start(filter_with(1 - 1.999 * r), a, teacher)
    assert not spurious_start(filter_with(1 - 2.001 * r), -a, teacher)
    edge = W * abs(teacher.s) / 4
    far = filter_with(0.1)
    assert spurious_start(far, -across + 0.999 * edge, teacher)
    assert not spurious_start(far, -across + 1.001 * edge, teacher)
    assert not spurious_start(far, -across - 1.001 * edge, teacher)


def test_state_of_a_network_is_its_four_numbers() -> None:
    """DU-X5.a: angle, length, sum, a . a* and the rest of |a|^2."""
    teacher = FilterTeacher([0.0, 2.0], [1.0, 2.0, 0.0])
    state = state_of([3.0, 4.0], [1.0, 0.0, 1.0], teacher)
    assert state.phi[0] == pytest.approx(math.acos(0.8))
    assert (state.length2[0], state.alpha[0], state.b[0]) == (pytest.approx(25.0), 2.0, 1.0)
    basis = np.linalg.qr(np.array([[1.0, 1, 1], [1, 2, 0]]).T)[0]
    rest = np.array([1.0, 0, 1]) - basis @ (basis.T @ [1.0, 0, 1])
    assert state.rest2[0] == pytest.approx(rest @ rest)


@pytest.mark.parametrize(("length", "scale"), [(1.0, 1.0), (0.2, 1.0), (3.0, 40.0)])
def test_smoothness_of_the_trap_test_is_its_formula(length: float, scale: float) -> None:
    """DU-B5: max of the two diagonal blocks plus the mixed one, every maximum by a grid."""
    teacher = FilterTeacher([0.0, 1.5], [0.6, -0.2, 0.5])
    v, a = length * np.array([0.6, 0.8]), scale * np.array([0.2, 0.1, -0.3])
    loss, size = population_loss(v, a, teacher), float(teacher.a @ teacher.a)
    b_max = 1.5 * size + math.sqrt(size) * math.sqrt(4 * math.pi * loss / (math.pi - 1))
    assert abs(a @ teacher.a) <= b_max
    phi = np.linspace(0, math.pi, 100_001)
    mixed = float(np.max((math.pi - phi) * np.sin(phi))) * 1.5 * math.sqrt(size)
    diagonal = max(1.5 * b_max / (2 * length**2), (3 + math.pi - 1) / (2 * math.pi))
    assert smoothness(v, a, teacher) == pytest.approx(
        diagonal + mixed / (2 * math.pi * length), rel=1e-5
    )
    assert smoothness(v, a, teacher) >= diagonal + mixed / (2 * math.pi * length)


def test_barrier_is_the_least_loss_on_the_plane_between_the_basins() -> None:
    """DU-B5: min over a . a* = 0 by projected least squares; there the angle does not matter."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        teacher = FilterTeacher(rng.standard_normal(3), rng.standard_normal(4))
        k = teacher.k
        M = (np.ones((k, k)) + (math.pi - 1) * np.eye(k)) / (2 * math.pi)
        basis = np.linalg.qr(np.column_stack([teacher.a, np.eye(k)]))[0][:, 1:k]
        want = teacher.W * teacher.a
        best = basis @ np.linalg.solve(basis.T @ M @ basis, basis.T @ M @ want)
        assert abs(best @ teacher.a) < 1e-12
        value = 0.5 * float((best - want) @ M @ (best - want))
        assert barrier(teacher) == pytest.approx(value, rel=1e-12)
        assert population_loss(rng.standard_normal(3), best, teacher) == pytest.approx(value)


@pytest.mark.parametrize(
    ("k", "ratio", "p"),
    [(2, 0.5, 3), (2, 1.2, 6), (30, 4.0, 6), (5, 0.0, 4), (9, 2.0, 2), (4, 1.0, 1)],
)
def test_quasi_static_chance_is_the_share_of_directions_below_the_saddle(
    k: int, ratio: float, p: int
) -> None:
    """DU-TAB5.1: P(phi0 < phi_s), by drawing directions, within 4 standard errors."""
    g_s = 1 - ratio * (math.pi - 1) / (k + math.pi - 1 - ratio)
    draws = np.random.default_rng(k).standard_normal((40_000, p))
    phi = np.arccos(draws[:, 0] / np.linalg.norm(draws, axis=1))
    seen = np.mean([own_g(x) > g_s for x in phi])
    assert abs(quasi_static_probability(k, ratio, p) - seen) <= 4 * math.sqrt(0.25 / 40_000)
    assert quasi_static_probability(k, (k + math.pi - 1) / math.pi + 1e-9, p) == 1.0

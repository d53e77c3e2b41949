"""The two phases and their lemmas on random runs, the Gaussian identities and rotation-invariant
patches.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from globalmin.activations.moments import angle, both_half_spaces_times
from globalmin.errors import DataError
from globalmin.one_filter.basin import random_heads, random_states
from globalmin.one_filter.landscape import spurious_loss
from globalmin.one_filter.network import (
    FilterTeacher,
    g,
    half_space_mean,
    half_space_second_moment_times,
    initial_cosine_quantile,
    population_gradient,
    population_loss,
    relu_product_mean,
    rotation_invariant_gradient,
    rotation_invariant_loss,
    sphere_moments,
)
from globalmin.one_filter.phases import (
    FilterState,
    head_error_at_most,
    head_time,
    heads_state,
    in_basin_set,
    invariant_slacks,
    loss_at_most_near_truth,
    spurious_flip_probability,
    spurious_start,
    state_of,
    step,
    sum_error_at_most,
    trajectory,
    two_phases,
    unit_teacher,
)


def good_start(seed: int) -> tuple[np.ndarray, np.ndarray, FilterTeacher]:
    """A start in the basin set, by the sign flips of DU-T5.4."""
    rng = np.random.default_rng(seed)
    k, p = int(rng.integers(2, 8)), int(rng.integers(2, 6))
    w = rng.standard_normal(p)
    teacher = FilterTeacher(w / np.linalg.norm(w), rng.standard_normal(k) + 0.3)
    v, a = rng.standard_normal(p), random_heads(teacher, 1, rng)[0]
    return v / np.linalg.norm(v) * np.sign(v @ teacher.w), a * np.sign(a @ teacher.a), teacher


def two_phase_start(seed: int) -> tuple[np.ndarray, np.ndarray, FilterTeacher]:
    """A start near enough for phase one to end within a few hundred steps of the theorem's own
    small step.
    """
    rng = np.random.default_rng(seed)
    head = rng.standard_normal(4)
    head -= 0.9 * head.mean()
    phi = rng.uniform(0.9, 1.2)
    teacher = FilterTeacher(np.eye(3)[0], head / np.linalg.norm(head))
    return np.array([math.cos(phi), math.sin(phi), 0.0]), 0.6 * teacher.a, teacher


def test_explicit_two_phase_theorem_holds_along_random_runs() -> None:
    """DU-T5.3, DU-T5.3x, DU-L5.9, DU-C5.1, DU-B5: rate, norm, lower bound of a . a*, end of phase
    one; 20 runs.
    """
    met = 0
    for v, a, teacher in [*map(good_start, range(10)), *map(two_phase_start, range(10))]:
        assert in_basin_set(v, a, teacher)
        promise = two_phases(v, a, teacher)
        assert promise is not None
        late = promise.first_steps + promise.head_steps
        T = late + 50 if late < 1000 else 300
        run = trajectory(state_of(v, a, teacher), teacher, promise.step_size, T)
        phi, t = run["phi"][:, 0], np.arange(T + 1)
        assert np.all(np.sin(phi) ** 2 <= np.sin(phi[0]) ** 2 * promise.first_rate**t * (1 + 1e-12))
        assert np.all(run["length2"] <= 2.0)
        assert np.all(run["b"] >= promise.b_lower * (1 - 1e-12))
        if late < T:
            met += 1
            assert math.cos(phi[promise.first_steps]) >= 0.5
            assert run["b"][late, 0] >= 0.213 * teacher.size
            assert np.all(
                np.diff(np.log(np.sin(phi[late:]))) * 2 <= math.log(promise.second_rate) + 1e-12
            )
    assert met >= 8


def test_two_phase_theorem_is_silent_when_a_hypothesis_fails() -> None:
    """DU-T5.3x: wrong side, long filter, too large a step; another filter norm is absorbed by
    homogeneity.
    """
    v, a, teacher = good_start(0)
    assert two_phases(v, -a, teacher) is None
    assert two_phases(-v, a, teacher) is None
    assert two_phases(2 * v, a, teacher) is None
    promise = two_phases(v, a, teacher)
    assert promise is not None
    assert two_phases(v, a, teacher, 1.01 * promise.max_step) is None
    scaled = FilterTeacher(3.0 * teacher.w, teacher.a / 3.0)
    again = two_phases(v, a, scaled)
    assert again is not None
    assert again.max_step == pytest.approx(promise.max_step, rel=1e-12)
    unit = unit_teacher(scaled)
    assert np.linalg.norm(unit.w) == pytest.approx(1.0)


def random_batch(teacher: FilterTeacher, seed: int, count: int = 4000) -> FilterState:
    """States that satisfy and that violate the lemmas' hypotheses, at all angles."""
    rng = np.random.default_rng(seed)
    heads = rng.standard_normal((count, teacher.k)) * rng.uniform(0.05, 2.0, (count, 1))
    return heads_state(rng.uniform(0, math.pi, count), rng.uniform(0.3, 3.0, count), heads, teacher)


@pytest.mark.parametrize("step_size", [0.01, 0.2, 0.8, 1.9])
def test_invariants_never_fail_where_their_hypotheses_hold(step_size: float) -> None:
    """DU-L5.2, DU-L5.3, DU-L5.4, DU-L5.5, DU-L5.7, DU-L5.8 on 20,000 one-step transitions for each
    step size.
    """
    for seed in range(5):
        rng = np.random.default_rng(seed)
        teacher = FilterTeacher(np.eye(3)[0], rng.standard_normal(int(rng.integers(2, 9))))
        before = random_batch(teacher, seed)
        slacks = invariant_slacks(before, step(before, teacher, step_size), teacher, step_size)
        for name, slack in slacks.items():
            known = slack[~np.isnan(slack)]
            assert known.size > 0 or (
                name == "sum" and 2 * math.pi / (teacher.k + math.pi - 1) <= step_size
            ), name
            assert np.all(known >= -1e-12), name


def test_printed_forms_of_two_lemmas_are_violated() -> None:
    """DU-L5.2, DU-L5.7: without the step condition the angle grows; with the printed increment the
    head bound fails.
    """
    teacher = FilterTeacher(np.eye(2)[0], np.array([1.0, 1.0]))
    before = heads_state(np.array([0.2]), np.ones(1), np.array([[2.5, 2.5]]), teacher)
    lam = 5.0 * (math.pi - 0.2) / (2 * math.pi)
    assert step(before, teacher, 2.34 / lam).phi[0] == pytest.approx(0.235, abs=2e-3)
    many = random_batch(teacher, 1)
    after = step(many, teacher, 0.5)
    X = (g(many.phi) - 1) / (math.pi - 1) * teacher.size
    tame = (many.b > 0) & (teacher.s * many.alpha <= teacher.s**2) & (many.phi < math.pi / 2)
    printed = np.minimum(many.b + 0.5 * (X - many.b), X)
    assert np.sum(after.b[tame] < printed[tame] - 1e-12) > 10


def test_exact_one_step_identity_of_the_sine() -> None:
    """DU-L5.5, DU-X5.a: sin^2 phi+ = sin^2 phi (1 - eta lam cos phi)^2 / (1 + eta^2 lam^2 sin^2
    phi).
    """
    teacher = FilterTeacher(np.eye(3)[0], np.array([1.0, -0.4, 0.2]))
    state = random_batch(teacher, 2)
    lam = state.b * (math.pi - state.phi) / (2 * math.pi * state.length2)
    expected = (
        np.sin(state.phi) ** 2
        * (1 - 0.3 * lam * np.cos(state.phi)) ** 2
        / (1 + 0.09 * lam**2 * np.sin(state.phi) ** 2)
    )
    np.testing.assert_allclose(np.sin(step(state, teacher, 0.3).phi) ** 2, expected, atol=1e-13)


def test_head_reaches_half_of_its_limit_in_time() -> None:
    """DU-C5.2, DU-C5.1: a . a* reaches X/2 within 2.034/eta steps, and the time is not far too
    long.
    """
    assert head_time(0.1) == pytest.approx(20.34, abs=0.01)
    teacher = FilterTeacher(np.eye(2)[0], np.array([1.0, -1.0]))
    state = heads_state(np.array([1.2]), np.array([1e6]), np.array([[1e-6, -1e-6]]), teacher)
    X = float((g(1.2) - 1) / (math.pi - 1) * teacher.size)
    b = trajectory(state, teacher, 0.1, 30)["b"][:, 0]
    needed = int(np.argmax(b >= X / 2))
    assert 0.9 * head_time(0.1) <= needed <= math.ceil(head_time(0.1))


def test_errors_of_sum_and_head_stay_below_their_bounds() -> None:
    """DU-L5.10, DU-L5.11: along runs whose angle does not grow, at every step."""
    for seed in range(10):
        v, a, teacher = good_start(seed)
        phi0, eta = angle(v, teacher.w), 0.5 * 2 * math.pi / (teacher.k + math.pi - 1)
        start = a.copy()
        for t in range(200):
            assert (
                abs(teacher.s - a.sum())
                <= sum_error_at_most(start.sum(), phi0, teacher, eta, t) + 1e-12
            )
            assert (
                np.linalg.norm(a - teacher.a)
                <= head_error_at_most(start, phi0, teacher, eta, t) + 1e-12
            )
            if angle(v, teacher.w) > phi0 + 1e-12:
                break
            dv, da = population_gradient(v, a, teacher)
            v, a = v - eta * dv, a - eta * da


def test_loss_near_the_truth_is_bounded_and_the_constant_grows_with_k() -> None:
    """DU-L5.12: holds on random nearby networks, and is attained up to a factor along the worst
    head.
    """
    rng = np.random.default_rng(3)
    for k in (10, 100, 1000):
        teacher = FilterTeacher(np.array([2.0, 0.0]), rng.standard_normal(k))
        eps = 0.1
        height = eps * teacher.W * math.sqrt(teacher.size)
        phi = math.sqrt(2 * eps / math.pi)
        while math.pi - float(g(phi)) > eps:
            phi *= 0.99
        v = np.array([math.cos(phi), math.sin(phi)])
        bound = loss_at_most_near_truth(eps, teacher)
        for direction in [np.ones(k), *rng.standard_normal((20, k))]:
            a = teacher.W * teacher.a + height * direction / np.linalg.norm(direction)
            assert population_loss(v, a, teacher) <= bound
        assert (
            population_loss(v, teacher.W * teacher.a + height * np.ones(k) / math.sqrt(k), teacher)
            >= 0.8 * bound
        )


def test_starts_of_the_failure_theorem_end_at_the_spurious_minimum() -> None:
    """DU-T5.5: 100 of 100 starts with a . a* < 0, small sum and g(phi0) <= 1 - 2r; the loss is
    Omega(|a*|^2).
    """
    rng = np.random.default_rng(4)
    across = rng.standard_normal(25)
    across -= across.mean()
    head = math.sqrt(0.2) / 25 + math.sqrt(1 - 0.2 / 25) * across / np.linalg.norm(across)
    teacher = FilterTeacher(np.eye(6)[0], head)
    assert teacher.ratio == pytest.approx(0.2)
    starts = []
    while len(starts) < 100:
        v, a = rng.standard_normal(6), random_heads(teacher, 1, rng)[0]
        if spurious_start(v, a, teacher):
            starts.append((v / np.linalg.norm(v), a))
    phi = np.array([angle(v, teacher.w) for v, _ in starts])
    state = heads_state(phi, np.ones(100), np.array([a for _, a in starts]), teacher)
    for _ in range(5000):
        state = step(state, teacher, 0.06)
        assert np.all(state.b < 0)
    assert np.all(state.phi > 2.9)
    assert spurious_loss(teacher) >= (math.pi - 2) / (4 * (math.pi - 1)) * teacher.size


def test_chance_of_a_spurious_flip_has_the_values_of_the_specification() -> None:
    """DU-T5.5: Beta quantiles at p = 6, and by drawing directions."""
    for ratio, expected in (
        (0.01, 0.978),
        (0.05, 0.890),
        (0.1, 0.776),
        (0.25, 0.428),
        (0.4, 0.115),
        (0.5, 0.0),
        (2.0, 0.0),
    ):
        assert spurious_flip_probability(ratio, 6) == pytest.approx(expected, abs=6e-4)
    V = np.random.default_rng(5).standard_normal((20_000, 6))
    cosine = np.abs(V[:, 0]) / np.linalg.norm(V, axis=1)
    seen = np.mean(g(math.pi - np.arccos(cosine)) <= 1 - 2 * 0.25)
    assert abs(seen - 0.428) < 4 * math.sqrt(0.25 / 20_000)


def test_first_angle_has_the_beta_law() -> None:
    """DU-T5.4: quantiles of cos phi0 against draws, and the order 1/sqrt(p) that the print gives to
    the angle itself.
    """
    for p in (2, 6, 25):
        teacher = FilterTeacher(np.eye(p)[0], np.ones(3))
        cosine = np.cos(random_states(teacher, 20_000, np.random.default_rng(p)).phi)
        for level in (0.1, 0.5, 0.9):
            share = np.mean(cosine <= initial_cosine_quantile(level, p))
            assert abs(share - level) < 4 * math.sqrt(level * (1 - level) / 20_000)
    assert initial_cosine_quantile(0.9, 400) * 20 == pytest.approx(
        initial_cosine_quantile(0.9, 100) * 10, rel=0.02
    )
    with pytest.raises(DataError, match="patch_size"):
        initial_cosine_quantile(0.5, 1)


def test_gaussian_identities_hold_by_sampling() -> None:
    """DU-L5.6: all four, within 4.5 standard errors of 400,000 draws."""
    rng = np.random.default_rng(6)
    w, w_star = rng.standard_normal(4), rng.standard_normal(4)
    z = rng.standard_normal((400_000, 4))
    on, both = z @ w >= 0, (z @ w >= 0) & (z @ w_star >= 0)
    cases = [
        (z * ((z @ w) * on)[:, None], half_space_second_moment_times(w)),
        (z * on[:, None], half_space_mean(w)),
        (z * ((z @ w_star) * both)[:, None], both_half_spaces_times(w, w_star)),
        (
            (np.maximum(z @ w, 0) * np.maximum(z @ w_star, 0))[:, None],
            np.array([relu_product_mean(w, w_star)]),
        ),
    ]
    for draws, expected in cases:
        assert np.all(
            np.abs(draws.mean(axis=0) - expected) < 4.5 * draws.std(axis=0) / math.sqrt(len(z))
        )
    with pytest.raises(DataError, match="w is zero"):
        half_space_mean(np.zeros(3))


def test_rotation_invariant_loss_is_the_gaussian_one_with_gaussian_moments() -> None:
    """DU-R5.2 against DU-T5.1 and DU-T5.2."""
    v, a, teacher = good_start(7)
    moments = 1 / math.sqrt(2 * math.pi), 1.0
    assert rotation_invariant_loss(v, a, teacher, *moments) == pytest.approx(
        population_loss(v, a, teacher), rel=1e-12
    )
    for found, expected in zip(
        rotation_invariant_gradient(v, a, teacher, *moments),
        population_gradient(v, a, teacher),
        strict=True,
    ):
        np.testing.assert_allclose(found, expected, atol=1e-13)


def test_rotation_invariant_loss_holds_on_the_sphere() -> None:
    """DU-R5.2 by Monte Carlo with patches uniform on a sphere of radius 2, and the gradient by
    differences.
    """
    rng = np.random.default_rng(8)
    v, a, teacher = (
        rng.standard_normal(4),
        rng.standard_normal(3),
        FilterTeacher(rng.standard_normal(4), rng.standard_normal(3)),
    )
    moments = sphere_moments(4, 2.0)
    Z = rng.standard_normal((200_000, 3, 4))
    Z *= 2.0 / np.linalg.norm(Z, axis=2, keepdims=True)
    assert np.maximum(Z[..., 0], 0).mean() == pytest.approx(moments[0], abs=0.004)
    miss = np.maximum(Z @ v, 0) @ a / np.linalg.norm(v) - np.maximum(Z @ teacher.w, 0) @ teacher.a
    sample = 0.5 * miss**2
    value = rotation_invariant_loss(v, a, teacher, *moments)
    assert abs(sample.mean() - value) < 4.5 * sample.std() / math.sqrt(len(Z))
    dv, da = rotation_invariant_gradient(v, a, teacher, *moments)
    for i, e in enumerate(np.eye(4) * 1e-6):
        slope = (
            rotation_invariant_loss(v + e, a, teacher, *moments)
            - rotation_invariant_loss(v - e, a, teacher, *moments)
        ) / 2e-6
        assert slope == pytest.approx(dv[i], abs=1e-8)
    for i, e in enumerate(np.eye(3) * 1e-6):
        slope = (
            rotation_invariant_loss(v, a + e, teacher, *moments)
            - rotation_invariant_loss(v, a - e, teacher, *moments)
        ) / 2e-6
        assert slope == pytest.approx(da[i], abs=1e-8)
    with pytest.raises(DataError, match="belong to no law"):
        rotation_invariant_loss(v, a, teacher, 1.0, 1.0)

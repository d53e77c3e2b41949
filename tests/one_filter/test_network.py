"""The one-filter network: closed forms against sampling, differentiation, the vector recursion and
published values.
"""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from globalmin.activations.moments import angle
from globalmin.errors import DataError
from globalmin.one_filter.landscape import (
    Basin,
    barrier,
    best_head,
    filter_landscape,
    profile,
    smoothness,
    spurious_loss,
    trap_test,
)
from globalmin.one_filter.network import (
    FilterTeacher,
    g,
    pi_minus_g,
    population_gradient,
    population_loss,
    sine_excess,
)
from globalmin.one_filter.phases import heads_state, state_loss, state_of, step, trajectory

TEACHER = FilterTeacher(np.array([0.0, 2.0]), np.array([1.0, 3.0]))
TRAPPING = FilterTeacher(np.array([0.0, 2.0]), np.array([1.0, -0.5]))


def random_case(seed: int, p: int = 4, k: int = 3) -> tuple[np.ndarray, np.ndarray, FilterTeacher]:
    rng = np.random.default_rng(seed)
    return (
        rng.standard_normal(p),
        rng.standard_normal(k),
        FilterTeacher(rng.standard_normal(p), rng.standard_normal(k)),
    )


def test_loss_and_gradients_have_the_golden_values() -> None:
    """DU-T5.1, DU-T5.2: the values of the specification."""
    a = np.array([1.0, -1.0])
    assert population_loss([1, 0], a, TEACHER) == pytest.approx(12.250704374010848, rel=1e-14)
    assert population_loss([1, 1], a, TEACHER) == pytest.approx(13.12490293150164, rel=1e-14)
    dv, da = population_gradient([1, 1], a, TEACHER)
    np.testing.assert_allclose(dv, [-0.53033008588991, 0.530330085889911], rtol=1e-13)
    np.testing.assert_allclose(da, [-1.369493766572454, -2.925382437879457], rtol=1e-13)


def test_loss_is_the_mean_over_gaussian_patches() -> None:
    """DU-M5, DU-T5.1 by Monte Carlo, within 4.5 standard errors; the printed formula would be
    negative here.
    """
    v, a, teacher = random_case(1)
    Z = np.random.default_rng(2).standard_normal((400_000, 4, 3))
    miss = np.maximum(np.einsum("npk,p->nk", Z, v), 0) @ a / np.linalg.norm(v)
    miss -= np.maximum(np.einsum("npk,p->nk", Z, teacher.w), 0) @ teacher.a
    sample = 0.5 * miss**2
    assert abs(sample.mean() - population_loss(v, a, teacher)) < 4.5 * sample.std() / math.sqrt(
        sample.size
    )


def test_gradient_is_the_derivative_of_the_loss() -> None:
    """DU-T5.2 against automatic differentiation of an independent writing of the loss (the matrices
    A and B of the proof).
    """

    def loss(v: jax.Array, a: jax.Array, w: jax.Array, a_true: jax.Array) -> jax.Array:
        k, W = a.size, jnp.linalg.norm(w)
        cosine = v @ w / (jnp.linalg.norm(v) * W)
        phi = jnp.arccos(cosine)
        ones, eye = jnp.ones((k, k)), jnp.eye(k)
        A = (ones + (jnp.pi - 1) * eye) / (2 * jnp.pi)
        B = W * (ones + ((jnp.pi - phi) * cosine + jnp.sin(phi) - 1) * eye) / (2 * jnp.pi)
        return 0.5 * (W**2 * a_true @ A @ a_true + a @ A @ a - 2 * a @ B @ a_true)

    with jax.enable_x64(True):
        for seed in range(5):
            v, a, teacher = random_case(seed)
            parts = [jnp.asarray(x) for x in (v, a, teacher.w, teacher.a)]
            expected = jax.grad(loss, argnums=(0, 1))(*parts)
            found = population_gradient(v, a, teacher)
            assert population_loss(v, a, teacher) == pytest.approx(float(loss(*parts)), rel=1e-12)
            np.testing.assert_allclose(found[0], expected[0], atol=1e-12)
            np.testing.assert_allclose(found[1], expected[1], atol=1e-12)
            assert abs(found[0] @ v) < 1e-14


def test_small_angles_do_not_cancel() -> None:
    """sin x - x cos x and pi - g keep their relative accuracy where the plain formulas lose all
    digits.
    """
    x = 1e-6
    assert float(sine_excess(x)) == pytest.approx(x**3 / 3 - x**5 / 30, rel=1e-14)
    assert float(pi_minus_g(x)) == pytest.approx(math.pi * x**2 / 2 - x**3 / 3, rel=1e-9)
    for y in (0.9, 0.999, 1.001, 2.5):
        assert float(sine_excess(y)) == pytest.approx(math.sin(y) - y * math.cos(y), rel=1e-14)
        assert float(g(y)) == pytest.approx((math.pi - y) * math.cos(y) + math.sin(y), rel=1e-13)
        assert float(pi_minus_g(y)) == pytest.approx(math.pi - float(g(y)), rel=1e-13)


def test_four_numbers_follow_the_whole_network() -> None:
    """DU-X5.a, DU-A1: the recursion and the vector iteration agree for 2,000 steps."""
    for seed in range(6):
        v, a, teacher = random_case(seed)
        state = state_of(v, a, teacher)
        for _ in range(2000):
            dv, da = population_gradient(v, a, teacher)
            v, a, state = v - 0.05 * dv, a - 0.05 * da, step(state, teacher, 0.05)
        assert abs(angle(v, teacher.w) - state.phi[0]) < 1e-10
        assert population_loss(v, a, teacher) == pytest.approx(
            state_loss(state, teacher)[0], abs=1e-13
        )
        assert v @ v == pytest.approx(state.length2[0], rel=1e-12)
        assert a @ teacher.a == pytest.approx(state.b[0], abs=1e-12)


def test_trajectory_of_a_failed_run_ends_at_the_spurious_loss() -> None:
    """DU-F5.1b: the plateau equals the closed form; the approach is cubic, so it takes long."""
    state = state_of(np.array([0.1, -1.0]), filter_landscape(TRAPPING).spurious, TRAPPING)
    losses = trajectory(state, TRAPPING, 0.5, 4000)["loss"][:, 0]
    assert np.all(np.diff(losses) <= 1e-15)
    assert losses[-1] == pytest.approx(spurious_loss(TRAPPING), abs=1e-6)


def test_landscape_has_the_golden_values() -> None:
    """DU-L5.1, DU-X5.b, DU-B5: values of the specification."""
    scene = filter_landscape(TRAPPING)
    np.testing.assert_allclose(scene.spurious, [-0.579686806883778, 0.821139813889002], rtol=1e-13)
    assert scene.spurious_loss == pytest.approx(0.7548716430858606, rel=1e-13)
    assert scene.saddle_g == pytest.approx(0.8913336388711124, rel=1e-13)
    wide = FilterTeacher(np.eye(6)[0], _head(25, 4))
    assert filter_landscape(wide).saddle_g == pytest.approx(0.6298279577127406, rel=1e-12)
    assert spurious_loss(wide) == pytest.approx(0.1873122053643626, rel=1e-12)
    assert barrier(wide) == pytest.approx(0.1998798836162721, rel=1e-12)
    assert filter_landscape(TEACHER).has_spurious_minimum is False


def _head(k: int, ratio: float) -> np.ndarray:
    across = np.random.default_rng(3).standard_normal(k)
    across -= across.mean()
    return math.sqrt(ratio) / k + math.sqrt(1 - ratio / k) * across / np.linalg.norm(across)


def test_profile_is_the_least_loss_over_output_weights() -> None:
    """DU-X5.b: the parabola equals the loss at the best head, and no other head is better."""
    rng = np.random.default_rng(4)
    for seed in range(5):
        v, _, teacher = random_case(seed)
        value = float(g(angle(v, teacher.w)))
        best = best_head(value, teacher)
        least = population_loss(v, best, teacher)
        assert float(profile(value, teacher)) == pytest.approx(least, rel=1e-12)
        assert np.linalg.norm(population_gradient(v, best, teacher)[1]) < 1e-13
        assert all(
            population_loss(v, best + 0.1 * rng.standard_normal(3), teacher) > least
            for _ in range(20)
        )


def test_points_on_the_saddle_sphere_are_strict_saddles() -> None:
    """DU-X5.b: gradient zero and a direction of negative curvature (finite differences of the
    closed-form gradient).
    """
    teacher = FilterTeacher(np.eye(6)[0], _head(25, 4))
    scene = filter_landscape(teacher)
    assert scene.saddle_angle is not None
    assert scene.saddle_g is not None
    v = np.zeros(6)
    v[:2] = math.cos(scene.saddle_angle), math.sin(scene.saddle_angle)
    a = best_head(scene.saddle_g, teacher)
    dv, da = population_gradient(v, a, teacher)
    assert abs(a @ teacher.a) < 1e-13
    assert np.linalg.norm(dv) < 1e-13
    assert np.linalg.norm(da) < 1e-13
    assert np.linalg.eigvalsh(_hessian(v, a, teacher))[0] == pytest.approx(-0.0822, abs=2e-4)
    assert population_loss(v, a, teacher) == pytest.approx(scene.barrier, rel=1e-12)


def _hessian(v: np.ndarray, a: np.ndarray, teacher: FilterTeacher) -> np.ndarray:
    point, p, h = np.concatenate([v, a]), v.size, 1e-5

    def gradient(x: np.ndarray) -> np.ndarray:
        return np.concatenate(population_gradient(x[:p], x[p:], teacher))

    columns = [
        (gradient(point + h * e) - gradient(point - h * e)) / (2 * h) for e in np.eye(point.size)
    ]
    return np.array(columns)


def test_barrier_is_the_least_loss_on_the_wall() -> None:
    """DU-B5: every head with a . a* = 0 costs at least the barrier, whatever the angle, and one
    attains it.
    """
    rng = np.random.default_rng(5)
    for seed in range(5):
        v, _, teacher = random_case(seed)
        unit = teacher.a / np.linalg.norm(teacher.a)
        heads = rng.standard_normal((300, 3)) * teacher.W
        heads -= np.outer(heads @ unit, unit)
        assert min(population_loss(v, head, teacher) for head in heads) >= barrier(teacher) * (
            1 - 1e-12
        )
        M = (np.ones((3, 3)) + (math.pi - 1) * np.eye(3)) / (2 * math.pi)
        inverse = np.linalg.solve(M, teacher.a)
        best = teacher.W * (teacher.a - inverse * teacher.size / (teacher.a @ inverse))
        assert population_loss(v, best, teacher) == pytest.approx(barrier(teacher), rel=1e-12)


def test_trap_test_agrees_with_long_runs() -> None:
    """DU-B5, DU-CERT5: 1,000 starts (20 teachers, 50 each) that the test decides end where it
    says.
    """
    rng = np.random.default_rng(6)
    for k in np.resize(np.arange(2, 9), 20):
        teacher = FilterTeacher(rng.standard_normal(3), rng.standard_normal(k))
        starts = decided_starts(teacher, 50, rng)
        phi = np.array([angle(v, teacher.w) for v, _ in starts])
        state = heads_state(
            phi, np.array([v @ v for v, _ in starts]), np.array([a for _, a in starts]), teacher
        )
        eta = min(1.9 / smoothness(v, a, teacher) for v, a in starts)
        for _ in range(3000):
            state = step(state, teacher, eta)
        good = np.array([trap_test(v, a, teacher) is Basin.GLOBAL for v, a in starts])
        assert np.array_equal(state.b > 0, good)
        assert np.all(np.where(good, state.phi < phi, state.phi > phi))


def decided_starts(
    teacher: FilterTeacher, count: int, rng: np.random.Generator
) -> list[tuple[np.ndarray, np.ndarray]]:
    starts: list[tuple[np.ndarray, np.ndarray]] = []
    while len(starts) < count:
        v = rng.standard_normal(3)
        v, a = v / np.linalg.norm(v), 0.5 * teacher.W * rng.standard_normal(teacher.k)
        if trap_test(v, a, teacher) is not Basin.UNDECIDED:
            starts.append((v, a))
    return starts


def test_counterexample_to_the_older_trap_test_is_not_accepted() -> None:
    """DU-B5: with a short filter a step of 1.39 crosses the wall; the smoothness constant now knows
    the length.
    """
    teacher = FilterTeacher(np.array([1.0, 0.0]), np.array([1.0, 0.0]))
    v, a = 0.001 * np.array([math.cos(2.81), math.sin(2.81)]), np.array([-0.18, 0.37])
    assert trap_test(v, a, teacher) is Basin.SPURIOUS
    assert 2.0 / smoothness(v, a, teacher) < 1.39
    state = state_of(v, a, teacher)
    for _ in range(1000):
        state = step(state, teacher, 1.39)
    assert state.phi[0] < 1e-4
    assert state.b[0] > 0


@pytest.mark.parametrize(
    "bad", [np.zeros(3), np.array([]), np.array([np.nan, 1.0]), np.ones((2, 2))]
)
def test_teacher_that_is_no_vector_or_zero_is_refused(bad: np.ndarray) -> None:
    with pytest.raises(DataError, match="teacher"):
        FilterTeacher(bad, np.ones(2))


def test_zero_filter_and_wrong_head_are_refused() -> None:
    with pytest.raises(DataError, match="zero vector"):
        population_loss([0.0, 0.0], [1.0, 1.0], TEACHER)
    with pytest.raises(DataError, match="2 output weights"):
        population_loss([1.0, 0.0], [1.0], TEACHER)

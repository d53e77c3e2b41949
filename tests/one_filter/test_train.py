"""Algorithm 1 on samples and on the population loss: network, sign flips, restarts, phases."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from globalmin.errors import DataError, NotConverged
from globalmin.one_filter import train
from globalmin.one_filter.basin import ratio_teacher
from globalmin.one_filter.landscape import Basin, spurious_loss
from globalmin.one_filter.network import (
    FilterTeacher,
    OneFilterNetwork,
    empirical_gradient,
    empirical_loss,
    one_filter_outputs,
    population_gradient,
)
from globalmin.one_filter.phases import in_basin_set, state_of, trajectory
from globalmin.one_filter.train import (
    detect_phases,
    draw_network,
    population_fit,
    population_run,
    sample_fit,
    sample_run,
    sign_flips,
)
from globalmin.optimize.run import Status
from globalmin.patches.inputs import gaussian_patches


def patches(n: int, p: int, k: int, seed: int = 0) -> np.ndarray:
    return gaussian_patches(n, k, p, seed)


def test_output_is_the_loop_and_does_not_depend_on_the_length_of_the_filter() -> None:
    """DU-M5: the definition, its homogeneity and its scale invariance."""
    rng = np.random.default_rng(0)
    Z, v, a = patches(7, 4, 3), rng.standard_normal(4), rng.standard_normal(3)
    loop = [sum(a[i] * max(z[i] @ v, 0.0) for i in range(3)) / np.linalg.norm(v) for z in Z]
    np.testing.assert_allclose(one_filter_outputs(Z, v, a), loop, rtol=1e-13)
    np.testing.assert_allclose(one_filter_outputs(Z, 7 * v, a), loop, rtol=1e-13)
    np.testing.assert_allclose(
        OneFilterNetwork(v, 2 * a).predict(Z), 2 * np.array(loop), rtol=1e-13
    )


def test_empirical_gradient_is_the_derivative_and_tends_to_the_population_gradient() -> None:
    """DU-M5, DU-T5.2: automatic differentiation on samples; Monte Carlo towards the closed form."""
    rng = np.random.default_rng(1)
    v, a, teacher = (
        rng.standard_normal(4),
        rng.standard_normal(3),
        FilterTeacher(rng.standard_normal(4), rng.standard_normal(3)),
    )
    Z = patches(100_000, 4, 3, 2)
    y = one_filter_outputs(Z, teacher.w, teacher.W * teacher.a)
    dv, da = empirical_gradient(Z, y, v, a)
    assert abs(dv @ v) < 1e-12

    def loss(v: jax.Array, a: jax.Array) -> jax.Array:
        output = jnp.maximum(jnp.einsum("nkp,p->nk", Z[:500], v / jnp.linalg.norm(v)), 0) @ a
        return 0.5 * jnp.mean((output - y[:500]) ** 2)

    with jax.enable_x64(True):
        expected = jax.grad(loss, argnums=(0, 1))(jnp.asarray(v), jnp.asarray(a))
        for found, other in zip(empirical_gradient(Z[:500], y[:500], v, a), expected, strict=True):
            np.testing.assert_allclose(found, other, atol=1e-12)
    for found, other in zip((dv, da), population_gradient(v, a, teacher), strict=True):
        np.testing.assert_allclose(found, other, atol=0.05)


def test_population_run_follows_the_four_numbers_and_never_shortens_the_filter() -> None:
    """DU-A1, DU-X5.a: losses of the vector iteration and of the recursion."""
    teacher = ratio_teacher(5, 1, 4, np.random.default_rng(3))
    start = draw_network(4, 5, 0.3, np.random.default_rng(4))
    run = population_run(start, teacher, step_size=0.1, max_iter=300)
    expected = trajectory(state_of(start.v, start.a, teacher), teacher, 0.1, run.n_iter)
    np.testing.assert_allclose(run.losses, expected["loss"][:, 0], atol=1e-12)
    np.testing.assert_allclose(run.phi, expected["phi"][:, 0], atol=1e-10)
    assert np.linalg.norm(run.network.v) >= np.linalg.norm(start.v)


def test_one_sign_flip_is_always_in_the_basin_set() -> None:
    """DU-T5.4: for 200 draws and random teachers."""
    rng = np.random.default_rng(5)
    for _ in range(200):
        teacher = FilterTeacher(rng.standard_normal(5), rng.standard_normal(4))
        flips = sign_flips(draw_network(5, 4, abs(teacher.s) * teacher.W / 2.0, rng))
        assert len(set(flips)) == 4
        assert any(in_basin_set(flip.v, flip.a, teacher) for flip in flips)


def test_random_start_with_flips_finds_the_teacher_and_shows_two_phases() -> None:
    """DU-T5.3, DU-T5.4: slow, then linear; the second slope is the one of the linearization. At
    this step the explicit theorem is silent, and says so.
    """
    teacher = ratio_teacher(20, 1, 25, np.random.default_rng(6))
    run = population_fit(teacher, seed=1, max_iter=1500)
    assert run.converged
    assert run.basin is Basin.GLOBAL
    phases = detect_phases(run, run.start, teacher)
    assert math.isnan(phases.first_bound)
    assert math.isnan(phases.second_bound)
    assert phases.first_steps is not None
    assert 20 < phases.first_steps < 600
    assert phases.second_slope < 3 * phases.first_slope < 0
    length2 = float(run.network.v @ run.network.v)
    late = 2 * np.diff(np.log(np.sin(run.phi[run.phi > 1e-5])))[-1]
    assert late == pytest.approx(2 * math.log(1 - 0.1 / (2 * length2)), rel=0.02)


def test_phases_of_a_covered_start_respect_the_explicit_bounds() -> None:
    """DU-T5.3x: measured slopes are at least as steep as promised, phase one ends in time."""
    teacher = FilterTeacher(np.eye(3)[0], np.array([0.8, -0.6]))
    start = OneFilterNetwork(np.array([math.cos(1.1), math.sin(1.1), 0.0]), 0.2 * teacher.a)
    run = population_run(start, teacher, step_size=0.01, max_iter=3000)
    phases = detect_phases(run, run.start, teacher)
    assert run.start == start
    assert phases.first_steps is not None
    assert phases.first_steps <= phases.first_steps_bound
    assert phases.first_slope <= phases.first_bound < 0
    assert phases.second_slope <= phases.second_bound < 0


def test_failed_run_ends_at_the_spurious_loss_and_says_so() -> None:
    """DU-L5.1, DU-F5.1b: the plateau is the closed form to 1e-6."""
    teacher = FilterTeacher(np.array([0.0, 2.0]), np.array([1.0, -0.5]))
    run = population_run(
        OneFilterNetwork([0.1, -1.0], [-0.5, 0.7]), teacher, step_size=0.5, max_iter=4000
    )
    assert run.basin is Basin.SPURIOUS
    assert not run.converged
    assert run.losses[-1] == pytest.approx(spurious_loss(teacher), abs=1e-6)


def test_samples_are_fitted_from_flips_with_restarts() -> None:
    """DU-T5.4, DU-A1: a filter with k = 3 is found from 400 samples; the result is a measurement,
    not a theorem.
    """
    teacher = FilterTeacher(np.array([1.0, -1.0, 0.5]), np.array([1.0, 0.5, -0.2]))
    Z = patches(400, 3, 3, 7)
    y = one_filter_outputs(Z, teacher.w, teacher.W * teacher.a)
    run = sample_fit(Z, y, seed=0, step_size=0.5, max_iter=800, tol=1e-12)
    assert run.converged
    assert run.basin is Basin.UNDECIDED
    np.testing.assert_allclose(run.network.a, teacher.W * teacher.a, atol=1e-4)
    again = sample_run(run.network, Z, y, step_size=0.5, max_iter=5, tol=1e-12)
    assert again.n_iter == 0


@pytest.mark.parametrize("k", [4, 200])
def test_default_steps_never_diverge_whatever_the_number_of_patches(k: int) -> None:
    """DU-A1: the step comes from the smoothness of the loss; with k = 200 a step of 0.1 is above
    the limit 4 pi/(k + pi - 1) = 0.062 of the output weights.
    """
    teacher = ratio_teacher(k, k / 2.0, 6, np.random.default_rng(20))
    run = population_fit(teacher, seed=0)
    assert run.status is not Status.DIVERGED
    assert run.basin is Basin.GLOBAL
    assert np.all(np.diff(run.losses) <= 0.0)
    if k == 200:
        assert run.step_size < 2.0 * math.pi / (k + math.pi - 1.0)
        blown = population_run(run.start, teacher, step_size=0.1, max_iter=2000)
        assert blown.status is Status.DIVERGED
        assert "step_size=0.1" in blown.message


@pytest.mark.parametrize("scale", [0.01, 0.1, 5.0, 30.0, 100.0])
def test_samples_in_any_units_give_the_same_run(scale: float) -> None:
    """DU-A1: patches times s, the case that returned a relative loss of 1.8e75 without a word."""
    teacher = FilterTeacher(np.eye(5)[0], np.array([1.0, 0.5, -0.2, 0.8]))
    Z = patches(300, 5, 4, 21)
    y = one_filter_outputs(Z, teacher.w, teacher.a)
    first = sample_fit(Z, y, max_iter=150, restarts=0)
    run = sample_fit(scale * Z, 3.0 * y, max_iter=150, restarts=0)
    zero = 0.5 * float(np.mean(y**2))
    assert run.loss / (9.0 * zero) == pytest.approx(first.loss / zero, rel=0.01)
    assert first.loss < 0.01 * zero
    assert np.all(np.diff(run.losses) <= 0.0)
    np.testing.assert_allclose(run.network.a * scale / 3.0, first.network.a, rtol=1e-6, atol=1e-9)
    direct = empirical_loss(scale * Z, 3.0 * y, run.network.v, run.network.a)
    assert run.loss == pytest.approx(direct, rel=1e-9)


def test_a_short_filter_makes_the_step_shorter_and_never_raises_the_loss() -> None:
    """DU-A1: the gradient in v grows like 1/|v|, so next to the true filter the step of the output
    weights overshoots by far.
    """
    Z, a = patches(200, 4, 3, 23), np.array([1.0, 0.4, 0.7])
    w = np.array([1.0, 2.0, -1.0, 0.5])
    y = one_filter_outputs(Z, w, a)
    start = OneFilterNetwork(0.01 * (w + np.array([0.2, 0.0, 0.2, 0.0])), a)
    run = sample_run(start, Z, y, max_iter=40)
    assert np.all(np.diff(run.losses) <= 0.0)
    assert run.loss < run.losses[0]
    active = np.maximum(Z @ (start.v / np.linalg.norm(start.v)), 0.0) / math.sqrt(np.mean(Z**2))
    first = 1.0 / float(np.linalg.eigvalsh(active.T @ active / len(Z))[-1])
    assert run.step_size < 0.6 * first


def test_the_first_step_on_samples_is_that_of_the_output_weights_alone() -> None:
    """DU-A1 from a = 0, where the filter does not move: a_1 = F^T y/|F|^2 with the active patches
    F = relu(Z v), |F| their largest singular value; five patches.
    """
    Z, v = patches(40, 3, 5), np.array([0.3, -2.0, 1.0])
    y = np.random.default_rng(4).standard_normal(40)
    run = sample_run(OneFilterNetwork(v, np.zeros(5)), Z, y, max_iter=1)
    F = np.array([[max(0.0, z @ v) for z in sample] for sample in Z]) / np.linalg.norm(v)
    np.testing.assert_allclose(run.network.a, F.T @ y / np.linalg.norm(F, 2) ** 2, rtol=1e-10)


def test_a_given_step_that_is_too_large_for_the_samples_ends_as_diverged() -> None:
    teacher = FilterTeacher(np.eye(5)[0], np.array([1.0, 0.5, -0.2, 0.8]))
    Z = patches(300, 5, 4, 22)
    y = one_filter_outputs(Z, teacher.w, teacher.a)
    run = sample_fit(5.0 * Z, y, step_size=0.5, max_iter=300, restarts=0)
    assert run.status is Status.DIVERGED
    assert "give a smaller step" in run.message
    assert run.loss <= run.losses[0]


def test_phases_say_where_the_explicit_theorem_is_empty_and_what_the_trap_test_says() -> None:
    """DU-T5.3x, DU-B5: in the setting of Figure 5.2 the promised step is far below 0.1; the trap
    test decides all the same.
    """
    teacher = ratio_teacher(20, 1, 25, np.random.default_rng(6))
    run = population_fit(teacher, seed=1, max_iter=1500)
    phases = detect_phases(run, None, teacher)
    assert phases.basin is Basin.GLOBAL
    assert math.isnan(phases.first_bound)
    assert "empty" in phases.promise
    assert "global minimum at the end" in phases.promise
    near = OneFilterNetwork(
        np.array([math.cos(1.1), math.sin(1.1), 0.0]), 0.2 * np.array([0.8, -0.6])
    )
    small = FilterTeacher(np.eye(3)[0], np.array([0.8, -0.6]))
    covered = detect_phases(population_run(near, small, step_size=0.01, max_iter=50), None, small)
    assert covered.promise.startswith("DU-T5.3x promises")
    assert covered.largest_step >= 0.01
    large = detect_phases(population_run(near, small, step_size=0.1, max_iter=50), None, small)
    assert f"above its largest, {covered.largest_step:.3g}" in large.promise
    away = OneFilterNetwork(-near.v, near.a)
    none = detect_phases(population_run(away, small, max_iter=50), None, small)
    assert "does not satisfy its hypotheses" in none.promise
    assert math.isnan(none.largest_step)


def test_one_patch_and_one_entry_work() -> None:
    """DU-A1: k = 1 has no spurious minimum; p = 1 is a sign."""
    one = population_fit(
        FilterTeacher(np.array([1.0, 1.0]), np.array([2.0])), seed=0, step_size=0.3
    )
    assert one.converged
    Z = patches(50, 1, 2, 8)
    y = one_filter_outputs(Z, np.ones(1), np.array([1.0, -2.0]))
    fit = sample_fit(Z, y, step_size=0.5, max_iter=2000)
    assert fit.converged


def test_zero_sum_teacher_starts_from_zero_output_weights() -> None:
    """DU-T5.4: s = 0 makes the ball a point; flips of the filter alone decide."""
    teacher = FilterTeacher(np.eye(3)[0], np.array([1.0, -1.0]))
    assert teacher.s == 0.0
    assert population_fit(teacher, seed=0, step_size=0.3).converged


def test_bad_networks_patches_and_steps_are_refused() -> None:
    with pytest.raises(DataError, match="zero filter has no direction"):
        OneFilterNetwork(np.zeros(3), np.ones(2))
    with pytest.raises(DataError, match="finite numbers"):
        OneFilterNetwork(np.ones(3), np.array([]))
    with pytest.raises(DataError, match="as extract_patches gives it"):
        one_filter_outputs(np.ones((5, 3, 2)), np.ones(3), np.ones(2))
    with pytest.raises(DataError, match="zero filter has no direction"):
        empirical_loss(np.ones((5, 2, 3)), np.ones(5), np.zeros(3), np.ones(2))
    teacher = FilterTeacher(np.ones(3), np.ones(2))
    with pytest.raises(DataError, match="step_size"):
        population_run(OneFilterNetwork(np.ones(3), np.ones(2)), teacher, step_size=0.0)
    with pytest.raises(DataError, match="restarts"):
        population_fit(teacher, restarts=-1)
    with pytest.raises(DataError, match="n labels"):
        sample_fit(np.ones((5, 3, 2)), np.ones(4))
    run = sample_run(
        OneFilterNetwork(np.ones(3), np.ones(2)), patches(5, 3, 2), np.ones(5), max_iter=2
    )
    with pytest.raises(DataError, match="population runs only"):
        detect_phases(run, run.network, teacher)


def test_a_step_that_is_too_large_diverges_and_the_best_network_is_kept() -> None:
    teacher = FilterTeacher(np.ones(3), np.ones(2))
    start = OneFilterNetwork(np.eye(3)[1], np.ones(2))
    run = population_run(start, teacher, step_size=500.0)
    assert run.status is Status.DIVERGED
    assert not run.converged
    assert run.loss == run.losses.min()
    with pytest.raises(NotConverged, match="overflowed"):
        population_run(start, teacher, step_size=500.0, throw=True)


@pytest.mark.parametrize("limit", [0.0, math.pi])
def test_the_measured_rate_leaves_out_angles_at_the_rounding_floor(limit: float) -> None:
    """The sine halves in every step, then stays at 1e-9, at the true or the opposite filter."""
    sines = np.array([*0.5 ** np.arange(12), *[1e-9] * 20])
    phi = np.abs(limit - np.arcsin(sines))
    assert train._slope(phi) == pytest.approx(2.0 * math.log(0.5), rel=1e-6)


def test_defaults_of_the_fits_are_the_documented_ones() -> None:
    """Seed 0, and a relative loss of 1e-10 at which a run ends: a start at 1.5e-10 goes on."""
    teacher = FilterTeacher(np.array([1.0, -1.0]), np.array([1.0, 0.5]))
    one, two = (population_fit(teacher, max_iter=2, **seed) for seed in ({}, {"seed": 0}))
    np.testing.assert_array_equal(one.network.v, two.network.v)
    Z = patches(30, 2, 2)
    y = one_filter_outputs(Z, teacher.w, teacher.W * teacher.a)
    one, two = (sample_fit(Z, y, max_iter=2, **seed) for seed in ({}, {"seed": 0}))
    np.testing.assert_array_equal(one.network.v, two.network.v)
    for share, steps in ((0.9e-10, 0), (1.5e-10, 1)):  # outputs off by the factor 1 + sqrt(share)
        a = teacher.W * teacher.a * (1.0 + math.sqrt(share))
        assert sample_run(OneFilterNetwork(teacher.w, a), Z, y, max_iter=1).n_iter == steps

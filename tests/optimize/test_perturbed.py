"""Perturbed gradient descent on functions whose saddles are known."""

import io
import math
import sys

import numpy as np
import pytest

import globalmin as gm
from globalmin.errors import DataError, HypothesisError, NotConverged
from globalmin.linalg.sampling import uniform_in_ball
from globalmin.optimize.perturbed import (
    Perturbation,
    Smoothness,
    perturbation_parameters,
    perturbed_descent_steps,
    perturbed_gradient_descent,
)
from globalmin.optimize.run import Status


def double_well(x):
    """Strict saddle at 0 (curvature -1 along the first axis), minima at +-1 on it, value -1/4."""
    return x[0] ** 4 / 4 - x[0] ** 2 / 2 + (x[1:] ** 2).sum()


def double_well_gradient(x):
    return np.concatenate([[x[0] ** 3 - x[0]], 2 * x[1:]])


def double_well_hessian(x):
    return np.diag(np.concatenate([[3 * x[0] ** 2 - 1], np.full(x.size - 1, 2.0)]))


GIVEN = {"gradient": double_well_gradient, "hessian": double_well_hessian}


def test_noise_leaves_a_saddle_where_gradient_descent_stays_for_ever():
    """DU-A2, DU-T7.1: at the saddle itself the gradient is zero and only the noise moves the
    point.
    """
    without = perturbed_gradient_descent(
        double_well,
        np.zeros(3),
        step_size=0.1,
        gradient_threshold=0.0,
        gradient_tol=0.0,
        radius=1e-300,
        max_iter=500,
        **GIVEN,
    )
    assert abs(without.vector[0]) < 0.1
    with_noise = perturbed_gradient_descent(double_well, np.zeros(3), step_size=0.1, **GIVEN)
    assert with_noise.status is Status.SECOND_ORDER
    assert with_noise.perturbations == (0,)
    assert with_noise.loss == pytest.approx(-0.25, abs=1e-12)
    assert with_noise.estimate is not None
    assert with_noise.estimate.least_eigenvalue == pytest.approx(2.0, abs=1e-5)
    assert "second-order stationary" in str(with_noise.estimate)


def test_the_run_is_algorithm_2_step_by_step():
    """DU-A2: noise at most every wait + 1 steps, then a gradient step from the perturbed point,
    against a loop written out.
    """
    rng, x, noisy, expected = np.random.default_rng(7), np.full(2, 0.02), -4, []
    for t in range(12):
        if np.linalg.norm(double_well_gradient(x)) <= 0.5 and t - noisy > 3:
            x, noisy = x + uniform_in_ball(2, 0.1, rng), t
        expected.append((double_well(x), np.linalg.norm(double_well_gradient(x))))
        x = x - 0.05 * double_well_gradient(x)
    run = perturbed_gradient_descent(
        double_well,
        np.full(2, 0.02),
        step_size=0.05,
        radius=0.1,
        gradient_threshold=0.5,
        wait=3,
        gradient_tol=0.0,
        max_iter=12,
        seed=7,
        **GIVEN,
    )
    np.testing.assert_allclose(run.losses[:12], [value for value, _ in expected], rtol=1e-14)
    np.testing.assert_allclose(run.gradient_norms[:12], [norm for _, norm in expected], rtol=1e-14)
    assert run.perturbations == (0, 4, 8)
    assert run.status is Status.MAX_ITER


def test_the_published_setting_is_the_printed_formula():
    """DU-A2, DU-T7.2: every number for d = 10, l = 2, rho = 3, epsilon = 0.01, delta = 0.1, B = 5,
    c = 1/2.
    """
    numbers = perturbation_parameters(
        Smoothness(2.0, 3.0, 5.0), 10, epsilon=0.01, failure=0.1, constant=0.5
    )
    chi = 3 * math.log(10 * 2 * 5 / (0.5 * 1e-4 * 0.1))
    assert numbers.step_size == 0.25
    assert numbers.gradient_threshold == pytest.approx(math.sqrt(0.5) / chi**2 * 0.01, rel=1e-14)
    assert numbers.radius == pytest.approx(math.sqrt(0.5) / chi**2 * 0.01 / 2, rel=1e-14)
    assert numbers.wait == math.ceil(chi / 0.25 * 2 / math.sqrt(0.03))
    assert numbers.decrease == pytest.approx(0.5 / chi**3 * math.sqrt(1e-6 / 3), rel=1e-14)
    assert perturbed_descent_steps(Smoothness(2.0, 3.0, 5.0), 10, epsilon=0.1) == pytest.approx(
        1e3 * math.log(1e5) ** 4
    )


def test_small_problems_use_the_floor_of_the_logarithm():
    """DU-A2: chi = 12 when the logarithm is below 4."""
    numbers = perturbation_parameters(Smoothness(1.0, 1.0, 1.0), 1, epsilon=1.0, failure=0.9)
    assert numbers.gradient_threshold == pytest.approx(1 / 144)


def test_from_smoothness_constants_the_minimum_is_found_and_the_published_rule_stops():
    """DU-T7.2 with the constants of the double well on [-2, 2]: gradient 11, Hessian 12 (DU-D7.1,
    DU-D7.2, DU-D7.3).
    """
    run = perturbed_gradient_descent(
        double_well,
        np.zeros(4),
        smoothness=Smoothness(11.0, 12.0, 0.25),
        epsilon=0.05,
        max_iter=50_000,
        **GIVEN,
    )
    assert run.status is Status.NO_DECREASE
    assert len(run.perturbations) >= 2
    found = gm.estimate_second_order(double_well, run.point, epsilon=0.05, rho=12.0, **GIVEN)
    assert found.kind == "second-order stationary"
    assert run.loss == pytest.approx(-0.25, abs=1e-3)


def test_escape_time_does_not_grow_like_a_power_of_the_dimension():
    """DU-T7.2: dimensions 2 and 200 differ by a logarithm only (the noise along one axis shrinks
    like d^-1/2).
    """
    steps = [
        perturbed_gradient_descent(double_well, np.zeros(d), step_size=0.1, **GIVEN).n_iter
        for d in (2, 200)
    ]
    assert steps[1] <= steps[0] + 60


def test_a_function_of_lists_traced_by_jax_gives_the_same_run_as_its_own_gradient():
    traced = perturbed_gradient_descent(double_well, np.zeros(2), step_size=0.1)
    given = perturbed_gradient_descent(double_well, np.zeros(2), step_size=0.1, **GIVEN)
    assert traced.n_iter == given.n_iter
    np.testing.assert_allclose(traced.vector, given.vector, atol=1e-12)


def test_the_stop_function_ends_the_run_at_its_point():
    run = perturbed_gradient_descent(
        double_well, np.zeros(2), step_size=0.1, stop=lambda x: abs(x[0]) > 0.5, **GIVEN
    )
    assert run.status is Status.STOPPED
    assert 0.5 < abs(run.vector[0]) < 0.8


def test_an_interrupt_keeps_the_point_of_least_loss():
    seen = []

    def loss(x):
        seen.append(0)
        if len(seen) > 40:
            raise KeyboardInterrupt
        return double_well(x)

    run = perturbed_gradient_descent(loss, [0.3, 0.0], step_size=0.1, **GIVEN)
    assert run.status is Status.INTERRUPTED
    assert run.loss == pytest.approx(run.losses.min())
    assert run.loss < double_well(np.array([0.3, 0.0]))


class _Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_is_shown_on_a_terminal_only(monkeypatch):
    for stream, shown in ((_Terminal(), True), (io.StringIO(), False)):
        monkeypatch.setattr(sys, "stderr", stream)
        monkeypatch.setenv("TERM", "xterm")
        perturbed_gradient_descent(double_well, np.zeros(2), step_size=0.1, verbose=True, **GIVEN)
        assert ("perturbed_gradient_descent" in stream.getvalue()) is shown


def test_a_step_that_diverges_is_reported():
    run = perturbed_gradient_descent(double_well, [3.0, 1.0], step_size=5.0, max_iter=200, **GIVEN)
    assert run.status is Status.DIVERGED
    assert np.isfinite(run.loss)
    with pytest.raises(NotConverged, match="not finite"):
        perturbed_gradient_descent(
            double_well, [3.0, 1.0], step_size=5.0, max_iter=200, throw=True, **GIVEN
        )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "step_size"),
        ({"smoothness": Smoothness(1.0, 1.0, 1.0)}, "epsilon"),
        ({"step_size": -1.0}, "step_size"),
        ({"step_size": 0.1, "radius": 0.0}, "radius"),
        ({"step_size": 0.1, "wait": 1.5}, "wait"),
        ({"step_size": 0.1, "gradient_threshold": -1.0}, "gradient_threshold"),
        ({"step_size": 0.1, "decrease": 0.0}, "decrease"),
        ({"step_size": 0.1, "gradient_tol": -1.0}, "gradient_tol"),
        ({"step_size": 0.1, "curvature_tol": -1.0}, "curvature_tol"),
        ({"step_size": 0.1, "max_iter": -1}, "max_iter"),
    ],
)
def test_wrong_numbers_are_named(options, message):
    with pytest.raises(DataError, match=message):
        perturbed_gradient_descent(double_well, [0.0, 0.0], **options, **GIVEN)


@pytest.mark.parametrize("half", [{"smoothness": Smoothness(1.0, 1.0, 1.0)}, {"epsilon": 0.1}])
def test_half_of_what_the_step_follows_from_is_not_enough(half):
    with pytest.raises(DataError, match="give step_size, or both smoothness and epsilon"):
        perturbed_gradient_descent(double_well, [0.0, 0.0], **half, **GIVEN)


def test_hypotheses_of_the_theorem_are_checked():
    """DU-T7.2 asks for epsilon <= l^2/rho; DU-D7.1 to DU-D7.3 for positive constants."""
    with pytest.raises(HypothesisError, match="ell"):
        perturbation_parameters(Smoothness(1.0, 2.0, 1.0), 3, epsilon=0.6)
    with pytest.raises(DataError, match="failure"):
        perturbation_parameters(Smoothness(1.0, 2.0, 1.0), 3, epsilon=0.1, failure=1.0)
    with pytest.raises(DataError, match="hessian_lipschitz"):
        Smoothness(1.0, 0.0, 1.0)
    with pytest.raises(DataError, match="wait"):
        Perturbation(0.1, 0.1, 0.1, -1)


def test_a_threshold_above_the_tolerance_does_not_keep_the_run_from_ending():
    """DU-A2 with the thesis's numbers (radius and threshold e/100, wait 1) and a tolerance of 1e-3
    on the octopus: noise at the saddles only, none at the minimum.
    """
    octopus = gm.landscape.ExtendedOctopus(3)
    run = perturbed_gradient_descent(
        octopus.value,
        [0.5, -0.4, 0.3],
        step_size=1 / 8,
        radius=math.e / 100,
        gradient_threshold=math.e / 100,
        wait=1,
        gradient_tol=1e-3,
        gradient=octopus.gradient,
        hessian=octopus.hessian,
        max_iter=2000,
    )
    assert run.status is Status.SECOND_ORDER
    assert octopus.distance_to_minimum(run.vector) < 1e-3
    assert run.perturbations
    assert run.gradient_norms[-1] <= 1e-3
    values = np.array([octopus.least + k * octopus.drop for k in range(3, 0, -1)])
    losses = run.losses[list(run.perturbations)]
    assert (abs(losses[:, None] - values).min(axis=1) < 1.0).all()  # noise at saddles only
    assert run.estimate is not None
    assert run.estimate.least_eigenvalue == pytest.approx(4.0)


def test_at_a_minimum_with_a_flat_direction_the_run_ends_too():
    """The Hessian is singular there, never positive definite; within its tolerance is enough."""
    run = perturbed_gradient_descent(
        lambda x: (x[0] * x[1] - 1.0) ** 2 / 2,
        [0.0, 0.0],
        step_size=0.1,
        radius=0.1,
        gradient_threshold=0.1,
        wait=5,
        gradient_tol=1e-6,
        max_iter=3000,
    )
    assert run.status is Status.SECOND_ORDER
    assert run.point[0] * run.point[1] == pytest.approx(1.0, abs=1e-5)


def test_a_run_that_nothing_can_end_says_so_at_the_start():
    """DU-A2 has no end of its own: without a test, a decrease, a stop or a limit only the default
    limit is left.
    """
    seen = []

    def stop_soon(x):
        seen.append(x)
        return len(seen) > 3

    with pytest.warns(RuntimeWarning, match="nothing can end this run"):
        perturbed_gradient_descent(
            lambda x: float("nan") if seen.append(x) or len(seen) > 5 else double_well(x),
            [0.0, 1.0],
            step_size=0.1,
            gradient_tol=0.0,
            **GIVEN,
        )
    seen.clear()
    run = perturbed_gradient_descent(
        double_well, [0.0, 1.0], step_size=0.1, gradient_tol=0.0, stop=stop_soon, **GIVEN
    )
    assert run.status is Status.STOPPED


def test_defaults_of_the_constant_and_of_the_wait():
    """DU-T7.2: c = 1, a step of 1/l, by default in both functions; a wait of 0 has a meaning."""
    smooth = Smoothness(11.0, 12.0, 0.25)
    start = np.array([0.5, 0.7])
    run = perturbed_gradient_descent(
        double_well, start, smoothness=smooth, epsilon=0.05, max_iter=1, **GIVEN
    )
    moved = start - double_well_gradient(start) / 11.0
    assert run.losses[-1] == pytest.approx(double_well(moved), rel=1e-12)
    published = perturbation_parameters(smooth, 2, epsilon=0.05)
    assert published == perturbation_parameters(smooth, 2, epsilon=0.05, failure=0.1, constant=1.0)
    assert Perturbation(0.1, 0.1, 0.1, 0).wait == 0

"""Training of one filter: methods, steps, stages, dead starts, digits."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits

from globalmin.errors import DataError, NotConverged
from globalmin.optimize.run import Status
from globalmin.patches.constants import RotationInvariantConstants
from globalmin.patches.inputs import (
    angular_inputs,
    close_patches,
    extract_patches,
    filter_at_distance,
    gabor_filter,
    gaussian_patches,
    random_filter,
)
from globalmin.patches.model import filter_outputs, is_dead
from globalmin.patches.train import fit_filter, fit_random_start


@pytest.mark.parametrize("method", ["auto", "gradient_descent", "sgd", "least_squares"])
def test_every_method_recovers_a_filter_from_gaussian_patches(method: str) -> None:
    """DU-M6: from a start at distance .5, to the accuracy of the tolerance."""
    Z, w_star = gaussian_patches(400, 3, 4, 0), random_filter(4, 1)
    y = filter_outputs(Z, w_star)
    fit = fit_filter(
        Z,
        y,
        filter_at_distance(w_star, 0.5, 2),
        method=method,
        max_iter=400,
        tol=1e-16,
        w_star=w_star,
    )
    assert fit.status is Status.CONVERGED
    assert fit.distances[-1] < 1e-6
    assert len(fit.distances) == len(fit.losses) == fit.n_iter + 1


def test_smoother_inputs_are_learned_faster() -> None:
    """DU-F6.3a: |w - w*| after 200 steps falls from about .09 to below 1e-8 as sigma grows from .2
    to 1.
    """
    w_star, ends = np.array([1.0, 0.0]), []
    for sigma in (0.2, 0.5, 1.0):
        Z = angular_inputs(5000, w_star, sigma, 1)
        start = w_star + 0.8 * np.array([-0.6, 0.8])
        fit = fit_filter(
            Z, filter_outputs(Z, w_star), start, step_size=0.5, max_iter=200, tol=0.0, w_star=w_star
        )
        ends.append(fit.distances[-1])
    assert ends[0] > 100 * ends[1] > 10_000 * ends[2]


def test_closer_patches_are_learned_faster() -> None:
    """DU-F6.3b: spread .05 beats 1 by a factor of ten or more after 100 steps."""
    w_star, ends = random_filter(5, 0), []
    for spread in (0.05, 1.0):
        Z = close_patches(3000, 8, w_star, spread, 2)
        start = filter_at_distance(w_star, 0.7, 3)
        fit = fit_filter(
            Z, filter_outputs(Z, w_star), start, step_size=1.0, max_iter=200, tol=0.0, w_star=w_star
        )
        ends.append(fit.distances[-1])
    assert 10 * ends[0] < ends[1]


@pytest.mark.parametrize("kind", ["random", "gabor"])
def test_filter_is_recovered_from_digits_and_a_dead_start_is_reported(kind: str) -> None:
    """DU-F6.3cd, DU-F6.4: SGD nearer start is better after the same epochs; least squares ends at
    zero loss; -1 is dead.
    """
    Z = extract_patches(load_digits().data / 16.0, 5, image_shape=(8, 8))
    w_star = random_filter(25, 0) if kind == "random" else gabor_filter(5)
    y = filter_outputs(Z, w_star)
    ends = [
        fit_filter(
            Z, y, filter_at_distance(w_star, distance, 1), method="sgd", step_size=1.0, max_iter=10
        ).loss
        for distance in (0.3, 0.9)
    ]
    assert ends[0] < 0.3 * ends[1]
    assert 2 * ends[0] / y.mean() ** 2 < 10**-2.0
    fit = fit_filter(
        Z,
        y,
        filter_at_distance(w_star, 0.9, 1),
        method="auto",
        max_iter=100,
        tol=1e-24,
        w_star=w_star,
    )
    assert fit.status is Status.CONVERGED
    assert fit.distances[-1] < 1e-10
    dead = fit_filter(Z, y, -np.ones(25))
    assert dead.status is Status.DEAD
    assert dead.n_iter == 0
    assert "no patch is active" in dead.message


def test_dead_directions_are_drawn_again_and_counted() -> None:
    """Positive inputs in two dimensions: a quarter of all directions is dead."""
    Z, w_star = np.abs(gaussian_patches(100, 2, 2, 0)), np.array([1.0, 2.0])
    fits = [
        fit_random_start(Z, filter_outputs(Z, w_star), method="auto", seed=seed)
        for seed in range(20)
    ]
    assert all(fit.status is Status.CONVERGED for fit in fits)
    assert sum(fit.dead_starts for fit in fits) > 0
    assert all(fit.starts > fit.dead_starts for fit in fits)


def test_zero_patches_and_zero_starts_are_dead_unless_the_labels_are_zero() -> None:
    Z = gaussian_patches(20, 2, 3, 0)
    y = np.ones(20)
    assert fit_filter(Z, y, np.zeros(3)).status is Status.DEAD
    assert fit_random_start(0 * Z, y, restarts=1).status is Status.DEAD
    assert fit_random_start(0 * Z, y, restarts=1).dead_starts == 200
    assert fit_filter(Z, 0 * y, np.zeros(3)).status is Status.CONVERGED


def test_two_stages_switch_to_the_second_step_at_half_of_the_loss() -> None:
    """DU-T6.2: closer to the teacher the theorem allows larger steps; here the losses of both
    stages are compared by hand.
    """
    Z, w_star = gaussian_patches(300, 1, 3, 1), random_filter(3, 0)
    y, w0 = filter_outputs(Z, w_star), filter_at_distance(w_star, 0.6, 1)
    slow = fit_filter(Z, y, w0, step_size=0.05, max_iter=60, tol=0.0)
    both = fit_filter(Z, y, w0, step_size=(0.05, 0.8), max_iter=60, tol=0.0)
    switch = int(np.argmax(slow.losses <= 0.5 * slow.losses[0]))
    np.testing.assert_allclose(both.losses[: switch + 1], slow.losses[: switch + 1], rtol=1e-12)
    assert both.losses[-1] < 0.01 * slow.losses[-1]


def test_theory_step_needs_the_teacher_and_uses_it() -> None:
    """DU-T6.2, DU-T6.3: the largest step of the theorem at every step; the distance falls at every
    step.
    """
    Z, w_star = gaussian_patches(2000, 1, 3, 2), random_filter(3, 0)
    y, w0 = filter_outputs(Z, w_star), filter_at_distance(w_star, 0.5, 1)
    with pytest.raises(DataError, match="w_star and constants"):
        fit_filter(Z, y, w0, step_size="theory")
    fit = fit_filter(
        Z,
        y,
        w0,
        step_size="theory",
        max_iter=50,
        w_star=w_star,
        constants=RotationInvariantConstants(1.0),
    )
    assert np.all(np.diff(fit.distances) < 0)


def test_labels_out_of_reach_stall_with_the_least_squares_of_a_cell() -> None:
    rng = np.random.default_rng(3)
    Z = gaussian_patches(60, 2, 3, 3)
    y = filter_outputs(Z, np.ones(3)) + 0.3 * rng.standard_normal(60)
    fit = fit_filter(Z, y, np.ones(3), method="least_squares")
    assert fit.status is Status.STALLED
    assert not is_dead(Z, fit.w)
    worse = [
        fit_filter(Z, y, fit.w + 1e-3 * u, max_iter=1, step_size=1e-12).losses[0]
        for u in rng.standard_normal((20, 3))
    ]
    assert min(worse) >= fit.loss * (1 - 1e-12)


@pytest.mark.parametrize("method", ["gradient_descent", "sgd", "auto"])
def test_a_step_that_is_too_large_diverges_and_the_best_filter_is_kept(method: str) -> None:
    Z, start = gaussian_patches(20, 2, 3, 0), np.ones(3)
    y = filter_outputs(Z, np.array([1.0, 2.0, 3.0]))
    fit = fit_filter(Z, y, start, method=method, step_size=1e160)
    assert fit.status is Status.DIVERGED
    assert np.array_equal(fit.w, start)
    assert fit.loss == fit.losses[0]
    with pytest.raises(NotConverged, match="overflowed"):
        fit_filter(Z, y, start, method=method, step_size=1e160, throw=True)


@pytest.mark.parametrize(
    "options",
    [
        {"method": "newton"},
        {"step_size": 0.0},
        {"step_size": (1.0, -1.0)},
        {"max_iter": 0},
        {"step_size": "fast"},
        {"tol": -1.0},
    ],
)
def test_bad_options_are_refused(options: dict) -> None:
    Z = gaussian_patches(5, 1, 2, 0)
    with pytest.raises(DataError):
        fit_filter(Z, np.ones(5), np.ones(2), **options)


def test_wrong_labels_and_a_diverging_step_are_refused() -> None:
    Z = gaussian_patches(5, 1, 2, 0)
    with pytest.raises(DataError, match="one finite label"):
        fit_filter(Z, np.ones(4), np.ones(2))
    with pytest.raises(DataError, match="restarts"):
        fit_random_start(Z, np.ones(5), restarts=-1)

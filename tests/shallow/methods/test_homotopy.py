"""Activations with a kink: the smooth versions, and the figures of the homotopy."""

import numpy as np
import pytest

from globalmin.activations import get_activation
from globalmin.data import generators
from globalmin.optimize.run import Status
from globalmin.shallow.methods.homotopy import SHARPNESS, SmoothedKink, left_slope
from globalmin.shallow.network import ShallowNetwork, preactivations, residual
from globalmin.shallow.provability import estimate_provability
from globalmin.shallow.train import train, train_auto

FIGURES = [(100, 20, 8), (100, 20, 10), (100, 10, 20)]


@pytest.mark.parametrize("name", ["relu", "leaky_relu(0.3)", "abs"])
def test_the_smooth_version_converges_to_the_activation_at_its_stated_distance(name):
    phi = get_activation(name)
    left = left_slope(phi)
    z = np.linspace(-3, 3, 2001)
    for b in SHARPNESS:
        gap = np.max(np.abs(SmoothedKink(left, b)(z) - phi(z)))
        assert gap <= (1 - left) * np.log(2) / b * (1 + 1e-12)
        assert gap >= 0.99 * (1 - left) * np.log(2) / b  # attained at the kink


@pytest.mark.parametrize("left", [0.0, 0.3, -1.0])
def test_the_derivative_of_the_smooth_version_agrees_with_finite_differences(left):
    phi, z, h = SmoothedKink(left, 8.0), np.linspace(-2, 2, 101), 1e-6
    assert np.allclose(phi.derivative(z), (phi(z + h) - phi(z - h)) / (2 * h), atol=1e-8)


def test_only_activations_with_one_kink_at_zero_have_a_left_slope():
    assert [left_slope(get_activation(a)) for a in ("relu", "leaky_relu(0.2)", "abs")] == [
        0.0,
        0.2,
        -1.0,
    ]
    assert all(
        left_slope(get_activation(a)) is None for a in ("softplus", "linear", "tanh", "quadratic")
    )


@pytest.mark.parametrize("activation", ["relu", "leaky_relu(0.1)", "abs"])
def test_interpolates_inside_a_cell(activation):
    data = generators.sphere_with_random_labels(60, 12, seed=0)
    run = train_auto(data, 10, activation, seed=0)
    assert run.status is Status.CONVERGED
    assert run.relative_residual < 1e-14
    assert run.method == "homotopy"
    margin = np.abs(preactivations(run.network, data.X)).min()
    assert margin > 1e6 * np.linalg.norm(residual(run.network, data.X, data.y))


def test_recorded_losses_are_those_of_the_kinked_network():
    data = generators.sphere_with_random_labels(30, 8, seed=0)
    network = ShallowNetwork.initialize(data, 8, "relu", seed=0)
    seen = []
    run = train(network, data, "homotopy", monitor=lambda s: seen.append((s.loss, s.network())))
    for value, at in seen[:: max(1, len(seen) // 5)]:
        assert at.activation.name == "relu"
        assert value == pytest.approx(0.5 * np.sum(residual(at, data.X, data.y) ** 2), rel=1e-12)
    assert run.losses[0] == seen[0][0]


def failures(n, d, k, seeds):
    bad = []
    for seed in seeds:
        data = generators.sphere_with_random_labels(n, d, seed=seed)
        run = train_auto(data, k, "relu", seed=seed)
        if not (
            run.relative_residual < 1e-13
            and estimate_provability(run.network, data.X, data.y) < 1e-3
            and run.starts <= 6
        ):
            bad.append((seed, run.status, run.relative_residual, run.starts))
    return bad


@pytest.mark.parametrize("figure", FIGURES)
def test_random_labels_are_interpolated_where_theorem_ri_applies(figure):
    assert not failures(*figure, range(2))


@pytest.mark.campaign
@pytest.mark.parametrize("figure", FIGURES)
def test_all_twenty_seeds_are_interpolated(figure):
    assert not failures(*figure, range(20))


@pytest.mark.campaign
def test_at_least_seventeen_of_twenty_seeds_are_interpolated_at_kd_1_2_n():
    assert len(failures(100, 20, 6, range(20))) <= 3

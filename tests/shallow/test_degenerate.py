"""Tied samples: the floor is the exact one, and training reaches it."""

import numpy as np
import pytest

from globalmin.activations import get_activation
from globalmin.data import Dataset
from globalmin.optimize.run import Status
from globalmin.shallow.degenerate import (
    count_free_outputs,
    pose,
    reachable_labels,
    representatives,
    tied_samples,
)
from globalmin.shallow.network import ShallowNetwork, loss, outputs
from globalmin.shallow.problem import Tie
from globalmin.shallow.train import train, train_auto


def conflicting(*, zero_rows=False, seed=0):
    """Equal rows, a ray, opposite rows and, if asked for, zero rows, with random labels."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((24, 5)), rng.standard_normal(24)
    X[3], X[9], X[10] = X[7], X[8], X[8]
    X[11], X[13] = 2.0 * X[12], -X[14]
    if zero_rows:
        X[20] = X[21] = 0.0
    return Dataset.from_preprocessed(X, y)


ALL = [
    "softplus",
    "relu",
    "leaky_relu(0.25)",
    "abs",
    "tanh",
    "quadratic",
    "linear",
    "polynomial(0,0,0,1)",
    "polynomial(0,0,2)",
]


@pytest.mark.parametrize("activation", ALL)
def test_the_floor_of_the_problem_is_the_exact_loss_floor(activation):
    data = conflicting(zero_rows=activation != "softplus")
    network = ShallowNetwork.initialize(data, 4, activation)
    exact = float(data.degeneracy.loss_floor(network.activation).floor)
    assert pose(network, data, "W").problem.floor == pytest.approx(exact, rel=1e-13)
    assert exact > 0


@pytest.mark.parametrize("activation", ALL)
def test_outputs_of_any_network_on_tied_samples_are_proportional_to_g(activation):
    data = conflicting(zero_rows=activation != "softplus")
    network = ShallowNetwork.initialize(data, 6, activation, seed=5)
    f = outputs(network, data.X)
    ties = list(tied_samples(data.degeneracy, network.activation))
    assert ties
    for members, g in ties:
        assert np.allclose(
            f[members], g * f[members[0]] / g[0] if g.any() else 0.0, rtol=1e-12, atol=1e-13
        )


@pytest.mark.parametrize("activation", ALL)
def test_loss_is_floor_plus_half_the_squared_distance_to_the_reachable_labels(activation):
    data = conflicting(zero_rows=activation != "softplus")
    network = ShallowNetwork.initialize(data, 6, activation, seed=1)
    point = pose(network, data, "W")
    assert point.loss == pytest.approx(loss(network, data.X, data.y), rel=1e-12)


@pytest.mark.parametrize("trained", ["W", "vW"])
@pytest.mark.parametrize("activation", ALL)
def test_representatives_have_the_same_loss_and_the_same_gradient(activation, trained):
    data = conflicting(zero_rows=activation != "softplus")
    point = pose(ShallowNetwork.initialize(data, 6, activation, seed=2), data, trained)
    reduced = representatives(point)
    assert len(reduced.residual) < len(point.residual)
    assert reduced.loss == pytest.approx(point.loss, rel=1e-12)
    for ours, whole in zip(reduced.gradient, point.gradient, strict=True):
        assert (ours is None and whole is None) or np.allclose(ours, whole, rtol=1e-10, atol=1e-12)


def test_reachable_labels_are_means_on_equal_rows_and_least_squares_on_rays():
    y = np.array([1.0, 3.0, 5.0, 1.0, 7.0])
    ties = (Tie(np.array([0, 1]), np.ones(2)), Tie(np.array([2, 3]), np.array([1.0, 2.0])))
    t = (5.0 + 2.0) / 5.0
    assert np.allclose(reachable_labels(y, ties), [2.0, 2.0, t, 2 * t, 7.0])


def test_free_outputs_count_each_tied_group_once_and_zero_groups_not_at_all():
    data = conflicting(zero_rows=True)
    assert count_free_outputs(data, get_activation("relu")) == 24 - 1 - 2 - 1 - 2
    assert count_free_outputs(data, get_activation("softplus")) == 24 - 1 - 2 - 1


@pytest.mark.parametrize("activation", ["softplus", "relu", "abs", "tanh", "linear"])
def test_training_on_conflicting_data_ends_at_the_exact_floor(activation):
    data = conflicting(zero_rows=activation != "softplus")
    run = train_auto(data, activation=activation, seed=0)
    exact = float(data.degeneracy.loss_floor(run.network.activation).floor)
    assert run.status is Status.CONVERGED
    assert abs(loss(run.network, data.X, data.y) - exact) <= 1e-14 * exact + 1e-15
    assert run.losses[-1] == pytest.approx(exact, rel=1e-13)


def test_equal_rows_with_equal_labels_are_interpolated_although_the_gram_matrix_is_singular():
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((20, 5)), rng.standard_normal(20)
    X[4], y[4] = X[2], y[2]
    run = train_auto(Dataset.from_preprocessed(X, y), seed=0)
    assert run.status is Status.CONVERGED
    assert run.starts == 1
    assert run.floor == 0.0
    assert run.relative_residual < 1e-13


def test_all_zero_rows_are_at_the_floor_from_the_beginning():
    data = Dataset.from_preprocessed(np.zeros((3, 2)), np.ones(3))
    run = train(ShallowNetwork.initialize(data, 2, "relu"), data)
    assert run.status is Status.CONVERGED
    assert run.loss == 1.5

"""Descent from many starts at once: the loss in moments, the steps, the plateaus, and the
stationary points they lead to.
"""

import numpy as np
import pytest

from globalmin.errors import DataError
from globalmin.landscape.classify import classify_point
from globalmin.optimize.run import Status
from globalmin.quadratic.duality import estimate_span_gap
from globalmin.quadratic.many_starts import QuadraticLoss, descend, random_starts
from globalmin.quadratic.risk import population_gradient, population_risk
from globalmin.shallow.hessian import gradient, quadratic_gradient
from globalmin.shallow.network import ShallowNetwork
from globalmin.shallow.network import loss as network_loss
from globalmin.shallow.stationary import PointKind, nearest_stationary


def problem(n, d, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)), rng.standard_normal(n)


class Data:
    def __init__(self, X, y):
        self.X, self.y = X, y


@pytest.mark.parametrize(("n", "d"), [(1, 1), (4, 3), (30, 4)])
def test_value_and_gradient_of_every_network_equal_the_sums_over_samples(n, d):
    X, y = problem(n, d)
    v = np.array([1.0, -2.0, 0.5])
    W = np.random.default_rng(1).standard_normal((5, 3, d))
    values, gradients = QuadraticLoss.of_data(X, y, v).value_and_gradient(W)
    for w, value, slope in zip(W, values, gradients, strict=True):
        assert value == pytest.approx(
            network_loss(ShallowNetwork(w, v, "quadratic"), X, y), rel=1e-10
        )
        np.testing.assert_allclose(slope, quadratic_gradient(w, v, X, y), rtol=1e-9, atol=1e-10)


def test_loss_of_a_teacher_is_half_the_population_risk():
    """GKZ-R1, GKZ-R2 in moments."""
    rng = np.random.default_rng(2)
    Wstar, W = rng.standard_normal((4, 3)), rng.standard_normal((2, 5, 3))
    values, gradients = QuadraticLoss.of_teacher(Wstar, 5).value_and_gradient(W)
    for w, value, slope in zip(W, values, gradients, strict=True):
        assert value == pytest.approx(0.5 * population_risk(w, Wstar), rel=1e-12)
        np.testing.assert_allclose(
            slope, 0.5 * population_gradient(w, Wstar), rtol=1e-10, atol=1e-10
        )


@pytest.mark.parametrize("n", [3, 40])
def test_least_value_is_that_of_least_squares(n):
    X, y = problem(n, 3)
    v = np.repeat([1.0, -1.0], 3)
    least = QuadraticLoss.of_data(X, y, v).least
    assert least == pytest.approx(0.5 * y @ y - estimate_span_gap(X, -y), abs=1e-12 * y @ y)


def test_every_run_is_plain_gradient_descent_with_its_final_step():
    """SJL-T2.1: a run that never shrank its step is the textbook iteration, step by step."""
    X, y = problem(40, 3)
    v = np.repeat([1.0, -1.0], 3)
    loss = QuadraticLoss.of_data(X, y, v)
    starts = random_starts(6, 6, 3, scales=(0.01, 0.3), seed=3)
    found = descend(loss, starts, max_iter=50, tol=0.0, every=10)
    assert found.history.shape == (5, 6)
    assert (np.diff(found.history, axis=0) <= 1e-12 * loss.c).all()
    first_step = found.step_sizes.max()
    for index in np.flatnonzero(found.step_sizes == first_step):
        W = starts[index]
        for _ in range(50):
            W = W - first_step * quadratic_gradient(W, v, X, y)
        np.testing.assert_allclose(found.W[index], W, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("n", [4, 40])
def test_all_starts_reach_the_least_value_and_stop_there(n):
    X, y = problem(n, 3)
    v = np.repeat([1.0, -1.0], 3)
    loss = QuadraticLoss.of_data(X, y, v)
    found = descend(loss, random_starts(20, 6, 3, seed=4))
    assert found.reached.all()
    assert set(found.statuses) == {Status.CONVERGED}
    assert (found.losses <= loss.least + 1e-12 * loss.c).all()
    assert (found.iterations < 100_000).all()


def test_plateaus_are_dips_of_the_gradient_and_lead_to_saddles():
    X, y = problem(60, 4, seed=5)
    v = np.repeat([1.0, -1.0], 4)
    loss = QuadraticLoss.of_data(X, y, v)
    found = descend(loss, random_starts(20, 8, 4, scales=(1e-6, 1e-6), seed=6))
    assert found.plateaus
    kinds = set()
    for plateau in found.plateaus:
        network = ShallowNetwork(plateau.W, v, "quadratic")
        assert np.linalg.norm(gradient(network, X, y)[0]) == pytest.approx(
            plateau.gradient_norm, rel=1e-6
        )
        assert plateau.loss <= network_loss(network, X, y) * (1 + 1e-9)
        kinds.add(classify_point(nearest_stationary(network, X, y), Data(X, y)).kind)
    assert PointKind.STRICT_SADDLE in kinds
    assert kinds <= {PointKind.STRICT_SADDLE, PointKind.GLOBAL_MINIMUM, PointKind.NOT_STATIONARY}


@pytest.mark.parametrize("activation", ["quadratic", "tanh", "softplus"])
def test_stationary_points_nearby_are_stationary_and_near(activation):
    """From a perturbed stationary point: W = 0 with inputs in pairs +-x, a saddle."""
    half = np.random.default_rng(7).standard_normal((12, 2))
    X, y = np.vstack([half, -half]), np.concatenate([np.ones(12), np.ones(12)])
    v = np.array([1.0, -1.0])
    near = ShallowNetwork(1e-3 * np.random.default_rng(8).standard_normal((2, 2)), v, activation)
    found = nearest_stationary(near, X, y)
    assert np.linalg.norm(gradient(found, X, y)[0]) <= 1e-10
    assert np.linalg.norm(found.W - near.W) <= 0.1


def test_wrong_shapes_and_sizes_are_refused():
    X, y = problem(10, 3)
    loss = QuadraticLoss.of_data(X, y, np.ones(2))
    with pytest.raises(DataError, match="shape"):
        descend(loss, np.zeros((2, 3, 3)))
    with pytest.raises(DataError, match="shape"):
        descend(loss, np.zeros((2, 2, 4)))
    with pytest.raises(DataError, match="not finite"):
        descend(loss, np.full((1, 2, 3), 1e200))
    with pytest.raises(DataError, match="scales"):
        random_starts(3, 2, 2, scales=(0.0, 1.0))
    with pytest.raises(DataError, match="too many"):
        nearest_stationary(ShallowNetwork(np.zeros((600, 3)), np.ones(600), "quadratic"), X, y)

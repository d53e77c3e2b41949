"""Step sizes against loops, closed forms and measured norms."""

import math

import numpy as np
import pytest

from globalmin.activations import get_activation
from globalmin.data import Dataset, generators
from globalmin.errors import HypothesisError
from globalmin.shallow.degenerate import pose
from globalmin.shallow.initialization import os_head
from globalmin.shallow.lipschitz import estimate_lipschitz
from globalmin.shallow.network import ShallowNetwork, jacobian_gram
from globalmin.shallow.provability import descent_quantities, linearize
from globalmin.shallow.step_sizes import (
    first_moment,
    general_step,
    has_os_head,
    has_unit_rows,
    measured_step,
    relu_step,
    sgd_step,
    smooth_step,
    theory_step,
)


def sphere(n=30, d=8, seed=0):
    return generators.sphere_with_random_labels(n, d, seed=seed)


def test_theory_step_is_os_6_2_for_the_os_head_on_unit_rows():
    """OS-T6.2, the norm of X by an explicit maximum."""
    data = sphere()
    network = ShallowNetwork.initialize(data, 20, "tanh")
    norm = max(np.linalg.norm(data.X @ u) for u in np.linalg.svd(data.X)[2])
    expected = 30 / (2 * 1.0**2 * sum(v * v for v in data.y) * norm**2)
    assert theory_step(network, pose(network, data, "W")) == pytest.approx(expected, rel=1e-12)
    assert smooth_step(data.X, data.y, 1.0) == pytest.approx(expected, rel=1e-12)


def test_theory_step_is_os_6_3_for_relu():
    """OS-T6.3, the norm of X from an eigenvalue."""
    data = sphere()
    network = ShallowNetwork.initialize(data, 20, "relu")
    expected = 30 / (3 * float(data.y @ data.y) * np.linalg.eigvalsh(data.X.T @ data.X)[-1])
    assert theory_step(network, pose(network, data, "W")) == pytest.approx(expected, rel=1e-12)
    assert relu_step(data.X, data.y) == pytest.approx(expected, rel=1e-12)


def test_theory_step_is_the_general_one_for_other_rows_and_heads():
    rng = np.random.default_rng(0)
    data = Dataset(rng.standard_normal((40, 3)), rng.standard_normal(40))
    network = ShallowNetwork(
        rng.standard_normal((5, 4)), rng.standard_normal(5), get_activation("softplus")
    )
    assert theory_step(network, pose(network, data, "W")) == general_step(data.X, network.v, 1.0)


@pytest.mark.parametrize("activation", ["softplus", "relu", "tanh", "sigmoid"])
def test_general_step_is_below_the_inverse_squared_norm_of_the_jacobian_everywhere(activation):
    """OS-L6.6, with any rows and any head."""
    rng = np.random.default_rng(1)
    X, v = rng.standard_normal((25, 4)), rng.standard_normal(9)
    phi = get_activation(activation)
    eta = general_step(X, v, float(phi.supremum(1)))
    for scale in (0.01, 1.0, 10.0):
        network = ShallowNetwork(scale * rng.standard_normal((9, 4)), v, phi)
        assert eta * np.linalg.eigvalsh(jacobian_gram(network, X))[-1] <= 1.0


def test_general_step_is_attained_by_one_linear_neuron():
    """OS-L6.6 is an equality there."""
    X, v = np.array([[3.0, 4.0]]), np.array([2.0])
    network = ShallowNetwork(np.ones((1, 2)), v, get_activation("linear"))
    assert general_step(X, v, 1.0) * jacobian_gram(network, X)[0, 0] == pytest.approx(1.0)


def test_theory_step_is_that_of_descent_where_its_hypothesis_holds():
    rng = np.random.default_rng(2)
    X, W, v = rng.standard_normal((5, 6)), rng.standard_normal((12, 6)), rng.standard_normal(12)
    network = ShallowNetwork(W, v, get_activation("softplus"))
    data = Dataset.from_preprocessed(X, network.predict(X) + 1e-6 * rng.standard_normal(5))
    start = pose(network, data, "W")
    point = linearize(jacobian_gram(network, X), start.residual)
    quantities = descent_quantities(
        point, estimate_lipschitz(network, X, 2 * point.g / point.a, trained="W")
    )
    assert theory_step(network, start) == pytest.approx(quantities.eta_max, rel=1e-9)


@pytest.mark.parametrize("trained", ["W", "vW"])
def test_measured_step_is_half_the_inverse_squared_norm_of_the_jacobian(trained):
    data = sphere()
    network = ShallowNetwork.initialize(data, 6, "quadratic")
    norm = np.linalg.eigvalsh(jacobian_gram(network, data.X, trained=trained))[-1]
    assert measured_step(pose(network, data, trained)) == pytest.approx(0.5 / norm, rel=1e-3)


def test_sgd_step_is_os_2_6():
    """OS-T2.6, with the Khatri-Rao product formed."""
    data = sphere(n=12, d=6)
    phi = get_activation("softplus")
    products = np.array([np.outer(x, x).ravel() for x in data.X])
    smallest = np.linalg.svd(products, compute_uv=False)[-1]
    norm = np.linalg.norm(data.X, 2)
    mu = 0.2066212  # E[g sigmoid(g)], os.md
    expected = mu**2 / (9 * 3) * 12 / float(data.y @ data.y) * smallest**2 / norm**2
    assert sgd_step(data.X, data.y, phi) == pytest.approx(expected, rel=1e-5)


def test_sgd_step_refuses_data_without_the_hypothesis_and_unbounded_slopes():
    many = sphere(n=30, d=4)
    with pytest.raises(HypothesisError, match="sigma_min"):
        sgd_step(many.X, many.y, get_activation("softplus"))
    few = sphere(n=5, d=4)
    with pytest.raises(HypothesisError, match="bounded derivative"):
        sgd_step(few.X, few.y, get_activation("quadratic"))


@pytest.mark.parametrize(
    ("name", "value"), [("relu", 1 / math.sqrt(2 * math.pi)), ("linear", 0.0), ("quadratic", 2.0)]
)
def test_first_moment_equals_its_closed_form(name, value):
    assert first_moment(get_activation(name)) == pytest.approx(value, abs=1e-13)


def test_first_moment_agrees_with_monte_carlo():
    g = np.random.default_rng(0).standard_normal(1_000_000)
    phi = get_activation("tanh")
    samples = g * phi.derivative(g)
    assert (
        abs(first_moment(phi) - samples.mean()) < 6 * samples.std() / 1000
    )  # six standard errors: one failure in 5e8


def test_recognizes_the_os_head_and_unit_rows():
    data = sphere()
    assert has_unit_rows(data.X)
    assert not has_unit_rows(2 * data.X)
    for k in (1, 2, 7, 8):
        assert has_os_head(os_head(data.y, k), data.y)
    assert not has_os_head(2 * os_head(data.y, 8), data.y)
    assert not has_os_head(np.zeros(4), data.y)

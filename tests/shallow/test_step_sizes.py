"""Step sizes against loops, closed forms and measured norms."""

import math

import numpy as np
import pytest

import globalmin as gm
from globalmin.activations import get_activation
from globalmin.data import Dataset, generators
from globalmin.errors import HypothesisError
from globalmin.shallow.degenerate import pose
from globalmin.shallow.initialization import os_head
from globalmin.shallow.lipschitz import estimate_lipschitz
from globalmin.shallow.network import ShallowNetwork, jacobian_gram
from globalmin.shallow.provability import descent_quantities, linearize
from globalmin.shallow.step_sizes import (
    general_step,
    has_os_head,
    has_unit_rows,
    measured_step,
    relu_step,
    sgd_step,
    smooth_step,
    stochastic_nu,
    stochastic_step,
    theory_step,
    usable_step,
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
    y_norm = np.linalg.norm(data.y)
    assert smooth_step(30, B=1.0, X_norm=norm, y_norm=y_norm) == pytest.approx(expected, rel=1e-12)
    steep = smooth_step(30, B=2.0, X_norm=norm, y_norm=y_norm)
    assert steep == pytest.approx(expected / 4, rel=1e-12)


def test_theory_step_is_os_6_3_for_relu():
    """OS-T6.3, the norm of X from an eigenvalue."""
    data = sphere()
    network = ShallowNetwork.initialize(data, 20, "relu")
    expected = 30 / (3 * float(data.y @ data.y) * np.linalg.eigvalsh(data.X.T @ data.X)[-1])
    assert theory_step(network, pose(network, data, "W")) == pytest.approx(expected, rel=1e-12)
    norms = {"X_norm": np.linalg.norm(data.X, 2), "y_norm": np.linalg.norm(data.y)}
    assert relu_step(30, **norms) == pytest.approx(expected, rel=1e-12)


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


def test_the_radius_of_the_descent_step_is_twice_the_newton_length():
    """OS-C1 for z^3, whose second derivative grows: Lip on the ball of radius 2 |r| / a."""
    rng = np.random.default_rng(2)
    X, W = rng.standard_normal((5, 6)), rng.standard_normal((12, 6))
    network = ShallowNetwork(W, rng.standard_normal(12), get_activation("polynomial(0,0,0,1)"))
    data = Dataset.from_preprocessed(X, network.predict(X) + 1e-2 * rng.standard_normal(5))
    start = pose(network, data, "W")
    point = linearize(jacobian_gram(network, X), start.residual)
    radii = 2 * point.g / point.a, 2 * point.g * point.a
    right, wrong = (
        descent_quantities(point, estimate_lipschitz(network, X, R, trained="W")) for R in radii
    )
    assert theory_step(network, start) == pytest.approx(right.eta_max, rel=1e-12)
    assert wrong is None or abs(wrong.eta_max / right.eta_max - 1) > 1e-9


@pytest.mark.parametrize("trained", ["W", "vW"])
def test_measured_step_is_half_the_inverse_squared_norm_of_the_jacobian(trained):
    data = sphere()
    network = ShallowNetwork.initialize(data, 6, "quadratic")
    norm = np.linalg.eigvalsh(jacobian_gram(network, data.X, trained=trained))[-1]
    assert measured_step(pose(network, data, trained)) == pytest.approx(0.5 / norm, rel=1e-3)


def test_sgd_step_is_os_2_6_with_nu_from_the_failure_probability():
    """OS-T2.6, with the Khatri-Rao product formed and nu from its definition."""
    data = sphere(n=12, d=6)
    phi = get_activation("softplus")
    products = np.array([np.outer(x, x).ravel() for x in data.X])
    smallest = np.linalg.svd(products, compute_uv=False)[-1]
    norm = np.linalg.norm(data.X, 2)
    mu = 0.20662096414  # E[g sigmoid(g)], os.md
    for failure, n_weights in ((0.1, 120), (0.02, 6)):
        nu = 4 / failure * (3 * norm / (mu * smallest)) ** (1 / n_weights)
        expected = mu**2 / (9 * nu) * 12 / float(data.y @ data.y) * smallest**2 / norm**2
        found = sgd_step(data.X, data.y, phi, n_weights=n_weights, failure=failure)
        assert found == pytest.approx(expected, rel=1e-9)


def test_sgd_step_counts_the_slope_in_its_fourth_power():
    """OS-T2.6: for the generic statement B is sup |phi'|, also where phi'' is larger."""
    data = sphere(n=6, d=6)
    steep = get_activation("softplus(10)")
    assert float(steep.supremum(2)) == pytest.approx(2.5)
    norms = {"X_norm": np.linalg.norm(data.X, 2), "y_norm": np.linalg.norm(data.y)}
    gap = 0.392595599 * math.sqrt(np.linalg.eigvalsh((data.X @ data.X.T) ** 2)[0])
    nu = stochastic_nu(gap, failure=0.1, B=1.0, X_norm=norms["X_norm"], n_weights=60)
    expected = stochastic_step(6, gap, nu=nu, B=1.0, **norms)
    assert sgd_step(data.X, data.y, steep, n_weights=60) == pytest.approx(expected, rel=1e-8)
    assert stochastic_step(6, gap, nu=nu, B=2.0, **norms) == pytest.approx(expected / 16)


def test_nu_is_at_least_three_and_meets_the_failure_probability():
    """OS-T2.6: the event fails with exactly the probability asked, unless nu = 3 already does."""
    options = {"B": 1.0, "X_norm": 2.0, "n_weights": 50}
    nu = stochastic_nu(0.05, failure=0.1, **options)
    assert 4 / nu * (3 * 2.0 / 0.05) ** (1 / 50) == pytest.approx(0.1)
    assert stochastic_nu(0.05, failure=0.999999, **{**options, "n_weights": 10**9}) > 4
    assert stochastic_nu(6.0, failure=1.6, **options) == 3.0


@pytest.mark.parametrize(
    ("n", "d", "activation", "word"),
    [
        (30, 4, "softplus", "sigma_min"),
        (5, 4, "quadratic", "bounded derivatives"),
        (5, 4, "relu", "bounded derivatives"),
        (5, 4, "tanh", "mu = E"),
        (5, 4, "sigmoid", "mu = E"),
        (5, 4, "erf", "mu = E"),
    ],
)
def test_sgd_step_refuses_what_the_theorem_is_not_about_with_the_remedy(n, d, activation, word):
    data = sphere(n=n, d=d)
    with pytest.raises(HypothesisError, match=word) as refusal:
        sgd_step(data.X, data.y, get_activation(activation), n_weights=40)
    assert "per-sample" in str(refusal.value)


def test_a_theory_step_that_would_stand_still_is_an_error():
    """Labels of 1e200 and labels 0: no silent run of a million updates."""
    for eta in (0.0, math.inf, math.nan, -1.0):
        with pytest.raises(HypothesisError, match=r"OS-T6\.2 is"):
            usable_step(eta, "OS-T6.2")
    assert usable_step(5e-324, "OS-T6.2") == 5e-324
    data = sphere(n=5, d=4)
    network = ShallowNetwork(np.zeros((20, 4)), np.full(20, 1e160), "relu")
    for run in (
        lambda: theory_step(network, pose(network, data, "W")),
        lambda: gm.train(network, data, method="gradient_descent", step_size="theory"),
    ):
        with pytest.raises(HypothesisError, match=r"OS-L6\.6 is 0 in floats .* scale the labels"):
            run()
    with pytest.raises(HypothesisError, match="0 in floats"):
        sgd_step(data.X, data.y * 1e200, get_activation("softplus"), n_weights=80)
    with pytest.raises(HypothesisError, match="not all zero"):
        sgd_step(data.X, np.zeros(5), get_activation("softplus"), n_weights=80)
    odd = ShallowNetwork.initialize(data, 20, "tanh")
    with pytest.raises(HypothesisError, match="mu = E"):
        gm.train(odd, data, method="sgd", step_size="theory")


@pytest.mark.parametrize("activation", ["softplus", "softplus(10)", "gelu", "relu", "tanh"])
def test_training_takes_the_step_that_inspect_prints(activation):
    """One theorem, one step: OS-T6.2 or OS-T6.3 for gradient descent, OS-T2.6 for SGD."""
    data = sphere(n=8, d=6)
    network = ShallowNetwork.initialize(data, 20, activation)
    found = gm.inspect(data, network=network)
    item = "OS-T6.3" if activation == "relu" else "OS-T6.2"
    step = theory_step(network, pose(network, data, "W"))
    assert found.theorem(item).step_size == pytest.approx(step, rel=1e-12)
    report = found.theorem("OS-T2.6")
    if activation in ("relu", "tanh"):
        assert report.step_size is None
    else:
        step = sgd_step(data.X, data.y, get_activation(activation), n_weights=120)
        assert report.step_size == pytest.approx(step, rel=1e-9)


def test_recognizes_the_os_head_and_unit_rows():
    data = sphere()
    assert has_unit_rows(data.X)
    assert not has_unit_rows(2 * data.X)
    for k in (1, 2, 7, 8):
        assert has_os_head(os_head(data.y, k), data.y)
    assert not has_os_head(2 * os_head(data.y, 8), data.y)
    assert not has_os_head(np.zeros(4), data.y)

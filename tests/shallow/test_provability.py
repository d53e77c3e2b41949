"""The number that training watches: equal to the formula by dense algebra, infinite where nothing
can be proved.
"""

import math

import numpy as np
import pytest
from scipy.linalg import cholesky

from globalmin.linalg.spectrum import smallest_eigenvalue_from_factor
from globalmin.shallow import provability
from globalmin.shallow.lipschitz import estimate_lipschitz
from globalmin.shallow.network import ShallowNetwork, jacobian_gram, residual
from globalmin.shallow.provability import (
    estimate_provability,
    linearize,
)


def instance(activation="softplus", n=20, d=7, k=8, size=1e-3):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    network = ShallowNetwork(rng.standard_normal((k, d)), rng.choice([-1.0, 1.0], k), activation)
    return network, X, network.predict(X) + size * rng.standard_normal(n)


@pytest.mark.parametrize("trained", ["W", "vW"])
@pytest.mark.parametrize("activation", ["softplus", "sigmoid", "tanh", "erf", "quadratic"])
def test_smooth_value_equals_the_formula_by_eigendecomposition(activation, trained):
    network, X, y = instance(activation)
    K = jacobian_gram(network, X, trained=trained)
    point = linearize(K, residual(network, X, y))
    assert point is not None
    expected = 2 * estimate_lipschitz(network, X, 2 * point.e, trained=trained) * point.e / point.a
    assert estimate_provability(network, X, y, trained) == pytest.approx(expected, rel=2e-4)
    assert estimate_provability(network, X, y, trained, K=K) == estimate_provability(
        network, X, y, trained
    )
    descent = (
        2
        * estimate_lipschitz(network, X, 2 * point.g / point.a, trained=trained)
        * point.g
        / point.a**2
    )
    assert estimate_provability(network, X, y, trained, claim="descent") == pytest.approx(
        descent, rel=2e-4
    )


def test_relu_value_equals_the_largest_ratio_over_pairs():
    network, X, y = instance("relu", k=14, size=1e-6)
    r = np.linalg.norm(residual(network, X, y))
    mu = np.linalg.eigvalsh(jacobian_gram(network, X))[0]
    ratios = np.linalg.norm(X, axis=1)[:, None] * r / (np.abs(X @ network.W.T) * math.sqrt(mu))
    assert ratios.max() < 1
    assert estimate_provability(network, X, y) == pytest.approx(ratios.max(), rel=2e-4)


def test_value_falls_in_proportion_to_the_residual():
    network, X, y = instance("tanh", size=1e-6)
    target = network.predict(X)
    values = [estimate_provability(network, X, target + t * (y - target)) for t in (1.0, 0.1, 0.01)]
    assert values[1] / values[0] == pytest.approx(0.1, rel=1e-2)
    assert values[2] / values[1] == pytest.approx(0.1, rel=1e-2)


def test_singular_jacobians_and_uncovered_activations_are_infinite():
    network, X, y = instance()
    assert estimate_provability(network, np.vstack([X, X[:1]]), np.append(y, y[0])) == math.inf
    narrow = network.with_weights(network.W[:2], network.v[:2])
    assert estimate_provability(narrow, X, y) == math.inf
    assert estimate_provability(network.with_weights(v=np.zeros(8)), X, y) == math.inf
    for activation in ("leaky_relu(0.1)", "abs"):
        assert (
            estimate_provability(ShallowNetwork(network.W, network.v, activation), X, y) == math.inf
        )
    assert (
        estimate_provability(ShallowNetwork(network.W[:2], network.v[:2], "relu"), X, y) == math.inf
    )
    assert estimate_provability(network, X * 1e200, y) == math.inf


def test_a_zero_row_with_label_zero_does_not_stop_relu():
    network, X, y = instance("relu", k=14, size=1e-6)
    extended = estimate_provability(network, np.vstack([X, np.zeros(7)]), np.append(y, 0.0))
    assert extended == pytest.approx(estimate_provability(network, X, y), rel=1e-12)


def test_large_problems_use_the_ritz_value_on_the_safe_side(monkeypatch):
    network, X, y = instance("tanh", n=50)
    exact = estimate_provability(network, X, y)
    monkeypatch.setattr(provability, "_EXACT_LIMIT", 0)
    assert exact <= estimate_provability(network, X, y) <= 1.1 * exact


@pytest.mark.parametrize("n", [1, 3, 60])
def test_smallest_eigenvalue_by_subspace_iteration_is_never_below_the_true_one(n):
    A = np.random.default_rng(n).standard_normal((n, 2 * n))
    K = A @ A.T
    true = np.linalg.eigvalsh(K)[0]
    estimate = smallest_eigenvalue_from_factor(cholesky(K, lower=True))
    assert true * (1 - 1e-9) <= estimate <= 1.02 * true

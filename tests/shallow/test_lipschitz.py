"""The Lipschitz constant of the Jacobian (OS-K4) holds against sampled pairs, and is sharp where it
is known to be.
"""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from globalmin.activations import get_activation
from globalmin.shallow.lipschitz import (
    combine_layers,
    curvature_weights,
    estimate_lipschitz,
    local_suprema,
    rounding_of_preactivations,
    slope_weights,
)
from globalmin.shallow.network import ShallowNetwork

SMOOTH = ("softplus", "softplus(3)", "sigmoid", "sigmoid(2)", "tanh", "erf", "quadratic")
PHI = {
    "softplus": lambda z: jax.nn.softplus(z),
    "softplus(3)": lambda z: jax.nn.softplus(3 * z) / 3,
    "sigmoid": lambda z: jax.nn.sigmoid(z),
    "sigmoid(2)": lambda z: jax.nn.sigmoid(2 * z),
    "tanh": jnp.tanh,
    "erf": jax.scipy.special.erf,
    "quadratic": jnp.square,
}


def dense_jacobian(name, v, W, X, *, trained):
    """J by its definition, n x p; compared with automatic differentiation below."""
    activation, Z = get_activation(name), X @ W.T
    J_W = ((activation.derivative(Z) * v)[:, :, None] * X[:, None, :]).reshape(len(X), -1)
    return np.hstack([activation(Z), J_W]) if trained == "vW" else J_W


@pytest.mark.parametrize("name", SMOOTH)
def test_dense_jacobian_of_these_tests_agrees_with_automatic_differentiation(name):
    X, v, W, _ = instance(11)
    with jax.enable_x64(True):
        parts = jax.jacobian(lambda p: PHI[name](jnp.asarray(X) @ p[1].T) @ p[0])(
            (jnp.asarray(v), jnp.asarray(W))
        )
        J = np.hstack([np.asarray(parts[0]), np.asarray(parts[1]).reshape(len(X), -1)])
    np.testing.assert_allclose(dense_jacobian(name, v, W, X, trained="vW"), J, atol=1e-13)


def instance(seed, n=6, d=3, k=4):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)), rng.standard_normal(k), rng.standard_normal((k, d)), rng


@pytest.mark.parametrize("method", ["rows", "svec"])
@pytest.mark.parametrize("trained", ["W", "vW"])
@pytest.mark.parametrize("name", SMOOTH)
def test_constant_holds_for_pairs_of_points_in_the_ball(name, trained, method):
    X, v, W, rng = instance(0)
    rho = 0.3
    Lip = estimate_lipschitz(ShallowNetwork(W, v, name), X, rho, trained=trained, method=method)
    for _ in range(40):
        points = []
        for radius in rho * rng.uniform(0.0, 1.0, 2):
            step = rng.standard_normal(v.size + W.size)
            if trained == "W":
                step[: v.size] = 0.0
            points.append(step * radius / np.linalg.norm(step))
        jacobians = [
            dense_jacobian(
                name, v + p[: v.size], W + p[v.size :].reshape(W.shape), X, trained=trained
            )
            for p in points
        ]
        distance = np.linalg.norm(points[0] - points[1])
        assert np.linalg.norm(jacobians[0] - jacobians[1], 2) <= Lip * distance * (1 + 1e-9)


def test_constant_is_sharp_for_the_quadratic_golden_example():
    network = ShallowNetwork([[1.5]], [1.0], "quadratic")
    for rho in (0.0, 0.1, 5.0):
        assert estimate_lipschitz(network, np.ones((1, 1)), rho) == pytest.approx(2.0, rel=1e-14)


def test_both_layers_are_sharp_for_the_quadratic_golden_example():
    """f = v w^2: the Hessian of f is [[0, 2w], [2w, 2v]], whose norm is the constant at rho = 0."""
    v, w = 0.7, 1.5
    norm = np.abs(np.linalg.eigvalsh([[0.0, 2 * w], [2 * w, 2 * v]])).max()
    assert estimate_lipschitz(
        ShallowNetwork([[w]], [v], "quadratic"), np.ones((1, 1)), 0.0, trained="vW"
    ) == pytest.approx(norm, rel=1e-12)
    assert combine_layers(2 * v, 2 * w) == pytest.approx(norm, rel=1e-14)


def test_constant_is_nearly_attained_by_a_quadratic_network_along_its_best_direction():
    """J is linear in W for z^2; moving one neuron of largest |v| along the maximizing direction
    attains 2 |v| sqrt(sup).
    """
    X, v, W, _ = instance(3, n=8, d=2, k=2)
    directions = np.stack(
        [np.cos(np.linspace(0, np.pi, 20_001)), np.sin(np.linspace(0, np.pi, 20_001))], axis=1
    )
    a = directions[(((directions @ X.T) ** 4).sum(axis=1)).argmax()]
    step = np.zeros_like(W)
    step[np.abs(v).argmax()] = a
    moved = dense_jacobian("quadratic", v, W + step, X, trained="W") - dense_jacobian(
        "quadratic", v, W, X, trained="W"
    )
    Lip = estimate_lipschitz(ShallowNetwork(W, v, "quadratic"), X, 1.0, method="svec")
    assert 0.95 * Lip <= np.linalg.norm(moved, 2) <= Lip * (1 + 1e-9)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("name", SMOOTH)
def test_local_suprema_bound_the_derivative_on_the_interval(name, order):
    activation = get_activation(name)
    rng = np.random.default_rng(1)
    Z, reach = rng.uniform(-4.0, 4.0, (5, 7)), rng.uniform(0.0, 1.0, (5, 7))
    bound = local_suprema(activation, Z, reach, order=order)
    grid = np.linspace(-1.0, 1.0, 401)
    values = np.abs(activation.derivative(Z[..., None] + reach[..., None] * grid, order=order)).max(
        axis=-1
    )
    assert (values <= bound * (1 + 1e-12)).all()
    assert (bound <= float(activation.supremum(order))).all()


def test_weights_equal_their_definitions_written_as_loops():
    X, v, W, _ = instance(5)
    network, rho = ShallowNetwork(W, v, "tanh"), 0.2
    b2, b3 = float(network.activation.supremum(2)), float(network.activation.supremum(3))

    def s2(j, i):
        z = float(W[j] @ X[i])
        return min(
            b2, abs(-2 * math.tanh(z) / math.cosh(z) ** 2) + b3 * rho * float(np.linalg.norm(X[i]))
        )

    expected = [max(abs(v[j]) * s2(j, i) for j in range(4)) for i in range(6)]
    np.testing.assert_allclose(curvature_weights(network, X, rho), expected, rtol=1e-12)
    both = [max((abs(v[j]) + rho) * s2(j, i) for j in range(4)) for i in range(6)]
    np.testing.assert_allclose(curvature_weights(network, X, rho, trained="vW"), both, rtol=1e-12)
    slopes = [
        max(
            min(1.0, 1 / math.cosh(float(W[j] @ X[i])) ** 2 + b2 * rho * np.linalg.norm(X[i]))
            for j in range(4)
        )
        for i in range(6)
    ]
    np.testing.assert_allclose(slope_weights(network, X, rho), slopes, rtol=1e-8)


def test_constant_grows_with_the_radius_and_is_infinite_without_a_bound():
    X, v, W, _ = instance(7)
    network = ShallowNetwork(W, v, "tanh")
    values = [estimate_lipschitz(network, X, rho) for rho in (0.0, 0.01, 0.1, 1.0, 100.0)]
    assert values == sorted(values)
    assert estimate_lipschitz(ShallowNetwork(W, v, "relu"), X, 0.1) == math.inf


def test_rounding_estimate_covers_the_true_error_of_the_preactivations():
    from fractions import Fraction

    X, v, W, _ = instance(8, d=5)
    network = ShallowNetwork(W * 1e6, v, "tanh")
    Z, allowed = X @ network.W.T, rounding_of_preactivations(network, X)
    for i, x in enumerate(X):
        for j, w in enumerate(network.W):
            exact = sum(
                Fraction(a) * Fraction(b) for a, b in zip(x.tolist(), w.tolist(), strict=True)
            )
            assert abs(exact - Fraction(float(Z[i, j]))) <= Fraction(float(allowed[i, j]))

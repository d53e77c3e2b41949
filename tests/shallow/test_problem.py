"""The least-squares problem: residuals, gradients and Gram matrices against automatic
differentiation and dense algebra.
"""

from dataclasses import replace

import numpy as np
import pytest

from globalmin.activations import get_activation
from globalmin.shallow.degenerate import pose, representatives
from globalmin.shallow.network import (
    ShallowNetwork,
    head_gradient,
    jacobian_gram,
    jacobian_transpose_times,
    loss,
)
from globalmin.shallow.problem import length

ACTIVATIONS = ["softplus", "tanh", "sigmoid(2)", "quadratic", "gelu"]


class Plain:
    """The least a data set needs: X and y."""

    def __init__(self, X, y):
        self.X, self.y = X, y


def problem(activation="softplus", trained="W", *, n=7, d=3, k=5, seed=0):
    rng = np.random.default_rng(seed)
    data = Plain(rng.standard_normal((n, d)), rng.standard_normal(n))
    network = ShallowNetwork(
        rng.standard_normal((k, d)), rng.standard_normal(k), get_activation(activation)
    )
    return network, data, pose(network, data, trained)


def dense_jacobian(point):
    """J by jax forward differentiation of an independent formula."""
    import jax
    import jax.numpy as jnp

    formulas = {
        "softplus": jax.nn.softplus,
        "tanh": jnp.tanh,
        "sigmoid": lambda z: jax.nn.sigmoid(2 * z),
        "quadratic": jnp.square,
        "gelu": lambda z: jax.nn.gelu(z, approximate=False),
    }
    phi = formulas[point.problem.activation.name]

    with jax.enable_x64(True):
        X = jnp.asarray(point.problem.X)

        def outputs(W, v):
            return phi(X @ W.T) @ v

        in_W, in_v = jax.jacfwd(outputs, argnums=(0, 1))(jnp.asarray(point.W), jnp.asarray(point.v))
        in_W = np.asarray(in_W).reshape(len(X), -1)
        return np.hstack([in_W, np.asarray(in_v)]) if point.problem.trained == "vW" else in_W


def flat(direction):
    in_W, in_v = direction
    return in_W.ravel() if in_v is None else np.concatenate([in_W.ravel(), in_v])


@pytest.mark.parametrize("trained", ["W", "vW"])
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_gradient_pull_back_and_gram_agree_with_automatic_differentiation(activation, trained):
    """OS-J against jax."""
    _, _, point = problem(activation, trained)
    J = dense_jacobian(point)
    u = np.random.default_rng(1).standard_normal(len(J))
    assert np.allclose(flat(point.pull_back(u)), J.T @ u, rtol=1e-12, atol=1e-13)
    assert np.allclose(flat(point.gradient), J.T @ point.residual, rtol=1e-12, atol=1e-13)
    assert np.allclose(point.gram(), J @ J.T, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("trained", ["W", "vW"])
def test_a_point_agrees_with_the_formulas_of_the_network(trained):
    network, data, point = problem(trained=trained)
    u = np.linspace(-1, 1, len(data.y))
    assert point.loss == pytest.approx(loss(network, data.X, data.y), rel=1e-14)
    assert np.allclose(
        point.pull_back(u)[0], jacobian_transpose_times(network, data.X, u), rtol=1e-13
    )
    assert np.allclose(point.gram(), jacobian_gram(network, data.X, trained=trained), rtol=1e-13)
    if trained == "vW":
        assert np.allclose(point.pull_back(u)[1], head_gradient(network, data.X, u), rtol=1e-13)


def test_gram_can_be_written_into_a_given_array_with_a_given_inputs_gram():
    _, data, point = problem()
    out = np.empty((len(data.y), len(data.y)))
    assert point.gram(inputs_gram=data.X @ data.X.T, out=out) is out
    assert np.allclose(out, point.gram())


def test_moving_and_distances_are_euclidean_over_both_layers():
    _, _, point = problem(trained="vW")
    moved = point.moved(point.gradient, -0.1)
    assert moved.distance(point) == pytest.approx(0.1 * length(point.gradient))
    assert length(point.gradient) == pytest.approx(np.linalg.norm(flat(point.gradient)))


def test_rounding_estimate_covers_the_error_of_the_residual_in_extended_precision():
    network, data, point = problem("tanh", n=40, d=6, k=30, seed=3)
    Z = data.X.astype(np.longdouble) @ network.W.T.astype(np.longdouble)
    exact = np.tanh(Z) @ network.v.astype(np.longdouble) - data.y
    error = float(np.linalg.norm((exact - point.residual).astype(np.float64)))
    assert error <= point.rounding <= 1e3 * np.finfo(float).eps * np.linalg.norm(data.y) * 30


def test_weights_multiply_residual_and_jacobian_rows():
    _, _, point = problem(trained="vW")
    weights = np.linspace(1, 3, len(point.residual))
    weighted = replace(point.problem, weights=weights).at(point.W, point.v)
    assert np.allclose(weighted.residual, weights * point.residual)
    assert np.allclose(weighted.gram(), np.outer(weights, weights) * point.gram())
    assert np.allclose(flat(weighted.gradient), flat(point.pull_back(weights**2 * point.residual)))


def test_without_tied_samples_the_representatives_are_the_problem_itself():
    _, _, point = problem()
    assert representatives(point) is point

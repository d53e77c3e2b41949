"""Many small trainings in the fused kernel: the same path as plain gradient descent, honest ends,
shapes of every kind.
"""

import numpy as np
import pytest

from globalmin.activations import get_activation
from globalmin.data import generators
from globalmin.errors import DataError
from globalmin.fused.train import train_many
from globalmin.optimize.run import Status
from globalmin.shallow.initialization import os_head
from globalmin.shallow.network import ShallowNetwork
from globalmin.shallow.problem import Problem
from globalmin.shallow.step_sizes import measured_step
from globalmin.shallow.train import train

ACTIVATIONS = ("relu", "softplus", "softplus(10)", "quadratic")


def instance(n, d, k, trials, seed):
    rng = np.random.default_rng(seed)
    X = np.stack([generators.unit_sphere(n, d, rng) for _ in range(trials)])
    y = rng.standard_normal((trials, n))
    return X, y, rng.standard_normal((trials, k, d)), np.stack([os_head(labels, k) for labels in y])


def numpy_steps(X, y, W, v, *, activation, trained, eta, steps):
    """Plain gradient descent in float64, one point after the other."""
    point = Problem(X, y, get_activation(activation), trained, scale=float(np.linalg.norm(y))).at(
        W, v
    )
    points = [point]
    for _ in range(steps):
        point = point.moved(point.gradient, -eta)
        points.append(point)
    return points


@pytest.mark.parametrize("trained", ["W", "vW"])
@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("shape", [(100, 20, 20), (37, 5, 7), (8, 3, 2), (5, 1, 1), (33, 9, 13)])
def test_the_path_is_that_of_gradient_descent_in_numpy_to_rounding(shape, activation, trained):
    """OS-T2.1, OS-T2.3: theta <- theta - eta grad L, for widths and dimensions that fill no
    register.
    """
    n, d, k = shape
    X, y, W, v = instance(n, d, k, 2, seed=n)
    problems = [Problem(X[t], y[t], get_activation(activation), trained) for t in range(2)]
    eta = 0.5 * min(measured_step(problem.at(W[t], v[t])) for t, problem in enumerate(problems))
    runs = train_many(
        X,
        y,
        W,
        v,
        activation=activation,
        trained=trained,
        step_size=eta,
        max_iter=40,
        tol=0.0,
        record_every=1,
    )
    for t in range(2):
        points = numpy_steps(
            X[t], y[t], W[t], v[t], activation=activation, trained=trained, eta=eta, steps=40
        )
        np.testing.assert_allclose(runs.W[t], points[-1].W, rtol=1e-11, atol=1e-12)
        np.testing.assert_allclose(runs.v[t], points[-1].v, rtol=1e-11, atol=1e-12)
        np.testing.assert_allclose(
            runs.residuals[t], [point.relative_residual for point in points], rtol=1e-10
        )
    assert (runs.iterations == 40).all()
    assert not runs.diverged.any()


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_one_step_is_the_gradient_by_automatic_differentiation(activation):
    import jax
    import jax.numpy as jnp

    functions = {
        "relu": jax.nn.relu,
        "softplus": jax.nn.softplus,
        "softplus(10)": lambda z: jax.nn.softplus(10 * z) / 10,
        "quadratic": jnp.square,
    }
    X, y, W, v = instance(30, 6, 9, 1, seed=5)
    eta = 1e-3
    with jax.enable_x64(True):

        def loss(theta):
            return 0.5 * jnp.sum((functions[activation](X[0] @ theta[0].T) @ theta[1] - y[0]) ** 2)

        in_W, in_v = jax.grad(loss)((jnp.asarray(W[0]), jnp.asarray(v[0])))
    runs = train_many(
        X, y, W, v, activation=activation, trained="vW", step_size=eta, max_iter=1, tol=0.0
    )
    np.testing.assert_allclose((W[0] - runs.W[0]) / eta, in_W, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose((v[0] - runs.v[0]) / eta, in_v, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("activation", ["relu", "softplus"])
def test_training_stops_at_the_same_step_as_the_method_of_the_library(activation):
    X, y, W, v = instance(20, 10, 8, 1, seed=2)
    data = generators.Planted(X[0], y[0], y[0]).dataset()
    network = ShallowNetwork(W[0], v[0], get_activation(activation))
    run = train(network, data, "gradient_descent", step_size=0.1, tol=1e-3, max_iter=20_000)
    runs = train_many(X, y, W, v, activation=activation, step_size=0.1, tol=1e-3, max_iter=20_000)
    assert run.status.is_success
    assert runs.reached[0]
    assert runs.statuses[0] is Status.CONVERGED
    assert runs.iterations[0] == run.n_iter
    assert runs.relative_residual[0] == pytest.approx(run.relative_residual, rel=1e-8)


@pytest.mark.parametrize("activation", ["relu", "softplus"])
def test_single_precision_and_its_confirmation_agree_with_double(activation):
    X, y, W, v = instance(30, 12, 12, 6, seed=3)
    arguments = {"activation": activation, "step_size": 0.1, "max_iter": 5_000}
    double = train_many(X, y, W, v, **arguments)
    single = train_many(X, y, W, v, precision="single", **arguments)
    screened = train_many(X, y, W, v, precision="screened", **arguments)
    assert double.reached.any()
    np.testing.assert_array_equal(screened.reached, double.reached)
    np.testing.assert_allclose(single.iterations, double.iterations, rtol=0.02, atol=5)
    np.testing.assert_allclose(screened.relative_residual, double.relative_residual, rtol=0.02)
    confirmed = screened.relative_residual[screened.reached]
    assert (confirmed <= 2.5e-3).all()


def test_a_run_near_the_tolerance_is_repeated_in_double_precision():
    X, y, W, v = instance(30, 12, 12, 1, seed=3)
    arguments = {"activation": "softplus", "step_size": 0.1}
    full = train_many(X, y, W, v, **arguments)
    short = int(full.iterations[0]) - 3  # float32 ends just above the tolerance
    double = train_many(X, y, W, v, max_iter=short, **arguments)
    screened = train_many(X, y, W, v, max_iter=short, precision="screened", **arguments)
    assert not screened.reached[0]
    assert screened.statuses[0] is Status.MAX_ITER
    np.testing.assert_array_equal(screened.W, double.W)


@pytest.mark.parametrize("precision", ["double", "single", "screened"])
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_divergence_counts_as_failure(activation, precision):
    X, y, W, v = instance(20, 5, 6, 2, seed=4)
    runs = train_many(
        X,
        y,
        1e3 * W,
        v,
        activation=activation,
        trained="vW",
        step_size=1e3,
        max_iter=2_000,
        precision=precision,
    )
    assert runs.diverged.all()
    assert set(runs.statuses) == {Status.DIVERGED}
    assert not runs.reached.any()
    assert np.isinf(runs.relative_residual).all()
    assert (runs.iterations < 2_000).all()


def test_two_threads_give_the_same_bits_as_one():
    X, y, W, v = instance(30, 6, 8, 7, seed=6)
    one, two = (
        train_many(X, y, W, v, step_size=0.05, max_iter=300, threads=threads) for threads in (1, 2)
    )
    np.testing.assert_array_equal(one.W, two.W)
    np.testing.assert_array_equal(one.iterations, two.iterations)


def test_shared_data_and_heads_are_taken_for_every_training():
    X, y, W, v = instance(12, 4, 5, 3, seed=7)
    shared = train_many(X[0], y[0], W, v[0], step_size=0.05, max_iter=50)
    spread = train_many(
        np.stack([X[0]] * 3),
        np.stack([y[0]] * 3),
        W,
        np.stack([v[0]] * 3),
        step_size=0.05,
        max_iter=50,
    )
    np.testing.assert_array_equal(shared.W, spread.W)


def test_zero_labels_and_a_zero_tolerance_are_legal():
    X, y, W, v = instance(10, 3, 4, 1, seed=8)
    runs = train_many(X, 0 * y, 0 * W, v, activation="relu", step_size=0.1, max_iter=10, tol=0.0)
    assert runs.reached[0]
    assert runs.iterations[0] == 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"activation": "tanh"}, "no fused kernel"),
        ({"trained": "v"}, "trained='v'"),
        ({"precision": "half"}, "precision='half'"),
        ({"step_size": -1.0}, "step_size=-1.0"),
        ({"max_iter": -1}, "max_iter=-1"),
        ({"tol": float("nan")}, "tol=nan"),
        ({"W": np.zeros((4, 3))}, "W has shape"),
        ({"X": np.full((10, 3), np.nan)}, "X contains NaN"),
        ({"y": np.zeros(9)}, "do not fit"),
        ({"v": np.zeros((2, 4))}, "v has shape"),
    ],
)
def test_bad_arguments_are_named_with_their_remedy(change, words):
    X, y, W, v = instance(10, 3, 4, 1, seed=9)
    arguments = {"X": X[0], "y": y[0], "W": W, "v": v, "step_size": 0.1, **change}
    with pytest.raises(DataError, match=words):
        train_many(**arguments)

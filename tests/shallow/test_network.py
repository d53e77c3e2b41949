"""Forward pass, gradients, Gram matrix and Jacobian products against automatic differentiation and
loops.
"""

import copy
import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from globalmin.errors import DataError
from globalmin.shallow.network import (
    ShallowNetwork,
    head_gradient,
    jacobian_gram,
    jacobian_times,
    jacobian_transpose_times,
    loss,
    outputs,
    preactivations,
    residual,
)

JAX_ACTIVATIONS = {
    "softplus": jax.nn.softplus,
    "softplus(4)": lambda z: jax.nn.softplus(4 * z) / 4,
    "sigmoid": jax.nn.sigmoid,
    "tanh": jnp.tanh,
    "erf": jax.scipy.special.erf,
    "swish": jax.nn.silu,
    "gelu": lambda z: z * jax.scipy.stats.norm.cdf(z),
    "quadratic": lambda z: z**2,
    "polynomial(1,-1,0.5,0.25)": lambda z: 1 - z + 0.5 * z**2 + 0.25 * z**3,
    "linear": lambda z: z,
    "relu": jax.nn.relu,
    "leaky_relu(0.1)": lambda z: jnp.where(z >= 0, z, 0.1 * z),
    "abs": jnp.abs,
}


@pytest.fixture(params=list(JAX_ACTIVATIONS))
def case(request):
    rng = np.random.default_rng(11)
    X, y = rng.normal(size=(7, 4)), rng.normal(size=7)
    network = ShallowNetwork(rng.normal(size=(5, 4)), rng.normal(size=5), request.param)
    return network, X, y, JAX_ACTIVATIONS[request.param]


def differentiated(network, X, y, phi):
    """Outputs, loss, gradients and Jacobians (n x kd, n x k) by automatic differentiation in double
    precision.
    """
    with jax.enable_x64(True):
        W, v = jnp.asarray(network.W), jnp.asarray(network.v)

        def f(W, v):
            return phi(jnp.asarray(X) @ W.T) @ v

        def half_square(W, v):
            return 0.5 * jnp.sum((f(W, v) - y) ** 2)

        gradients = jax.grad(half_square, argnums=(0, 1))(W, v)
        by_W, by_v = jax.jacobian(f, argnums=(0, 1))(W, v)
        return [
            np.asarray(a)
            for a in (f(W, v), half_square(W, v), *gradients, by_W.reshape(len(y), -1), by_v)
        ]


def test_everything_agrees_with_automatic_differentiation(case):
    """OS-J, SJL-D1: J^T u, J U, the Gram matrix and both gradients against jax."""
    network, X, y, phi = case
    f, L, by_W, by_v, J, Q = differentiated(network, X, y, phi)
    r, rng = residual(network, X, y), np.random.default_rng(12)
    u, U = rng.normal(size=7), rng.normal(size=(5, 4))
    np.testing.assert_allclose(outputs(network, X), f, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(loss(network, X, y), L, rtol=1e-12)
    np.testing.assert_allclose(
        jacobian_transpose_times(network, X, r), by_W, rtol=1e-11, atol=1e-11
    )
    np.testing.assert_allclose(head_gradient(network, X, r), by_v, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(
        jacobian_transpose_times(network, X, u).ravel(), J.T @ u, rtol=1e-11, atol=1e-11
    )
    np.testing.assert_allclose(jacobian_times(network, X, U), J @ U.ravel(), rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(jacobian_gram(network, X), J @ J.T, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(
        jacobian_gram(network, X, trained="vW"), J @ J.T + Q @ Q.T, rtol=1e-11, atol=1e-11
    )


def test_forward_pass_and_gram_matrix_agree_with_loops(case):
    """OS-J, SJL-L5.4: K = (S S^T) o (X X^T) entry by entry."""
    network, X, _, _ = case
    phi, (k, _) = network.activation, network.W.shape
    for i, x in enumerate(X):
        expected = sum(network.v[j] * float(phi(float(network.W[j] @ x))) for j in range(k))
        assert outputs(network, X)[i] == pytest.approx(expected, rel=1e-12, abs=1e-12)
        assert preactivations(network, X)[i] == pytest.approx(network.W @ x)
    K = jacobian_gram(network, X)
    for i in range(3):
        for j in range(3):
            slopes = [
                network.v[m] ** 2
                * phi.derivative(network.W[m] @ X[i])
                * phi.derivative(network.W[m] @ X[j])
                for m in range(k)
            ]
            assert K[i, j] == pytest.approx(
                float(sum(slopes)) * (X[i] @ X[j]), rel=1e-11, abs=1e-12
            )


def test_the_gram_matrix_is_symmetric_to_the_last_bit():
    rng = np.random.default_rng(3)
    X, network = (
        rng.normal(size=(30, 6)),
        ShallowNetwork(rng.normal(size=(9, 6)), rng.normal(size=9)),
    )
    for trained in ("W", "vW"):
        K = jacobian_gram(network, X, trained=trained)
        assert (K == K.T).all()


def test_weights_are_copied_read_only_doubles():
    W, v = np.ones((2, 3), dtype=np.float32, order="F"), [1, 2]
    network = ShallowNetwork(W, v, "tanh")
    W[:] = 7
    assert network.W.tolist() == [[1.0] * 3] * 2
    assert network.W.dtype == network.v.dtype == np.float64
    assert network.W.flags.c_contiguous
    for array in (network.W, network.v):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0.0
    assert (network.width, network.n_features) == (2, 3)


def test_equality_hash_and_copies():
    network = ShallowNetwork([[1.0, 2.0]], [3.0], "leaky_relu(0.5)")
    for twin in (
        copy.deepcopy(network),
        pickle.loads(pickle.dumps(network)),  # noqa: S301
        network.with_weights(),
    ):
        assert twin == network
        assert hash(twin) == hash(network)
        assert not twin.W.flags.writeable
    assert network != network.with_weights(v=[4.0])
    assert network != network.with_weights(W=[[1.0, 2.5]])
    assert network != ShallowNetwork([[1.0, 2.0]], [3.0], "relu")
    assert network != "network"


def test_prediction_checks_the_shape():
    network = ShallowNetwork([[1.0, 2.0]], [3.0], "linear")
    assert network.predict([[1, 1], [0, 2]]).tolist() == [9.0, 12.0]
    for wrong in ([1.0, 2.0], [[1.0, 2.0, 3.0]]):
        with pytest.raises(DataError, match=r"the network expects \(rows, 2\)"):
            network.predict(wrong)


@pytest.mark.parametrize(
    ("W", "v", "activation", "message"),
    [
        ([1.0, 2.0], [1.0], "relu", "W has shape"),
        ([[1.0]], [[1.0]], "relu", "v has shape"),
        (np.zeros((0, 3)), np.zeros(0), "relu", "none of them empty"),
        ([[1.0, 2.0]], [1.0, 2.0], "relu", "v has 2 entries but W has 1 rows"),
        ([[np.nan]], [1.0], "relu", "W contains NaN"),
        ([[1.0]], [np.inf], "relu", "v contains NaN or infinity"),
        ([["a"]], [1.0], "relu", "W is not an array of real numbers"),
        ([[1j]], [1.0], "relu", "W is not an array of real numbers"),
        ([[1.0], [1.0, 2.0]], [1.0], "relu", "W is not an array of real numbers"),
        ([[1.0]], [1.0], "rectifier", "known: softplus"),
    ],
)
def test_unusable_weights_are_refused(W, v, activation, message):
    with pytest.raises(DataError, match=message):
        ShallowNetwork(W, v, activation)


def test_an_unknown_training_set_is_refused():
    with pytest.raises(DataError, match="trained='both'"):
        jacobian_gram(ShallowNetwork([[1.0]], [1.0]), np.ones((1, 1)), trained="both")

"""Homogeneous networks: forward and backward passes against JAX and torch, the homogeneity of
DU-M4, refusals.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.balancedness.homogeneous_cases import FIVE, MASKS, NETWORKS, SHARED, data, start

from globalmin.balancedness.network import (
    Convolution,
    Dense,
    HomogeneousNetwork,
    Shared,
    fully_connected,
    get_loss,
    smooth_slope,
    sparse,
)
from globalmin.errors import DataError, HypothesisError

JAX = {
    "relu": lambda z: jnp.where(z >= 0, z, 0.0),
    "leaky_relu(0.1)": lambda z: jnp.where(z >= 0, z, 0.1 * z),
    "leaky_relu(0.3)": lambda z: jnp.where(z >= 0, z, 0.3 * z),
    "abs": lambda z: jnp.where(z >= 0, z, -z),
    "linear": lambda z: z,
    "quadratic": lambda z: z**2,
    "polynomial(0,0,0,1)": lambda z: z**3,
}


def _apply(layer, v, x):
    """z = W x + b by the definition, entry by entry of W."""
    if isinstance(layer, Convolution):
        K = v[: layer.n_weights].reshape(
            layer.out_channels, *(layer.patch_size,) * (len(layer.shape) - 1), layer.shape[0]
        )
        images = x.reshape(len(x), *layer.shape)
        z = jax.lax.conv_general_dilated(
            images, jnp.moveaxis(K, -1, 1), (1,) * (len(layer.shape) - 1), "SAME"
        )
        b = (
            v[layer.n_weights :].reshape(1, -1, *(1,) * (len(layer.shape) - 1))
            if layer.bias
            else 0.0
        )
        return (z + b).reshape(len(x), -1)
    if isinstance(layer, Shared):
        W = jnp.where(layer.groups > 0, v[jnp.maximum(layer.groups, 1) - 1], 0.0)
    else:
        W = v[: layer.n_weights].reshape(layer.n_out, layer.n_in)
    return x @ W.T + (v[layer.n_weights :] if layer.bias else 0.0)


def _jax_loss(network, theta, X, Y, loss):
    pieces, x = jnp.split(theta, np.cumsum(network.sizes)[:-1]), jnp.asarray(X)
    for h, (layer, v) in enumerate(zip(network.layers, pieces, strict=True)):
        x = _apply(layer, v, x)
        x = JAX[network.activations[h].spelling](x) if h < len(network.activations) else x
    if loss == "squared":
        return 0.5 * jnp.sum((x - Y) ** 2) / len(X)
    return jnp.sum(jax.nn.logsumexp(x, axis=1) - jnp.sum(Y * x, axis=1)) / len(X)


@pytest.mark.parametrize(
    ("name", "loss"), [*((name, "squared") for name in NETWORKS), ("mixed", "cross_entropy")]
)
def test_loss_and_gradient_are_those_of_automatic_differentiation(name, loss):
    network, (X, Y, hot) = NETWORKS[name], data()
    targets = Y if loss == "squared" else hot
    theta = start(network)
    value, gradient = network.loss_and_gradient(theta, X, targets, loss)
    with jax.enable_x64(True):
        wanted, slopes = jax.jit(
            jax.value_and_grad(lambda t: _jax_loss(network, t, X, targets, loss))
        )(jnp.asarray(theta))
        np.testing.assert_allclose(value, float(wanted), rtol=1e-12)
        np.testing.assert_allclose(gradient, np.asarray(slopes), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", FIVE)
def test_scaling_a_block_in_and_out_leaves_the_function_as_it_is(name):
    """DU-M4: sigma(c z) = c sigma(z), hence the symmetry behind the conserved quantities."""
    network, (X, _, _) = NETWORKS[name], data()
    theta = start(network)
    pieces = [piece.copy() for piece in network.split(theta)]
    pieces[0] *= 3.0
    pieces[1][: network.layers[1].n_weights] /= 3.0
    np.testing.assert_allclose(
        network.predict(np.concatenate(pieces), X),
        network.predict(theta, X),
        rtol=1e-12,
        atol=1e-13,
    )


def test_matrices_are_written_out_with_zeros_and_repeats():
    network = NETWORKS["shared"]
    theta = start(network)
    v = network.split(theta)[0]
    W = network.matrices(theta)[0]
    wanted = [[v[g - 1] if g else 0.0 for g in row] for row in SHARED[0]]
    np.testing.assert_array_equal(W, wanted)


def test_sparse_layers_have_one_weight_for_each_true_entry():
    layer = sparse(MASKS[0])
    v = np.arange(1.0, layer.n_weights + 1)
    W = layer.apply(v, np.eye(6)).T
    np.testing.assert_array_equal(W != 0, MASKS[0])
    np.testing.assert_array_equal(W[MASKS[0]], v)


def test_blocks_of_a_shared_layer_are_the_rows_that_share_weights():
    layer = Shared(SHARED[0])
    np.testing.assert_array_equal(layer.output_blocks, [0, 0, 1, 1, 2])
    np.testing.assert_array_equal(layer.rows, [0, 0, 0, 1, 1, 1, 2, 2, 2])
    np.testing.assert_array_equal(Shared(SHARED[1]).input_blocks, [0, 0, 1, 1, 1])


def test_drawn_weights_have_the_deviations_asked_for_and_zero_biases():
    network = fully_connected([400, 300, 5], bias=True)
    first, second = network.split(network.draw(0))
    assert np.std(first[:120_000]) == pytest.approx(1 / 20, rel=0.02)
    assert not first[120_000:].any()
    assert np.std(second[:1_500]) == pytest.approx(300**-0.5, rel=0.08)
    first, second = network.split(network.draw(0, deviations=[1.0, 0.5]))
    assert np.std(first[:120_000]) == pytest.approx(1.0, rel=0.02)
    assert np.std(second[:1_500]) == pytest.approx(0.5, rel=0.08)


def test_a_smoothed_slope_is_used_forward_and_backward_and_meets_the_kink_outside_its_width():
    import globalmin as gm

    z = np.linspace(-2, 2, 41)
    for name in ("relu", "leaky_relu(0.2)", "abs"):
        phi = gm.get_activation(name)
        smooth = smooth_slope(phi, 1e-2)
        np.testing.assert_allclose(smooth(z), smooth.derivative(z) * z, rtol=1e-15)
        np.testing.assert_allclose(smooth(z), phi(z), atol=1e-8)
    assert smooth_slope(phi, 0.0) is phi
    with pytest.raises(DataError, match="kink_width"):
        smooth_slope(phi, -1.0)


def test_what_does_not_fit_is_refused_with_a_remedy():
    with pytest.raises(DataError, match=r"5 outputs but layers\[1\] takes 4"):
        HomogeneousNetwork((Dense(6, 5), Dense(4, 3)), "relu")
    with pytest.raises(DataError, match="one for each gap"):
        HomogeneousNetwork((Dense(6, 5), Dense(5, 3)), ("relu", "relu"))
    with pytest.raises(HypothesisError, match="softplus after layer 1 is not homogeneous"):
        fully_connected([6, 5, 3], "softplus")
    with pytest.raises(DataError, match="every number from 1"):
        Shared(np.array([[1, 3]]))
    with pytest.raises(DataError, match="table of integers"):
        Shared(np.array([[0.5]]))
    with pytest.raises(DataError, match=r"\(channels, pixels\)"):
        Convolution((6,), 2)
    with pytest.raises(DataError, match="parameters in one vector"):
        fully_connected([2, 2]).predict(np.zeros(3), np.zeros((1, 2)))
    with pytest.raises(DataError, match="one input of 2 numbers"):
        fully_connected([2, 2]).predict(np.zeros(4), np.zeros((1, 3)))
    with pytest.raises(DataError, match="at least two numbers"):
        fully_connected([2])
    with pytest.raises(DataError, match="loss='hinge'"):
        get_loss("hinge")
    with pytest.raises(DataError, match="layers is empty"):
        HomogeneousNetwork(())

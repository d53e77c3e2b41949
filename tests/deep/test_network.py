"""Deep networks (DU-M3a, DU-M3b, DU-M3c, DU-G3): values, Jacobian and layer Grams against an
independent program in JAX.
"""

import copy
import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from globalmin.activations.moments import normalizer
from globalmin.deep import passes as deep_passes
from globalmin.deep.network import DeepNetwork, layer_scales
from globalmin.errors import DataError, MemoryRefused

PHI = {
    "softplus": jax.nn.softplus,
    "tanh": jnp.tanh,
    "sigmoid": jax.nn.sigmoid,
    "swish": jax.nn.swish,
}
CASES = [
    ("fully_connected", 1, (3,), "softplus"),
    ("fully_connected", 4, (3,), "swish"),
    ("resnet", 2, (3,), "tanh"),
    ("resnet", 5, (2,), "softplus"),
    ("convolutional_resnet", 2, (2, 5), "softplus"),
    ("convolutional_resnet", 4, (1, 4), "sigmoid"),
    ("convolutional_resnet", 3, (2, 3, 4), "tanh"),
]
WIDTH = 6


@pytest.fixture(autouse=True, scope="module")
def _double_precision():
    with jax.enable_x64(True):
        yield


def _network(architecture, depth, shape, activation, **options):
    return DeepNetwork.initialize(
        shape, WIDTH, depth, architecture, activation, c_res=0.7, seed=depth, **options
    )


def _inputs(shape, n=4):
    return np.random.default_rng(5).standard_normal((n, *shape))


def _reference(network, X):
    """f as a JAX function of the flat parameters, by the library's own convolution and a plain
    product for vectors.
    """
    phi, m = PHI[network.activation.name], network.width
    c_sigma, t = normalizer(network.activation), 0.7 / network.depth

    def apply(W, x):
        if x.ndim == 2:
            return x @ W.T
        side = network.patch_size
        window = (side,) * (x.ndim - 2)
        kernel = jnp.moveaxis(W.reshape(m, *window, x.shape[1]), -1, 1)
        return jax.lax.conv_general_dilated(x, kernel, (1,) * (x.ndim - 2), "SAME")

    def f(theta):
        *weights, a = network.split(theta)
        x = jnp.asarray(X)
        for h, W in enumerate(weights):
            branch = phi(apply(W, x)) / np.sqrt(m)
            is_plain = h == 0 or network.architecture == "fully_connected"
            x = np.sqrt(c_sigma) * branch if is_plain else x + t * branch
        return x.reshape(len(X), -1) @ a.ravel()

    return f


@pytest.mark.parametrize("case", CASES, ids=str)
def test_values_and_jacobian_agree_with_automatic_differentiation(case):
    """DU-M3a, DU-M3b, DU-M3c; DU-G3 with the corrected gradients (E13)."""
    network, X = _network(*case), _inputs(case[2])
    f = _reference(network, X)
    theta = jnp.asarray(network.parameters)
    np.testing.assert_allclose(network.predict(X), f(theta), rtol=1e-13, atol=1e-13)
    oracle = np.asarray(jax.jacrev(f)(theta))
    J = network.jacobian(X)
    assert J.shape == (len(X), network.n_parameters)
    np.testing.assert_allclose(J, oracle, rtol=0, atol=1e-14 * np.abs(oracle).max() * 20)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_layer_grams_and_pull_back_are_those_of_the_jacobian(case):
    """DU-G3: per-layer Gram matrices without the Jacobian, and J^T u."""
    network, X = _network(*case), _inputs(case[2])
    passed = network.forward(X)
    blocks = deep_passes.jacobian_blocks(network, passed)
    grams = network.layer_grams(X)
    assert len(grams) == network.depth + 1
    for block, G in zip(blocks, grams, strict=True):
        np.testing.assert_allclose(G, block @ block.T, rtol=1e-12, atol=1e-14)
    u = np.array([1.0, -2.0, 0.5, 3.0])
    np.testing.assert_allclose(
        deep_passes.pull_back(network, passed, u), network.jacobian(X).T @ u, rtol=1e-12, atol=1e-13
    )


def test_last_layer_gram_is_the_printed_closed_form():
    """DU-G3, eq. (3.12) and (3.13), by loops over neurons."""
    for architecture, depth in (("fully_connected", 3), ("resnet", 3)):
        network, X = _network(architecture, depth, (3,), "softplus"), _inputs((3,))
        passed = network.forward(X)
        below, Z = passed.features[-2][:, 0], passed.preactivations[-1][:, 0]
        factor = normalizer("softplus") if architecture == "fully_connected" else 0.7**2 / depth**2
        G = np.zeros((4, 4))
        for i in range(4):
            for j in range(4):
                slopes = sum(
                    a**2 / ((1 + np.exp(-zi)) * (1 + np.exp(-zj)))
                    for a, zi, zj in zip(network.head, Z[i], Z[j], strict=True)
                )
                G[i, j] = below[i] @ below[j] * factor / WIDTH * slopes
        np.testing.assert_allclose(network.layer_grams(X)[-2], G, rtol=1e-12)


def test_scales_of_the_theorems_and_size_of_the_first_layers():
    """DU-M3a, DU-M3b, DU-M3c: with inputs of norm 1 fully connected features keep norm 1 up to
    O(1/sqrt(m)).
    """
    plain, branch = layer_scales("softplus", 100, 4, architecture="resnet", c_res=0.8)[:2]
    assert plain == pytest.approx(np.sqrt(1.08548650298835 / 100), rel=1e-13)
    assert branch == pytest.approx(0.8 / (4 * 10), rel=1e-15)
    X = _inputs((5,))
    X /= np.linalg.norm(X, axis=1)[:, None]
    network = DeepNetwork.initialize(X, 2000, 4, "fully_connected", seed=0)
    sizes = [np.linalg.norm(x, axis=(1, 2)) for x in network.forward(X).features]
    np.testing.assert_allclose(sizes, 1.0, atol=0.12)


def test_parameters_are_a_flat_copy_and_come_back():
    network = _network("convolutional_resnet", 3, (2, 5), "softplus")
    theta = network.parameters
    assert theta.shape == (network.n_parameters,) == (6 * 6 + 2 * 6 * 18 + 6 * 5,)
    theta[0] += 1.0
    other = network.with_parameters(theta)
    assert other != network
    assert other.weights[0][0, 0] == network.weights[0][0, 0] + 1.0
    assert other.with_parameters(network.parameters) == network
    assert hash(other.with_parameters(network.parameters)) == hash(network)
    with pytest.raises(DataError, match="parameters"):
        network.with_parameters(theta[:-1])


def test_a_network_is_frozen_and_survives_copies():
    network = _network("resnet", 2, (3,), "tanh")
    with pytest.raises(ValueError, match="read-only"):
        network.weights[0][0, 0] = 1.0
    for again in (copy.deepcopy(network), pickle.loads(pickle.dumps(network))):  # noqa: S301
        assert again == network
        assert not again.head.flags.writeable


def test_the_same_seed_gives_the_same_network_and_data_or_shape_do_not_matter():
    X = _inputs((2, 5))
    networks = [
        DeepNetwork.initialize(source, 4, 2, "convolutional_resnet", seed=3)
        for source in (X, (2, 5))
    ]
    assert networks[0] == networks[1]
    assert DeepNetwork.initialize(5, 4, 2, "resnet", seed=3) == DeepNetwork.initialize(
        np.ones((1, 5)), 4, 2, "resnet", seed=3
    )
    assert DeepNetwork.initialize(5, 4, 2, "resnet", seed=4) != DeepNetwork.initialize(
        5, 4, 2, "resnet", seed=3
    )


def test_inputs_may_be_flat_rows_in_the_same_order():
    network, X = _network("convolutional_resnet", 2, (2, 3, 4), "softplus"), _inputs((2, 3, 4))
    np.testing.assert_array_equal(network.predict(X), network.predict(X.reshape(4, -1)))


def test_fully_connected_layers_may_have_different_widths():
    rng = np.random.default_rng(0)
    weights = (rng.standard_normal((5, 2)), rng.standard_normal((3, 5)))
    network = DeepNetwork(weights, rng.standard_normal(3), (0.5, 0.4))
    X = _inputs((2,))
    first = 0.5 * np.logaddexp(0, X @ weights[0].T)
    np.testing.assert_allclose(
        network.predict(X), 0.4 * np.logaddexp(0, first @ weights[1].T) @ network.head, rtol=1e-13
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"depth": 1, "architecture": "resnet"}, "depth=1 leaves no residual layer"),
        ({"depth": 0}, "depth=0 must be at least 1"),
        ({"width": 0}, "width=0"),
        ({"width": 2.5}, "must be an integer"),
        ({"architecture": "transformer"}, "architecture='transformer'"),
        ({"architecture": "convolutional_resnet"}, "a convolution needs"),
        ({"data_or_shape": (2, 5), "architecture": "resnet"}, "flatten"),
        (
            {"data_or_shape": (2, 5), "architecture": "convolutional_resnet", "patch_size": 4},
            "even",
        ),
        (
            {"data_or_shape": (2, 5), "architecture": "convolutional_resnet", "patch_size": 7},
            "larger than the signal",
        ),
        (
            {"data_or_shape": (2, 5, 2), "architecture": "convolutional_resnet"},
            "larger than the signal",
        ),
        ({"architecture": "resnet", "c_res": 1.5}, "c_res=1.5"),
        ({"activation": "nonsense"}, "nonsense"),
    ],
    ids=str,
)
def test_unusable_requests_name_the_value_and_the_remedy(change, message):
    request = {
        "data_or_shape": (3,),
        "width": 4,
        "depth": 2,
        "architecture": "fully_connected",
    } | change
    with pytest.raises(DataError, match=message):
        DeepNetwork.initialize(**request)


def test_layers_that_do_not_fit_together_are_refused():
    rng = np.random.default_rng(0)
    W, V, a = rng.standard_normal((4, 3)), rng.standard_normal((4, 4)), rng.standard_normal(4)
    with pytest.raises(DataError, match="columns"):
        DeepNetwork((V, W), a, (1.0, 1.0), input_shape=(4,))
    with pytest.raises(DataError, match="keeps the 4 channels"):
        DeepNetwork((W, V[:3]), a[:3], (1.0, 1.0), architecture="resnet")
    with pytest.raises(DataError, match="scales"):
        DeepNetwork((W, V), a, (1.0,))
    with pytest.raises(DataError, match="scales"):
        DeepNetwork((W, V), a, (1.0, -1.0))
    with pytest.raises(DataError, match="head has shape"):
        DeepNetwork((W, V), a[:2], (1.0, 1.0))
    with pytest.raises(DataError, match="NaN"):
        DeepNetwork((W, V * np.nan), a, (1.0, 1.0))
    with pytest.raises(DataError, match="real numbers"):
        DeepNetwork((W, V * 1j), a, (1.0, 1.0))


def test_inputs_that_do_not_fit_are_refused():
    network = _network("convolutional_resnet", 2, (2, 5), "softplus")
    for X in (
        np.ones((3, 2, 4)),
        np.ones(10),
        np.ones((0, 2, 5)),
        np.full((1, 2, 5), np.inf),
        [["a"] * 10],
    ):
        with pytest.raises(DataError, match="X"):
            network.predict(X)


def test_a_jacobian_that_cannot_fit_is_refused_before_it_is_allocated(monkeypatch):
    monkeypatch.setattr("globalmin.data.validation.available_bytes", lambda: 1000)
    network = _network("resnet", 2, (3,), "tanh")
    with pytest.raises(MemoryRefused, match="Jacobian"):
        network.jacobian(_inputs((3,)))

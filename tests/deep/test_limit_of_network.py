"""A network and its infinitely wide limit are of one architecture."""

import inspect
import math

import numpy as np
import pytest

import globalmin as gm
from globalmin.deep.gram import deep_features, deep_gram, deep_ntk
from globalmin.deep.gram_bounds import error_amplification, last_layer_split
from globalmin.deep.network import DeepNetwork, draw_deep
from globalmin.errors import DataError

rng = np.random.default_rng(4)
X = rng.standard_normal((5, 12))
CASES = (
    ((12,), "fully_connected", 1, "tanh"),
    ((12,), "fully_connected", 3, "softplus"),
    ((12,), "resnet", 4, "softplus"),
    ((3, 4), "convolutional_resnet", 3, "softplus"),
    ((1, 3, 4), "convolutional_resnet", 2, "erf"),
)


@pytest.mark.parametrize(("shape", "architecture", "depth", "activation"), CASES)
def test_the_network_knows_its_own_limit(shape, architecture, depth, activation):
    """DU-D3.1, DU-D3.2, DU-D3.3, DU-X3.1: from the stored scales, against the recursion told c_res
    by hand."""
    network = DeepNetwork.initialize(shape, 7, depth, architecture, activation, c_res=0.8, seed=1)
    inputs = X.reshape(5, *shape)
    told = deep_ntk(inputs, architecture, depth, activation, c_res=0.8)
    own = network.limit_gram(X)  # flattened inputs are as good
    np.testing.assert_allclose(own.layers, told.layers, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(own.total, sum(own.layers), rtol=1e-14)
    np.testing.assert_allclose(
        own.last, deep_gram(inputs, architecture, depth, activation, c_res=0.8), rtol=1e-12
    )
    assert len(own.layers) == depth + 1
    assert network.c_res is None if depth == 1 else True
    if architecture != "fully_connected":
        assert network.c_res == pytest.approx(0.8, rel=1e-14)


def test_unequal_widths_and_scales_of_ones_own():
    """Linear layers by hand: every G^(h) is X X^T times the product of s_h^2 m_h."""
    widths, scales = (3, 8, 5), (0.7, 0.2, 0.9)
    shapes = [(3, 12), (8, 3), (5, 8)]
    network = DeepNetwork(
        tuple(rng.standard_normal(shape) for shape in shapes),
        rng.standard_normal(5),
        scales,
        gm.get_activation("linear"),
    )
    factor = math.prod(s**2 * m for s, m in zip(scales, widths, strict=True))
    for G in network.limit_gram(X).layers:
        np.testing.assert_allclose(G, factor * X @ X.T, rtol=1e-12)


def test_the_limit_is_reached():
    """DU-L3.2: ||G - K|| falls like 1/sqrt(m); 16 times the width, between a sixth and a half of
    the distance (8 draws each, one in ten thousand misses)."""
    distances = [
        np.mean(
            [
                np.linalg.norm(sum(net.layer_grams(X)) - net.limit_gram(X).total)
                for net in (DeepNetwork.initialize(X, m, seed=s) for s in range(8))
            ]
        )
        for m in (40, 640)
    ]
    assert 1 / 6 < distances[1] / distances[0] < 1 / 2


def test_one_default_everywhere():
    """Kernel, network and bounds mean the same network when nothing is said."""
    functions = (deep_gram, deep_ntk, deep_features, error_amplification, draw_deep)
    said = {
        (
            inspect.signature(f).parameters["architecture"].default,
            inspect.signature(f).parameters["depth"].default,
        )
        for f in (*functions, DeepNetwork.initialize)
    }
    assert said == {("fully_connected", 3)}
    assert inspect.signature(gm.inspect).parameters["depth"].default == 3
    np.testing.assert_allclose(
        DeepNetwork.initialize(X, 4).limit_gram(X).total, deep_ntk(X).total, rtol=1e-13
    )


def test_another_c_res_is_refused():
    network = DeepNetwork.initialize(X, 9, 2, "resnet", c_res=0.7)
    assert last_layer_split(network, X) == last_layer_split(network, X, c_res=0.7)
    with pytest.raises(DataError, match=r"c_res=0\.5, but this network has c_res=0\.7"):
        last_layer_split(network, X, c_res=0.5)

"""Conserved quantities of homogeneous networks against definitions written out entry by entry, and
their static form.
"""

from itertools import pairwise

import numpy as np
import pytest
from tests.balancedness.homogeneous_cases import FIVE, NETWORKS, data, start

from globalmin.balancedness import conserved as balancedness
from globalmin.balancedness.chains import WeightShape, chain_boundary
from globalmin.balancedness.conserved import (
    boundaries_of,
    conservation_defect,
    conserved,
    imbalance,
    matrix_imbalance,
    step_budget,
    step_change,
    sufficient_descent,
)
from globalmin.balancedness.network import Dense, HomogeneousNetwork, sparse
from globalmin.errors import DataError, HypothesisError


def _at(name, loss="squared"):
    network, (X, Y, hot) = NETWORKS[name], data()
    theta = start(network)
    _, gradient = network.loss_and_gradient(theta, X, Y if loss == "squared" else hot, loss)
    return network, boundaries_of(network), network.split(theta), network.split(gradient)


@pytest.mark.parametrize("loss", ["squared", "cross_entropy"])
@pytest.mark.parametrize("name", NETWORKS)
def test_the_static_form_holds_to_rounding_at_random_parameters(name, loss):
    """DU-T4.1, DU-C4.1, DU-T4.3: <theta_b, g_b> = p <theta'_b, g'_b>; degrees 2 and 3, biases and
    channels are ours.
    """
    _, boundaries, theta, g = _at(name, loss)
    for b, (t, t_next), (s, s_next) in zip(boundaries, pairwise(theta), pairwise(g), strict=True):
        size = np.abs(t * s).sum() + b.degree * np.abs(t_next * s_next).sum()
        assert np.abs(conservation_defect(b, t, t_next, s, s_next)).max() <= 1e-14 * size


@pytest.mark.parametrize(
    "name",
    [name for name in NETWORKS if "linear" in name or name in ("mixed", "dense then convolution")],
)
def test_linear_gaps_satisfy_the_matrix_form(name):
    """DU-T4.2: W G^T + G W^T = W'^T G' + G'^T W', also over the channels of convolutions (ours)."""
    _, boundaries, theta, g = _at(name)
    linear = [b for b in boundaries if b.is_linear]
    assert len(linear) == (1 if name == "mixed" else 2)
    for b in linear:
        h = b.gap
        plus, minus = (
            matrix_imbalance(b, theta[h] + s * g[h], theta[h + 1] + s * g[h + 1]) for s in (1, -1)
        )
        defect = (plus - minus) / 2  # the form is quadratic: this is its derivative along g
        assert np.abs(defect).max() <= 1e-13 * (np.abs(theta[h]).max() * np.abs(g[h]).sum())
        D = matrix_imbalance(b, theta[h], theta[h + 1])
        np.testing.assert_allclose(
            np.diag(D), imbalance(b, theta[h], theta[h + 1]), rtol=1e-12, atol=1e-14
        )


def test_a_softplus_network_violates_the_static_form():
    """Negative control: without homogeneity nothing is conserved."""
    network = HomogeneousNetwork((Dense(6, 5), Dense(5, 3)), "softplus", any_activation=True)
    X, Y, _ = data()
    theta = start(network)
    pieces, g = network.split(theta), network.split(network.loss_and_gradient(theta, X, Y)[1])
    (b,) = boundaries_of(network)
    assert np.abs(conservation_defect(b, *pieces, *g)).max() > 1e-2


def test_neurons_of_dense_layers_are_rows_and_columns():
    """DU-T4.1 written out for plain matrices, and the Frobenius version DU-C4.1."""
    network, boundaries, theta, _ = _at("leaky relu")
    W = network.matrices(np.concatenate(theta))
    for h, b in enumerate(boundaries):
        wanted = [(W[h][i] ** 2).sum() - (W[h + 1][:, i] ** 2).sum() for i in range(b.n_blocks)]
        np.testing.assert_allclose(imbalance(b, theta[h], theta[h + 1]), wanted, rtol=1e-13)
        np.testing.assert_allclose(
            balancedness.neuron_imbalance(W[h], W[h + 1]), wanted, rtol=1e-13
        )
        total = np.linalg.norm(W[h]) ** 2 - np.linalg.norm(W[h + 1]) ** 2
        assert imbalance(b, theta[h], theta[h + 1]).sum() == pytest.approx(total, rel=1e-12)
    with pytest.raises(DataError, match="do not follow"):
        balancedness.neuron_imbalance(W[0], W[2])


def test_sparse_layers_conserve_every_neuron():
    network, boundaries, theta, _ = _at("sparse")
    W = network.matrices(np.concatenate(theta))
    np.testing.assert_allclose(
        imbalance(boundaries[0], *theta[:2]), balancedness.neuron_imbalance(W[0], W[1]), rtol=1e-13
    )
    bias = theta[1][-4:]
    wanted = balancedness.neuron_imbalance(np.column_stack([W[1], bias]), W[2])
    np.testing.assert_allclose(imbalance(boundaries[1], *theta[1:]), wanted, rtol=1e-13)


def test_a_last_neuron_that_nothing_reads_or_feeds_is_counted_all_the_same():
    """The last of three neurons has no outgoing weights, then no incoming ones: W written out."""
    full, cut = np.ones((3, 4), dtype=bool), np.array([[1, 1, 0], [1, 0, 0]], dtype=bool)
    fed = np.array([[1, 1, 1, 1], [1, 0, 1, 1], [0, 0, 0, 0]], dtype=bool)
    for below, above in ((full, cut), (fed, np.ones((2, 3), dtype=bool))):
        network = HomogeneousNetwork((sparse(below), sparse(above)), "relu")
        theta = start(network)
        W = network.matrices(theta)
        wanted = (W[0] ** 2).sum(axis=1) - (W[1] ** 2).sum(axis=0)
        (b,) = boundaries_of(network)
        np.testing.assert_allclose(imbalance(b, *network.split(theta)), wanted, rtol=1e-13)


def test_shared_weights_conserve_the_finest_blocks_that_both_layers_allow():
    """DU-T4.3 sums over them: ||v||^2 - ||v'||^2; the blocks {0, 1}, {2, 3, 4} are ours."""
    _, boundaries, theta, _ = _at("shared")
    b, v, v_next = boundaries[0], theta[0], theta[1]
    assert b.n_blocks == 2
    first = (
        (v[:3] ** 2).sum() + (v[9:11] ** 2).sum() - (v_next[[0, 3]] ** 2).sum()
    )  # weights 1-3, biases of rows 0, 1; v' 1, 4
    second = (v[3:9] ** 2).sum() + (v[11:14] ** 2).sum() - (v_next[[1, 2, 4]] ** 2).sum()
    np.testing.assert_allclose(imbalance(b, v, v_next), [first, second], rtol=1e-13)
    whole = (v**2).sum() - (v_next**2).sum()
    assert imbalance(b, v, v_next).sum() == pytest.approx(whole, rel=1e-12)


def test_convolutions_conserve_every_channel():
    _network, boundaries, theta, _ = _at("convolutional")
    assert [b.n_blocks for b in boundaries] == [3, 2]
    K1, K2 = theta[0][:9].reshape(3, 3, 1), theta[1].reshape(2, 3, 3)  # out x window x in
    wanted = (K1**2).sum(axis=(1, 2)) + theta[0][9:] ** 2 - (K2**2).sum(axis=(0, 1))
    np.testing.assert_allclose(imbalance(boundaries[0], theta[0], theta[1]), wanted, rtol=1e-13)
    head = theta[2].reshape(3, 2, 6)
    wanted = (K2**2).sum(axis=(1, 2)) - (head**2).sum(axis=(0, 2))
    np.testing.assert_allclose(imbalance(boundaries[1], theta[1], theta[2]), wanted, rtol=1e-13)


def test_plain_chains_of_arrays_agree_with_the_network_description():
    for name, shapes in (
        ("with biases", [(5, 6), (4, 5), (3, 4)]),
        ("linear", [(5, 6), (4, 5), (3, 4)]),
    ):
        network, boundaries, theta, _ = _at(name)
        layers = [
            WeightShape(s, bias=layer.bias) for s, layer in zip(shapes, network.layers, strict=True)
        ]
        for b, (below, above) in zip(boundaries, pairwise(layers), strict=True):
            plain = chain_boundary(below, above, linear=name == "linear", gap=b.gap)
            np.testing.assert_array_equal(plain.incoming, b.incoming)
            np.testing.assert_array_equal(plain.outgoing, b.outgoing)
            np.testing.assert_array_equal(conserved([plain], theta), conserved([b], theta))


def test_grouped_and_flattened_convolutions_are_read_by_channel():
    rng = np.random.default_rng(3)
    K, V, H = (
        rng.standard_normal((4, 2, 3)),
        rng.standard_normal((6, 2, 5)),
        rng.standard_normal((2, 6 * 7)),
    )
    b = chain_boundary(WeightShape(K.shape, groups=1), WeightShape(V.shape, groups=2))
    wanted = [
        (K[c] ** 2).sum() - (V[3 * (c // 2) : 3 * (c // 2) + 3, c % 2] ** 2).sum() for c in range(4)
    ]
    np.testing.assert_allclose(imbalance(b, K, V), wanted, rtol=1e-13)
    b = chain_boundary(WeightShape(V.shape, groups=2), WeightShape(H.shape))
    wanted = [(V[c] ** 2).sum() - (H[:, 7 * c : 7 * c + 7] ** 2).sum() for c in range(6)]
    np.testing.assert_allclose(imbalance(b, V, H), wanted, rtol=1e-13)
    b = chain_boundary(WeightShape(V.shape, groups=2), WeightShape(H.shape), channels_last=True)
    wanted = [(V[c] ** 2).sum() - (H[:, c::6] ** 2).sum() for c in range(6)]
    np.testing.assert_allclose(imbalance(b, V, H), wanted, rtol=1e-13)


def test_wrong_shapes_and_missing_hypotheses_are_refused():
    with pytest.raises(DataError, match="layout='in_out'"):
        chain_boundary(WeightShape((5, 6), name="1"), WeightShape((5, 4), name="2"))
    with pytest.raises(DataError, match="out x in"):
        chain_boundary(WeightShape((5,)), WeightShape((5, 4)))
    _network, boundaries, theta, _ = _at("fully connected relu")
    with pytest.raises(HypothesisError, match="conserves no matrix"):
        matrix_imbalance(boundaries[0], theta[0], theta[1])
    with pytest.raises(DataError, match="expects 30"):
        imbalance(boundaries[0], theta[1], theta[1])


@pytest.mark.parametrize("step", [1e-3, 0.3, 7.0])
@pytest.mark.parametrize("name", FIVE)
def test_one_step_changes_the_conserved_quantities_by_the_square_of_the_step(name, step):
    """D(theta - eta g) = D(theta) + eta^2 D(g), for any step, and with decay (1 - eta lambda)^2
    D(theta) + eta^2 D(g).
    """
    _, boundaries, theta, g = _at(name)
    before = conserved(boundaries, theta)
    moved = [t - step * s for t, s in zip(theta, g, strict=True)]
    change = step_change(boundaries, g, step)
    size = max(np.square(t).sum() for t in moved)
    np.testing.assert_allclose(
        conserved(boundaries, moved), before + change, atol=1e-14 * size, rtol=0
    )
    decayed = [(1 - step * 0.2) * t - step * s for t, s in zip(theta, g, strict=True)]
    change = step_change(boundaries, g, step, decay=0.2, before=before)
    np.testing.assert_allclose(
        conserved(boundaries, decayed), before + change, atol=1e-14 * size, rtol=0
    )


@pytest.mark.parametrize("name", [*FIVE, "quadratic"])
def test_the_budget_holds_for_blocks_layers_and_matrices(name):
    """DU-C4.1's budget: eta^2 max(||G||^2, p ||G'||^2)."""
    _, boundaries, _, g = _at(name)
    budget = step_budget(boundaries, g, 0.3)
    for b, allowed in zip(boundaries, budget, strict=True):
        D = 0.09 * imbalance(b, g[b.gap], g[b.gap + 1])
        assert max(np.abs(D).max(), abs(D.sum())) <= allowed
        assert abs(D.sum()) >= 1e-6 * allowed
        if b.is_linear:
            assert 0.09 * np.linalg.norm(matrix_imbalance(b, g[b.gap], g[b.gap + 1]), 2) <= allowed


def test_the_budget_is_tight_where_only_one_layer_has_a_gradient():
    (b,) = boundaries_of(HomogeneousNetwork((Dense(3, 1), Dense(1, 2)), "relu"))
    g = [np.array([1.0, 2.0, 2.0]), np.zeros(2)]
    assert step_budget([b], g, 0.5)[0] == step_change([b], g, 0.5)[0] == 2.25


def test_sufficient_descent_compares_every_step():
    losses, squares = [4.0, 3.0, 2.5], [1.0, 0.5]
    assert sufficient_descent(losses, squares, 2.0)
    assert not sufficient_descent(losses, squares, 2.1)
    with pytest.raises(DataError, match="one more"):
        sufficient_descent(losses, [1.0], 1.0)

"""The published first weights: exact properties of the heads, laws of W within stated confidence,
seeds.
"""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats

from globalmin.activations.moments import variance
from globalmin.data import Dataset
from globalmin.errors import DataError, HypothesisError
from globalmin.shallow.initialization import SCHEMES, draw, os_head
from globalmin.shallow.network import ShallowNetwork, residual


@dataclass(frozen=True)
class Table:
    """Only what `draw` reads of a Dataset."""

    y: np.ndarray
    n_features: int


def table(n=30, d=20, *, seed=0):
    return Table(np.random.default_rng(seed).normal(size=n), d)


@pytest.mark.parametrize("k", [2, 3, 8, 41])
def test_the_balanced_head_sums_to_zero_and_has_the_size_of_the_labels(k):
    """OS-HEAD."""
    y = table().y
    v = os_head(y, k)
    assert v.shape == (k,)
    assert math.fsum(v) == 0.0
    assert np.abs(v).max() == pytest.approx(np.linalg.norm(y) / np.sqrt(k * len(y)))
    assert np.linalg.norm(v) == pytest.approx(
        np.linalg.norm(y) / np.sqrt(len(y)) * np.sqrt((k - k % 2) / k)
    )
    assert (v > 0).sum() == (v < 0).sum() == k // 2
    assert (v == 0).sum() == k % 2


def test_heads_that_would_vanish_get_the_documented_size():
    assert os_head(np.zeros(5), 4).tolist() == [0.5, 0.5, -0.5, -0.5]
    assert os_head(np.array([3.0, 4.0]), 1).tolist() == [pytest.approx(5 / np.sqrt(2))]
    assert os_head(np.zeros(3), 1).tolist() == [1.0]


@pytest.mark.parametrize(
    ("scheme", "deviation"), [("os", 1.0), ("sjl", 1 / np.sqrt(20)), ("du", 1.0)]
)
def test_first_layer_weights_follow_the_stated_normal_law(scheme, deviation):
    W = draw(table(), 2000, scheme=scheme, seed=5).W
    # Kolmogorov-Smirnov at level 1e-6; seeded, so this never flickers
    assert stats.kstest(W.ravel() / deviation, "norm").pvalue > 1e-6
    assert stats.kstest(W[:, 0] / deviation, "norm").pvalue > 1e-6


@pytest.mark.parametrize(("scheme", "size"), [("sjl", 1.0), ("du", 1 / np.sqrt(2000))])
def test_random_heads_are_fair_signs_of_one_size(scheme, size):
    """DU-M2 and the start of SJL's experiments."""
    v = draw(table(), 2000, scheme=scheme, seed=5).v
    np.testing.assert_allclose(np.abs(v), size, rtol=1e-15)
    assert stats.binomtest(int((v > 0).sum()), 2000).pvalue > 1e-6


def test_the_first_residual_has_the_expected_size():
    """E ||r0||^2 = ||y||^2 (1 + Var phi(g)) for unit rows and even width (OS-L6.12): 400 draws, six
    standard errors.
    """
    rng = np.random.default_rng(8)
    X = rng.normal(size=(30, 20))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    data = table()
    ratios = np.array(
        [np.sum(residual(draw(data, 40, "softplus", seed=s), X, data.y) ** 2) for s in range(400)]
    ) / np.sum(data.y**2)
    assert abs(ratios.mean() - (1 + float(variance("softplus")))) <= 6 * ratios.std() / np.sqrt(400)


@pytest.mark.parametrize("scheme", sorted(set(SCHEMES) - {"identity"}))
def test_seeds_decide_everything(scheme):
    data = table()
    assert draw(data, 6, scheme=scheme, seed=3) == draw(data, 6, scheme=scheme, seed=3)
    assert draw(data, 6, scheme=scheme, seed=3) != draw(data, 6, scheme=scheme, seed=4)
    assert draw(data, 6, scheme=scheme, seed=3) == draw(
        data, 6, scheme=scheme, seed=np.random.default_rng(3)
    )
    assert draw(data, 6, scheme=scheme, seed=None) != draw(data, 6, scheme=scheme, seed=None)
    rng = np.random.default_rng(3)
    assert draw(data, 6, scheme=scheme, seed=rng) != draw(data, 6, scheme=scheme, seed=rng)


@pytest.mark.parametrize(("d", "k"), [(1, 1), (3, 3), (3, 8)])
def test_the_scaled_identity_has_the_mean_of_the_labels_and_no_chance(d, k):
    """GKZ-T2.5 with gamma = mean(y)/d: W^T W = gamma I, zero rows below, head 1, any seed."""
    data = Table(np.array([1.0, 2.0, 6.0]), d)
    network = draw(data, k, "quadratic", scheme="identity", seed=1)
    np.testing.assert_allclose(network.W.T @ network.W, 3.0 / d * np.eye(d), rtol=1e-15)
    assert (network.W[d:] == 0.0).all()
    assert (network.v == 1.0).all()
    assert network == draw(data, k, "quadratic", scheme="identity", seed=2)


def test_the_scaled_identity_refuses_too_few_neurons_and_labels_without_a_positive_mean():
    with pytest.raises(HypothesisError, match="m >= d"):
        draw(Table(np.ones(3), 4), 3, "quadratic", scheme="identity")
    for y in (np.zeros(3), np.array([1.0, -3.0])):
        with pytest.raises(DataError, match=r"positive mean.*scaling"):
            draw(Table(y, 1), 1, "quadratic", scheme="identity")


def test_weight_scale_multiplies_the_first_layer_only():
    data = table()
    plain, small = draw(data, 6, seed=1), draw(data, 6, seed=1, weight_scale=0.25)
    np.testing.assert_array_equal(small.W, 0.25 * plain.W)
    np.testing.assert_array_equal(small.v, plain.v)


def test_the_constructor_of_networks_draws_for_a_data_set():
    rng = np.random.default_rng(0)
    data = Dataset(rng.normal(size=(12, 3)), rng.normal(size=12))
    network = ShallowNetwork.initialize(data, 5, "tanh", scheme="du", seed=2, weight_scale=0.5)
    assert network == draw(data, 5, "tanh", scheme="du", seed=2, weight_scale=0.5)
    assert network.W.shape == (5, 4)  # the bias is a feature
    assert ShallowNetwork.initialize(data, 5).activation.name == "softplus"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scheme": "xavier"}, "choose one of 'os', 'sjl', 'positive'"),
        ({"width": 0}, "width=0 must be at least 1"),
        ({"width": -3}, "at least 1"),
        ({"width": 2.5}, "width=2.5 must be an integer"),
        ({"width": True}, "width=True"),
        ({"weight_scale": 0.0}, "weight_scale=0.0"),
        ({"weight_scale": float("nan")}, "weight_scale=nan"),
        ({"activation": "rectifier"}, "known: softplus"),
    ],
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises(DataError, match=message):
        draw(table(), **({"width": 3} | options))


def test_any_integer_type_is_a_width():
    assert draw(table(), np.int32(3)).width == 3

"""DU-T3.4 with the explicit Lambda (DU-DA5) and DU-L3.22, DU-L3.2 on instances."""

import math

import numpy as np
import pytest

from globalmin.activations.dual import dual_kernel
from globalmin.activations.moments import mean_value
from globalmin.deep.gram import deep_features
from globalmin.deep.gram_bounds import (
    error_amplification,
    last_layer_split,
    mean_lipschitz,
    moment_lipschitz,
)
from globalmin.deep.network import DeepNetwork

SIGMAS = ("softplus", "sigmoid", "tanh", "swish", "erf")


@pytest.mark.parametrize("activation", SIGMAS)
def test_moments_are_lipschitz_with_the_stated_constants(activation):
    """DU-T3.4, DU-DA5: 400 random pairs of 2 x 2 covariances, far and near, with variances down to
    zero.
    """
    rng = np.random.default_rng(0)
    blocks = rng.standard_normal((2, 400, 2, 2)) * rng.choice([0.1, 1.0], (2, 400, 1, 1))
    near = rng.random(400) < 0.5
    blocks[1, near] = blocks[0, near] + 0.01 * rng.standard_normal((near.sum(), 2, 2))
    A, B = blocks @ blocks.transpose(0, 1, 3, 2)
    variance = max(A[:, [0, 1], [0, 1]].max(), B[:, [0, 1], [0, 1]].max())
    across, along = moment_lipschitz(activation, variance)
    F, G = (dual_kernel(activation, M[:, 0, 0], M[:, 1, 1], M[:, 0, 1]) for M in (A, B))
    D = np.abs(A - B)
    assert (np.abs(F - G) <= across * D[:, 0, 1] + along * (D[:, 0, 0] + D[:, 1, 1]) + 1e-12).all()
    a, b = A[:, 0, 0], B[:, 0, 0]
    gap = np.abs(mean_value(activation, np.sqrt(a)) - mean_value(activation, np.sqrt(b)))
    assert (gap <= mean_lipschitz(activation) * np.abs(a - b) + 1e-13).all()


def test_the_constants_are_attained_in_the_limits_where_they_can_be():
    """DU-T3.4: the derivative in the covariance is E sigma'(u) sigma'(v), which tends to L^2 for
    erf at small variance.
    """
    across, _ = moment_lipschitz("erf", 1e-4)
    slope = float(dual_kernel("erf", 1e-4, 1e-4, 0.0, 1))
    assert 0.999 * across < slope <= across
    assert moment_lipschitz("relu", 1.0)[1] == math.inf


@pytest.mark.parametrize("architecture", ["fully_connected", "resnet", "convolutional_resnet"])
def test_an_error_in_a_layer_grows_by_no_more_than_the_factor(architecture):
    """DU-T3.4: perturb the inputs of the recursion's second step by a small amount and follow
    it.
    """
    rng = np.random.default_rng(1)
    X = (
        rng.standard_normal((3, 2, 4)) / 2
        if architecture == "convolutional_resnet"
        else rng.standard_normal((3, 4)) / 2
    )
    moved = X + 1e-6 * rng.standard_normal(X.shape)
    one, two = (deep_features(inputs, architecture, 4) for inputs in (X, moved))
    factors = error_amplification(X, architecture, 4)
    assert len(factors) == 2
    for h, factor in zip((1, 2), factors, strict=True):
        error = max(np.abs(one[h].S - two[h].S).max(), np.abs(one[h].b - two[h].b).max())
        assert np.abs(one[h + 1].S - two[h + 1].S).max() <= factor.gram * error * (1 + 1e-4)
        assert np.abs(one[h + 1].b - two[h + 1].b).max() <= factor.mean * error * (1 + 1e-4)


def test_the_product_does_not_grow_with_depth_for_residual_networks_only():
    """DU-T3.4 with the corrected A_(h) (erratum E12)."""
    X = np.random.default_rng(1).standard_normal((3, 4))
    X /= np.linalg.norm(X, axis=1)[:, None]
    products = {
        architecture: [
            math.prod(f.gram for f in error_amplification(X, architecture, H)) for H in (10, 40)
        ]
        for architecture in ("fully_connected", "resnet")
    }
    assert products["resnet"][1] < 1.6 * products["resnet"][0]
    assert products["fully_connected"][1] > 1e3 * products["fully_connected"][0]


def test_both_terms_of_the_split_fall_with_the_width_and_the_conclusion_follows():
    """DU-L3.22 and DU-L3.2: terms add up; on well separated inputs and width 4,000
    lambda_min(G^(H)(0)) >= (3/4) lambda_0.
    """
    X = np.eye(2)
    splits = []
    for width in (60, 4000):
        network = DeepNetwork.initialize(X, width, 2, "fully_connected", "tanh", seed=2)
        split = last_layer_split(network, X)
        assert split.total <= split.sampling + split.inherited + 1e-14
        splits.append(split)
    narrow, wide = splits
    assert wide.sampling < narrow.sampling
    assert wide.inherited < narrow.inherited
    assert wide.holds
    assert np.linalg.eigvalsh(network.layer_grams(X)[-2])[0] >= 3 * wide.allowed


def test_the_split_serves_all_architectures():
    """DU-L3.22 for residual and convolutional networks: the inherited term is small beside the
    limit at width 300.
    """
    rng = np.random.default_rng(0)
    for architecture, X in (
        ("resnet", rng.standard_normal((2, 3))),
        ("convolutional_resnet", rng.standard_normal((2, 2, 4))),
    ):
        network = DeepNetwork.initialize(X, 300, 3, architecture, c_res=0.9, seed=0)
        split = last_layer_split(network, X, c_res=0.9)
        assert split.inherited < 0.2 * np.linalg.norm(network.layer_grams(X)[-2], 2)

"""Finite networks of growing width against the recursions: DU-D3.1 to D3.4, DU-X3.1, DU-T3.4 at the
rate 1/sqrt(m).

Every test states its confidence; the seeds are fixed, so a run gives the same answer each time.
"""

import numpy as np
import pytest
from bench import deep_width
from scipy import stats

from globalmin.activations import get_activation
from globalmin.data.pixels import geometry_of
from globalmin.deep.gram import deep_features, deep_gram, deep_ntk
from globalmin.deep.network import DeepNetwork, layer_scales

DEPTHS = (2, 3, 4)
ARCHITECTURES = {"fully_connected": (4,), "resnet": (4,), "convolutional_resnet": (2, 4)}
C_RES, SIGMA = deep_width.C_RES, deep_width.ACTIVATION
CONFIDENCE = 0.999


def _inputs(architecture):
    return deep_width.Case(architecture, 2, ARCHITECTURES[architecture], ()).inputs()


def _worst(sample, limit):
    """Largest |mean - limit|/s.e. over the entries, and the two-sided Student quantile for all of
    them together (Bonferroni).
    """
    count = len(sample)
    error = sample.std(axis=0, ddof=1) / np.sqrt(count)
    statistic = np.abs(sample.mean(axis=0) - limit) / error
    return float(statistic.max()), float(
        stats.t.ppf(1 - (1 - CONFIDENCE) / (2 * statistic.size), count - 1)
    )


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_layer_grams_of_real_networks_average_to_the_limit(architecture, depth):
    """DU-X3.1: all layers, softplus, norms 0.6, 1, 1.5, c_res = 0.9; 40 networks of width 400
    (200), at 99.9 % confidence.
    """
    X = _inputs(architecture)
    width = 200 if architecture == "convolutional_resnet" else 400
    limit = np.array(deep_ntk(X, architecture, depth, SIGMA, c_res=C_RES).layers)
    drawn = [
        DeepNetwork.initialize(X, width, depth, architecture, SIGMA, c_res=C_RES, seed=(k, depth))
        for k in range(40)
    ]
    upper = np.triu_indices(3)
    sample = np.array([[G[upper] for G in network.layer_grams(X)] for network in drawn])
    worst, allowed = _worst(sample, limit[:, *upper])
    assert worst < allowed


@pytest.mark.parametrize("depth", [2, 3])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_error_falls_like_one_over_the_root_of_the_width(architecture, depth):
    """DU-T3.4: slope -1/2 of log error in log width, within three bootstrap standard errors, each
    below 0.06 (99.7 %).
    """
    widths = (64, 256, 768) if architecture == "convolutional_resnet" else (100, 400, 1600)
    case = deep_width.Case(architecture, depth, ARCHITECTURES[architecture], widths)
    drawn = [
        np.square(deep_width.errors(case, m, count)).mean(axis=1)
        for m, count in zip(widths, (300, 80, 24), strict=True)
    ]
    slope, error = deep_width.slope_with_error(widths, drawn)
    assert error < 0.06
    assert abs(slope + 0.5) < 3 * error


def _sampled(X, architecture, depth, width, rng):
    """Features and last-layer Gram of a network of huge width, exact in law: given the layer below,
    the pre-activations of the channels are independent N(0, P-hat), so they are drawn without the
    weights that would not fit in memory."""
    phi, geometry = get_activation(SIGMA), geometry_of(X.shape[1:], architecture)
    scales = layer_scales(phi, width, depth, architecture=architecture, c_res=C_RES)
    pixels = geometry.arrange(X).reshape(-1, geometry.channels)
    S, x = pixels @ pixels.T, None
    for h in range(depth):
        P = geometry.patch_gram(S)
        values, vectors = np.linalg.eigh(P)
        Z = (vectors * np.sqrt(np.maximum(values, 0.0))) @ rng.standard_normal((len(P), width))
        if h == depth - 1:
            a = rng.standard_normal((geometry.pixels, width))
            Q = phi.derivative(Z) * np.tile(a, (len(X), 1))
            n = len(X)
            G = scales[h] ** 2 * ((Q @ Q.T) * P).reshape(
                n, geometry.pixels, n, geometry.pixels
            ).sum(axis=(1, 3))
            return S, G
        branch = scales[h] * phi(Z)
        x = branch if x is None or architecture == "fully_connected" else x + branch
        S = x @ x.T
    raise AssertionError


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_networks_of_width_thirty_thousand_sampled_without_weights_agree(architecture, depth):
    """DU-D3.1, DU-D3.2, DU-D3.3: S^(H-1) and K^(H), 12 networks of width 30,000, at 99.9 %
    confidence.
    """
    X = _inputs(architecture)
    rng = np.random.default_rng(depth)
    draws = [_sampled(X, architecture, depth, 30_000, rng) for _ in range(12)]
    size = len(draws[0][0])
    below, upper = np.triu_indices(size), np.triu_indices(3)
    S = deep_features(X, architecture, depth, SIGMA, c_res=C_RES)[depth - 1].S
    K = deep_gram(X, architecture, depth, SIGMA, c_res=C_RES)
    for sample, limit in (
        (np.array([s[below] for s, _ in draws]), S[below]),
        (np.array([g[upper] for _, g in draws]), K[upper]),
    ):
        worst, allowed = _worst(sample, limit)
        assert worst < allowed


def test_the_printed_recursions_fail_the_same_test():
    """Errata E8 and E10: the printed forms of DU-D3.1 and DU-D3.2 are told apart, so the tests
    above have the power to fail.
    """
    from globalmin.activations.dual import dual_matrix
    from globalmin.activations.moments import mean_value, normalizer

    X, upper, t, c = _inputs("resnet"), np.triu_indices(3), C_RES / 3, normalizer(SIGMA)
    rng = np.random.default_rng(0)
    draws = [_sampled(X, "resnet", 3, 100_000, rng) for _ in range(24)]
    K1, b = deep_features(X, "resnet", 3, SIGMA, c_res=C_RES)[1]
    mu = mean_value(SIGMA, np.sqrt(np.diag(K1)))
    swapped = (
        K1 + t * (np.add.outer(b * mu, b * mu)) + t**2 * dual_matrix(SIGMA, K1)
    )  # b_i sigma(u) + b_j sigma(v)
    worst, allowed = _worst(np.array([s[upper] for s, _ in draws]), swapped[upper])
    assert worst > 2 * allowed
    old = (
        t**2 * deep_features(X, "resnet", 3, SIGMA, c_res=C_RES)[2].S * dual_matrix(SIGMA, K1, 1)
    )  # blocks of K^(H-2)
    worst, allowed = _worst(np.array([g[upper] for _, g in draws]), old[upper])
    assert worst > 2 * allowed
    dense = [_sampled(X, "fully_connected", 2, 30_000, rng) for _ in range(24)]
    printed = (
        c * deep_features(X, "fully_connected", 2, SIGMA)[1].S * dual_matrix(SIGMA, X @ X.T, 1)
    )
    worst, allowed = _worst(np.array([g[upper] for _, g in dense]), printed[upper])
    assert worst > 2 * allowed

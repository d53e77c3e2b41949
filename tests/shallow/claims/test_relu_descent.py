"""The producer of relu-descent claims: what it claims is accepted, what it refuses is explained."""

from itertools import pairwise

import numpy as np
import pytest
from tests.checker.relu_descent_cases import ReluFit, trained_relu

import globalmin as gm
from globalmin.shallow.claims.relu_descent import ReluPoint, bracket
from globalmin_check import Verdict
from globalmin_check.engine import check_bytes


def as_network(fit: ReluFit) -> tuple[gm.ShallowNetwork, gm.Dataset]:
    data = gm.Dataset(fit.X, fit.y, bias=False, scaling="none")
    return gm.ShallowNetwork(fit.W, fit.v, gm.get_activation("relu")), data


def test_a_trained_network_is_certified_and_accepted() -> None:
    """DU-CERT-L1, DU-CERT-R through `certify`; tau is tight: the residual uses almost all of it."""
    network, data = as_network(trained_relu(12, 15, 200, 40))
    certificate = gm.certify(network, data, claims=["relu-descent"])
    result = check_bytes(certificate.to_bytes())
    assert result.verdict is Verdict.ACCEPTED, result.reason
    summary = certificate.summary()
    assert (
        summary["residual_norm"]
        <= summary["lambda"] * summary["tau"]
        <= 1.1 * summary["residual_norm"]
    )
    assert result.claims[0].numbers["unstable_pairs"] == summary["unstable_pairs"]


def test_the_step_can_be_chosen_and_too_large_a_step_is_refused() -> None:
    network, data = as_network(trained_relu(8, 12, 200, 80))
    largest = gm.certify(network, data, claims=["relu-descent"]).summary()["eta"]
    smaller = gm.certify(network, data, claims=["relu-descent"], step_size=largest / 3)
    assert check_bytes(smaller.to_bytes()).verdict is Verdict.ACCEPTED
    assert smaller.summary()["eta"] == largest / 3
    with pytest.raises(gm.errors.CannotCertify, match="step_size"):
        gm.certify(network, data, claims=["relu-descent"], step_size=2 * largest)


def test_an_early_iterate_a_smooth_network_and_dead_neurons_are_refused_with_the_reason() -> None:
    network, data = as_network(trained_relu(12, 15, 60, 2))
    with pytest.raises(gm.errors.CannotCertify, match="train further"):
        gm.certify(network, data, claims=["relu-descent"])
    smooth = gm.ShallowNetwork(network.W, network.v, gm.get_activation("tanh"))
    with pytest.raises(gm.errors.CannotCertify, match="about relu"):
        gm.certify(smooth, data, claims=["relu-descent"])
    dead = gm.ShallowNetwork(0 * network.W, network.v, gm.get_activation("relu"))
    with pytest.raises(gm.errors.CannotCertify, match=r"singular|too large"):
        gm.certify(dead, data, claims=["relu-descent"])


def test_a_network_that_fits_exactly_is_certified() -> None:
    """Residual exactly zero: tau is tiny, nothing flips, the claim still has positive numbers."""
    X = np.eye(3)
    W = np.array([[2.0, 1.0, 1.0], [1.0, 2.0, 1.0], [1.0, 1.0, 2.0], [-1.0, 1.0, 1.0]])
    v = np.array([1.0, -1.0, 1.0, 0.5])
    data = gm.Dataset(X, np.maximum(X @ W.T, 0.0) @ v, bias=False, scaling="none")
    certificate = gm.certify(
        gm.ShallowNetwork(W, v, gm.get_activation("relu")), data, claims=["relu-descent"]
    )
    assert check_bytes(certificate.to_bytes()).verdict is Verdict.ACCEPTED
    assert certificate.summary()["unstable_pairs"] == 0


def test_the_margin_falls_as_tau_grows() -> None:
    fit = trained_relu(6, 8, 80, 20)
    network, data = as_network(fit)
    from globalmin.shallow.claims.high_precision import precise_residual

    Z = fit.X @ fit.W.T
    point = ReluPoint(
        network,
        fit.X,
        precise_residual(network, data.X, data.y),
        Z,
        np.zeros_like(Z),
        fit.X @ fit.X.T,
    )
    margins = [bracket(point, tau).margin() for tau in (0.0, 0.01, 0.1, 0.5, 2.0)]
    assert all(a >= b - 1e-12 for a, b in pairwise(margins))

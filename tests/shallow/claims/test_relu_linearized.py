"""The producer of relu-linearized-descent claims: what it claims is accepted and obeyed, at random
starts where relu-descent is refused; refusals say how far away the start is.
"""

import re

import numpy as np
import pytest
from tests.checker import relu_linearized_cases as cases
from tests.checker.relu_descent_cases import ReluFit, trained_relu

import globalmin as gm
from globalmin.shallow.claims import relu_linearized
from globalmin.shallow.claims.relu_descent import measure
from globalmin_check import Verdict
from globalmin_check.engine import check_bytes

KIND = "relu-linearized-descent"


def as_network(fit: ReluFit) -> tuple[gm.ShallowNetwork, gm.Dataset]:
    data = gm.Dataset(fit.X, fit.y, bias=False, scaling="none")
    return gm.ShallowNetwork(fit.W, fit.v, gm.get_activation("relu")), data


def test_a_random_start_is_certified_accepted_and_obeyed() -> None:
    """DU-CERT-L2 at n = 10, d = 50, m = 3,000, where DU-CERT-L1 reaches 60 % of what it needs."""
    fit = trained_relu(10, 50, 3000, 0)
    network, data = as_network(fit)
    certificate = gm.certify(network, data, claims=[KIND])
    result = check_bytes(certificate.to_bytes())
    assert result.verdict is Verdict.ACCEPTED, result.reason
    summary = certificate.summary()
    assert result.claims[0].numbers["unstable_pairs"] == summary["unstable_pairs"] > 100
    with pytest.raises(gm.errors.CannotCertify) as refused:
        gm.certify(network, data, claims=["relu-descent"])
    share = re.search(r"([\d.]+) % of it", str(refused.value))
    assert share is not None
    assert 20.0 < float(share.group(1)) < 100.0
    obey(fit, summary)


def obey(fit: ReluFit, claimed: dict[str, float]) -> None:
    start, Z0 = float(np.linalg.norm(fit.residual())), fit.X @ fit.W.T
    travelled, summed, flips = 0.0, 0.0, np.zeros(Z0.shape, dtype=bool)
    for k in range(30):
        summed += claimed["eta"] * float(np.linalg.norm(fit.residual()))
        after = fit.step(claimed["eta"], at_kink=float(k % 2))
        travelled += float(np.linalg.norm(after.W - fit.W))
        fit = after
        flips |= (fit.X @ fit.W.T > 0) != (Z0 > 0)
        bound = start * claimed["rate"] ** (k + 1)
        assert np.linalg.norm(fit.residual()) <= bound * (1 + 1e-9) + 1e-12
    assert travelled <= claimed["path"]
    assert summed <= claimed["tau"]
    assert 0 < np.count_nonzero(flips) <= claimed["unstable_pairs"]


def test_the_producer_and_plain_loops_find_the_same_set() -> None:
    """The vectorized moves are those of the cases, which loop over pairs."""
    fit = trained_relu(3, 30, 200, 1)
    network, data = as_network(fit)
    point, _ = measure(network, data)
    certificate = gm.certify(network, data, claims=[KIND])
    summary = certificate.summary()
    found = cases.least_set(fit, int(summary["steps"]), share=1 - 1e-5)
    assert found is not None
    assert np.count_nonzero(found.U) == summary["unstable_pairs"]
    spectrum = relu_linearized.Spectrum(found.lam, found.Lam, found.eps, found.eta)
    run = relu_linearized.linear_run(found.H, point.residual.r, spectrum)
    again = cases.linearized(fit, found.U, run.steps, share=1 - 1e-5)
    assert again is not None
    table = relu_linearized.moves(point, found.U, run, spectrum, again.tau)
    K, possible = fit.X @ fit.X.T, (point.Z > 0) | found.U
    crude = np.sqrt(K**2 @ possible) * np.abs(fit.v) * again.tau
    some = ~found.U & (np.abs(point.Z) <= crude)  # elsewhere the first bound is left as it is
    assert np.count_nonzero(some) > 20
    assert np.allclose(table[some], again.moves[some], rtol=1e-9)
    assert np.allclose(table[~some & ~found.U], crude[~some & ~found.U], rtol=1e-9)


def test_the_step_can_be_chosen_and_too_large_a_step_is_refused() -> None:
    network, data = as_network(trained_relu(4, 12, 200, 10))
    largest = gm.certify(network, data, claims=[KIND]).summary()["eta"]
    smaller = gm.certify(network, data, claims=[KIND], step_size=largest / 3)
    assert check_bytes(smaller.to_bytes()).verdict is Verdict.ACCEPTED
    assert smaller.summary()["eta"] == largest / 3
    with pytest.raises(gm.errors.CannotCertify, match="step_size"):
        gm.certify(network, data, claims=[KIND], step_size=2 * largest)


def test_refusals_say_how_far_away_the_network_is() -> None:
    network, data = as_network(trained_relu(12, 15, 60, 0))
    with pytest.raises(gm.errors.CannotCertify, match=r"times lambda_min = .* or widen"):
        gm.certify(network, data, claims=[KIND])
    smooth = gm.ShallowNetwork(network.W, network.v, gm.get_activation("tanh"))
    with pytest.raises(gm.errors.CannotCertify, match="about relu"):
        gm.certify(smooth, data, claims=[KIND])
    dead = gm.ShallowNetwork(0 * network.W, network.v, gm.get_activation("relu"))
    with pytest.raises(gm.errors.CannotCertify, match=r"times lambda_min|singular"):
        gm.certify(dead, data, claims=[KIND])
    gone = gm.ShallowNetwork(-np.abs(network.W), network.v, gm.get_activation("relu"))
    positive = gm.Dataset(np.abs(data.X), data.y, bias=False, scaling="none")
    with pytest.raises(gm.errors.CannotCertify, match="singular"):
        gm.certify(gone, positive, claims=[KIND])


def test_the_best_tau_is_reported_not_the_last() -> None:
    """relu-descent: the share of ||r|| is the largest (lambda - ||E||) tau over a scan of tau."""
    fit = trained_relu(12, 15, 60, 2)
    network, data = as_network(fit)
    with pytest.raises(gm.errors.CannotCertify) as refused:
        gm.certify(network, data, claims=["relu-descent"])
    found = re.search(r"best tau tried, ([\d.e+-]+) with (\d+) unstable", str(refused.value))
    assert found is not None
    g = float(np.linalg.norm(fit.residual()))
    start = g / float(np.linalg.eigvalsh(fit.matrices(0.0)[0])[0])

    def reach(tau: float) -> float:
        H, E = fit.matrices(tau)
        return tau * float(np.linalg.eigvalsh(H)[0] - np.linalg.norm(E, 2))

    tau = float(found.group(1))
    assert reach(tau) >= max(reach(start * 1.02**k * (1 + 1e-4)) for k in range(40)) - 0.02 * g


def test_a_network_that_fits_exactly_is_certified() -> None:
    """Residual exactly zero: nothing moves, U is empty, the claim still has positive numbers."""
    X = np.eye(3)
    W = np.array([[2.0, 1.0, 1.0], [1.0, 2.0, 1.0], [1.0, 1.0, 2.0], [-1.0, 1.0, 1.0]])
    v = np.array([1.0, -1.0, 1.0, 0.5])
    data = gm.Dataset(X, np.maximum(X @ W.T, 0.0) @ v, bias=False, scaling="none")
    network = gm.ShallowNetwork(W, v, gm.get_activation("relu"))
    certificate = gm.certify(network, data, claims=[KIND])
    assert check_bytes(certificate.to_bytes()).verdict is Verdict.ACCEPTED
    assert certificate.summary()["unstable_pairs"] == 0

"""Deep networks through `prove_start`: all layers, from a seed or stored weights."""

from __future__ import annotations

import math

import numpy as np
import pytest

import globalmin as gm
from globalmin.deep.claims.trajectory import log_growth
from globalmin.deep.from_start import descend_deep, seeded_deep
from globalmin.deep.lipschitz import deep_jacobian_lipschitz
from globalmin.proving.claim import StartQuestion
from globalmin.shallow.from_start import seeded_entries, seeded_start


@pytest.fixture(scope="module")
def data() -> gm.Dataset:
    return gm.generators.sphere_with_random_labels(3, 4, seed=0)


def test_a_seed_of_a_deep_network_is_proved_from_its_random_start(data: gm.Dataset) -> None:
    """DU-T3.1 for one start: two layers and the head, all trained."""
    proof = gm.prove_start(0, data, width=12, depth=2, activation="tanh")
    assert proof.verdict == "ACCEPTED", proof.why
    assert "all 2 hidden layers and the head" in proof.statement
    assert "cell of seed 0" in proof.statement
    assert proof.reaches_minimum


def test_a_stored_residual_network_is_proved_too(data: gm.Dataset, tmp_path) -> None:
    """DU-T3.2 for one start."""
    start = gm.DeepNetwork.initialize(data, 12, 2, "resnet", "tanh", seed=1)
    proof = gm.prove_start(start, data, path=tmp_path / "deep.gmc")
    assert proof.verdict == "ACCEPTED", proof.why
    assert "stored start" in proof.statement
    assert gm.check(tmp_path / "deep.gmc").verdict == "ACCEPTED"


def test_the_weights_of_a_seed_go_through_all_layers_in_order(data: gm.Dataset) -> None:
    """DU-M3a: W_1 row by row, then W_2, then the head; the entries the checker draws."""
    network = seeded_deep(StartQuestion(7, data, width=3, depth=2, activation="tanh"))
    entries = seeded_entries(7, 3 * 4 + 3 * 3 + 3)
    np.testing.assert_array_equal(network.weights[0].ravel(), entries[:12])
    np.testing.assert_array_equal(network.weights[1].ravel(), entries[12:21])
    np.testing.assert_array_equal(network.head, entries[21:])
    np.testing.assert_array_equal(network.weights[0], seeded_start(7, 3, 4))


def test_the_run_is_gradient_descent_and_its_length_the_sum_of_its_steps(data: gm.Dataset) -> None:
    start = gm.DeepNetwork.initialize(data, 12, 2, "fully_connected", "tanh", seed=1)
    run = descend_deep(start, data)
    theta, length = start.parameters, 0.0
    for _ in range(run.n_iter):
        _, gradient = start.at(theta.copy()).loss_and_gradient(data.X, data.y)
        theta, length = (
            theta - run.step_size * 3 * gradient,
            length + run.step_size * 3 * float(np.linalg.norm(gradient)),
        )
    np.testing.assert_allclose(theta, run.network.parameters, rtol=1e-9, atol=1e-12)
    assert run.length == pytest.approx(length, rel=1e-9)


def test_the_growth_is_that_of_the_factors_along_the_run(data: gm.Dataset) -> None:
    """One step by hand: max(1, eta b^2 - 1) + eta Lam |r|."""
    start = gm.DeepNetwork.initialize(data, 12, 2, "fully_connected", "tanh", seed=1)
    run = descend_deep(start, data)
    one = type(run)(start, run.network, run.step_size, 1, None, run.length)
    omega = np.array([np.linalg.norm(W, 2) for W in run.network.weights])
    away = [np.linalg.norm(W - V) for W, V in zip(start.weights, run.network.weights, strict=True)]
    Lam = deep_jacobian_lipschitz(start, data.X, 0.0, norms=omega + np.array(away))
    J, r = start.jacobian(data.X), start.predict(data.X) - data.y
    b2 = np.abs(J @ J.T).sum(axis=1).max()
    eta = run.step_size
    expected = math.log(max(1.0, eta * b2 - 1.0) + eta * Lam * np.linalg.norm(r))
    assert log_growth(one, data, omega) == pytest.approx(expected, rel=1e-9)


def test_a_run_that_does_not_get_there_says_why(data: gm.Dataset) -> None:
    short = gm.prove_start(0, data, width=12, depth=2, activation="tanh", max_iter=3)
    assert short.verdict == "NOT PROVED"
    assert "deep-descent in 3 steps" in short.why
    far = gm.prove_start(0, data, width=12, depth=2, activation="tanh", step_size=1e200)
    assert far.verdict == "NOT PROVED"
    kinked = gm.prove_start(0, data, width=12, depth=2, activation="relu", max_iter=30)
    assert kinked.verdict == "NOT PROVED"


@pytest.mark.parametrize(
    ("start", "options", "word"),
    [
        (0, {"depth": 2}, "width=None"),
        (0, {"depth": 2, "width": 4, "trained": "vW"}, "deep network"),
        (0, {"depth": 2, "width": 4, "landing": "loss"}, "deep network"),
        ("weights", {}, "must be a ShallowNetwork or DeepNetwork, or an integer seed"),
        (True, {"width": 3}, "must be a ShallowNetwork or DeepNetwork, or an integer seed"),
    ],
)
def test_what_is_not_covered_is_refused(data: gm.Dataset, start, options, word: str) -> None:
    with pytest.raises(gm.DataError, match=word):
        gm.prove_start(start, data, **options)


def test_the_claim_needs_its_run(data: gm.Dataset) -> None:
    start = gm.DeepNetwork.initialize(data, 12, 2, "fully_connected", "tanh", seed=1)
    with pytest.raises(gm.CannotCertify, match="prove_start"):
        gm.certify(start, data, claims=("deep-trajectory",))

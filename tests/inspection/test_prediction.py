"""Predictions set against real runs: linearized trajectory, proved envelopes, movement and sign
changes.
"""

import math

import numpy as np
import pytest

import globalmin as gm
from globalmin.data import validation
from globalmin.errors import DataError, MemoryRefused
from globalmin.inspection import compare_trajectory, predict_losses, predict_run
from globalmin.inspection.prediction import predict
from globalmin.shallow.network import residual


@pytest.fixture(scope="module")
def smooth():
    """A start at which OS-C1 holds: the width of OS-C6."""
    data = gm.generators.sphere_with_random_labels(4, 12, seed=0)
    network = gm.ShallowNetwork.initialize(data, width=804, activation="softplus", seed=0)
    return data, network, predict_run(network, data, max_iter=150)


@pytest.fixture(scope="module")
def relu():
    data = gm.generators.sphere_with_random_labels(10, 20, seed=0)
    network = gm.ShallowNetwork.initialize(data, width=400, activation="relu", seed=0)
    return data, network, predict_run(network, data, max_iter=200)


def test_run_is_gradient_descent_and_the_first_entries_are_the_start(smooth):
    data, network, run = smooth
    trained = gm.train(
        network, data, method="gradient_descent", step_size=run.step_size, max_iter=150, tol=0.0
    )
    assert pytest.approx(trained.network.W, abs=1e-12) == run.network.W
    assert run.measured[0] == pytest.approx(np.linalg.norm(residual(network, data.X, data.y)))
    assert run.deviation[0] == pytest.approx(0.0, abs=1e-12)
    assert run.path[0] == run.distance[0] == run.neuron_movement[0] == 0.0


def test_proved_envelope_path_and_movement_hold_along_the_run(smooth):
    """OS-C1 at the start: rate, path, movement of every neuron; the linearization is close."""
    _, _, run = smooth
    assert run.guarantee is not None
    assert (run.measured <= run.proved + 1e-13).all()
    assert (np.diff(run.path) >= 0).all()
    assert (run.distance <= run.path + 1e-12).all()
    assert run.path[-1] <= run.guarantee.path
    assert run.neuron_movement[-1] <= run.movement_bound
    assert run.rate_measured <= run.guarantee.rate
    assert run.rate_measured == pytest.approx(run.rate_predicted, rel=0.05)
    assert run.deviation.max() <= 0.2 * run.measured[0]


def test_signs_change_no_more_than_the_distance_allows(relu):
    """OS-LC.2 along a real ReLU run in which signs do change."""
    _, _, run = relu
    assert run.signs_changed[-1] > 0
    assert (run.signs_changed <= run.signs_allowed).all()
    assert run.guarantee is None
    assert run.proved is None
    assert run.movement_bound == math.inf
    assert run.measured[-1] < 0.2 * run.measured[0]
    assert all(isinstance(value, float) for value in run.summary().values())


def test_the_last_entries_are_the_distances_and_signs_of_the_last_network(relu):
    """Movement, distance and the largest number of changed signs of a sample, by loops."""
    data, network, run = relu
    moved = run.network.W - network.W
    assert run.distance[-1] == pytest.approx(np.linalg.norm(moved))
    assert run.neuron_movement[-1] == pytest.approx(max(np.linalg.norm(row) for row in moved))
    old, new = data.X @ network.W.T >= 0, data.X @ run.network.W.T >= 0
    counts = [sum(a != b) for a, b in zip(old, new, strict=True)]
    assert min(counts) < max(counts) == run.signs_changed[-1]
    costs = np.sort((data.X @ network.W.T) ** 2, axis=1).cumsum(axis=1)  # OS-LC.2, unit rows
    allowed = (costs <= np.linalg.norm(moved, 2) ** 2).sum(axis=1)
    assert run.signs_allowed[-1] >= counts[0]
    assert run.signs_allowed[-1] >= allowed.max()


def test_a_prediction_takes_single_steps_where_there_are_too_many_samples(monkeypatch):
    """Beyond the size of cheap eigenvalues the recursion is followed, 200 steps of it at most; the
    norms are those of the closed form.
    """
    rng = np.random.default_rng(0)
    A = rng.standard_normal((6, 6))
    K, r = A @ A.T, rng.standard_normal(6)
    eta = 0.5 / np.linalg.eigvalsh(K)[-1]
    exact = {n: predict(K, r, eta, n_steps=n) for n in (200, 201, 1000)}
    for steps in exact.values():
        assert steps.steps[0] == 0
        assert len(steps.steps) > 35
    assert exact[201].steps[-1] == 201
    monkeypatch.setattr("globalmin.inspection.prediction.ALL_LIMIT", 5)
    for n, full in exact.items():
        short = predict(K, r, eta, n_steps=n)
        kept = full.steps[full.steps <= 200]
        assert short.steps.tolist() == kept.tolist()
        for t, norm in zip(short.steps, short.residual_norms, strict=True):
            powers = np.linalg.matrix_power(np.eye(6) - eta * K, int(t))
            assert norm == pytest.approx(np.linalg.norm(powers @ r), rel=1e-9)
        last = [
            np.linalg.norm(np.linalg.matrix_power(np.eye(6) - eta * K, int(t)) @ r)
            for t in (kept[-1] - 1, kept[-1])
        ]
        assert short.rate == pytest.approx(last[1] / last[0])
    monkeypatch.setattr("globalmin.inspection.prediction.ALL_LIMIT", 6)
    assert predict(K, r, eta, n_steps=201).steps[-1] == 201


def test_wider_networks_follow_the_prediction_more_closely():
    """DU-Q2.6: the deviation from the linearization falls like 1/m, since the second-order terms
    carry the signs of the head.
    """
    data = gm.generators.sphere_with_random_labels(6, 10, seed=2)
    deviations = {width: 0.0 for width in (60, 600)}
    for width in deviations:
        for seed in range(4):
            network = gm.ShallowNetwork.initialize(
                data, width=width, activation="softplus", seed=seed
            )
            run = predict_run(network, data, step_size=0.2, max_iter=30)
            deviations[width] += run.deviation.max() / run.measured[0]
    assert 4.0 < deviations[60] / deviations[600] < 30.0


def test_a_recorded_trajectory_gets_its_prediction_beside_it():
    """Columns for a run of `train`: predicted losses and the bound on changed signs."""
    data = gm.generators.sphere_with_random_labels(8, 12, seed=3)
    network = gm.ShallowNetwork.initialize(data, width=300, activation="relu", seed=0)
    run = gm.train(network, data, method="gradient_descent", step_size=0.3, max_iter=80, tol=0.0)
    table = compare_trajectory(run.trajectory, network, data, 0.3)
    assert set(table) == {"iteration", "loss", "predicted_loss", "pattern_changes", "pattern_bound"}
    assert table["predicted_loss"][0] == pytest.approx(run.losses[0])
    assert (table["pattern_changes"] <= table["pattern_bound"]).all()
    assert table["predicted_loss"] == pytest.approx(
        predict_losses(network, data, 0.3, run.trajectory.iteration)
    )
    assert np.abs(np.log(table["loss"][:20] / table["predicted_loss"][:20])).max() < 0.5


def test_steps_beyond_the_theorem_get_no_envelope(smooth):
    data, network, run = smooth
    longer = predict_run(network, data, step_size=1.5 * run.step_size, max_iter=5)
    assert longer.proved is None
    shorter = predict_run(network, data, step_size=0.5 * run.step_size, max_iter=5)
    assert 1 - shorter.guarantee.rate == pytest.approx((1 - run.guarantee.rate) / 2, rel=1e-9)
    assert (shorter.measured <= shorter.proved * (1 + 1e-12)).all()


def test_unusable_steps_and_too_large_data_are_refused(smooth, monkeypatch):
    data, network, _ = smooth
    for options in ({"step_size": -1.0}, {"step_size": math.inf}, {"max_iter": 0}):
        with pytest.raises(DataError, match="step"):
            predict_run(network, data, **options)
    monkeypatch.setattr(validation, "available_bytes", lambda: 100)
    with pytest.raises(MemoryRefused, match="n=4"):
        predict_run(network, data)

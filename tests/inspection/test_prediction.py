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
    assert shorter.guarantee.rate > run.guarantee.rate
    assert (shorter.measured <= shorter.proved * (1 + 1e-12)).all()


def test_unusable_steps_and_too_large_data_are_refused(smooth, monkeypatch):
    data, network, _ = smooth
    for options in ({"step_size": -1.0}, {"step_size": math.inf}, {"max_iter": 0}):
        with pytest.raises(DataError, match="step"):
            predict_run(network, data, **options)
    monkeypatch.setattr(validation, "available_bytes", lambda: 100)
    with pytest.raises(MemoryRefused, match="n=4"):
        predict_run(network, data)

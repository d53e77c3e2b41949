"""Recipes of the reproductions against slower roads (DU-F2.1, FCL-E1, DU-F5.2, GKZ-X3, GKZ-X4,
DU-F6.3cd).
"""

import numpy as np
import pytest

from globalmin.data.generators import sphere_with_random_labels
from globalmin.reproductions import du_digits, du_filter, du_relu, fcl, gkz_samples
from globalmin.shallow.network import ShallowNetwork


def test_relu_descent_by_width_equals_plain_loops(monkeypatch):
    monkeypatch.setattr(du_relu, "N", 6)
    monkeypatch.setattr(du_relu, "ITERATIONS", 3)
    found = du_relu.width_trial(m=4, seed=0)
    data = sphere_with_random_labels(6, 6, seed=0)
    start = ShallowNetwork.initialize(data, width=4, activation="relu", scheme="du", seed=1)
    W, W0, losses, flips, moved = start.W.copy(), start.W, [], [], []
    for _ in range(4):
        r = (
            np.array([sum(start.v[j] * max(W[j] @ x, 0.0) for j in range(4)) for x in data.X])
            - data.y
        )
        losses.append(0.5 * sum(r**2))
        flips.append(
            np.mean([[(W[j] @ x >= 0) != (W0[j] @ x >= 0) for j in range(4)] for x in data.X])
        )
        moved.append(max(np.linalg.norm(W[j] - W0[j]) for j in range(4)))
        slope = [
            sum(r[i] * start.v[j] * (W[j] @ x > 0) * x for i, x in enumerate(data.X))
            for j in range(4)
        ]
        W = W - 0.5 * np.array(slope)
    assert found["loss"] == pytest.approx(np.array(losses), rel=1e-12)
    assert found["flips"] == pytest.approx(np.array(flips))
    assert found["movement"] == pytest.approx(np.array(moved), rel=1e-12)


def test_local_trial_spread_is_zero_from_one_start_and_the_size_is_the_teachers():
    found = fcl.local_trial(d=3, n=400, teacher="orthogonal", starts=1, max_iter=50, seed=0)
    assert found["sd"] == 0.0
    assert found["size"] == pytest.approx(3.0 * np.sqrt(3.0))
    assert found["distance"] > 0.0


def test_the_tail_slope_of_an_exact_geometric_decay_is_its_rate():
    assert du_filter._tail_slope(10.0 ** (-0.02 * np.arange(400))) == pytest.approx(-0.02)


def test_the_threshold_is_the_first_constant_with_nineteen_of_twenty():
    C = np.array([1.0, 2.0, 3.0])
    assert gkz_samples._threshold(C, np.array([0.5, 0.95, 1.0])) == 2.0
    assert gkz_samples._threshold(C, np.array([0.0, 0.1, 0.2])) == "beyond 3"


def test_the_bad_interpolant_fits_the_samples_and_costs_at_least_twice_sigma_to_the_fourth():
    found = gkz_samples.interpolant_trial(d=3, n=5, seed=0)
    assert found["miss"] < 1e-10
    assert found["risk"] >= 2.0


def test_digits_start_at_the_distance_asked_for_and_the_loss_falls():
    found = du_digits.digits_trial(
        filter_name="Gabor", distance=0.3, data="", digest="", images=0, seed=0
    )
    assert np.linalg.norm(found["start"] - found["truth"]) == pytest.approx(0.3)
    assert found["relative"].shape == (61,)
    assert found["relative"][-1] < 0.1 * found["relative"][0]

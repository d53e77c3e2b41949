"""Wrong experiments planted in figures 3 and 4 of FCL are seen, and the batched descent is descent
(FCL-E1, FCL-E2).
"""

import numpy as np
import pytest

from globalmin.activations import get_activation
from globalmin.recovery.descent import batched_gradients, local_spread
from globalmin.recovery.geometry import empirical_loss_and_gradient
from globalmin.reproductions import fcl
from globalmin.reproductions.running import Setting


@pytest.mark.parametrize("activation", ["sigmoid", "softplus"])
def test_batched_gradients_are_those_of_each_network(activation):
    rng = np.random.default_rng(0)
    X, y, W = rng.standard_normal((1_500, 4)), rng.random(1_500), rng.standard_normal((5, 3, 4))
    phi = get_activation(activation)
    found = batched_gradients(W, X, y, phi)
    for one, G in zip(W, found, strict=True):
        np.testing.assert_allclose(G, empirical_loss_and_gradient(one, X, y, phi)[1], rtol=1e-11)


def test_the_linear_end_is_where_all_steps_lead():
    """Plain steps in double precision; the map of the Hessian is off by the second order only."""
    rng = np.random.default_rng(1)
    W, X = 3.0 * np.linalg.qr(rng.standard_normal((4, 3)))[0].T, rng.standard_normal((4_000, 4))
    phi = get_activation("sigmoid")
    y = fcl.binary_labels(phi(X @ W.T).mean(axis=1), rng)
    found = local_spread(X, y, W, starts=3, step=40.0, max_iter=400, seed=2)
    assert found.steps < 400
    D = np.random.default_rng(2).standard_normal((3, *W.shape))
    D *= 0.1 * np.linalg.norm(W) / np.linalg.norm(D, axis=(1, 2), keepdims=True)
    ends = W + D
    for _ in range(400):
        ends = ends - 40.0 * batched_gradients(ends, X, y, phi)
    sd = float(np.sqrt(((ends - ends.mean(axis=0)) ** 2).sum(axis=(1, 2)).mean()))
    assert found.sd == pytest.approx(sd, rel=0.1)
    assert found.mean_error == pytest.approx(np.linalg.norm(ends - W, axis=(1, 2)).mean(), rel=1e-3)


def cell(monkeypatch, item, d, n, *, draws=8, starts=5, max_iter=2_000):
    teacher = "gaussian" if item == "FCL-E1" else "orthogonal"
    grid = fcl.Grid((d,), (n,), (draws,), starts, (1, 1), max_iter, teacher)
    monkeypatch.setitem(fcl.GRIDS, (item, "thumbnail"), grid)
    found = (fcl.fig3 if item == "FCL-E1" else fcl.fig4)(Setting(seed=7))
    return found.table[0].verdict


def test_a_wrong_step_a_wrong_rule_and_labels_without_noise_are_seen_in_figure_3(monkeypatch):
    assert cell(monkeypatch, "FCL-E1", 10, 3_200) == "agrees"
    assert cell(monkeypatch, "FCL-E1", 10, 200) == "agrees"
    with monkeypatch.context() as patch:
        patch.setattr(fcl, "binary_labels", lambda p, rng: p)
        assert cell(patch, "FCL-E1", 10, 200) == "DIFFERS"
    with monkeypatch.context() as patch:
        patch.setattr(fcl, "STEP", 1.0)
        patch.setattr(fcl, "PILOT_STARTS", 2)
        assert cell(patch, "FCL-E1", 10, 3_200, starts=2) == "DIFFERS"
    with monkeypatch.context() as patch:
        patch.setattr(fcl, "SUCCESS", 10.0)
        assert cell(patch, "FCL-E1", 10, 200) == "DIFFERS"


def test_a_wrong_step_and_labels_without_noise_are_seen_in_figure_4(monkeypatch):
    assert cell(monkeypatch, "FCL-E2", 10, 10_000, draws=10, starts=1) == "agrees"
    with monkeypatch.context() as patch:
        patch.setattr(fcl, "STEP", 0.1)  # as good as no step: the error stays that of the start
        found = cell(patch, "FCL-E2", 10, 10_000, draws=10, starts=1, max_iter=100)
        assert found == "DIFFERS"
    with monkeypatch.context() as patch:
        patch.setattr(fcl, "binary_labels", lambda p, rng: p)
        assert cell(patch, "FCL-E2", 5, 30_000, draws=4, starts=1) == "DIFFERS"

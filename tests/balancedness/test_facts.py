"""What `gm.theorem` says of balancedness, number by number, against the flow written out."""

import numpy as np
import pytest

import globalmin as gm
from globalmin.balancedness.facts import conserved
from globalmin.inspection.inspection import pose


def asked(activation, width=6):
    data = gm.generators.sphere_with_random_labels(12, 5, seed=0)
    it = pose(data, width, activation)
    return it, conserved(it)


@pytest.mark.parametrize(("activation", "degree"), [("relu", 1), ("linear", 1), ("quadratic", 2)])
def test_the_numbers_are_those_of_a_step_of_the_flow(activation, degree):
    """DU-T4.1, DU-T4.2, DU-T4.3, DU-C4.1: D of every neuron, its rate by a difference of the
    weights moved along the gradients, and the change of one step, exactly.
    """
    it, report = asked(activation)
    net, X, y, numbers = it.start.network, it.m.X, it.m.y, dict(report.numbers)

    def loss(W, v):
        return 0.5 * np.sum((gm.ShallowNetwork(W, v, activation).predict(X) - y) ** 2)

    D = np.sum(net.W**2, axis=1) - degree * net.v**2
    assert numbers["degree p"] == degree
    assert numbers["sum over the neurons, ‖W‖² − p‖v‖²"] == pytest.approx(D.sum())
    assert numbers["smallest of them"] == pytest.approx(D.min())
    assert numbers["largest of them"] == pytest.approx(D.max())
    G, g = np.zeros_like(net.W), np.zeros_like(net.v)
    for place in np.ndindex(net.W.shape):
        move = np.zeros_like(net.W)
        move[place] = 1e-5
        G[place] = (loss(net.W + move, net.v) - loss(net.W - move, net.v)) / 2e-5
    for place, move in enumerate(1e-5 * np.eye(net.v.size)):
        g[place] = (loss(net.W, net.v + move) - loss(net.W, net.v - move)) / 2e-5
    after_W, after_v = net.W - it.step_size * G, net.v - it.step_size * g
    change = np.abs(np.sum(after_W**2, axis=1) - degree * after_v**2 - D).max()
    said = numbers["largest change in one step of descent"]
    assert said == pytest.approx(change, rel=1e-4, abs=1e-9)
    assert numbers["largest rate of change under the flow (rounding)"] < 1e-12
    matrix = "rate of change of WWᵀ − vvᵀ (rounding)"
    assert (matrix in numbers) is (activation == "linear")
    assert numbers.get(matrix, 0.0) < 1e-12
    assert [c.finding.name for c in report.hypotheses] == ["HOLDS", "HOLDS"]


def test_an_activation_without_degree_is_out_of_scope():
    """DU-T4.1: softplus is not homogeneous."""
    _, report = asked("softplus")
    assert len(report.hypotheses) == 1
    assert not report.numbers

"""`gm.explain` along flows and descents: what is conserved, from the parameters themselves; planted
violations seen.
"""

from dataclasses import replace

import numpy as np
import pytest

import globalmin as gm
from globalmin.balancedness.network import Dense, HomogeneousNetwork
from globalmin.balancedness.runs import follow_descent, follow_flow, pose_balance

RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((20, 5)), RNG.standard_normal((20, 2))


def posed(activation, *, bias=False, kink_width=0.0):
    network = HomogeneousNetwork((Dense(5, 4), Dense(4, 3, bias=bias), Dense(3, 2)), activation)
    return network, pose_balance(network, X, Y, kink_width=kink_width), network.draw(seed=1)


@pytest.mark.parametrize(
    ("activation", "item"), [("linear", "DU-T4.2"), ("relu", "DU-T4.1"), ("quadratic", "DU-T4.1")]
)
def test_a_flow_keeps_what_the_theorems_say(activation, item):
    """DU-T4.1, DU-T4.2, DU-C4.1: the slack is the tolerance minus the drift of the parameters."""
    network, problem, theta = posed(activation, kink_width=1e-2 if activation == "relu" else 0.0)
    run = follow_flow(problem, theta, time=0.2)
    found = gm.explain(run)
    assert found.holds
    assert [lemma.item for lemma in found.lemmas].count(item) >= 2
    layers = network.split(run.theta)
    first = network.split(theta)
    degree = 2 if activation == "quadratic" else 1
    W, V = (np.reshape(part, shape) for part, shape in zip(layers, ((4, 5), (3, 4)), strict=False))
    W0, V0 = (np.reshape(part, shape) for part, shape in zip(first, ((4, 5), (3, 4)), strict=False))
    if activation == "linear":
        drift = np.abs(W @ W.T - V.T @ V - W0 @ W0.T + V0.T @ V0).max()
    else:
        now = np.sum(W**2, axis=1) - degree * np.sum(V**2, axis=0)
        drift = np.abs(now - np.sum(W0**2, axis=1) + degree * np.sum(V0**2, axis=0)).max()
    lemma = found.lemma(item)
    scale = run.norms[:, :2].max()
    assert lemma.scale == scale
    assert lemma.slack[-1] == pytest.approx(1e-8 * scale - drift, abs=1e-15 * scale)
    sums = np.sum(W**2) - degree * np.sum(V**2) - np.sum(W0**2) + degree * np.sum(V0**2)
    corollary = found.lemma("DU-C4.1")
    assert corollary.slack[-1] == pytest.approx(1e-8 * scale - abs(sums), abs=1e-14 * scale)
    assert "0.2" in found.about


def test_descent_drifts_by_the_identity_and_within_the_budget():
    """The first step by hand: eta^2 D(g)."""
    network, problem, theta = posed("relu")
    eta = 0.05
    run = follow_descent(problem, theta, step_size=eta, max_iter=40)
    found = gm.explain(run)
    assert found.holds
    _, gradient = problem.evaluate(theta, None)
    G, H = (
        np.reshape(part, shape)
        for part, shape in zip(network.split(gradient), ((4, 5), (3, 4)), strict=False)
    )
    change = eta**2 * (np.sum(G**2, axis=1) - np.sum(H**2, axis=0))
    exact, budget = (lemma for lemma in found.lemmas if "1-2" in lemma.says)
    largest = np.abs(change).max()
    scale = run.norms[:, :2].max()
    allowed = eta**2 * max(np.sum(G**2), np.sum(H**2))
    assert budget.slack[1] == pytest.approx(allowed - largest + 1e-10 * scale, rel=1e-6)
    assert exact.slack[1] == pytest.approx(1e-10 * scale, rel=1e-3)
    all_layers = np.abs(run.drift[1]).max()
    assert found.measured[1] == all_layers
    assert (found.measured <= found.envelope + 1e-10).all()
    assert found.promise("DU-C4.1").kept is True
    assert found.promise("DU-T4.1").promised == pytest.approx(found.promise("DU-T4.1").happened)
    sgd = gm.explain(follow_descent(problem, theta, step_size=eta, max_iter=20, batch_size=5))
    assert "stochastic" in sgd.about
    assert sgd.holds


def test_biases_that_leave_no_block_do_not_count_in_a_corollary():
    _, problem, theta = posed("relu", bias=True, kink_width=1e-2)
    found = gm.explain(follow_flow(problem, theta, time=0.1))
    assert found.holds
    said = [lemma.says for lemma in found.lemmas if lemma.item == "DU-C4.1"]
    assert len(said) == 1  # the bias of layer 2 enters it, and is no part of the difference 1-2
    assert "2-3" in said[0]


def test_violations_are_seen():
    _, problem, theta = posed("linear")
    flow = follow_flow(problem, theta, time=0.1)
    values = flow.values.copy()
    values[-1, 0] += 1e-6
    broken = gm.explain(replace(flow, values=values))
    assert broken.holds is False
    assert broken.lemma("DU-T4.2").holds is False
    norms = flow.norms.copy()
    norms[-1, 0] += 1e-6
    assert gm.explain(replace(flow, norms=norms)).lemma("DU-C4.1").holds is False
    loss = flow.trajectory.loss.copy()
    loss[-1] = loss[0] + 1.0
    rising = replace(flow, trajectory=replace(flow.trajectory, loss=loss))
    assert gm.explain(rising).holds is False
    run = follow_descent(problem, theta, step_size=0.05, max_iter=10)
    assert gm.explain(replace(run, predicted=0.9 * run.predicted)).holds is False
    assert gm.explain(replace(run, budget=0.01 * run.budget)).holds is False


def test_the_picture_has_a_row_for_every_lemma(tmp_path):
    _, problem, theta = posed("linear")
    found = gm.explain(follow_flow(problem, theta, time=0.1))
    figure = found.plot(tmp_path / "flow.svg")
    assert len(figure.axes[1].get_yticklabels()) == len(found.lemmas)
    assert "loss" in figure.axes[0].get_ylabel()

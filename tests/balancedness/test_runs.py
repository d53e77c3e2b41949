"""Conserved along the flow to 1e-8, drifting in proportion to the step along descent, by the exact
identity.
"""

from dataclasses import replace

import numpy as np
import pytest
from tests.balancedness.homogeneous_cases import FIVE, NETWORKS, data, start

import globalmin as gm
from globalmin.balancedness.conserved import (
    conserved_counts,
    drift_limit_from_loss,
    sufficient_descent,
)
from globalmin.balancedness.network import fully_connected
from globalmin.balancedness.runs import follow_descent, follow_flow, pose_balance
from globalmin.errors import DataError, HypothesisError
from globalmin.optimize.run import Status


def _problem(name, kink_width=0.0, loss="squared"):
    network, (X, Y, hot) = NETWORKS[name], data()
    return pose_balance(
        network, X, Y if loss == "squared" else hot, kink_width=kink_width, loss=loss
    ), start(network)


@pytest.mark.parametrize("name", [*FIVE, "with biases", "convolutional linear"])
def test_gradient_flow_conserves_to_the_tolerance(name):
    """DU-T4.1, DU-T4.2, DU-T4.3 along the flow; kinks smoothed over 1e-2, which conserves the
    same.
    """
    problem, theta = _problem(name, kink_width=1e-2)
    run = follow_flow(problem, theta, time=3.0)
    assert run.step_size == 0.0  # the flow has none
    assert run.time[-1] == 3.0
    assert run.losses[-1] < 0.9 * run.losses[0]
    assert run.largest_drift <= 1e-8
    assert np.abs(run.theta - theta).max() > 0.05


@pytest.mark.parametrize("name", FIVE)
def test_gradient_flow_conserves_through_bare_kinks_until_it_slides(name):
    problem, theta = _problem(name)
    run = follow_flow(problem, theta, time=0.5, max_evaluations=4_000)
    assert run.time[-1] > 0.01
    assert run.largest_drift <= 1e-8


def test_degree_two_conserves_the_weighted_difference_and_not_the_plain_one():
    """||incoming||^2 - 2 ||outgoing||^2 for the square activation (ours)."""
    network, (X, Y, _) = fully_connected([6, 4, 3], "quadratic"), data()
    theta = 0.5 * network.draw(0)
    run = follow_flow(pose_balance(network, X, Y), theta, time=2.0)
    assert run.largest_drift <= 1e-8
    plain = run.norms[:, 0] - run.norms[:, 1]
    assert np.ptp(plain) > 0.05


def test_any_loss_conserves():
    problem, theta = _problem("leaky relu", kink_width=1e-2, loss="cross_entropy")
    assert follow_flow(problem, theta, time=3.0).largest_drift <= 1e-8


@pytest.mark.parametrize("name", FIVE)
def test_descent_drifts_by_the_exact_identity_within_its_budget(name):
    problem, theta = _problem(name)
    run = follow_descent(problem, theta, step_size=0.05, max_iter=60)
    audit = run.audit()
    assert audit.identity_error <= 1e-13
    assert audit.drift == pytest.approx(audit.predicted, rel=1e-9)
    assert audit.drift > 1e-4
    assert audit.within_budget


@pytest.mark.parametrize("name", FIVE)
def test_the_drift_of_descent_is_proportional_to_the_step(name):
    problem, theta = _problem(name)
    steps = np.array([0.04, 0.02, 0.01, 0.005])
    drifts = [
        follow_descent(problem, theta, step_size=s, max_iter=round(2 / s)).largest_drift
        for s in steps
    ]
    slope = np.polyfit(np.log(steps), np.log(drifts), 1)[0]
    assert slope == pytest.approx(1.0, abs=0.06)


@pytest.mark.parametrize("name", ["linear", "convolutional linear"])
def test_the_constant_of_proportionality_is_the_integral_along_the_flow(name):
    """drift / eta -> integral of D(g) dt, with an error that halves with the step."""
    problem, theta = _problem(name)
    flow = follow_flow(problem, theta, time=2.0)
    errors = []
    for step in (0.02, 0.01, 0.005):
        run = follow_descent(problem, theta, step_size=step, max_iter=round(2 / step))
        errors.append(np.abs(run.drift[-1] / step - flow.slope[-1]).max())
    assert errors[-1] <= 0.05 * np.abs(flow.slope[-1]).max()
    np.testing.assert_allclose(np.divide(errors[:-1], errors[1:]), 2.0, rtol=0.15)


def test_the_loss_bounds_the_drift_of_a_short_step():
    """|drift| <= 2 eta (L_0 - L_k) whenever every step lowers the loss by (eta/2)||g||^2; within a
    factor of 20 here.
    """
    problem, theta = _problem("linear")
    eta, n_steps, vector = 0.02, 100, theta.copy()
    losses, squares = [], []
    for _ in range(n_steps):
        value, g = problem.evaluate(vector, None)
        losses.append(value)
        squares.append(g @ g)
        vector = vector - eta * g
    losses.append(problem.evaluate(vector, None)[0])
    assert sufficient_descent(losses, squares, eta)
    bounds = np.repeat(
        drift_limit_from_loss(problem.boundaries, eta, losses), conserved_counts(problem.boundaries)
    )
    run = follow_descent(problem, theta, step_size=eta, max_iter=n_steps)
    drift = np.abs(run.drift[-1])
    assert (drift <= bounds).all()
    assert (drift / bounds).max() >= 0.05


def test_sgd_follows_the_same_identity_batch_by_batch():
    problem, theta = _problem("convolutional")
    run = follow_descent(problem, theta, step_size=0.05, max_iter=50, batch_size=5, seed=3)
    audit = run.audit()
    assert audit.identity_error <= 1e-13
    assert audit.within_budget
    again = follow_descent(problem, theta, step_size=0.05, max_iter=50, batch_size=5, seed=3)
    np.testing.assert_array_equal(run.values, again.values)
    other = follow_descent(problem, theta, step_size=0.05, max_iter=50, batch_size=5, seed=4)
    assert not np.array_equal(run.values, other.values)


def test_every_pass_of_sgd_sees_every_row_once():
    """Batches of 5, 5 and 2 of 12 rows, shuffled anew in every pass."""
    problem, theta = _problem("linear")
    seen = []

    def evaluate(vector, rows):
        seen.append(rows)
        return problem.evaluate(vector, rows)

    spied = replace(problem, evaluate=evaluate)
    follow_descent(spied, theta, step_size=0.01, max_iter=8, batch_size=5, seed=0)
    batches = [rows for rows in seen if rows is not None]
    passes = [np.concatenate(batches[i : i + 3]) for i in (0, 3)]
    assert [len(rows) for rows in batches[:3]] == [5, 5, 2]
    for rows in passes:
        np.testing.assert_array_equal(np.sort(rows), np.arange(12))
    assert not np.array_equal(*passes)


def test_weight_decay_shrinks_what_is_conserved():
    problem, theta = _problem("sparse")
    run = follow_descent(problem, theta, step_size=0.01, max_iter=400, decay=0.5)
    np.testing.assert_allclose(run.drift, run.predicted, atol=1e-13)
    shrunk = run.values[0] * (1 - 0.01 * 0.5) ** (2 * 400)
    assert np.abs(run.values[-1] - shrunk).max() <= 0.02 * np.abs(run.values[0]).max()


def test_a_diverging_descent_says_so_and_keeps_what_it_saw():
    problem, theta = _problem("quadratic")
    run = follow_descent(problem, theta, step_size=10.0, max_iter=100)
    assert run.status is Status.DIVERGED
    assert len(run.time) < 101
    assert np.isfinite(run.losses).all()


def test_our_deep_networks_conserve_too():
    """DU-T4.1 for DeepNetwork: fully connected with its fixed factors, and one convolution with its
    head.
    """
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((10, 5)), rng.standard_normal(10)
    network = gm.DeepNetwork.initialize((5,), width=4, depth=3, activation="relu", seed=1)
    run = follow_flow(pose_balance(network, X, y, kink_width=1e-2), network.parameters, time=3.0)
    assert run.largest_drift <= 1e-8
    assert run.losses[-1] < 0.9 * run.losses[0]
    assert run.values.shape[1] == 12
    signals = rng.standard_normal((10, 2, 5))
    form = {"architecture": "convolutional_resnet", "input_shape": (2, 5), "patch_size": 3}
    activation = gm.get_activation("leaky_relu(0.2)")
    network = gm.DeepNetwork(
        (rng.standard_normal((3, 6)),), rng.standard_normal((3, 5)), (0.5,), activation, **form
    )
    problem = pose_balance(network, signals, y)
    run = follow_descent(problem, network.parameters, step_size=0.02, max_iter=50)
    assert run.values.shape[1] == 3
    assert run.audit().identity_error <= 1e-13


@pytest.mark.parametrize("pixels", [1, 2])
def test_short_signals_conserve_every_channel_with_its_row_of_the_head(pixels):
    """||w_c||^2 - ||a_c||^2, one for each of 3 channels, also for signals of one or two pixels."""
    rng = np.random.default_rng(0)
    form = {"architecture": "convolutional_resnet", "input_shape": (2, pixels), "patch_size": 1}
    W, a = rng.standard_normal((3, 2)), rng.standard_normal((3, pixels))
    network = gm.DeepNetwork((W,), a, (0.5,), gm.get_activation("relu"), **form)
    problem = pose_balance(network, rng.standard_normal((4, 2, pixels)), np.ones(4))
    wanted = (W**2).sum(axis=1) - (a**2).sum(axis=1)
    np.testing.assert_allclose(problem.conserved(network.parameters), wanted, rtol=1e-13)


def test_residual_networks_and_smooth_activations_are_refused():
    X, y = np.ones((3, 5)), np.ones(3)
    with pytest.raises(HypothesisError, match="adds the layer below"):
        pose_balance(gm.DeepNetwork.initialize((5,), 4, 2, "resnet", "relu"), X, y)
    with pytest.raises(HypothesisError, match="softplus is not homogeneous"):
        pose_balance(gm.DeepNetwork.initialize((5,), 4, 2, "fully_connected", "softplus"), X, y)
    with pytest.raises(DataError, match="squared loss"):
        pose_balance(
            gm.DeepNetwork.initialize((5,), 4, 2, "fully_connected", "relu"),
            X,
            y,
            loss="cross_entropy",
        )


def test_bad_arguments_are_refused():
    problem, theta = _problem("linear")
    with pytest.raises(DataError, match="batch_size=13"):
        follow_descent(problem, theta, step_size=0.1, max_iter=1, batch_size=13)
    run = follow_descent(problem, theta, step_size=0.1, max_iter=1)
    with pytest.raises(DataError, match="'1-2', '2-3'"):
        run.at("3-4")
    assert run.at("2-3").shape == (2, 10)
    with pytest.raises(DataError, match="one row of Y"):
        pose_balance(NETWORKS["linear"], np.zeros((3, 6)), np.zeros((2, 3)))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_one_number_that_is_not_finite_is_enough_to_refuse_the_data(bad):
    X, Y, _ = data()
    for place in ((0, 0), (3, 2)):
        rows, targets = X.copy(), Y.copy()
        rows[place] = targets[place] = bad
        for inputs, outputs in ((rows, Y), (X, targets)):
            with pytest.raises(DataError):
                pose_balance(NETWORKS["linear"], inputs, outputs)

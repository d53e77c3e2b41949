"""gm.train(method="gradient_flow"): the limit of gradient descent with small steps, monotone, and
refusals.
"""

import numpy as np
import pytest

import globalmin as gm
from globalmin.errors import DataError


@pytest.fixture
def problem():
    data = gm.generators.sphere_with_random_labels(6, 4, seed=0)
    return gm.ShallowNetwork.initialize(data, width=5, activation="softplus", seed=1), data


@pytest.mark.parametrize("trained", ["W", "vW"])
def test_the_flow_ends_where_gradient_descent_with_small_steps_ends(problem, trained):
    """Both converge to zero loss, and the distance of the ends shrinks in proportion to the
    step.
    """
    net, data = problem
    flow = gm.train(
        net, data, method="gradient_flow", trained=trained, rtol=1e-9, atol=1e-12, tol=1e-7
    )
    assert flow.status == "converged"
    above_rounding = flow.losses[flow.losses > 1e-15]
    assert np.all(np.diff(above_rounding) <= 0)
    distances = []
    for step in (0.08, 0.02):
        run = gm.train(
            net,
            data,
            method="gradient_descent",
            trained=trained,
            step_size=step,
            tol=1e-7,
            max_iter=200_000,
        )
        assert run.status == "converged"
        distances.append(
            np.linalg.norm(run.network.W - flow.network.W)
            + np.linalg.norm(run.network.v - flow.network.v)
        )
    assert distances[1] < 0.02
    assert distances[1] == pytest.approx(distances[0] / 4, rel=0.3)


def test_explicit_and_implicit_solvers_agree(problem):
    net, data = problem
    ends = [
        gm.train(
            net, data, method="gradient_flow", solver=solver, rtol=1e-10, atol=1e-12, tol=1e-6
        ).network.W
        for solver in ("BDF", "Radau", "DOP853")
    ]
    for end in ends[1:]:
        np.testing.assert_allclose(end, ends[0], atol=2e-5)


def test_kinks_are_followed_by_an_explicit_solver():
    data = gm.generators.sphere_with_random_labels(6, 4, seed=0)
    net = gm.ShallowNetwork.initialize(data, width=30, activation="relu", seed=0)
    run = gm.train(net, data, method="gradient_flow", max_iter=200)
    assert np.all(np.diff(run.losses) <= 0)
    assert run.losses[-1] < 0.9 * run.losses[0]


def test_an_unknown_solver_is_refused(problem):
    net, data = problem
    with pytest.raises(DataError, match="solver='Euler'"):
        gm.train(net, data, method="gradient_flow", solver="Euler")
    with pytest.raises(DataError, match="step_size"):
        gm.train(net, data, method="gradient_flow", step_size=0.1)

"""Gradient descent, SGD and L-BFGS: each step against its formula, and the theorem along a run."""

import numpy as np
import pytest

from globalmin.data import generators
from globalmin.optimize.run import Status
from globalmin.shallow.degenerate import pose
from globalmin.shallow.lipschitz import estimate_lipschitz
from globalmin.shallow.methods.gradient_descent import steps
from globalmin.shallow.methods.lbfgs import pack, unpack
from globalmin.shallow.methods.sgd import steps as sgd_steps
from globalmin.shallow.network import (
    ShallowNetwork,
    jacobian_gram,
    jacobian_transpose_times,
    residual,
)
from globalmin.shallow.provability import descent_quantities, linearize
from globalmin.shallow.step_sizes import theory_step
from globalmin.shallow.train import train


def case(n=20, d=6, k=10, activation="softplus", seed=0):
    data = generators.sphere_with_random_labels(n, d, seed=seed)
    return ShallowNetwork.initialize(data, k, activation, seed=seed), data


def test_three_steps_of_gradient_descent_follow_the_formula():
    network, data = case()
    expected = network
    for _ in range(3):
        r = residual(expected, data.X, data.y)
        expected = expected.with_weights(
            W=expected.W - 0.05 * jacobian_transpose_times(expected, data.X, r)
        )
    run = train(network, data, "gradient_descent", step_size=0.05, max_iter=3)
    assert np.allclose(run.network.W, expected.W, rtol=1e-13)


def test_both_layers_move_with_the_same_step():
    network, data = case()
    start = pose(network, data, "vW")
    run = train(network, data, "gradient_descent", trained="vW", step_size=0.01, max_iter=1)
    assert np.allclose(run.network.W, network.W - 0.01 * start.gradient[0])
    assert np.allclose(run.network.v, network.v - 0.01 * start.gradient[1])


@pytest.mark.parametrize("activation", ["softplus", "relu"])
def test_the_step_of_the_theory_lowers_the_loss_every_time(activation):
    """OS-T2.1 (softplus) and OS-T2.3 (ReLU): the loss falls at every step."""
    network, data = case(n=40, d=10, k=40, activation=activation)
    run = train(network, data, "gradient_descent", max_iter=200)
    assert np.all(np.diff(run.losses) < 0)


def test_gradient_descent_stalls_when_rounding_stops_it():
    network, data = case(n=6, k=12)
    run = train(network, data, "gradient_descent", tol=0.0, max_iter=200_000)
    assert run.status in (Status.STALLED, Status.CONVERGED)
    assert run.n_iter < 200_000
    assert run.relative_residual < 1e-14


def check_rate_and_radius(n, d, k, seed, further):
    """Stop at the descent claim, continue, and compare every step with the claimed rate and
    path.
    """
    network, data = case(n, d, k, seed=seed)
    eta = theory_step(network, pose(network, data, "W"))
    run = train(network, data, "gradient_descent", until="descent", step_size=eta)
    assert run.status is Status.PROVABLE
    start = pose(run.network, data, "W")
    point = linearize(jacobian_gram(run.network, data.X), start.residual)
    Lip = estimate_lipschitz(run.network, data.X, 2 * point.g / point.a, trained="W")
    claim = descent_quantities(point, Lip, eta=eta)
    assert claim is not None
    before, path = start, 0.0
    for count, iterate in enumerate(steps(start, eta)):
        after = iterate.point
        path += after.distance(before)
        assert after.norm <= claim.rate * before.norm + after.rounding
        assert path <= claim.S
        before = after
        if count == further:
            break
    assert before.norm < start.norm


def test_a_run_stopped_by_the_descent_claim_keeps_the_claimed_rate_and_radius():
    check_rate_and_radius(30, 12, 30, 0, 2_000)


@pytest.mark.campaign
@pytest.mark.parametrize("seed", range(3))
def test_the_claimed_rate_and_radius_hold_for_ten_thousand_steps(seed):
    check_rate_and_radius(100, 20, 40, seed, 10_000)


def test_one_update_of_sgd_follows_the_formula_with_the_samples_of_its_seed():
    """OS-T2.6, with a batch of four."""
    network, data = case()
    chosen = np.random.default_rng(7).integers(20, size=(1, 4))[0]
    r = residual(network, data.X[chosen], data.y[chosen])
    expected = network.W - 0.02 / 4 * jacobian_transpose_times(network, data.X[chosen], r)
    first = next(
        sgd_steps(pose(network, data, "W"), 0.02, batch=4, limit=1, rng=np.random.default_rng(7))
    )
    run = train(network, data, "sgd", step_size=0.02, batch_size=4, max_iter=1, seed=7)
    assert np.allclose(first.point.W, expected, rtol=1e-13)
    assert first.steps == run.n_iter == 1
    assert run.trajectory.path_length[-1] == pytest.approx(
        np.linalg.norm(expected - network.W), rel=1e-12
    )


def test_sgd_interpolates_and_is_a_function_of_its_seed():
    network, data = case(n=15, d=8, k=20)
    first, again, other = (
        train(network, data, "sgd", tol=1e-8, seed=s, max_iter=60_000) for s in (0, 0, 1)
    )
    assert first.status is Status.CONVERGED
    assert first.relative_residual <= 1e-8
    assert np.array_equal(first.network.W, again.network.W)
    assert not np.array_equal(first.network.W, other.network.W)
    assert first.n_iter % 15 == 0


def test_sgd_with_the_step_of_the_theory_descends_slowly():
    network, data = case(n=12, d=6, k=20)
    run = train(network, data, "sgd", step_size="theory", max_iter=2_400)
    assert run.status is Status.MAX_ITER
    assert run.losses[-1] < run.losses[0]


@pytest.mark.parametrize("trained", ["W", "vW"])
def test_lbfgs_interpolates(trained):
    network, data = case(n=30)
    run = train(network, data, "lbfgs", trained=trained, tol=1e-9)
    assert run.status is Status.CONVERGED
    assert np.array_equal(run.network.v, network.v) == (trained == "W")


def test_packing_weights_and_unpacking_them_is_the_identity():
    network, data = case()
    point = pose(network, data, "vW")
    back = unpack(point, pack(point.W, point.v))
    assert np.array_equal(back.W, point.W)
    assert np.array_equal(back.v, point.v)
    assert unpack(point, pack(point.W, None)).v is point.v

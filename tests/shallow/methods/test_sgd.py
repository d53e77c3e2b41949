"""Stochastic gradient descent: compiled updates are those of numpy, steps are those of the
theorems, and what is promised at any weights can be measured.
"""

import math

import numpy as np
import pytest
from tests.shallow.methods.sgd_cases import near_fit

import globalmin as gm
from globalmin.activations import get_activation, register_activation
from globalmin.errors import DataError, HypothesisError
from globalmin.optimize.run import Status
from globalmin.shallow.degenerate import pose
from globalmin.shallow.methods import sgd as module
from globalmin.shallow.methods.sgd_kernel import CODES, NOWHERE, Rule, Sampler


def case(activation="softplus", *, n=9, d=4, k=7, seed=0):
    data = gm.generators.sphere_with_random_labels(n, d, seed=seed)
    return gm.ShallowNetwork.initialize(data, k, activation, seed=seed), data


@pytest.mark.parametrize("trained", ["W", "vW", "v"])
@pytest.mark.parametrize("name", [*CODES, "softplus(3)", "leaky_relu(0.2)", "sigmoid(2)"])
def test_compiled_updates_are_those_of_numpy(name, trained):
    """Twenty updates of three samples each; the two add in another order, 1e-12 is 5,000 eps."""
    network, data = case(name)
    start = pose(network, data, trained)
    picks = np.random.default_rng(1).integers(9, size=(20, 3))
    plain, travel = module._updated(start, 0.03 / 3, picks)
    sampler = module._sampler(network, start, 0.03)
    assert sampler is not None
    length, left_at = sampler.run(picks)
    assert np.allclose(sampler.W, plain.W, rtol=0, atol=1e-12)
    assert np.allclose(sampler.v, plain.v, rtol=0, atol=1e-12)
    assert (sampler.W == network.W).all() == (trained == "v")
    assert (sampler.v == network.v).all() == (trained == "W")
    assert length == pytest.approx(travel, rel=1e-10)
    assert left_at == NOWHERE


def test_an_unknown_activation_falls_back_to_numpy_with_the_same_samples():
    unknown = "sgd_test_softplus"
    phi = get_activation("softplus")
    register_activation(unknown, *phi.derivatives[:3])
    network, data = case()
    other = gm.ShallowNetwork(network.W, network.v, unknown)
    assert module._sampler(other, pose(other, data, "W"), 0.1) is None
    options = {"step_size": 0.05, "max_iter": 500, "seed": 3, "tol": 0}
    runs = [gm.train(net, data, "sgd", **options) for net in (network, other)]
    assert np.allclose(runs[0].network.W, runs[1].network.W, atol=1e-10)
    assert runs[0].trajectory.path_length[-1] == pytest.approx(runs[1].trajectory.path_length[-1])


def test_the_first_exit_is_the_update_after_which_the_distance_exceeds_the_radius():
    network, data = case(seed=2)
    picks = np.random.default_rng(0).integers(9, size=(40, 1))
    make = lambda radius: Sampler(  # noqa: E731
        data.X, data.y, network.W, network.v,
        Rule(CODES["softplus"], 1.0, 0.3, True, False, radius),
    )  # fmt: skip
    one = make(math.inf)
    away = []
    for pick in picks:
        one.run(pick[None])
        away.append(float(np.linalg.norm(one.W - network.W)))
    radius = 0.5 * (sorted(away)[20] + sorted(away)[21])
    first = next(t for t, distance in enumerate(away) if distance > radius)
    assert make(radius).run(picks)[1] == first
    assert make(1.01 * max(away)).run(picks)[1] == NOWHERE


def test_nan_is_neither_hidden_nor_inside_the_radius():
    network, data = case("quadratic")
    rule = Rule(CODES["quadratic"], 0.0, 1e6, True, False, 1e9)
    sampler = Sampler(data.X, data.y, network.W, network.v, rule)
    assert sampler.run(np.zeros((60, 1), dtype=np.int64))[1] != NOWHERE
    assert not np.isfinite(sampler.W).all()
    run = gm.train(network, data, "sgd", step_size=1e6, max_iter=100)
    assert run.status is Status.DIVERGED
    assert np.isfinite(run.network.W).all()


def test_the_per_sample_rule_is_one_over_the_largest_row_of_the_jacobian():
    network, data = case(k=8)
    for trained in ("W", "vW", "v"):
        start = pose(network, data, trained)
        rows = []
        for x in data.X:
            z = network.W @ x
            slope = network.activation.derivative(z) * network.v
            bound = float(network.v @ network.v) if trained == "W" else float(slope @ slope)
            square = bound * float(x @ x) if trained != "v" else 0.0
            rows.append(square + float(np.sum(network.activation(z) ** 2)) * (trained != "W"))
        assert module.sample_step(network, start) == pytest.approx(1 / max(rows))


def test_looks_at_the_loss_thin_out_as_the_trajectory_does():
    network, data = case()
    run = gm.train(network, data, "sgd", max_iter=40_000, tol=0, step_size=1e-4)
    gaps = np.diff(run.trajectory.iteration)
    assert run.n_iter == 40_000
    assert gaps[0] == 9
    assert gaps.max() <= 40_000 / 50
    assert len(gaps) > 50 * math.log(40_000 / (50 * 9))


def test_ctrl_c_keeps_the_best_and_a_monitor_can_stop():
    network, data = case()

    def press(step):
        if step.iteration >= 90:
            raise KeyboardInterrupt

    assert gm.train(network, data, "sgd", monitor=press).status is Status.INTERRUPTED
    stopped = gm.train(network, data, "sgd", monitor=lambda step: step.iteration >= 90)
    assert stopped.status is Status.STOPPED
    assert stopped.n_iter == 90


def test_the_guarantee_at_a_network_is_the_formula_with_a_lipschitz_constant_of_its_own_ball():
    network, data, K = near_fit()
    low, high = np.linalg.eigvalsh(K)[[0, -1]]
    a, b = math.sqrt(low), math.sqrt(high)
    found = gm.sgd_guarantee(network, data)
    rho, m = found.radius, float(np.linalg.norm(network.v))
    Lip = a / 3 / rho
    from globalmin.shallow.lipschitz import estimate_lipschitz

    assert estimate_lipschitz(network, data.X, 2 * rho) == pytest.approx(Lip, rel=1e-9)
    slopes = network.activation.derivative(data.X @ network.W.T) * network.v
    m = min(m, float(np.linalg.norm(slopes, axis=1).max()) + a / 3)
    b2 = b + 2 * a / 3
    highest = 1e-5 + 2 * b2 * rho
    eta = min((2 * a / 3) ** 2 / ((b2**2 + Lip * highest) * m**2), rho / (m * highest))
    assert found.step_size == pytest.approx(eta, rel=1e-6)
    assert found.rate == pytest.approx(1 - eta * 4 * low / 9 / 4, rel=1e-12)
    assert found.failure == pytest.approx(2 * 2 * m * 1e-5 / (4 * low / 9 * rho), rel=1e-6)


def test_the_local_step_is_used_and_refused_where_it_promises_nothing():
    network, data, _ = near_fit()
    found = gm.sgd_guarantee(network, data)
    runs = [
        gm.train(network, data, "sgd", step_size=step, max_iter=200, tol=0)
        for step in ("local", found.step_size)
    ]
    assert np.array_equal(runs[0].network.W, runs[1].network.W)
    far, rows, _ = near_fit(scale=1.0)
    with pytest.raises(HypothesisError, match="promises nothing"):
        gm.train(far, rows, "sgd", step_size="local")
    with pytest.raises(HypothesisError, match="smooth activation"):
        gm.sgd_guarantee(gm.ShallowNetwork(network.W, network.v, "relu"), data)
    with pytest.raises(HypothesisError, match="Lipschitz"):
        gm.sgd_guarantee(gm.ShallowNetwork(network.W, network.v, "linear"), data)
    with pytest.raises(HypothesisError, match="hidden weights alone"):
        gm.train(network, data, "sgd", trained="vW", step_size="theory")
    both = gm.sgd_guarantee(network, data, trained="vW")
    assert both.step_size > 0
    with pytest.raises(DataError, match="step_size"):
        gm.train(network, data, "sgd", step_size="fast")


def test_the_lipschitz_constant_is_that_of_twice_the_radius():
    """Large weights: phi'' is small at the start and grows with the radius, so 2 rho is seen."""
    from globalmin.shallow.lipschitz import estimate_lipschitz

    network, data, _ = near_fit(1e-9, k=8)
    steep = network.with_weights(W=40.0 * network.W)
    rows = gm.Dataset(data.X, steep.predict(data.X) + 1e-9, bias=False, scaling="none")
    found = gm.sgd_guarantee(steep, rows)
    K = pose(steep, rows, "W").gram()
    Lip = math.sqrt(np.linalg.eigvalsh(K)[0]) / 3 / found.radius
    assert estimate_lipschitz(steep, data.X, 2 * found.radius) == pytest.approx(Lip, rel=1e-6)
    assert estimate_lipschitz(steep, data.X, found.radius) < 0.99 * Lip

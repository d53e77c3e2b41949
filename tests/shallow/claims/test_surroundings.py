"""Producer of the ball around a second-order point: the checker accepts it, and the numbers are
near the true ones.
"""

import numpy as np
import pytest

import globalmin as gm
from globalmin.data import Dataset
from globalmin.errors import DataError
from globalmin.proving.certificate import Certificate
from globalmin.shallow.claims import second_order, strict_saddle
from globalmin.shallow.claims.hessian_ball import (
    estimate_hessian_lipschitz,
    hessian_ball,
    largest_below,
)
from globalmin.shallow.hessian import gradient_norm, hessian
from globalmin.shallow.network import ShallowNetwork

SMOOTH = ("softplus", "softplus(4)", "sigmoid", "tanh", "erf")


def regression(activation, *, n=60, d=3, k=2, seed=0):
    """More samples than parameters, labels of a teacher with a little noise: the minimum near the
    teacher is strict.
    """
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    network = ShallowNetwork(
        rng.standard_normal((k, d)), np.array([1.0, -2.0, 1.5])[:k], activation
    )
    return network, Dataset.from_preprocessed(X, network.predict(X) + 0.01 * rng.standard_normal(n))


def proved(claim, network, data, path):
    Certificate((claim,), network, data).save(path / "file.gmc")
    result = gm.check(path / "file.gmc")
    assert result.verdict.value == "ACCEPTED", result.reason
    return result


@pytest.mark.parametrize("trained", ["W", "vW"])
@pytest.mark.parametrize("activation", SMOOTH)
def test_a_trained_network_is_proved_to_be_near_the_only_minimum_of_a_ball(
    activation, trained, tmp_path
):
    """DU-CERT7, DU-D7.5: theorem SO (c) after trust-region training; the distance is within 1 % of
    eps over the curvature.
    """
    start, data = regression(activation, k=2 if trained == "W" else 1)
    run = gm.train(start, data, method="trust_region", trained=trained)
    claim = second_order.build(run.network, data, trained)
    result = proved(claim, run.network, data, tmp_path)
    assert "A strict local minimum lies at most" in result.statement
    numbers = result.claims[0].numbers
    H = hessian(run.network, data.X, data.y, trained=trained)
    low = float(np.linalg.eigvalsh(H)[0])
    assert 0.99 * low <= numbers["mu"] <= low
    assert numbers["distance"] <= 1.01 * numbers["eps"] / low
    assert numbers["distance"] < 1e-3 * numbers["radius"]


@pytest.mark.parametrize("trained", ["W", "vW"])
def test_the_measured_change_of_the_hessian_stays_below_the_constant(trained):
    """DU-CERT7: differences of Hessians at random pairs of points of the ball."""
    network, data = regression("tanh", n=12)
    rng = np.random.default_rng(1)
    k, size = network.width, network.W.size
    for R in (0.01, 0.3):
        Lam, worst = estimate_hessian_lipschitz(network, data.X, data.y, R, trained), 0.0
        for _ in range(60):
            steps = rng.standard_normal((2, size + k))
            steps[:, size:] *= trained == "vW"
            steps *= R * rng.random((2, 1)) ** 0.1 / np.linalg.norm(steps, axis=1, keepdims=True)
            ends = [
                hessian(
                    network.with_weights(
                        W=network.W + s[:size].reshape(k, -1), v=network.v + s[size:]
                    ),
                    data.X,
                    data.y,
                    trained=trained,
                )
                for s in steps
            ]
            worst = max(
                worst, np.linalg.norm(ends[0] - ends[1], 2) / np.linalg.norm(steps[0] - steps[1])
            )
        assert 0.005 * Lam <= worst <= Lam


@pytest.mark.parametrize("trained", ["W", "vW"])
def test_epsilon_follows_the_definition_where_no_minimum_is_near(trained, tmp_path):
    """DU-D7.5: epsilon = max(eps, delta^2/rho)."""
    network, data = regression("tanh", n=4, k=3)
    numbers = (
        proved(second_order.build(network, data, trained, radius=0.2), network, data, tmp_path)
        .claims[0]
        .numbers
    )
    assert numbers["radius"] == pytest.approx(0.2)
    assert numbers["epsilon"] == pytest.approx(
        max(numbers["eps"], numbers["delta"] ** 2 / numbers["rho"]), rel=1e-6
    )
    assert numbers["epsilon"] >= gradient_norm(network, data.X, data.y, trained=trained)
    assert "mu" not in numbers


def test_many_parameters_have_the_ball_beside_the_blocks(tmp_path):
    network, data = regression("softplus", n=30, d=6, k=2)
    wide = ShallowNetwork(
        np.random.default_rng(0).standard_normal((70, 6)), np.ones(70), "softplus"
    )
    numbers = proved(second_order.build(wide, data), wide, data, tmp_path).claims[0].numbers
    assert numbers["method"] == "blocks"
    assert numbers["rho"] > 0
    assert network.width == 2


def test_no_ball_is_claimed_when_none_is_wanted():
    network, data = regression("tanh")
    assert "radius" not in second_order.build(network, data, radius=0.0).fields
    for radius in (-1.0, np.inf, np.nan):
        with pytest.raises(DataError, match="radius"):
            second_order.build(network, data, radius=radius)


def test_a_radius_given_by_hand_that_is_too_large_for_a_minimum_still_gives_epsilon(tmp_path):
    network, data = regression("tanh")
    run = gm.train(network, data, method="trust_region")
    found = proved(second_order.build(run.network, data, radius=5.0), run.network, data, tmp_path)
    assert found.claims[0].numbers["radius"] == 5.0
    assert "mu" not in found.claims[0].numbers


def test_strict_saddles_of_both_layers_have_a_ball_and_a_drop(tmp_path):
    """DU-CERT7, theorem SO (b)."""
    rng = np.random.default_rng(2)
    X, y = rng.standard_normal((10, 3)), 3.0 * rng.standard_normal(10)
    network = ShallowNetwork(0.3 * rng.standard_normal((3, 3)), np.array([1.0, -1.0, 0.5]), "tanh")
    data = Dataset.from_preprocessed(X, y)
    numbers = (
        proved(strict_saddle.build(network, data, "vW"), network, data, tmp_path).claims[0].numbers
    )
    assert numbers["radius"] > 0
    assert numbers["drop"] == pytest.approx(numbers["gamma"] * numbers["radius"] ** 2 / 3, rel=1e-9)


def test_weights_beyond_the_range_of_doubles_claim_no_ball():
    network, data = regression("quadratic")
    assert (
        hessian_ball(
            network.with_weights(W=network.W, v=network.v * 1e200), data.X, data.y, 1e200, "vW"
        )
        is None
    )


def test_the_largest_radius_is_found_by_doubling_and_halving():
    assert largest_below(lambda R: R * R, 2.0) == pytest.approx(2.0**0.5, rel=1e-10)
    assert largest_below(lambda R: R * R, 1e-12) == pytest.approx(1e-6, rel=1e-10)
    assert largest_below(lambda R: R + 1.0, 0.5) < 2.0**-59

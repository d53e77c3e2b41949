"""Strict saddles with a radius for every smooth activation: accepted by the checker, true around
the point (SJL-T2.1).
"""

import numpy as np
import pytest

from globalmin.data import Dataset
from globalmin.proving.producer import certify, check
from globalmin.shallow.claims import strict_saddle
from globalmin.shallow.claims.curvature import hessian_lipschitz_weights
from globalmin.shallow.hessian import curvature_along, hessian
from globalmin.shallow.network import ShallowNetwork

ACTIVATIONS = ("softplus", "softplus(4)", "sigmoid", "tanh", "erf", "quadratic")


def instance(activation, seed=5):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((20, 3)), rng.standard_normal(20)
    return ShallowNetwork(rng.standard_normal((4, 3)), rng.choice([-1.0, 1.0], 4), activation), X, y


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_ball_without_local_minimum_is_accepted_and_the_direction_stays_negative_in_it(
    activation, tmp_path
):
    """SJL-T2.1, section 11 (ii): curvature along the stored direction at 200 points on the sphere
    of the certified radius.
    """
    network, X, y = instance(activation)
    assert np.linalg.eigvalsh(hessian(network, X, y))[0] < -0.1
    certificate = certify(network, Dataset.from_preprocessed(X, y), claims=["strict-saddle"])
    result = check(certificate.save(tmp_path / "claim.gmc"))
    assert result.verdict.name == "ACCEPTED", result.reason
    radius, U = result.claims[0].numbers["radius"], certificate.claims[0].tensors["U"]
    assert radius > 1e-3
    rng = np.random.default_rng(6)
    for _ in range(200):
        step = rng.standard_normal(network.W.shape)
        moved = network.with_weights(network.W + radius * step / np.linalg.norm(step))
        assert curvature_along(moved, X, y, U) < 0


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_weights_of_the_lipschitz_constant_bound_the_change_of_the_hessian(activation):
    """Section 7's lemma: |H(W') - H(W)| <= Lam |W' - W| on the ball, Lam^2 from the weights; within
    a factor of 200.
    """
    network, X, y = instance(activation, seed=7)
    R, rng, ratios = 0.05, np.random.default_rng(8), []
    c, norms = hessian_lipschitz_weights(network, X, y, R), np.linalg.norm(X, axis=1)
    Lam = np.sqrt(
        np.linalg.eigvalsh((X.T * c) @ X)[-1] * np.linalg.eigvalsh((X.T * (c * norms**2)) @ X)[-1]
    )
    for _ in range(50):
        step = rng.standard_normal(network.W.shape)
        step *= R / np.linalg.norm(step)
        change = hessian(network.with_weights(network.W + step), X, y) - hessian(network, X, y)
        ratios.append(np.linalg.norm(change, 2) / (Lam * R))
    assert max(ratios) <= 1
    assert max(ratios) >= 1 / 200


def test_radius_shrinks_with_the_curvature_and_is_left_out_where_doubles_end():
    """A weak saddle has a small ball; weights near the end of the range of doubles have none, and
    still a claim or a refusal.
    """
    X, y = np.eye(2), np.array([1.0, 1e-12])
    strong = strict_saddle.build(
        ShallowNetwork(np.zeros((1, 2)), [1.0], "quadratic"), Dataset.from_preprocessed(X, y)
    )
    weak = strict_saddle.build(
        ShallowNetwork(np.zeros((1, 2)), [1.0], "quadratic"),
        Dataset.from_preprocessed(X, 1e-12 * y),
    )
    assert 0 < weak.summary["radius"] < strong.summary["radius"]
    assert weak.summary["radius"] == pytest.approx(1e-6 * strong.summary["radius"], rel=1e-3)


def test_both_layers_have_a_radius_and_no_sampled_point_in_it_is_a_minimum():
    """The ball around a saddle of both layers: the stored direction still curves down everywhere in
    it.
    """
    network, X, y = instance("tanh")
    claim = strict_saddle.build(network, Dataset.from_preprocessed(X, y), trained="vW")
    R, rng = claim.summary["radius"], np.random.default_rng(9)
    assert R > 0
    for _ in range(20):
        dv, dW = rng.standard_normal(network.v.shape), rng.standard_normal(network.W.shape)
        size = R / np.sqrt(np.sum(dv**2) + np.sum(dW**2))
        moved = network.with_weights(W=network.W + size * dW, v=network.v + size * dv)
        assert np.linalg.eigvalsh(hessian(moved, X, y, trained="vW"))[0] < 0

"""Claim relu-interpolation (DU-CERT-0, theorem RI): accepted by the checker, with dropped samples,
and refused with a reason.
"""

import math

import numpy as np
import pytest
from tests.shallow.claims.trained_networks import gauss_newton, interpolating, start

from globalmin.data import Dataset
from globalmin.errors import CannotCertify
from globalmin.proving.producer import certify, check
from globalmin.shallow.claims import relu_interpolation
from globalmin.shallow.claims.relu_interpolation import reduce_samples
from globalmin.shallow.network import ShallowNetwork


def verdict(certificate, tmp_path):
    result = check(certificate.save(tmp_path / "fit.gmc"))
    return result.verdict.name, result.reason


@pytest.mark.parametrize("trained", ["W", "vW"])
@pytest.mark.parametrize("seed", range(3))
def test_trained_relu_networks_are_accepted(seed, trained, tmp_path):
    network, data = interpolating("relu", k=12, seed=seed, trained=trained, distance=1e-3)
    certificate = certify(network, data, trained=trained)
    assert [claim.kind for claim in certificate.claims] == ["relu-interpolation"]
    assert verdict(certificate, tmp_path)[0] == "ACCEPTED"


def test_weights_that_are_good_enough_are_their_own_witness():
    network, data = interpolating("relu", k=12, distance=1e-3)
    claim = relu_interpolation.build(network, data)
    np.testing.assert_array_equal(claim.tensors["W_hat"], network.W)
    assert claim.summary["R"] == pytest.approx(
        claim.summary["residual_norm"] / math.sqrt(claim.summary["mu"]), rel=1e-6
    )


def test_roughly_trained_weights_are_moved_by_newton_steps_inside_their_cell(tmp_path):
    """At distance 1e-2 the margins do not suffice at W, but a few linear solves later they do."""
    network, data = start("relu", k=12, seed=3, distance=1e-2)
    certificate = certify(network, data)
    claim = certificate.claims[0]
    moved = float(np.linalg.norm(claim.tensors["W_hat"] - network.W))
    assert moved > 1e-3
    assert moved <= claim.summary["R"] <= moved * (1 + 1e-6) + 1e-9
    assert claim.summary["loss_upper"] > 1e-5
    assert verdict(certificate, tmp_path)[0] == "ACCEPTED"


def test_the_promised_zero_exists_within_the_radius():
    network, data = start("relu", k=12, seed=1, distance=1e-4)
    summary = certify(network, data).summary()
    moved = gauss_newton(network, data.X, data.y)
    assert np.linalg.norm(moved.predict(data.X) - data.y) < 1e-13
    assert np.linalg.norm(moved.W - network.W) <= summary["R"]
    assert summary["margin_needed"] < summary["margin"]


def test_neurons_on_a_kink_stay_outside_the_proof(tmp_path):
    network, data = interpolating("relu", k=14, distance=1e-3)
    W, v = np.vstack([network.W, np.zeros(6)]), np.append(network.v, 1.0)
    x = data.X[0]
    on_kink = np.zeros(6)
    on_kink[:2] = -x[1], x[0]  # orthogonal to the first row, exactly
    W[-1] = on_kink * 0.01
    widened = ShallowNetwork(W, v, "relu")
    trained = gauss_newton(widened.with_weights(W), data.X, data.y)
    W = np.array(trained.W)
    W[-1] = 0.0  # a dead neuron: z = 0 at every sample
    silent = trained.with_weights(W)
    silent = gauss_newton_without_last(silent, data)
    certificate = certify(silent, data)
    assert 14 not in certificate.claims[0].tensors["T"]
    assert verdict(certificate, tmp_path)[0] == "ACCEPTED"


def gauss_newton_without_last(network, data):
    part = gauss_newton(network.with_weights(network.W[:-1], network.v[:-1]), data.X, data.y)
    return network.with_weights(np.vstack([part.W, network.W[-1:]]), network.v)


def with_rows(data, rows, labels):
    return Dataset.from_preprocessed(np.vstack([data.X, rows]), np.concatenate([data.y, labels]))


def test_samples_that_follow_from_others_are_dropped_and_named(tmp_path):
    network, data = interpolating("relu", k=12, distance=1e-3)
    rows = [np.zeros(6), 2.0 * data.X[3], data.X[5], 0.25 * data.X[3]]
    extended = with_rows(data, rows, [0.0, 2.0 * data.y[3], data.y[5], 0.25 * data.y[3]])
    certificate = certify(network, extended)
    assert certificate.claims[0].tensors["dropped"].tolist() == [
        [20, -1],
        [21, 3],
        [22, 5],
        [23, 3],
    ]
    assert certificate.claims[0].tensors["C"].shape == (20, 20)
    assert verdict(certificate, tmp_path)[0] == "ACCEPTED"


def test_nothing_dropped_is_an_empty_table():
    network, data = interpolating("relu", k=12, distance=1e-3)
    assert certify(network, data).claims[0].tensors["dropped"].shape == (0, 2)


def test_contradicting_samples_are_refused_by_name():
    network, data = interpolating("relu", k=12, distance=1e-3)
    with pytest.raises(CannotCertify, match="row 20 is zero but its label is not"):
        relu_interpolation.build(network, with_rows(data, [np.zeros(6)], [1.0]))
    with pytest.raises(CannotCertify, match="rows 4 and 20 lie on one ray"):
        relu_interpolation.build(network, with_rows(data, [4.0 * data.X[4]], [1.0]))
    with pytest.raises(CannotCertify, match="nothing is left to prove"):
        reduce_samples(Dataset.from_preprocessed(np.zeros((2, 3)), np.zeros(2)))


def test_opposite_rows_are_not_dropped():
    _, data = start("relu")
    reduction = reduce_samples(with_rows(data, [-data.X[2]], [-data.y[2]]))
    assert reduction.dropped.shape == (0, 2)
    assert reduction.kept.tolist() == list(range(21))


def test_untrained_and_narrow_networks_are_refused_with_the_measured_reason():
    network, data = start("relu", k=12, distance=5.0)
    with pytest.raises(
        CannotCertify,
        match=r"sqrt mu\) = .*, must be < 1; train further \(relative residual .*kd = 72 >= n = 20",
    ):
        certify(network, data)
    narrow, data = start("relu", k=3, distance=1e-3)
    with pytest.raises(CannotCertify, match=r"singular \(kd = 18 < n = 20"):
        certify(narrow, data)


def test_refusal_prints_the_residual_of_the_stored_network_and_calls_the_other_one_another():
    """The Newton steps that look for a witness move to other weights; their residual is not the
    user's.
    """
    others = 0
    for seed in range(4):
        network, data = start("relu", k=12, distance=5.0, seed=seed)
        data = with_rows(
            data, [4.0 * data.X[4]], [4.0 * data.y[4]]
        )  # left out of the proof, not of the user's residual
        with pytest.raises(CannotCertify) as refusal:
            certify(network, data)
        reason = refusal.value.reasons["relu-interpolation"]
        own = np.linalg.norm(network.predict(data.X) - data.y) / np.linalg.norm(data.y)
        about_stored, _, about_other = reason.partition("Newton steps")
        assert f"train further (relative residual {own:.1e})" in about_stored
        assert "at the stored weights" in about_stored
        assert about_stored.count("relative residual") == 1
        if about_other:
            others += 1
            assert "another network" in about_other
            assert f"relative residual {own:.1e}" not in about_other
    assert others >= 2


def test_other_activations_are_refused():
    network, data = start("leaky_relu(0.1)")
    with pytest.raises(CannotCertify, match="about relu, not leaky_relu"):
        relu_interpolation.build(network, data)


def test_ill_conditioned_cells_are_certified_with_extended_precision(tmp_path):
    rng = np.random.default_rng(2)
    X = rng.standard_normal((10, 6))
    X[1] = X[0] + 1e-6 * rng.standard_normal(6)
    network = ShallowNetwork(rng.standard_normal((10, 6)), rng.choice([-1.0, 1.0], 10), "relu")
    data = Dataset.from_preprocessed(X, network.predict(X))
    certificate = certify(network, data)
    assert certificate.summary()["mu"] < 1e-10
    assert verdict(certificate, tmp_path)[0] == "ACCEPTED"

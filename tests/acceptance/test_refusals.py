"""What must never be accepted, tried through the public surface: each is refused with a reason."""

from fractions import Fraction

import numpy as np
import pytest
from tests.oracles.gmc_builder import pack, unpack

import globalmin as gm


@pytest.fixture(scope="module")
def fitted():
    data = gm.generators.sphere_with_random_labels(30, 8, seed=1)
    run = gm.train_auto(data, width=6, activation="softplus", seed=1)
    return data, run.network


def _verdict(blob: bytes, tmp_path):
    path = tmp_path / "file.gmc"
    path.write_bytes(blob)
    return gm.check(path)


def test_a_network_that_does_not_interpolate_is_refused_with_the_measured_reason(fitted):
    data, network = fitted
    with pytest.raises(gm.errors.CannotCertify, match="must be"):
        gm.certify(network.with_weights(W=network.W + 0.3), data)


def test_a_singular_jacobian_is_refused(fitted):
    data, network = fitted
    some = [0, 1, 5]  # 24 weights for 30 samples, heads of both signs
    narrow = gm.ShallowNetwork(network.W[some], network.v[some], network.activation)
    with pytest.raises(gm.errors.CannotCertify, match="kd = 24 < n = 30"):
        gm.certify(narrow, data)


def test_a_repeated_row_makes_the_jacobian_singular_and_is_left_out_of_the_file(fitted, tmp_path):
    data, network = fitted
    doubled = gm.Dataset(
        np.vstack([data.X, data.X[:1]]), np.append(data.y, data.y[0]), bias=False, scaling="none"
    )
    certificate = gm.certify(network, doubled, claims=["interpolation"])
    assert np.array_equal(certificate.data.X, data.X)
    assert any("repeat" in note for note in certificate.notes)
    assert _verdict(certificate.to_bytes(), tmp_path).verdict.value == "ACCEPTED"


def test_swapped_data_are_refused_even_with_a_fresh_digest_and_seal(fitted, tmp_path):
    data, network = fitted
    certificate = gm.certify(network, data)
    other = gm.Dataset(data.X, np.roll(data.y, 1), bias=False, scaling="none")
    swapped = type(certificate)(certificate.claims, network, other, True)
    result = _verdict(swapped.to_bytes(), tmp_path)
    assert result.verdict.value == "REJECTED"
    assert "fails" in result.reason


@pytest.mark.parametrize(
    ("kind", "field"),
    [("interpolation", "R"), ("descent", "path"), ("descent", "rate"), ("descent", "loss_upper")],
)
def test_a_claim_tightened_by_hand_is_refused(fitted, tmp_path, kind, field):
    data, network = fitted
    statement, tensors = unpack(gm.certify(network, data, claims=[kind]).to_bytes())
    claimed = Fraction(statement["claims"][0][field])
    statement["claims"][0][field] = str(
        1 - (1 - claimed) * Fraction(11, 10) if field == "rate" else claimed * Fraction(9, 10)
    )
    result = _verdict(pack(statement, tensors), tmp_path)
    assert result.verdict.value == "REJECTED"
    assert "fails" in result.reason

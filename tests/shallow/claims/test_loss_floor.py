"""Claim loss-floor: exact floors of conflicting data, the gap of the stored weights, accepted by
the checker.
"""

from fractions import Fraction

import numpy as np
import pytest
from tests.shallow.claims.trained_networks import interpolating

from globalmin.data import Dataset
from globalmin.errors import CannotCertify
from globalmin.proving.producer import certify, check
from globalmin.shallow.claims import loss_floor
from globalmin.shallow.network import ShallowNetwork, loss


def verdict(certificate, tmp_path):
    result = check(certificate.save(tmp_path / "fit.gmc"))
    return result.verdict.name, result.reason


def network(activation, d=2, k=3, seed=0, positive=False):
    rng = np.random.default_rng(seed)
    v = rng.standard_normal(k)
    return ShallowNetwork(rng.standard_normal((k, d)), np.abs(v) if positive else v, activation)


CASES = {
    "equal rows": ("softplus", [[0.0, 1.0], [-0.0, 1.0]], [0.0, 1.0], Fraction(1, 4)),
    "zero row": ("tanh", [[0.0, 0.0], [1.0, 2.0]], [3.0, 1.0], Fraction(9, 2)),
    "ray": ("relu", [[1.0, 2.0], [2.0, 4.0]], [1.0, 1.0], Fraction(1, 10)),
    "leaky ray": ("leaky_relu(0.25)", [[1.0, 2.0], [2.0, 4.0]], [1.0, 1.0], Fraction(1, 10)),
    "line": ("quadratic", [[1.0, 2.0], [-2.0, -4.0]], [1.0, 1.0], (2 - Fraction(25, 17)) / 2),
    "abs line": ("abs", [[1.0, 2.0], [-2.0, -4.0]], [1.0, 1.0], Fraction(1, 10)),
    "odd pair": ("erf", [[1.0, 2.0], [-1.0, -2.0]], [1.0, 1.0], Fraction(1)),
    "linear ray": ("linear", [[1.0, 2.0], [2.0, 4.0]], [1.0, 1.0], Fraction(1, 10)),
    "two groups": (
        "sigmoid",
        [[0.0, 1.0], [0.0, 1.0], [1.0, 1.0], [1.0, 1.0]],
        [0.0, 1.0, 2.0, 5.0],
        Fraction(1, 4) + Fraction(9, 4),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_golden_floors_are_exact_and_accepted(case, tmp_path):
    activation, X, y, floor = CASES[case]
    model = network(activation)
    certificate = certify(model, Dataset.from_preprocessed(X, y))
    claim = certificate.claims[0]
    assert claim.kind == "loss-floor"
    assert Fraction(claim.fields["floor"]) == floor
    assert claim.fields["heads"] == "any"
    assert Fraction(claim.fields["gap"]) == Fraction(claim.fields["loss_upper"]) - floor
    exact = loss(model, np.array(X), np.array(y))
    assert exact * (1 - 1e-12) <= certificate.summary()["loss_upper"] <= exact * (1 + 1e-6)
    assert verdict(certificate, tmp_path)[0] == "ACCEPTED"


def test_long_floors_are_rounded_down_to_fit_the_format(tmp_path):
    rng = np.random.default_rng(0)
    base = rng.standard_normal((40, 3))
    X = np.vstack([base, base * rng.choice([2.0, 0.5, 4.0], (40, 1))])
    data = Dataset.from_preprocessed(X, rng.standard_normal(80))
    certificate = certify(network("relu", d=3), data)
    floor = Fraction(certificate.claims[0].fields["floor"])
    exact = data.degeneracy.loss_floor("relu").floor
    assert 0 <= exact - floor <= exact * Fraction(1, 2**200)
    assert len(certificate.claims[0].fields["floor"]) <= 2500
    assert verdict(certificate, tmp_path)[0] == "ACCEPTED"


def test_gap_is_proved_to_be_small_for_a_network_at_the_floor(tmp_path):
    """Conflicting duplicates: train on the means, then the loss is the floor up to rounding."""
    model, data = interpolating("softplus")
    X = np.vstack([data.X, data.X[:4]])
    doubled = Dataset.from_preprocessed(
        X, np.concatenate([data.y + np.r_[np.full(4, 0.5), np.zeros(16)], data.y[:4] - 0.5])
    )
    certificate = certify(model, doubled)
    summary = certificate.summary()
    assert summary["floor"] == pytest.approx(4 * 0.25, rel=1e-12)
    assert 0 <= summary["gap"] < 1e-8
    assert verdict(certificate, tmp_path)[0] == "ACCEPTED"


@pytest.mark.parametrize("activation", ["softplus", "relu", "quadratic"])
def test_negative_labels_cost_networks_with_a_nonnegative_head(activation, tmp_path):
    data = Dataset.from_preprocessed([[1.0, 2.0], [2.0, 1.0], [1.0, -1.0]], [1.0, -3.0, 2.0])
    certificate = certify(network(activation, positive=True), data)
    claim = certificate.claims[0]
    assert claim.kind == "loss-floor"
    assert claim.fields["heads"] == "nonnegative"
    assert Fraction(claim.fields["floor"]) == Fraction(9, 2)
    assert verdict(certificate, tmp_path)[0] == "ACCEPTED"


def test_the_head_counts_as_free_when_both_layers_are_trained():
    data = Dataset.from_preprocessed([[1.0, 2.0], [2.0, 1.0]], [1.0, -3.0])
    with pytest.raises(CannotCertify, match="no conflicting rows"):
        loss_floor.build(network("softplus", positive=True), data, "vW")
    assert (
        loss_floor.build(network("softplus", positive=True), data, "W").fields["heads"]
        == "nonnegative"
    )
    with pytest.raises(CannotCertify, match="no conflicting rows"):
        loss_floor.build(network("tanh", positive=True), data, "W")


def test_an_overflowing_loss_is_refused():
    model = network("quadratic")
    huge = model.with_weights(model.W * 1e100)
    with pytest.raises(CannotCertify, match="overflows a double"):
        certify(huge, Dataset.from_preprocessed([[1.0, 2.0], [1.0, 2.0]], [0.0, 1.0]))


def test_data_without_conflicts_have_no_floor_claim():
    model, data = interpolating("softplus")
    with pytest.raises(CannotCertify, match="no conflicting rows") as caught:
        certify(model, data, ["loss-floor"])
    assert set(caught.value.reasons) == {"loss-floor"}


def test_no_gram_matrix_is_formed_so_size_does_not_matter():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 2))
    X[1] = X[0]
    certificate = certify(
        network("softplus"), Dataset.from_preprocessed(X, rng.standard_normal(20_000))
    )
    assert certificate.claims[0].kind == "loss-floor"

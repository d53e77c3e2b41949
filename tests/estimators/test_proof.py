"""Certificates of the estimators: accepted from their bytes, with bounds that hold."""

from fractions import Fraction

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris

from globalmin.data import Dataset
from globalmin.errors import DataError
from globalmin.estimators import (
    QuadraticNetworkRegressor,
    ShallowNetworkClassifier,
    ShallowNetworkRegressor,
)
from globalmin.proving.producer import check, prove

RNG = np.random.default_rng(5)
X = RNG.standard_normal((32, 6))
Y = RNG.standard_normal(32)


def _extended_loss(model, X, y):
    """The loss of a softplus network in extended precision, by loops."""
    data = Dataset.from_raw(X, y, model.preprocessing_)
    total = np.longdouble(0)
    for x, label in zip(data.X.astype(np.longdouble), data.y, strict=True):
        output = sum(
            v * np.logaddexp(np.longdouble(0), w @ x)
            for v, w in zip(model.network_.v, model.network_.W, strict=True)
        )
        total += (output - label) ** 2 / 2
    return total


@pytest.mark.parametrize("activation", ["softplus", "relu", "tanh"])
def test_certificate_bytes_are_accepted_by_the_checker_again(activation, tmp_path):
    model = ShallowNetworkRegressor(activation=activation, random_state=0).fit(X, Y)
    path = tmp_path / "fit.gmc"
    path.write_bytes(model.certificate_)
    assert check(path).verdict.value == model.verdict_ == "ACCEPTED"


def test_certificate_speaks_of_the_stored_data_and_of_the_fitted_network(tmp_path):
    from safetensors.numpy import load_file

    model = ShallowNetworkRegressor(random_state=0).fit(X, Y)
    tensors = load_file(model.save_certificate(tmp_path / "fit.gmc"))
    np.testing.assert_array_equal(tensors["W"], model.network_.W)
    np.testing.assert_array_equal(tensors["X"], model.preprocessing_.transform(X))
    np.testing.assert_array_equal(tensors["y"], model.preprocessing_.transform_y(Y))


def test_one_certificate_per_target_can_be_saved(tmp_path):
    model = ShallowNetworkRegressor(random_state=0).fit(X, np.column_stack([Y, Y**2]))
    for target in (0, 1):
        path = model.save_certificate(tmp_path / f"{target}.gmc", target)
        assert path.read_bytes() == model.certificate_[target]
        assert check(path).verdict.value == "ACCEPTED"


def test_a_changed_byte_is_not_accepted(tmp_path):
    path = ShallowNetworkRegressor(random_state=0).fit(X, Y).save_certificate(tmp_path / "fit.gmc")
    content = bytearray(path.read_bytes())
    content[-5] ^= 1
    path.write_bytes(content)
    assert check(path).verdict.value != "ACCEPTED"


def test_loss_bound_holds_and_is_tight():
    model = ShallowNetworkRegressor(random_state=0, tol=1e-3).fit(
        X, Y
    )  # a loss well above the rounding errors
    actual = _extended_loss(model, X, Y)
    assert actual <= model.loss_upper_ <= actual * (1 + 1e-6)
    assert model.loss_lower_ == 0


def test_conflicting_labels_give_half_the_within_group_sum_of_squares_exactly():
    inputs = np.vstack([X, X[:3], X[:1]])
    y = np.append(Y, np.random.default_rng(1).standard_normal(4))
    model = ShallowNetworkRegressor(random_state=0).fit(inputs, y)
    stored = [Fraction(value) for value in model.preprocessing_.transform_y(y).tolist()]
    floor = Fraction(0)
    for group in ((0, 32, 35), (1, 33), (2, 34)):
        mean = sum(stored[i] for i in group) / len(group)
        floor += sum((stored[i] - mean) ** 2 for i in group) / 2
    assert model.verdict_ == "ACCEPTED"
    assert 0 <= floor - Fraction(model.loss_lower_) <= floor * Fraction(1, 2**50)
    assert (
        floor <= Fraction(model.loss_upper_) <= floor * (1 + Fraction(2, 10**9))
    )  # the producer leaves 1e-9
    assert model.loss_upper_ >= _extended_loss(model, inputs, y) * (1 - 1e-18)


def test_repeated_samples_are_stated_once_and_the_bound_is_about_them(tmp_path):
    from safetensors.numpy import load_file

    inputs, y = np.vstack([X, X[:4], X[:1]]), np.concatenate([Y, Y[:4], Y[:1]])
    model = ShallowNetworkRegressor(random_state=0, tol=1e-3).fit(inputs, y)
    assert model.verdict_ == "ACCEPTED"
    tensors = load_file(model.save_certificate(tmp_path / "fit.gmc"))
    np.testing.assert_array_equal(tensors["X"], model.preprocessing_.transform(X))
    distinct = _extended_loss(model, X, Y)
    assert distinct <= model.loss_upper_ <= distinct * (1 + 1e-6)
    proof = prove(model.network_, Dataset.from_raw(inputs, y, model.preprocessing_))
    assert (proof.data.n_samples, proof.copies) == (32, 3)
    assert proof.loss_upper == model.loss_upper_
    assert _extended_loss(model, inputs, y) <= proof.copies * model.loss_upper_
    assert "at most 3 times as large" in proof.notes_on_data[0]


def test_relu_and_conflicting_data_are_certified_whole():
    relu = ShallowNetworkRegressor(activation="relu", random_state=0, certify=False)
    repeated = Dataset(np.vstack([X, X[:1]]), np.append(Y, Y[0]))
    proof = prove(
        relu.fit(X, Y).network_,
        Dataset.from_raw(repeated.raw.X, repeated.raw.y, relu.preprocessing_),
    )
    assert (proof.data.n_samples, proof.copies, proof.notes_on_data) == (33, 1, ())
    smooth = ShallowNetworkRegressor(random_state=0, certify=False)
    inputs, y = np.vstack([X, X[:1]]), np.append(Y, Y[0] + 1)
    proof = prove(
        smooth.fit(inputs, y).network_, Dataset.from_raw(inputs, y, smooth.preprocessing_)
    )
    assert (proof.verdict, proof.data.n_samples, proof.copies) == ("ACCEPTED", 33, 1)
    assert proof.loss_lower > 0


def test_nothing_is_claimed_of_a_network_that_does_not_fit():
    data = Dataset(X, Y)
    model = ShallowNetworkRegressor(random_state=0, certify=False).fit(X, Y)
    spoiled = model.network_.with_weights(W=model.network_.W + 1.0)
    proof = prove(spoiled, data)
    assert (proof.certificate, proof.verdict, proof.loss_upper, proof.loss_lower, proof.gap) == (
        None,
        "NOT PROVED",
        np.inf,
        0.0,
        np.inf,
    )
    assert set(proof.reasons) == {"descent", "interpolation"}
    assert "train further" in proof.why


def test_certify_false_leaves_certificate_and_verdict_none(tmp_path):
    model = ShallowNetworkRegressor(random_state=0, certify=False).fit(X, Y)
    assert model.certificate_ is None
    assert model.verdict_ is None
    assert (model.loss_lower_, model.loss_upper_) == (0.0, np.inf)
    with pytest.raises(DataError, match="no accepted certificate"):
        model.save_certificate(tmp_path / "none.gmc")
    assert not list(tmp_path.iterdir())


def test_iris_bounds_are_those_of_the_distinct_rows():
    inputs, y = load_iris(return_X_y=True)
    model = ShallowNetworkClassifier(random_state=0).fit(inputs, y == 1)
    assert model.verdict_ == "ACCEPTED"
    rows = np.unique(inputs, axis=0, return_index=True)[1]
    assert len(rows) < len(inputs)
    residual = (model.decision_function(inputs) - np.where(y == 1, 1.0, -1.0))[rows]
    assert 0.5 * residual @ residual <= model.loss_upper_ * (1 + 1e-6) + 1e-24
    assert model.loss_upper_ < 1e-15


def test_the_gap_has_the_same_names_everywhere():
    rng = np.random.default_rng(4)
    X = rng.standard_normal((20, 3))
    y = X[:, 0] * X[:, 1] + X[:, 2]
    for model in (
        ShallowNetworkRegressor(random_state=0),
        QuadraticNetworkRegressor(weight_decay=1.0),
    ):
        model.fit(X, y)
        assert model.optimal_ is True
        assert model.lower_bound_ == model.loss_lower_
        # up to the rounding of the sum
        highest = (model.lower_bound_ + model.gap_) * (1 + 1e-15)
        assert model.lower_bound_ <= model.loss_upper_ <= highest
        # an estimate in floats: of zero, rounding is all there is
        assert model.objective_ == pytest.approx(model.loss_upper_, rel=1e-6, abs=1e-20)
        unproved = clone(model).set_params(certify=False).fit(X, y)
        assert unproved.optimal_ is False
        assert unproved.gap_ == np.inf

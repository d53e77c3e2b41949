"""The estimators of deep networks: tables, images, several targets, proofs, files, minibatches."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning

import globalmin as gm
from globalmin.deep.inputs import (
    LEAST_WIDTH,
    deep_dataset,
    enough_width,
    image_rows,
    prove_deep,
)
from globalmin.errors import DataError

RNG = np.random.default_rng(0)
X = RNG.standard_normal((16, 3))
Y = np.stack([X[:, 0] * X[:, 1], X[:, 2] + 5.0], axis=1)
SMALL = {"depth": 2, "width": 24, "random_state": 0}


@pytest.fixture(scope="module")
def fitted():
    return gm.DeepNetworkRegressor(**SMALL).fit(X, Y)


def test_every_target_is_fitted_proved_and_bounded(fitted, tmp_path):
    assert fitted.verdict_ == ["ACCEPTED", "ACCEPTED"]
    assert max(fitted.loss_upper_) < 1e-20
    assert fitted.loss_lower_ == [0.0, 0.0]
    assert fitted.gap_ == fitted.loss_upper_
    np.testing.assert_allclose(fitted.predict(X), Y, atol=1e-9)
    path = fitted.save_certificate(tmp_path / "one.gmc", target=1)
    assert gm.check(path).verdict == "ACCEPTED"
    assert [run.start.width for run in fitted.run_] == fitted.width_ == [24, 24]
    with pytest.raises(AttributeError, match="networks_"):
        _ = fitted.network_


def test_a_saved_estimator_is_read_through_the_door_of_all_networks(fitted, tmp_path):
    fitted.save(tmp_path / "model.safetensors")
    stored = gm.load_networks(tmp_path / "model.safetensors")
    outputs = [
        step.restore(network.predict(step.transform(X)))
        for network, step in zip(stored.networks, stored.preprocessing, strict=True)
    ]
    np.testing.assert_array_equal(np.stack(outputs, axis=1), fitted.predict(X))


def test_images_of_two_channels_are_those_of_the_table_and_meet_the_network_channel_by_channel():
    images = np.random.default_rng(1).standard_normal((9, 3, 4, 2))
    labels = np.arange(9.0)
    options = {"architecture": "convolutional_resnet", "depth": 2, "width": 4, "certify": False}
    model = gm.DeepNetworkRegressor(**options, random_state=0).fit(images, labels)
    table = gm.DeepNetworkRegressor(**options, image_shape=(3, 4, 2), random_state=0)
    table.fit(images.reshape(9, -1), labels)
    np.testing.assert_array_equal(model.predict(images), table.predict(images.reshape(9, -1)))
    assert model.n_features_in_ == 24
    assert model.network_.input_shape == (2, 3, 4)
    step = model.preprocessing_
    scaled = (images - images.mean(axis=(0, 1, 2))) / images.std(axis=(0, 1, 2))
    scaled /= np.sqrt(np.square(scaled).sum(axis=(1, 2, 3)).mean())
    # the same statistics by another order of summation
    np.testing.assert_allclose(
        step.transform(image_rows(images, (3, 4, 2))).reshape(9, 2, 3, 4),
        scaled.transpose(0, 3, 1, 2),
        atol=1e-14,
    )
    with pytest.raises(DataError, match="fitted on"):
        model.predict(images[:, :2])


def test_a_classifier_of_images_knows_its_training_images_by_proof():
    digits = load_digits()
    images, labels = digits.images[:24], digits.target[:24] % 3
    model = gm.DeepNetworkClassifier(**SMALL).fit(images, labels)
    assert model.image_shape_ == (8, 8)
    assert model.verdict_ == ["ACCEPTED"] * 3
    assert max(model.loss_upper_) < 0.5
    assert model.score(images, labels) == 1.0
    assert model.decision_function(images).shape == (24, 3)


def test_inputs_have_a_mean_square_norm_of_one_in_the_units_of_no_column():
    """DU-T3.1 speaks of inputs of norm 1."""
    data = deep_dataset(X * [1.0, 100.0, 1e-3] + 7.0, Y, bias=True, scaling="standardize")
    inputs = data.X[:, :-1]
    assert np.square(inputs).sum(axis=1).mean() == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_allclose(np.square(inputs).mean(axis=0), 1 / 3, atol=1e-12)
    np.testing.assert_allclose(inputs.mean(axis=0), 0.0, atol=1e-12)
    assert (data.X[:, -1] == 1.0).all()
    unit = deep_dataset(X, Y, bias=False, scaling="rows")
    np.testing.assert_allclose(np.linalg.norm(unit.X, axis=1), 1.0, atol=1e-15)


def test_repeated_rows_are_left_out_of_the_proof_and_contradicting_ones_are_not_hidden():
    twice = np.vstack([X[:8], X[:3], X[:1]])
    model = gm.DeepNetworkRegressor(**SMALL).fit(twice, np.r_[Y[:8, 0], Y[:3, 0], Y[:1, 0]])
    assert model.verdict_ == "ACCEPTED"
    data = gm.Dataset(twice, np.r_[Y[:8, 0], Y[:3, 0], Y[:1, 0]])
    proof = prove_deep(model.network_, data)
    assert proof.copies == 3
    assert "4 of 12 rows" in proof.notes_on_data[0]
    assert "the 8 distinct rows" in proof.notes_on_data[0]
    contradicting = gm.Dataset(twice, np.r_[Y[:8, 0], Y[:3, 0] + 1.0, Y[:1, 0]])
    assert prove_deep(model.network_, contradicting).notes_on_data == ()
    with pytest.warns(UserWarning, match="no certificate"):
        model.fit(twice, np.r_[Y[:8, 0], Y[:3, 0] + 1.0, Y[:1, 0]])
    assert model.certificate_ is None
    assert model.run_.floor > 0


@pytest.mark.parametrize(
    ("architecture", "shape"),
    [("fully_connected", (5,)), ("resnet", (9,)), ("convolutional_resnet", (2, 4, 4))],
)
def test_an_automatic_width_has_eight_weights_per_sample(architecture, shape):
    for n in (3, 2_430, 3_000):  # 2,430: 32 channels of the convolution do, counted exactly
        m = enough_width(n, shape, 3, architecture, 3)
        network = gm.DeepNetwork.initialize(shape, m, 3, architecture)
        assert network.n_parameters >= 8 * n
        if m > LEAST_WIDTH[architecture]:
            smaller = gm.DeepNetwork.initialize(shape, m - 8, 3, architecture)
            assert smaller.n_parameters < 8 * n


def test_minibatches_lower_the_loss_and_a_run_that_falls_short_says_so():
    options = {"method": "gradient_descent", "batch_size": 4, "max_iter": 400, "certify": False}
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        model = gm.DeepNetworkRegressor(**SMALL, **options).fit(X, Y[:, 0])
    assert model.loss_curve_[-1] < 0.2 * model.loss_curve_[0]
    with pytest.raises(DataError, match="batch_size"):
        gm.DeepNetworkRegressor(batch_size=4).fit(X, Y[:, 0])


def test_the_picture_shows_the_spectrum_and_both_curves(fitted):
    figure = fitted.plot_training(X, Y, target=1)
    left, right = figure.axes
    assert len(left.lines[0].get_xdata()) == 16
    assert [line.get_label().split(",")[0] for line in right.lines] == ["predicted", "measured"]
    measured = right.lines[1].get_ydata()
    np.testing.assert_array_equal(measured, fitted.run_[1].losses)
    with pytest.raises(DataError, match="give those of fit"):
        fitted.plot_training(X, Y[:, 0])


@pytest.mark.parametrize(
    ("options", "inputs", "words"),
    [
        ({"image_shape": (3, 2)}, X, "image_shape"),
        ({}, np.zeros((4, 2, 2, 2, 2)), "images"),
        ({"architecture": "resnet", "depth": 1}, X, "depth"),
    ],
)
def test_unusable_shapes_are_refused_by_name(options, inputs, words):
    with warnings.catch_warnings(), pytest.raises(DataError, match=words):
        gm.DeepNetworkRegressor(**options).fit(inputs, np.arange(float(len(inputs))))

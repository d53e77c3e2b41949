"""The classifier: signs, one against the others, and the corners."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from globalmin.estimators import ShallowNetworkClassifier, ShallowNetworkRegressor

RNG = np.random.default_rng(11)
X = RNG.standard_normal((36, 5))
WORDS = np.array(["no", "yes"])[RNG.integers(2, size=36)]


@pytest.fixture(scope="module")
def iris():
    inputs, y = load_iris(return_X_y=True)
    return inputs, y, ShallowNetworkClassifier(random_state=0).fit(inputs, y)


def test_iris_is_learned_by_heart_and_proved_although_rows_repeat(iris):
    inputs, y, model = iris
    assert len(np.unique(inputs, axis=0)) < len(inputs)
    assert model.score(inputs, y) == 1.0
    assert model.verdict_ == ["ACCEPTED"] * 3
    assert (
        max(model.loss_upper_) < 0.5
    )  # so every training sample is proved to be classified correctly


def test_more_than_two_classes_are_decided_by_the_largest_output(iris):
    inputs, _, model = iris
    scores = model.decision_function(inputs[::7] + 0.05)
    assert scores.shape == (22, 3)
    np.testing.assert_array_equal(
        model.predict(inputs[::7] + 0.05), model.classes_[scores.argmax(axis=1)]
    )


def test_two_classes_are_one_network_and_its_sign():
    model = ShallowNetworkClassifier(random_state=0).fit(X, WORDS)
    assert list(model.classes_) == ["no", "yes"]
    assert len(model.networks_) == 1
    np.testing.assert_allclose(
        model.decision_function(X), np.where(WORDS == "yes", 1.0, -1.0), atol=1e-10
    )
    np.testing.assert_array_equal(model.predict(X), WORDS)
    fresh = np.random.default_rng(1).standard_normal((20, 5))
    np.testing.assert_array_equal(model.predict(fresh) == "yes", model.decision_function(fresh) > 0)


def test_the_binary_classifier_is_the_regressor_on_signs_that_are_left_alone():
    signs = np.where(WORDS == "yes", 1.0, -1.0)
    model = ShallowNetworkClassifier(random_state=0, certify=False).fit(X, WORDS)
    standardized = ShallowNetworkRegressor(random_state=0, certify=False).fit(X, signs)
    assert (model.preprocessing_.y_shift, model.preprocessing_.y_scale) == (0.0, 1.0)
    np.testing.assert_array_equal(model.preprocessing_.x_scale, standardized.preprocessing_.x_scale)
    np.testing.assert_array_equal(
        np.sign(model.decision_function(X)), np.sign(standardized.predict(X))
    )


def test_there_are_no_probabilities():
    assert not hasattr(ShallowNetworkClassifier(), "predict_proba")


def test_a_single_class_is_always_predicted():
    model = ShallowNetworkClassifier(random_state=0).fit(X, np.full(36, "only"))
    assert set(model.predict(10 * np.random.default_rng(1).standard_normal((9, 5)))) == {"only"}
    assert model.decision_function(X).shape == (36,)


def test_continuous_labels_are_refused():
    with pytest.raises(ValueError, match="Unknown label type"):
        ShallowNetworkClassifier().fit(X, np.linspace(0.0, 1.0, 36))


def test_conflicting_classes_at_one_point_give_the_floor_and_the_majority():
    inputs = np.vstack([X, X[:1], X[:1]])
    y = np.append(np.arange(36) % 2, [1, 1])  # two votes for 1 against one for 0 at the first point
    model = ShallowNetworkClassifier(random_state=0).fit(inputs, y)
    assert model.verdict_ == "ACCEPTED"
    # labels -1, 1, 1 around their mean 1/3: squares 16/9 + 4/9 + 4/9, half of the sum is 4/3
    assert model.loss_lower_ == pytest.approx(4 / 3, rel=1e-15)
    assert model.loss_upper_ == pytest.approx(
        4 / 3, rel=2e-9
    )  # the producer leaves a margin of 1e-9
    assert model.predict(inputs[:1]) == [1]

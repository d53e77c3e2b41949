"""The estimators inside scikit-learn's tools."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import load_diabetes
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

from globalmin.estimators import ShallowNetworkClassifier, ShallowNetworkRegressor

RNG = np.random.default_rng(9)
X = RNG.standard_normal((40, 4))
Y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2]


def test_pipeline_fits_and_predicts():
    model = make_pipeline(PolynomialFeatures(2), ShallowNetworkRegressor(random_state=0)).fit(X, Y)
    np.testing.assert_allclose(model.predict(X), Y, atol=1e-10)
    assert model[-1].verdict_ == "ACCEPTED"


def test_transformed_target_regressor_composes():
    model = TransformedTargetRegressor(
        ShallowNetworkRegressor(random_state=0), func=np.arcsinh, inverse_func=np.sinh
    ).fit(X, Y)
    np.testing.assert_allclose(model.predict(X), Y, atol=1e-9)


def test_grid_search_chooses_a_width():
    search = GridSearchCV(
        ShallowNetworkRegressor(certify=False, random_state=0),
        {"width": [8, 12], "activation": ["softplus", "tanh"]},
        cv=3,
    ).fit(X, Y)
    assert search.best_params_["width"] in (8, 12)
    assert search.best_estimator_.width_ == search.best_params_["width"]


def test_cross_validation_shows_that_zero_training_loss_is_not_generalization():
    inputs, y = load_diabetes(return_X_y=True)
    model = ShallowNetworkRegressor(certify=False, random_state=0)
    scores = cross_val_score(model, inputs[:120], y[:120], cv=3)
    assert model.fit(inputs[:120], y[:120]).score(inputs[:120], y[:120]) > 1 - 1e-12
    assert np.mean(scores) < 0.3


def test_a_pickled_model_predicts_the_same_and_keeps_its_certificate():
    model = ShallowNetworkClassifier(random_state=0).fit(X, Y > 0)
    again = pickle.loads(pickle.dumps(model))  # noqa: S301
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert again.certificate_ == model.certificate_


def test_a_clone_is_unfitted():
    model = clone(ShallowNetworkRegressor(random_state=0).fit(X, Y))
    assert not hasattr(model, "networks_")
    with pytest.raises(AttributeError, match="has no single network; fit it"):
        _ = model.network_


def test_the_public_names_are_at_the_top_of_the_package():
    import globalmin as gm

    assert gm.ShallowNetworkRegressor is ShallowNetworkRegressor
    assert gm.ShallowNetworkClassifier is ShallowNetworkClassifier

"""Quadratic network regressors: the scikit-learn contract, proved gaps, real data, bad input."""

import unittest

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from globalmin.errors import DataError
from globalmin.estimators import QuadraticNetworkRegressor, QuadraticNetworkRegressorCV
from globalmin_check import check_file


@pytest.fixture(autouse=True)
def _array_api_enabled(monkeypatch):
    # without it scikit-learn skips its array API check without a word
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")


@parametrize_with_checks(
    [QuadraticNetworkRegressor(), QuadraticNetworkRegressor(weight_decay=1.0), QuadraticNetworkRegressorCV(n_decays=3, cv=3)]
)
def test_estimator_check_passes_and_is_not_skipped(estimator, check):
    try:
        check(estimator)
    except (unittest.SkipTest, pytest.skip.Exception) as skipped:
        pytest.fail(f"the check was skipped: {skipped}")


def table(n=60, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, X[:, 0] * X[:, 1] + X[:, 2] + 0.3 * rng.standard_normal(n)


@pytest.mark.parametrize("signs", ["mixed", "positive"])
@pytest.mark.parametrize("weight_decay", [0.0, 1.0, 1e3])
def test_fit_is_proved_to_be_the_minimum(signs, weight_decay, tmp_path):
    """SJL-T2.1, SJL-T2.2k: the checker's own reading of the file gives the bounds of the attributes."""
    X, y = table()
    model = QuadraticNetworkRegressor(signs=signs, weight_decay=weight_decay).fit(X, y)
    assert model.verdict_ == "ACCEPTED"
    assert model.gap_ <= 1e-8 * model.loss_upper_
    assert model.loss_lower_ <= model.objective_ * (1 + 1e-12) <= model.loss_upper_ * (1 + 1e-9)
    result = check_file(model.save_certificate(tmp_path / "fit.gmc"))
    assert result.verdict.name == "ACCEPTED"
    assert result.claims[0].numbers["gap"] == model.gap_


def test_mixed_signs_without_decay_are_the_least_squares_polynomial():
    X, y = table()
    model = QuadraticNetworkRegressor().fit(X, y)
    reference = make_pipeline(StandardScaler(), PolynomialFeatures(2), Ridge(alpha=1e-12)).fit(X, y)
    fresh = np.random.default_rng(9).standard_normal((20, 4))
    np.testing.assert_allclose(model.predict(fresh), reference.predict(fresh), rtol=0, atol=1e-6)


def test_few_samples_are_interpolated_with_a_proof():
    X, y = table(n=12, d=6)
    model = QuadraticNetworkRegressor().fit(X, y)
    assert model.verdict_ == "ACCEPTED"
    assert model.loss_lower_ == 0.0
    assert model.gap_ <= 1e-18
    np.testing.assert_allclose(model.predict(X), y, rtol=0, atol=1e-8)


def test_strong_decay_gives_few_neurons_and_very_strong_decay_the_mean():
    X, y = table()
    widths = [QuadraticNetworkRegressor(weight_decay=w, certify=False).fit(X, y).width_ for w in (1e-3, 10.0, 60.0)]
    assert widths == sorted(widths, reverse=True)
    flat = QuadraticNetworkRegressor(weight_decay=1e6).fit(X, y)
    assert flat.verdict_ == "ACCEPTED"
    np.testing.assert_allclose(flat.predict(X), np.mean(y), rtol=1e-12)


def test_several_targets_have_one_proof_each():
    X, y = table()
    model = QuadraticNetworkRegressor(weight_decay=1.0).fit(X, np.column_stack([y, -y]))
    assert model.verdict_ == ["ACCEPTED", "ACCEPTED"]
    assert model.predict(X).shape == (60, 2)
    np.testing.assert_allclose(model.gap_, 0.0, atol=1e-6)


def test_narrow_network_warns_and_keeps_an_honest_gap():
    X, y = table()
    with pytest.warns(ConvergenceWarning, match="widen the network"):
        model = QuadraticNetworkRegressor(weight_decay=1.0, width=2).fit(X, y)
    assert model.verdict_ == "ACCEPTED"
    wide = QuadraticNetworkRegressor(weight_decay=1.0).fit(X, y)
    assert model.gap_ >= (model.objective_ - wide.objective_) * (1 - 1e-9) > 0


def test_repeated_features_without_decay_warn_and_with_decay_are_proved():
    """Equal columns: the squares do not span, so theorem S does not apply to mixed signs; theorem D does."""
    rng = np.random.default_rng(0)
    X, y = np.repeat(rng.standard_normal((60, 2)), 2, axis=1), rng.standard_normal(60)
    with pytest.warns(UserWarning, match="no certificate: .*do not provably span"):
        model = QuadraticNetworkRegressor().fit(X, y)
    assert model.certificate_ is None
    assert np.isinf(model.gap_)
    assert QuadraticNetworkRegressor(weight_decay=0.1).fit(X, y).verdict_ == "ACCEPTED"


def test_cross_validation_chooses_the_least_error_of_its_path_and_agrees_with_a_loop():
    """The path with warm starts against independent fits, fold by fold."""
    X, y = table()
    decays, folds = [0.3, 30.0, 3.0], KFold(4, shuffle=True, random_state=0)
    model = QuadraticNetworkRegressorCV(weight_decays=decays, cv=folds).fit(X, y)
    assert list(model.weight_decays_) == [30.0, 3.0, 0.3]
    plain = QuadraticNetworkRegressor(certify=False)
    loop = [
        -cross_val_score(clone(plain).set_params(weight_decay=w), X, y, cv=folds, scoring="neg_mean_squared_error")
        for w in model.weight_decays_
    ]
    np.testing.assert_allclose(model.mse_path_, loop, rtol=1e-2)
    assert model.weight_decay_ == model.weight_decays_[int(np.argmin(np.mean(loop, axis=1)))]
    assert model.verdict_ == "ACCEPTED"
    same = QuadraticNetworkRegressor(weight_decay=model.weight_decay_).fit(X, y)
    np.testing.assert_allclose(model.predict(X), same.predict(X), rtol=1e-12)


@pytest.mark.parametrize("decays", [[], [1.0, -1.0], [0.0], [np.inf], [[1.0]]])
def test_bad_weight_decays_are_refused(decays):
    with pytest.raises((DataError, ValueError), match="weight_decays"):
        QuadraticNetworkRegressorCV(weight_decays=decays).fit(*table())


def test_diabetes_generalizes_like_ridge_and_every_fold_is_proved():
    """SJL-T2.2k: weight decay and ridge alpha each at their best for these 5 folds; the allowance is a fifth of their spread."""
    X, y = load_diabetes(return_X_y=True)
    folds = KFold(5, shuffle=True, random_state=0)
    ridges = [
        cross_val_score(make_pipeline(StandardScaler(), Ridge(alpha=alpha)), X, y, cv=folds) for alpha in np.logspace(-2, 3, 11)
    ]
    ridge = max(ridges, key=np.mean)
    scores = []
    for train, test in folds.split(X):
        model = QuadraticNetworkRegressor(weight_decay=80.0).fit(X[train], y[train])
        assert model.verdict_ == "ACCEPTED"
        assert model.gap_ <= 1e-8 * model.loss_upper_
        scores.append(model.score(X[test], y[test]))
    assert np.mean(scores) >= np.mean(ridge) - 0.2 * np.std(ridge)

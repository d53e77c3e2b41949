"""Quadratic network regressors: the scikit-learn contract, proved gaps, real data, bad input."""

import inspect

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.estimators.contract import require_passed

from globalmin.errors import DataError
from globalmin.estimators import QuadraticNetworkRegressor, QuadraticNetworkRegressorCV
from globalmin.quadratic.solve import solve_quadratic
from globalmin_check import check_file


@parametrize_with_checks(
    [
        QuadraticNetworkRegressor(),
        QuadraticNetworkRegressor(weight_decay=1.0, bias_scale=4.0),
        QuadraticNetworkRegressorCV(n_decays=2, bias_scales=[1.0, 8.0], cv=3),
    ]
)
def test_estimator_check_passes_and_is_not_skipped(estimator, check, monkeypatch):
    require_passed(estimator, check, monkeypatch)


def table(n=60, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, X[:, 0] * X[:, 1] + X[:, 2] + 0.3 * rng.standard_normal(n)


@pytest.mark.parametrize("signs", ["mixed", "positive"])
@pytest.mark.parametrize("weight_decay", [0.0, 1.0, 1e3])
def test_fit_is_proved_to_be_the_minimum(signs, weight_decay, tmp_path):
    """SJL-T2.1, SJL-T2.2k: the checker's own reading of the file gives the bounds of the
    attributes.
    """
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
    widths = [
        QuadraticNetworkRegressor(weight_decay=w, certify=False).fit(X, y).width_
        for w in (1e-3, 10.0, 60.0)
    ]
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


def test_repeated_features_without_decay_get_the_weaker_claim_at_a_tiny_decay():
    """Equal columns: the squares do not span, so theorem S does not apply to mixed signs; theorem D
    does, at any decay.
    """
    rng = np.random.default_rng(0)
    X, y = np.repeat(rng.standard_normal((60, 2)), 2, axis=1), rng.standard_normal(60)
    model = QuadraticNetworkRegressor().fit(X, y)
    assert model.verdict_ == "ACCEPTED"
    assert b'"method":"decay"' in model.certificate_.replace(b"\\", b"")
    assert model.gap_ < 1e-8 * model.loss_upper_
    features = np.column_stack([model.preprocessing_.transform(X)[:, [0, 2]], np.ones(60)])
    squares = np.array([np.outer(x, x)[np.triu_indices(3)] for x in features])
    least = 0.5 * np.linalg.lstsq(squares, model.preprocessing_.transform_y(y), rcond=None)[1][0]
    assert model.loss_upper_ == pytest.approx(least, rel=1e-8)
    assert QuadraticNetworkRegressor(weight_decay=0.1).fit(X, y).verdict_ == "ACCEPTED"


def test_cross_validation_chooses_the_least_error_of_its_path_and_agrees_with_a_loop():
    """The path with warm starts against independent fits, fold by fold."""
    X, y = table()
    decays, folds = [0.3, 30.0, 3.0], KFold(4, shuffle=True, random_state=0)
    model = QuadraticNetworkRegressorCV(weight_decays=decays, bias_scales=[8.0, 1.0], cv=folds).fit(
        X, y
    )
    assert list(model.bias_scales_) == [1.0, 8.0]
    assert model.weight_decays_.tolist() == [[30.0, 3.0, 0.3]] * 2
    plain = QuadraticNetworkRegressor(certify=False)
    pairs = [
        [clone(plain).set_params(weight_decay=w, bias_scale=c) for w in model.weight_decays_[0]]
        for c in model.bias_scales_
    ]
    scoring = "neg_mean_squared_error"
    loop = np.array(
        [[-cross_val_score(one, X, y, cv=folds, scoring=scoring) for one in row] for row in pairs]
    )
    # paths are trained roughly: objectives a few 1e-4 too high
    np.testing.assert_allclose(model.mse_path_, loop, rtol=1e-3)
    means = loop.mean(axis=-1)
    assert model.best_index_ == np.unravel_index(int(np.argmin(means)), means.shape)
    assert (model.bias_scale_, model.weight_decay_) == (
        model.bias_scales_[model.best_index_[0]],
        model.weight_decays_[model.best_index_],
    )
    assert model.verdict_ == "ACCEPTED"
    same = QuadraticNetworkRegressor(
        weight_decay=model.weight_decay_, bias_scale=model.bias_scale_
    ).fit(X, y)
    np.testing.assert_allclose(model.predict(X), same.predict(X), rtol=1e-12)


@pytest.mark.parametrize("name", ["weight_decays", "bias_scales"])
@pytest.mark.parametrize("values", [[], [1.0, -1.0], [0.0], [np.inf], [[1.0]]])
def test_lists_that_are_not_positive_numbers_are_refused_by_name(name, values):
    with pytest.raises((DataError, ValueError), match=f"{name}.*list of positive numbers"):
        QuadraticNetworkRegressorCV(**{name: values}).fit(*table())


def test_features_divided_by_the_bias_scale_are_a_larger_constant_feature_in_other_units():
    """x/c with the constant 1 and weight decay w is x with the constant c and weight decay w c^2:
    the same function.
    """
    X, y = table()
    c, w = 8.0, 0.5
    model = QuadraticNetworkRegressor(weight_decay=w, bias_scale=c).fit(X, y)
    Z, labels = (X - X.mean(axis=0)) / X.std(axis=0), (y - y.mean()) / y.std()
    solution = solve_quadratic(
        np.column_stack([Z, np.full(len(y), c)]), labels, weight_decay=w * c**2
    )
    outputs = solution.network.predict(np.column_stack([Z, np.full(len(y), c)]))
    np.testing.assert_allclose(model.predict(X), outputs * y.std() + y.mean(), rtol=0, atol=1e-5)
    assert model.verdict_ == "ACCEPTED"
    stored = model.preprocessing_.transform(X)
    np.testing.assert_array_equal(stored[:, -1], 1.0)
    np.testing.assert_allclose(stored[:, :-1], Z / c, rtol=1e-12)


def test_a_huge_bias_scale_is_ridge_regression_on_its_own_path():
    """The penalty tends to a multiple of |b|, whose minimizers are those of |b|^2 for another
    multiplier.
    """
    X, y = table()
    Z, labels = (X - X.mean(axis=0)) / X.std(axis=0), (y - y.mean()) / y.std()
    model = QuadraticNetworkRegressor(weight_decay=2e-3, bias_scale=2.0**12).fit(X, y)
    b = np.linalg.lstsq(Z, (model.predict(X) - y.mean()) / y.std(), rcond=None)[0]
    gradient = Z.T @ (labels - Z @ b)
    alpha = gradient @ b / (b @ b)
    assert alpha > 0
    np.testing.assert_allclose(gradient, alpha * b, atol=1e-2 * np.linalg.norm(gradient))


@pytest.mark.parametrize("options", [{"bias": False}, {"scaling": "rows"}])
def test_a_bias_scale_without_a_meaning_is_refused_and_the_default_grid_avoids_it(options):
    with pytest.raises(DataError, match=r"bias_scale=2\.0 has no meaning with"):
        QuadraticNetworkRegressor(bias_scale=2.0, **options).fit(*table())
    model = QuadraticNetworkRegressorCV(n_decays=3, cv=3, **options).fit(*table())
    assert model.bias_scales_.tolist() == [1.0]


def test_unscaled_data_can_have_a_bias_scale():
    X, y = table()
    model = QuadraticNetworkRegressor(weight_decay=0.1, bias_scale=4.0, scaling="none").fit(X, y)
    np.testing.assert_array_equal(model.preprocessing_.transform(X)[:, :-1], X / 4.0)
    assert model.verdict_ == "ACCEPTED"


@pytest.mark.parametrize("estimator", [QuadraticNetworkRegressor, QuadraticNetworkRegressorCV])
def test_every_parameter_and_fitted_attribute_is_documented(estimator):
    small = (
        {"n_decays": 2, "bias_scales": [1.0], "cv": 3}
        if estimator is QuadraticNetworkRegressorCV
        else {}
    )
    model = estimator(certify=False, **small).fit(*table())
    documented = inspect.getdoc(estimator)
    for name in [*model.get_params(), *(name for name in vars(model) if name.endswith("_"))]:
        assert name in documented, name
    assert set(model.get_params()) == set(estimator._parameter_constraints)

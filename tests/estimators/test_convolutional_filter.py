"""The filter regressor: the scikit-learn contract, signals and images, dead starts, degenerate
inputs.
"""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.estimators.contract import require_passed

from globalmin.estimators.convolutional_filter import ConvolutionalFilterRegressor
from globalmin.patches.inputs import (
    extract_patches,
    filter_at_distance,
    gabor_filter,
    random_filter,
)
from globalmin.patches.model import filter_outputs


# labels of both signs are out of reach of outputs that are never negative, so the limits of
# training are reached
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [
        ConvolutionalFilterRegressor(max_iter=30, restarts=1),
        ConvolutionalFilterRegressor(2, restarts=0, max_iter=30),
    ]
)
def test_estimator_check_passes_and_is_not_skipped(estimator, check, monkeypatch):
    require_passed(estimator, check, monkeypatch)


@pytest.mark.parametrize(("size", "stride"), [(3, 1), (3, 3), (4, 2)])
def test_filter_of_a_signal_is_recovered(size, stride):
    """DU-M6: overlapping patches and others, from random starts."""
    X, w = np.random.default_rng(0).standard_normal((300, 12)), random_filter(size, 1)
    y = filter_outputs(extract_patches(X, size, stride), w)
    model = ConvolutionalFilterRegressor(size, stride, random_state=0).fit(X, y)
    assert model.status_ == "converged"
    np.testing.assert_allclose(model.filter_, w, atol=1e-8)
    np.testing.assert_allclose(model.predict(X), y, atol=1e-8)
    assert model.n_patches_ == len(range(0, 12 - size + 1, stride))


@pytest.mark.parametrize("kind", ["random", "gabor"])
def test_digits_are_fitted_to_zero_loss_with_both_filters(kind):
    """DU-F6.3cd, DU-F6.4: from a good start the loss is near zero and the filter is the true
    one.
    """
    X = load_digits().data / 16.0
    w = random_filter(25, 0) if kind == "random" else gabor_filter(5)
    y = filter_outputs(extract_patches(X, 5, image_shape=(8, 8)), w)
    model = ConvolutionalFilterRegressor(
        5, image_shape=(8, 8), init=filter_at_distance(w, 0.5, 1), max_iter=100
    ).fit(X, y)
    assert model.loss_ < 1e-20
    assert model.filter_.shape == (5, 5)
    np.testing.assert_allclose(model.coef_, w, atol=1e-8)
    assert model.score(X, y) > 1 - 1e-12


def test_dead_start_is_reported_not_left_to_the_user():
    X = load_digits().data[:100] / 16.0
    y = filter_outputs(extract_patches(X, 5, image_shape=(8, 8)), gabor_filter(5))
    with pytest.warns(ConvergenceWarning, match="dead start"):
        model = ConvolutionalFilterRegressor(5, image_shape=(8, 8), init=-np.ones((5, 5))).fit(X, y)
    assert model.status_ == "dead"
    assert model.theorem_report(X, -np.ones(25)).start_dead
    with pytest.warns(ConvergenceWarning, match="dead start"):
        ConvolutionalFilterRegressor(random_state=0, restarts=0).fit(np.zeros((5, 3)), np.ones(5))


def test_report_is_about_the_patches_of_the_user():
    X = np.random.default_rng(1).standard_normal((400, 4))
    model = ConvolutionalFilterRegressor(random_state=0).fit(
        X, np.maximum(X @ [1.0, -1.0, 0.5, 0.0], 0)
    )
    assert model.n_patches_ == 1
    report = model.theorem_report(X, 0.8 * model.coef_)
    assert report.holds("DU-T6.2")


def test_inputs_that_cannot_work_are_refused_and_limits_warn():
    X, y = np.random.default_rng(2).standard_normal((30, 6)), np.arange(30.0)
    with pytest.raises(ValueError, match="larger than the signal"):
        ConvolutionalFilterRegressor(7).fit(X, y)
    with pytest.raises(ValueError, match="image_shape"):
        ConvolutionalFilterRegressor(2, image_shape=(4, 4)).fit(X, y)
    with pytest.raises(ValueError, match="a patch has 3"):
        ConvolutionalFilterRegressor(3, init=np.ones(4)).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        ConvolutionalFilterRegressor(3, method="sgd", max_iter=2, restarts=0, random_state=0).fit(
            X, y
        )

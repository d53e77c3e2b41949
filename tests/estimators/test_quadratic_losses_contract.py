"""Every check that scikit-learn has, none skipped, for quadratic networks with any loss."""

import unittest

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from globalmin.estimators import QuadraticNetworkClassifier, SquaresNetworkRegressor


@pytest.fixture(autouse=True)
def _array_api_enabled(monkeypatch):
    # without it scikit-learn skips its array API check without a word
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")


@parametrize_with_checks(
    [
        # the sharp gap is for checks that compare predictions to seven digits
        SquaresNetworkRegressor(n_decays=4, ratio=0.05, cv=3, gap=1e-9),
        QuadraticNetworkClassifier(weight_decay=0.5, gap=1e-9),
    ]
)
def test_estimator_check_passes_and_is_not_skipped(estimator, check):
    try:
        check(estimator)
    except (unittest.SkipTest, pytest.skip.Exception) as skipped:
        pytest.fail(f"the check was skipped: {skipped}")

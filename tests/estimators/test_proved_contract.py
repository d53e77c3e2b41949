"""Every check that scikit-learn has, none skipped, for the estimators that choose a network."""

import unittest

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from globalmin.estimators import ProvedNetworkClassifier, ProvedNetworkRegressor


@pytest.fixture(autouse=True)
def _array_api_enabled(monkeypatch):
    # without it scikit-learn skips its array API check without a word
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")


@parametrize_with_checks(
    [
        # the sharp gap is for checks that compare predictions to seven digits
        ProvedNetworkRegressor(models=("additive", "quadratic"), cv=2, gap=1e-8, certify=False),
        ProvedNetworkClassifier(models="additive", weight_decay=0.5, gap=1e-8),
    ]
)
def test_estimator_check_passes_and_is_not_skipped(estimator, check):
    try:
        check(estimator)
    except (unittest.SkipTest, pytest.skip.Exception) as skipped:
        pytest.fail(f"the check was skipped: {skipped}")

"""Every check that scikit-learn has for estimators, none skipped, none excused."""

import importlib.util
import unittest

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from globalmin.estimators import (
    DeepNetworkClassifier,
    DeepNetworkRegressor,
    ShallowNetworkClassifier,
    ShallowNetworkRegressor,
)

EXPECTED_FAILURES: dict[str, str] = {}


@pytest.fixture(autouse=True)
def _array_api_enabled(monkeypatch):
    # without it scikit-learn skips its array API check without a word
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")


def test_pandas_is_installed_because_checks_are_skipped_without_it():
    assert importlib.util.find_spec("pandas")


@parametrize_with_checks(
    [
        ShallowNetworkRegressor(),
        ShallowNetworkClassifier(),
        DeepNetworkRegressor(depth=2, width=32),
        DeepNetworkClassifier(depth=2, width=32),
    ],
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES,
)
def test_estimator_check_passes_and_is_not_skipped(estimator, check):
    try:
        check(estimator)
    except (unittest.SkipTest, pytest.skip.Exception) as skipped:
        pytest.fail(f"the check was skipped: {skipped}")

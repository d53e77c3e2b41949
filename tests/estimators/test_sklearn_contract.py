"""Every check that scikit-learn has for estimators, none skipped, none excused."""

import importlib.util

from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.estimators.contract import require_passed

from globalmin.estimators import (
    DeepNetworkClassifier,
    DeepNetworkRegressor,
    ShallowNetworkClassifier,
    ShallowNetworkRegressor,
)

EXPECTED_FAILURES: dict[str, str] = {}


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
def test_estimator_check_passes_and_is_not_skipped(estimator, check, monkeypatch):
    require_passed(estimator, check, monkeypatch)

"""Every check that scikit-learn has, none skipped, for the estimators that choose a network."""

from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.estimators.contract import require_passed

from globalmin.estimators import ProvedNetworkClassifier, ProvedNetworkRegressor


@parametrize_with_checks(
    [
        # the sharp gap is for checks that compare predictions to seven digits
        ProvedNetworkRegressor(models=("additive", "quadratic"), cv=2, gap=1e-8, certify=False),
        ProvedNetworkClassifier(models="additive", weight_decay=0.5, gap=1e-8),
    ]
)
def test_estimator_check_passes_and_is_not_skipped(estimator, check, monkeypatch):
    require_passed(estimator, check, monkeypatch)

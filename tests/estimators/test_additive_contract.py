"""Every check that scikit-learn has, none skipped, for additive networks."""

from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.estimators.contract import require_passed

from globalmin.estimators import AdditiveNetworkClassifier, AdditiveNetworkRegressor


@parametrize_with_checks(
    [
        # the sharp gap is for checks that compare predictions to seven digits
        AdditiveNetworkRegressor(n_decays=4, ratio=0.05, cv=3, gap=1e-8),
        AdditiveNetworkClassifier(weight_decay=0.5, gap=1e-8),
    ]
)
def test_estimator_check_passes_and_is_not_skipped(estimator, check, monkeypatch):
    require_passed(estimator, check, monkeypatch)

"""Every check that scikit-learn has, none skipped, for quadratic networks with any loss."""

from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.estimators.contract import require_passed

from globalmin.estimators import QuadraticNetworkClassifier, SquaresNetworkRegressor


@parametrize_with_checks(
    [
        # the sharp gap is for checks that compare predictions to seven digits
        SquaresNetworkRegressor(n_decays=4, ratio=0.05, cv=3, gap=1e-9),
        QuadraticNetworkClassifier(weight_decay=0.5, gap=1e-9),
    ]
)
def test_estimator_check_passes_and_is_not_skipped(estimator, check, monkeypatch):
    require_passed(estimator, check, monkeypatch)

"""Bad input for quadratic networks: a clear error that names argument, value and remedy, or the
honest weaker claim.
"""

import numpy as np
import pytest

from globalmin.data import Dataset
from globalmin.errors import CannotCertify, DataError
from globalmin.estimators import QuadraticNetworkRegressor, QuadraticNetworkRegressorCV
from globalmin.proving.producer import certify, check
from globalmin.quadratic.solve import solve_quadratic
from globalmin.shallow.network import ShallowNetwork

RNG = np.random.default_rng(0)
X = RNG.standard_normal((40, 3))
Y = RNG.standard_normal(40)


@pytest.mark.parametrize("estimator", [QuadraticNetworkRegressor, QuadraticNetworkRegressorCV])
def test_no_samples_are_refused_by_scikit_learns_own_words(estimator):
    with pytest.raises(ValueError, match="0 sample"):
        estimator().fit(np.zeros((0, 3)), np.zeros(0))


def test_no_samples_are_refused_by_the_solver_and_by_the_data_set():
    for refuse in (
        lambda: solve_quadratic(np.zeros((0, 3)), np.zeros(0)),
        lambda: Dataset(np.zeros((0, 3)), np.zeros(0)),
    ):
        with pytest.raises(DataError, match=r"0 samples|no samples|at least one"):
            refuse()


@pytest.mark.parametrize("width", [0, -1, 1.5, "wide"])
def test_a_width_that_is_no_positive_number_is_refused_by_name(width):
    with pytest.raises(ValueError, match="width"):
        QuadraticNetworkRegressor(width=width).fit(X, Y)
    with pytest.raises(DataError, match="width="):
        solve_quadratic(X, Y, width=width)


def test_no_neurons_and_zero_heads_are_refused_with_the_remedy():
    with pytest.raises(DataError, match="at least one"):
        solve_quadratic(X, Y, head=np.zeros(0))
    with pytest.raises(
        DataError, match=r"all head weights are zero.*give at least one that is not"
    ):
        solve_quadratic(X, Y, head=np.zeros(4))
    with pytest.raises(ValueError, match=r"W|shape|neuron"):
        ShallowNetwork(np.zeros((0, 3)), np.zeros(0), "quadratic")


def test_heads_with_some_zeros_still_reach_the_proved_minimum(tmp_path):
    """SJL-T2.1: neurons with a zero head are idle; three of each sign are left, as many as there
    are features.
    """
    head = np.array([1.0, 0.0, 1.0, 1.0, 0.0, -1.0, -1.0, -1.0])
    solution = solve_quadratic(X, Y, head=head)
    assert not solution.network.W[head == 0].any()
    certificate = certify(solution.network, Dataset.from_preprocessed(X, Y), ["optimality-gap"])
    assert check(certificate.save(tmp_path / "zeros.gmc")).verdict.value == "ACCEPTED"
    assert certificate.summary()["relative_gap"] < 1e-8


def test_too_few_heads_of_a_sign_keep_an_honest_gap(tmp_path):
    """One neuron of each sign for three features: a local minimum, with a true bound of its
    distance to the global one.
    """
    best = solve_quadratic(X, Y).loss
    narrow = solve_quadratic(X, Y, head=np.array([1.0, -1.0]))
    assert narrow.method == "local"
    certificate = certify(narrow.network, Dataset.from_preprocessed(X, Y), ["optimality-gap"])
    assert check(certificate.save(tmp_path / "narrow.gmc")).verdict.value == "ACCEPTED"
    assert certificate.summary()["gap"] >= (narrow.loss - best) * (1 - 1e-9) > 0


def test_dependent_features_are_refused_without_decay_and_get_the_weaker_claim_from_the_estimator():
    twice = np.column_stack([X, X[:, 0]])
    with pytest.raises(CannotCertify, match="span"):
        certify(
            solve_quadratic(twice, Y).network,
            Dataset.from_preprocessed(twice, Y),
            ["optimality-gap"],
        )
    for signs, decay in (("mixed", 0.0), ("mixed", 0.1), ("positive", 0.1)):
        model = QuadraticNetworkRegressor(signs=signs, weight_decay=decay).fit(twice, Y)
        assert model.verdict_ == "ACCEPTED"
        assert model.gap_ <= 1e-8 * model.loss_upper_


def test_positive_heads_on_dependent_features_are_proved_on_the_span():
    """Theorem P on the span of the rows: no weight decay needed where the dependence is exact."""
    model = QuadraticNetworkRegressor(signs="positive", scaling="none", bias=False).fit(
        np.column_stack([X, X[:, 0]]), Y
    )
    assert model.verdict_ == "ACCEPTED"


def test_a_single_sample_and_constant_labels_are_fitted():
    model = QuadraticNetworkRegressor().fit(X[:1], Y[:1])
    # standardized labels are zero, and so is the network: the minimum at the smallest weight decay
    assert model.verdict_ == "ACCEPTED"
    assert model.gap_ < 1e-100
    assert model.predict(X[:1]) == pytest.approx(Y[:1])
    flat = QuadraticNetworkRegressorCV(n_decays=3).fit(X, np.full(40, 2.5))
    np.testing.assert_allclose(flat.predict(X), 2.5)

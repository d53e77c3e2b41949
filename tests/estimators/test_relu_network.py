"""ReLU networks with weight decay as estimators: scikit-learn's contract, proved gaps, the choice
of the decay.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.estimators.contract import require_passed

import globalmin as gm
from globalmin.errors import DataError
from globalmin.estimators import ReluNetworkClassifier, ReluNetworkRegressor
from globalmin.regularized import full_run
from globalmin.regularized.full_training import TO_THE_END


@parametrize_with_checks(
    [
        ReluNetworkRegressor(weight_decay=5.0, starts=1, certify=False),
        ReluNetworkClassifier(weight_decay=5.0, starts=1, certify=False),
    ]
)
def test_estimator_check_passes_and_is_not_skipped(
    estimator: Any, check: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    require_passed(estimator, check, monkeypatch)


def _table(n: int = 40, d: int = 4) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    return X, np.maximum(X[:, 0], 0.0) + 0.5 * X[:, 1] + 0.1 * rng.standard_normal(n)


def _exact_objective(model: ReluNetworkRegressor, X: Any, y: Any) -> Fraction:
    """P of the squared loss at the stored rows, in rational arithmetic."""
    network, steps = model.network_, model.preprocessing_
    exact = np.vectorize(Fraction, otypes=[object])
    rows, labels = exact(steps.transform(X)), exact(steps.transform_y(y))
    W, bias, v = exact(network.W), exact(network.bias), exact(network.v)
    r = np.maximum(rows @ W.T + bias, 0) @ v + Fraction(network.intercept) - labels
    weights = (W * W).sum() + (bias * bias).sum() + (v * v).sum()
    return ((r * r).sum() + Fraction(model.weight_decay_) * weights) / 2


def test_numbers_of_a_proved_fit_agree_with_each_other() -> None:
    X, y = _table()
    model = ReluNetworkRegressor(weight_decay=8.0, random_state=0, max_cones=0, gap=0.05).fit(X, y)
    assert model.verdict_ == "ACCEPTED"
    assert model.bound_ == "spectral"
    exact = _exact_objective(model, X, y)
    assert Fraction(model.lower_bound_) <= exact <= Fraction(model.loss_upper_)
    assert model.objective_ == pytest.approx(float(exact), rel=1e-14)
    assert model.gap_ >= model.objective_ - model.lower_bound_ - 1e-9
    assert model.relative_gap_ == model.gap_ / model.objective_
    assert model.optimal_ == (model.relative_gap_ <= 0.05)
    assert "No ReLU network of any width has an objective more than" in model.gap_statement()
    assert "where 0.05 was asked for" in model.gap_statement()
    assert f"floor proved by {model.bound_}" in model.gap_statement()
    with pytest.warns(FutureWarning, match="gap_statement"):
        assert model.summary() == model.gap_statement()
    assert model.predict(X).shape == y.shape


def test_cones_prove_more_than_one_matrix_in_few_columns() -> None:
    X, y = _table(30, 2)
    options: dict[str, Any] = {"weight_decay": 1.0, "random_state": 0, "gap": 1e-3}
    spectral = ReluNetworkRegressor(max_cones=0, **options).fit(X, y)
    cones = ReluNetworkRegressor(max_cones=3000, **options).fit(X, y)
    assert (spectral.bound_, cones.bound_) == ("spectral", "cones")
    assert cones.relative_gap_ < 0.5 * spectral.relative_gap_
    assert cones.lower_bound_ > spectral.lower_bound_


def test_without_certificate_nothing_is_said_to_be_proved() -> None:
    X, y = _table()
    model = ReluNetworkRegressor(weight_decay=8.0, certify=False).fit(X, y)
    assert model.certificate_ is None
    assert model.verdict_ is None
    assert model.bound_ is None
    assert not model.optimal_
    assert model.gap_ == math.inf
    assert "is not proved" in model.gap_statement()


def test_decay_by_cross_validation_is_one_of_those_tried_with_the_least_loss() -> None:
    X, y = _table(30, 2)
    model = ReluNetworkRegressor(cv=2, certify=False, random_state=0, starts=1).fit(X, y)
    means = model.loss_path_.mean(axis=1)
    best = int(means.argmin())
    assert model.loss_path_.shape == (len(model.weight_decays_), 2)
    assert model.weight_decay_ == model.weight_decays_[best]
    assert len(means) in (8, best + 3)  # ended by two decays in a row that were no better
    assert list(model.weight_decays_) == sorted(model.weight_decays_, reverse=True)


def test_a_rough_path_has_the_held_out_losses_of_a_long_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X, y = _table(60, 3)
    options: dict[str, Any] = {"cv": 3, "certify": False, "random_state": 0, "starts": 1}
    rough = ReluNetworkRegressor(**options).fit(X, y)
    monkeypatch.setattr(full_run, "ROUGH", TO_THE_END)
    long = ReluNetworkRegressor(**options).fit(X, y)
    shared = min(len(rough.loss_path_), len(long.loss_path_))
    spread = long.loss_path_.std(axis=1)[:shared, None]
    assert (np.abs(rough.loss_path_ - long.loss_path_)[:shared] < 0.2 * spread + 1e-3).all()


def test_a_proof_changes_no_prediction() -> None:
    X, y = _table(30, 2)
    options: dict[str, Any] = {"weight_decay": 1.0, "random_state": 0, "max_cones": 2000}
    proved = ReluNetworkRegressor(**options).fit(X, y)
    bare = ReluNetworkRegressor(certify=False, **options).fit(X, y)
    np.testing.assert_array_equal(proved.predict(X), bare.predict(X))


@pytest.mark.parametrize("loss", ["huber", "quantile", "poisson"])
def test_other_losses_of_regression_are_proved_too(loss: str) -> None:
    X, y = _table(30, 2)
    y = np.round(np.exp(y)) if loss == "poisson" else y
    options: dict[str, Any] = {"random_state": 0, "max_cones": 2000, "gap": 0.05, "starts": 1}
    model = ReluNetworkRegressor(loss=loss, weight_decay=4.0, **options).fit(X, y)
    assert model.verdict_ == "ACCEPTED"
    assert model.objective_ >= model.lower_bound_
    if loss == "poisson":
        assert (model.predict(X) > 0).all()


def test_two_classes_probabilities_and_a_gap_at_strong_decay() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    model = ReluNetworkClassifier(weight_decay=150.0, random_state=0).fit(X, y)
    assert model.verdict_ == "ACCEPTED"
    assert model.bound_ == "spectral"
    assert model.relative_gap_ <= 1e-3
    proba = model.predict_proba(X)
    assert proba.sum(axis=1) == pytest.approx(1.0)
    assert ((proba[:, 1] > 0.5) == (model.predict(X) == 1)).all()


def test_three_classes_have_three_networks_and_three_proofs() -> None:
    X, y = load_iris(return_X_y=True)
    model = ReluNetworkClassifier(weight_decay=20.0, random_state=0, max_cones=0, starts=1)
    model.fit(X, y)
    assert model.verdict_ == ["ACCEPTED"] * 3
    assert len(model.networks_) == len(model.lower_bound_) == 3
    assert model.score(X, y) > 0.6
    assert not hasattr(ReluNetworkClassifier(loss="hinge"), "predict_proba")


def test_one_class_and_bad_counts_are_refused() -> None:
    with pytest.raises(DataError, match="at least two classes"):
        ReluNetworkClassifier(weight_decay=1.0).fit([[0.0], [1.0]], [1, 1])
    with pytest.raises(DataError, match="poisson"):
        ReluNetworkRegressor(loss="poisson", weight_decay=1.0).fit([[0.0], [1.0]], [1.0, -1.0])


def test_public_names() -> None:
    assert gm.ReluNetworkRegressor is ReluNetworkRegressor
    assert gm.ReluNetworkClassifier is ReluNetworkClassifier

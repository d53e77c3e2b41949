"""A warning of `fit` names the line of the user who called it, and a small class draws none."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import globalmin as gm
from globalmin.estimators import _regularized, _relu
from globalmin.proving.proof import no_proof

RNG = np.random.default_rng(0)
X = RNG.standard_normal((40, 3))
Y = np.abs(X[:, 0]) + 0.1 * RNG.standard_normal(40)
CLASSES = Y > 0.5
SHORT = {"weight_decay": 0.1, "max_iter": 1, "gap": 1e-9}
NARROW = {"width": 1, "max_iter": 3, "random_state": 0}
FALL_SHORT = {
    "additive": (lambda: gm.AdditiveNetworkRegressor(**SHORT), Y),
    "additive classes": (lambda: gm.AdditiveNetworkClassifier(**SHORT), CLASSES),
    "squares": (lambda: gm.SquaresNetworkRegressor(**SHORT), Y),
    "squares, classes": (lambda: gm.QuadraticNetworkClassifier(**SHORT), CLASSES),
    "shallow": (lambda: gm.ShallowNetworkRegressor(**NARROW), Y),
    "shallow, two targets": (lambda: gm.ShallowNetworkRegressor(**NARROW), np.c_[Y, -Y]),
    "shallow classes": (lambda: gm.ShallowNetworkClassifier(**NARROW), CLASSES),
    "deep": (lambda: gm.DeepNetworkRegressor(depth=2, width=8, max_iter=2), Y),
}
UNPROVED = {
    "additive": (lambda: gm.AdditiveNetworkRegressor(weight_decay=1.0), Y),
    "relu": (lambda: gm.ReluNetworkRegressor(weight_decay=5.0, starts=1, max_cones=0), Y),
    "relu classes": (
        lambda: gm.ReluNetworkClassifier(weight_decay=5.0, starts=1, max_cones=0),
        CLASSES,
    ),
}


@pytest.mark.parametrize("name", FALL_SHORT)
def test_a_fit_that_falls_short_is_told_at_the_line_of_the_user(name: str):
    make: Callable[[], Any] = FALL_SHORT[name][0]
    with pytest.warns(ConvergenceWarning) as caught:
        make().fit(X, FALL_SHORT[name][1])
    assert [warning.filename for warning in caught] == [__file__]


@pytest.mark.parametrize("name", UNPROVED)
def test_a_fit_without_proof_is_told_at_the_line_of_the_user(
    name: str, monkeypatch: pytest.MonkeyPatch
):
    for module in (_relu, _regularized):
        monkeypatch.setattr(module, "prove", lambda *_, **__: no_proof({}, message="planted"))
    make: Callable[[], Any] = UNPROVED[name][0]
    with pytest.warns(UserWarning, match="no certificate: planted") as caught:
        make().fit(X, UNPROVED[name][1])
    assert [warning.filename for warning in caught] == [__file__]


def test_a_class_with_fewer_rows_than_folds_is_shuffled_without_a_warning():
    """Stratified folds would leave it out of some, and scikit-learn warns."""
    rare = np.arange(40) < 3
    model = gm.AdditiveNetworkClassifier(cv=5, n_decays=2, gap=1e-3, certify=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X, rare)
    assert model.cv_losses_.shape == (2, 5)

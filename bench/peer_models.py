"""The estimators of the held-out comparison: ours with cross-validated decay, and the peers at
their defaults or their own search.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegressionCV, PoissonRegressor, RidgeCV
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import globalmin as gm

if TYPE_CHECKING:
    from bench.peer_scores import Table

PAIR_COLUMNS = 10  # all pairs of columns up to this many, else those that are lacked most
PAIR_BINS = 16


@dataclass(frozen=True)
class Method:
    """How to build an estimator for a table, and which tables it takes."""

    build: Callable[[Table], Any]
    takes: Callable[[Table], bool] = lambda table: True


def _additive(table: Table, **options: Any) -> Any:
    if table.kind == "classes":
        return gm.AdditiveNetworkClassifier(certify=False, **options)
    loss = "poisson" if table.kind == "counts" else "squared"
    return gm.AdditiveNetworkRegressor(loss=loss, certify=False, **options)


def _columns(table: Table) -> Any:
    return _additive(table, monotone=table.monotone)


def _pairs(table: Table) -> Any:
    interactions = "pairs" if table.X.shape[1] <= PAIR_COLUMNS else "auto"
    return _additive(table, interactions=interactions, bins=PAIR_BINS)


def _quadratic(table: Table) -> Any:
    if table.kind == "classes":
        return gm.QuadraticNetworkClassifier(certify=False)
    if table.kind == "counts":
        return gm.SquaresNetworkRegressor(loss="poisson", certify=False)
    return gm.QuadraticNetworkRegressorCV(certify=False)


def _relu(table: Table) -> Any:
    if table.kind == "classes":
        return gm.ReluNetworkClassifier(certify=False, random_state=0)
    loss = "poisson" if table.kind == "counts" else "squared"
    return gm.ReluNetworkRegressor(loss=loss, certify=False, random_state=0)


def _boosted_curves(table: Table, **options: Any) -> Any:
    """The explainable boosting machine of interpret."""
    from interpret.glassbox import (  # pyright: ignore[reportMissingImports]
        ExplainableBoostingClassifier,
        ExplainableBoostingRegressor,
    )

    if table.monotone is not None:
        options["monotone_constraints"] = list(table.monotone)
    if table.kind == "classes":
        return ExplainableBoostingClassifier(n_jobs=1, **options)
    if table.kind == "counts":
        options["objective"] = "poisson_deviance"
    return ExplainableBoostingRegressor(n_jobs=1, **options)


def _splines(table: Table) -> Any:
    """Splines of pyGAM with their own search for the smoothing."""
    if table.kind == "classes":
        return SplineClassifier()
    return SplineRegressor(table.kind == "counts", table.monotone)


class SplineRegressor:
    """The linear or Poisson model of pyGAM after its grid search."""

    def __init__(self, is_count: bool, monotone: tuple[int, ...] | None) -> None:
        import pygam  # pyright: ignore[reportMissingImports]

        kind: Any = pygam.PoissonGAM if is_count else pygam.LinearGAM
        self.model: Any = kind()
        if monotone is not None:
            terms = [
                pygam.s(j, constraints="monotonic_inc" if slope > 0 else None)
                for j, slope in enumerate(monotone)
            ]
            self.model = kind(sum(terms[1:], terms[0]))

    def fit(self, X: Any, y: Any) -> SplineRegressor:
        """Search on the grid."""
        self.model = self.model.gridsearch(X, y, progress=False)
        return self

    def predict(self, X: Any) -> Any:
        """Means."""
        return self.model.predict(X)


class SplineClassifier:
    """The logistic model of pyGAM; one against the others for several classes, which it lacks."""

    def fit(self, X: Any, y: Any) -> SplineClassifier:
        """Search on the grid, for each class."""
        import pygam  # pyright: ignore[reportMissingImports]

        self.classes_ = np.unique(y)
        labels = self.classes_[1:] if len(self.classes_) == 2 else self.classes_
        self.models = [
            pygam.LogisticGAM().gridsearch(X, (y == label).astype(float), progress=False)
            for label in labels
        ]
        return self

    def predict_proba(self, X: Any) -> Any:
        """Probabilities, scaled to sum 1."""
        chances = np.column_stack([model.predict_mu(X) for model in self.models])
        if len(self.classes_) == 2:
            return np.hstack([1.0 - chances, chances])
        return chances / np.maximum(chances.sum(axis=1, keepdims=True), 1e-300)

    def predict(self, X: Any) -> Any:
        """The likeliest class."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def _perceptron(table: Table) -> Any:
    if table.kind == "classes":
        return make_pipeline(StandardScaler(), MLPClassifier(max_iter=1000, random_state=0))
    if table.kind == "counts":
        model = MLPRegressor(loss="poisson", max_iter=1000, random_state=0)
        return make_pipeline(StandardScaler(), model)
    model = make_pipeline(StandardScaler(), MLPRegressor(max_iter=1000, random_state=0))
    return TransformedTargetRegressor(model, transformer=StandardScaler())


def _linear(table: Table) -> Any:
    if table.kind == "classes":
        options: dict[str, Any] = {"l1_ratios": (0.0,), "use_legacy_attributes": False}
        model = LogisticRegressionCV(Cs=10, max_iter=2000, scoring="neg_log_loss", **options)
        return make_pipeline(StandardScaler(), model)
    if table.kind == "counts":
        grid = {"alpha": np.geomspace(1e-4, 1e2, 13)}
        return make_pipeline(StandardScaler(), GridSearchCV(PoissonRegressor(max_iter=500), grid))
    return make_pipeline(StandardScaler(), RidgeCV(np.geomspace(1e-3, 1e3, 13)))


def _trees(table: Table) -> Any:
    options: dict[str, Any] = {"random_state": 0}
    if table.monotone is not None:
        options["monotonic_cst"] = list(table.monotone)
    if table.kind == "classes":
        return HistGradientBoostingClassifier(**options)
    if table.kind == "counts":
        options["loss"] = "poisson"
    return HistGradientBoostingRegressor(**options)


METHODS: dict[str, Method] = {
    "additive": Method(_columns),
    "additive free": Method(_additive, lambda table: table.monotone is not None),
    "pairs": Method(_pairs, lambda table: table.monotone is None),
    "quadratic": Method(_quadratic),
    "relu": Method(_relu),
    "EBM": Method(_boosted_curves),
    "EBM mains": Method(lambda table: _boosted_curves(table, interactions=0)),
    "pyGAM": Method(_splines),
    "MLP": Method(_perceptron),
    "linear": Method(_linear),
    "boosting": Method(_trees),
}
OURS = ("additive", "additive free", "pairs", "quadratic", "relu")
COMPILED = ("additive", "additive free", "pairs")


def build(method: str, table: Table) -> Any:
    """A fresh estimator."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return METHODS[method].build(table)

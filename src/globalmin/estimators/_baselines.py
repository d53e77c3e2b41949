"""What networks are to be compared with: a linear model with its own penalty chosen on the same
folds, and the best constant.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from globalmin._types import Array
from globalmin.estimators._candidates import Candidate, Rows
from globalmin.estimators._ridge import RidgeLine
from globalmin.losses.several import SeveralOutputs

_LEAST_SHARE = 1e-12  # of a class that a fold never saw
PENALTIES = np.geomspace(10.0, 1e-5, 13)
"""Per row: half the squared coefficients times this, beside the mean loss; squared_hinge is
liblinear's, twice ours."""


@dataclass(frozen=True)
class Linear:
    """A linear model, the name it goes by, its loss, and for softmax the number of classes."""

    name: str
    loss: str
    classes: int = 0

    def model(self, penalty: float, n: int) -> Any:
        """With this penalty for each of n rows."""
        if self.name == "ridge regression":
            return RidgeLine(penalty * n)
        from sklearn.linear_model import LogisticRegression, PoissonRegressor
        from sklearn.svm import LinearSVC

        if self.name == "Poisson regression":
            return PoissonRegressor(alpha=penalty, max_iter=300)
        if self.name == "logistic regression":
            return LogisticRegression(C=1.0 / (penalty * n), max_iter=300)
        return LinearSVC(C=1.0 / (penalty * n), loss=self.loss, random_state=0)  # pyright: ignore[reportArgumentType]

    def outputs(self, penalty: float, X: Array, y: Array, weight: Array, rows: Array) -> Array:
        """At rows, of the model fitted to X and y, in the units of the loss."""
        model = self.model(penalty, len(X)).fit(X, y, sample_weight=weight)
        if self.loss == "softmax":
            return self._log_shares(model, rows, self.classes)
        if self.name == "Poisson regression":
            return np.log(np.maximum(model.predict(rows), 1e-300))
        return getattr(model, "decision_function", model.predict)(rows)

    @staticmethod
    def _log_shares(model: Any, rows: Array, outputs: int) -> Array:
        """Logarithms of the probabilities, of classes that the fold does not know too."""
        known = model.classes_.astype(np.intp)
        shares = np.full((len(rows), outputs), _LEAST_SHARE)
        shares[:, known] = np.maximum(model.predict_proba(rows), _LEAST_SHARE)
        return np.log(shares)


def linear_for(loss: str) -> Linear:
    """The linear model that belongs to a loss."""
    names = {
        "poisson": "Poisson regression",
        "logistic": "logistic regression",
        "softmax": "logistic regression",
        "hinge": "linear support vector machine",
        "squared_hinge": "linear support vector machine",
    }
    return Linear(names.get(loss, "ridge regression"), loss)


def try_baselines(rows: Rows) -> tuple[list[Candidate], float]:
    """The rows of the linear model and of the constant, and the penalty of the former."""
    linear = linear_for(rows.loss.name)
    if isinstance(rows.loss, SeveralOutputs):
        linear = replace(linear, classes=rows.loss.outputs)
    started = time.perf_counter()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # a solver that wants more steps is still a baseline
        tables = [rows.held_out(partial(linear.outputs, float(p))) for p in PENALTIES]
        best = int(np.nanargmin([np.nan_to_num(t.mean(), nan=np.inf) for t in tables]))
        constant = rows.held_out(partial(_constant, rows))
    seconds = time.perf_counter() - started
    found = [
        Candidate(linear.name, False, tuple(tables[best].tolist()), seconds, note="baseline"),
        Candidate("best constant", False, tuple(constant.tolist()), note="baseline"),
    ]
    return found, float(PENALTIES[best])


def _constant(rows: Rows, X: Array, y: Array, weight: Array, at: Array) -> Array:
    if isinstance(rows.loss, SeveralOutputs):
        return np.tile(rows.loss.centers(y, weight), (len(at), 1))
    return np.full(len(at), rows.loss.constant(y, weight))


def fitted_linear(
    loss: str, penalty: float, X: Array, y: Any, *, weight: Array | None, scales: bool
) -> Any:
    """The linear model of all rows, from raw inputs to outputs in the units of y."""
    from sklearn.linear_model import Ridge
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    linear = linear_for(loss)
    model = linear.model(penalty, len(X))
    if isinstance(model, RidgeLine):
        model = Ridge(alpha=model.alpha)
    if loss in ("logistic", "hinge", "squared_hinge") and np.unique(y).size > 2:
        model = OneVsRestClassifier(model)
    steps = [StandardScaler(), model] if scales else [model]
    given = {} if weight is None else {f"{type(model).__name__.lower()}__sample_weight": weight}
    if isinstance(model, OneVsRestClassifier):
        given = {}  # it takes no weights; a score beside the networks, not one of them
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return make_pipeline(*steps).fit(X, y, **given)

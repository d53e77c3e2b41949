"""The choice of a regression network without scikit-learn's contract: the same comparison, training
and proof as `ProvedNetworkRegressor`, of arrays that were read from a table. Importing scikit-learn
takes longer than the fit of a small table, so `globalmin fit` goes without.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from globalmin._types import Array, NDArray
from globalmin.estimators._additive import AdditiveNetworkEstimator
from globalmin.estimators._baselines import fitted_linear, linear_for
from globalmin.estimators._networks import ProvedNetworks
from globalmin.estimators._proved import ProvedNetworkEstimator
from globalmin.estimators._regularized import RegularizedEstimator, checked_weight
from globalmin.estimators._relu import ReluNetworkEstimator
from globalmin.estimators._ridge import RidgeLine, r_squared
from globalmin.estimators._squares import SquaresNetworkEstimator
from globalmin.losses import get_loss

# the defaults of the estimators, which a test compares
_TRAINED: dict[str, Any] = {"n_decays": 16, "ratio": 1e-3, "cv": 5, "certify": True}
_RELU: dict[str, Any] = {
    "hidden_bias": "penalized",
    "intercept": "free",
    "linear": "none",
    "starts": 2,
    "max_seconds": 20.0,
    "max_cones": 10_000,
}


class _Plain(ProvedNetworks):
    """Options as they are given, and rows as they are."""

    defaults: ClassVar[Mapping[str, Any]]
    loss: str

    def __init__(self, **options: Any) -> None:
        vars(self).update({**self.defaults, **options})

    def _checked_rows(self, X: Any) -> Array:
        return X

    def predict(self, X: Array) -> Array:
        """Outputs in the units of y; the mean for the loss "poisson"."""
        outputs = self._outputs(X)[:, 0]
        return np.exp(outputs) if self.loss == "poisson" else outputs


class _PlainRegularized(_Plain, RegularizedEstimator):
    """What is fitted by column generation."""

    loss_parameter: float | None

    def _fit_rows(self, X: Array, y: Array, weight: Array | None, settings: Any) -> None:
        settings.loss.check_labels(y)
        self._fit_labels(X, [y], weight, settings)


class PlainAdditive(_PlainRegularized, AdditiveNetworkEstimator):
    """`AdditiveNetworkRegressor` without its contract."""

    defaults: ClassVar[Mapping[str, Any]] = {
        **_TRAINED,
        "hidden_bias": "penalized",
        "monotone": None,
        "shapes": None,
        "max_iter": 300,
    }

    def fit(self, X: Array, y: Array, sample_weight: Array | None = None) -> PlainAdditive:
        """Choose the weight decay, train to the global minimum, and prove the gap."""
        self._fit_rows(X, y, sample_weight, self._settings(X.shape[1]))
        return self

    def _array(self, X: Any) -> Any:
        return X


class PlainSquares(_PlainRegularized, SquaresNetworkEstimator):
    """`SquaresNetworkRegressor` without its contract."""

    defaults: ClassVar[Mapping[str, Any]] = {
        **_TRAINED,
        "signs": "mixed",
        "bias_scale": 4.0,
        "max_iter": 100,
    }

    def fit(self, X: Array, y: Array, sample_weight: Array | None = None) -> PlainSquares:
        """Choose the weight decay, train to the global minimum, and prove the gap."""
        self._fit_rows(X, y, sample_weight, self._settings(self.loss_parameter))
        return self


class PlainRelu(_Plain, ReluNetworkEstimator):
    """`ReluNetworkRegressor` without its contract."""

    defaults: ClassVar[Mapping[str, Any]] = {**_RELU, "cv": 5, "certify": True}
    loss_parameter: float | None

    def fit(self, X: Array, y: Array) -> PlainRelu:
        """Train, and prove how far the network is from the global minimum."""
        loss = get_loss(self.loss, self.loss_parameter)
        rows, labels = self._scaled(X, y, loss)
        self._fit_problems(rows, [labels], loss)
        return self


MODELS: dict[str, type[_Plain]] = {
    "additive": PlainAdditive,
    "quadratic": PlainSquares,
    "relu": PlainRelu,
}


class PlainChoice(ProvedNetworkEstimator):
    """`ProvedNetworkRegressor` without its contract."""

    _classifies = False
    defaults: ClassVar[Mapping[str, Any]] = {
        "loss_parameter": None,
        "shapes": None,
        "cv": 5,
        "certify": True,
    }

    def __init__(self, **options: Any) -> None:
        vars(self).update({**self.defaults, **options})

    def fit(self, X: Array, y: Array, sample_weight: Array | None = None) -> PlainChoice:
        """Compare the models, train the best, and prove its gap."""
        labels = np.asarray(y, dtype=np.float64)
        self._loss_object().check_labels(labels)
        weight = None if sample_weight is None else checked_weight(sample_weight, X)
        self._choose(X, X, labels, [labels], weight)
        return self

    def predict(self, X: Array) -> Array:
        """Outputs in the units of y; the mean for the loss "poisson"."""
        return self._ask("predict", X)

    def score(self, X: Array, y: NDArray[Any]) -> float:
        """R^2 of the outputs."""
        return r_squared(np.asarray(y, dtype=np.float64), self.predict(X))

    def _check_rows(self, X: Any) -> None:
        del X  # made of a table

    def _model(self, name: str, options: dict[str, Any]) -> Any:
        return MODELS[name](**options)

    def _linear(self, penalty: float, X: Array, y: NDArray[Any], weight: Array | None) -> Any:
        scales = self.scaling == "standardize"
        model = linear_for(self.loss).model(penalty, len(X))
        if isinstance(model, RidgeLine):
            return RidgeLine(model.alpha, scales=scales).fit(X, y, weight)
        return fitted_linear(self.loss, penalty, X, y, weight=weight, scales=scales)

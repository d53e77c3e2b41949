"""Fully connected ReLU networks with weight decay as estimators: any convex loss, and a proved gap
to the global minimum over every width.
"""

from __future__ import annotations

from dataclasses import replace
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from globalmin._options import Scaling
from globalmin._types import Array, NDArray
from globalmin.data import Dataset
from globalmin.errors import DataError
from globalmin.estimators._constraints import RELU_CONSTRAINTS
from globalmin.estimators._relu import ReluNetworkEstimator
from globalmin.losses import get_loss
from globalmin.losses.several import one_against_rest
from globalmin.regularized.objective import HiddenBias

if TYPE_CHECKING:
    from typing import Self


class ReluNetworkRegressor(RegressorMixin, ReluNetworkEstimator, BaseEstimator):
    r"""Regression by ReLU networks $f(x) = c_0 + \theta\cdot x + \sum_l v_l\,
    \mathrm{relu}(w_l\cdot x + \beta_l)$ with weight decay, and a proved gap to the global minimum.

    The network has the width it needs. Training is by descent; how far its objective is at most
    above the least one over all networks of any width is proved by a dual vector and said in
    `relative_gap_`. The gap is small at strong decay or few columns, and honest elsewhere.

    Parameters
    ----------
    loss : str
        "squared", "huber", "quantile" or "poisson".
    loss_parameter : float | None
        Threshold of "huber" in units of the scaled labels, level of "quantile".
    weight_decay : float | str
        b > 0: the objective is the sum of the losses plus $\frac b2\sum_l(|w_l|^2 + v_l^2)$, in
        the units the network is trained in. "cv": the best of eight by held-out loss.
    hidden_bias : str
        "penalized" (counted in $|w_l|$), "free" (as in scikit-learn's networks) or "none".
    intercept : str | float
        "free", "none" or its penalty.
    linear : str | float
        The linear part $\theta$: "none", "free" or its penalty.
    scaling : str
        "standardize" (columns of X; y too except for "poisson"), "rows" or "none".
    gap : float
        Tolerance of `optimal_`: a proved gap of at most this share of the objective.
    starts : int
        Of training.
    max_seconds : float
        Of training and of the search for a floor.
    max_cones : int
        Of the checker's search over cones, up to five columns with biases; it takes about a
        millisecond for each. 0 for none.
    cv : Any
        Folds of weight_decay="cv".
    certify : bool
        Prove the gap and have the proof checked; False leaves it open.
    random_state : int | np.random.RandomState | None
        Seed of the random starts and of the local search.

    Attributes
    ----------
    networks_ : list[RegularizedNetwork]
        The network, also as `network_`.
    objective_ : float
        The objective in floats.
    lower_bound_ : float
        Proved: no network of the class, of any width, has a lower objective; minus infinity if
        nothing is proved.
    gap_, relative_gap_ : float
        Proved bound of the objective minus the global minimum, and its share of the objective
        (above the saturated model for "poisson").
    optimal_ : bool
        Whether `relative_gap_` is within the tolerance `gap`.
    bound_ : str | None
        How the floor was proved: "spectral" (R4, any number of columns), "cones" (R3, few) or
        "columns" (R2, one).
    verdict_ : str | None
        The checker's word on the certificate.
    certificate_ : bytes | None
        The accepted certificate file.
    loss_upper_, loss_lower_ : float
        Proved bounds of the objective of the network and of the global minimum.
    weight_decay_ : float
        The decay that was used.
    weight_decays_ : Array
        With "cv": the decays tried, the largest first, until two in a row were no better.
    loss_path_ : Array
        With "cv": mean held-out losses, decays x folds.
    width_ : int
        Number of neurons.
    preprocessing_ : Preprocessing
        Scaling of inputs and labels.
    n_features_in_ : int
        As in scikit-learn.
    feature_names_in_ : Array
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((60, 3))
    >>> model = ReluNetworkRegressor(weight_decay=10.0).fit(X, np.maximum(X[:, 0], 0) + X[:, 1])
    >>> model.verdict_, model.optimal_
    ('ACCEPTED', True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **RELU_CONSTRAINTS,
        "loss": [StrOptions({"squared", "huber", "quantile", "poisson"})],
        "loss_parameter": [None, Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        *,
        loss: str = "squared",
        loss_parameter: float | None = None,
        weight_decay: float | str = "cv",
        hidden_bias: HiddenBias = "penalized",
        intercept: Literal["free", "none"] | float = "free",
        linear: Literal["free", "none"] | float = "none",
        scaling: Scaling = "standardize",
        gap: float = 1e-3,
        starts: int = 2,
        max_seconds: float = 20.0,
        max_cones: int = 10_000,
        cv: Any = 5,
        certify: bool = True,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.loss = loss
        self.loss_parameter = loss_parameter
        self.weight_decay = weight_decay
        self.hidden_bias = hidden_bias
        self.intercept = intercept
        self.linear = linear
        self.scaling = scaling
        self.gap = gap
        self.starts = starts
        self.max_seconds = max_seconds
        self.max_cones = max_cones
        self.cv = cv
        self.certify = certify
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> Self:
        """Train, and prove how far the network is from the global minimum.

        Parameters
        ----------
        X : Any
            n x d inputs, an array or a data frame.
        y : Any
            n labels; counts of at least 0 for "poisson".
        """
        raw_X, raw_y = _checked_regression(self, X, y)
        loss = get_loss(self.loss, self.loss_parameter)
        rows, labels = self._scaled(raw_X, raw_y, loss)
        self._fit_problems(rows, [labels], loss)
        return self

    def predict(self, X: Any) -> Array:
        """Outputs in the units of y; expected counts for "poisson"."""
        outputs = self._outputs(X)[:, 0]
        return np.exp(outputs) if self.loss == "poisson" else outputs


def _checked_regression(model: Any, X: Any, y: Any) -> tuple[Array, Array]:
    checked: Any = validate_data(model, X, y, y_numeric=True)
    return np.asarray(checked[0], dtype=np.float64), np.asarray(checked[1], dtype=np.float64)


class ReluNetworkClassifier(ClassifierMixin, ReluNetworkEstimator, BaseEstimator):
    r"""Classification by ReLU networks with weight decay, and a proved gap to the global minimum.

    Two classes: one network. More: one per class against the others, each with its own proof.

    Parameters
    ----------
    loss : str
        "logistic", "hinge" or "squared_hinge".
    weight_decay : float | str
        As in `ReluNetworkRegressor`.
    hidden_bias : str
        As in `ReluNetworkRegressor`.
    intercept : str | float
        As in `ReluNetworkRegressor`.
    linear : str | float
        As in `ReluNetworkRegressor`.
    scaling : str
        As in `ReluNetworkRegressor`.
    gap : float
        As in `ReluNetworkRegressor`.
    starts : int
        As in `ReluNetworkRegressor`.
    max_seconds : float
        As in `ReluNetworkRegressor`.
    max_cones : int
        As in `ReluNetworkRegressor`.
    cv : Any
        As in `ReluNetworkRegressor`.
    certify : bool
        As in `ReluNetworkRegressor`.
    random_state : int | np.random.RandomState | None
        As in `ReluNetworkRegressor`.

    Attributes
    ----------
    classes_ : Array
        The class labels, sorted.
    networks_ : list[RegularizedNetwork]
        One for two classes, one per class for more; the attributes below are then lists.
    objective_, lower_bound_, gap_, relative_gap_ : float
        As in `ReluNetworkRegressor`.
    optimal_ : bool
        As in `ReluNetworkRegressor`.
    bound_, verdict_ : str | None
        As in `ReluNetworkRegressor`.
    certificate_ : bytes | None
        As in `ReluNetworkRegressor`.
    loss_upper_, loss_lower_, weight_decay_ : float
        As in `ReluNetworkRegressor`.
    weight_decays_, loss_path_ : Array
        As in `ReluNetworkRegressor`.
    width_, n_features_in_ : int
        As in `ReluNetworkRegressor`.
    preprocessing_ : Preprocessing
        As in `ReluNetworkRegressor`.
    feature_names_in_ : Array
        As in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = ReluNetworkClassifier(weight_decay=150.0, random_state=0).fit(X, y)
    >>> model.verdict_, model.relative_gap_ < 1e-3
    ('ACCEPTED', True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **RELU_CONSTRAINTS,
        "loss": [StrOptions({"logistic", "hinge", "squared_hinge"})],
    }

    def __init__(
        self,
        *,
        loss: str = "logistic",
        weight_decay: float | str = "cv",
        hidden_bias: HiddenBias = "penalized",
        intercept: Literal["free", "none"] | float = "free",
        linear: Literal["free", "none"] | float = "none",
        scaling: Scaling = "standardize",
        gap: float = 1e-3,
        starts: int = 2,
        max_seconds: float = 20.0,
        max_cones: int = 10_000,
        cv: Any = 5,
        certify: bool = True,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.loss = loss
        self.weight_decay = weight_decay
        self.hidden_bias = hidden_bias
        self.intercept = intercept
        self.linear = linear
        self.scaling = scaling
        self.gap = gap
        self.starts = starts
        self.max_seconds = max_seconds
        self.max_cones = max_cones
        self.cv = cv
        self.certify = certify
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> Self:
        """Train, and prove how far each network is from the global minimum.

        Parameters
        ----------
        X : Any
            n x d inputs, an array or a data frame.
        y : Any
            n class labels, numbers or strings.
        """
        checked: Any = validate_data(self, X, y)
        raw_X = np.asarray(checked[0], dtype=np.float64)
        check_classification_targets(checked[1])
        self.classes_, codes = np.unique(checked[1], return_inverse=True)
        if len(self.classes_) < 2:
            raise DataError(
                f"y has one class, {self.classes_[0]!r}; a classifier needs at least two classes"
            )
        positive = codes[:, None] == np.arange(len(self.classes_))
        signs = np.where(positive[:, 1:] if len(self.classes_) == 2 else positive, 1.0, -1.0)
        data = Dataset(raw_X, signs[:, 0], bias=False, scaling=self.scaling)
        untouched = replace(data.preprocessing, y_shift=0.0, y_scale=1.0)
        self.preprocessing_ = untouched
        self._fit_problems(data.X, [np.ascontiguousarray(s) for s in signs.T], get_loss(self.loss))
        return self

    def decision_function(self, X: Any) -> Array:
        """Outputs of the networks: (m,) for two classes, positive for `classes_[1]`; (m, number of
        classes) for more.
        """
        check_is_fitted(self)
        stored = self.preprocessing_.transform(self._checked_rows(X))
        outputs = np.stack([network.predict(stored) for network in self.networks_], axis=1)
        return outputs[:, 0] if len(self.classes_) == 2 else outputs

    @available_if(lambda self: self.loss == "logistic")
    def predict_proba(self, X: Any) -> Array:
        """Estimated probabilities of the classes, one column each; with the logistic loss only.

        More than two classes: those of one class against the others, scaled to sum 1.
        """
        return one_against_rest(self.decision_function(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each row."""
        scores = self.decision_function(X)
        winners = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[winners]

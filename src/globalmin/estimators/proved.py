"""The regularized default: estimators that compare additive, quadratic and ReLU networks with
weight decay by cross-validation, train the best one and prove its distance to the global minimum.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from globalmin._options import one_of
from globalmin._types import Array, NDArray
from globalmin.errors import DataError
from globalmin.estimators._baselines import fitted_linear
from globalmin.estimators._constraints import CHOICE_CONSTRAINTS
from globalmin.estimators._proved import TASKS, ProvedNetworkEstimator, is_classification
from globalmin.estimators._regularized import checked_weight
from globalmin.estimators.additive import AdditiveNetworkRegressor
from globalmin.estimators.additive_classifier import AdditiveNetworkClassifier
from globalmin.estimators.quadratic_losses import (
    QuadraticNetworkClassifier,
    SquaresNetworkRegressor,
)
from globalmin.estimators.relu_network import ReluNetworkClassifier, ReluNetworkRegressor
from globalmin.estimators.shallow import _signs

if TYPE_CHECKING:
    from typing import Self

KINDS: dict[tuple[str, bool], Any] = {
    ("additive", False): AdditiveNetworkRegressor,
    ("additive", True): AdditiveNetworkClassifier,
    ("quadratic", False): SquaresNetworkRegressor,
    ("quadratic", True): QuadraticNetworkClassifier,
    ("relu", False): ReluNetworkRegressor,
    ("relu", True): ReluNetworkClassifier,
}


class _WithEstimators(ProvedNetworkEstimator, BaseEstimator):
    """The choice as an estimator of scikit-learn, among estimators of scikit-learn."""

    def _model(self, name: str, options: dict[str, Any]) -> Any:
        return KINDS[name, self._classifies](**options)

    def _linear(self, penalty: float, X: Array, y: NDArray[Any], weight: Array | None) -> Any:
        scales = self.scaling == "standardize"
        return fitted_linear(self.loss, penalty, X, y, weight=weight, scales=scales)


class ProvedNetworkRegressor(RegressorMixin, _WithEstimators):
    """Regression by the network with weight decay that predicts held-out rows best, with a proved
    distance to its global minimum.

    Additive networks (one curve per column), quadratic networks (squares and products of columns)
    and, for few columns and rows, fully connected ReLU networks choose their weight decay on the
    same folds; that with the least held-out loss whose gap is proved within its tolerance is kept.
    A linear model and the best constant stand beside them in `candidates_`.

    Parameters
    ----------
    models : str | Sequence[str]
        "auto", or some of "additive", "quadratic" and "relu". "auto" leaves out what is too dear or
        cannot be proved usefully, and says so in `candidates_`; a model that is named takes part.
    loss : str
        "squared", "huber", "quantile" or "poisson" (labels at least 0, log link).
    loss_parameter : float | None
        The threshold of "huber" in units of the scaled labels (default 1), the level of "quantile"
        (default 1/2).
    weight_decay : float | str
        "cv", or a number b > 0 if one model is named: every model has another penalty.
    interactions : str | Sequence[Sequence[int]]
        Of additive networks, see `AdditiveNetworkRegressor`.
    bins : int | None
        Of additive networks, see `AdditiveNetworkRegressor`.
    shapes : Mapping[str | int, str | int] | Sequence[str | int] | None
        Of additive networks, see `AdditiveNetworkRegressor`; only with models="additive".
    scaling : str
        "standardize" or "none". Undone by `predict`.
    gap : float | None
        The relative distance to the global minimum to prove; None for 1e-6 (additive, quadratic)
        and 0.01 (relu).
    cv : Any
        Number of folds, shuffled; or a splitter of scikit-learn.
    certify : bool
        Prove the gap and have the proof checked.
    random_state : int | np.random.RandomState | None
        Seed of the folds and of the starts of ReLU networks.

    Attributes
    ----------
    best_estimator_ : Any
        The chosen model, fitted and proved: `AdditiveNetworkRegressor`, `SquaresNetworkRegressor`
        or `ReluNetworkRegressor`, with `terms_` or `interactions_` to read.
    model_ : str
        Its name, "additive", "quadratic" or "relu".
    candidates_ : tuple[Candidate, ...]
        Held-out losses of all models and of the baselines, and why a model is not chosen; print
        them, or `choice_statement()`.
    baseline_ : Any
        The linear model at its best penalty, a pipeline of scikit-learn.
    networks_ : list[RegularizedNetwork]
        Of the chosen model, as all that follows; the network is also `network_`.
    objective_ : float
        Summed loss plus weight decay, in floats.
    lower_bound_ : float
        Proved: no network of the class, of any width, has an objective below this.
    gap_, relative_gap_ : float
        Proved bound of the objective minus its infimum, and as a share of the objective.
    optimal_ : bool
        Whether the proved relative gap is within the tolerance.
    verdict_ : str | None
        The checker's word.
    certificate_ : bytes | None
        The accepted file, see `save_certificate`.
    loss_upper_, loss_lower_, weight_decay_ : float
        Proved bounds of the objective, and the chosen decay.
    width_, n_features_in_ : int
        Neurons and columns.
    preprocessing_ : Preprocessing
        The scaling and its inverse.
    feature_names_in_ : Array
        As in scikit-learn.

    Notes
    -----
    What is proved is the distance of the training objective to its global minimum; that the model
    predicts new rows is measured, not proved. The held-out losses are those of the best decay of
    each model on the folds that chose it, so they are a little too good, for all models alike:
    keep rows apart for an honest score.

    The cost grows with the rows: about n x d for additive and n x d² for quadratic networks, times
    16 decays and 5 folds.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((200, 6))
    >>> model = ProvedNetworkRegressor().fit(X, X[:, 0] * X[:, 1] + X[:, 2])
    >>> model.model_, model.verdict_, model.optimal_
    ('quadratic', 'ACCEPTED', True)
    """

    _classifies = False
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CHOICE_CONSTRAINTS,
        "loss": [StrOptions({"squared", "huber", "quantile", "poisson"})],
        "loss_parameter": [None, Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        *,
        models: str | Sequence[str] = "auto",
        loss: str = "squared",
        loss_parameter: float | None = None,
        weight_decay: float | str = "cv",
        interactions: str | Sequence[Sequence[int]] = "none",
        bins: int | None = None,
        shapes: Mapping[str | int, str | int] | Sequence[str | int] | None = None,
        scaling: Literal["standardize", "none"] = "standardize",
        gap: float | None = None,
        cv: Any = 5,
        certify: bool = True,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.models = models
        self.loss = loss
        self.loss_parameter = loss_parameter
        self.weight_decay = weight_decay
        self.interactions = interactions
        self.bins = bins
        self.shapes = shapes
        self.scaling = scaling
        self.gap = gap
        self.cv = cv
        self.certify = certify
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Compare the models, train the best, and prove its gap.

        Parameters
        ----------
        X : Any
            n x d inputs, an array or a data frame, without missing values.
        y : Any
            n labels.
        sample_weight : Any
            n numbers of at least 0, None for ones.
        """
        checked: Any = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        labels = np.asarray(checked[1], dtype=np.float64)
        self._loss_object().check_labels(labels)
        weight = checked_weight(sample_weight, checked[0])
        self._choose(X, checked[0], labels, [labels], weight)
        return self

    def predict(self, X: Any) -> Array:
        """Outputs in the units of y; the mean for the loss "poisson"."""
        return self._ask("predict", X)


def _has_probabilities(model: ProvedNetworkClassifier) -> bool:
    if model.loss not in ("logistic", "softmax"):
        raise AttributeError(f"loss={model.loss!r} has no probabilities; take loss='logistic'")
    return True


class ProvedNetworkClassifier(ClassifierMixin, _WithEstimators):
    """Classification by the network with weight decay that predicts held-out rows best, with a
    proved distance to its global minimum.

    The choice is that of `ProvedNetworkRegressor`. Two classes: one network, and its sign decides.
    More: one network per class against the rest, each with its own proof.

    Parameters
    ----------
    models : str | Sequence[str]
        As in `ProvedNetworkRegressor`.
    loss : str
        "logistic", "hinge" or "squared_hinge": more than two classes are one network per class
        against the rest. "softmax": one additive network for all classes, with one proof.
    weight_decay : float | str
        As in `ProvedNetworkRegressor`.
    interactions : str | Sequence[Sequence[int]]
        As in `ProvedNetworkRegressor`.
    bins : int | None
        As in `ProvedNetworkRegressor`.
    shapes : Mapping[str | int, str | int] | Sequence[str | int] | None
        As in `ProvedNetworkRegressor`.
    scaling : str
        As in `ProvedNetworkRegressor`; the labels are classes.
    gap : float | None
        As in `ProvedNetworkRegressor`.
    cv : Any
        Number of folds, shuffled and stratified; or a splitter of scikit-learn.
    certify : bool
        As in `ProvedNetworkRegressor`.
    random_state : int | np.random.RandomState | None
        As in `ProvedNetworkRegressor`.

    Attributes
    ----------
    classes_ : Array
        The class labels, sorted.
    best_estimator_, baseline_ : Any
        As in `ProvedNetworkRegressor`.
    model_ : str
        As in `ProvedNetworkRegressor`.
    candidates_ : tuple[Candidate, ...]
        As in `ProvedNetworkRegressor`; with more than two classes the losses are summed over them.
    networks_ : list[RegularizedNetwork]
        One for two classes, one per class for more; what follows is then a list each.
    objective_, lower_bound_, gap_, relative_gap_, loss_upper_, loss_lower_, weight_decay_ : float
        As in `ProvedNetworkRegressor`.
    optimal_ : bool
        As in `ProvedNetworkRegressor`.
    verdict_ : str | None
        As in `ProvedNetworkRegressor`.
    certificate_ : bytes | None
        As in `ProvedNetworkRegressor`.
    width_, n_features_in_ : int
        As in `ProvedNetworkRegressor`.
    preprocessing_ : Preprocessing
        As in `ProvedNetworkRegressor`.
    feature_names_in_ : Array
        As in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = ProvedNetworkClassifier().fit(X, y)
    >>> model.model_, model.verdict_, model.optimal_
    ('quadratic', 'ACCEPTED', True)
    """

    _classifies = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CHOICE_CONSTRAINTS,
        "loss": [StrOptions({"softmax", "logistic", "hinge", "squared_hinge"})],
    }

    def __init__(
        self,
        *,
        models: str | Sequence[str] = "auto",
        loss: str = "logistic",
        weight_decay: float | str = "cv",
        interactions: str | Sequence[Sequence[int]] = "none",
        bins: int | None = None,
        shapes: Mapping[str | int, str | int] | Sequence[str | int] | None = None,
        scaling: Literal["standardize", "none"] = "standardize",
        gap: float | None = None,
        cv: Any = 5,
        certify: bool = True,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.models = models
        self.loss = loss
        self.weight_decay = weight_decay
        self.interactions = interactions
        self.bins = bins
        self.shapes = shapes
        self.scaling = scaling
        self.gap = gap
        self.cv = cv
        self.certify = certify
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Compare the models, train the best, and prove its gap.

        Parameters
        ----------
        X : Any
            n x d inputs, an array or a data frame, without missing values.
        y : Any
            n class labels, numbers or strings.
        sample_weight : Any
            n numbers of at least 0, None for ones.
        """
        checked: Any = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(checked[1])
        self.classes_, codes = np.unique(checked[1], return_inverse=True)
        if len(self.classes_) < 2:
            raise DataError(
                f"y has one class only, {self.classes_.tolist()[0]!r}; a classifier needs at "
                "least two classes"
            )
        labels = [*_signs(codes, len(self.classes_)).T]
        if self.loss == "softmax":
            labels = [codes.astype(np.float64)]
        weight = checked_weight(sample_weight, checked[0])
        self._choose(X, checked[0], checked[1], labels, weight)
        return self

    def decision_function(self, X: Any) -> Array:
        """Outputs: (m,) for two classes, positive for `classes_[1]`; (m, classes) for more."""
        return self._ask("decision_function", X)

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each row."""
        return self._ask("predict", X)

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> Array:
        """Probabilities, (m, classes); only for the losses "logistic" and "softmax"."""
        return self._ask("predict_proba", X)


def choose_model(
    X: Any, y: Any, *, task: str = "auto", **options: Any
) -> ProvedNetworkRegressor | ProvedNetworkClassifier:
    """Choose a regularized network for a table by cross-validation, train it, and prove how far it
    is from the global minimum: what `globalmin fit` does.

    Parameters
    ----------
    X : Any
        n x d inputs, an array or a data frame, without missing values.
    y : Any
        n numbers or class labels.
    task : str
        "regression", "classification", or "auto": classes if y is text, logical, or has two
        different numbers.
    options : Any
        Of `ProvedNetworkRegressor` or `ProvedNetworkClassifier`.

    Returns
    -------
    ProvedNetworkRegressor | ProvedNetworkClassifier
        Fitted and proved; the table of candidates is `candidates_`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> model = choose_model(*load_diabetes(return_X_y=True))
    >>> model.model_, model.verdict_, [row.name for row in model.candidates_][:3]
    ('quadratic', 'ACCEPTED', ['additive', 'quadratic', 'relu'])
    """
    known = one_of("task", task, TASKS)
    labels = np.asarray(y)
    classifies = known == "classification" or (known == "auto" and is_classification(labels))
    kind = ProvedNetworkClassifier if classifies else ProvedNetworkRegressor
    return kind(**options).fit(X, y)

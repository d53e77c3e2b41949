"""Additive ReLU networks as classifiers: one network for two classes, or with an output for each of
several, or one against the rest, each with its proof.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets

from globalmin._options import Scaling
from globalmin._types import Array, NDArray
from globalmin.errors import DataError
from globalmin.estimators._additive import AdditiveNetworkEstimator
from globalmin.estimators._constraints import SHARED_CONSTRAINTS
from globalmin.estimators._regularized import checked_weight
from globalmin.estimators.shallow import _signs, _winners
from globalmin.losses import get_loss
from globalmin.losses.several import one_against_rest, probabilities
from globalmin.regularized.objective import HiddenBias

if TYPE_CHECKING:
    from typing import Self


def _has_probabilities(model: AdditiveNetworkClassifier) -> bool:
    if model.loss in ("hinge", "squared_hinge"):
        raise AttributeError(f"loss={model.loss!r} has no probabilities; take loss='auto'")
    return True


class AdditiveNetworkClassifier(ClassifierMixin, AdditiveNetworkEstimator, BaseEstimator):
    """Classification by additive ReLU networks with weight decay at the global minimum over every
    width, proved.

    Two classes: one network, and its sign decides. More classes: one network with an output for
    each class, trained with the softmax loss, one weight decay and one proof; every neuron bends
    the curves of all classes. Or, with another loss, one network per class against the rest, each
    with its own weight decay and its own proof, none about a joint loss.

    Parameters
    ----------
    loss : str
        "auto": "logistic" for two classes, "softmax" for more ("logistic" with interactions).
        "softmax": one network for all classes, every neuron sees one column. "logistic", "hinge",
        "squared_hinge": more than two classes are one network per class against the rest.
    loss_parameter : float | None
        None: these losses have no parameter.
    class_weight : dict | str | None
        "balanced", or the weight of each class, multiplied with the sample weights.
    interactions : str | Sequence[Sequence[int]]
        As in `AdditiveNetworkRegressor`.
    weight_decay : float | str
        As in `AdditiveNetworkRegressor`.
    gap, ratio : float
        As in `AdditiveNetworkRegressor`.
    hidden_bias, scaling : str
        As in `AdditiveNetworkRegressor`.
    monotone : Mapping[str | int, int] | Sequence[int] | None
        As in `AdditiveNetworkRegressor`, of the output for `classes_[1]`; two classes only.
    shapes : Mapping[str | int, str | int] | Sequence[str | int] | None
        As in `AdditiveNetworkRegressor`, of the output for `classes_[1]`; two classes only.
    bins : int | None
        As in `AdditiveNetworkRegressor`.
    cv : Any
        As in `AdditiveNetworkRegressor`; a number means stratified folds.
    n_decays, max_iter : int
        As in `AdditiveNetworkRegressor`.
    certify : bool
        As in `AdditiveNetworkRegressor`.
    random_state : int | np.random.RandomState | None
        As in `AdditiveNetworkRegressor`.

    Attributes
    ----------
    classes_ : Array
        The class labels, sorted.
    networks_, terms_, runs_ : list
        As in `AdditiveNetworkRegressor`, in the units of the log odds for "logistic". Softmax:
        `terms_` has a list per class, all else is that of the one network. Otherwise lists with one
        entry per class if there are more than two, and so all that follows.
    objective_, lower_bound_, gap_, relative_gap_, loss_upper_, loss_lower_, weight_decay_ : float
        As in `AdditiveNetworkRegressor`.
    optimal_ : bool
        As in `AdditiveNetworkRegressor`.
    certificate_ : bytes | None
        As in `AdditiveNetworkRegressor`.
    verdict_ : str | None
        As in `AdditiveNetworkRegressor`.
    weight_decays_, cv_losses_, feature_names_in_ : Array
        As in `AdditiveNetworkRegressor`.
    n_iter_, width_, n_features_in_ : int
        As in `AdditiveNetworkRegressor`.
    preprocessing_ : Preprocessing
        As in `AdditiveNetworkRegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((200, 3))
    >>> model = AdditiveNetworkClassifier().fit(X, np.abs(X[:, 0]) > 0.7)
    >>> model.verdict_, model.optimal_, model.score(X, np.abs(X[:, 0]) > 0.7) > 0.95
    ('ACCEPTED', True, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SHARED_CONSTRAINTS,
        "loss": [StrOptions({"auto", "softmax", "logistic", "hinge", "squared_hinge"})],
        "class_weight": [StrOptions({"balanced"}), dict, None],
    }

    def __init__(
        self,
        *,
        interactions: str | Sequence[Sequence[int]] = "none",
        loss: str = "auto",
        loss_parameter: float | None = None,
        weight_decay: float | str = "cv",
        class_weight: dict[Any, float] | str | None = None,
        gap: float = 1e-6,
        hidden_bias: HiddenBias = "penalized",
        scaling: Scaling = "standardize",
        monotone: Mapping[str | int, int] | Sequence[int] | None = None,
        shapes: Mapping[str | int, str | int] | Sequence[str | int] | None = None,
        bins: int | None = None,
        cv: Any = 5,
        n_decays: int = 16,
        ratio: float = 1e-3,
        max_iter: int = 300,
        certify: bool = True,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.interactions = interactions
        self.loss = loss
        self.loss_parameter = loss_parameter
        self.weight_decay = weight_decay
        self.class_weight = class_weight
        self.gap = gap
        self.hidden_bias = hidden_bias
        self.scaling = scaling
        self.monotone = monotone
        self.shapes = shapes
        self.bins = bins
        self.cv = cv
        self.n_decays = n_decays
        self.ratio = ratio
        self.max_iter = max_iter
        self.certify = certify
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose the weight decay, train to the global minimum, and prove the gap.

        Parameters
        ----------
        X : Any
            n x d inputs, an array or a data frame, without missing values.
        y : Any
            n class labels, numbers or strings.
        sample_weight : Any
            n numbers of at least 0.
        """
        rows, labels = self._raw(X, y)
        check_classification_targets(labels)
        weight = checked_weight(sample_weight, rows)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        present = codes if weight is None else codes[weight > 0]
        if np.unique(present).size < 2:
            raise DataError(
                "y has one class only (among rows of positive weight); a classifier needs at "
                "least two classes"
            )
        if self.class_weight is not None:
            factor = compute_sample_weight(self.class_weight, labels)
            weight = factor if weight is None else weight * factor
        for rule in ("monotone", "shapes"):
            if getattr(self, rule) is not None and len(self.classes_) > 2:
                raise DataError(
                    f"{rule}={getattr(self, rule)!r} with {len(self.classes_)} classes: a column "
                    "cannot raise the outputs of all classes; take two classes"
                )
        name = self._loss_name(rows.shape[1])
        settings = self._settings(rows.shape[1], name)
        labels = [*_signs(codes, len(self.classes_)).T]
        if name == "softmax":
            loss = get_loss(name, len(self.classes_))
            settings, labels = replace(settings, loss=loss), [codes.astype(np.float64)]
        self._fit_labels(rows, labels, weight, settings)
        return self

    def _loss_name(self, n_features: int) -> str:
        """What "auto" means for these classes; DataError for a softmax with interactions."""
        may_have_pairs = self.interactions == "auto" and n_features > 1
        has_pairs = may_have_pairs or self._groups(n_features) != "columns"
        if self.loss == "softmax" and has_pairs:
            raise DataError(
                f"loss='softmax' with interactions={self.interactions!r}: neurons that all classes "
                "share see one column each; take interactions='none' or loss='logistic'"
            )
        if self.loss != "auto":
            return self.loss
        return "logistic" if has_pairs or len(self.classes_) == 2 else "softmax"

    def decision_function(self, X: Any) -> Array:
        """Outputs: (m,) for two classes, positive for `classes_[1]`; (m, classes) for more."""
        outputs = self._outputs(X)
        if outputs.ndim == 3:  # one network with an output for each class
            outputs = outputs[:, 0]
            return outputs[:, 1] - outputs[:, 0] if len(self.classes_) == 2 else outputs
        return outputs[:, 0] if len(self.classes_) == 2 else outputs

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each row."""
        scores = self.decision_function(X)
        return _winners(self.classes_, scores)

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> Array:
        """Probabilities, (m, classes): the softmax of the outputs; of several logistic networks
        normalized to sum 1. Not for the hinge losses.
        """
        outputs = self._outputs(X)
        if outputs.ndim == 3:
            return probabilities(outputs[:, 0])
        return one_against_rest(outputs)

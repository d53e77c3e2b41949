"""Additive ReLU networks as regressors and classifiers: every neuron sees one column (or two), any
convex loss, weight decay, and a proved distance to the global minimum over every width.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, _fit_context
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


class AdditiveNetworkRegressor(RegressorMixin, AdditiveNetworkEstimator, BaseEstimator):
    r"""Regression by additive ReLU networks with weight decay at the global minimum over every
    width, proved.

    $f(x) = c_0 + \sum_l v_l\,\mathrm{relu}(w_l x_{j(l)} + \beta_l)$: every neuron sees one column,
    so the model is one piecewise linear curve per column, to be read in `terms_`. The objective is
    the summed loss plus $\frac b2\sum_l(w_l^2 + \beta_l^2 + v_l^2)$, in the units after scaling.

    Parameters
    ----------
    interactions : str | Sequence[Sequence[int]]
        "none"; "pairs": every neuron sees two columns; or the pairs of columns that one neuron may
        see, all other columns by themselves; or "auto": the (at most ten) pairs that the network
        without interactions lacks most. The proof is about the pairs chosen, which the file lists;
        it says nothing of the choice.
    loss : str
        "squared", "huber", "quantile" or "poisson" (labels at least 0, log link: `predict` gives
        the mean).
    loss_parameter : float | None
        The threshold of "huber" in units of the scaled labels (default 1), the level of "quantile"
        (default 1/2).
    weight_decay : float | str
        b > 0, or "cv": the one with the least held-out loss.
    gap : float
        The relative distance to the global minimum to reach and to prove.
    hidden_bias : str
        "penalized", or "free": the hidden biases cost nothing.
    scaling : str
        "standardize" (columns of X, and labels other than counts) or "none". Undone by `predict`.
    monotone : Mapping[str | int, int] | Sequence[int] | None
        1, -1 or 0 for columns by name or number, or for all in order: every *neuron* of a column
        with 1 is nondecreasing, with -1 nonincreasing, and so is its curve. The class is smaller
        than that of monotone curves: one that rises and then stays constant, relu(x - 1) - relu(x -
        2), is not in it. Only with interactions="none".
    bins : int | None
        Round every column to so many values at most (quantile bins, each at its mean) for training
        and proof: pairs of long tables become cheap. The proof is then about the binned rows;
        `predict` takes rows as they are.
    cv : Any
        Number of folds (shuffled), or a splitter of scikit-learn.
    n_decays : int
        Length of the path of decays.
    ratio : float
        The last decay of the path as a share of the first, from which on there are no neurons.
    max_iter : int
        Rounds of column generation at most.
    certify : bool
        Prove the gap and have the proof checked.
    random_state : int | np.random.RandomState | None
        Seed of the folds.

    Attributes
    ----------
    networks_ : list[RegularizedNetwork]
        The network, also as `network_`.
    terms_ : list[Term]
        The curves (and surfaces) that add up to the model, the largest first.
    objective_ : float
        The objective in floats, an estimate.
    lower_bound_ : float
        Proved: no network of the class, of any width, has an objective below this; -infinity
        without certificate.
    gap_, relative_gap_ : float
        Proved bound of the objective minus its infimum, and as a share of the objective (of
        Poisson's loss: of what is above the saturated model); infinity without certificate.
    optimal_ : bool
        Whether the proved relative gap is at most `gap`.
    certificate_ : bytes | None
        Bytes of the certificate file that the independent checker accepted, or None; see
        `save_certificate`.
    verdict_ : str | None
        The checker's word; None if there was nothing to check.
    loss_upper_, loss_lower_ : float
        Proved bounds of the objective of the network, and of every network.
    weight_decay_ : float
        The decay b that was used.
    weight_decays_, cv_losses_ : Array
        The decays of the path as far as it was followed, and their held-out losses (decays x
        folds); None for a given decay.
    runs_ : list[RegularizedRun]
        Training, with the problem in scaled units.
    n_iter_, width_, n_features_in_ : int
        Rounds of column generation, neurons, columns.
    preprocessing_ : Preprocessing
        The scaling and its inverse.
    feature_names_in_ : Array
        As in scikit-learn.

    Notes
    -----
    Missing values are refused: impute them, with an indicator column where missing means something.
    The fitted values at the training rows are the same for every optimal network if the loss is
    strictly convex; the curves between the rows are not claimed to be unique.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((200, 3))
    >>> model = AdditiveNetworkRegressor().fit(X, np.abs(X[:, 0]) + X[:, 2])
    >>> model.verdict_, model.optimal_, [term.name for term in model.terms_][:2]
    ('ACCEPTED', True, ['column 2', 'column 0'])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SHARED_CONSTRAINTS,
        "loss": [StrOptions({"squared", "huber", "quantile", "poisson"})],
    }

    def __init__(
        self,
        *,
        interactions: str | Sequence[Sequence[int]] = "none",
        loss: str = "squared",
        loss_parameter: float | None = None,
        weight_decay: float | str = "cv",
        gap: float = 1e-6,
        hidden_bias: HiddenBias = "penalized",
        scaling: Scaling = "standardize",
        monotone: Mapping[str | int, int] | Sequence[int] | None = None,
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
        self.gap = gap
        self.hidden_bias = hidden_bias
        self.scaling = scaling
        self.monotone = monotone
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
            n labels.
        sample_weight : Any
            n numbers of at least 0.
        """
        rows, labels = self._raw(X, y, y_numeric=True)
        labels = np.asarray(labels, dtype=np.float64)
        settings = self._settings(rows.shape[1])
        settings.loss.check_labels(labels)
        self._fit_labels(rows, [labels], checked_weight(sample_weight, rows), settings)
        return self

    def predict(self, X: Any) -> Array:
        """Outputs in the units of y; the mean for the loss "poisson"."""
        outputs = self._outputs(X)[:, 0]
        return np.exp(outputs) if self.loss == "poisson" else outputs


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
        if self.monotone is not None and len(self.classes_) > 2:
            raise DataError(
                f"monotone={self.monotone!r} with {len(self.classes_)} classes: a column cannot "
                "raise the outputs of all classes; take two classes"
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

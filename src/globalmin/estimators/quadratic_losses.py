"""Quadratic networks with any convex loss as a classifier and a regressor: weight decay, and a
proved distance to the global minimum over every width.
"""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets

from globalmin._options import Scaling, Signs
from globalmin._types import Array, NDArray
from globalmin.errors import DataError
from globalmin.estimators._constraints import SQUARES_CONSTRAINTS
from globalmin.estimators._regularized import checked_weight
from globalmin.estimators._squares import SquaresNetworkEstimator
from globalmin.estimators.shallow import _signs, _winners
from globalmin.losses.several import one_against_rest

if TYPE_CHECKING:
    from typing import Self


def _is_logistic(model: QuadraticNetworkClassifier) -> bool:
    if model.loss != "logistic":
        raise AttributeError(f"loss={model.loss!r} has no probabilities; take loss='logistic'")
    return True


class QuadraticNetworkClassifier(ClassifierMixin, SquaresNetworkEstimator, BaseEstimator):
    r"""Classification by quadratic networks with weight decay at the global minimum over every
    width, proved.

    $f(x) = c_0 + \sum_l v_l(w_l\cdot x + \beta_l)^2$ with $|v_l| \le 1$ is every polynomial of
    degree two, to be read in `interactions_`. The objective is the summed loss plus $\frac
    b2\|W\|_F^2$, which prefers few neurons; in the polynomial's matrix it is convex.

    Two classes: one network, and its sign decides. More classes: one network per class against the
    rest, each with its own weight decay and its own proof, and the largest output decides; the
    proofs are about these networks, not about a joint multiclass loss.

    Parameters
    ----------
    loss : str
        "logistic", "hinge" or "squared_hinge".
    weight_decay : float | str
        b > 0, or "cv": the one with the least held-out loss.
    class_weight : dict | str | None
        "balanced", or the weight of each class, multiplied with the sample weights.
    signs : str
        "mixed" (heads of both signs) or "positive" (convex functions).
    bias_scale : float
        The constant feature c > 0 that hidden biases multiply: the larger, the less linear terms
        cost against squares and products.
    scaling : str
        "standardize" (columns of X) or "none". Undone by `predict`.
    gap : float
        The relative distance to the global minimum to reach and to prove.
    cv : Any
        Number of folds (stratified, shuffled), or a splitter of scikit-learn.
    n_decays : int
        Length of the path of decays.
    ratio : float
        Its last decay over its first, from which on there are no neurons.
    max_iter : int
        Rounds of new neurons.
    certify : bool
        Prove the result and have the proof checked. False saves the time.
    random_state : int | np.random.RandomState | None
        Of the folds.

    Attributes
    ----------
    classes_ : Array
        The class labels, sorted.
    networks_ : list[SquaresNetwork]
        One for two classes, one per class for more; what follows is then a list each.
    interactions_ : Interactions
        Constant, linear terms, squares and products; print it, or `plot_interactions()`.
    runs_ : list[SquaresRun]
        Problem, network and dual vector of each training.
    objective_ : float
        Of the network, in floats.
    lower_bound_ : float
        Proved: no quadratic network of any width has a lower objective.
    gap_, relative_gap_ : float
        Proved distance to the global minimum, and its share of the objective.
    optimal_ : bool
        Whether the proved share is at most `gap`.
    certificate_ : bytes | None
        The accepted file.
    verdict_ : str | None
        The checker's word on it.
    loss_upper_, loss_lower_ : float
        Verified ends of the objective.
    weight_decay_ : float
        Given or chosen.
    weight_decays_, cv_losses_ : Array
        Decays tried and their held-out losses, decays x folds; None without "cv".
    n_iter_, width_, n_features_in_ : int
        Rounds, neurons, columns.
    preprocessing_ : Preprocessing
        The scaling.
    feature_names_in_ : Array
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((200, 3))
    >>> model = QuadraticNetworkClassifier().fit(X, X[:, 0] * X[:, 1] > 0)
    >>> model.verdict_, model.optimal_, model.score(X, X[:, 0] * X[:, 1] > 0) > 0.95
    ('ACCEPTED', True, True)
    >>> model.interactions_.table(most=1)[0][:2]
    ('column 0', 'column 1')
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SQUARES_CONSTRAINTS,
        "loss": [StrOptions({"logistic", "hinge", "squared_hinge"})],
        "class_weight": [StrOptions({"balanced"}), dict, None],
    }

    def __init__(
        self,
        *,
        loss: str = "logistic",
        weight_decay: float | str = "cv",
        class_weight: dict[Any, float] | str | None = None,
        signs: Signs = "mixed",
        bias_scale: float = 4.0,
        scaling: Scaling = "standardize",
        gap: float = 1e-6,
        cv: Any = 5,
        n_decays: int = 16,
        ratio: float = 1e-3,
        max_iter: int = 100,
        certify: bool = True,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.loss = loss
        self.weight_decay = weight_decay
        self.class_weight = class_weight
        self.signs = signs
        self.bias_scale = bias_scale
        self.scaling = scaling
        self.gap = gap
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
        signs = _signs(codes, len(self.classes_))
        self._fit_labels(rows, [*signs.T], weight, self._settings())
        return self

    def decision_function(self, X: Any) -> Array:
        """Outputs: (m,) for two classes, positive for `classes_[1]`; (m, classes) for more."""
        outputs = self._outputs(X)
        return outputs[:, 0] if len(self.classes_) == 2 else outputs

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each row."""
        scores = self.decision_function(X)
        return _winners(self.classes_, scores)

    @available_if(_is_logistic)
    def predict_proba(self, X: Any) -> Array:
        """Probabilities, (m, classes); of several networks normalized to sum 1. Only for the loss
        "logistic".
        """
        return one_against_rest(self._outputs(X))


class SquaresNetworkRegressor(RegressorMixin, SquaresNetworkEstimator, BaseEstimator):
    r"""Regression by quadratic networks with a robust, quantile or count loss at the global minimum
    over every width, proved.

    The network and the objective of `QuadraticNetworkClassifier`, with another loss. For the
    squared loss `QuadraticNetworkRegressor` has more: fixed widths, claims without weight decay.

    Parameters
    ----------
    loss : str
        "huber", "quantile", "poisson" (labels at least 0, log link: `predict` gives the mean) or
        "squared".
    loss_parameter : float | None
        The threshold of "huber" in units of the scaled labels (default 1), the level of "quantile"
        (default 1/2).
    weight_decay : float | str
        As in `QuadraticNetworkClassifier`.
    signs, scaling : str
        As in `QuadraticNetworkClassifier`; labels other than counts are standardized too.
    bias_scale, gap, ratio : float
        As in `QuadraticNetworkClassifier`.
    cv : Any
        As in `QuadraticNetworkClassifier`, not stratified.
    n_decays, max_iter : int
        As in `QuadraticNetworkClassifier`.
    certify : bool
        As in `QuadraticNetworkClassifier`.
    random_state : int | np.random.RandomState | None
        As in `QuadraticNetworkClassifier`.

    Attributes
    ----------
    networks_, runs_ : list
        As in `QuadraticNetworkClassifier`.
    interactions_ : Interactions
        As in `QuadraticNetworkClassifier`, of the logarithm of the mean for "poisson".
    objective_, lower_bound_, gap_, relative_gap_, loss_upper_, loss_lower_, weight_decay_ : float
        As in `QuadraticNetworkClassifier`.
    optimal_ : bool
        As in `QuadraticNetworkClassifier`.
    certificate_ : bytes | None
        As in `QuadraticNetworkClassifier`.
    verdict_ : str | None
        As in `QuadraticNetworkClassifier`.
    weight_decays_, cv_losses_, feature_names_in_ : Array
        As in `QuadraticNetworkClassifier`.
    n_iter_, width_, n_features_in_ : int
        As in `QuadraticNetworkClassifier`.
    preprocessing_ : Preprocessing
        As in `QuadraticNetworkClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((150, 3))
    >>> counts = rng.poisson(np.exp(0.5 * X[:, 0] * X[:, 1]))
    >>> model = SquaresNetworkRegressor(loss="poisson", weight_decay=20.0).fit(X, counts)
    >>> model.verdict_, model.optimal_
    ('ACCEPTED', True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SQUARES_CONSTRAINTS,
        "loss": [StrOptions({"huber", "quantile", "poisson", "squared"})],
        "loss_parameter": [None, Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        *,
        loss: str = "huber",
        loss_parameter: float | None = None,
        weight_decay: float | str = "cv",
        signs: Signs = "mixed",
        bias_scale: float = 4.0,
        scaling: Scaling = "standardize",
        gap: float = 1e-6,
        cv: Any = 5,
        n_decays: int = 16,
        ratio: float = 1e-3,
        max_iter: int = 100,
        certify: bool = True,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.loss = loss
        self.loss_parameter = loss_parameter
        self.weight_decay = weight_decay
        self.signs = signs
        self.bias_scale = bias_scale
        self.scaling = scaling
        self.gap = gap
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
        settings = self._settings(self.loss_parameter)
        settings.loss.check_labels(labels)
        self._fit_labels(rows, [labels], checked_weight(sample_weight, rows), settings)
        return self

    def predict(self, X: Any) -> Array:
        """Outputs in the units of y; the mean for the loss "poisson"."""
        outputs = self._outputs(X)[:, 0]
        return np.exp(outputs) if self.loss == "poisson" else outputs

"""Additive ReLU networks as regressors: every neuron sees one column (or two), any convex loss,
weight decay, and a proved distance to the global minimum over every width.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin, _fit_context
from sklearn.utils._param_validation import StrOptions

from globalmin._options import Scaling
from globalmin._types import Array
from globalmin.estimators._additive import AdditiveNetworkEstimator
from globalmin.estimators._constraints import SHARED_CONSTRAINTS
from globalmin.estimators._regularized import checked_weight
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
    shapes : Mapping[str | int, str | int] | Sequence[str | int] | None
        The shape of whole *curves*, on the whole line, for columns by name or number, or for all in
        order: "increasing" (or 1), "decreasing" (or -1), "convex", "concave", "none" (or 0). 1 and
        -1 mean what they mean in `monotonic_cst` of scikit-learn. The neurons may have any sign.
        Not together with `monotone`, and only with interactions="none".
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

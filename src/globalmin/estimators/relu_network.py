"""Fully connected ReLU networks with weight decay as estimators: any convex loss, and a proved gap
to the global minimum over every width.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin, _fit_context
from sklearn.model_selection import check_cv
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from globalmin._options import Scaling
from globalmin._types import Array, NDArray
from globalmin.data import SCALINGS, Dataset
from globalmin.errors import DataError
from globalmin.estimators._base import ProvedEstimator, _single
from globalmin.losses import Loss, get_loss
from globalmin.proving.producer import prove
from globalmin.proving.proof import Proof, no_proof
from globalmin.regularized.full_run import (
    FullRun,
    estimate_largest_decay,
    full_decay_path,
    train_relu,
)
from globalmin.regularized.full_training import train_full
from globalmin.regularized.objective import HIDDEN_BIASES, HiddenBias, Penalty, RegularizedProblem

if TYPE_CHECKING:
    from typing import Self

# of the largest decay that is worth trying
CV_SHARES = (0.5, 0.3, 0.17, 0.1, 0.06, 0.03, 0.017, 0.01)
_FIT_CALLER = 5

RELU_CONSTRAINTS: dict[str, list[Any]] = {
    "weight_decay": [StrOptions({"cv"}), Interval(Real, 0, None, closed="neither")],
    "hidden_bias": [StrOptions(set(HIDDEN_BIASES))],
    "intercept": [StrOptions({"free", "none"}), Interval(Real, 0, None, closed="neither")],
    "linear": [StrOptions({"free", "none"}), Interval(Real, 0, None, closed="neither")],
    "scaling": [StrOptions(set(SCALINGS))],
    "gap": [Interval(Real, 0, None, closed="left")],
    "starts": [Interval(Integral, 1, None, closed="left")],
    "max_seconds": [Interval(Real, 0, None, closed="neither")],
    "max_cones": [Interval(Integral, 0, None, closed="left")],
    "cv": ["cv_object"],
    "certify": ["boolean"],
    "random_state": ["random_state"],
}


class ReluNetworkEstimator(ProvedEstimator):
    """What regressor and classifier share: choose the decay, train, prove, say how far."""

    loss: str
    weight_decay: float | str
    hidden_bias: HiddenBias
    intercept: Literal["free", "none"] | float
    linear: Literal["free", "none"] | float
    scaling: Scaling
    gap: float
    starts: int
    max_seconds: float
    max_cones: int
    cv: Any
    random_state: int | np.random.RandomState | None

    def _penalty(self, weight_decay: float) -> Penalty:
        return Penalty(
            weight_decay,
            hidden_bias=self.hidden_bias,
            intercept=self.intercept,
            linear=self.linear,
        )

    def _problem(self, X: Array, y: Array, loss: Loss, weight_decay: float) -> RegularizedProblem:
        return RegularizedProblem(X, y, self._penalty(weight_decay), loss, groups="all")

    def _fit_problems(self, X: Array, labels: Sequence[Array], loss: Loss) -> None:
        """Choose the decay, train and prove one network per column of labels, and set all fitted
        attributes.
        """
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        self.weight_decay_ = self._chosen_decay(X, labels, loss, seed)
        runs = [self._run(self._problem(X, y, loss, self.weight_decay_), seed) for y in labels]
        proofs = [self._proof(run) for run in runs]
        self._store_runs(runs, proofs)

    def _run(self, problem: RegularizedProblem, seed: int) -> FullRun:
        """The trained network, with a floor only if it is to be proved."""
        limits: dict[str, Any] = {"starts": self.starts, "max_seconds": self.max_seconds}
        if not self.certify:
            return FullRun(train_full(problem, seed=seed, **limits), problem, None)
        return train_relu(problem, gap=self.gap, max_cones=self.max_cones, seed=seed, **limits)

    def _proof(self, run: FullRun) -> Proof:
        if not self.certify:
            return no_proof({}, message="certify=False")
        return prove(run.network, run.problem, run=run, is_quick=True)

    def _store_runs(self, runs: Sequence[FullRun], proofs: Sequence[Proof]) -> None:
        self.networks_ = [run.network for run in runs]
        self.width_ = _single([run.network.width for run in runs])
        self.objective_ = _single([run.objective for run in runs])
        self.bound_ = _single([constraint_of(proof) for proof in proofs])
        self._store_proofs(proofs)
        found = [claim_numbers(proof) for proof in proofs]
        self.loss_lower_ = _single([floor for floor, _ in found])
        self.lower_bound_ = self.loss_lower_
        self.gap_ = _single([gap for _, gap in found])
        shares = [
            gap / abs(run.objective) if run.objective else math.inf
            for (_, gap), run in zip(found, runs, strict=True)
        ]
        self.relative_gap_ = _single(shares)
        self.optimal_ = _single([share <= self.gap for share in shares])
        self._warn_proofs(runs, proofs)

    def _warn_proofs(self, runs: Sequence[FullRun], proofs: Sequence[Proof]) -> None:
        unproved = [j for j, proof in enumerate(proofs) if not proof.is_accepted]
        if self.certify and unproved:
            where = "" if len(runs) == 1 else f"network {unproved[0]}: "
            warnings.warn(
                f"{where}no certificate: {proofs[unproved[0]].why}",
                UserWarning,
                stacklevel=_FIT_CALLER,
            )

    def _chosen_decay(self, X: Array, labels: Sequence[Array], loss: Loss, seed: int) -> float:
        """The number given, or that with the least held-out loss."""
        if not isinstance(self.weight_decay, str):
            return float(self.weight_decay)
        whole = [self._problem(X, y, loss, 1.0) for y in labels]
        largest = max(estimate_largest_decay(problem, seed=seed) for problem in whole)
        self.weight_decays_ = largest * np.array(CV_SHARES)
        self.loss_path_ = self._held_out_losses(X, labels, loss, seed)
        return float(self.weight_decays_[int(self.loss_path_.mean(axis=1).argmin())])

    def _held_out_losses(self, X: Array, labels: Sequence[Array], loss: Loss, seed: int) -> Array:
        """Mean held-out losses, weight decays x folds, summed over the networks. The decay of a
        fold is that of all rows times its share of them: the objective is a sum.
        """
        folds: Any = check_cv(
            self.cv, self._stratified(labels), classifier=hasattr(self, "classes_")
        )
        columns: list[Array] = []
        for train, test in folds.split(X, self._stratified(labels)):
            share = len(train) / len(X)
            total = np.zeros(len(CV_SHARES))
            for y in labels:
                if loss.labels == "signs" and len(np.unique(y[train])) < 2:
                    continue  # a fold without one of the classes says nothing
                problem = self._problem(X[train], y[train], loss, 1.0)
                decays = [float(decay) * share for decay in self.weight_decays_]
                path = full_decay_path(problem, decays, seed=seed)
                total += [float(loss.value(net.predict(X[test]), y[test]).mean()) for net in path]
            columns.append(total)
        return np.stack(columns, axis=1)

    def _stratified(self, labels: Sequence[Array]) -> Array:
        return labels[0] if len(labels) == 1 else np.stack(labels, axis=1).argmax(axis=1)

    def summary(self) -> str:
        """One sentence: the objective, the proved floor, the gap and the tolerance.

        Returns
        -------
        str
            The sentence; one per network, on lines of their own.
        """
        check_is_fitted(self)
        lists = [
            value if isinstance(value, list) else [value]
            for value in (self.objective_, self.lower_bound_, self.relative_gap_, self.bound_)
        ]
        return "\n".join(
            gap_sentence(P, floor, share, bound, self.gap)
            for P, floor, share, bound in zip(*lists, strict=True)
        )


def claim_numbers(proof: Proof) -> tuple[float, float]:
    """Floor and gap of an accepted claim `dual-gap`; minus infinity and infinity without one."""
    claim = proof.claim("dual-gap")
    if claim is None or claim.numbers.floor is None or claim.numbers.gap is None:
        return -math.inf, math.inf
    return claim.numbers.floor, claim.numbers.gap


def constraint_of(proof: Proof) -> str | None:
    """How the checker verified the floor: "columns", "cones" or "spectral"; None without one."""
    claim = proof.claim("dual-gap")
    return None if claim is None else str(claim.numbers.others.get("constraint"))


def gap_sentence(
    value: float, floor: float, share: float, constraint: str | None, tolerance: float
) -> str:
    """How far a network is from the global minimum, in words."""
    if not math.isfinite(share):
        return f"The objective is {value:.6g}; no floor is proved under it."
    verdict = "within" if share <= tolerance else "not within"
    return (
        f"The objective is {value:.6g}, and no network of any width is below {floor:.6g} "
        f"(proved by {constraint}): at most {100 * share:.3g} % above the global minimum, "
        f"{verdict} the tolerance of {100 * tolerance:.3g} %."
    )


class ReluNetworkRegressor(RegressorMixin, ReluNetworkEstimator):
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
        "penalized" (counted in $|w_l|$), "free" (as in scikit-learn's networks; a floor is proved
        up to six columns only) or "none".
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
        Proved bound of the objective minus the global minimum, and its share of the objective.
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
        With "cv": the decays tried.
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
        loss.check_labels(raw_y)
        data = Dataset(raw_X, raw_y, bias=False, scaling=self.scaling)
        labels = data.y if loss.labels == "real" else raw_y
        step = data.preprocessing
        self.preprocessing_ = (
            step if loss.labels == "real" else replace(step, y_shift=0.0, y_scale=1.0)
        )
        self._fit_problems(data.X, [labels], loss)
        return self

    def predict(self, X: Any) -> Array:
        """Outputs in the units of y; expected counts for "poisson"."""
        outputs = self._outputs(X)[:, 0]
        return np.exp(outputs) if self.loss == "poisson" else outputs


def _checked_regression(model: Any, X: Any, y: Any) -> tuple[Array, Array]:
    checked: Any = validate_data(model, X, y, y_numeric=True)
    return np.asarray(checked[0], dtype=np.float64), np.asarray(checked[1], dtype=np.float64)


class ReluNetworkClassifier(ClassifierMixin, ReluNetworkEstimator):
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
        positive = _sigmoid(self.decision_function(X))
        if positive.ndim == 1:
            return np.stack([1.0 - positive, positive], axis=1)
        return positive / positive.sum(axis=1, keepdims=True)

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each row."""
        scores = self.decision_function(X)
        winners = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[winners]


def _sigmoid(z: Array) -> Array:
    return 0.5 * (1.0 + np.tanh(0.5 * z))

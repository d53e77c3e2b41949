"""The regressor and the classifier of shallow networks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin, MultiOutputMixin, RegressorMixin, _fit_context
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from globalmin._types import NDArray
from globalmin.data import Dataset
from globalmin.estimators._base import ShallowNetworkEstimator


class ShallowNetworkRegressor(MultiOutputMixin, RegressorMixin, ShallowNetworkEstimator):
    """Regression by shallow networks f(x) = v . phi(W x), trained to the global minimum of the
    squared loss, with a proof.

    By default the network interpolates: it is as wide as needed for zero training loss, and
    `certificate_` proves that zero-loss weights exist next to the fitted ones. Zero training loss
    is not generalization; compare scores on held-out data. Several targets are fitted by one
    network each.

    Parameters
    ----------
    width : int | str
        Number of hidden neurons, or "auto": from k(d + 1) >= 1.2 n on, wider if that fails.
    activation : str | Activation
        "softplus", "tanh", "relu", "leaky_relu(0.1)", ..., or an `Activation`; see
        `globalmin.get_activation`.
    method : "auto", "levenberg_marquardt", "homotopy", "gradient_descent", "sgd", "gradient_flow",
        "lbfgs", "perturbed_gradient_descent" or "trust_region"; see `globalmin.train`.
    trained : str
        "W" (the head v keeps its random signs), "vW" (both layers) or "v" (the head alone, on
        random features: solved by least squares, and its minimum over heads is what is proved).
    bias : bool
        Append a constant feature.
    scaling : str
        "standardize" (columns of X and y), "rows" (rows of X to norm 1) or "none". Undone by
        `predict`.
    max_iter : int | None
        Iterations of one start; None for the default of the method.
    tol : float
        Relative residual ||f - y||/||y|| to reach.
    step_size : float | str | None
        A number or "theory", for gradient_descent and sgd only; for sgd also "local".
    until : str
        What ends the training: "tolerance"; "provable" or "descent", see `globalmin.train`; with
        method="gradient_descent" also "proved": the certificate then says that gradient descent
        from its own random start reaches zero loss.
    warm_start : bool
        Start from the networks of the previous fit where their shapes agree with the new data and
        parameters.
    certify : bool
        Prove the result and have the proof checked. False saves the time and leaves `certificate_`
        and `verdict_` None.
    memory_limit : int | None
        Bytes that training may use; None for what the machine has. More is refused with
        `MemoryRefused`, which is a MemoryError, before anything large is allocated.
    verbose : int
        1 shows progress on a terminal.
    random_state : int | np.random.RandomState | None
        Seed of the random first weights.

    Attributes
    ----------
    networks_ : list[ShallowNetwork]
        List of the networks, one per target; `network_` is the only one of a single target.
    certificate_ : bytes | None
        Bytes of the certificate file that the independent checker accepted, or None; see
        `save_certificate`.
    verdict_ : str | None
        The checker's word "ACCEPTED", "REJECTED", "UNDECIDED" or "MALFORMED"; None if there was
        nothing to check, because no claim could be made or `certify=False`.
    loss_upper_ : float
        Proved upper bound of the loss (1/2) sum of squared residuals of the network over the rows
        in the certificate, from which rows that repeat another are left out where zero loss is
        proved; infinity without certificate.
    loss_lower_ : float
        Proved lower bound of the loss of every network with this activation, of any width: positive
        for conflicting data (equal rows with different labels, for example), otherwise 0. If the
        fitted head has no negative weight, the bound may be that of the networks with a head >= 0
        only; the certificate says which ("heads").
    objective_ : float
        The loss in floats, an estimate.
    lower_bound_ : float
        The same as `loss_lower_`, by the name that all estimators share.
    gap_ : float
        Proved bound of the loss minus its infimum over these networks; infinity without
        certificate.
    relative_gap_ : float
        `gap_` as a share of the loss of the zero network where the minimum is zero, of the loss or
        objective itself elsewhere; `gap_statement()` says it in one sentence.
    optimal_ : bool
        Whether the certificate says that the network is at the global minimum: zero loss is proved
        next to its weights, or the gap is at most 1e-6 of the loss.
    trajectory_ : Trajectory
        Recorded steps of training (loss, gradient, movement, ...), see
        `globalmin.training.Trajectory`.
    loss_curve_ : Array
        Loss at the recorded steps; an estimate in floating point.
    n_iter_ : int
        Iterations of the start that gave the network.
    width_ : int
        Number of neurons.
    preprocessing_ : Preprocessing
        The scaling and its inverse, see `globalmin.data.Preprocessing`.
    n_features_in_ : int
        As in scikit-learn.
    feature_names_in_ : Array
        As in scikit-learn.

    Notes
    -----
    With several targets every attribute from `certificate_` to `preprocessing_` is a list with one
    entry per target.

    The loss and its bounds are in the units the network is trained in: with scaling="standardize"
    the labels have mean 0 and variance 1, so a bound in squared user units is the bound times
    `preprocessing_.y_scale ** 2`.

    The certificate claims interpolation (relu-interpolation for ReLU, the loss floor for
    conflicting data). `globalmin.certify` can also prove convergence of gradient descent from the
    fitted weights.

    Equal rows with equal labels enter the certificate of a smooth activation once: weights that fit
    the first fit them all. The bounds above are for all rows.

    Warnings: `ConvergenceWarning` if training fell short of `tol`; otherwise a UserWarning if no
    certificate was accepted. Conflicting data with a proved loss floor are no reason to warn:
    compare `loss_upper_` with `loss_lower_`.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((30, 5))
    >>> model = ShallowNetworkRegressor(random_state=0).fit(X, X[:, 0] * X[:, 1])
    >>> model.verdict_, model.loss_lower_, model.loss_upper_ < 1e-20
    ('ACCEPTED', 0.0, True)
    """

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> Self:
        """Train, and prove what can be proved.

        Parameters
        ----------
        X : Any
            n x d inputs, an array or a data frame.
        y : Any
            n labels, or n x q for q targets.
        """
        X, y = validate_data(self, X, y, multi_output=True, y_numeric=True)
        self._refuse_if_too_large(X)
        self._labels_shape = np.shape(y)[1:]
        self._fit_targets(Dataset(X, y, bias=self.bias, scaling=self.scaling))
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Outputs in the units of y, shaped like the y of `fit`."""
        outputs = self._outputs(X)
        return outputs.reshape(len(outputs), *self._labels_shape)


class ShallowNetworkClassifier(ClassifierMixin, ShallowNetworkEstimator):
    """Classification by shallow networks f(x) = v . phi(W x) fitted to labels +1 and -1 with the
    squared loss, with a proof.

    Two classes: one network, and its sign decides. More classes: one network per class against the
    others, and the largest output decides. By default the networks interpolate, see
    `ShallowNetworkRegressor`. There is no `predict_proba`: the squared loss models no
    probabilities.

    Parameters
    ----------
    width : int | str
        Number of hidden neurons of each network, or "auto": from k(d + 1) >= 1.2 n on, wider if
        that fails.
    activation : str | Activation
        "softplus", "tanh", "relu", "leaky_relu(0.1)", ..., or an `Activation`; see
        `globalmin.get_activation`.
    method : "auto", "levenberg_marquardt", "homotopy", "gradient_descent", "sgd", "gradient_flow",
        "lbfgs", "perturbed_gradient_descent" or "trust_region"; see `globalmin.train`.
    trained : str
        "W" (the head v keeps its random signs), "vW" (both layers) or "v" (the head alone, on
        random features: solved by least squares, and its minimum over heads is what is proved).
    bias : bool
        Append a constant feature.
    scaling : str
        "standardize" (columns of X), "rows" (rows of X to norm 1) or "none". The labels stay +1 and
        -1.
    max_iter : int | None
        Iterations of one start; None for the default of the method.
    tol : float
        Relative residual ||f - y||/||y|| to reach.
    step_size : float | str | None
        A number or "theory", for gradient_descent and sgd only; for sgd also "local".
    until : str
        What ends the training: "tolerance"; "provable" or "descent", see `globalmin.train`; with
        method="gradient_descent" also "proved": the certificate then says that gradient descent
        from its own random start reaches zero loss.
    warm_start : bool
        Start from the networks of the previous fit where their shapes agree with the new data and
        parameters.
    certify : bool
        Prove the result and have the proof checked. False saves the time and leaves `certificate_`
        and `verdict_` None.
    memory_limit : int | None
        Bytes that training may use; None for what the machine has. More is refused with
        `MemoryRefused`, which is a MemoryError, before anything large is allocated.
    verbose : int
        1 shows progress on a terminal.
    random_state : int | np.random.RandomState | None
        Seed of the random first weights.

    Attributes
    ----------
    classes_ : Array
        The class labels, sorted.
    networks_ : list[ShallowNetwork]
        List of the networks, one per class (one in all for two classes; `network_` is that one).
    certificate_ : bytes | None
        As in `ShallowNetworkRegressor`; lists with one entry per class if there are more than two.
    verdict_ : str | None
        As in `ShallowNetworkRegressor`; lists with one entry per class if there are more than two.
    optimal_ : bool
        As in `ShallowNetworkRegressor`.
    objective_, lower_bound_, gap_, relative_gap_, loss_upper_, loss_lower_ : float
        As in `ShallowNetworkRegressor`; lists with one entry per class if there are more than two.
    trajectory_ : Trajectory
        As in `ShallowNetworkRegressor`; lists with one entry per class if there are more than two.
    loss_curve_ : Array
        As in `ShallowNetworkRegressor`; lists with one entry per class if there are more than two.
    n_iter_, width_ : int
        As in `ShallowNetworkRegressor`; lists with one entry per class if there are more than two.
    preprocessing_ : Preprocessing
        As in `ShallowNetworkRegressor`; lists with one entry per class if there are more than two.
    n_features_in_ : int
        As in scikit-learn.
    feature_names_in_ : Array
        As in scikit-learn.

    Notes
    -----
    The loss is (1/2) sum of (f(x_i) - y_i)^2 with y_i = +1 or -1. A misclassified sample costs some
    network at least 1/2, so a proved `loss_upper_` below 1/2 for every network proves (over the
    reals) that every training sample is classified correctly.

    A single class is a legal corner: one network with the labels +1, and `predict` knows no other
    class.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ShallowNetworkClassifier(random_state=0).fit(X, y)
    >>> model.verdict_, model.score(X, y)
    (['ACCEPTED', 'ACCEPTED', 'ACCEPTED'], 1.0)
    """

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> Self:
        """Train, and prove what can be proved.

        Parameters
        ----------
        X : n x d inputs, an array or a data frame.
        y : n class labels, numbers or strings.
        """
        X, y = validate_data(self, X, y)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        self._refuse_if_too_large(X)
        scaled = Dataset(X, _signs(codes, len(self.classes_)), bias=self.bias, scaling=self.scaling)
        untouched = [replace(step, y_shift=0.0, y_scale=1.0) for step in scaled.preprocessings]
        self._fit_targets(
            Dataset.from_preprocessed(scaled.X, _signs(codes, len(self.classes_)), untouched)
        )
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Outputs of the networks: (m,) for at most two classes, positive for `classes_[1]`; (m,
        number of classes) for more.
        """
        outputs = self._outputs(X)
        return outputs[:, 0] if len(self.classes_) <= 2 else outputs

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each row."""
        scores = self.decision_function(X)
        return _winners(self.classes_, scores)


def _winners(classes: NDArray[Any], scores: NDArray[np.float64]) -> NDArray[Any]:
    """The class of every score: the only one, by the sign, or that with the largest output."""
    if len(classes) == 1:
        return np.repeat(classes, len(scores))
    winners = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
    return classes[winners]


def _signs(codes: NDArray[np.intp], n_classes: int) -> NDArray[np.float64]:
    """Labels +1 and -1, one column per network."""
    positive = codes[:, None] == np.arange(n_classes)
    if n_classes == 2:
        positive = positive[:, 1:]
    return np.where(positive, 1.0, -1.0)

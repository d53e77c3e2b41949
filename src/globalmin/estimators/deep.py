"""The regressor and the classifier of deep networks."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin, MultiOutputMixin, RegressorMixin, _fit_context
from sklearn.utils.multiclass import check_classification_targets

from globalmin._types import NDArray
from globalmin.estimators._deep import DeepNetworkEstimator
from globalmin.estimators.shallow import _signs, _winners


class DeepNetworkRegressor(MultiOutputMixin, RegressorMixin, DeepNetworkEstimator):
    """Regression on tables or images by deep networks, all layers trained to zero squared loss,
    with a proof.

    The network is wide enough to interpolate, and `certificate_` proves that gradient descent on
    all layers would converge to zero loss from the fitted weights (deep-descent). Zero training
    loss is not generalization; compare scores on held-out data. Several targets are fitted by one
    network each.

    Parameters
    ----------
    architecture : str
        "fully_connected", "resnet" or "convolutional_resnet" (windows that slide over the pixels of
        an image, or over the columns of a table as over a signal).
    depth : int
        Number of hidden weight matrices; at least 2 for the residual architectures.
    width : int | str
        Neurons (channels of a convolution) of every hidden layer, or "auto": at least 64 (16), and
        eight weights per sample; doubled, twice at most, if training falls short.
    activation : str | Activation
        Smooth: "tanh", "softplus", "sigmoid", "erf", ..., or an `Activation`.
    method : str
        "levenberg_marquardt", some ten steps to the rounding level, or "gradient_descent", the
        method of the theorems.
    batch_size : int | None
        Samples of one update of gradient descent (stochastic gradient descent); None for all.
    step_size : float | None
        Of gradient descent; None for 1/||J||^2 at the start.
    c_res : float
        Strength of the residual branches, between 0 and 1.
    patch_size : int
        Odd side of the window of a convolution.
    image_shape : tuple[int, ...] | None
        (height, width) or (height, width, channels) of the images that are the rows of a table;
        arrays n x height x width [x channels] need no word.
    bias : bool
        Append a constant feature; a convolution has none.
    scaling : str
        "standardize" (columns of a table, channels of images to equal variances and a mean square
        norm of 1; labels to variance 1), "rows" (each input to norm 1) or "none". Undone by
        `predict`.
    max_iter : int | None
        Steps at most; None for the default of the method.
    tol : float
        Relative residual ||f - y||/||y|| to reach.
    certify : bool
        Prove the result and have the proof checked. False saves the time (seconds for hundreds of
        samples, minutes for a thousand) and leaves `certificate_` and `verdict_` None.
    verbose : int
        1 shows progress on a terminal.
    random_state : int | np.random.RandomState | None
        Seed of the random first weights and of minibatches.

    Attributes
    ----------
    networks_ : list[DeepNetwork]
        The networks, one per target; `network_` is the only one of a single target.
    certificate_ : bytes | None
        Bytes of the certificate file that the independent checker accepted, or None; see
        `save_certificate`.
    verdict_ : str | None
        The checker's word "ACCEPTED", "REJECTED", "UNDECIDED" or "MALFORMED"; None if there was
        nothing to check, because no claim could be made or `certify=False`.
    loss_upper_, loss_lower_, gap_ : float
        Proved bounds of the loss (1/2) sum of squared residuals of the network over the rows in the
        certificate, from which rows that repeat another are left out; of the loss of every network;
        and of the difference. Infinity, 0 and infinity without certificate.
    objective_, lower_bound_ : float
        The loss in floats, and `loss_lower_` by the name that all estimators share.
    relative_gap_ : float
        `gap_` as a share of the loss of the zero network where the minimum is zero, of the loss or
        objective itself elsewhere; `gap_statement()` says it in one sentence.
    optimal_ : bool
        Whether the certificate says that zero loss is next to the weights.
    run_ : DeepRun
        The training, with its `start`; see `plot_training`.
    trajectory_ : DeepTrajectory
        Recorded steps (loss, gradient, movement, up to 500 samples least eigenvalues of the Gram
        matrices).
    loss_curve_ : Array
        Loss at the recorded steps; an estimate in floating point.
    n_iter_, width_ : int
        Steps, and the width of the hidden layers.
    image_shape_ : tuple[int, ...] | None
        Of the images fitted on, None for tables.
    preprocessing_ : Preprocessing
        The scaling and its inverse.
    n_features_in_ : int
        Columns, or numbers per image.
    feature_names_in_ : Array
        As in scikit-learn.

    Notes
    -----
    With several targets every attribute from `certificate_` to `width_`, and `preprocessing_`, is a
    list with one entry per target. Losses are in the units the network is trained in, see
    `preprocessing_`.

    Warnings: `ConvergenceWarning` if training fell short of `tol`; otherwise a UserWarning if no
    certificate was accepted, as for rows that contradict each other.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((30, 5))
    >>> model = DeepNetworkRegressor(random_state=0).fit(X, X[:, 0] * X[:, 1])
    >>> model.verdict_, model.loss_lower_, model.loss_upper_ < 1e-20
    ('ACCEPTED', 0.0, True)
    """

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> Self:
        """Train, and prove what can be proved.

        Parameters
        ----------
        X : Any
            n x d inputs, an array or a data frame, or images n x height x width [x channels].
        y : Any
            n labels, or n x q for q targets.
        """
        rows, y = self._fit_rows(X, y, multi_output=True, y_numeric=True)
        self._labels_shape = np.shape(y)[1:]
        self._fit_targets(rows, y, keeps_labels=False)
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Outputs in the units of y, shaped like the y of `fit`."""
        outputs = self._outputs(X)
        return outputs.reshape(len(outputs), *self._labels_shape)


class DeepNetworkClassifier(ClassifierMixin, DeepNetworkEstimator):
    """Classification of tables or images by deep networks fitted to labels +1 and -1 with the
    squared loss, all layers trained, with a proof.

    Two classes: one network, and its sign decides. More classes: one network per class against the
    others, and the largest output decides. There is no `predict_proba`: the squared loss models no
    probabilities.

    Parameters
    ----------
    architecture : str
        As all parameters that follow in `DeepNetworkRegressor`.
    depth : int
        Number of hidden weight matrices.
    width : int | str
        Of every hidden layer, or "auto".
    activation : str | Activation
        Smooth.
    method : str
        "levenberg_marquardt" or "gradient_descent".
    batch_size : int | None
        Of gradient descent.
    step_size : float | None
        Of gradient descent.
    c_res : float
        Strength of the residual branches.
    patch_size : int
        Odd side of the window of a convolution.
    image_shape : tuple[int, ...] | None
        Of the images that are the rows of a table.
    bias : bool
        Append a constant feature.
    scaling : str
        "standardize", "rows" or "none"; the labels stay +1 and -1.
    max_iter : int | None
        Steps at most.
    tol : float
        Relative residual to reach.
    certify : bool
        Prove the result and have the proof checked.
    verbose : int
        1 shows progress on a terminal.
    random_state : int | np.random.RandomState | None
        Seed of the random first weights and of minibatches.

    Attributes
    ----------
    classes_ : Array
        The class labels, sorted.
    networks_ : list[DeepNetwork]
        One per class (one in all for two classes; `network_` is that one).
    certificate_, verdict_, loss_upper_, loss_lower_, gap_ : Any
        As in `DeepNetworkRegressor`; lists with one entry per class if there are more than two.
    objective_, lower_bound_, relative_gap_, optimal_ : Any
        As in `DeepNetworkRegressor`; lists with one entry per class if there are more than two.
    run_, trajectory_, loss_curve_, n_iter_, width_, preprocessing_ : Any
        As in `DeepNetworkRegressor`; lists with one entry per class if there are more than two.
    image_shape_ : tuple[int, ...] | None
        Of the images fitted on, None for tables.
    n_features_in_ : int
        Columns, or numbers per image.
    feature_names_in_ : Array
        As in scikit-learn.

    Notes
    -----
    The loss is (1/2) sum of (f(x_i) - y_i)^2 with y_i = +1 or -1. A misclassified sample costs some
    network at least 1/2, so a proved `loss_upper_` below 1/2 for every network proves (over the
    reals) that every training sample is classified correctly.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = DeepNetworkClassifier(random_state=0).fit(X[::5], y[::5])
    >>> model.verdict_, model.score(X[::5], y[::5])
    (['ACCEPTED', 'ACCEPTED', 'ACCEPTED'], 1.0)
    """

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> Self:
        """Train, and prove what can be proved.

        Parameters
        ----------
        X : n x d inputs, an array or a data frame, or images n x height x width [x channels].
        y : n class labels, numbers or strings.
        """
        rows, y = self._fit_rows(X, y)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        self._fit_targets(rows, _signs(codes, len(self.classes_)), keeps_labels=True)
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Outputs of the networks: (m,) for at most two classes, positive for `classes_[1]`; (m,
        number of classes) for more.
        """
        outputs = self._outputs(X)
        return outputs[:, 0] if len(self.classes_) <= 2 else outputs

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each row or image."""
        scores = self.decision_function(X)
        return _winners(self.classes_, scores)

    def _targets(self, y: Any) -> NDArray[np.float64]:
        return _signs(np.searchsorted(self.classes_, y), len(self.classes_))

"""Filters shared by the patches of signals and images, as a regressor for people with data."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.base import RegressorMixin, _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from globalmin._options import (
    PATCH_HEADS,
    PATCH_METHODS,
    PATCH_SCALINGS,
    PatchHead,
    PatchMethod,
    PatchScaling,
)
from globalmin._types import Array
from globalmin.errors import DataError
from globalmin.estimators._patches import ProvedPatches, prove_patches
from globalmin.one_filter.network import OneFilterNetwork
from globalmin.one_filter.verdict import TrapVerdict, trap_verdict
from globalmin.optimize.run import Status
from globalmin.patches.fit import PatchRun, train_patches
from globalmin.patches.layout import PatchLayout, patch_layout
from globalmin.proving.proof import Proof

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike


_FIT_CALLER = 4  # _warn, fit, scikit-learn's wrapper of fit, and then the line of the user


class PatchNetworkRegressor(RegressorMixin, ProvedPatches):
    r"""Regression by filters that see every patch of a signal or image: $f(x) = \sum_j\sum_i
    a_{ji}\max(w_j^Tz_i, 0)$ over the patches $z_i$.

    Parameters
    ----------
    patch_size : int | Sequence[int] | None
        Size of a patch, one number or (height, width); None for the whole sample.
    stride : int | Sequence[int]
        Steps between patches; they overlap where it is smaller than the size.
    filters : int
        How many.
    head : str
        "average": every output weight is 1/k for k patches, so no output is negative. "signed":
        every other filter is subtracted. "trained": one free output weight per filter and patch.
    image_shape : Sequence[int] | None
        (height, width) or (height, width, channels) if the rows of X are flattened images; None
        for signals. Not needed for X of shape (n, height, width) or (n, height, width, channels).
    padding : int | str | Sequence[int]
        Zeros around the sample, or "same": a patch around every pixel.
    bias : bool
        A constant entry in every patch, so that filters have thresholds.
    normalize : str
        "none", "unit" (every patch is divided by its length) or "contrast" (its mean is subtracted
        first).
    method : str
        "auto", "gradient_descent" or "least_squares", as in `train_patches`.
    max_iter : int
        Steps of one start.
    tol : float
        Loss to reach, relative to that of the zero network.
    restarts : int
        Further random draws, each with its sign flips, while the tolerance is not reached.
    certify : bool
        Where zero loss is reached, prove it and have the proof checked.
    random_state : int | np.random.RandomState | None
        Seed of the draws.

    Attributes
    ----------
    network_ : PatchNetwork
        What was learned; `save_patch_network` writes it.
    filters_ : Array
        The filters in the shape of a patch, one after the other.
    biases_ : Array
        Their thresholds; zeros without `bias`.
    head_ : Array
        Output weights, filters x patches.
    status_, message_ : str
        "converged" (the tolerance is reached), "second_order" (a local minimum as far as floats can
        tell), "stalled", "max_iter" or "dead", and the same in words.
    loss_, relative_loss_ : float
        The training loss (1/2n) sum of squared residuals, and over that of the zero network.
    loss_curve_ : Array
        Its course.
    certificate_ : bytes | None
        The accepted certificate file of zero training loss, see `save_certificate`; None where
        training did not reach it, or it could not be proved.
    verdict_ : str | None
        The checker's word on it; None without a file.
    objective_ : float
        The loss (1/2) sum of squared residuals in floats.
    lower_bound_, loss_lower_, loss_upper_ : float
        Proved bounds of the loss of every such network (0) and of this one.
    gap_, relative_gap_ : float
        Proved bound of the loss minus its infimum, and as a share of the loss of the zero network;
        infinity without a certificate.
    optimal_ : bool
        Whether zero loss is proved next to the weights.
    n_iter_, starts_, dead_starts_ : int
        Steps of the best start, starts tried, and filters drawn again because no patch moved them.
    n_patches_, n_features_in_ : int
        Shapes; names as in scikit-learn.
    feature_names_in_ : Array
        Shapes; names as in scikit-learn.

    Notes
    -----
    The units of X and y do not matter: both are scaled before training, and no step can raise the
    loss. A run that ends "stalled", "max_iter" or "dead" gives a ConvergenceWarning. A small loss,
    or a status, is no proof that the minimum is global; `prove` gives one where it can.

    Theory
    ------
    DU-M5, DU-M6, DU-T5.4.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((300, 12))
    >>> windows = np.lib.stride_tricks.sliding_window_view(X, 3, axis=1)[:, ::3]
    >>> y = np.maximum(windows @ [0.6, 0.0, -0.8], 0) @ [1.0, -2.0, 3.0, 1.0]
    >>> model = PatchNetworkRegressor(3, 3, head="trained", random_state=0).fit(X, y)
    >>> model.status_, (model.filters_ + 0.0).round(6), model.head_.round(6)
    ('converged', array([[ 0.6,  0. , -0.8]]), array([[ 1., -2.,  3.,  1.]]))
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "patch_size": [None, Interval(Integral, 1, None, closed="left"), "array-like"],
        "stride": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "filters": [Interval(Integral, 1, None, closed="left")],
        "head": [StrOptions(set(PATCH_HEADS))],
        "image_shape": [None, "array-like"],
        "padding": [StrOptions({"same"}), Interval(Integral, 0, None, closed="left"), "array-like"],
        "bias": ["boolean"],
        "normalize": [StrOptions(set(PATCH_SCALINGS))],
        "method": [StrOptions(set(PATCH_METHODS))],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "restarts": [Interval(Integral, 0, None, closed="left")],
        "certify": ["boolean"],
        "random_state": ["random_state"],
    }

    head: PatchHead
    normalize: PatchScaling
    method: PatchMethod

    def __init__(
        self,
        patch_size: int | Sequence[int] | None = None,
        stride: int | Sequence[int] = 1,
        filters: int = 1,
        head: PatchHead = "average",
        *,
        image_shape: Sequence[int] | None = None,
        padding: int | str | Sequence[int] = 0,
        bias: bool = False,
        normalize: PatchScaling = "none",
        method: PatchMethod = "auto",
        max_iter: int = 300,
        tol: float = 1e-20,
        restarts: int = 2,
        certify: bool = True,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.patch_size = patch_size
        self.stride = stride
        self.filters = filters
        self.head = head
        self.image_shape = image_shape
        self.padding = padding
        self.bias = bias
        self.normalize = normalize
        self.method = method
        self.max_iter = max_iter
        self.tol = tol
        self.restarts = restarts
        self.certify = certify
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> Self:
        """Learn filters and output weights.

        Parameters
        ----------
        X : Any
            Signals (n, length), images (n, height, width), images with channels (n, height, width,
            channels), or rows with `image_shape`.
        y : Any
            n labels.
        """
        given, shape = as_rows(X)
        checked: Any = validate_data(self, given, y, y_numeric=True, dtype=np.float64)
        rows, labels = checked
        layout = self._layout(shape, rows.shape[1])
        run = train_patches(
            rows,
            np.asarray(labels, dtype=np.float64),
            layout,
            filters=self.filters,
            head=self.head,
            method=self.method,
            max_iter=self.max_iter,
            tol=self.tol,
            restarts=self.restarts,
            seed=int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max)),
        )
        self._store(run)
        self._store_proof(
            run.network,
            rows,
            np.asarray(labels, dtype=np.float64),
            converged=run.status is Status.CONVERGED,
            is_fixed=self.head != "trained",
        )
        self._warn(run)
        return self

    def _layout(self, shape: tuple[int, ...] | None, n_features: int) -> PatchLayout:
        given = None if self.image_shape is None else tuple(np.asarray(self.image_shape).tolist())
        if given is not None and int(np.prod(given)) != n_features:
            raise DataError(
                f"image_shape={self.image_shape!r} has {int(np.prod(given))} numbers, but X has "
                f"n_features={n_features}"
            )
        return patch_layout(
            given or shape or (n_features,),
            self.patch_size,
            self.stride,
            padding=self.padding,
            bias=self.bias,
            normalize=self.normalize,
        )

    def _store(self, run: PatchRun) -> None:
        network = self.network_ = run.network
        self.filters_, self.head_ = network.pictures, network.head
        has_bias = network.layout.bias
        self.biases_ = network.filters[:, -1] if has_bias else np.zeros(network.n_filters)
        self.status_, self.message_ = str(run.status), run.message
        self.loss_, self.relative_loss_, self.loss_curve_ = run.loss, run.relative_loss, run.losses
        self.n_iter_, self.starts_ = max(run.n_iter, 1), run.starts
        self.dead_starts_, self.n_patches_ = run.dead_starts, network.layout.n_patches

    def _warn(self, run: PatchRun) -> None:
        if run.status.is_success:
            return
        text = (
            f"{run.message}; {run.starts} start(s): raise max_iter, restarts or tol, or take more "
            "filters"
        )
        warnings.warn(text, ConvergenceWarning, stacklevel=_FIT_CALLER)

    def predict(self, X: Any) -> Array:
        """Outputs for samples of the shape that `fit` saw."""
        check_is_fitted(self)
        return self.network_.predict(self._checked(X))

    def prove(self, X: Any, y: Any, *, path: str | PathLike[str] | None = None) -> Proof:
        """Let the independent checker confirm zero training loss: filters with loss exactly zero
        exist next to the learned ones, for the learned or fixed output weights; or, where these are
        trained and at least as many as samples, such output weights for the learned filters.
        Otherwise it says why there is no proof.

        Parameters
        ----------
        X, y : Any
            The samples that were trained on.
        path : str | PathLike[str] | None
            Where the certificate file is to be.
        """
        check_is_fitted(self)
        rows, is_fixed = self._checked(X), self.head != "trained"
        return prove_patches(self.network_, rows, y, is_fixed=is_fixed, path=path)

    def trap_verdict(self, X: Any, y: Any, *, confidence: float = 0.95) -> TrapVerdict:
        """Ask samples that were not trained on whether the one filter is at the opposite of the
        true one, where training is stuck (chapter 5); an estimate with a confidence.
        """
        check_is_fitted(self)
        network = self.network_
        if self.head != "trained" or network.n_filters != 1 or network.layout.bias:
            raise DataError(
                f"head={self.head!r}, filters={network.n_filters}, bias={network.layout.bias}: the "
                "trap of chapter 5 is that of one filter with trained output weights and no bias"
            )
        one = OneFilterNetwork(network.filters[0], network.head[0])
        patches = network.layout.patches(self._checked(X))
        return trap_verdict(one, patches, y, confidence=confidence)

    def _checked(self, X: Any) -> Array:
        rows, shape = as_rows(X)
        if shape is not None and shape != self.network_.layout.shape:
            raise DataError(
                f"X has samples of shape {shape}, but fit saw {self.network_.layout.shape}; give "
                "the same shape, or rows"
            )
        checked: Any = validate_data(self, rows, reset=False, dtype=np.float64)
        return checked

    def __sklearn_tags__(self) -> Any:
        """Poor score: few filters cannot follow any labels."""
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags


def as_rows(X: Any) -> tuple[Any, tuple[int, ...] | None]:
    """Images (n, h, w) and (n, h, w, c) as rows with the shape of one; anything else as it is."""
    if isinstance(X, list | tuple):
        try:
            X = np.asarray(X)
        except ValueError:
            return X, None  # ragged: the error is for validate_data to make
    if getattr(X, "ndim", 2) in (3, 4) and len(X) > 0:
        images = np.asarray(X)
        return images.reshape(len(images), -1), images.shape[1:]
    return X, None

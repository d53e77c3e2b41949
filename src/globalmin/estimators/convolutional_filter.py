"""A single convolutional filter with average pooling as a regressor, for signals and images."""

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

from globalmin._types import Array
from globalmin.errors import DataError
from globalmin.estimators._patches import ProvedPatches
from globalmin.optimize.run import Status
from globalmin.patches.facts import FilterReport, filter_report
from globalmin.patches.inputs import extract_patches, patch_grid_shape, patch_shape
from globalmin.patches.layout import patch_layout
from globalmin.patches.model import filter_outputs
from globalmin.patches.network import PatchNetwork
from globalmin.patches.train import METHODS, FilterRun, Method, fit_filter, fit_random_start

if TYPE_CHECKING:
    from collections.abc import Sequence


_FIT_CALLER = 4  # _warn, fit, scikit-learn's wrapper of fit, and then the line of the user


class ConvolutionalFilterRegressor(RegressorMixin, ProvedPatches):
    r"""Regression by one filter, $f(x) = \frac1k\sum_i\max(w^TZ_i, 0)$ over the k patches $Z_i$ of
    a signal or image.

    The output is never negative, so the model suits labels that a filter produced; it recovers such
    a filter from a good start.

    Parameters
    ----------
    patch_size : int | Sequence[int] | None
        Size of a patch, one number or (height, width); None for the whole input: a single ReLU
        neuron.
    stride : int | Sequence[int]
        Steps between patches, one number or one per axis; patches overlap where it is smaller than
        the size.
    image_shape : Sequence[int] | None
        (height, width) if the rows of X are images; None for signals.
    init : Any
        The start, an array of as many numbers as a patch has; None for random starts, where dead
        ones are drawn again.
    method : str
        "auto" (gradient descent, then least squares on the active patches), "gradient_descent",
        "sgd" or "least_squares".
    step_size : float | tuple[float, float] | None
        A number, two numbers for two stages, or None for a safe one.
    max_iter : int
        Iterations (epochs for "sgd").
    tol : float
        Loss to reach, relative to that of the zero filter.
    batch_size : int
        For "sgd".
    restarts : int
        Further random starts if one falls short.
    certify : bool
        Where zero loss is reached, prove it and have the proof checked.
    random_state : int | np.random.RandomState | None
        Seed of the starts and of the batches.

    Attributes
    ----------
    filter_ : Array
        The filter in the shape of a patch; `coef_` is the same, flat.
    init_ : Array
        The start it came from if `init` was given, else None.
    status_ : str
        "converged", "max_iter", "stalled" or "dead".
    loss_ : float
        The training loss (1/2n) sum of squared residuals, its course and the iterations.
    loss_curve_ : Array
        The training loss (1/2n) sum of squared residuals, its course and the iterations.
    n_iter_ : int
        The training loss (1/2n) sum of squared residuals, its course and the iterations.
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
    dead_starts_ : int
        Random starts that were dead and drawn again.
    n_patches_, n_features_in_ : int
        Shapes; names as in scikit-learn.
    patch_shape_ : tuple[int, ...]
        Shapes; names as in scikit-learn.
    feature_names_in_ : Array
        Shapes; names as in scikit-learn.

    Notes
    -----
    A start is dead if no patch is active there; the gradient is zero and nothing can be learned.
    `fit` says so with a ConvergenceWarning, as it does if the tolerance is not reached. Several
    filters, output weights, channels and padding: `PatchNetworkRegressor`. `theorem_report` says
    which theorems of the thesis apply to the patches; they are about a law of inputs and labels of
    a teacher, not about this data set.

    Theory
    ------
    DU-M6, DU-T6.2, DU-T6.3.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((300, 12))
    >>> windows = np.lib.stride_tricks.sliding_window_view(X, 3, axis=1)
    >>> y = np.maximum(windows @ [1.0, -2.0, 1.0], 0).mean(axis=1)
    >>> ConvolutionalFilterRegressor(patch_size=3, random_state=0).fit(X, y).filter_.round(6)
    array([ 1., -2.,  1.])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "patch_size": [None, Interval(Integral, 1, None, closed="left"), "array-like"],
        "stride": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "image_shape": [None, "array-like"],
        "init": [None, "array-like"],
        "method": [StrOptions(set(METHODS))],
        "step_size": [None, Interval(Real, 0, None, closed="neither"), tuple],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "restarts": [Interval(Integral, 0, None, closed="left")],
        "certify": ["boolean"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        patch_size: int | Sequence[int] | None = None,
        stride: int | Sequence[int] = 1,
        image_shape: Sequence[int] | None = None,
        *,
        init: Any = None,
        method: Method = "auto",
        step_size: float | tuple[float, float] | None = None,
        max_iter: int = 200,
        tol: float = 1e-20,
        batch_size: int = 32,
        restarts: int = 5,
        certify: bool = True,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.patch_size = patch_size
        self.stride = stride
        self.image_shape = image_shape
        self.init = init
        self.method = method
        self.step_size = step_size
        self.max_iter = max_iter
        self.tol = tol
        self.batch_size = batch_size
        self.restarts = restarts
        self.certify = certify
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> Self:
        """Learn the filter.

        Parameters
        ----------
        X : Any
            n x d signals or flattened images.
        y : Any
            n labels.
        """
        X, y = validate_data(self, X, y, y_numeric=True, dtype=np.float64)
        Z = self._patches(X)
        fit = self._train(Z, np.asarray(y, dtype=np.float64))
        self.patch_shape_ = patch_shape(
            patch_grid_shape((X.shape[1],), self.image_shape), self.patch_size
        )
        self.coef_, self.filter_ = fit.w, fit.w.reshape(self.patch_shape_)
        self.status_, self.loss_, self.loss_curve_ = str(fit.status), fit.loss, fit.losses
        self.n_iter_, self.n_patches_, self.dead_starts_ = (
            max(fit.n_iter, 1),
            Z.shape[1],
            fit.dead_starts,
        )
        self._store_proof(
            self._as_network(X.shape[1]),
            X,
            np.asarray(y, dtype=np.float64),
            converged=fit.status is Status.CONVERGED,
            is_fixed=True,
        )
        self._warn(fit)
        return self

    def _as_network(self, n_features: int) -> PatchNetwork:
        """The filter as a patch network with the output weights 1/k."""
        shape = patch_grid_shape((n_features,), self.image_shape)
        layout = patch_layout(shape, self.patch_size, self.stride)
        head = np.full((1, layout.n_patches), 1.0 / layout.n_patches)
        return PatchNetwork(self.coef_[None, :], head, layout)

    def _train(self, Z: Array, y: Array) -> FilterRun:
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        options: dict[str, Any] = {
            name: getattr(self, name)
            for name in ("method", "step_size", "max_iter", "tol", "batch_size")
        }
        self.init_ = (
            None if self.init is None else np.ravel(np.asarray(self.init, dtype=np.float64))
        )
        if self.init_ is None:
            return fit_random_start(Z, y, restarts=self.restarts, seed=seed, **options)
        if self.init_.size != Z.shape[2]:
            raise DataError(
                f"init has {self.init_.size} numbers, but a patch has {Z.shape[2]}; give a start "
                "of that size"
            )
        return fit_filter(Z, y, self.init_, seed=seed, **options)

    def _warn(self, fit: FilterRun) -> None:
        if fit.status is Status.DEAD:
            warnings.warn(
                f"{'the filter died' if fit.n_iter else 'dead start'}: {fit.message}",
                ConvergenceWarning,
                stacklevel=_FIT_CALLER,
            )
        elif fit.status in (Status.MAX_ITER, Status.STALLED):
            text = f"{fit.message}: raise max_iter or tol"
            warnings.warn(text, ConvergenceWarning, stacklevel=_FIT_CALLER)
        elif fit.status is Status.DIVERGED:
            raise DataError(f"step_size is too large: {fit.message}; give a smaller step")

    def _checked_patches(self, X: Any) -> Array:
        checked: Any = validate_data(self, X, reset=False, dtype=np.float64)
        return self._patches(checked)

    def _patches(self, X: Array) -> Array:
        return extract_patches(X, self.patch_size, self.stride, image_shape=self.image_shape)

    def predict(self, X: Any) -> Array:
        """Outputs of the filter; none is negative."""
        check_is_fitted(self)
        return filter_outputs(self._checked_patches(X), self.coef_)

    def theorem_report(self, X: Any, start: Any) -> FilterReport:
        """Which hypotheses of chapter 6 hold on the patches of X, with the fitted filter as teacher
        and this start.
        """
        check_is_fitted(self)
        return filter_report(
            self._checked_patches(X), self.coef_, np.ravel(np.asarray(start, dtype=np.float64))
        )

    def __sklearn_tags__(self) -> Any:
        """Poor score: labels of both signs are out of reach of a model that is never negative."""
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags

"""The quadratic regressor with its weight decay, and the weight of its constant feature, chosen by
cross-validation.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.base import _fit_context
from sklearn.model_selection import check_cv
from sklearn.utils._param_validation import Interval

from globalmin._options import Scaling, Signs
from globalmin._types import Array, Indices
from globalmin.errors import DataError
from globalmin.estimators.quadratic import SHARED_CONSTRAINTS, QuadraticNetworkEstimator
from globalmin.quadratic.decay import default_decays
from globalmin.quadratic.held_out import (
    MOST_MOMENTS,
    FoldPart,
    PathOptions,
    Rows,
    moment_errors,
    row_errors,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from globalmin.data import Dataset


BIAS_SCALES = (1.0, 4.0, 16.0, 64.0)  # powers of two: dividing the features by them is exact
# relative gap on the paths, far below the noise of held-out errors; the refit uses `tol`
_PATH_TOL = 2e-4


class QuadraticNetworkRegressorCV(QuadraticNetworkEstimator):
    """`QuadraticNetworkRegressor` with weight decay and bias scale chosen by cross-validation,
    along paths with warm starts.

    For a large bias scale squares cost much more than linear terms, and the model tends to ridge
    regression; for 1 it is free to use them. The data decide.

    Parameters
    ----------
    weight_decays : Sequence[float] | None
        Positive numbers to choose from, for every bias scale; None for `n_decays` of them, evenly
        spaced in the logarithm from the smallest that gives the zero network (for this bias scale)
        down to `ratio` times it.
    n_decays : int
        The default path.
    ratio : float
        The default path.
    bias_scales : Sequence[float] | None
        Positive numbers to choose from; None for 1, 4, 16, 64 (for 1 alone with bias=False or
        scaling="rows").
    cv : Any
        Number of folds, or a splitter of scikit-learn; the preprocessing is fitted inside every
        fold.
    signs, scaling : str
        As in `QuadraticNetworkRegressor`. The certificate is about the network refitted on all
        data.
    width : int | str
        As in `QuadraticNetworkRegressor`. The certificate is about the network refitted on all
        data.
    bias, certify : bool
        As in `QuadraticNetworkRegressor`. The certificate is about the network refitted on all
        data.
    tol : float
        As in `QuadraticNetworkRegressor`. The certificate is about the network refitted on all
        data.
    max_iter : int
        As in `QuadraticNetworkRegressor`. The certificate is about the network refitted on all
        data.
    memory_limit : int | None
        As in `QuadraticNetworkRegressor`. The certificate is about the network refitted on all
        data.
    random_state : int | np.random.RandomState | None
        As in `QuadraticNetworkRegressor`. The certificate is about the network refitted on all
        data.

    Attributes
    ----------
    weight_decay_, bias_scale_ : float
        The chosen pair, with the least mean squared error on the held-out samples.
    bias_scales_ : Array
        The bias scales, increasing.
    weight_decays_ : Array
        The paths, one row per bias scale, decreasing.
    mse_path_ : Array
        Mean squared errors on the held-out samples in the units of y: bias scales x weight decays x
        folds. A path ends three decays after its least mean error; NaN from there on.
    best_index_ : tuple[int, int]
        (bias scale, weight decay) of the chosen pair.
    networks_ : list[ShallowNetwork]
        Of the refitted network, as in `QuadraticNetworkRegressor`; n_features_in_ and
        feature_names_in_ as in scikit-learn.
    matrix_ : Array
        Of the refitted network, as in `QuadraticNetworkRegressor`; n_features_in_ and
        feature_names_in_ as in scikit-learn.
    certificate_ : bytes | None
        Of the refitted network, as in `QuadraticNetworkRegressor`; n_features_in_ and
        feature_names_in_ as in scikit-learn.
    verdict_ : str | None
        Of the refitted network, as in `QuadraticNetworkRegressor`; n_features_in_ and
        feature_names_in_ as in scikit-learn.
    optimal_ : bool
        As in `QuadraticNetworkRegressor`.
    interactions_ : Interactions
        As in `QuadraticNetworkRegressor`.
    loss_upper_, loss_lower_, lower_bound_, gap_, relative_gap_, objective_ : float
        Of the refitted network, as in `QuadraticNetworkRegressor`; n_features_in_ and
        feature_names_in_ as in scikit-learn.
    n_iter_, width_ : int
        Of the refitted network, as in `QuadraticNetworkRegressor`; n_features_in_ and
        feature_names_in_ as in scikit-learn.
    preprocessing_ : Preprocessing
        Of the refitted network, as in `QuadraticNetworkRegressor`; n_features_in_ and
        feature_names_in_ as in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((60, 4))
    >>> model = QuadraticNetworkRegressorCV(n_decays=10).fit(X, X[:, 0] * X[:, 1] + X[:, 2])
    >>> model.verdict_, model.mse_path_.shape
    ('ACCEPTED', (4, 10, 5))
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SHARED_CONSTRAINTS,
        "weight_decays": [None, "array-like"],
        "n_decays": [Interval(Integral, 1, None, closed="left")],
        "ratio": [Interval(Real, 0, 1, closed="neither")],
        "bias_scales": [None, "array-like"],
        "cv": ["cv_object"],
    }

    def __init__(
        self,
        *,
        weight_decays: Sequence[float] | None = None,
        n_decays: int = 25,
        ratio: float = 1e-4,
        bias_scales: Sequence[float] | None = None,
        cv: Any = 5,
        signs: Signs = "mixed",
        width: int | str = "auto",
        bias: bool = True,
        scaling: Scaling = "standardize",
        tol: float = 1e-10,
        max_iter: int = 50_000,
        certify: bool = True,
        memory_limit: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.weight_decays = weight_decays
        self.n_decays = n_decays
        self.ratio = ratio
        self.bias_scales = bias_scales
        self.cv = cv
        self.signs = signs
        self.width = width
        self.bias = bias
        self.scaling = scaling
        self.tol = tol
        self.max_iter = max_iter
        self.certify = certify
        self.memory_limit = memory_limit
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> Self:
        """Choose weight decay and bias scale, refit on all data, and prove the result.

        Parameters
        ----------
        X : Any
            n x d inputs, an array or a data frame.
        y : Any
            n labels, or n x q for q targets, which share one weight decay and one bias scale.
        """
        raw_X, raw_y = self._checked(X, y)
        self.bias_scales_ = self._scales()
        whole = [self._dataset(raw_X, raw_y, scale) for scale in self.bias_scales_]
        self.weight_decays_ = np.stack([self._path(data) for data in whole])
        splitter: Any = check_cv(self.cv)
        folds = list(splitter.split(raw_X, raw_y))
        self.mse_path_ = self._held_out(raw_X, raw_y, folds)
        means = self.mse_path_.mean(axis=-1)
        i, j = np.unravel_index(int(np.nanargmin(means)), means.shape)
        self.best_index_ = (int(i), int(j))
        self.bias_scale_ = float(self.bias_scales_[i])
        self.weight_decay_ = float(self.weight_decays_[i, j])
        self._fit_solutions(whole[int(i)], self.weight_decay_)
        return self

    def _scales(self) -> Array:
        if self.bias_scales is None:
            return np.array(
                BIAS_SCALES if self.bias and self.scaling != "rows" else BIAS_SCALES[:1]
            )
        return np.unique(_positive_list("bias_scales", self.bias_scales))

    def _path(self, data: Dataset) -> Array:
        if self.weight_decays is None:
            return self._default_path(data)
        return np.sort(_positive_list("weight_decays", self.weight_decays))[::-1].copy()

    def _default_path(self, data: Dataset) -> Array:
        """The path of the target with the largest critical weight decay; of length 1 if all labels
        are zero.
        """
        options = {
            "n_decays": int(self.n_decays),
            "ratio": float(self.ratio),
            "signs": self.signs,
            "v_max": 1.0,
        }
        targets = [data.for_target(j) for j in range(data.n_targets)]
        found = [default_decays(part.X, part.y, **options) for part in targets if part.y.any()]
        return np.array(max(found, key=lambda decays: decays[0], default=[1.0]))

    def _held_out(self, X: Array, y: Array, folds: Sequence[tuple[Indices, Indices]]) -> Array:
        """Mean squared errors on held-out samples, averaged over the targets: bias scales x weight
        decays x folds; NaN where a path was left.
        """
        parts = [
            self._fold_parts(X, y, train, test, number)
            for number, (train, test) in enumerate(folds)
        ]
        size = parts[0][0].train.X.shape[1]
        is_small = self._neurons is None and size * (size + 1) // 2 <= MOST_MOMENTS
        tol = max(float(self.tol), _PATH_TOL)
        road = moment_errors if is_small else row_errors
        found = road(
            [part for own in parts for part in own],
            self.weight_decays_,
            self._weights(size),
            PathOptions(self.signs, self._neurons, tol),
        )
        return found

    def _fold_parts(
        self, X: Array, y: Array, train: Indices, test: Indices, number: int
    ) -> list[FoldPart]:
        """One part per target, preprocessed on the training rows."""
        data = self._dataset(X[train], y[train], 1.0)
        labels = y[test].reshape(len(test), -1)
        targets = [data.for_target(j) for j in range(data.n_targets)]
        return [
            FoldPart(
                Rows(own.X, own.y),
                Rows(steps.transform(X[test]), steps.transform_y(labels[:, j])),
                steps.y_scale**2 / len(targets),
                number,
            )
            for j, own in enumerate(targets)
            for steps in (own.preprocessing,)
        ]

    def _weights(self, size: int) -> Array:
        """Of each bias scale, the factors of the columns: the constant feature keeps its 1."""
        factors = np.repeat(1.0 / self.bias_scales_[:, None], size, axis=1)
        if self.bias:
            factors[:, -1] = 1.0
        return factors


def _positive_list(name: str, values: Any) -> Array:
    given = np.asarray(values, dtype=np.float64)
    if given.ndim != 1 or not given.size or not (np.isfinite(given) & (given > 0)).all():
        raise DataError(f"{name}={values!r} must be a list of positive numbers, at least one")
    return given

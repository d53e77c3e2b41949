"""What is done to a table before training: which rows train and which are held out (the one rule
of `Dataset.split` and of the command line), and the scaling of inputs and labels, stored with the
model and undone at prediction.

A fraction is rounded up to whole rows, as scikit-learn's `train_test_split` does: a user who asks
for a test set gets one, also of a small table.

The certificates speak of the numbers *after* this step. Every operation is elementwise or by row
and the same in fitting and in prediction, so a training row transforms to the very bits that were
certified, and equal raw rows stay equal.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from globalmin._options import SCALINGS, Scaling, one_of
from globalmin._types import Array, Indices
from globalmin.data.validation import as_floats, as_matrix, as_names, frozen
from globalmin.errors import DataError

if TYPE_CHECKING:
    from globalmin.data.dataset import Dataset


def drawn_rows(
    n: int, held: int, *, seed: int, always_train: Collection[int] = ()
) -> tuple[Indices, Indices]:
    """Indices of the training rows and of the held-out rows of n, each increasing; `held` of them
    are held out, fewer where too many are in `always_train`.
    """
    order = np.random.default_rng(seed).permutation(n).tolist()
    free = [i for i in order if i not in always_train] if always_train else order
    test = np.array(sorted(free[:held]), dtype=np.intp)
    return np.setdiff1d(np.arange(n), test), test


def split_rows(table: Dataset, test_size: float, seed: int) -> tuple[Indices, Indices]:
    """Training and held-out rows of a table; at least one row trains, and none is held out for
    `test_size` 0.

    Equal rows with different labels always train: that they contradict each other is a fact about
    the table, and the outcome must not depend on the luck of the split.
    """
    held = min(math.ceil(test_size * table.n_samples), table.n_samples - 1)
    return drawn_rows(table.n_samples, held, seed=seed, always_train=contradicting_rows(table))


def contradicting_rows(table: Dataset) -> set[int]:
    """Rows that equal another row but have another label, in any target."""
    if not table.degeneracy.equal_rows:
        return set()
    parts = [table.for_target(j).degeneracy for j in range(table.n_targets)]
    return {i for part in parts for group in part.conflicting_rows for i in group}


def held_out_count(test_size: float | int, n: int) -> int:
    """How many of n rows a fraction, rounded up, or a number of rows means; DataError unless both
    parts get a row.
    """
    if isinstance(test_size, int | np.integer) and not isinstance(test_size, bool):
        held = int(test_size)
    elif isinstance(test_size, float | np.floating) and 0 < test_size < 1:
        held = math.ceil(test_size * n)
    else:
        raise DataError(
            f"test_size={test_size!r} must be a fraction strictly between 0 and 1, or a whole "
            "number of samples"
        )
    if not 1 <= held < n:
        raise DataError(
            f"test_size={test_size} of {n} sample(s) leaves {n - held} to train on and {held} to "
            "test; both parts need at least one"
        )
    return held


LARGEST_RAW = 2.0**1000  # differences of entries up to here stay finite
LARGEST_STORED = 2.0**250  # fourth powers (the quartic form of LIP-W) stay finite
SMALLEST_STORED = 2.0**-250
LARGEST_LABEL = 2.0**500  # squares stay finite
_SMALLEST_DOUBLE = float(np.nextafter(0.0, 1.0))


@dataclass(frozen=True, eq=False)
class Preprocessing:
    """How raw inputs become stored inputs, and network outputs become predictions in the user's
    units.

    Parameters
    ----------
    scaling : "standardize" (each column to mean 0 and variance 1, a constant column to 0; labels
        too), "rows" (each row divided by its norm, a zero row stays zero; labels untouched) or
        "none".
    bias : whether a constant column 1 is appended, last.
    x_shift, x_scale : arrays of shape (raw features,); stored = (raw - x_shift) / x_scale. Zeros
        and ones unless standardized.
    y_shift, y_scale : the same for the label.
    feature_names : names of the raw columns, or None.
    target_name : name of the label, or None.
    """

    scaling: Scaling
    bias: bool
    x_shift: Array
    x_scale: Array
    y_shift: float = 0.0
    y_scale: float = 1.0
    feature_names: tuple[str, ...] | None = None
    target_name: str | None = None

    def __post_init__(self) -> None:
        check_scaling(self.scaling)
        for name in ("x_shift", "x_scale"):
            object.__setattr__(
                self, name, frozen(np.array(as_floats(getattr(self, name), name), ndmin=1))
            )
        if self.x_shift.shape != self.x_scale.shape or self.x_shift.ndim != 1:
            raise DataError(
                f"x_shift has shape {self.x_shift.shape} and x_scale {self.x_scale.shape}; give "
                "one number per feature in each"
            )
        if (
            not (self.x_scale > 0).all()
            or not 0 < self.y_scale < np.inf
            or not np.isfinite(self.y_shift)
        ):
            raise DataError(
                "x_scale and y_scale must be positive and finite, y_shift finite; fit the "
                "preprocessing again"
            )

    @property
    def n_features_in(self) -> int:
        """Number of raw features, the bias not counted."""
        return self.x_shift.shape[0]

    def transform(self, X: object) -> Array:
        """Raw inputs (m x raw features) to stored inputs (m x d, bias last)."""
        raw = as_matrix(X, "X")
        if raw.shape[1] != self.n_features_in:
            raise DataError(
                f"X has {raw.shape[1]} features, but {self.n_features_in} features are expected, "
                "as in the data this was fitted on"
            )
        return self._apply(raw)

    def transform_y(self, y: object) -> Array:
        """Labels in the user's units to stored labels."""
        labels = as_floats(y, "y")
        with np.errstate(over="ignore", under="ignore"):
            return (labels - self.y_shift) / self.y_scale

    def restore(self, y_scaled: object) -> Array:
        """Outputs of a network trained on stored labels back to the user's units."""
        return np.asarray(y_scaled, dtype=np.float64) * self.y_scale + self.y_shift

    def as_dict(self) -> dict[str, Any]:
        """Plain values that survive JSON exactly (shortest round-trip decimals)."""
        return {
            "scaling": self.scaling,
            "bias": self.bias,
            "x_shift": self.x_shift.tolist(),
            "x_scale": self.x_scale.tolist(),
            "y_shift": self.y_shift,
            "y_scale": self.y_scale,
            "feature_names": None if self.feature_names is None else list(self.feature_names),
            "target_name": self.target_name,
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Preprocessing:
        """Inverse of `as_dict`."""
        names = fields.get("feature_names")
        return cls(
            scaling=one_of("scaling", fields["scaling"], SCALINGS),
            bias=bool(fields["bias"]),
            x_shift=np.array(fields["x_shift"], dtype=np.float64),
            x_scale=np.array(fields["x_scale"], dtype=np.float64),
            y_shift=float(fields["y_shift"]),
            y_scale=float(fields["y_scale"]),
            feature_names=None
            if names is None
            else as_names(names, len(fields["x_shift"]), "feature_names"),
            target_name=fields.get("target_name"),
        )

    def _apply(self, raw: Array) -> Array:
        with np.errstate(over="ignore", under="ignore"):
            if self.scaling == "standardize":
                X = (raw - self.x_shift) / self.x_scale
            elif self.scaling == "rows":
                X = normalized_rows(raw)
            else:
                X = raw
        refuse_unusable_range(X, self.scaling)
        if self.bias:
            X = np.concatenate([X, np.ones((X.shape[0], 1))], axis=1)
        return np.ascontiguousarray(X)


def check_scaling(scaling: object) -> Scaling:
    """Return `scaling` if it is one of `SCALINGS`, raise DataError otherwise."""
    return one_of("scaling", scaling, SCALINGS)


def fit_preprocessing(
    X: Array,
    targets: Array,
    *,
    bias: bool = True,
    scaling: Scaling = "standardize",
    feature_names: Sequence[str] | None = None,
    target_names: Sequence[str] | None = None,
) -> tuple[Preprocessing, ...]:
    """Fit one Preprocessing per target (n x q); all share the treatment of X (n x raw features)."""
    check_scaling(scaling)
    if not isinstance(bias, bool | np.bool_):
        raise DataError(f"bias={bias!r} must be True (append a constant column) or False")
    for name, array in (("X", X), ("y", targets)):
        largest = np.abs(array).max()
        if largest > LARGEST_RAW:
            raise DataError(
                f"{name} has entries up to {largest:.3g}, whose differences overflow; divide "
                f"{name} by a power of ten first"
            )
    d, q = X.shape[1], targets.shape[1]
    names = as_names(feature_names, d, "feature_names")
    labels = as_names(target_names, q, "target_names")
    x_shift, x_scale = (
        column_statistics(X) if scaling == "standardize" else (np.zeros(d), np.ones(d))
    )
    y_shift, y_scale = (
        column_statistics(targets) if scaling == "standardize" else (np.zeros(q), np.ones(q))
    )
    return tuple(
        Preprocessing(
            scaling=scaling,
            bias=bool(bias),
            x_shift=x_shift,
            x_scale=x_scale,
            y_shift=float(y_shift[j]),
            y_scale=float(y_scale[j]),
            feature_names=names,
            target_name=None if labels is None else labels[j],
        )
        for j in range(q)
    )


def column_statistics(X: Array) -> tuple[Array, Array]:
    """Mean and standard deviation (divisor n) of each column without overflow or underflow; a
    constant column c gives (c, 1).
    """
    low, high = X.min(axis=0), X.max(axis=0)
    exponent = np.frexp(np.maximum(np.abs(low), np.abs(high)))[1]
    Z = np.ldexp(X, -exponent)
    center = Z.mean(axis=0)
    center += (Z - center).mean(
        axis=0
    )  # takes out the rounding of the first sum, which matters where the spread is small
    spread = np.sqrt(np.square(Z - center).mean(axis=0))
    constant = low == high
    with np.errstate(under="ignore"):
        shift = np.where(constant, low, np.ldexp(center, exponent))
        scale = np.where(constant, 1.0, np.maximum(np.ldexp(spread, exponent), _SMALLEST_DOUBLE))
    return shift, scale


def normalized_rows(X: Array) -> Array:
    """Each row divided by its Euclidean norm; zero rows stay zero; no overflow for any finite
    entries.
    """
    exponent = np.frexp(np.abs(X).max(axis=1))[1]
    Z = np.ldexp(X, -exponent[:, None])
    squares = np.zeros(X.shape[0])
    # column by column: elementwise sums give the same bits for a row whatever the other rows are
    for j in range(X.shape[1]):
        squares += Z[:, j] * Z[:, j]
    norm = np.sqrt(squares)
    return Z / np.where(norm > 0, norm, 1.0)[:, None]


def refuse_unusable_range(X: Array, scaling: Scaling) -> None:
    """Raise DataError when fourth powers of the stored inputs would overflow, or all of them would
    vanish.
    """
    largest = float(np.abs(X).max())
    divide = "divide the columns by a suitable power of ten"
    remedy = f'{divide}, or use scaling="standardize"' if scaling == "none" else divide
    if not largest <= LARGEST_STORED:
        row, column = (int(i) for i in np.argwhere(~(np.abs(X) <= LARGEST_STORED))[0])
        raise DataError(
            f"X[{row}, {column}] is {X[row, column]:.3g} after scaling={scaling!r}, and fourth "
            f"powers overflow beyond 1.8e75; {remedy}"
        )
    if 0 < largest < SMALLEST_STORED:
        raise DataError(
            f"X has no entry above {largest:.3g} in absolute value, so its fourth powers vanish in "
            f"floating point; {remedy}"
        )


def refuse_unusable_labels(y: Array, scaling: Scaling) -> None:
    """Raise DataError when the sum of squared stored labels would overflow or vanish."""
    largest = float(np.abs(y).max())
    remedy = (
        'use scaling="standardize"'
        if scaling != "standardize"
        else "divide the labels by a suitable power of ten"
    )
    if not largest <= LARGEST_LABEL:
        raise DataError(
            f"y has a label of size {largest:.3g} after scaling={scaling!r}, whose square "
            f"overflows; {remedy}"
        )
    if 0 < largest < 1.0 / LARGEST_LABEL:
        raise DataError(
            f"y has no label above {largest:.3g} in absolute value, so every square vanishes in "
            f"floating point; {remedy}"
        )


def check_stored(X: Array, targets: Array, fitted: tuple[Preprocessing, ...]) -> None:
    """Refuse stored arrays that do not fit their preprocessing, one per target."""
    if len(fitted) != targets.shape[1]:
        raise DataError(
            f"y has {targets.shape[1]} target(s) but {len(fitted)} preprocessing(s) are given; "
            "give one per target"
        )
    expected = fitted[0].n_features_in + int(fitted[0].bias)
    if X.shape[1] != expected or expected == 0:
        raise DataError(
            f"X has {X.shape[1]} columns but the preprocessing makes {expected}, bias included; "
            "pass the stored form of the inputs"
        )
    if fitted[0].bias and not (X[:, -1] == 1.0).all():
        raise DataError(
            "bias=True, but the last column of X is not the constant 1; append it or pass "
            "bias=False"
        )
    refuse_unusable_range(
        X[:, : fitted[0].n_features_in] if fitted[0].n_features_in else X, fitted[0].scaling
    )
    refuse_unusable_labels(targets, fitted[0].scaling)

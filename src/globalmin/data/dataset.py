"""The data set: the arrays a network is trained on and a certificate speaks of, with the way back
to the user's units.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from globalmin._options import Scaling
from globalmin._types import Array, NDArray
from globalmin.data.preprocessing import (
    Preprocessing,
    check_stored,
    drawn_rows,
    fit_preprocessing,
    held_out_count,
    refuse_unusable_labels,
)
from globalmin.data.validation import as_matrix, as_targets, column_names, frozen
from globalmin.errors import DataError
from globalmin.files import data_digest

if TYPE_CHECKING:
    from globalmin.data.degeneracy import Degeneracy


class RawPart(NamedTuple):
    """Samples in the user's units: inputs without bias column (m x raw features) and labels, (m,)
    or (m, q).
    """

    X: Array
    y: Array


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Dataset:
    """Inputs and labels after preprocessing, as read-only float64 arrays.

    Parameters
    ----------
    X : object
        n x (raw features), anything numpy can convert to float64 without rounding, or a data frame.
    y : object
        n labels, or n x q for several targets (each target is one network: see `for_target`).
    bias : bool
        Append a constant column 1, last.
    scaling : str
        "standardize" | "rows" | "none", see `Preprocessing`.
    feature_names, target_names : Sequence[str] | None
        Optional; taken from a data frame when not given.

    Attributes
    ----------
    X : Array
        n x d, bias column included.
    targets : Array
        n x q.

    Raises
    ------
    DataError
        With the name of the argument, the place and the remedy; nothing is rounded, dropped or
        imputed silently.

    Examples
    --------
    >>> data = Dataset([[1.0], [3.0]], [10.0, 20.0])
    >>> data.X.tolist(), data.y.tolist()
    ([[-1.0, 1.0], [1.0, 1.0]], [-1.0, 1.0])
    >>> data.preprocessing.restore(data.y).tolist()
    [10.0, 20.0]
    """

    X: Array
    targets: Array
    preprocessings: tuple[Preprocessing, ...]
    raw: RawPart | None

    def __init__(
        self,
        X: object,
        y: object,
        *,
        bias: bool = True,
        scaling: Scaling = "standardize",
        feature_names: Sequence[str] | None = None,
        target_names: Sequence[str] | None = None,
    ) -> None:
        inputs = as_matrix(X, "X")
        labels = as_targets(y, inputs.shape[0])
        fitted = fit_preprocessing(
            inputs,
            labels,
            bias=bias,
            scaling=scaling,
            feature_names=column_names(X) if feature_names is None else feature_names,
            target_names=column_names(y) if target_names is None else target_names,
        )
        self._store(
            *_apply(inputs, labels, fitted), fitted, RawPart(frozen(inputs), frozen(labels))
        )

    def _store(
        self,
        X: Array,
        targets: Array,
        preprocessings: tuple[Preprocessing, ...],
        raw: RawPart | None,
    ) -> None:
        for name, value in (
            ("X", frozen(X)),
            ("targets", frozen(targets)),
            ("preprocessings", preprocessings),
            ("raw", raw),
        ):
            object.__setattr__(self, name, value)

    @classmethod
    def _made_of(
        cls,
        X: Array,
        targets: Array,
        preprocessings: tuple[Preprocessing, ...],
        raw: RawPart | None,
    ) -> Dataset:
        data = cls.__new__(cls)
        data._store(X, targets, preprocessings, raw)
        return data

    @classmethod
    def from_raw(
        cls, X: object, y: object, preprocessing: Preprocessing | Sequence[Preprocessing]
    ) -> Dataset:
        """Raw arrays through an already fitted Preprocessing (one per target)."""
        fitted = (
            (preprocessing,) if isinstance(preprocessing, Preprocessing) else tuple(preprocessing)
        )
        inputs = as_matrix(X, "X")
        labels = as_targets(y, inputs.shape[0])
        if labels.shape[1] != len(fitted):
            raise DataError(
                f"y has {labels.shape[1]} target(s) but {len(fitted)} preprocessing(s) are given; "
                "give one per target"
            )
        if inputs.shape[1] != fitted[0].n_features_in:
            raise DataError(
                f"X has {inputs.shape[1]} features, but {fitted[0].n_features_in} features are "
                "expected by the preprocessing"
            )
        return cls._made_of(
            *_apply(inputs, labels, fitted), fitted, RawPart(frozen(inputs), frozen(labels))
        )

    @classmethod
    def from_preprocessed(
        cls,
        X: object,
        y: object,
        preprocessing: Preprocessing | Sequence[Preprocessing] | None = None,
        *,
        bias: bool = False,
    ) -> Dataset:
        """Arrays that are already in stored form (bias column included when there is one); kept bit
        for bit.

        Without `preprocessing` the data are taken as they are (scaling "none"), and `bias` says
        that the last column is the constant 1.
        """
        stored = as_matrix(X, "X")
        labels = as_targets(y, stored.shape[0])
        if preprocessing is None:
            d = stored.shape[1] - int(bias)
            fitted = tuple(
                Preprocessing("none", bias, np.zeros(d), np.ones(d)) for _ in range(labels.shape[1])
            )
        else:
            fitted = (
                (preprocessing,)
                if isinstance(preprocessing, Preprocessing)
                else tuple(preprocessing)
            )
        check_stored(stored, labels, fitted)
        return cls._made_of(stored, labels, fitted, None)

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        target: str | Sequence[str] | None = None,
        features: str | Sequence[str] | None = None,
        bias: bool = True,
        scaling: Scaling = "standardize",
        max_bytes: int | None = None,
    ) -> Dataset:
        """Read a csv, npz or parquet file.

        Parameters
        ----------
        target : str | Sequence[str] | None
            Name of the label column, or several; in an npz file the name of the label array
            (default "y").
        features : str | Sequence[str] | None
            Names of the input columns (default: all others); in an npz file the name of the input
            array (default "X").
        max_bytes : int | None
            Largest size in memory that is read (default 1 GiB).
        """
        from globalmin.data.loading import MAX_BYTES, load_table

        table = load_table(
            path,
            target=target,
            features=features,
            max_bytes=MAX_BYTES if max_bytes is None else max_bytes,
        )
        names = {"feature_names": table.feature_names, "target_names": table.target_names}
        return cls(table.X, table.y, bias=bias, scaling=scaling, **names)

    @property
    def y(self) -> Array:
        """Stored labels, shape (n,); with several targets use `for_target`."""
        self._require_one_target("y")
        return self.targets[:, 0]

    @property
    def preprocessing(self) -> Preprocessing:
        """How the raw data became the stored ones; with several targets use `for_target`."""
        self._require_one_target("preprocessing")
        return self.preprocessings[0]

    @property
    def n_samples(self) -> int:
        """Number n of samples."""
        return self.X.shape[0]

    @property
    def n_features(self) -> int:
        """Number d of stored features, the bias included."""
        return self.X.shape[1]

    @property
    def n_targets(self) -> int:
        """Number q of targets."""
        return self.targets.shape[1]

    @property
    def bias(self) -> bool:
        """Whether the last column of X is the appended constant 1."""
        return self.preprocessings[0].bias

    @property
    def scaling(self) -> Scaling:
        """Name of the scaling, one of `SCALINGS`."""
        return self.preprocessings[0].scaling

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Names of the raw features, None when unknown."""
        return self.preprocessings[0].feature_names

    @property
    def target_names(self) -> tuple[str, ...] | None:
        """Names of the targets, None when unknown."""
        names = tuple(p.target_name for p in self.preprocessings)
        return tuple(name for name in names if name is not None) if None not in names else None

    @cached_property
    def degeneracy(self) -> Degeneracy:
        """Exact facts about the stored rows: equal rows, zero rows, rays, rank, loss floor."""
        from globalmin.data.degeneracy import Degeneracy

        return Degeneracy(self.X, self.targets[:, 0] if self.n_targets == 1 else None)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the stored numbers, as in spec/certificate-v1.md, section 4."""
        return data_digest(self.X, self.y)

    def for_target(self, target: int | str) -> Dataset:
        """The data set of one target, given by its index or its name."""
        j = self._target_index(target)
        raw = None if self.raw is None else RawPart(self.raw.X, self.raw.y[:, j : j + 1])
        return self._made_of(self.X, self.targets[:, j : j + 1], (self.preprocessings[j],), raw)

    def split(self, test_size: float | int = 0.25, *, seed: int = 0) -> tuple[Dataset, RawPart]:
        """Hold out random samples; the preprocessing of the first part is fitted on that part only.

        Parameters
        ----------
        test_size : float | int
            A fraction in (0, 1), rounded up to whole samples, or a number of samples.

        Returns
        -------
        tuple[Dataset, RawPart]
            The data set of the remaining samples, and the held-out samples in the user's units.
        """
        train, test = drawn_rows(
            self.n_samples, held_out_count(test_size, self.n_samples), seed=seed
        )
        return self.take(train), self.raw_rows(test)

    def take(self, rows: Sequence[int] | NDArray[np.integer]) -> Dataset:
        """The data set of some of the samples, in their order here, its preprocessing fitted on
        them only.
        """
        part = self.raw_rows(rows)
        names = {"feature_names": self.feature_names, "target_names": self.target_names}
        return Dataset(part.X, part.y, bias=self.bias, scaling=self.scaling, **names)

    def raw_rows(self, rows: Sequence[int] | NDArray[np.integer]) -> RawPart:
        """Some of the samples in the user's units, in their order here; labels (m,) for one target,
        (m, q) for several.
        """
        if self.raw is None:
            raise DataError(
                "this data set was made from preprocessed arrays and has no raw samples; choose "
                "rows before preprocessing"
            )
        index = np.unique(np.asarray(rows, dtype=np.intp))
        if index.size == 0 or index[0] < 0 or index[-1] >= self.n_samples:
            raise DataError(
                f"rows must be a non-empty list of sample numbers from 0 to {self.n_samples - 1}"
            )
        labels = self.raw.y[index]
        return RawPart(self.raw.X[index], labels[:, 0] if self.n_targets == 1 else labels)

    def __repr__(self) -> str:
        """Sizes and scaling, never the numbers."""
        sizes = (
            f"n_samples={self.n_samples}, n_features={self.n_features}, n_targets={self.n_targets}"
        )
        return f"Dataset({sizes}, bias={self.bias}, scaling={self.scaling!r})"

    def _require_one_target(self, attribute: str) -> None:
        if self.n_targets != 1:
            raise DataError(
                f"the data set has {self.n_targets} targets, so .{attribute} is ambiguous; "
                f"use .for_target(j).{attribute}, or .targets for all labels"
            )

    def _target_index(self, target: int | str) -> int:
        if isinstance(target, str):
            names = self.target_names or ()
            if target not in names:
                raise DataError(
                    f"target {target!r} is not one of {list(names)}; give one of these names or an "
                    f"index below {self.n_targets}"
                )
            return names.index(target)
        if not 0 <= int(target) < self.n_targets:
            raise DataError(
                f"target {target} does not exist; give an index from 0 to {self.n_targets - 1}"
            )
        return int(target)


def _apply(inputs: Array, labels: Array, fitted: tuple[Preprocessing, ...]) -> tuple[Array, Array]:
    X = fitted[0].transform(inputs)
    targets = np.stack([p.transform_y(labels[:, j]) for j, p in enumerate(fitted)], axis=1)
    refuse_unusable_labels(targets, fitted[0].scaling)
    return X, targets

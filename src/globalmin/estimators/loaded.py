"""Models from disk: a file of networks becomes one object that predicts raw rows."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from globalmin._types import Array, NDArray
from globalmin.errors import DataError
from globalmin.shallow.storage import StoredSeveral, load_networks


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """A model as it was saved, with its preprocessing: raw rows in, outputs in the user's units or
    classes out. Get one from `load`.

    Attributes
    ----------
    stored : StoredSeveral
        Networks, preprocessing and metadata of the file.
    loss : str
        What it was trained with; "squared" where the file does not say.
    classes : tuple | None
        The class labels, None for a regressor.
    columns : tuple[str, ...] | None
        Names of the inputs in their order, None where the file does not say.
    """

    stored: StoredSeveral
    loss: str
    classes: tuple[Any, ...] | None
    columns: tuple[str, ...] | None

    @property
    def n_features(self) -> int:
        """Numbers in one raw row."""
        if self.stored.preprocessing is None:
            return int(self.stored.networks[0].n_features)
        return len(self.stored.preprocessing[0].x_shift)

    def outputs(self, X: Any) -> Array:
        """Outputs of all networks at raw rows, rows x networks.

        Parameters
        ----------
        X : Any
            Rows of `n_features` numbers; of a data frame the columns are found by their names.
        """
        rows = self._rows(X)
        steps = self.stored.preprocessing or [None] * len(self.stored.networks)
        parts = [
            network.predict(rows)
            if step is None
            else step.restore(network.predict(step.transform(rows)))
            for network, step in zip(self.stored.networks, steps, strict=True)
        ]
        return np.stack(parts, axis=1)

    def predict(self, X: Any) -> NDArray[Any]:
        """Labels of raw rows: numbers (a column per target if there are several), or classes."""
        found = self.outputs(X)
        if self.classes is None:
            values = np.exp(found) if self.loss == "poisson" else found
            return values[:, 0] if values.shape[1] == 1 else values
        winners = (found[:, 0] > 0).astype(np.intp) if found.shape[1] == 1 else found.argmax(axis=1)
        return np.array(self.classes)[winners]

    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the classes, rows x classes; of models with the logistic loss."""
        if self.classes is None or self.loss not in ("logistic", "softmax"):
            raise DataError(
                f"a model with the loss {self.loss!r} has no probabilities; take predict, or train "
                "with the logistic loss"
            )
        found = self.outputs(X)
        if self.loss == "softmax":
            powers = np.exp(found - found.max(axis=1, keepdims=True))
            return powers / powers.sum(axis=1, keepdims=True)
        share = 0.5 * (1.0 + np.tanh(0.5 * found))
        if share.shape[1] == 1:
            return np.hstack([1.0 - share, share])
        total = share.sum(axis=1, keepdims=True)
        return np.where(total > 0, share / np.where(total > 0, total, 1.0), 1.0 / share.shape[1])

    def _rows(self, X: Any) -> Array:
        if self.columns is not None and hasattr(X, "columns"):
            missing = [name for name in self.columns if name not in X.columns]
            if missing:
                raise DataError(f"X lacks the columns {', '.join(missing)}; give them by name")
            X = X[list(self.columns)]
        rows = np.asarray(X, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != self.n_features or not np.isfinite(rows).all():
            raise DataError(
                f"X has shape {rows.shape}; give rows of {self.n_features} finite numbers, without "
                "the target"
            )
        return rows


def load(path: str | os.PathLike[str]) -> LoadedModel:
    """Read a model that was saved, by an estimator or by `globalmin fit`, and predict with it.

    Parameters
    ----------
    path : str | os.PathLike[str]
        A file of `save_network`, `save_networks` or the method `save` of an estimator.

    Returns
    -------
    LoadedModel
        With `predict` and `predict_proba` at raw rows.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from globalmin import AdditiveNetworkRegressor
    >>> X = np.random.default_rng(0).standard_normal((50, 2))
    >>> model = AdditiveNetworkRegressor(weight_decay=1.0).fit(X, np.abs(X[:, 0]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(Path(folder) / "model.safetensors")
    ...     again = load(Path(folder) / "model.safetensors")
    >>> bool((again.predict(X) == model.predict(X)).all())
    True
    """
    stored = load_networks(path)
    try:
        classes = json.loads(stored.metadata["classes"]) if "classes" in stored.metadata else None
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: the metadata field 'classes' is damaged") from error
    if classes is not None and (
        not isinstance(classes, list)
        or len(classes) < 2
        or len(stored.networks) not in (len(classes), 1 if len(classes) == 2 else -1)
    ):
        raise DataError(f"{path}: {len(stored.networks)} network(s) do not fit its classes")
    names = stored.preprocessing[0].feature_names if stored.preprocessing else None
    return LoadedModel(
        stored,
        stored.metadata.get("loss", "squared"),
        None if classes is None else tuple(classes),
        None if names is None else tuple(names),
    )

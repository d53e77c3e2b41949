"""A model from its file, ready to be used: raw rows in, predictions out. What the training did to
the columns, recipe and scaling, is in the file and done again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from globalmin._types import Array, NDArray
from globalmin.data.preprocessing import Preprocessing
from globalmin.data.raw_table import RawTable, raw_table_of
from globalmin.data.recipe import Recipe
from globalmin.errors import DataError
from globalmin.losses.several import one_against_rest, probabilities
from globalmin.patches.storage import is_patch_network, load_patch_network
from globalmin.shallow.storage import load_networks

PROBABILITIES = ("logistic", "softmax")
MODEL = "model.safetensors"


@dataclass(frozen=True, eq=False)
class SavedModel:
    """Networks with everything that stands between raw rows and predictions; get one from `load`.

    Attributes
    ----------
    networks : tuple[Any, ...]
        One, or one for each class or target.
    preprocessing : tuple[Preprocessing, ...] | None
        The scaling of each; None if the file has none, the rows are then the network's own.
    recipe : Recipe | None
        How raw columns became numbers; None if all were numbers.
    loss : str
        What was minimized.
    classes : tuple[Any, ...]
        The class labels in their order; empty for regression.
    metadata : Mapping[str, str]
        All that the file says besides.
    """

    networks: tuple[Any, ...]
    preprocessing: tuple[Preprocessing, ...] | None
    recipe: Recipe | None
    loss: str
    classes: tuple[Any, ...]
    metadata: Mapping[str, str]

    @property
    def columns(self) -> tuple[str, ...] | None:
        """The names of the columns that rows must have, None if any rows of the right length do."""
        if self.recipe is not None:
            return self.recipe.columns
        return None if self.preprocessing is None else self.preprocessing[0].feature_names

    @property
    def targets(self) -> tuple[str, ...]:
        """The names of what is predicted, where the file has them."""
        named = self.metadata.get("target")
        if named is not None:
            return (named,)
        steps = self.preprocessing or ()
        return tuple(dict.fromkeys(step.target_name for step in steps if step.target_name))

    def decision_function(self, X: object) -> Array:
        """Outputs at raw rows, in the units of the labels: (m,), or (m, outputs) for several."""
        outputs = self._outputs(X)
        return outputs[:, 0] if outputs.shape[1] == 1 else outputs

    def predict(self, X: object) -> NDArray[Any]:
        """Predictions at raw rows: numbers in the units of the labels (means for counts), or
        classes.

        Parameters
        ----------
        X : object
            A data frame, a dict of columns, a `RawTable`, or rows of numbers in the order of the
            columns.
        """
        outputs = self.decision_function(X)
        if not self.classes:
            return np.exp(outputs) if self.loss == "poisson" else outputs
        names = np.array(self.classes)
        if outputs.ndim == 1:
            return names[(outputs > 0).astype(np.intp)]
        return names[outputs.argmax(axis=1)]

    def predict_proba(self, X: object) -> Array:
        """Probabilities, m x classes, for the losses logistic and softmax; of several
        networks normalized to sum 1.
        """
        if not self.classes or self.loss not in PROBABILITIES:
            raise DataError(
                f"loss={self.loss!r} has no probabilities; fit with one of "
                f"{', '.join(PROBABILITIES)}"
            )
        outputs = self._outputs(X)
        return probabilities(outputs) if self.loss == "softmax" else one_against_rest(outputs)

    def _outputs(self, X: object) -> Array:
        rows = self._numbers(X)
        if self.preprocessing is None:
            parts = [network.predict(rows) for network in self.networks]
        else:
            stored = self.preprocessing[0].transform(rows)
            pairs = zip(self.preprocessing, self.networks, strict=True)
            parts = [step.restore(network.predict(stored)) for step, network in pairs]
        return np.column_stack(parts)

    def _numbers(self, X: object) -> Array:
        """The rows as numbers in the order of training; columns by name where there are names."""
        if self.recipe is not None:
            return self.recipe.transform(self._named(X))
        if not _has_names(X):
            return np.asarray(X, dtype=np.float64)
        from globalmin.data.columns import numbers_of

        table = raw_table_of(X)
        names = table.names if self.columns is None else self.columns
        table.require(names, "input")
        found = np.column_stack([numbers_of(table, name) for name in names])
        gaps = np.argwhere(np.isnan(found))
        if len(gaps):
            i, j = (int(k) for k in gaps[0])
            raise DataError(
                f"{table.origin}: column {names[j]!r}, {table.place(i)}: the value is "
                "missing, and the model was trained without gaps; fill it in or leave the row out"
            )
        return found

    def _named(self, X: object) -> RawTable:
        """Rows without names have the columns of the recipe, in its order."""
        table = raw_table_of(X)
        if _has_names(X) or self.recipe is None:
            return table
        if len(table.names) != len(self.recipe.columns):
            raise DataError(
                f"rows of {len(table.names)} cells, but the model has the columns "
                f"{', '.join(map(repr, self.recipe.columns))}; give one cell for each"
            )
        cells = zip(self.recipe.columns, table.columns.values(), strict=True)
        return RawTable(dict(cells), table.origin)


def load(path: str | Path) -> SavedModel:
    """Read a model file of `globalmin fit` or of an estimator's `save`, ready to predict at raw
    rows.

    Parameters
    ----------
    path : str | Path
        The model.safetensors of an output folder, or that folder.

    Examples
    --------
    >>> import tempfile
    >>> from globalmin.estimators import AdditiveNetworkRegressor
    >>> fitted = AdditiveNetworkRegressor(weight_decay=0.5, certify=False)
    >>> _ = fitted.fit([[0.0], [1.0], [2.0]], [1.0, 2.0, 3.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     fitted.save(Path(folder) / "model.safetensors")
    ...     model = load(folder)
    >>> bool(model.predict([[1.5]])[0] == fitted.predict([[1.5]])[0])
    True
    """
    file = Path(path)
    below = models_below(file)
    if below:
        named = ", ".join(map(str, below))
        raise DataError(f"{path}: holds a model for each of several targets; give one of {named}")
    file = file / MODEL if file.is_dir() else file
    if is_patch_network(file):
        found = load_patch_network(file)
        return SavedModel((found.network,), None, None, "squared", (), found.metadata)
    stored = load_networks(file)
    extra = stored.metadata
    try:
        classes = json.loads(extra.get("classes", "[]"))
    except ValueError:
        classes = None
    outputs = sum(getattr(network, "outputs", 1) for network in stored.networks)
    fits = (0, 2) if outputs == 1 else (0, outputs)
    if not isinstance(classes, list) or len(classes) not in fits:
        raise DataError(f"{file}: the classes in its metadata are damaged, or not {outputs}")
    recipe = Recipe.from_json(extra["recipe"]) if "recipe" in extra else None
    return SavedModel(
        stored.networks,
        stored.preprocessing,
        recipe,
        extra.get("loss", "squared"),
        tuple(classes),
        extra,
    )


def models_below(folder: str | Path) -> list[Path]:
    """The folders of a fit of several targets, a model in each; empty for any other place."""
    place = Path(folder)
    if not place.is_dir() or (place / MODEL).exists():
        return []
    return sorted(found.parent for found in place.glob(f"*/{MODEL}"))


def _has_names(X: object) -> bool:
    return isinstance(X, RawTable | Mapping) or hasattr(X, "columns")

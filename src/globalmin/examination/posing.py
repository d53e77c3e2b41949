"""A model that somebody brings, as a network of ours with the rows it reads."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from globalmin._types import Array
from globalmin.data import Dataset
from globalmin.data.validation import as_matrix
from globalmin.deep.network import DeepNetwork
from globalmin.errors import DataError
from globalmin.interop.families import Posed
from globalmin.interop.foreign import KINDS, from_file, read
from globalmin.shallow.network import ShallowNetwork


def posed_model(
    model: Any, data: Any, output: int | None, activation: str | None
) -> tuple[Posed, float]:
    """The network as one of ours with its rows, and how far its predictions are from the
    model's.
    """
    if isinstance(model, ShallowNetwork | DeepNetwork):
        if not isinstance(data, Dataset):
            raise DataError(
                f"data={type(data).__name__}: a network of globalmin is examined on the Dataset it "
                "was trained on"
            )
        return Posed(model, data, ()), 0.0
    if isinstance(model, str | os.PathLike):
        brought = from_file(model, activation=activation)
    else:
        brought = read(model)
    if brought is None:
        raise DataError(
            f"model={type(model).__name__} cannot be examined; give a ShallowNetwork or "
            f"DeepNetwork, {KINDS}, or a file of one"
        )
    X, y = _raw(data)
    if y.dtype.kind in "OSU" and len(y) and isinstance(y.flat[0], str | bytes):
        raise DataError(
            f"y holds text ({y.flat[0]!r}): without weight decay the loss is that of squares and "
            "labels are numbers; for the classes of a relu classifier give loss='logistic' and its "
            "weight_decay"
        )
    one = brought if output is None else brought.only(output)
    posed = one.with_data(X, y)
    restored = posed.data.preprocessing.restore(posed.network.predict(posed.data.X))
    decay = brought.trained_for.weight_decay
    notes = posed.notes
    if brought.agreement is not None:
        notes = (str(brought.agreement), *notes)
    if decay:
        notes = (
            *notes,
            f"it was trained with the weight decay {decay:g}, which this loss does not have: see "
            "optimality_gap",
        )
    return Posed(posed.network, posed.data, notes), float(np.abs(restored - one.predict(X)).max())


def one_output(model: Any, output: int | None, activation: str | None) -> Any:
    """A file read, and one of several outputs chosen."""
    given = model
    if isinstance(model, str | os.PathLike):
        given = from_file(model, activation=activation)
    if output is None:
        return given
    brought = read(given)
    if brought is None:
        raise DataError(f"output={output!r}: the model has one output; leave it out")
    return brought.only(output)


def _raw(data: Any) -> tuple[Array, Array]:
    if isinstance(data, Dataset):
        if data.raw is None:
            raise DataError("the data set has no raw rows; give the pair (X, y)")
        return data.raw.X, data.raw.y.ravel()
    if not isinstance(data, Sequence) or len(data) != 2:
        raise DataError(f"data={type(data).__name__} must be a pair (X, y) or a Dataset")
    return as_matrix(data[0], "X"), np.asarray(data[1])

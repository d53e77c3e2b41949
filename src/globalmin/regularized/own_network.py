"""Networks that somebody else trained, as a network and the problem it was trained for: raw
weights, shallow networks, our estimators, and models of other frameworks.

The latter are read by the room that knows frameworks, found by the name of its module `foreign`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from globalmin._rooms import rooms_with
from globalmin._types import Array
from globalmin.data import Dataset
from globalmin.data.validation import as_matrix
from globalmin.errors import DataError
from globalmin.losses import Loss
from globalmin.regularized.network import RegularizedNetwork
from globalmin.shallow.network import ShallowNetwork

# output functions that a loss contains: it is a function of the logits
LINKS = {"sigmoid": "logistic", "exp": "poisson"}


class Foreign(Protocol):
    """What is asked of a network of another framework; see `gm.interop.ImportedNetwork`."""

    trained_for: Any
    output: str

    def scaled(self, X: Any) -> Array:
        """The rows as its first layer reads them."""
        ...

    def for_logits(self) -> RegularizedNetwork:
        """Its layers, without what stands before and after them."""
        ...


@dataclass(frozen=True, eq=False)
class Given:
    """A network with its rows and labels, and what its kind says about the objective; None where
    it says nothing.
    """

    network: RegularizedNetwork
    X: Array
    y: Array
    loss: str | None = None
    weight_decay: float | None = None
    hidden_bias: str = "penalized"
    intercept: str | float = "free"
    linear: str | float = "none"
    output: str = "identity"

    def __post_init__(self) -> None:
        if self.y.dtype.kind in "OSU" and self.y.size and isinstance(self.y.flat[0], str | bytes):
            raise DataError(
                f"y holds text ({self.y.flat[0]!r}), and this model does not say which of its "
                "classes is which; write the two classes as -1 and 1, or 0 and 1"
            )

    def loss_or(self, asked: str | Loss | None) -> str | Loss:
        """The loss asked for, else that of the model, else "squared"; refused where the network
        here is the model without its output function, and the loss is none of those that contain
        it.
        """
        chosen = asked or self.loss or LINKS.get(self.output) or "squared"
        name = chosen if isinstance(chosen, str) else chosen.name
        if LINKS.get(self.output, name) != name:
            raise DataError(
                f"loss={name!r}: the outputs of the model go through {self.output}; the gap is "
                f"that of the logits for loss={LINKS[self.output]!r}, or of a model without that "
                "function"
            )
        return chosen

    def labels_for(self, loss: Loss) -> Array:
        """The labels; for a loss of two classes 0 and 1 count as -1 and 1, as torch counts them:
        1 is the class of positive outputs.
        """
        y = self.y
        if loss.labels == "signs" and y.dtype.kind in "biuf" and np.isin(y, (0, 1)).all():
            return np.where(y == 1, 1.0, -1.0)
        return y


def read_model(model: Any, data: Any) -> Given:
    """The network and the rows in the form it reads them.

    Parameters
    ----------
    model : weights (W, b, v) or (W, b, v, c0), a mapping of these names, a `RegularizedNetwork`, a
        relu `ShallowNetwork`, a fitted estimator of ours, or a model of another framework that
        `gm.interop` reads, with one hidden layer of relu neurons and one output.
    data : a pair (X, y) or a `Dataset`.
    """
    if isinstance(model, ShallowNetwork):
        return _shallow(model, data)
    if hasattr(model, "networks_") and hasattr(model, "preprocessing_"):
        return _estimator(model, data)
    X, y = _pair(data)
    for room in rooms_with("foreign"):
        foreign = room.read(model)
        if foreign is not None:
            return _foreign(foreign, X, y)
    network = model if isinstance(model, RegularizedNetwork) else _weights(model)
    if network.W.shape[1] != X.shape[1]:
        raise DataError(
            f"the network reads {network.W.shape[1]} features and X has {X.shape[1]} columns; "
            "give the columns that it was trained on"
        )
    linear = "none" if network.linear is None else "free"
    return Given(network, X, y, linear=linear)


def _pair(data: Any) -> tuple[Array, Array]:
    """Rows and labels, without the constant column of a data set."""
    if isinstance(data, Dataset):
        return (data.X[:, :-1] if data.bias else data.X), data.y
    if not isinstance(data, Sequence) or len(data) != 2:
        raise DataError(f"data={type(data).__name__} must be a pair (X, y) or a Dataset")
    return as_matrix(data[0], "X"), np.asarray(data[1])


def _weights(model: Any) -> RegularizedNetwork:
    if isinstance(model, Mapping):
        known = ("W", "b", "v", "c0", "linear")
        extra = [name for name in model if name not in known]
        if extra or "W" not in model or "v" not in model:
            raise DataError(
                f"weights have the names {[*model]}; give W, b, v and perhaps c0, linear"
            )
        parts = [model["W"], model.get("b"), model["v"], model.get("c0", 0.0), model.get("linear")]
    elif isinstance(model, Sequence) and not isinstance(model, str) and 3 <= len(model) <= 5:
        parts = [*model, *([0.0, None][len(model) - 3 :])]
    else:
        raise DataError(
            f"model={type(model).__name__} is no network with one hidden layer; give weights "
            "(W, b, v, c0), a network of globalmin, or a fitted MLPRegressor"
        )
    W, b, v, c0, linear = parts
    W = as_matrix(W, "W")
    bias = np.zeros(len(W)) if b is None else np.ravel(b)
    return RegularizedNetwork(W, bias, np.ravel(v), float(np.ravel(c0)[0]), linear)


def _shallow(model: ShallowNetwork, data: Any) -> Given:
    """A network without intercept; its biases are the weights of a column of ones."""
    if model.activation.certificate_name != "relu":
        raise DataError(
            f"activation={model.activation.name!r}: the gap is that of relu networks; see "
            "`prove` for others"
        )
    X, y = _pair(data)
    d = X.shape[1]
    if model.n_features not in (d, d + 1):
        raise DataError(
            f"the network reads {model.n_features} features and X has {d} columns; "
            "give the columns that it was trained on"
        )
    if model.n_features == d:
        network = RegularizedNetwork(model.W, np.zeros(model.width), model.v)
        return Given(network, X, y, hidden_bias="none", intercept="none")
    network = RegularizedNetwork(model.W[:, :d], model.W[:, d], model.v)
    return Given(network, X, y, intercept="none")


def _foreign(model: Foreign, X: Array, y: Array) -> Given:
    """A network of another framework; what it was trained for is what the framework says."""
    rows = model.scaled(X)
    said = model.trained_for
    if said.classes is not None and len(said.classes) == 2:
        y = _signs(y, said.classes)
    # logits: the loss of classes and counts is a function of them
    network = model.for_logits()
    if model.output not in (*LINKS, "identity"):
        raise DataError(
            f"the outputs of the model go through {model.output}, and no loss here contains that "
            "function; give the model without it"
        )
    bias = said.hidden_bias or "penalized"
    facts: dict[str, Any] = {"hidden_bias": bias, "output": model.output}
    return Given(network, rows, y, said.loss, said.weight_decay, **facts)


def _signs(y: Any, classes: Sequence[Any]) -> Array:
    """1 for the second of two classes and -1 for the first; labels that are signs already stay."""
    labels = np.asarray(y)
    first, second = (np.asarray(labels == name) for name in classes)
    known = first | second
    if known.all():
        return np.where(second, 1.0, -1.0)
    if labels.dtype.kind in "biuf" and np.isin(labels, (-1, 1)).all():
        return labels.astype(np.float64)
    place = int(np.flatnonzero(~known)[0])
    names = " and ".join(repr(name) for name in np.asarray(classes).tolist())
    raise DataError(
        f"y[{place}] = {labels[place].item()!r} is none of the two classes of the model, {names}; "
        "give the labels it was trained on, or -1 and 1"
    )


def _estimator(model: Any, data: Any) -> Given:
    """One of ours, with a single network; raw rows and labels come in."""
    network = model.network_
    if isinstance(network, ShallowNetwork):
        X, y = _pair(data)
        return _shallow(network, Dataset.from_raw(X, y, model.preprocessing_))
    if not isinstance(network, RegularizedNetwork) or not hasattr(model, "intercept"):
        raise DataError(
            f"model={type(model).__name__} is no relu network of all columns; its own proof is "
            "model.gap_statement() and model.verdict_"
        )
    X, y = _pair(data)
    step = model.preprocessing_
    if hasattr(model, "classes_"):
        labels = _signs(y, model.classes_)
    else:
        labels = (np.asarray(y, dtype=np.float64) - step.y_shift) / step.y_scale
    return Given(
        network,
        step.transform(X),
        labels,
        model.loss,
        model.weight_decay_,
        model.hidden_bias,
        model.intercept,
        model.linear,
    )

"""Networks that somebody else trained, as a network and the problem it was trained for: raw
weights, shallow networks, scikit-learn's perceptrons, torch modules, our estimators.

What is penalized is translated with care: scikit-learn divides loss and penalty by n and leaves all
biases free, so its alpha is the weight decay of the summed loss.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from globalmin._types import Array
from globalmin.data import Dataset
from globalmin.data.validation import as_matrix
from globalmin.errors import DataError
from globalmin.regularized.network import RegularizedNetwork
from globalmin.shallow.network import ShallowNetwork

_LOSSES = {"identity": "squared", "logistic": "logistic", "exp": "poisson"}


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


def read_model(model: Any, data: Any) -> Given:
    """The network and the rows in the form it reads them.

    Parameters
    ----------
    model : weights (W, b, v) or (W, b, v, c0), a mapping of these names, a `RegularizedNetwork`, a
        relu `ShallowNetwork`, a fitted `MLPRegressor` or binary `MLPClassifier` of scikit-learn
        with one hidden layer, a torch module of two linear layers, or a fitted estimator of ours.
    data : a pair (X, y) or a `Dataset`.
    """
    if isinstance(model, ShallowNetwork):
        return _shallow(model, data)
    if hasattr(model, "coefs_") and hasattr(model, "intercepts_"):
        return _perceptron(model, *_pair(data))
    if hasattr(model, "networks_") and hasattr(model, "preprocessing_"):
        return _estimator(model, data)
    X, y = _pair(data)
    network = model if isinstance(model, RegularizedNetwork) else _weights(model)
    if network.W.shape[1] != X.shape[1]:
        raise DataError(
            f"the network reads {network.W.shape[1]} features and X has {X.shape[1]} columns"
        )
    if hasattr(model, "state_dict"):
        _require_same_outputs(model, network, X)
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
    if hasattr(model, "state_dict"):
        model = _torch_layers(model)
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


def _torch_layers(model: Any) -> dict[str, Any]:
    """Weights of a module of two linear layers with biases, relu between them."""
    found = {name: value.detach().cpu().numpy() for name, value in model.state_dict().items()}
    matrices = [value for value in found.values() if value.ndim == 2]
    vectors = [value for value in found.values() if value.ndim == 1]
    if len(matrices) != 2 or len(vectors) != 2 or matrices[1].shape[0] != 1:
        raise DataError(
            f"the module has the tensors {[*found]}; give one of two linear layers with biases and "
            "one output"
        )
    W, v = (np.asarray(value, dtype=np.float64) for value in matrices)
    return {"W": W, "b": vectors[0], "v": v, "c0": vectors[1]}


def _require_same_outputs(module: Any, network: RegularizedNetwork, X: Array) -> None:
    """Tensors do not say what stands between them: the module's own outputs at the rows do."""
    import torch

    kind = next(iter(module.parameters()))
    with torch.no_grad():
        outputs = module(torch.as_tensor(X, dtype=kind.dtype, device=kind.device))
    theirs = np.ravel(outputs.cpu().numpy()).astype(np.float64)
    hidden = np.abs(X) @ np.abs(network.W).T + np.abs(network.bias)
    size = float((hidden @ np.abs(network.v)).max()) + abs(network.intercept)
    # rounding of sums of that size, some hundred operations long, in the module's own precision
    room = 1e3 * float(torch.finfo(kind.dtype).eps) * (1.0 + size)
    away = float(np.abs(theirs - network.predict(X)).max()) if theirs.shape == (len(X),) else np.inf
    if not away <= room:
        raise DataError(
            f"the module's outputs differ by {away:.3g} from those of relu neurons with its "
            "weights; give a module of Linear, ReLU, Linear with one output and nothing else"
        )


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
        raise DataError(f"the network reads {model.n_features} features and X has {d} columns")
    if model.n_features == d:
        network = RegularizedNetwork(model.W, np.zeros(model.width), model.v)
        return Given(network, X, y, hidden_bias="none", intercept="none")
    network = RegularizedNetwork(model.W[:, :d], model.W[:, d], model.v)
    return Given(network, X, y, intercept="none")


def _perceptron(model: Any, X: Array, y: Array) -> Given:
    """scikit-learn's, with one hidden layer of relu neurons and one output."""
    shape = [np.shape(layer) for layer in model.coefs_]
    if len(shape) != 2 or shape[1][1] != 1 or getattr(model, "activation", "relu") != "relu":
        raise DataError(
            f"a perceptron with the layers {shape} and activation "
            f"{getattr(model, 'activation', None)!r}: give one hidden layer, 'relu', and one output"
        )
    network = RegularizedNetwork(
        np.asarray(model.coefs_[0], dtype=np.float64).T,
        np.ravel(model.intercepts_[0]),
        np.ravel(model.coefs_[1]),
        float(np.ravel(model.intercepts_[1])[0]),
    )
    if hasattr(model, "classes_"):
        y = np.where(np.asarray(y) == model.classes_[1], 1.0, -1.0)
    loss = _LOSSES.get(str(getattr(model, "out_activation_", "identity")))
    decay = float(model.alpha) if getattr(model, "alpha", 0.0) else None
    return Given(network, X, y, loss, decay, hidden_bias="free")


def _estimator(model: Any, data: Any) -> Given:
    """One of ours, with a single network; raw rows and labels come in."""
    network = model.network_
    if isinstance(network, ShallowNetwork):
        X, y = _pair(data)
        return _shallow(network, Dataset.from_raw(X, y, model.preprocessing_))
    X, y = _pair(data)
    step = model.preprocessing_
    if hasattr(model, "classes_"):
        labels = np.where(np.asarray(y) == model.classes_[1], 1.0, -1.0)
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

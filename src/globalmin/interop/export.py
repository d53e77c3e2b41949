"""Our networks for other frameworks: PyTorch, ONNX and scikit-learn.

Weights stay float64, so that predictions agree to rounding.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from globalmin._types import Array
from globalmin.activations import get_activation
from globalmin.errors import DataError
from globalmin.interop.families import imported
from globalmin.interop.findings import Findings
from globalmin.interop.network import ImportedNetwork, InputScaling
from globalmin.interop.onnx_models import WholeModel, whole_graph, whole_model
from globalmin.interop.onnx_nodes import Nodes
from globalmin.interop.packages import package

if TYPE_CHECKING:
    from globalmin.data.preprocessing import Preprocessing

_TORCH = {"relu": "ReLU", "tanh": "Tanh", "sigmoid": "Sigmoid", "swish": "SiLU", "gelu": "GELU"}
_SKLEARN = {"linear": "identity", "sigmoid": "logistic", "tanh": "tanh", "relu": "relu"}


def to_torch(model: Any, preprocessing: Preprocessing | None = None) -> Any:
    """A `torch.nn.Sequential` in float64 with the outputs of the network.

    Parameters
    ----------
    model : Any
        An `ImportedNetwork`, a `ShallowNetwork`, a `RegularizedNetwork` or a fully connected
        `DeepNetwork`.
    preprocessing : Preprocessing | None
        Of the data set it was trained on (`data.preprocessing`): the module then reads raw rows and
        gives outputs in the user's units. Without it, it reads stored rows.

    Examples
    --------
    >>> import globalmin as gm, torch
    >>> net = gm.ShallowNetwork([[1.0, 2.0]], [3.0], "tanh")
    >>> bool(to_torch(net)(torch.zeros(1, 2, dtype=torch.float64)) == 0)
    True
    """
    torch = package("torch")
    nn = torch.nn
    network = imported(model, preprocessing)
    findings = Findings(network.origin)
    parts: list[Any] = []
    if network.scaling is not None:
        parts += _torch_scaling(network.scaling, torch)
    for number, layer in enumerate(network.layers, 1):
        linear = nn.Linear(*reversed(layer.W.shape), bias=layer.b is not None, dtype=torch.float64)
        with torch.no_grad():
            linear.weight.copy_(torch.from_numpy(layer.W.copy()))
            if layer.b is not None:
                linear.bias.copy_(torch.from_numpy(layer.b.copy()))
        parts += [linear, *_torch_activation(layer.activation, f"layer {number}", nn, findings)]
    if network.output == "softmax":
        parts.append(nn.Softmax(dim=-1))
    elif network.output != "identity":
        parts += _torch_activation(network.output, "the output", nn, findings)
    findings.require_none()
    return nn.Sequential(*parts).eval()


def _torch_scaling(scaling: InputScaling, torch: Any) -> list[Any]:
    """(x - m) / s as the normalization of torch, which training does not move while it is in eval
    mode; other scalings as diagonal layers.
    """
    if tuple(kind for kind, _ in scaling.steps) != ("subtract", "divide"):
        return [_torch_diagonal(kind, numbers, torch) for kind, numbers in scaling.steps]
    mean, spread = (torch.from_numpy(np.array(numbers)) for _, numbers in scaling.steps)
    kind = {"eps": 0.0, "affine": False, "dtype": torch.float64}
    layer = torch.nn.BatchNorm1d(len(mean), **kind)
    layer.running_mean.copy_(mean)
    layer.running_var.copy_(spread**2)
    return [layer]


def _torch_diagonal(kind: str, numbers: Array, torch: Any) -> Any:
    d = numbers.size
    layer = torch.nn.Linear(d, d, dtype=torch.float64)
    shift = {"add": numbers, "subtract": -numbers}.get(kind, np.zeros(d))
    factor = {"multiply": numbers, "divide": 1.0 / numbers}.get(kind, np.ones(d))
    with torch.no_grad():
        layer.weight.copy_(torch.from_numpy(np.diag(factor)))
        layer.bias.copy_(torch.from_numpy(np.asarray(shift)))
    return layer


def _torch_activation(spelling: str, where: str, nn: Any, findings: Findings) -> list[Any]:
    phi = get_activation(spelling)
    if phi.name == "linear":
        return []
    if phi.name == "softplus":
        # torch's threshold beyond which it takes z itself, where softplus(z) = z in doubles
        return [nn.Softplus(beta=phi.parameter, threshold=40.0)]
    if phi.name == "leaky_relu":
        return [nn.LeakyReLU(phi.parameter)]
    if phi.name in _TORCH and phi.parameter in (None, 1.0):
        return [getattr(nn, _TORCH[phi.name])()]
    findings.add(f"the activation {spelling}", where, f"one of {', '.join(_TORCH)}, softplus")
    return []


def to_sklearn(model: Any, preprocessing: Preprocessing | None = None) -> Any:
    """A fitted `MLPRegressor` with the outputs of the network; behind a `StandardScaler` in a
    pipeline if its inputs are scaled.

    Parameters
    ----------
    model : Any
        As in `to_torch`; all hidden layers relu, tanh, sigmoid or linear.
    preprocessing : Preprocessing | None
        As in `to_torch`.
    """
    from sklearn.neural_network import MLPRegressor
    from sklearn.pipeline import make_pipeline

    network = imported(model, preprocessing)
    findings = Findings(network.origin)
    names = sorted(set(network.activations))
    hidden = names[0] if names else "linear"
    if len(names) > 1 or hidden not in _SKLEARN:
        known = ", ".join(_SKLEARN)
        what = f"the activations {', '.join(names)}"
        findings.add(what, "the hidden layers", f"the same in all of them, one of {known}")
    if network.output != "identity":
        findings.add(f"the output {network.output}", "the end", "identity, for a regressor")
    findings.require_none()
    made: Any = MLPRegressor(hidden_layer_sizes=network.widths, activation=_SKLEARN[hidden])
    made.coefs_ = [layer.W.T.copy() for layer in network.layers]
    made.intercepts_ = [layer.bias.copy() for layer in network.layers]
    made.n_layers_, made.n_outputs_ = len(network.layers) + 1, network.n_outputs
    made.out_activation_, made.n_features_in_ = "identity", network.n_features
    made.n_iter_, made.t_ = 0, 0
    if network.scaling is None:
        return made
    return make_pipeline(_sklearn_scaler(network, findings), made)


def _sklearn_scaler(network: ImportedNetwork, findings: Findings) -> Any:
    from sklearn.preprocessing import StandardScaler

    steps = network.scaling.steps if network.scaling else ()
    kinds, numbers = tuple(kind for kind, _ in steps), dict(steps)
    if kinds not in (("subtract", "divide"), ("divide",), ("subtract",)):
        findings.refuse(
            f"the scaling {', '.join(kinds)}",
            "before the first layer",
            "subtract, then divide; .folded() takes any other into the first layer",
        )
    scaler: Any = StandardScaler()
    d = network.n_features
    scaler.mean_ = np.array(numbers.get("subtract", np.zeros(d)))
    scaler.scale_ = np.array(numbers.get("divide", np.ones(d)))
    scaler.var_, scaler.n_features_in_, scaler.n_samples_seen_ = np.square(scaler.scale_), d, 0
    return scaler


def to_onnx(
    model: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    preprocessing: Preprocessing | None = None,
    single: bool = False,
) -> Any:
    """An ONNX model, and a file of it: of a network, or of a whole model with everything that is
    done to raw rows before and to outputs after.

    Parameters
    ----------
    model : Any
        A network as in `to_torch`, also with a linear part, of squares, of several outputs,
        residual, convolutional or on patches: input "X", output "y". Or the `SavedModel` of
        `globalmin.load`, or a fitted estimator: input "X", or one for each raw column where
        categories, gaps or dates were made numbers of (see `onnx_inputs`); output "y", or for
        classifiers "label", "scores" and, where the loss has them, "probabilities".
    path : str | os.PathLike[str] | None
        Where the file is to be; it appears whole or not at all.
    preprocessing : Preprocessing | None
        As in `to_torch`; a whole model has its own.
    single : bool
        Weights and arithmetic in float32, for devices without float64: then outputs agree to 1e-6
        or so, not to 1e-12.

    Returns
    -------
    onnx.ModelProto
        Checked by onnx's own checker.

    Raises
    ------
    UnsupportedModel
        For activations that ONNX has no form for.
    """
    package("onnx")
    whole = whole_model(model)
    if whole is not None and preprocessing is not None:
        raise DataError("preprocessing: a whole model has its own; give none")
    if whole is not None:
        return whole_graph(whole, path, single=single)
    if not isinstance(model, ImportedNetwork):
        steps = None if preprocessing is None else (preprocessing,)
        return whole_graph(WholeModel((model,), steps, None, "squared", ()), path, single=single)
    nodes, findings = Nodes(single=single), Findings(model.origin)
    rows = nodes.input("X", model.n_features)
    for name, numbers in model.scaling.steps if model.scaling else ():
        operation = {"subtract": "Sub", "add": "Add", "multiply": "Mul", "divide": "Div"}[name]
        rows = nodes.node(operation, rows, nodes.constant(numbers))
    for number, layer in enumerate(model.layers, 1):
        rows = nodes.node("MatMul", rows, nodes.constant(layer.W.T))
        if layer.b is not None:
            rows = nodes.node("Add", rows, nodes.constant(layer.b))
        rows = nodes.activation(layer.activation, rows, findings, f"layer {number}")
    if model.output in ("softmax", "exp"):
        rows = nodes.node(model.output.capitalize(), rows)
    elif model.output != "identity":
        rows = nodes.activation(model.output, rows, findings, "the output")
    findings.require_none()
    nodes.output("y", rows, model.n_outputs)
    return nodes.model(path=path)

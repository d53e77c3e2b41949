"""Our networks for other frameworks: PyTorch, ONNX and scikit-learn.

Weights stay float64, so that predictions agree to rounding.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from globalmin._types import Array
from globalmin.activations import get_activation
from globalmin.errors import DataError
from globalmin.files import save_atomically
from globalmin.interop.families import imported
from globalmin.interop.findings import Findings
from globalmin.interop.network import ImportedNetwork, InputScaling
from globalmin.interop.packages import package

if TYPE_CHECKING:
    from globalmin.data.preprocessing import Preprocessing

OPSET = 17  # of ONNX: every runtime of the last years reads it
_TORCH = {"relu": "ReLU", "tanh": "Tanh", "sigmoid": "Sigmoid", "swish": "SiLU", "gelu": "GELU"}
_ONNX = {"relu": "Relu", "tanh": "Tanh", "sigmoid": "Sigmoid", "abs": "Abs", "erf": "Erf"}
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
    """An ONNX model with the input "X" and the output "y", and a file of it.

    Parameters
    ----------
    model : Any
        As in `to_torch`.
    path : str | os.PathLike[str] | None
        Where the file is to be; it appears whole or not at all.
    preprocessing : Preprocessing | None
        As in `to_torch`.
    single : bool
        Weights and arithmetic in float32, for devices without float64: then outputs agree to 1e-6
        or so, not to 1e-12.

    Returns
    -------
    onnx.ModelProto
        Checked by onnx's own checker.
    """
    onnx = package("onnx")
    TensorProto, helper = onnx.TensorProto, onnx.helper
    network = imported(model, preprocessing)
    kind = np.float32 if single else np.float64
    number = TensorProto.FLOAT if single else TensorProto.DOUBLE
    builder = _Graph(kind)
    for name, numbers in network.scaling.steps if network.scaling else ():
        operation = {"subtract": "Sub", "add": "Add", "multiply": "Mul", "divide": "Div"}[name]
        builder.node(operation, builder.constant(numbers))
    for layer in network.layers:
        builder.node("MatMul", builder.constant(layer.W.T))
        if layer.b is not None:
            builder.node("Add", builder.constant(layer.b))
        builder.activation(layer.activation)
    if network.output in ("softmax", "exp"):
        builder.node(network.output.capitalize())
    else:
        builder.activation("linear" if network.output == "identity" else network.output)
    graph = helper.make_graph(
        [*builder.nodes, helper.make_node("Identity", [builder.last], ["y"])],
        "globalmin",
        [helper.make_tensor_value_info("X", number, [None, network.n_features])],
        [helper.make_tensor_value_info("y", number, [None, network.n_outputs])],
        builder.constants,
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)
    onnx.checker.check_model(made)
    if path is not None:
        save_atomically(Path(path), made.SerializeToString(deterministic=True))
    return made


class _Graph:
    """Nodes of a chain while it is written."""

    def __init__(self, kind: Any) -> None:
        self.kind, self.last = kind, "X"
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, numbers: Any) -> str:
        from onnx import numpy_helper

        name = f"c{len(self.constants)}"
        array = np.ascontiguousarray(np.asarray(numbers, dtype=self.kind))
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def node(self, operation: str, *others: str, source: str | None = None, **given: Any) -> str:
        from onnx import helper

        name = f"t{len(self.nodes)}"
        inputs = [source or self.last, *others]
        self.nodes.append(helper.make_node(operation, inputs, [name], **given))
        self.last = name
        return name

    def activation(self, spelling: str) -> None:
        """As nodes that runtimes have for doubles too."""
        phi = get_activation(spelling)
        z = self.last
        if phi.name in _ONNX:
            steep = phi.parameter not in (None, 1.0)
            z = self.node("Mul", self.constant(phi.parameter)) if steep else z
            self.node(_ONNX[phi.name])
        elif phi.name == "softplus":  # max(z, 0) + log(1 + exp(-b |z|)) / b
            b = float(phi.parameter or 1.0)
            self.node("Abs")
            self.node("Mul", self.constant(-b))
            self.node("Exp")
            self.node("Add", self.constant(1.0))
            self.node("Log")
            tail = self.node("Div", self.constant(b))
            self.node("Relu", source=z)
            self.node("Add", tail)
        elif phi.name == "leaky_relu":
            scaled = self.node("Mul", self.constant(phi.parameter))
            self.node("Max", scaled, source=z)
        elif phi.name == "quadratic":
            self.node("Mul", z)
        elif phi.name == "swish":
            self.node("Sigmoid")
            self.node("Mul", z)
        elif phi.name == "gelu":
            self.node("Div", self.constant(np.sqrt(2.0)))
            self.node("Erf")
            self.node("Add", self.constant(1.0))
            self.node("Mul", self.constant(0.5))
            self.node("Mul", z)
        elif phi.name != "linear":
            raise DataError(f"activation={spelling!r} has no form in ONNX here; give another")

"""Networks of PyTorch: modules, traced through their forward, and state dicts."""

from __future__ import annotations

import copy
import math
import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from globalmin._types import Array, ArrayLike
from globalmin.errors import DataError
from globalmin.interop.agreement import agreed
from globalmin.interop.findings import Findings
from globalmin.interop.network import ImportedNetwork
from globalmin.interop.packages import package
from globalmin.interop.state_dicts import from_tensors
from globalmin.interop.steps import Step, assembled

MODULES = {
    "ReLU": "relu",
    "Tanh": "tanh",
    "Sigmoid": "sigmoid",
    "SiLU": "swish",
    "Identity": None,
    "Dropout": None,
    "Flatten": None,
    "Softmax": "softmax",
}
FUNCTIONS = {
    "relu": "relu",
    "relu_": "relu",
    "tanh": "tanh",
    "tanh_": "tanh",
    "sigmoid": "sigmoid",
    "silu": "swish",
    "erf": "erf",
    "abs": "abs",
    "square": "quadratic",
    "softmax": "softmax",
    "dropout": None,
    "flatten": None,
    "squeeze": None,
    "contiguous": None,
    "double": None,
    "float": None,
}
NEEDED = (
    "Linear layers with ReLU, LeakyReLU, Tanh, Sigmoid, Softplus, SiLU or GELU(approximate='none') "
    "between them; Identity, Dropout, Flatten and BatchNorm1d in eval mode are read too"
)
_NESTED = ("state_dict", "model_state_dict", "model")


def from_torch(
    model: Any,
    *,
    activation: str | None = None,
    output: str = "identity",
    probe: ArrayLike | None = None,
) -> ImportedNetwork:
    """A network of PyTorch, by its layers, its weights as doubles without change of value.

    Parameters
    ----------
    model : Any
        A module whose forward is a chain of layers; or a state dict; or the path of a state dict,
        read with weights_only=True, so that nothing in it is executed.
    activation : str | None
        Of the hidden layers, for state dicts: tensors do not name it.
    output : str
        Function of the outputs, for state dicts.
    probe : ArrayLike | None
        Rows at which the outputs are compared with the module's own; by default 64 random ones.

    Returns
    -------
    ImportedNetwork
        Its `agreement` says how far the outputs are from those of the module in float64.

    Raises
    ------
    UnsupportedModel
        With everything that cannot be represented, and what would be needed.

    Examples
    --------
    >>> import torch
    >>> _ = torch.manual_seed(0)
    >>> module = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    >>> net = from_torch(module)
    >>> net.activations, net.agreement.relative < 1e-12
    (('tanh',), True)
    """
    if isinstance(model, str | os.PathLike):
        name = os.path.basename(os.fspath(model))
        return from_tensors(_loaded(model), activation, name, output=output)
    if isinstance(model, Mapping):
        return from_tensors(_unnested(model), activation, "the state dict", output=output)
    if not hasattr(model, "forward") or not hasattr(model, "state_dict"):
        raise DataError(
            f"model={type(model).__name__} is no torch module; give one, a state dict, or its path"
        )
    return _module(model, None if probe is None else np.asarray(probe, dtype=np.float64))


def _loaded(path: Any) -> Mapping[str, Any]:
    torch = package("torch")
    try:
        stored = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # unpickling refuses in many ways; the file is not ours
        raise DataError(
            f"{path}: not a state dict that can be read without executing code "
            f"({type(error).__name__}); save it with torch.save(module.state_dict(), path), or "
            "load the module yourself and give it to gm.interop.from_torch"
        ) from error
    if not isinstance(stored, Mapping):
        raise DataError(f"{path}: holds a {type(stored).__name__}; save module.state_dict()")
    return _unnested(stored)


def _unnested(stored: Mapping[str, Any]) -> Mapping[str, Any]:
    """The state dict itself, also of a checkpoint that holds it beside other things."""
    for name in _NESTED:
        if isinstance(stored.get(name), Mapping):
            return stored[name]
    return {name: value for name, value in stored.items() if hasattr(value, "shape")}


def _module(module: Any, probe: Array | None) -> ImportedNetwork:
    torch = package("torch")
    origin = f"the torch module {type(module).__name__}"
    findings = Findings(origin)
    run = copy.deepcopy(module).cpu().eval()
    try:
        traced = torch.fx.symbolic_trace(run)
    except Exception as error:  # a forward may do anything with the proxy
        findings.refuse(
            f"a forward that cannot be traced ({type(error).__name__}: {error})",
            type(module).__name__,
            "no branches on values; or give its state dict and activation=...",
        )
    reader = _Reader(traced, findings)
    steps = reader.steps()
    notes = (*_mode_notes(module), *reader.notes)
    network = assembled(steps, findings, origin=origin, notes=notes)
    theirs, precision, reason = _own_outputs(run, torch)
    facts = {"precision": precision, "reason": reason, "probe": probe}
    return agreed(network, theirs, slack=reader.slack, **facts)


def _mode_notes(module: Any) -> tuple[str, ...]:
    parts = {type(part).__name__ for part in module.modules()}
    changing = sorted(name for name in parts if name.startswith(("Dropout", "BatchNorm")))
    if not changing:
        return ()
    return (f"{', '.join(changing)}: as in eval mode, the network that predicts",)


def _own_outputs(module: Any, torch: Any) -> tuple[Callable[[Array], Array], str, str]:
    """The module's own outputs, in float64 if it can."""

    def outputs(of: Any, dtype: Any) -> Callable[[Array], Array]:
        def run(X: Array) -> Array:
            with torch.no_grad():
                return of(torch.tensor(X, dtype=dtype)).double().numpy()

        return run

    kinds = {parameter.dtype for parameter in module.parameters()}
    features = next((m.in_features for m in module.modules() if hasattr(m, "in_features")), 1)
    double = outputs(copy.deepcopy(module).double(), torch.float64)
    try:
        double(np.zeros((2, features)))
    except (RuntimeError, TypeError) as error:
        reason = f"it does not run in float64: {str(error).splitlines()[0]}"
        return outputs(module, next(iter(kinds))), "float32", reason
    return double, "float64", ""


class _Reader:
    """The steps of a traced module, node by node; every node must feed the next one."""

    def __init__(self, traced: Any, findings: Findings) -> None:
        self.traced, self.findings = traced, findings
        self.slack: dict[int, tuple[float, float]] = {}
        self.notes: list[str] = []
        self._layers = -1

    def steps(self) -> list[Step]:
        found: list[Step] = []
        inputs = [node for node in self.traced.graph.nodes if node.op == "placeholder"]
        last = inputs[0]
        for node in inputs[1:]:
            if node.users:
                self.findings.add("a second input", node.name, "one tensor of rows")
        for node in self.traced.graph.nodes:
            if node.op in ("placeholder", "get_attr"):
                continue
            if node.op == "output":
                self._check_chain(node, last, "the output")
                break
            self._check_chain(node, last, node.name)
            found += self._read(node)
            last = node
        return found

    def _check_chain(self, node: Any, last: Any, where: str) -> None:
        feeding = [n for n in node.all_input_nodes if n.op != "get_attr"]
        if feeding != [last]:
            names = ", ".join(n.name for n in feeding) or "nothing"
            self.findings.add(
                f"it reads {names} instead of {last.name} alone",
                where,
                "a chain: every layer reads the one before and no other (no skips or branches)",
            )

    def _read(self, node: Any) -> list[Step]:
        if node.op == "call_module":
            return self._layer(self.traced.get_submodule(node.target), str(node.target))
        name = node.target if isinstance(node.target, str) else node.target.__name__
        return self._function(name, node)

    def _layer(self, layer: Any, where: str) -> list[Step]:
        kind = type(layer).__name__
        if kind == "Linear":
            self._layers += 1
            b = None if layer.bias is None else _double(layer.bias)
            return [Step("affine", where, (_double(layer.weight), b))]
        if kind == "BatchNorm1d" and layer.track_running_stats:
            return _batch_norm(layer, where)
        if kind == "LeakyReLU":
            return [Step("activation", where, f"leaky_relu({layer.negative_slope!r})")]
        if kind == "Softplus":
            return self._softplus(layer.beta, layer.threshold, where)
        if kind == "GELU":
            return self._gelu(layer.approximate, where)
        if kind in MODULES:
            return _named(MODULES[kind], where)
        self.findings.add(f"the layer {kind}", where, NEEDED)
        return []

    def _function(self, name: str, node: Any) -> list[Step]:
        given, where = node.kwargs, node.name
        first = node.args[1] if len(node.args) > 1 else None
        if name == "leaky_relu":
            slope = given.get("negative_slope", 0.01 if first is None else first)
            return [Step("activation", where, f"leaky_relu({slope!r})")]
        if name == "softplus":
            beta = given.get("beta", 1.0 if first is None else first)
            threshold = node.args[2] if len(node.args) > 2 else given.get("threshold", 20.0)
            return self._softplus(beta, threshold, where)
        if name == "gelu":
            return self._gelu(given.get("approximate", "none"), where)
        if name == "pow" and first == 2:
            return [Step("activation", where, "quadratic")]
        if name == "mul" and len(node.args) == 2 and node.args[0] is node.args[1]:
            return [Step("activation", where, "quadratic")]
        kind = {"add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide"}.get(name)
        if kind is not None and isinstance(first, int | float):
            return [Step(kind, where, float(first))]
        if kind is not None and first is not None and getattr(first, "op", "") == "get_attr":
            return [Step(kind, where, _double(_attribute(self.traced, first.target)))]
        if name in FUNCTIONS:
            return _named(FUNCTIONS[name], where)
        self.findings.add(f"the operation {name}", where, NEEDED)
        return []

    def _softplus(self, beta: float, threshold: float, where: str) -> list[Step]:
        # torch takes z itself beyond the threshold: there it is off by what softplus adds to z
        jump = math.log1p(math.exp(-threshold)) / beta
        self.slack[self._layers] = (threshold / beta, jump)
        self.notes.append(
            f"{where}: torch takes softplus(z) = z beyond z = {threshold / beta:g}, off by "
            f"{jump:.2g} there; here it is softplus everywhere"
        )
        return [Step("activation", where, f"softplus({float(beta)!r})")]

    def _gelu(self, approximate: str, where: str) -> list[Step]:
        if approximate != "none":
            self.findings.add(
                f"GELU(approximate={approximate!r})", where, "GELU(approximate='none'), with erf"
            )
            return []
        return [Step("activation", where, "gelu")]


def _named(name: str | None, where: str) -> list[Step]:
    if name is None:
        return []
    return [Step("output" if name == "softmax" else "activation", where, name)]


def _batch_norm(layer: Any, where: str) -> list[Step]:
    spread = np.sqrt(_double(layer.running_var) + layer.eps)
    steps = [
        Step("subtract", where, _double(layer.running_mean)),
        Step("divide", where, spread),
    ]
    if layer.affine:
        steps += [
            Step("multiply", where, _double(layer.weight)),
            Step("add", where, _double(layer.bias)),
        ]
    return steps


def _attribute(module: Any, name: str) -> Any:
    for part in name.split("."):
        module = getattr(module, part)
    return module


def _double(tensor: Any) -> Array:
    return tensor.detach().cpu().double().numpy()

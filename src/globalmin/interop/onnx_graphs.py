"""Networks in ONNX graphs, as exported by torch, skl2onnx, tf2onnx or keras.

The graph is read as a chain of matrices with functions between them. A function may be one node
(Relu) or several (x * sigmoid(x), as exporters write swish): several are recognized by the values
they have.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from globalmin._types import Array, ArrayLike
from globalmin.errors import DataError
from globalmin.interop.agreement import agreed
from globalmin.interop.findings import Findings
from globalmin.interop.known_functions import NOT_KNOWN, recognized
from globalmin.interop.network import ImportedNetwork
from globalmin.interop.packages import package
from globalmin.interop.steps import Step, assembled

ACTIVATIONS = {
    "Relu": "relu",
    "Tanh": "tanh",
    "Sigmoid": "sigmoid",
    "Softplus": "softplus",
    "Erf": "erf",
    "Abs": "abs",
}
PASSED = ("Identity", "Cast", "Dropout", "Flatten", "Squeeze", "Reshape")
ARITHMETIC = {"Add": "add", "Sub": "subtract", "Mul": "multiply", "Div": "divide"}
IN_FUNCTIONS = (
    *(*ACTIVATIONS, *ARITHMETIC, "LeakyRelu", "Gelu", "Swish"),
    *("Pow", "Exp", "Log", "Neg", "Sqrt", "Max", "Where", "Greater", "Less"),
)
NEEDED = (
    "Gemm, MatMul, Add, and Relu, LeakyRelu, Tanh, Sigmoid, Softplus, Gelu or Swish between; "
    "Softmax at the end"
)


def from_onnx(model: Any, *, probe: ArrayLike | None = None) -> ImportedNetwork:
    """A network in an ONNX graph; its weights become doubles without change of value.

    Parameters
    ----------
    model : Any
        Path of a file, its bytes, or a ModelProto.
    probe : ArrayLike | None
        Rows at which the outputs are compared with those of the graph, which onnx's own evaluator
        runs in float64; by default 64 random ones.

    Returns
    -------
    ImportedNetwork
        Of the first output of the graph that holds numbers.

    Raises
    ------
    UnsupportedModel
        With everything that cannot be represented, and what would be needed.
    """
    proto, origin = _loaded(model)
    findings = Findings(origin)
    reader = _Reader(proto, findings)
    network = assembled(reader.steps(), findings, origin=origin, notes=tuple(reader.notes))
    rows = None if probe is None else np.asarray(probe, dtype=np.float64)
    used = reader.needed(reader.output)
    theirs, precision, reason = _own_outputs(proto, reader.output, used, network.n_features)
    facts = {"precision": precision, "reason": reason, "probe": rows}
    return agreed(network, theirs, slack=reader.slack, **facts)


def _loaded(model: Any) -> tuple[Any, str]:
    onnx = package("onnx")
    try:
        if isinstance(model, bytes):
            return onnx.load_model_from_string(model), "the ONNX model"
        if isinstance(model, str | os.PathLike):
            name = os.path.basename(os.fspath(model))
            return onnx.load_model(os.fspath(model)), name
    except Exception as error:  # parsers of protobuf raise their own errors
        name = "the bytes" if isinstance(model, bytes) else f"{model}:"
        raise DataError(
            f"{name} cannot be read as an ONNX model ({error}); export the network again"
        ) from error
    if not isinstance(model, onnx.ModelProto):
        raise DataError(f"model={type(model).__name__}: give a path, bytes or an onnx.ModelProto")
    return model, "the ONNX model"


@dataclass
class _Value:
    """A tensor of rows: a matrix product with constants added (`base`), or a function of one number
    applied to it, made by `nodes`.
    """

    base: str
    nodes: list[Any] = field(default_factory=list)


class _Reader:
    """The steps of a graph."""

    def __init__(self, proto: Any, findings: Findings) -> None:
        from onnx import numpy_helper

        graph = proto.graph
        self.graph, self.findings, self.opsets = graph, findings, proto.opset_import
        self.notes: list[str] = []
        self.slack: dict[int, tuple[float, float]] = {}
        self.constants = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
        self.uses: dict[str, int] = {}
        for name in (name for node in graph.node for name in node.input):
            self.uses[name] = self.uses.get(name, 0) + 1
        self.values: dict[str, _Value] = {}
        self.found: list[Step] = []
        self.output = graph.output[0].name

    def steps(self) -> list[Step]:
        inputs = [i for i in self.graph.input if i.name not in self.constants]
        if len(inputs) != 1:
            names = ", ".join(i.name for i in inputs)
            self.findings.add(f"{len(inputs)} inputs ({names})", "the graph", "one tensor of rows")
        current = inputs[0].name if inputs else ""
        self.values[current] = _Value(current)
        wanted = self.needed(self._numbers_output())
        for node in self.graph.node:
            if node.output[0] in wanted:
                self._read(node)
        last = self.values.get(self.output)
        if last is None:
            self.findings.add("an output that no row reaches", self.output, NEEDED)
        else:
            self._close(last, self.output)
        return self.found

    def _numbers_output(self) -> str:
        """The output that holds numbers: classifiers of skl2onnx give labels first, and put
        probabilities into a list of maps.
        """
        makers = {name: node for node in self.graph.node for name in node.output}
        names = [output.name for output in self.graph.output]
        wanted = "probabilities" if "probabilities" in makers else names[-1]
        chosen = names[0] if len(names) == 1 else wanted
        while chosen in makers and makers[chosen].op_type in ("ZipMap", "Cast", "Identity"):
            chosen = makers[chosen].input[0]
        if len(names) > 1:
            self.notes.append(f"of the outputs {', '.join(names)}, {chosen} is read")
        self.output = chosen
        return chosen

    def needed(self, output: str) -> set[str]:
        """The tensors that an output is made of."""
        makers = {name: node for node in self.graph.node for name in node.output}
        needed, waiting = set(), [output]
        while waiting:
            name = waiting.pop()
            if name in makers and name not in needed:
                needed.add(name)
                waiting += makers[name].input
        return needed

    def _read(self, node: Any) -> None:
        streams = [name for name in node.input if name in self.values]
        if not streams:
            self._constant(node)
            return
        value = self.values[streams[0]]
        if len({self.values[name].base for name in streams}) > 1:
            self.findings.add(
                f"{node.op_type} of two layers",
                _place(node),
                "a chain: every layer reads the one before and no other (no skips or branches)",
            )
            self.values[node.output[0]] = _Value(node.output[0])
            return
        if node.op_type in ("Gemm", "MatMul", "Scaler"):
            self._close(value, _place(node))
            getattr(self, f"_{node.op_type.lower()}")(node)
            self.values[node.output[0]] = _Value(node.output[0])
        elif node.op_type == "Softmax":
            self._close(value, _place(node))
            self.found.append(Step("output", _place(node), "softmax"))
            self.values[node.output[0]] = _Value(node.output[0])
        elif node.op_type in PASSED and not value.nodes:
            self.values[node.output[0]] = value
        elif node.op_type in PASSED:
            self.values[node.output[0]] = _Value(value.base, value.nodes)
        else:
            self._pointwise(node, value, streams)

    def _pointwise(self, node: Any, value: _Value, streams: list[str]) -> None:
        """Arithmetic with constants after a matrix belongs to the matrix; everything else begins or
        continues a function.
        """
        alone = self.uses[streams[0]] == 1 and len(streams) == 1
        if node.op_type in ARITHMETIC and not value.nodes and alone:
            place = [name in self.values for name in node.input].index(True)
            constant = self._number(node.input[1 - place])
            if constant is not None and not (place == 1 and node.op_type in ("Sub", "Div")):
                self.found.append(Step(ARITHMETIC[node.op_type], _place(node), constant))
                self.values[node.output[0]] = _Value(node.output[0])
                return
        if node.op_type not in IN_FUNCTIONS:
            self.findings.add(f"the operation {node.op_type}", _place(node), NEEDED)
        before = [n for name in streams for n in self.values[name].nodes]
        unique = [n for k, n in enumerate(before) if n not in before[:k]]
        self.values[node.output[0]] = _Value(value.base, [*unique, node])

    def _number(self, name: str) -> Array | None:
        constant = self.constants.get(name)
        return None if constant is None else np.asarray(constant, dtype=np.float64)

    def _constant(self, node: Any) -> None:
        """Operations on constants are carried out."""
        from onnx.reference import ReferenceEvaluator

        try:
            made = ReferenceEvaluator(node).run(
                None, {name: self.constants[name] for name in node.input if name}
            )
        except Exception as error:  # evaluators raise anything
            self.findings.add(f"{node.op_type} of constants ({error})", _place(node), "constants")
            return
        self.constants |= dict(zip(node.output, made, strict=False))

    def _gemm(self, node: Any) -> None:
        given = _attributes(node)
        B, C = self._number(node.input[1]), None
        if len(node.input) > 2 and node.input[2]:
            C = self._number(node.input[2])
        if B is None or given.get("transA"):
            self.findings.add("Gemm of two layers, or transposed rows", _place(node), NEEDED)
            return
        W = B if given.get("transB") else B.T
        self.found.append(Step("affine", _place(node), (W, None)))
        if given.get("alpha", 1.0) != 1.0:
            self.found.append(Step("multiply", _place(node), float(given["alpha"])))
        if C is not None:
            self.found.append(Step("add", _place(node), C * float(given.get("beta", 1.0))))

    def _matmul(self, node: Any) -> None:
        B = self._number(node.input[1])
        if B is None or B.ndim != 2:
            self.findings.add("MatMul whose second factor is no matrix", _place(node), NEEDED)
            return
        self.found.append(Step("affine", _place(node), (B.T, None)))

    def _scaler(self, node: Any) -> None:
        given = _attributes(node)
        self.found.append(Step("subtract", _place(node), np.array(given.get("offset", [0.0]))))
        self.found.append(Step("multiply", _place(node), np.array(given.get("scale", [1.0]))))

    def _close(self, value: _Value, where: str) -> None:
        """The function between two matrices, as one activation."""
        nodes = [node for node in value.nodes if node.op_type not in PASSED]
        if not nodes:
            return
        place = f"{_place(nodes[0])}" if len(nodes) == 1 else f"{_place(nodes[0])} to {where}"
        name = _single(nodes[0]) if len(nodes) == 1 else None
        seen = recognized(self._function(value))
        if name is None and seen is None:
            what = ", ".join(node.op_type for node in nodes)
            self.findings.add(f"a function made of {what}", place, NOT_KNOWN)
            return
        if seen is not None and seen.off:
            # twice: the grid may miss the largest difference
            layer = sum(step.kind == "affine" for step in self.found) - 1
            self.slack[layer] = (seen.begins, 2.0 * seen.off)
            said = "onnx's own evaluator has constants in float32 there; the difference is allowed"
            self.notes.append(f"{place}: {said}" if name else str(seen.note(place)))
        self.found.append(Step("activation", place, name or (seen.name if seen else "")))

    def _function(self, value: _Value) -> Callable[[Array], Array]:
        """The nodes of a value as a function of one number, in float64: a model of their own."""
        from onnx import TensorProto, helper, numpy_helper
        from onnx.reference import ReferenceEvaluator

        names = {name for node in value.nodes for name in node.input if name in self.constants}
        last = value.nodes[-1].output[0]
        graph = helper.make_graph(
            value.nodes,
            "function",
            [helper.make_tensor_value_info(value.base, TensorProto.FLOAT, [None])],
            [helper.make_tensor_value_info(last, TensorProto.FLOAT, [None])],
            [numpy_helper.from_array(np.asarray(self.constants[n]), n) for n in sorted(names)],
        )
        model = helper.make_model(graph, opset_imports=self.opsets)
        evaluator: Any = ReferenceEvaluator(_in_doubles(model))
        return lambda z: evaluator.run(None, {value.base: z})[0]


def _single(node: Any) -> str | None:
    """The activation that one node is."""
    given = _attributes(node)
    if node.op_type == "LeakyRelu":
        return f"leaky_relu({float(given.get('alpha', np.float32(0.01)))!r})"
    if node.op_type == "Gelu" and given.get("approximate", b"none") in (b"none", "none"):
        return "gelu"
    if node.op_type == "Swish" and given.get("alpha", 1.0) == 1.0:
        return "swish"
    return ACTIVATIONS.get(node.op_type)


def _attributes(node: Any) -> dict[str, Any]:
    from onnx import helper

    return {a.name: helper.get_attribute_value(a) for a in node.attribute}


def _place(node: Any) -> str:
    return f"node {node.name or node.output[0]} ({node.op_type})"


def _own_outputs(
    proto: Any, output: str, used: set[str], features: int
) -> tuple[Callable[[Array], Array], str, str]:
    """The graph's outputs by onnx's own evaluator, on a copy in which every float is a double."""
    from onnx import helper
    from onnx.reference import ReferenceEvaluator

    pruned = copy.deepcopy(proto)
    kept = [node for node in proto.graph.node if node.output[0] in used]
    del pruned.graph.node[:], pruned.graph.output[:]
    pruned.graph.node.extend(kept)
    pruned.graph.output.append(helper.make_tensor_value_info(output, 1, None))

    def outputs(of: Any, kind: Any) -> Callable[[Array], Array]:
        evaluator: Any = ReferenceEvaluator(of)
        first = of.graph.input[0].name
        return lambda X: np.asarray(evaluator.run([output], {first: X.astype(kind)})[0])

    try:
        double = outputs(_in_doubles(pruned), np.float64)
        double(np.zeros((2, features)))
    except Exception as error:  # evaluators raise anything
        reason = f"it does not run in float64: {str(error).splitlines()[0]:.100}"
        return outputs(pruned, np.float32), "float32", reason
    return double, "float64", ""


def _in_doubles(proto: Any) -> Any:
    """The same model with doubles in place of floats."""
    from onnx import TensorProto, numpy_helper

    changed = copy.deepcopy(proto)
    graph = changed.graph
    for value in (*graph.input, *graph.output, *graph.value_info):
        if value.type.tensor_type.elem_type == TensorProto.FLOAT:
            value.type.tensor_type.elem_type = TensorProto.DOUBLE
    for tensor in graph.initializer:
        _double(tensor, numpy_helper)
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.name == "to" and attribute.i == TensorProto.FLOAT:
                attribute.i = TensorProto.DOUBLE
            if attribute.name == "value" and attribute.HasField("t"):
                _double(attribute.t, numpy_helper)
    return changed


def _double(tensor: Any, numpy_helper: Any) -> None:
    array = numpy_helper.to_array(tensor)
    if array.dtype == np.float32:
        tensor.CopyFrom(numpy_helper.from_array(array.astype(np.float64), tensor.name))

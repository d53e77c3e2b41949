"""Nodes of ONNX graphs while they are written: constants, operations, activations in float64 or
float32, and the file at the end.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from globalmin.activations import Activation, get_activation
from globalmin.files import save_atomically
from globalmin.interop.findings import Findings
from globalmin.interop.packages import package

OPSET = 17  # of ONNX: every runtime of the last years reads it
OPSET_ML = 3  # of its operators for tables
_NAMED = {"relu": "Relu", "tanh": "Tanh", "sigmoid": "Sigmoid", "abs": "Abs"}
ERF_REACH = 6.0  # 1 - erf(6) is 2e-17
ERF_TERMS = 104  # of the series below, whose next one is 1e-20 of the sum at 6


class Nodes:
    """A graph while it is written.

    Parameters
    ----------
    single : bool
        Numbers in float32.
    """

    def __init__(self, *, single: bool = False) -> None:
        self.kind: Any = np.float32 if single else np.float64
        self.single = single
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.inputs: list[Any] = []
        self._made: dict[str, str] = {}
        self.outputs: list[Any] = []

    def constant(self, numbers: Any, kind: Any = None) -> str:
        """A tensor in the arithmetic of the graph, or of another kind."""
        from onnx import numpy_helper

        name = f"globalmin/c{len(self.constants)}"
        array = np.asarray(numbers, dtype=self.kind if kind is None else kind)
        self.constants.append(numpy_helper.from_array(np.array(array, order="C"), name))
        return name

    def whole(self, numbers: Any) -> str:
        """A tensor of int64."""
        return self.constant(numbers, np.int64)

    def node(self, operation: str, *inputs: str, domain: str = "", **given: Any) -> str:
        """The result of an operation on tensors."""
        from onnx import helper

        name = f"globalmin/t{len(self.nodes)}"
        self._made[name] = operation
        self.nodes.append(helper.make_node(operation, list(inputs), [name], domain=domain, **given))
        return name

    def numbers(self, tensor: str) -> str:
        """A tensor of another kind in the arithmetic of the graph."""
        return self.node("Cast", tensor, to=self.number_type)

    @property
    def number_type(self) -> int:
        """The kind of the numbers of the graph, as ONNX names it."""
        kinds = package("onnx").TensorProto
        return kinds.FLOAT if self.single else kinds.DOUBLE

    def input(self, name: str, columns: int, kind: int | None = None, told: str = "") -> str:
        """A tensor of rows that the user gives."""
        from onnx import helper

        used = self.number_type if kind is None else kind
        self.inputs.append(helper.make_tensor_value_info(name, used, [None, columns], told))
        return name

    def output(
        self, name: str, tensor: str, columns: int | None, kind: int | None = None, told: str = ""
    ) -> str:
        """A tensor of rows that the user gets, a vector without `columns`; a name that an input has
        already gets a mark.
        """
        from onnx import helper

        while name in {given.name for given in self.inputs}:
            name += "_"
        used = self.number_type if kind is None else kind
        shape = [None] if columns is None else [None, columns]
        self.nodes.append(helper.make_node("Identity", [tensor], [name]))
        self.outputs.append(helper.make_tensor_value_info(name, used, shape, told))
        return name

    def activation(self, spelling: str, z: str, findings: Findings, where: str) -> str:
        """As nodes that runtimes have for doubles too."""
        phi = get_activation(spelling)
        if phi.name == "linear":
            return z
        if phi.name in _NAMED:
            steep = phi.parameter not in (None, 1.0)
            return self.node(_NAMED[phi.name], self.times(z, phi.parameter) if steep else z)
        write = getattr(self, f"_{phi.name}", None)
        if write is None:
            findings.add(f"the activation {spelling}", where, "one that ONNX has a form for")
            return z
        return write(z, phi)

    def times(self, z: str, number: float | None) -> str:
        """The product with one number.

        onnxruntime takes a scalar factor of a matrix product into the product, as float32: 1e-8 of
        the outputs. A maximum with the least number between them keeps them apart.
        """
        if self._made.get(z) == "MatMul":
            z = self.node("Max", z, self.constant(np.finfo(self.kind).min))
        return self.node("Mul", z, self.constant(1.0 if number is None else number))

    def _softplus(self, z: str, phi: Activation) -> str:
        """max(z, 0) + log(1 + exp(-b |z|)) / b."""
        steepness = float(phi.parameter or 1.0)
        small = self.node("Exp", self.times(self.node("Abs", z), -steepness))
        tail = self.node("Log", self.node("Add", small, self.constant(1.0)))
        divided = self.node("Div", tail, self.constant(steepness))
        return self.node("Add", self.node("Relu", z), divided)

    def _leaky_relu(self, z: str, phi: Activation) -> str:
        return self.node("Max", z, self.times(z, phi.parameter))

    def _quadratic(self, z: str, _: Activation) -> str:
        return self.node("Mul", z, z)

    def _polynomial(self, z: str, phi: Activation) -> str:
        """By Horner's rule."""
        total = self.times(z, 0.0)
        for coefficient in reversed(phi.coefficients or ()):
            total = self.node("Add", self.node("Mul", total, z), self.constant(coefficient))
        return total

    def _swish(self, z: str, _: Activation) -> str:
        return self.node("Mul", self.node("Sigmoid", z), z)

    def _gelu(self, z: str, phi: Activation) -> str:
        bent = self._erf(self.times(z, math.sqrt(0.5)), phi)
        share = self.times(self.node("Add", bent, self.constant(1.0)), 0.5)
        return self.node("Mul", share, z)

    def _erf(self, z: str, _: Activation) -> str:
        r"""Runtimes have Erf for float32 only. In float64 it is the series $\frac2{\sqrt\pi}
        e^{-z^2}\sum_n\frac{2^n}{(2n+1)!!}z^{2n+1}$, whose terms are all of one sign, of z cut off
        at `ERF_REACH`.
        """
        if self.single:
            return self.node("Erf", z)
        upper = self.node("Neg", self.node("Max", self.node("Neg", z), self.constant(-ERF_REACH)))
        cut = self.node("Max", upper, self.constant(-ERF_REACH))
        square = self.node("Mul", cut, cut)
        # in powers of (z / reach)^2: onnxruntime drops coefficients that are zero in float32
        ratio = 2.0 * ERF_REACH**2
        coefficients = np.cumprod([1.0, *(ratio / (2 * n + 1) for n in range(1, ERF_TERMS))])
        power = self.times(square, 1.0 / ERF_REACH**2)
        total = self.times(power, 0.0)
        for coefficient in reversed(coefficients):
            total = self.node("Add", self.node("Mul", total, power), self.constant(coefficient))
        fading = self.times(self.node("Exp", self.node("Neg", square)), 2.0 / math.sqrt(math.pi))
        return self.node("Mul", self.node("Mul", total, fading), cut)

    def model(
        self, told: Mapping[str, str] | None = None, path: str | os.PathLike[str] | None = None
    ) -> Any:
        """The model, checked by onnx's own checker, and a file of it that appears whole or not at
        all.
        """
        onnx = package("onnx")
        helper = onnx.helper
        graph = helper.make_graph(
            self.nodes, "globalmin", self.inputs, self.outputs, self.constants
        )
        needed: Sequence[Any] = [helper.make_opsetid("", OPSET)]
        if any(node.domain for node in self.nodes):
            needed = [*needed, helper.make_opsetid("ai.onnx.ml", OPSET_ML)]
        made = helper.make_model(
            graph, opset_imports=needed, ir_version=8, producer_name="globalmin"
        )
        helper.set_model_props(made, dict(told or {}))
        onnx.checker.check_model(made)
        if path is not None:
            save_atomically(Path(path), made.SerializeToString(deterministic=True))
        return made

"""A model as a list of elementary steps, and the layers they make: the one form that all readers
translate to.

Constants that stand beside a matrix are taken into it. Where that rounds, it is said.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from globalmin._types import Array
from globalmin.interop.findings import Findings
from globalmin.interop.network import ImportedNetwork, InputScaling, Layer
from globalmin.interop.rounding import Rounded, added, divided, multiplied

ELEMENTWISE = ("subtract", "add", "multiply", "divide")


@dataclass(frozen=True, eq=False)
class Step:
    """One operation of a model.

    Attributes
    ----------
    kind : str
        "affine" (W, b or None), one of `ELEMENTWISE` (numbers), "activation" (its spelling), or
        "output" (softmax or exp).
    where : str
        Place in the model.
    value : Any
        As said.
    """

    kind: str
    where: str
    value: Any


@dataclass
class Assembly:
    """Layers while they are put together: the open one has its matrix, but no activation yet."""

    findings: Findings
    layers: list[Layer] = field(default_factory=list)
    before: list[tuple[Any, Array]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    output: str = "identity"
    _W: Array | None = None
    _b: Array | None = None
    _columns: Array | None = None  # factors of the values of the last activation

    def take(self, step: Step) -> None:
        """One more step."""
        if self.output != "identity":
            self.findings.add(
                f"'{step.kind}' after the output function {self.output}",
                step.where,
                "nothing may follow it",
            )
        elif step.kind == "affine":
            self._affine(step.value[0], step.value[1], step.where)
        elif step.kind == "activation":
            self._close(step.value, step.where)
        elif step.kind == "output":
            self.output = step.value
        else:
            self._elementwise(step)

    def _affine(self, W: Any, b: Any, where: str) -> None:
        if self._W is not None:
            self._close("linear", where)
        self._W = np.asarray(W, dtype=np.float64)
        self._b = None if b is None else np.asarray(b, dtype=np.float64).ravel()
        if self._columns is not None:
            self._W = self._kept(multiplied(self._W, self._columns), where)
            self._columns = None

    def _close(self, activation: str, where: str) -> None:
        if self._W is None:
            self.findings.add(
                f"{activation} of {'the inputs' if not self.layers else 'an activation'}",
                where,
                "a linear layer must stand before every activation",
            )
            return
        self.layers.append(Layer(self._W, self._b, activation))
        self._W, self._b = None, None

    def _elementwise(self, step: Step) -> None:
        numbers = np.asarray(step.value, dtype=np.float64).ravel()
        if self._W is None and not self.layers:
            self.before.append((step.kind, numbers))
        elif self._W is None and step.kind in ("multiply", "divide"):
            width = self.layers[-1].W.shape[0]
            factors = np.ones(width) if self._columns is None else self._columns
            act = multiplied if step.kind == "multiply" else divided
            self._columns = self._kept(act(factors, np.broadcast_to(numbers, width)), step.where)
        elif self._W is None:
            self.findings.add(
                f"'{step.kind}' of a constant after an activation",
                step.where,
                "a linear layer must stand between (fold the constant into the next bias)",
            )
        elif numbers.size not in (1, len(self._W)):
            self.findings.add(
                f"'{step.kind}' of {numbers.size} numbers to {len(self._W)} outputs",
                step.where,
                "give one number per output",
            )
        elif step.kind in ("add", "subtract"):
            self._shift(numbers if step.kind == "add" else -numbers, step.where)
        else:
            act = multiplied if step.kind == "multiply" else divided
            factors = np.broadcast_to(numbers, len(self._W))
            self._W = self._kept(act(self._W, factors[:, None]), step.where)
            self._b = None if self._b is None else self._kept(act(self._b, factors), step.where)

    def _shift(self, numbers: Array, where: str) -> None:
        assert self._W is not None  # noqa: S101 (narrows the type)
        shift = np.array(np.broadcast_to(numbers, len(self._W)))
        self._b = shift if self._b is None else self._kept(added(self._b, shift), where)

    def _kept(self, made: Rounded, where: str) -> Array:
        note = made.note(f"constants at {where} are taken into the weights")
        if note is not None:
            self.notes.append(note)
        return made.value

    def finish(self) -> None:
        """Close what is open; an activation of the last layer becomes the output function."""
        if self._columns is not None:
            self.findings.add(
                "a factor of the last activation", "the end", "a linear layer must follow it"
            )
        if self._W is not None:
            self.layers.append(Layer(self._W, self._b))
        elif self.layers and self.output == "identity":
            last = self.layers.pop()
            self.output = "identity" if last.activation == "linear" else last.activation
            self.layers.append(Layer(last.W, last.b))
        elif self.layers:
            self.findings.add(f"{self.output} of an activation", "the end", "of a linear layer")


def assembled(steps: list[Step], findings: Findings, **facts: Any) -> ImportedNetwork:
    """The network that these steps are; raises everything that was found in the way."""
    building = Assembly(findings)
    for step in steps:
        building.take(step)
    building.finish()
    if not building.layers:
        findings.add("no linear layer", "the model", "a network has at least one")
    for number, layer in enumerate(building.layers[1:], 2):
        below = building.layers[number - 2].W.shape[0]
        if layer.W.shape[1] != below:
            findings.add(
                f"a matrix for {layer.W.shape[1]} inputs above a layer of {below}",
                f"layer {number}",
                "layers that follow each other, one input and one output each",
            )
    d = building.layers[0].W.shape[1] if building.layers else 1
    for kind, numbers in building.before:
        if numbers.size not in (1, d):
            findings.add(
                f"'{kind}' of {numbers.size} numbers to {d} columns",
                "before the first layer",
                "give one number per column",
            )
    findings.require_none()
    scaling = tuple((kind, np.array(np.broadcast_to(x, d))) for kind, x in building.before)
    return ImportedNetwork(
        tuple(building.layers),
        output=building.output,
        scaling=InputScaling(scaling) if scaling else None,
        notes=(*facts.pop("notes", ()), *building.notes),
        **facts,
    )

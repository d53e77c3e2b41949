"""Layers from named tensors: state dicts of torch, safetensors files, parameters of flax.

Tensors do not say what stands between them, so the activation must be given.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from globalmin._types import Array
from globalmin.interop.findings import Findings
from globalmin.interop.known_functions import check_activation
from globalmin.interop.network import ImportedNetwork
from globalmin.interop.steps import Step, assembled


def from_tensors(
    tensors: Mapping[str, Any], activation: str | None, origin: str, *, output: str = "identity"
) -> ImportedNetwork:
    """The network of matrices `NAME.weight` (outputs x inputs) with `NAME.bias`, in their order.

    Parameters
    ----------
    tensors : Mapping[str, Any]
        By name.
    activation : str | None
        Of all hidden layers.
    origin : str
        For messages.
    output : str
        Function of the outputs.
    """
    findings = Findings(origin)
    name = check_activation(activation)
    arrays = {key: _array(value) for key, value in tensors.items()}
    weights = [key for key, value in arrays.items() if key.endswith("weight") and value.ndim == 2]
    biases = {key: key.removesuffix("weight") + "bias" for key in weights}
    for key in arrays:
        if key not in weights and key not in biases.values():
            findings.add(
                f"a tensor of shape {arrays[key].shape}",
                key,
                "only matrices NAME.weight (outputs x inputs) and vectors NAME.bias can be read "
                "without the model; give the model itself",
            )
    if not weights:
        findings.add("no matrix NAME.weight", "the tensors", "a network has at least one")
    if len(weights) > 1 and name is None:
        findings.add(
            "an unknown activation between the layers",
            "the tensors",
            'they do not name it: give activation="relu" (--activation relu), or what it is',
        )
    steps = []
    for number, key in enumerate(weights):
        steps.append(Step("affine", key, (arrays[key], arrays.get(biases[key]))))
        if number < len(weights) - 1:
            steps.append(Step("activation", key, name or "linear"))
    if output != "identity":
        kind = "output" if output in ("softmax", "exp") else "activation"
        steps.append(Step(kind, "the end", output))
    note = f"the activation {name} is what was said: tensors do not name it"
    return assembled(steps, findings, origin=origin, notes=(note,) if len(weights) > 1 else ())


def _array(value: Any) -> Array:
    """A tensor of any framework as float64, exactly."""
    if hasattr(value, "detach"):
        value = value.detach().cpu().double()
    return np.asarray(value, dtype=np.float64)

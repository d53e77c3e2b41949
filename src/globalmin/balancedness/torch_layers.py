"""How a torch module is read as a chain of homogeneous layers; imported only when a module is
watched.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from globalmin._types import Array
from globalmin.balancedness.chains import WeightShape, chain_boundary
from globalmin.balancedness.conserved import Boundary, conserved
from globalmin.balancedness.drift import step_change
from globalmin.errors import DataError

if TYPE_CHECKING:
    from globalmin.balancedness.watch import BalanceWatch


WEIGHTED = ("Linear", "Conv1d", "Conv2d", "Conv3d")
MIXING = ("Identity", "Flatten")  # leave a linear gap linear; every channel is treated alike
KINKED = ("ReLU", "LeakyReLU", "PReLU", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d")
POOLING = tuple(
    f"{kind}{n}d"
    for kind in ("AvgPool", "MaxPool", "AdaptiveAvgPool", "AdaptiveMaxPool")
    for n in (1, 2, 3)
)


def torch_chain(module: Any) -> tuple[list[Any], tuple[Boundary, ...], dict[str, str]]:
    """The layers with weights, the boundaries that conserve something, and the reasons for those
    that do not.
    """
    layers: list[tuple[str, Any]] = []
    between: list[list[Any]] = []
    for name, part in _parts(module, ""):
        if type(part).__name__ in WEIGHTED:
            layers.append((name, part))
            between.append([])
        elif between:
            between[-1].append(part)
    boundaries, skipped = [], {}
    shared = _repeated([part.weight for _, part in layers])
    for gap, ((a, below), (b, above)) in enumerate(pairwise(layers)):
        reason = _obstacle(below, above, between[gap], shared)
        if reason:
            skipped[f"{a}-{b}"] = reason
            continue
        linear = all(
            type(part).__name__ in MIXING or "Avg" in type(part).__name__ for part in between[gap]
        )
        boundaries.append(
            chain_boundary(_shape(a, below), _shape(b, above), linear=linear, gap=gap)
        )
    return [part for _, part in layers], tuple(boundaries), skipped


def read_module(layers: Sequence[Any]) -> list[Array]:
    """The parameters of each layer, weights then bias, as float64."""
    return [np.concatenate([_array(tensor) for tensor in _tensors(layer)]) for layer in layers]


def attach(watch: BalanceWatch, layers: Sequence[Any], optimizer: Any) -> None:
    """Record around every step of the optimizer, which must own all watched parameters."""
    owners = {id(tensor): group for group in optimizer.param_groups for tensor in group["params"]}
    tensors = [tensor for layer in layers for tensor in _tensors(layer)]
    if any(id(tensor) not in owners for tensor in tensors):
        raise DataError(
            "the optimizer does not own all parameters of this module; pass optimizer built from "
            "module.parameters()"
        )
    groups = [owners[id(tensor)] for tensor in tensors]
    change = np.full_like(watch.values[0], np.nan)

    def before_step(*_: Any) -> None:
        nonlocal change
        change = np.full_like(change, np.nan)
        gradients_known = all(tensor.grad is not None for tensor in tensors)
        if gradients_known and _is_plain_descent(optimizer, groups):
            gradients = [
                np.concatenate([_array(t.grad) for t in _tensors(layer)]) for layer in layers
            ]
            now = conserved(watch.boundaries, read_module(layers))
            rates = float(groups[0]["lr"]), float(groups[0]["weight_decay"])
            change = step_change(watch.boundaries, gradients, rates[0], decay=rates[1], before=now)

    def after_step(*_: Any) -> None:
        watch.append(conserved(watch.boundaries, read_module(layers)), change)

    optimizer.register_step_pre_hook(before_step)
    optimizer.register_step_post_hook(after_step)


def _is_plain_descent(optimizer: Any, groups: list[Any]) -> bool:
    """SGD without momentum and with one step size and one weight decay for all watched
    parameters.
    """
    first = groups[0]
    same = all(
        group["lr"] == first["lr"] and group["weight_decay"] == first["weight_decay"]
        for group in groups
    )
    return (
        type(optimizer).__name__ == "SGD"
        and same
        and not any(group["momentum"] or group["maximize"] for group in groups)
    )


def _parts(module: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    """The layers in the order in which they are applied."""
    if isinstance(module, list | tuple):
        for place, part in enumerate(module):
            yield from _parts(part, f"{prefix}{place}")
    elif type(module).__name__ == "Sequential":
        for name, part in module.named_modules(remove_duplicate=False):
            if not name or "." in name:  # the module itself, and what is inside its parts
                continue
            yield from _parts(part, f"{prefix}.{name}" if prefix else name)
    elif prefix == "" and type(module).__name__ not in WEIGHTED:
        raise DataError(
            f"the order of the layers of {type(module).__name__} is hidden in its forward method; "
            "pass a torch.nn.Sequential, or "
            "the list of its layers in the order in which they are applied, activations included"
        )
    else:
        yield prefix or "0", module


def _obstacle(below: Any, above: Any, between: list[Any], shared: set[int]) -> str:
    """Why nothing is conserved between two layers; empty if something is."""
    known = (*MIXING, *KINKED, *POOLING)
    for part in between:
        if type(part).__name__ not in known:
            return f"{type(part).__name__} is not known to be homogeneous"
        if type(part).__name__ in POOLING and type(below).__name__ == "Linear":
            return f"{type(part).__name__} after Linear mixes its neurons"
    if any(id(tensor) in shared for tensor in (below.weight, above.weight)):
        return "a weight is used by several layers"
    if not all(tensor.requires_grad for tensor in (*_tensors(below), above.weight)):
        return "a layer is frozen"
    return _shape_obstacle(
        below, above, [part for part in between if type(part).__name__ == "Flatten"]
    )


def _shape_obstacle(below: Any, above: Any, flattens: list[Any]) -> str:
    convolution_below, convolution_above = (
        type(layer).__name__ != "Linear" for layer in (below, above)
    )
    if any(part.start_dim != 1 or part.end_dim != -1 for part in flattens):
        return "Flatten keeps some of the dimensions"
    if convolution_below and not convolution_above and not flattens:
        return "Linear reads a convolution without Flatten"
    if convolution_above and not convolution_below:
        return "a convolution reads a Linear layer"
    return ""


def _repeated(tensors: list[Any]) -> set[int]:
    places = [id(tensor) for tensor in tensors]
    return {place for place in places if places.count(place) > 1}


def _shape(name: str, layer: Any) -> WeightShape:
    groups = int(getattr(layer, "groups", 1))
    return WeightShape(
        tuple(layer.weight.shape), bias=layer.bias is not None, groups=groups, name=name
    )


def _tensors(layer: Any) -> list[Any]:
    return [layer.weight] if layer.bias is None else [layer.weight, layer.bias]


def _array(tensor: Any) -> Array:
    return tensor.detach().to("cpu").double().numpy().ravel()

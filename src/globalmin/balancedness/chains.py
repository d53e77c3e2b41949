"""Chains of weight arrays, out x in or out x in x window, as torch and most JAX code store them:
the boundaries of a plain chain, and how a torch module is read as a chain of homogeneous layers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from globalmin._types import Array
from globalmin.balancedness.conserved import Boundary, conserved, step_change
from globalmin.errors import DataError
from globalmin.references import states

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from globalmin.balancedness.watch import BalanceWatch

    Labels = NDArray[np.intp]


@dataclass(frozen=True)
class WeightShape:
    """One layer of a chain.

    Attributes
    ----------
    shape : of the weights: (out, in) for a dense layer, (out, in / groups, *window) for a
        convolution.
    bias : whether a bias follows the weights, one number for each of the `out`.
    groups : of a grouped convolution.
    name : for messages and pictures.
    """

    shape: tuple[int, ...]
    bias: bool = False
    groups: int = 1
    name: str = ""

    @property
    def n_out(self) -> int:
        """Units (dense) or channels (convolution) above."""
        return self.shape[0]

    @property
    def n_in(self) -> int:
        """Units or channels below."""
        return self.shape[1] * self.groups

    @property
    def is_convolution(self) -> bool:
        """Whether the weights have a window."""
        return len(self.shape) > 2


@states("DU-T4.1", "DU-T4.2", "DU-T4.3")
def chain_boundary(
    below: WeightShape,
    above: WeightShape,
    *,
    degree: int = 1,
    linear: bool = False,
    gap: int = 0,
    channels_last: bool = False,
) -> Boundary:
    """The boundary between two layers that follow each other; parameters are the weights in C
    order, then the bias.

    A dense layer after a convolution reads its channels flattened, channel by channel
    (torch.nn.Flatten); then the blocks are the channels, as they are when a convolution reads a
    dense layer's outputs channel by channel. With `channels_last` the channel is the fast index of
    the flattened units.
    """
    for layer in (below, above):
        if len(layer.shape) < 2 or min(layer.shape) < 1:
            raise DataError(
                f"weights {layer.name} have shape {layer.shape}; give out x in, or out x in x "
                "window"
            )
    n_blocks = min(below.n_out, above.n_in)
    pixels_above, pixels_below = above.n_in // n_blocks, below.n_out // n_blocks
    flattens = (
        below.is_convolution and not above.is_convolution and n_blocks * pixels_above == above.n_in
    )
    unflattens = (
        above.is_convolution and not below.is_convolution and n_blocks * pixels_below == below.n_out
    )
    if below.n_out != above.n_in and not flattens and not unflattens:
        raise DataError(
            f"weights {below.name} {below.shape} give {below.n_out} outputs but {above.name} "
            f"{above.shape} take {above.n_in}; "
            "weights are read as out x in: for x @ W with W in x out pass layout='in_out'"
        )
    return Boundary(
        name=f"{below.name}-{above.name}",
        incoming=_entering(below, pixels_below, channels_last),
        outgoing=_leaving(above, pixels_above, channels_last),
        n_blocks=n_blocks,
        degree=degree,
        is_linear=linear and below.groups == above.groups == 1,
        gap=gap,
    )


def _entering(layer: WeightShape, pixels: int, channels_last: bool) -> Labels:
    units = _block(np.arange(layer.n_out), layer.n_out, pixels, channels_last)
    weights = np.repeat(units, math.prod(layer.shape[1:]))
    return np.concatenate([weights, units if layer.bias else units[:0]])


def _leaving(layer: WeightShape, pixels: int, channels_last: bool) -> Labels:
    o, i = np.indices(layer.shape[:2]).reshape(2, -1)
    units = (
        o // (layer.n_out // layer.groups) * layer.shape[1] + i
    )  # a grouped convolution's rows read their own channels only
    weights = np.repeat(
        _block(units, layer.n_in, pixels, channels_last), math.prod(layer.shape[2:])
    )
    return np.concatenate([weights, np.full(layer.n_out if layer.bias else 0, -1)])


def _block(units: Labels, n_units: int, pixels: int, channels_last: bool) -> Labels:
    return units % (n_units // pixels) if channels_last else units // pixels


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

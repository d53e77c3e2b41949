"""Boundaries of a plain chain of weight arrays, out x in or out x in x window, as torch and most
JAX code store them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from globalmin.balancedness.conserved import Boundary
from globalmin.errors import DataError
from globalmin.references import states

if TYPE_CHECKING:
    from numpy.typing import NDArray

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

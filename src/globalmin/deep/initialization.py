"""Random first weights of the deep networks of DU chapter 3 (DU-M3a, M3b, M3c): all entries of
W^(h) and a are N(0, 1).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from globalmin._options import Architecture
from globalmin.activations import Activation, get_activation
from globalmin.activations.moments import normalizer
from globalmin.data.pixels import geometry_of, real_array, whole_number
from globalmin.deep.network import DeepNetwork
from globalmin.errors import DataError
from globalmin.references import states


@states("DU-M3a", "DU-M3b", "DU-M3c")
def draw_deep(
    data_or_shape: Any,
    width: int,
    depth: int = 3,
    architecture: Architecture = "fully_connected",
    activation: str | Activation = "softplus",
    *,
    c_res: float = 0.5,
    patch_size: int = 3,
    seed: int | np.random.Generator | None = 0,
) -> DeepNetwork:
    """Draw a network.

    Parameters
    ----------
    data_or_shape : a Dataset (anything with X), an array of inputs by rows, or the shape of one
        input: features, (channels, pixels) or (channels, height, width).
    width : channels m of every hidden layer.
    depth : number H of hidden weight matrices; at least 2 for the residual architectures.
    architecture : "fully_connected", "resnet" or "convolutional_resnet".
    c_res : strength of the residual branches, 0 < c_res < 1; unused if fully connected.
    patch_size : odd side of the window; unused unless convolutional.
    seed : an integer, a numpy Generator (which advances), or None for fresh entropy.

    Theory
    ------
    DU-M3a, DU-M3b, DU-M3c. The theorems speak of inputs of norm 1; nothing is rescaled here.
    """
    phi, m, H = (
        get_activation(activation),
        whole_number(width, "width"),
        check_depth(depth, architecture),
    )
    geometry = geometry_of(_input_shape(data_or_shape), architecture, patch_size)
    rng = np.random.default_rng(seed)
    channels = [geometry.channels] + [m] * (H - 1)
    head = (m, geometry.pixels) if architecture == "convolutional_resnet" else (m,)
    return DeepNetwork(
        weights=tuple(rng.standard_normal((m, geometry.window * c)) for c in channels),
        head=rng.standard_normal(head),
        scales=layer_scales(phi, m, H, architecture=architecture, c_res=c_res),
        activation=phi,
        architecture=architecture,
        input_shape=geometry.shape,
        patch_size=geometry.patch_size,
    )


def layer_scales(
    activation: str | Activation,
    width: int,
    depth: int,
    *,
    architecture: Architecture,
    c_res: float = 0.5,
) -> tuple[float, ...]:
    """s_1, ..., s_H: sqrt(c_sigma/m) for layer 1 and all fully connected layers, c_res/(H sqrt(m))
    for residual branches.
    """
    plain = math.sqrt(normalizer(activation) / width)
    if architecture == "fully_connected":
        return (plain,) * depth
    return (plain,) + (check_residual(c_res) / (depth * math.sqrt(width)),) * (depth - 1)


def check_depth(depth: int, architecture: Architecture) -> int:
    """The depth as an integer, large enough for the architecture."""
    H = whole_number(depth, "depth")
    if H < 2 and architecture in ("resnet", "convolutional_resnet"):
        raise DataError(
            f"depth={H} leaves no residual layer in architecture={architecture!r}; give depth >= "
            "2, or architecture='fully_connected' for one hidden layer"
        )
    return H


def check_residual(c_res: float) -> float:
    """The strength of the residual branches, between 0 and 1."""
    if not 0.0 < c_res < 1.0:
        raise DataError(f"c_res={c_res!r} must satisfy 0 < c_res < 1")
    return float(c_res)


def _input_shape(data_or_shape: Any) -> tuple[int, ...]:
    if isinstance(data_or_shape, int | np.integer):
        return (whole_number(int(data_or_shape), "data_or_shape"),)
    if isinstance(data_or_shape, tuple):
        return tuple(whole_number(size, "data_or_shape") for size in data_or_shape)
    return real_array(getattr(data_or_shape, "X", data_or_shape), "data_or_shape").shape[1:]

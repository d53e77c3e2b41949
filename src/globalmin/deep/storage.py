"""Deep networks on disk: what `save_network` writes and `load_network` reads of them, one
safetensors file with one network, or several of one form (one per target or class).

Tensors `0.W.1`, ..., `0.W.H`, `0.a`, `0.scales`, and with preprocessing `0.x_shift`, `0.x_scale`;
the next network has `1.`, and so on. The metadata are the strings `format`
("globalmin-deep-network/2"), `activation`, `parameter` (if any), `architecture`, `input_shape`,
`patch_size`, `networks` (their number), `preprocessing` (if any) and `extra` (JSON). Files of the
older format "globalmin-deep-network/1" (one network, names without `0.`, no preprocessing) are
read. The same networks give the same bytes; a file appears whole or not at all.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from globalmin._options import ARCHITECTURES, one_of
from globalmin._types import NDArray
from globalmin.deep.network import DeepNetwork
from globalmin.errors import DataError
from globalmin.files import canonical_json
from globalmin.shallow.storage import (
    load_networks,
    network_count,
    require_tensors,
    save_network,
    stored_activation,
)

FORMATS = ("globalmin-deep-network/2", "globalmin-deep-network/1")
NETWORK = DeepNetwork

Tensors = dict[str, NDArray[np.float64]]


class StoredDeep(NamedTuple):
    """What `load_deep_network` returns."""

    network: DeepNetwork
    metadata: dict[str, str]


def n_inputs(network: DeepNetwork) -> int:
    """Numbers in one input."""
    return math.prod(network.input_shape)


def written(networks: Sequence[DeepNetwork]) -> tuple[Tensors, dict[str, str]]:
    """Tensors and header fields of networks of one form, for `save_networks`."""
    forms = {(n.depth, n.architecture, n.input_shape, n.geometry.patch_size) for n in networks}
    if len(forms) != 1:
        raise DataError(
            "networks must have one depth, architecture, input shape and patch size; save others "
            "in files of their own"
        )
    tensors: Tensors = {}
    for j, network in enumerate(networks):
        tensors |= {f"{j}.W.{h}": np.asarray(W) for h, W in enumerate(network.weights, start=1)}
        tensors |= {f"{j}.a": network.head, f"{j}.scales": np.array(network.scales)}
    first = networks[0]
    return tensors, {
        "format": FORMATS[0],
        "architecture": first.architecture,
        "input_shape": canonical_json(list(first.input_shape)),
        "patch_size": str(first.patch_size),
    }


def read(tensors: Tensors, header: dict[str, str]) -> tuple[DeepNetwork, ...]:
    """The networks of a file, for `load_networks`."""
    if header["format"] == FORMATS[1]:
        tensors = {f"0.{name}": tensor for name, tensor in tensors.items()}
        header["networks"] = "1"
    count = network_count(header)
    depth = sum(name.startswith("0.W.") for name in tensors)
    names = [*(f"W.{h}" for h in range(1, depth + 1)), "a", "scales"]
    require_tensors(tensors, header, {f"{j}.{name}" for j in range(count) for name in names})
    shape = json.loads(header["input_shape"])
    return tuple(
        DeepNetwork(
            weights=tuple(tensors[f"{j}.W.{h}"] for h in range(1, depth + 1)),
            head=tensors[f"{j}.a"],
            scales=tuple(tensors[f"{j}.scales"].ravel().tolist()),
            activation=stored_activation(header),
            architecture=one_of("architecture", header["architecture"], ARCHITECTURES),
            input_shape=tuple(shape),
            patch_size=int(header["patch_size"]),
        )
        for j in range(count)
    )


def save_deep_network(
    path: str | os.PathLike[str], network: DeepNetwork, metadata: Mapping[str, str] | None = None
) -> None:
    """Write a deep network, with free strings of yours: `save_network` without preprocessing."""
    save_network(path, network, metadata=metadata)


def load_deep_network(path: str | os.PathLike[str]) -> StoredDeep:
    """Read a file with one deep network: (network, metadata); `load_network` reads it too, and
    returns its preprocessing.
    """
    stored = load_networks(path)
    if len(stored.networks) != 1 or not isinstance(stored.networks[0], DeepNetwork):
        kinds = ", ".join(type(network).__name__ for network in stored.networks)
        raise DataError(f"{path}: holds {kinds}, not one DeepNetwork; read it with load_network")
    return StoredDeep(stored.networks[0], stored.metadata)

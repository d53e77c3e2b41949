"""Deep networks on disk: one safetensors file per network, of the same layout as `storage` and with
its own format name.

Tensors `W.1`, ..., `W.H`, `a` and `scales`; the metadata are the strings `format`
("globalmin-deep-network/1"), `activation`, `parameter` (if any), `architecture`, `input_shape`,
`patch_size` and `extra` (JSON). The same network gives the same bytes; a file appears whole or not
at all.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from globalmin._options import ARCHITECTURES, one_of
from globalmin.activations import get_activation
from globalmin.deep.network import DeepNetwork
from globalmin.errors import DataError
from globalmin.files import canonical_json
from globalmin.shallow.storage import describe, write_network_file

FORMAT = "globalmin-deep-network/1"


class StoredDeep(NamedTuple):
    """What `load_deep_network` returns."""

    network: DeepNetwork
    metadata: dict[str, str]


def save_deep_network(
    path: str | os.PathLike[str], network: DeepNetwork, metadata: Mapping[str, str] | None = None
) -> None:
    """Write a network, with free strings of yours; an existing file is replaced atomically, or
    stays as it was on any error.
    """
    if not all(isinstance(text, str) for pair in (metadata or {}).items() for text in pair):
        raise DataError("metadata must map strings to strings")
    header = describe(network.activation) | {
        "format": FORMAT,
        "architecture": network.architecture,
        "input_shape": canonical_json(list(network.input_shape)),
        "patch_size": str(network.patch_size),
        "extra": canonical_json(dict(metadata or {})),
    }
    tensors = {f"W.{h}": np.asarray(W) for h, W in enumerate(network.weights, start=1)}
    tensors |= {"a": network.head, "scales": np.array(network.scales)}
    write_network_file(Path(path), tensors, header)


def load_deep_network(path: str | os.PathLike[str]) -> StoredDeep:
    """Read a file of `save_deep_network`: (network, metadata)."""
    from safetensors import SafetensorError, safe_open

    if not Path(path).is_file():
        raise DataError(f"{path}: there is no such file")
    try:
        with safe_open(path, framework="numpy") as stream:
            header = dict(stream.metadata() or {})
            tensors = {name: stream.get_tensor(name) for name in stream.keys()}  # noqa: SIM118 (not a dict)
    except SafetensorError as error:
        raise DataError(
            f"{path}: not a readable safetensors file ({error}); give one written by "
            "save_deep_network"
        ) from error
    if header.get("format") != FORMAT:
        found = header.get("format", "no format")
        raise DataError(
            f"{path}: holds {found!r} where {FORMAT!r} is needed; give a file written by "
            "save_deep_network"
        )
    try:
        return _assemble(tensors, header)
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise DataError(f"{path}: {error}") from error


def _assemble(tensors: dict[str, np.ndarray], header: dict[str, str]) -> StoredDeep:
    depth = len(tensors) - 2
    expected = {f"W.{h}" for h in range(1, depth + 1)} | {"a", "scales"}
    if (
        depth < 1
        or set(tensors) != expected
        or any(tensor.dtype != np.float64 for tensor in tensors.values())
    ):
        raise DataError(
            "the tensors must be W.1, ..., W.H, a and scales, all F64, but are "
            f"{', '.join(sorted(tensors))}"
        )
    name, parameter = header["activation"], header.get("parameter")
    extra = json.loads(header["extra"])
    if not isinstance(extra, dict):
        raise DataError("the metadata field 'extra' is damaged")
    network = DeepNetwork(
        weights=tuple(tensors[f"W.{h}"] for h in range(1, depth + 1)),
        head=tensors["a"],
        scales=tuple(tensors["scales"].ravel().tolist()),
        activation=get_activation(name if parameter is None else f"{name}({parameter})"),
        architecture=one_of("architecture", header["architecture"], ARCHITECTURES),
        input_shape=tuple(json.loads(header["input_shape"])),
        patch_size=int(header["patch_size"]),
    )
    return StoredDeep(network, extra)

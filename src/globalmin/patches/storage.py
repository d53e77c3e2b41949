"""Patch networks on disk: one safetensors file per network, of the same layout as the files of
other networks and with its own format name.

Tensors `filters` and `head`; the metadata are the strings `format` ("globalmin-patch-network/1"),
`activation` ("relu"), `layout` and `extra` (JSON). The same network gives the same bytes; a file
appears whole or not at all.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from globalmin.errors import DataError
from globalmin.files import canonical_json, packed, save_atomically
from globalmin.patches.layout import PatchLayout
from globalmin.patches.network import PatchNetwork

FORMAT = "globalmin-patch-network/1"
_TENSORS = {"filters", "head"}


class StoredPatches(NamedTuple):
    """What `load_patch_network` returns."""

    network: PatchNetwork
    metadata: dict[str, str]


def save_patch_network(
    path: str | os.PathLike[str], network: PatchNetwork, metadata: Mapping[str, str] | None = None
) -> None:
    """Write a network with the way its samples are cut, and free strings of yours; an existing file
    is replaced atomically, or stays as it was on any error.
    """
    if not all(isinstance(text, str) for pair in (metadata or {}).items() for text in pair):
        raise DataError("metadata must map strings to strings")
    target = Path(path)
    if not target.parent.is_dir():
        raise DataError(f"{target}: the folder {target.parent} does not exist; create it first")
    header = {
        "format": FORMAT,
        "activation": "relu",
        "layout": canonical_json(network.layout.as_dict()),
        "extra": canonical_json(dict(metadata or {})),
    }
    tensors = {"filters": np.asarray(network.filters), "head": np.asarray(network.head)}
    save_atomically(target, packed(tensors, header))


def is_patch_network(path: str | os.PathLike[str]) -> bool:
    """Whether a file says that it holds a patch network; False for what cannot be read."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as stream:
            return (stream.metadata() or {}).get("format") == FORMAT
    except (OSError, SafetensorError):
        return False


def load_patch_network(path: str | os.PathLike[str]) -> StoredPatches:
    """Read a file of `save_patch_network`: (network, metadata)."""
    from safetensors import SafetensorError, safe_open

    if not Path(path).is_file():
        raise DataError(
            f"{path}: there is no such file; give a network file, or the output folder of a fit"
        )
    try:
        with safe_open(path, framework="numpy") as stream:
            header = dict(stream.metadata() or {})
            tensors = {name: stream.get_tensor(name) for name in stream.keys()}  # noqa: SIM118 (not a dict)
    except SafetensorError as error:
        raise DataError(
            f"{path}: not a readable safetensors file ({error}); give one written by "
            "save_patch_network"
        ) from error
    if header.get("format") != FORMAT:
        found = header.get("format", "no format")
        raise DataError(
            f"{path}: holds {found!r} where {FORMAT!r} is needed; give a file written by "
            "save_patch_network"
        )
    try:
        return _assemble(tensors, header)
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise DataError(f"{path}: {error}") from error


def _assemble(tensors: dict[str, np.ndarray], header: dict[str, str]) -> StoredPatches:
    if set(tensors) != _TENSORS or any(part.dtype != np.float64 for part in tensors.values()):
        raise DataError(
            f"the tensors must be filters and head, both F64, but are {', '.join(sorted(tensors))}"
        )
    if header["activation"] != "relu":
        raise DataError(f"activation={header['activation']!r} must be 'relu'")
    layout, extra = json.loads(header["layout"]), json.loads(header["extra"])
    if not isinstance(layout, dict) or not isinstance(extra, dict):
        raise DataError("the metadata field 'layout' or 'extra' is damaged")
    network = PatchNetwork(tensors["filters"], tensors["head"], PatchLayout.from_dict(layout))
    return StoredPatches(network, extra)

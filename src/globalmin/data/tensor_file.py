"""The bytes of a network file: the safetensors layout in canonical order, written whole or not at
all.
"""

from __future__ import annotations

import json
import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from globalmin.activations import Activation
from globalmin.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Tensors = dict[str, NDArray[np.float64]]

FORMAT = "globalmin-network/1"


def describe(activation: Activation) -> dict[str, str]:
    """Format and activation as header fields."""
    described = {"format": FORMAT, "activation": activation.name}
    values = activation.coefficients or (activation.parameter,)
    if values != (None,):
        described["parameter"] = ",".join(repr(value) for value in values)
    return described


def canonical_json(value: Any) -> str:
    """JSON with sorted keys and no white space."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def serialize(tensors: Tensors, metadata: dict[str, str]) -> bytes:
    """The safetensors layout; written here because the library orders the metadata at random, so
    that bytes would differ.
    """
    header: dict[str, Any] = {"__metadata__": metadata}
    pieces, offset = [], 0
    for name in sorted(tensors):
        data = np.ascontiguousarray(tensors[name], dtype="<f8")
        header[name] = {
            "dtype": "F64",
            "shape": list(data.shape),
            "data_offsets": [offset, offset + data.nbytes],
        }
        pieces.append(data.tobytes())
        offset += data.nbytes
    text = canonical_json(header).encode("ascii")
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + b"".join(pieces)


def write_atomically(path: Path, content: bytes) -> None:
    """Write next to the target, flush to the disk, then rename: nothing half-written stays
    behind.
    """
    if not path.parent.is_dir():
        raise DataError(f"{path}: the folder {path.parent} does not exist; create it first")
    temporary = path.parent / f".{path.name}.{secrets.token_hex(8)}.part"
    try:
        with temporary.open("xb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise

"""What every file of ours is made of: canonical JSON, tensors in the safetensors layout, the digest
of data, and a write that happens whole or not at all.

The same content gives the same bytes: no time, host or path enters. numpy is imported only where
arrays are.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from globalmin._types import NDArray

    Tensor = NDArray[Any]

_DTYPES = {"f": ("F64", "<f8"), "i": ("I64", "<i8")}


def canonical_json(value: object) -> str:
    """ASCII, keys sorted, no white space, no NaN or infinity."""
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    )


def data_digest(X: Tensor, y: Tensor) -> str:
    """SHA-256 of the line `globalmin-data/1 n d`, the bytes of X and the bytes of y
    (spec/certificate-v1.md, section 4).
    """
    n, d = X.shape
    digest = hashlib.sha256(f"globalmin-data/1 {n} {d}\n".encode("ascii"))
    digest.update(_bytes_of(X))
    digest.update(_bytes_of(y))
    return digest.hexdigest()


def packed(tensors: Mapping[str, Tensor], metadata: Mapping[str, str] | None) -> bytes:
    """The safetensors layout, floats as F64 and integers as I64; written here because the library
    orders the metadata at random, so that bytes would differ.
    """
    header: dict[str, object] = {} if metadata is None else {"__metadata__": dict(metadata)}
    chunks: list[bytes] = []
    offset = 0
    for name in sorted(tensors):
        chunk = _bytes_of(tensors[name])
        header[name] = {
            "data_offsets": [offset, offset + len(chunk)],
            "dtype": _DTYPES[tensors[name].dtype.kind][0],
            "shape": list(tensors[name].shape),
        }
        chunks.append(chunk)
        offset += len(chunk)
    text = canonical_json(header).encode("ascii")
    text += b" " * (-(8 + len(text)) % 8)
    return b"".join([len(text).to_bytes(8, "little"), text, *chunks])


def _bytes_of(tensor: Tensor) -> bytes:
    import numpy as np

    return np.ascontiguousarray(tensor, dtype=_DTYPES[tensor.dtype.kind][1]).tobytes()


def save_atomically(path: str | os.PathLike[str], content: bytes) -> Path:
    """Write `content` to `path` so that a reader sees either the old file or the whole new one,
    also after a crash.
    """
    target = Path(path)
    temporary = target.parent / f".{target.name}.{secrets.token_hex(8)}.part"
    try:
        with temporary.open("xb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)
    return target


def _sync_folder(folder: Path) -> None:
    # Without this the rename itself may be lost in a power cut; some systems cannot open folders,
    # and there it is not needed.
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

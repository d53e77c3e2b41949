"""The certificate container: canonical JSON, tensor layout, digest, seal (spec/certificate-v1.md,
sections 1 to 4).

The same inputs give the same bytes: no time, host or path enters.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from globalmin.proving.claim import Tensor

FORMAT = "globalmin-certificate/1"
_EMPTY_SEAL = "0" * 64
_DTYPES = {"f": ("F64", "<f8"), "i": ("I64", "<i8")}


def canonical_json(value: object) -> str:
    """ASCII, keys sorted, no white space, no floating-point literals."""
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    )


def data_digest(X: Tensor, y: Tensor) -> str:
    """SHA-256 of the line `globalmin-data/1 n d`, the bytes of X and the bytes of y."""
    n, d = X.shape
    digest = hashlib.sha256(f"globalmin-data/1 {n} {d}\n".encode("ascii"))
    digest.update(_bytes_of(X))
    digest.update(_bytes_of(y))
    return digest.hexdigest()


def sealed_bytes(certificate: Mapping[str, object], tensors: Mapping[str, Tensor]) -> bytes:
    """The whole certificate file: header with the canonical `certificate` string, tensors, and the
    seal over every byte.
    """
    metadata = {"certificate": canonical_json(certificate), "format": FORMAT, "seal": _EMPTY_SEAL}
    unsealed = bytearray(_pack(tensors, metadata))
    # "seal" sorts last inside __metadata__ and no tensor entry holds 64 zeros in a row: the last
    # such run is the seal.
    header_end = 8 + int.from_bytes(unsealed[:8], "little")
    start = unsealed.rindex(_EMPTY_SEAL.encode("ascii"), 8, header_end)
    unsealed[start : start + 64] = hashlib.sha256(unsealed).hexdigest().encode("ascii")
    return bytes(unsealed)


def data_bytes(X: Tensor, y: Tensor) -> bytes:
    """The data file that goes with a certificate that stores only the digest: tensors X and y, no
    metadata.
    """
    return _pack({"X": X, "y": y}, None)


def _pack(tensors: Mapping[str, Tensor], metadata: Mapping[str, str] | None) -> bytes:
    header: dict[str, object] = {} if metadata is None else {"__metadata__": dict(metadata)}
    chunks: list[bytes] = []
    offset = 0
    for name in sorted(tensors):
        chunk = _bytes_of(tensors[name])
        dtype = _DTYPES[tensors[name].dtype.kind][0]
        header[name] = {
            "data_offsets": [offset, offset + len(chunk)],
            "dtype": dtype,
            "shape": list(tensors[name].shape),
        }
        chunks.append(chunk)
        offset += len(chunk)
    text = canonical_json(header).encode("ascii")
    text += b" " * (-(8 + len(text)) % 8)
    return b"".join([len(text).to_bytes(8, "little"), text, *chunks])


def _bytes_of(tensor: Tensor) -> bytes:
    return np.ascontiguousarray(tensor, dtype=_DTYPES[tensor.dtype.kind][1]).tobytes()


def save_atomically(path: str | os.PathLike[str], content: bytes) -> Path:
    """Write `content` to `path` so that a reader sees either the old file or the whole new one,
    also after a crash.
    """
    target = Path(path)
    handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)
    return target


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


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

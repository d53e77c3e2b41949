"""Bytes to metadata and tensors: the container of section 1, its seal and the digest of the data
(section 4).
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys
from array import array
from dataclasses import dataclass
from math import isfinite, prod

from globalmin_check import limits
from globalmin_check.canonical import Fields, parse
from globalmin_check.verdict import Malformed

FORMAT = "globalmin-certificate/1"
_TYPECODES = {"F64": "d", "I64": "q"}
_SEAL_KEY = b'"seal":"'


@dataclass(frozen=True)
class Tensor:
    """One stored array, row-major; `values` is an `array.array` of doubles or 64-bit integers."""

    dtype: str
    shape: tuple[int, ...]
    values: array
    raw: memoryview

    def row(self, i: int) -> list:
        """Row i of a matrix."""
        m = self.shape[-1]
        return self.values[i * m : (i + 1) * m].tolist()

    def rows(self) -> list[list]:
        """All rows of a matrix."""
        return [self.row(i) for i in range(self.shape[0])]


class Tensors:
    """The tensors of a file, taken out one by one with their types and shapes; `end` refuses what
    is left over.
    """

    def __init__(self, tensors: dict[str, Tensor], prefix: str = "") -> None:
        self._rest = tensors
        self._prefix = prefix

    def of_claim(self, index: int) -> Tensors:
        """The view on the tensors `claims.I.ROLE` of one claim; taking from it takes from the
        file.
        """
        return Tensors(self._rest, f"claims.{index}.")

    def take(self, role: str, dtype: str, *shape: int | None) -> Tensor:
        """A required tensor; None in the shape allows any length."""
        name = self._prefix + role
        tensor = self._rest.pop(name, None)
        if tensor is None:
            raise Malformed(f"the tensor {name} is missing")
        fits = len(shape) == len(tensor.shape) and all(
            want in (None, have) for want, have in zip(shape, tensor.shape, strict=True)
        )
        if tensor.dtype != dtype or not fits:
            wanted = [length if length is not None else "any" for length in shape]
            raise Malformed(
                f"the tensor {name} is {tensor.dtype} {list(tensor.shape)}, not {dtype} {wanted}"
            )
        return tensor

    def end(self) -> None:
        """Refuse every tensor that was not taken."""
        if self._rest:
            raise Malformed(f"the file has the unknown tensor {min(self._rest)[:60]!a}")


def read_regular_file(path: str | os.PathLike[str]) -> bytes:
    """The bytes of a regular file, at most one more than the limit (the container then refuses the
    length).
    """
    with open(path, "rb", opener=_open_without_blocking) as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise OSError(f"{os.fspath(path)} is not a regular file")
        return file.read(
            min(found.st_size, limits.FILE_BYTES) + 1
        )  # so much memory is taken at once


def _open_without_blocking(path: str, flags: int) -> int:
    # A named pipe would otherwise wait for ever for its writer.
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def read(blob: bytes) -> tuple[dict[str, str] | None, dict[str, Tensor]]:
    """Metadata (None if the header has none) and tensors by name; NaN and infinities are refused
    here, before any arithmetic.
    """
    if len(blob) > limits.FILE_BYTES:
        raise Malformed(f"the file is longer than {limits.FILE_BYTES} bytes")
    header, start = _header(blob)
    metadata = _metadata(header.pop("__metadata__")) if "__metadata__" in header else None
    if len(header) > limits.TENSORS:
        raise Malformed(f"the file has more than {limits.TENSORS} tensors")
    body = memoryview(blob)[start:]
    tensors: dict[str, Tensor] = {}
    position = 0
    for name in sorted(header):
        tensors[name], position = _tensor(header[name], f"tensor {name[:60]!a}", body, position)
    if position != len(body):
        raise Malformed(
            f"the tensors end at byte {position} of the data, the file at byte {len(body)}"
        )
    return metadata, tensors


def _header(blob: bytes) -> tuple[dict[str, object], int]:
    if len(blob) < 8:
        raise Malformed("the file is shorter than 8 bytes")
    length = int.from_bytes(blob[:8], "little")
    if length > limits.HEADER_BYTES:
        raise Malformed(f"the header is longer than {limits.HEADER_BYTES} bytes")
    if length % 8 or 8 + length > len(blob):
        raise Malformed("the header length is not a multiple of 8 within the file")
    raw = blob[8 : 8 + length]
    text = raw.rstrip(b" ")
    if len(raw) - len(text) > 7:
        raise Malformed("the header is padded with more than 7 spaces")
    header = parse(text, "the header")
    if not isinstance(header, dict):
        raise Malformed("the header is not an object")
    return header, 8 + length


def _metadata(value: object) -> dict[str, str]:
    fields = Fields(value, "__metadata__")
    result = {key: fields.string(key) for key in ("certificate", "format", "seal")}
    fields.end()
    return result


def _tensor(entry: object, where: str, body: memoryview, position: int) -> tuple[Tensor, int]:
    fields = Fields(entry, where)
    dtype = fields.choice("dtype", ("F64", "I64"))
    shape = _lengths(fields.array("shape"), where)
    offsets = _lengths(fields.array("data_offsets"), where)
    fields.end()
    if len(shape) not in (1, 2) or 0 in shape[1:] or (shape[0] == 0 and dtype != "I64"):
        raise Malformed(f"{where} has the shape {list(shape)[:4]}")
    if prod(shape) > limits.ELEMENTS:
        raise Malformed(f"{where} has more than {limits.ELEMENTS} elements")
    if (
        len(offsets) != 2
        or offsets[0] != position
        or offsets[1] - offsets[0] != 8 * prod(shape)
        or offsets[1] > len(body)
    ):
        raise Malformed(
            f"{where} does not lie at byte {position} of the data with {8 * prod(shape)} bytes "
            "inside the file"
        )
    raw = body[offsets[0] : offsets[1]]
    values = array(_TYPECODES[dtype], raw.tobytes())
    if sys.byteorder == "big":  # pragma: no cover
        values.byteswap()
    # NaNs and infinities have seven ones after the sign, of numbers only those from 2^1009 on
    if (
        dtype == "F64"
        and (0x7F in (tops := raw.tobytes()[7::8]) or 0xFF in tops)
        and not all(map(isfinite, values))
    ):
        raise Malformed(f"{where} contains a NaN or an infinity")
    return Tensor(dtype, shape, values, raw), offsets[1]


def _lengths(values: list[object], where: str) -> tuple[int, ...]:
    lengths = tuple(value for value in values if type(value) is int and value >= 0)
    if len(lengths) != len(values):
        raise Malformed(f"{where} has a length or offset that is not a non-negative integer")
    return lengths


def check_seal(blob: bytes, seal: str) -> None:
    """Compare the seal with the SHA-256 of the file in which the seal's own characters are
    zeros.
    """
    length = int.from_bytes(blob[:8], "little")
    start = blob.find(_SEAL_KEY, 8, 8 + length) + len(_SEAL_KEY)
    digest = hashlib.sha256(memoryview(blob)[:start])
    digest.update(b"0" * 64)
    digest.update(memoryview(blob)[start + 64 :])
    if seal != digest.hexdigest():
        raise Malformed("the seal does not match the bytes of the file")


def digest_of(line: str, *tensors: Tensor) -> str:
    """SHA-256 of a line of text and the bytes of the tensors."""
    digest = hashlib.sha256(f"{line}\n".encode("ascii"))
    for tensor in tensors:
        digest.update(tensor.raw)
    return digest.hexdigest()


def data_digest(X: Tensor, y: Tensor) -> str:
    """SHA-256 of the line `globalmin-data/1 n d`, the bytes of X and the bytes of y."""
    return digest_of(f"globalmin-data/1 {X.shape[0]} {X.shape[1]}", X, y)

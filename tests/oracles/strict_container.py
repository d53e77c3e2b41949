"""Reader of certificate files for the slow checker, written from spec/certificate-v1.md alone.

`read(raw, data)` returns a `Certificate` of exact rationals or raises `MalformedError`. Nothing is
repaired, nothing is ignored.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import struct
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tests.oracles.claim_grammar import (
    CLAIMS,
    MalformedError,
    NoDataError,
    OtherDataError,
    Role,
    rational,
    read_fields,
    require,
)

MAX_HEADER, MAX_FILE, MAX_CLAIMS, MAX_TENSORS, MAX_ELEMENTS, MAX_DEPTH, MAX_DIGITS = (
    2**20,
    2**30,
    64,
    1024,
    10**9,
    8,
    18,
)
FORMAT = "globalmin-certificate/1"
ACTIVATIONS = (
    "softplus",
    "sigmoid",
    "tanh",
    "erf",
    "quadratic",
    "linear",
    "abs",
    "relu",
    "leaky_relu",
)

Matrix = list[list[Fraction]]


@dataclass(frozen=True)
class Tensor:
    """One tensor: its type, its shape and its numbers, row by row."""

    dtype: str
    shape: tuple[int, ...]
    raw: bytes

    def numbers(self) -> list[Fraction]:
        """The entries as exact rationals."""
        code = "d" if self.dtype == "F64" else "q"
        return [Fraction(x) for x in struct.unpack(f"<{len(self.raw) // 8}{code}", self.raw)]

    def integers(self) -> list[int]:
        """The entries of an I64 tensor."""
        return list(struct.unpack(f"<{len(self.raw) // 8}q", self.raw))

    def rows(self) -> Matrix:
        """The entries of a matrix, as a list of rows."""
        flat, width = self.numbers(), self.shape[1]
        return [flat[i : i + width] for i in range(0, len(flat), width)]


@dataclass(frozen=True)
class Claim:
    """One claim: kind, parsed fields, tensors by role."""

    kind: str
    fields: dict[str, Any]
    tensors: dict[str, Tensor]


@dataclass(frozen=True)
class Certificate:
    """Everything in a certificate file, as exact numbers."""

    activation: str
    parameter: Fraction | None
    bias: bool
    has_the_digest: bool
    X: Matrix
    y: list[Fraction]
    W: Matrix
    v: list[Fraction]
    claims: list[Claim]


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    require(len({key for key, _ in pairs}) == len(pairs), "duplicate key")
    return dict(pairs)


def _integer(digits: str) -> int:
    require(len(digits.lstrip("-")) <= MAX_DIGITS, "integer with too many digits")
    return int(digits)


def _refuse_number(text: str) -> Any:
    raise MalformedError(f"number {text[:20]} is not an integer")


def _depth(text: str) -> int:
    level = deepest = 0
    for mark in re.sub(r'"(?:[^"\\]|\\.)*"', "", text):
        level += (mark in "[{") - (mark in "]}")
        deepest = max(deepest, level)
    return deepest


def _without_null(value: Any) -> bool:
    if isinstance(value, dict):
        return all(map(_without_null, value.values()))
    return all(map(_without_null, value)) if isinstance(value, list) else value is not None


def canonical_json(value: Any) -> str:
    """The one way to write a value."""
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    )


def parse_json(text: str) -> dict[str, Any]:
    """Parse one canonical JSON object."""
    require(_depth(text) <= MAX_DEPTH, "nested too deep")
    try:
        value = json.loads(
            text,
            object_pairs_hook=_no_duplicates,
            parse_int=_integer,
            parse_float=_refuse_number,
            parse_constant=_refuse_number,
        )
    except (ValueError, RecursionError) as error:
        raise MalformedError(f"not JSON: {error}") from None
    require(isinstance(value, dict), "not a JSON object")
    require(_without_null(value), "null is not used")
    require(canonical_json(value) == text, "JSON is not canonical")
    return value


def _tensor(entry: Any, body: bytes, begin: int) -> Tensor:
    require(
        isinstance(entry, dict) and set(entry) == {"data_offsets", "dtype", "shape"},
        "tensor entry has wrong fields",
    )
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    require(dtype in ("F64", "I64"), "unknown dtype")
    for numbers in (shape, offsets):
        require(
            isinstance(numbers, list) and all(type(i) is int and i >= 0 for i in numbers),
            "not a list of natural numbers",
        )
    require(len(shape) in (1, 2) and len(offsets) == 2, "wrong number of dimensions or offsets")
    require(all(i >= 1 for i in shape[1:]) and (shape[0] >= 1 or dtype == "I64"), "empty dimension")
    count = math.prod(shape)
    require(count <= MAX_ELEMENTS, "tensor has too many elements")
    require(
        offsets == [begin, begin + 8 * count] and offsets[1] <= len(body),
        "tensors are not contiguous",
    )
    raw = body[begin : offsets[1]]
    if dtype == "F64":
        require(all(map(math.isfinite, struct.unpack(f"<{count}d", raw))), "NaN or infinity")
    return Tensor(dtype, tuple(shape), raw)


def read_container(raw: bytes) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """(header, tensors) of a container that obeys section 1 of the spec, metadata left in the
    header.
    """
    require(8 <= len(raw) <= MAX_FILE, "file too short or too long")
    size = int.from_bytes(raw[:8], "little")
    require(size <= MAX_HEADER and 8 + size <= len(raw), "header too long")
    require((8 + size) % 8 == 0, "header not padded to eight bytes")
    require(raw[8 : 8 + size].isascii(), "header is not ASCII")
    text = raw[8 : 8 + size].decode("ascii")
    stripped = text.rstrip(" ")
    require(len(text) - len(stripped) <= 7, "too much padding")
    header = parse_json(stripped)
    names = sorted(set(header) - {"__metadata__"})
    require(len(names) <= MAX_TENSORS, "too many tensors")
    body, begin, tensors = raw[8 + size :], 0, {}
    for name in names:
        tensors[name] = _tensor(header[name], body, begin)
        begin += len(tensors[name].raw)
    require(begin == len(body), "bytes after the last tensor")
    return header, tensors


def _check_seal(raw: bytes, metadata: dict[str, Any]) -> None:
    seal = metadata["seal"]
    require(re.fullmatch("[0-9a-f]{64}", seal) is not None, "seal is not a digest")
    header_end = 8 + int.from_bytes(raw[:8], "little")
    head = raw[:header_end]
    # inside the certificate string every quotation mark is escaped, so this finds the metadata's
    # own field
    field = head.rfind(b'"seal":"' + seal.encode())
    require(field >= 0, "seal not found")
    place = field + len(b'"seal":"')
    blank = raw[:place] + b"0" * 64 + raw[place + 64 :]
    require(hashlib.sha256(blank).hexdigest() == seal, "seal does not match")


def _network(entry: Any) -> tuple[str, Fraction | None]:
    require(
        isinstance(entry, dict) and set(entry) - {"parameter"} == {"activation", "kind"},
        "network has wrong fields",
    )
    name = entry["activation"]
    require(entry["kind"] == "shallow" and name in ACTIVATIONS, "unknown network")
    parameter = rational(entry["parameter"]) if "parameter" in entry else None
    if name == "leaky_relu":
        require(parameter is not None and 0 <= parameter < 1, "slope outside [0, 1)")
    elif name in ("softplus", "sigmoid"):
        require(
            parameter is None or (parameter > 0 and parameter != 1),
            "parameter must be positive and not 1",
        )
    else:
        require(parameter is None, "this activation has no parameter")
    return name, parameter


def _data_entry(entry: Any) -> tuple[int, int, bool]:
    require(
        isinstance(entry, dict) and set(entry) == {"bias", "n", "d", "sha256", "stored"},
        "data has wrong fields",
    )
    n, d = entry["n"], entry["d"]
    require(type(n) is int and type(d) is int and n >= 1 and d >= 1, "n and d must be at least 1")
    require(8 * n * (d + 1) <= MAX_FILE, "n and d are more than a file can hold")
    require(
        type(entry["bias"]) is bool and type(entry["stored"]) is bool,
        "bias and stored are booleans",
    )
    require(
        isinstance(entry["sha256"], str)
        and re.fullmatch("[0-9a-f]{64}", entry["sha256"]) is not None,
        "sha256 is not a digest",
    )
    return n, d, entry["stored"]


def _data_tensors(
    stored: bool, tensors: dict[str, Tensor], data: bytes | None
) -> dict[str, Tensor]:
    inside = {name: tensors.pop(name) for name in ("X", "y") if name in tensors}
    require(
        set(inside) == ({"X", "y"} if stored else set()),
        "X or y missing, or present although stored outside",
    )
    if data is None:
        return inside
    header, outside = read_container(data)
    require(set(header) == {"X", "y"}, "data file must hold exactly X and y")
    if stored and inside != outside:
        raise OtherDataError("the data given are not the data stored")
    return outside


def _outside_shape(samples: dict[str, Tensor]) -> tuple[int, int]:
    shape = samples["X"].shape
    require(len(shape) == 2, "X is not a matrix")
    return shape[0], shape[-1]


def _expect(tensors: dict[str, Tensor], name: str, dtype: str, shape: tuple[int, ...]) -> Tensor:
    require(name in tensors, f"tensor {name} missing")
    tensor = tensors.pop(name)
    require(
        tensor.dtype == dtype and tensor.shape == shape,
        f"tensor {name} has the wrong type or shape",
    )
    return tensor


def _claim_tensors(index: int, roles: list[Role], tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    found = {}
    for role in roles:
        name = f"claims.{index}.{role.name}"
        require(name in tensors, f"tensor {name} missing")
        shape = tuple(
            actual if wanted is None else wanted
            for wanted, actual in zip(role.shape, tensors[name].shape, strict=False)
        )
        require(len(shape) == len(role.shape), f"tensor {name} has the wrong number of dimensions")
        found[role.name] = _expect(tensors, name, role.dtype, shape)
    return found


def read_sealed(raw: bytes) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """The certificate object of any kind of network, its seal verified, and the tensors."""
    header, tensors = read_container(raw)
    metadata: Any = header.get("__metadata__")
    require(
        isinstance(metadata, dict) and set(metadata) == {"certificate", "format", "seal"},
        "metadata has wrong fields",
    )
    require(all(isinstance(x, str) for x in metadata.values()), "metadata are not strings")
    require(metadata["format"] == FORMAT, "unknown format")
    _check_seal(raw, metadata)
    top = parse_json(metadata["certificate"])
    require(
        set(top) == {"producer", "loss", "network", "data", "claims"},
        "certificate has wrong fields",
    )
    require(
        isinstance(top["producer"], str) and len(top["producer"]) <= 100,
        "producer is not a short string",
    )
    return top, tensors


def network_kind(raw: bytes) -> str | None:
    """The kind of network a readable file declares."""
    try:
        header, _ = read_container(raw)
        network = parse_json(header["__metadata__"]["certificate"])["network"]
        return (
            network["kind"]
            if isinstance(network, dict) and isinstance(network.get("kind"), str)
            else None
        )
    except (MalformedError, KeyError, TypeError):
        return None


def read(raw: bytes, data: bytes | None = None) -> Certificate:
    """Parse a certificate, with the data file where the data are not stored inside."""
    top, tensors = read_sealed(raw)
    require(top["loss"] == "half-sum-of-squares", "unknown loss")
    activation, parameter = _network(top["network"])
    n, d, stored = _data_entry(top["data"])
    samples = _data_tensors(stored, tensors, data)
    rows, columns = (n, d) if stored or not samples else _outside_shape(samples)
    X = y = None
    if samples:
        X, y = _expect(samples, "X", "F64", (rows, columns)), _expect(samples, "y", "F64", (rows,))
    require("v" in tensors and len(tensors["v"].shape) == 1, "v missing or not a vector")
    k = tensors["v"].shape[0]
    v, W = _expect(tensors, "v", "F64", (k,)), _expect(tensors, "W", "F64", (k, d))
    claims = _claims(top["claims"], (n, d, k), tensors)
    require(not tensors, "tensor that nobody asked for")
    if X is None or y is None:
        raise NoDataError("the data are not in the file and were not given")
    digest = hashlib.sha256(b"globalmin-data/1 %d %d\n" % (n, d) + X.raw + y.raw).hexdigest()
    if (rows, columns) != (n, d):
        raise OtherDataError("the data given have another shape")
    bias, matches = top["data"]["bias"], digest == top["data"]["sha256"]
    return Certificate(
        activation, parameter, bias, matches, X.rows(), y.numbers(), W.rows(), v.numbers(), claims
    )


def _claims(entries: Any, sizes: tuple[int, int, int], tensors: dict[str, Tensor]) -> list[Claim]:
    require(
        isinstance(entries, list) and 1 <= len(entries) <= MAX_CLAIMS,
        "claims must be a list of 1 to 64",
    )
    result = []
    for index, entry in enumerate(entries):
        require(isinstance(entry, dict) and entry.get("kind") in list(CLAIMS), "unknown claim kind")
        fields = read_fields(entry)
        result.append(
            Claim(
                entry["kind"],
                fields,
                _claim_tensors(index, CLAIMS[entry["kind"]].roles(fields, sizes), tensors),
            )
        )
    return result

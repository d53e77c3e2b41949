"""Test-only writer of certificate files, straight from spec/certificate-v1.md: it shares no code
with producer or checker.

`build` makes the bytes of a whole certificate from arrays and claim dictionaries; `unpack` takes
one apart for mutation and `pack` puts it together again with a fresh digest and seal. Nothing is
validated: the attack tests build bad files with it.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

FORMAT = "globalmin-certificate/1"
THEOREMS = {
    "interpolation": "newton-kantorovich/1",
    "descent": "descent-path/1",
    "relu-interpolation": "relu-cell/1",
    "loss-floor": "group-floor/1",
    "optimality-gap": "quadratic-gap/1",
    "identifies": "quadratic-span/1",
    "ambiguous": "quadratic-kernel/1",
    "below-barrier": "quadratic-barrier/1",
    "strict-saddle": "negative-curvature/1",
    "second-order-stationary": "second-order/1",
    "unique-minimum": "local-convexity/1",
    "relu-descent": "relu-path/1",
    "relu-linearized-descent": "relu-linearized-path/1",
    "gram-positive": "limit-gram/1",
    "deep-descent": "deep-path/1",
    "spurious-minimum": "filter-trap/1",
    "global-basin": "filter-basin/1",
    "factorization-gap": "best-rank/1",
    "head-gap": "least-squares-gap/1",
    "trajectory": "replayed-descent/1",
    "sgd-trajectory": "replayed-sgd/1",
    "relu-trajectory": "replayed-relu-descent/1",
    "deep-trajectory": "replayed-deep-descent/1",
    "dual-gap": "convex-dual/1",
    "unused-terms": "unused-terms/1",
    "patch-interpolation": "patch-cell/1",
    "stream-gap": "quadratic-shards/1",
    "additive-stream-gap": "additive-shards/1",
}
BLANK_SEAL = "0" * 64


def canonical(value: object) -> str:
    """The canonical JSON text of section 2."""
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    )


def rational(value: Fraction | float | str) -> str:
    """The string of section 2 for an exact rational; a float is the dyadic rational it is."""
    exact = value if isinstance(value, Fraction) else Fraction(value)
    return str(exact)


def written(value: Any) -> Any:
    """A claim with every Fraction and float turned into its rational string; integers, strings and
    booleans stay.
    """
    if isinstance(value, Mapping):
        return {key: written(item) for key, item in value.items()}
    if isinstance(value, Fraction | float):
        return rational(value)
    if isinstance(value, list | tuple):
        return [written(item) for item in value]
    return value


def claim(kind: str, **fields: Any) -> dict[str, Any]:
    """A claim object with its version and theorem filled in."""
    return written(
        {"kind": kind, "version": 1, "theorem": THEOREMS.get(kind, "unknown/1"), **fields}
    )


def data_digest(X: Any, y: Any) -> str:
    """`data.sha256` of section 4."""
    X, y = np.ascontiguousarray(X, "<f8"), np.ascontiguousarray(y, "<f8")
    line = f"globalmin-data/1 {X.shape[0]} {X.shape[1]}\n".encode("ascii")
    return hashlib.sha256(line + X.tobytes() + y.tobytes()).hexdigest()


def container(tensors: Mapping[str, Any], metadata: Mapping[str, str] | None) -> bytes:
    """Section 1: length, canonical header padded to a multiple of 8, tensors in the order of their
    names.
    """
    header: dict[str, Any] = {} if metadata is None else {"__metadata__": dict(metadata)}
    body = b""
    for name in sorted(tensors):
        array = np.asarray(tensors[name])
        integer = np.issubdtype(array.dtype, np.integer)
        raw = np.ascontiguousarray(array, "<i8" if integer else "<f8").tobytes()
        header[name] = {
            "data_offsets": [len(body), len(body) + len(raw)],
            "dtype": "I64" if integer else "F64",
            "shape": list(array.shape),
        }
        body += raw
    text = canonical(header).encode("ascii")
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + body


def seal(blob: bytes) -> bytes:
    """The file with its seal recomputed; the seal is found as the 64 characters after the last
    `"seal":"` of the header.
    """
    length = struct.unpack("<Q", blob[:8])[0]
    start = blob.rindex(b'"seal":"', 0, 8 + length) + len(b'"seal":"')
    blank = blob[:start] + BLANK_SEAL.encode("ascii") + blob[start + 64 :]
    digest = hashlib.sha256(blank).hexdigest().encode("ascii")
    return blank[:start] + digest + blank[start + 64 :]


def pack(certificate: Mapping[str, Any], tensors: Mapping[str, Any]) -> bytes:
    """A sealed file from the certificate object and all tensors by their full names."""
    metadata = {"certificate": canonical(certificate), "format": FORMAT, "seal": BLANK_SEAL}
    return seal(container(tensors, metadata))


def unpack(blob: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Certificate object and writable tensors of a well-formed file."""
    length = struct.unpack("<Q", blob[:8])[0]
    header = json.loads(blob[8 : 8 + length])
    metadata = header.pop("__metadata__", {})
    certificate = json.loads(metadata["certificate"]) if "certificate" in metadata else {}
    tensors = {}
    for name, entry in header.items():
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        kind = "<i8" if entry["dtype"] == "I64" else "<f8"
        tensors[name] = np.frombuffer(blob[begin:end], kind).reshape(entry["shape"]).copy()
    return certificate, tensors


def refresh_digest(certificate: dict[str, Any], tensors: Mapping[str, Any]) -> dict[str, Any]:
    """The certificate with `data.sha256` recomputed from the stored X and y."""
    data = {**certificate["data"], "sha256": data_digest(tensors["X"], tensors["y"])}
    return {**certificate, "data": data}


def certificate_object(
    X: Any,
    y: Any,
    claims: Sequence[Mapping[str, Any]],
    *,
    activation: str,
    parameter: Any = None,
    bias: bool = False,
    stored: bool = True,
) -> dict[str, Any]:
    """The object of section 3."""
    network: dict[str, Any] = {"activation": activation, "kind": "shallow"}
    if parameter is not None:
        network["parameter"] = rational(parameter)
    n, d = np.shape(X)
    return {
        "claims": [written(item) for item in claims],
        "data": {
            "bias": bias,
            "d": int(d),
            "n": int(n),
            "sha256": data_digest(X, y),
            "stored": stored,
        },
        "loss": "half-sum-of-squares",
        "network": network,
        "producer": "tests",
    }


def build(
    X: Any,
    y: Any,
    W: Any,
    v: Any,
    claims: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]],
    *,
    activation: str,
    parameter: Any = None,
    bias: bool = False,
    stored: bool = True,
) -> bytes:
    """A sealed certificate. `claims` is a list of pairs (claim object as from `claim`, tensors by
    role such as "C_a").
    """
    tensors: dict[str, Any] = {"W": np.asarray(W, float), "v": np.asarray(v, float)}
    if stored:
        tensors |= {"X": np.asarray(X, float), "y": np.asarray(y, float)}
    for index, (_, roles) in enumerate(claims):
        tensors |= {f"claims.{index}.{role}": array for role, array in roles.items()}
    objects = [item for item, _ in claims]
    certificate = certificate_object(
        X, y, objects, activation=activation, parameter=parameter, bias=bias, stored=stored
    )
    return pack(certificate, tensors)


def build_data(X: Any, y: Any) -> bytes:
    """The second file of section 4 that carries X and y when they are not stored in the
    certificate.
    """
    return container({"X": np.asarray(X, float), "y": np.asarray(y, float)}, None)

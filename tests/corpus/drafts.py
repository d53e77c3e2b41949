"""Certificates as editable drafts: build one, seal it into bytes, open sealed bytes again, change
anything in between.

The writer of the corpus and of the attack campaigns, made from spec/certificate-v1.md alone. It
writes whatever it is told, also nonsense: an attacker can re-seal, so must we.
"""

from __future__ import annotations

import copy
import hashlib
import json
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tests.oracles.gmc_builder import THEOREMS

FORMAT = "globalmin-certificate/1"


@dataclass
class ClaimDraft:
    """One claim: its JSON fields (rationals as Fraction) and its tensors by role."""

    fields: dict[str, Any]
    tensors: dict[str, NDArray[Any]]


@dataclass
class Draft:
    """One certificate before sealing."""

    network: dict[str, Any]
    X: NDArray[Any]
    y: NDArray[Any]
    W: NDArray[Any]
    v: NDArray[Any]
    claims: list[ClaimDraft]
    bias: bool = False
    stored: bool = True
    overrides: dict[str, Any] = field(default_factory=dict)

    def copy(self) -> Draft:
        """An independent copy."""
        return copy.deepcopy(self)


def rational(value: Fraction | float | int) -> str:
    """A number as the exact rational it is."""
    return str(Fraction(value))


def claim(kind: str, fields: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> ClaimDraft:
    """A claim with its fixed fields filled in."""
    return ClaimDraft({"kind": kind, "version": 1, "theorem": THEOREMS[kind], **fields}, tensors)


def canonical(value: Any) -> str:
    """Canonical JSON; Fractions become rational strings."""
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, default=rational
    )


def _bytes_of(array: NDArray[Any]) -> tuple[str, bytes]:
    if np.issubdtype(array.dtype, np.integer):
        return "I64", array.astype("<i8").tobytes()
    return "F64", array.astype("<f8").tobytes()


def layout(tensors: dict[str, NDArray[Any]]) -> tuple[dict[str, Any], bytes]:
    """Header entries and body for tensors in sorted order."""
    entries, body = {}, b""
    for name in sorted(tensors):
        dtype, raw = _bytes_of(np.asarray(tensors[name]))
        entries[name] = {
            "data_offsets": [len(body), len(body) + len(raw)],
            "dtype": dtype,
            "shape": list(np.shape(tensors[name])),
        }
        body += raw
    return entries, body


def container(header_text: str, body: bytes) -> bytes:
    """Length, padded header, body."""
    header = header_text.encode("ascii")
    header += b" " * (-(8 + len(header)) % 8)
    return len(header).to_bytes(8, "little") + header + body


def resealed(raw: bytes) -> bytes:
    """The same bytes with the seal recomputed, where there is one (it is found by its field
    name).
    """
    end = 8 + int.from_bytes(raw[:8], "little")
    field = raw.rfind(b'"seal":"', 8, end)
    if field < 0 or field + 8 + 64 > end:
        return raw
    place = field + len(b'"seal":"')
    blank = raw[:place] + b"0" * 64 + raw[place + 64 :]
    return blank[:place] + hashlib.sha256(blank).hexdigest().encode() + blank[place + 64 :]


def data_digest(X: NDArray[Any], y: NDArray[Any]) -> str:
    """SHA-256 of the data line, X and y."""
    n, d = X.shape
    return hashlib.sha256(
        b"globalmin-data/1 %d %d\n" % (n, d) + _bytes_of(X)[1] + _bytes_of(y)[1]
    ).hexdigest()


def certificate_object(draft: Draft) -> dict[str, Any]:
    """The object that becomes the string `certificate`; `draft.overrides` replaces top-level
    fields.
    """
    n, d = draft.X.shape
    data = {
        "bias": draft.bias,
        "n": n,
        "d": d,
        "sha256": data_digest(draft.X, draft.y),
        "stored": draft.stored,
    }
    top = {
        "producer": "tests",
        "loss": "half-sum-of-squares",
        "network": draft.network,
        "data": data,
        "claims": [c.fields for c in draft.claims],
    }
    return top | draft.overrides


def tensors_of(draft: Draft) -> dict[str, NDArray[Any]]:
    """All tensors by their full names."""
    tensors = {"W": draft.W, "v": draft.v}
    if draft.stored:
        tensors |= {"X": draft.X, "y": draft.y}
    for index, c in enumerate(draft.claims):
        tensors |= {f"claims.{index}.{role}": array for role, array in c.tensors.items()}
    return tensors


def assemble(
    certificate_text: str, tensors: dict[str, NDArray[Any]], format_name: str = FORMAT
) -> bytes:
    """A sealed container from the certificate string and the tensors."""
    entries, body = layout(tensors)
    metadata = {"certificate": certificate_text, "format": format_name, "seal": "0" * 64}
    return resealed(container(canonical({**entries, "__metadata__": metadata}), body))


def seal(draft: Draft) -> bytes:
    """The certificate file."""
    return assemble(canonical(certificate_object(draft)), tensors_of(draft))


def data_file(draft: Draft) -> bytes:
    """The second file, for data stored outside."""
    entries, body = layout({"X": draft.X, "y": draft.y})
    return container(canonical(entries), body)


def _read_tensors(raw: bytes) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    end = 8 + int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8:end])
    metadata = header.pop("__metadata__", {})
    tensors = {}
    for name, entry in header.items():
        begin, stop = entry["data_offsets"]
        dtype = "<f8" if entry["dtype"] == "F64" else "<i8"
        tensors[name] = (
            np.frombuffer(raw[end + begin : end + stop], dtype=dtype).reshape(entry["shape"]).copy()
        )
    return metadata, tensors


def unseal(raw: bytes, data: bytes | None = None) -> Draft:
    """The draft of a well-formed certificate, rationals as Fractions again."""
    metadata, tensors = _read_tensors(raw)
    top = json.loads(metadata["certificate"])
    samples = tensors if data is None else _read_tensors(data)[1]
    claims = []
    for index, fields in enumerate(top["claims"]):
        prefix = f"claims.{index}."
        roles = {
            name[len(prefix) :]: array for name, array in tensors.items() if name.startswith(prefix)
        }
        claims.append(ClaimDraft(_numbers(fields), roles))
    return Draft(
        top["network"],
        samples["X"],
        samples["y"],
        tensors["W"],
        tensors["v"],
        claims,
        bias=top["data"]["bias"],
        stored=top["data"]["stored"],
    )


WORDS = {
    "kind",
    "theorem",
    "trained",
    "method",
    "norm",
    "heads",
    "kernel",
    "form",
    "blocks",
    "expansion",
    "landing",
    "constants",
    "constraint",
}


def _numbers(fields: dict[str, Any]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for name, value in fields.items():
        if isinstance(value, dict):
            result[name] = _numbers(value)
        else:
            result[name] = (
                Fraction(value) if isinstance(value, str) and name not in WORDS else value
            )
    return result

"""Section 5.27 of spec/certificate-v1.md (theorem H) in exact rationals: a slow checker for
streams, with or without their rows.

Another road than the checker's: a row is scaled, put through the network and added in fractions,
one at a time. The truth oracle believes no factor: it eliminates the two matrices.
"""

from __future__ import annotations

import hashlib
import re
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tests.oracles.claim_grammar import Fields, MalformedError, one_of, rationals, require
from tests.oracles.definiteness import is_semidefinite, witnessed_exactly
from tests.oracles.fraction_claims import Check
from tests.oracles.strict_container import MAX_CLAIMS, Tensor, _expect, read_sealed

Matrix = list[list[Fraction]]
HEADS = ("nonnegative", "nonpositive", "any")


@dataclass(frozen=True)
class StreamClaim:
    """Fields, sums and radii of the shards, and the factors of P1 that the class needs."""

    fields: Fields
    squares: list[Fraction]
    products: list[Fraction]
    moments: Matrix
    radii: Matrix
    factors: dict[str, Matrix]


@dataclass(frozen=True)
class StreamFile:
    """A stream as exact numbers."""

    bias: bool
    d: int
    shards: list[tuple[int, str]]
    shift: list[Fraction]
    scale: list[Fraction]
    W: Matrix
    v: list[Fraction]
    claims: list[StreamClaim]


def _rows(tensors: dict[str, Tensor], name: str, shape: tuple[int, int]) -> Matrix:
    return _expect(tensors, name, "F64", shape).rows()


def _claim(entry: Any, index: int, tensors: dict[str, Tensor], S: int, d: int) -> StreamClaim:
    require(isinstance(entry, dict) and entry.get("kind") == "stream-gap", "not about a stream")
    require(entry.get("theorem") == "quadratic-shards/1", "the wrong theorem")
    require(type(entry.get("version")) is int and entry["version"] == 1, "unknown claim version")
    readers = rationals("loss_upper", "gap", "decay", "v_max", "t") | {"heads": one_of(*HEADS)}
    require(set(entry) - {"kind", "version", "theorem"} == set(readers), "claim has wrong fields")
    fields = {name: reader(entry[name]) for name, reader in readers.items()}
    at = f"claims.{index}."
    sums = [_expect(tensors, at + name, "F64", (S,)).numbers() for name in ("squares", "products")]
    moments = _rows(tensors, f"{at}moments", (S, d * (d + 1) // 2))
    radii = _rows(tensors, f"{at}radii", (S, 3))
    unneeded = {"nonnegative": "C_upper", "nonpositive": "C_lower"}.get(fields["heads"])
    roles = [role for role in ("C_lower", "C_upper") if role != unneeded]
    factors = {role: _rows(tensors, at + role, (d, d)) for role in roles}
    return StreamClaim(fields, *sums, moments, radii, factors)


def _shard(entry: Any) -> tuple[int, str]:
    require(isinstance(entry, dict) and set(entry) == {"rows", "sha256"}, "a shard's wrong fields")
    rows, digest = entry["rows"], entry["sha256"]
    require(type(rows) is int and rows >= 1, "a shard without rows")
    fits = isinstance(digest, str) and re.fullmatch(r"[0-9a-f]{64}", digest, re.ASCII)
    require(bool(fits), "not a digest")
    return rows, digest


def read_stream(raw: bytes) -> StreamFile:
    """Parse a stream."""
    top, tensors = read_sealed(raw)
    require(
        top["loss"] == "half-sum-of-squares" and top["network"] == {"kind": "stream"},
        "unknown loss or network",
    )
    data, entries = top["data"], top["claims"]
    known = {"bias", "columns", "d", "shards"}
    require(isinstance(data, dict) and set(data) == known, "data has wrong fields")
    bias, names, d, shards = (data[key] for key in sorted(known))
    require(type(bias) is bool and type(d) is int and d >= 1 + bias, "bias or d")
    require(isinstance(shards, list) and 1 <= len(shards) <= 4096, "1 to 4096 shards")
    parts = [_shard(entry) for entry in shards]
    require(sum(rows for rows, _ in parts) <= 10**15, "too many rows")
    width = d - bias + 1
    require(
        isinstance(names, list)
        and len(names) == width
        and all(isinstance(name, str) and 1 <= len(name) <= 200 for name in names)
        and len(set(names)) == width,
        "names of columns",
    )
    require(isinstance(entries, list) and 1 <= len(entries) <= MAX_CLAIMS, "1 to 64 claims")
    require("W" in tensors and len(tensors["W"].shape) == 2, "W is missing or not a matrix")
    k = tensors["W"].shape[0]
    W, v = _rows(tensors, "W", (k, d)), _expect(tensors, "v", "F64", (k,)).numbers()
    spread = [_expect(tensors, name, "F64", (width,)).numbers() for name in ("shift", "scale")]
    claims = [_claim(entry, i, tensors, len(parts), d) for i, entry in enumerate(entries)]
    require(not tensors, "tensor that nobody asked for")
    return StreamFile(bias, d, parts, *spread, W, v, claims)


def _penalty(file: StreamFile, claim: StreamClaim) -> Fraction:
    return claim.fields["decay"] * sum((w * w for row in file.W for w in row), Fraction(0)) / 2


def _matrices(file: StreamFile, claim: StreamClaim) -> dict[str, Matrix]:
    """(c - t zeta) I + t M and (c - t zeta) I - t M."""
    t, d = claim.fields["t"], file.d
    zeta = sum((row[2] for row in claim.radii), Fraction(0))
    shift = claim.fields["decay"] / (2 * claim.fields["v_max"]) - t * zeta
    pairs = [(a, b) for a in range(d) for b in range(a, d)]
    total = {
        pair: sum((row[i] for row in claim.moments), Fraction(0)) for i, pair in enumerate(pairs)
    }
    whole = [[total[min(a, b), max(a, b)] for b in range(d)] for a in range(d)]
    return {
        role: [
            [sign * t * x + shift * (a == b) for b, x in enumerate(row)]
            for a, row in enumerate(whole)
        ]
        for role, sign in (("C_lower", 1), ("C_upper", -1))
    }


def stream_checks(
    file: StreamFile,
    claim: StreamClaim,
    rows: Sequence[Sequence[float]] | None = None,
    first: int = 0,
) -> Iterator[Check]:
    """H1 to H8, the rows from shard `first` on; the factors of P1 last, as the checker has them."""
    yield from _exact_checks(file, claim)
    if rows is not None:
        yield from _row_checks(file, claim, rows, first)
    matrices = _matrices(file, claim)
    for role, C in claim.factors.items():
        yield "H5" if role == "C_lower" else "H6", witnessed_exactly(matrices[role], C)


def _exact_checks(file: StreamFile, claim: StreamClaim) -> Iterator[Check]:
    f = claim.fields
    yield "H1a", f["gap"] >= 0
    yield "H1b", f["decay"] > 0
    yield "H1c", f["v_max"] > 0
    yield "H1d", f["t"] >= 0
    yield "H1e", all(s > 0 for s in file.scale)
    yield "H1f", all(x >= 0 for row in claim.radii for x in row)
    yield "H2a", all(abs(v) <= f["v_max"] for v in file.v)
    signs = {"nonnegative": 1, "nonpositive": -1, "any": 0}
    yield "H2b", all(v * signs[f["heads"]] >= 0 for v in file.v)
    A = sum(claim.squares, Fraction(0)) + sum((row[0] for row in claim.radii), Fraction(0))
    B = sum(claim.products, Fraction(0)) + sum((row[1] for row in claim.radii), Fraction(0))
    yield "H3", f["loss_upper"] >= A / 2
    yield "H4", (1 + f["t"] ** 2) * A / 2 + f["t"] * B + _penalty(file, claim) <= f["gap"]


def _row_checks(
    file: StreamFile, claim: StreamClaim, rows: Sequence[Sequence[float]], first: int
) -> Iterator[Check]:
    start = 0
    for number in range(first, len(file.shards)):
        count, digest = file.shards[number]
        part = rows[start : start + count]
        if not part and number > first:
            break
        start += len(part)
        flat = [x for row in part for x in row]
        line = f"globalmin-rows/1 {len(part)} {len(file.scale)}\n".encode("ascii")
        found = hashlib.sha256(struct.pack(f"<{len(flat)}d", *flat) + line).hexdigest()
        yield "H7", len(part) == count and found == digest
        A, B, Z = _sums(file, part)
        yield "H8a", abs(A - claim.squares[number]) <= claim.radii[number][0]
        yield "H8b", abs(B - claim.products[number]) <= claim.radii[number][1]
        off = Fraction(0)
        for (a, b), stored in zip(sorted(Z), claim.moments[number], strict=True):
            off += (1 if a == b else 2) * (Z[a, b] - stored) ** 2
        yield "H8c", off <= claim.radii[number][2] ** 2
    yield "H7", start == len(rows)


def _sums(
    file: StreamFile, part: Sequence[Sequence[float]]
) -> tuple[Fraction, Fraction, dict[tuple[int, int], Fraction]]:
    A = B = Fraction(0)
    Z = {(a, b): Fraction(0) for a in range(file.d) for b in range(a, file.d)}
    for row in part:
        scaled = [
            (Fraction(x) - m) * s for x, m, s in zip(row, file.shift, file.scale, strict=True)
        ]
        x, y = scaled[:-1] + [Fraction(1)] * file.bias, scaled[-1]
        f = Fraction(0)
        for w, v in zip(file.W, file.v, strict=True):
            f += v * sum((p * q for p, q in zip(w, x, strict=True)), Fraction(0)) ** 2
        r = f - y
        A, B = A + r * r, B + r * y
        for a, b in Z:
            Z[a, b] += r * x[a] * x[b]
    return A, B, Z


def check_bytes(
    raw: bytes,
    _data: bytes | None = None,
    rows: Sequence[Sequence[float]] | None = None,
    first: int = 0,
) -> tuple[str, str]:
    """(verdict, reason) of a stream."""
    try:
        file = read_stream(raw)
    except MalformedError as error:
        return "MALFORMED", str(error)
    for index, claim in enumerate(file.claims):
        for name, holds in stream_checks(file, claim, rows, first):
            if not holds:
                return "REJECTED", f"claim {index}: {name}"
    return "ACCEPTED", "every check holds"


def oracle_truth(raw: bytes, _data: bytes | None = None) -> bool | None:
    """Do the hypotheses of theorem H hold for the stored sums, whatever the factors?"""
    try:
        file = read_stream(raw)
    except MalformedError:
        return None
    for claim in file.claims:
        if not all(holds for _, holds in _exact_checks(file, claim)):
            return False
        matrices = _matrices(file, claim)
        if not all(is_semidefinite(matrices[role]) for role in claim.factors):
            return False
    return True

"""Section 5.28 of spec/certificate-v1.md (theorem B) in exact rationals: a slow checker for
additive streams, with or without their rows.

Another road than the checker's: rows are put through the network one at a time in fractions, and in
a bin the convex function b sqrt(1 + p^2) minus a linear one is minimized by its derivative.
"""

from __future__ import annotations

import hashlib
import math
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from tests.oracles.claim_grammar import Fields, MalformedError, rationals, require
from tests.oracles.fraction_claims import Check
from tests.oracles.fraction_stream_claims import _shard
from tests.oracles.strict_container import MAX_CLAIMS, Tensor, _expect, read_sealed

Matrix = list[list[Fraction]]
BITS = 200  # of a square root
SUMS = ("residuals", "moments", "squares")


@dataclass(frozen=True)
class AdditiveClaim:
    """Fields, numbers of bins, edges, and the sums of the shards."""

    fields: Fields
    sizes: list[int]
    edges: list[list[Fraction]]
    counts: list[list[int]]
    sums: dict[str, Matrix]
    totals: Matrix
    radii: Matrix


@dataclass(frozen=True)
class AdditiveFile:
    """An additive stream as exact numbers."""

    shards: list[tuple[int, str]]
    shift: list[Fraction]
    scale: list[Fraction]
    W: Matrix
    bias: list[Fraction]
    v: list[Fraction]
    intercept: Fraction
    claims: list[AdditiveClaim]

    @property
    def rows(self) -> list[int]:
        """Of every shard."""
        return [count for count, _ in self.shards]


def _claim(entry: Any, index: int, tensors: dict[str, Tensor], S: int, q: int) -> AdditiveClaim:
    require(isinstance(entry, dict) and entry.get("kind") == "additive-stream-gap", "kind")
    require(entry.get("theorem") == "additive-shards/1", "the wrong theorem")
    require(type(entry.get("version")) is int and entry["version"] == 1, "unknown claim version")
    readers = rationals("loss_upper", "gap", "decay", "t")
    own = set(entry) - {"kind", "version", "theorem", "bins"}
    require(own == set(readers) and "bins" in entry, "claim has wrong fields")
    sizes, at = entry["bins"], f"claims.{index}."
    require(isinstance(sizes, list) and len(sizes) == q, "bins of every input")
    require(all(type(size) is int and size >= 1 for size in sizes), "numbers of bins")
    total = sum(sizes)
    flat = _expect(tensors, at + "edges", "F64", (total + q,)).numbers()
    edges, start = [], 0
    for size in sizes:
        edges.append(flat[start : start + size + 1])
        start += size + 1
    counts = _expect(tensors, at + "counts", "I64", (S, total))
    sums = {role: _expect(tensors, at + role, "F64", (S, total)).rows() for role in SUMS}
    totals, radii = (
        _expect(tensors, at + name, "F64", (S, 4)).rows() for name in ("totals", "radii")
    )
    fields = {name: reader(entry[name]) for name, reader in readers.items()}
    whole = [[int(x) for x in row] for row in counts.rows()]
    return AdditiveClaim(fields, sizes, edges, whole, sums, totals, radii)


def read_additive(raw: bytes) -> AdditiveFile:
    """Parse an additive stream."""
    top, tensors = read_sealed(raw)
    known = top["loss"] == "half-sum-of-squares" and top["network"] == {"kind": "additive-stream"}
    require(known, "unknown loss or network")
    data, entries = top["data"], top["claims"]
    require(isinstance(data, dict) and set(data) == {"columns", "shards"}, "data has wrong fields")
    names, shards = data["columns"], data["shards"]
    require(isinstance(shards, list) and 1 <= len(shards) <= 4096, "1 to 4096 shards")
    parts = [_shard(entry) for entry in shards]
    require(sum(rows for rows, _ in parts) <= 10**15, "too many rows")
    require(
        isinstance(names, list)
        and len(names) >= 2
        and all(isinstance(name, str) and 1 <= len(name) <= 200 for name in names)
        and len(set(names)) == len(names),
        "names of columns",
    )
    q = len(names) - 1
    require(isinstance(entries, list) and 1 <= len(entries) <= MAX_CLAIMS, "1 to 64 claims")
    require("W" in tensors and len(tensors["W"].shape) == 2, "W is missing or not a matrix")
    k = tensors["W"].shape[0]
    W = _expect(tensors, "W", "F64", (k, q)).rows()
    bias, v = (_expect(tensors, name, "F64", (k,)).numbers() for name in ("bias", "v"))
    constant = _expect(tensors, "intercept", "F64", (1,)).numbers()[0]
    spread = [_expect(tensors, name, "F64", (q + 1,)).numbers() for name in ("shift", "scale")]
    claims = [_claim(entry, i, tensors, len(parts), q) for i, entry in enumerate(entries)]
    require(not tensors, "tensor that nobody asked for")
    return AdditiveFile(parts, *spread, W, bias, v, constant, claims)


def root_above(value: Fraction) -> Fraction:
    """A rational that is at least the square root, and hardly more."""
    if value <= 0:
        return Fraction(0)
    whole = (value.numerator << 2 * BITS) // value.denominator + 1
    return Fraction(math.isqrt(whole) + 1, 1 << BITS)


def _is_below(K: Fraction, m: Fraction, b: Fraction, ends: tuple[Fraction, Fraction]) -> bool:
    """K + m p <= b sqrt(1 + p^2) for all p between the ends: the right side minus the left is
    convex, and its derivative is b p/sqrt(1 + p^2) - m.
    """

    def is_rising(p: Fraction) -> bool:
        slope = b * b * p * p - m * m * (1 + p * p)  # compares b p and m sqrt(1 + p^2) by squares
        return (p > 0 and (m <= 0 or slope > 0)) or (p <= 0 and m < 0 and slope < 0)

    def holds_at(p: Fraction) -> bool:
        left = K + m * p
        return left <= 0 or left * left <= b * b * (1 + p * p)

    a, c = ends
    if is_rising(a) or not is_rising(c):
        return holds_at(a) and holds_at(c)
    return K <= 0 or b * b - m * m >= K * K


def column_tests(
    z: Sequence[Fraction], sums: dict[str, list[Any]], rest: Fraction, t: Fraction, b: Fraction
) -> Iterator[Check]:
    """K7 and K8 of one column; the sums N, S, T, Q over all shards, Q with its radius."""
    N, S, T, Q = (sums[name] for name in "NSTQ")
    bins = range(len(S))
    whole = sum((T[k] + z[k] * S[k] for k in bins), Fraction(0))
    fits = True
    for k in bins:
        a, c = z[k], z[k + 1]
        h = c - a
        later = range(k + 1, len(S))
        C = sum((T[j] + z[j] * S[j] for j in later), Fraction(0)) + T[k] * c / h - h / 8 * S[k]
        D = sum((S[j] for j in later), Fraction(0)) + T[k] / h
        slack = h / 8 * (root_above(N[k] * Q[k]) if N[k] else 0) + rest
        for constant, slope in ((C, -D), (C - whole, sum(S, Fraction(0)) - D)):
            for sign in (1, -1):
                fits &= _is_below(t * (sign * constant + slack), t * sign * slope, b, (a, c))
    yield "K7", fits
    V = t * (abs(sum((T[k] + (z[k] - z[0]) * S[k] for k in bins), Fraction(0))) + rest)
    first, last = min(z[0], Fraction(0)), max(z[-1], Fraction(0))
    yield "K8", all(b * b * (1 + p * p) >= V * V for p in (first, last))


def _columns(
    claim: AdditiveClaim, shift: Sequence[Fraction], scale: Sequence[Fraction], rows: list[int]
) -> Iterator[tuple[list[Fraction], dict[str, list[Any]], Fraction]]:
    """Scaled edges, sums over all shards and the common error of every column."""
    shards = range(len(rows))
    rho, sigma = (sum((rows[s] * claim.radii[s][k] for s in shards), Fraction(0)) for k in (0, 1))
    R = abs(sum((row[2] for row in claim.totals), Fraction(0))) + rho
    start = 0
    for j, edges in enumerate(claim.edges):
        z = [(edge - shift[j]) * scale[j] for edge in edges]
        places = range(start, start + len(edges) - 1)
        start += len(edges) - 1
        sums: dict[str, list[Any]] = {
            letter: [sum((claim.sums[role][s][k] for s in shards), Fraction(0)) for k in places]
            for letter, role in zip("STQ", SUMS, strict=True)
        }
        sums["N"] = [sum(claim.counts[s][k] for s in shards) for k in places]
        for i, k in enumerate(places):
            sums["Q"][i] += sum(
                (claim.counts[s][k] * claim.radii[s][2] for s in shards), Fraction(0)
            )
        width = z[-1] - z[0]
        yield z, sums, R * width + sigma + width * rho


def feasible(
    spread: tuple[np.ndarray, np.ndarray],
    tensors: dict[str, np.ndarray],
    sizes: tuple[list[int], list[int]],
    t: Fraction,
    b: Fraction,
) -> bool:
    """Whether (1) and (2) hold for sums that are not in a file yet; `spread` is shift and scale,
    `sizes` the bins of the columns and the rows of the shards.
    """

    def exact(name: str) -> Matrix:
        return [list(map(Fraction, row)) for row in tensors[name].tolist()]

    flat, edges, start = list(map(Fraction, tensors["edges"].tolist())), [], 0
    for size in sizes[0]:
        edges.append(flat[start : start + size + 1])
        start += size + 1
    sums = {role: exact(role) for role in SUMS}
    claim = AdditiveClaim(
        {}, sizes[0], edges, tensors["counts"].tolist(), sums, exact("totals"), exact("radii")
    )
    exactly = [list(map(Fraction, part.tolist())) for part in spread]
    return all(
        holds
        for column in _columns(claim, *exactly, sizes[1])
        for _, holds in column_tests(*column, t, b)
    )


def additive_checks(
    file: AdditiveFile,
    claim: AdditiveClaim,
    rows: Sequence[Sequence[float]] | None = None,
    first: int = 0,
) -> Iterator[Check]:
    """K1 to K10, the rows from shard `first` on."""
    f = claim.fields
    yield "K1a", f["gap"] >= 0
    yield "K1b", f["decay"] > 0
    yield "K1c", f["t"] >= 0
    yield "K1d", all(s > 0 for s in file.scale)
    yield "K1e", all(x >= 0 for row in claim.radii for x in row)
    yield "K2", all(sum(w != 0 for w in row) <= 1 for row in file.W)
    for edges in claim.edges:
        yield "K3", all(a < c for a, c in pairwise(edges))
    yield "K4a", all(count >= 0 for row in claim.counts for count in row)
    for row, rows_of in zip(claim.counts, file.rows, strict=True):
        start = 0
        for size in claim.sizes:
            yield "K4b", sum(row[start : start + size]) == rows_of
            start += size
    yield from _bound_checks(file, claim)
    for column in _columns(claim, file.shift, file.scale, file.rows):
        yield from column_tests(*column, f["t"], f["decay"])
    if rows is not None:
        yield from _row_checks(file, claim, rows, first)


def _bound_checks(file: AdditiveFile, claim: AdditiveClaim) -> Iterator[Check]:
    f = claim.fields
    A, B, R, Y = (sum((row[k] for row in claim.totals), Fraction(0)) for k in range(4))
    rho, _, alpha, beta = (
        sum((n * row[k] for n, row in zip(file.rows, claim.radii, strict=True)), Fraction(0))
        for k in range(4)
    )
    weights = [*(w for row in file.W for w in row), *file.bias, *file.v]
    penalty = f["decay"] * sum((w * w for w in weights), Fraction(0)) / 2
    yield "K5", f["loss_upper"] >= (A + alpha) / 2
    mean = (abs(R) + rho) * (abs(Y) + beta) / sum(file.rows)
    bound = (1 + f["t"] ** 2) * (A + alpha) / 2 + f["t"] * (B + beta + mean) + penalty
    yield "K6", bound <= f["gap"]


def _row_checks(
    file: AdditiveFile, claim: AdditiveClaim, rows: Sequence[Sequence[float]], first: int
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
        yield "K9", len(part) == count and found == digest
        yield from _agreement(file, claim, part, number)
    yield "K9", start == len(rows)


def _agreement(
    file: AdditiveFile, claim: AdditiveClaim, part: Sequence[Sequence[float]], number: int
) -> Iterator[Check]:
    total = sum(claim.sizes)
    N, S, T, Q = [0] * total, *([Fraction(0)] * total for _ in range(3))
    totals, inside = [Fraction(0)] * 4, True
    for row in part:
        x = [(Fraction(a) - m) * s for a, m, s in zip(row, file.shift, file.scale, strict=True)]
        y = x.pop()
        f = file.intercept
        for w, bias, v in zip(file.W, file.bias, file.v, strict=True):
            f += v * max(sum((p * a for p, a in zip(w, x, strict=True)), bias), Fraction(0))
        r = f - y
        totals = [old + new for old, new in zip(totals, (r * r, r * y, r, y), strict=True)]
        start = 0
        for j, edges in enumerate(claim.edges):
            raw, m = Fraction(row[j]), len(edges) - 1
            own = [k for k in range(m) if edges[k] <= raw < edges[k + 1]]
            own += [m - 1] if raw == edges[-1] else []
            inside &= len(own) == 1
            for k in own:
                left = (edges[k] - file.shift[j]) * file.scale[j]
                N[start + k] += 1
                S[start + k] += r
                T[start + k] += r * (x[j] - left)
                Q[start + k] += r * r
            start += m
    yield "K10a", inside
    rho, sigma, kappa, eta = claim.radii[number]
    n = len(part)
    for name, new, old, radius in zip(
        "bcde", totals, claim.totals[number], (kappa, eta, rho, eta), strict=True
    ):
        yield f"K10{name}", abs(new - old) <= n * radius
    stored = [claim.sums[role][number] for role in SUMS]
    yield (
        "K10f",
        claim.counts[number] == N
        and all(
            abs(new[k] - old[k]) <= N[k] * radius
            for new, old, radius in zip((S, T, Q), stored, (rho, sigma, kappa), strict=True)
            for k in range(total)
        ),
    )


def check_bytes(
    raw: bytes,
    _data: bytes | None = None,
    rows: Sequence[Sequence[float]] | None = None,
    first: int = 0,
) -> tuple[str, str]:
    """(verdict, reason) of an additive stream."""
    try:
        file = read_additive(raw)
    except MalformedError as error:
        return "MALFORMED", str(error)
    for index, claim in enumerate(file.claims):
        for name, holds in additive_checks(file, claim, rows, first):
            if not holds:
                return "REJECTED", f"claim {index}: {name}"
    return "ACCEPTED", "every check holds"


def oracle_truth(raw: bytes, _data: bytes | None = None) -> bool | None:
    """Do the hypotheses of theorem B hold for the stored sums?"""
    verdict, _ = check_bytes(raw)
    return None if verdict == "MALFORMED" else verdict == "ACCEPTED"

"""Section 5.17 of spec/certificate-v1.md (theorem EY) in exact rationals: a slow checker for
factorization files.

Another road than the checker's: the residual, the projector Q and (I - Q) M^T M Q are formed entry
by entry, so nothing is ever undecided. The truth oracle does not know the theorem: it counts the
eigenvalues of M^T M on either side of a number by exact elimination and encloses the tail of the
spectrum by bisection.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tests.oracles.claim_grammar import Fields, MalformedError, one_of, rationals, require
from tests.oracles.definiteness import witnessed_exactly
from tests.oracles.fraction_claims import Check
from tests.oracles.strict_container import MAX_CLAIMS, Tensor, _expect, read_sealed

Matrix = list[list[Fraction]]
METHODS = ("zero", "frobenius", "factor")
HALVINGS = 150  # each eigenvalue is known to 2^-150 of the trace


@dataclass(frozen=True)
class GapClaim:
    """Fields of one claim and its witnesses, empty where the method has none."""

    fields: Fields
    C_a: Matrix
    C_b: Matrix


@dataclass(frozen=True)
class FactorizationFile:
    """A factorization file as exact numbers."""

    M: Matrix
    U: Matrix
    V: Matrix
    claims: list[GapClaim]


def _matrix(tensors: dict[str, Tensor], name: str, shape: tuple[int, int]) -> Matrix:
    numbers = _expect(tensors, name, "F64", shape).numbers()
    return [numbers[i * shape[1] : (i + 1) * shape[1]] for i in range(shape[0])]


def _claim(
    entry: Any, index: int, tensors: dict[str, Tensor], sizes: tuple[int, int, int]
) -> GapClaim:
    require(
        isinstance(entry, dict) and entry.get("kind") == "factorization-gap",
        "not a claim about a factorization",
    )
    require(entry.get("theorem") == "best-rank/1", "the wrong theorem")
    require(type(entry.get("version")) is int and entry["version"] == 1, "unknown claim version")
    method = entry.get("method")
    require(isinstance(method, str) and method in METHODS, "unknown method")
    readers = rationals("loss_upper", "gap", "floor") | {"method": one_of(*METHODS)}
    if method != "zero":
        readers |= rationals("a", "b", "tau") | {"side": one_of("right", "left")}
    require(set(entry) - {"kind", "version", "theorem"} == set(readers), "claim has wrong fields")
    fields = {name: reader(entry[name]) for name, reader in readers.items()}
    if method == "zero":
        return GapClaim(fields, [], [])
    m, n, r = sizes
    require(r < min(m, n), "the rank is not below both sides")
    size = n if fields["side"] == "right" else m
    C_a = _matrix(tensors, f"claims.{index}.C_a", (r, r))
    return GapClaim(
        fields,
        C_a,
        _matrix(tensors, f"claims.{index}.C_b", (size, size)) if method == "factor" else [],
    )


def read_factorization(raw: bytes) -> FactorizationFile:
    """Parse a factorization file."""
    top, tensors = read_sealed(raw)
    require(
        top["loss"] == "half-squared-frobenius" and top["network"] == {"kind": "factorization"},
        "unknown loss or network",
    )
    data, entries = top["data"], top["claims"]
    require(isinstance(data, dict) and set(data) == {"rows", "columns"}, "data has wrong fields")
    m, n = data["rows"], data["columns"]
    require(
        type(m) is int and type(n) is int and m >= 1 and n >= 1,
        "rows and columns are not positive integers",
    )
    require(
        isinstance(entries, list) and 1 <= len(entries) <= MAX_CLAIMS,
        "claims must be a list of 1 to 64",
    )
    require("U" in tensors and len(tensors["U"].shape) == 2, "U is missing or not a matrix")
    r = tensors["U"].shape[1]
    M, U, V = (
        _matrix(tensors, "M", (m, n)),
        _matrix(tensors, "U", (m, r)),
        _matrix(tensors, "V", (n, r)),
    )
    claims = [_claim(entry, i, tensors, (m, n, r)) for i, entry in enumerate(entries)]
    require(not tensors, "tensor that nobody asked for")
    return FactorizationFile(M, U, V, claims)


def product(A: Matrix, B: Matrix) -> Matrix:
    """A B, exactly."""
    columns = list(zip(*B, strict=True))
    return [
        [sum((x * y for x, y in zip(row, column, strict=True)), Fraction(0)) for column in columns]
        for row in A
    ]


def transpose(A: Matrix) -> Matrix:
    """The transposed matrix."""
    return [list(column) for column in zip(*A, strict=True)]


def minus(A: Matrix, B: Matrix) -> Matrix:
    """A - B."""
    return [
        [x - y for x, y in zip(left, right, strict=True)] for left, right in zip(A, B, strict=True)
    ]


def square(A: Matrix) -> Fraction:
    """The squared Frobenius norm."""
    return sum((x * x for row in A for x in row), Fraction(0))


def scaled_identity(size: int, factor: Fraction) -> Matrix:
    """A multiple of the identity."""
    return [[factor if i == j else Fraction(0) for j in range(size)] for i in range(size)]


def inverse(A: Matrix) -> Matrix | None:
    """The inverse by Gauss-Jordan elimination, or None."""
    m = len(A)
    rows = [list(row) + unit for row, unit in zip(A, scaled_identity(m, Fraction(1)), strict=True)]
    for s in range(m):
        place = next((i for i in range(s, m) if rows[i][s]), None)
        if place is None:
            return None
        rows[s], rows[place] = rows[place], rows[s]
        rows[s] = [x / rows[s][s] for x in rows[s]]
        for i in range(m):
            if i != s and rows[i][s]:
                rows[i] = [x - rows[i][s] * y for x, y in zip(rows[i], rows[s], strict=True)]
    return [row[m:] for row in rows]


def gap_checks(file: FactorizationFile, claim: GapClaim) -> Iterator[Check]:
    """F1 to F8."""
    fields = claim.fields
    yield "F1a", fields["gap"] >= 0
    yield "F1b", fields["floor"] >= 0
    loss = square(minus(product(file.U, transpose(file.V)), file.M)) / 2
    yield "F2", loss <= fields["loss_upper"]
    if fields["method"] == "zero":
        yield "F7", loss <= fields["gap"]
        yield "F8", fields["floor"] <= 0
        return
    a, b, tau = fields["a"], fields["b"], fields["tau"]
    yield "F3a", a > 0
    yield "F3b", b < tau
    left = fields["side"] == "left"
    M, S, P = (transpose(file.M), file.U, file.V) if left else (file.M, file.V, file.U)
    Y, G = product(M, S), product(transpose(S), S)
    pencil = minus(product(transpose(Y), Y), [[a * x for x in row] for row in G])
    yield "F4", witnessed_exactly(pencil, claim.C_a)
    inverted = inverse(G)
    if inverted is None or b >= tau:  # F4 or F3b has failed already
        return
    Q = product(product(S, inverted), transpose(S))
    rest = minus(scaled_identity(len(S), Fraction(1)), Q)
    B = product(M, rest)
    if fields["method"] == "frobenius":
        yield "F5", square(B) <= b
    else:
        yield (
            "F6",
            witnessed_exactly(
                minus(scaled_identity(len(S), b), product(transpose(B), B)), claim.C_b
            ),
        )
    inside = square(product(minus(product(P, transpose(S)), M), Q))
    leak = square(product(product(transpose(B), M), Q))
    excess = (inside + leak / (tau - b) + len(G) * max(tau - a, Fraction(0))) / 2
    yield "F7", excess <= fields["gap"]
    yield "F8", fields["floor"] <= max(loss - excess, Fraction(0))


def eigenvalues_below(A: list[list[int]], t: int) -> int | None:
    """How many eigenvalues of an integer matrix are below t: the changes of sign of the leading
    minors (Sylvester, Bareiss).

    None if a minor vanishes, so that t must move.
    """
    rest = [[x - t * (i == j) for j, x in enumerate(row)] for i, row in enumerate(A)]
    count, last = 0, 1
    for s in range(len(rest)):
        pivot = rest[s][s]
        if pivot == 0:
            return None
        count += (pivot < 0) != (last < 0)
        for i in range(s + 1, len(rest)):
            rest[i] = [
                (x * pivot - rest[i][s] * y) // last for x, y in zip(rest[i], rest[s], strict=True)
            ]
        last = pivot
    return count


def smallest_eigenvalues(A: Matrix, count: int) -> list[tuple[Fraction, Fraction]]:
    """Enclosures of the `count` smallest eigenvalues of a positive semidefinite matrix with dyadic
    entries.
    """
    trace = sum((A[i][i] for i in range(len(A))), Fraction(0)) + 1
    unit = max(entry.denominator for row in A for entry in row) * 2**HALVINGS
    integers = [[int(entry * unit) for entry in row] for row in A]
    found = []
    for index in range(count):
        low, high, close = -1, int(trace * unit), int(trace * unit) >> HALVINGS
        while high - low > close + 4:
            middle = (low + high) // 2
            below = eigenvalues_below(integers, middle)
            while below is None:
                middle += 1
                below = eigenvalues_below(integers, middle)
            low, high = (middle, high) if below <= index else (low, middle)
        found.append((Fraction(max(low, 0), unit), Fraction(high, unit)))
    return found


def best_loss(M: Matrix, r: int) -> tuple[Fraction, Fraction]:
    """An enclosure of half the sum of the squared singular values after the r-th."""
    M = M if len(M) >= len(M[0]) else transpose(M)
    tail = smallest_eigenvalues(product(transpose(M), M), max(len(M[0]) - r, 0))
    return sum((low for low, _ in tail), Fraction(0)) / 2, sum(
        (high for _, high in tail), Fraction(0)
    ) / 2


def _truth(file: FactorizationFile) -> Iterator[bool | None]:
    """Are the three statements of every claim true? None where the enclosure of the best loss does
    not decide.
    """
    loss = square(minus(product(file.U, transpose(file.V)), file.M)) / 2
    low, high = best_loss(file.M, len(file.V[0]))
    for claim in file.claims:
        gap, floor = claim.fields["gap"], claim.fields["floor"]
        yield loss <= claim.fields["loss_upper"] and gap >= 0 and floor >= 0
        yield True if loss - low <= gap else False if loss - high > gap else None
        yield True if floor <= low else False if floor > high else None


def check_bytes(raw: bytes, _data: bytes | None = None) -> tuple[str, str]:
    """(verdict, reason) of a factorization file."""
    try:
        file = read_factorization(raw)
    except MalformedError as error:
        return "MALFORMED", str(error)
    for index, claim in enumerate(file.claims):
        for name, holds in gap_checks(file, claim):
            if not holds:
                return "REJECTED", f"claim {index}: {name}"
    return "ACCEPTED", "every check holds"


def oracle_truth(raw: bytes, _data: bytes | None = None) -> bool | None:
    """Is what the file states true, whatever the witness? None if undecided or malformed."""
    try:
        outcomes = list(_truth(read_factorization(raw)))
    except MalformedError:
        return None
    return False if False in outcomes else None if None in outcomes else True

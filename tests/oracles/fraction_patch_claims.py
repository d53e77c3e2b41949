"""Section 5.26 of spec/certificate-v1.md (theorem of the patch cell) in exact rationals: a slow
checker for files with a patch network.

Another road than the checker's: everything is a loop over samples, filters, places and entries in
exact rationals, so nothing is ever undecided; the rank is that of a rational elimination on the
residual itself. `nearest_zero` gives the filters of zero loss that an accepted file promises,
number by number.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any

from tests.oracles.claim_grammar import (
    MalformedError,
    NoDataError,
    OtherDataError,
    Role,
    rationals,
    require,
)
from tests.oracles.definiteness import is_semidefinite, witnessed_exactly
from tests.oracles.fraction_claims import Check
from tests.oracles.strict_container import (
    MAX_CLAIMS,
    Claim,
    Tensor,
    _claim_tensors,
    _data_entry,
    _data_tensors,
    _expect,
    _network,
    _outside_shape,
    read_sealed,
)

Vector = list[Fraction]
Matrix = list[Vector]
FIELDS = rationals("mu", "R", "loss_upper")
ZERO = Fraction(0)


@dataclass(frozen=True)
class PatchFile:
    """A file with a patch network, as exact numbers."""

    activation: str
    table: list[list[int]]
    filters: Matrix
    heads: Matrix
    X: Matrix
    y: Vector
    bias: bool
    claims: list[Claim]

    @cached_property
    def patches(self) -> list[Matrix]:
        """The patches of every sample."""
        return [
            [[x[place] if place >= 0 else ZERO for place in row] for row in self.table]
            for x in self.X
        ]

    def residual(self, filters: Matrix) -> Vector:
        """f - y at some filters."""
        return [
            sum(
                (
                    self.heads[j][q] * max(dot(w, z), ZERO)
                    for j, w in enumerate(filters)
                    for q, z in enumerate(patches)
                ),
                -y,
            )
            for patches, y in zip(self.patches, self.y, strict=True)
        ]


def dot(a: Vector, b: Vector) -> Fraction:
    """The inner product."""
    return sum((x * y for x, y in zip(a, b, strict=True)), ZERO)


def _table(tensors: dict[str, Tensor], d: int) -> list[list[int]]:
    require(
        "patches" in tensors and len(tensors["patches"].shape) == 2,
        "patches missing or not a matrix",
    )
    k, p = tensors["patches"].shape
    require(k >= 1, "no patches")
    flat = _expect(tensors, "patches", "I64", (k, p)).integers()
    require(all(-1 <= place < d for place in flat), "a place out of range")
    return [flat[i : i + p] for i in range(0, len(flat), p)]


def _claim(entry: Any, index: int, tensors: dict[str, Tensor], sizes: tuple[int, ...]) -> Claim:
    require(
        isinstance(entry, dict) and entry.get("kind") == "patch-interpolation",
        "not a claim about a patch network",
    )
    require(entry.get("theorem") == "patch-cell/1", "the wrong theorem")
    require(type(entry.get("version")) is int and entry["version"] == 1, "unknown claim version")
    require(set(entry) - {"kind", "version", "theorem"} == set(FIELDS), "claim has wrong fields")
    fields = {name: reader(entry[name]) for name, reader in FIELDS.items()}
    n, m, p = sizes
    roles = [Role("T", "I64", (None,)), Role("S", "I64", (None,)), Role("W_hat", "F64", (m, p))]
    found = _claim_tensors(index, roles, tensors)
    for name, count in (("T", m), ("S", n)):
        values = found[name].integers()
        ordered = all(a < b for a, b in pairwise(values))
        require(bool(values) and 0 <= values[0] <= values[-1] < count and ordered, f"{name}: order")
    s = len(found["S"].integers())
    found |= _claim_tensors(index, [Role("C", "F64", (s, s))], tensors)
    return Claim("patch-interpolation", fields, found)


def read_patches(raw: bytes, data: bytes | None = None) -> PatchFile:
    """Parse a file with a patch network."""
    top, tensors = read_sealed(raw)
    require(top["loss"] == "half-sum-of-squares", "unknown loss")
    network = top["network"]
    require(isinstance(network, dict), "network is not an object")
    activation, _ = _network({**network, "kind": "shallow"})
    n, d, stored = _data_entry(top["data"])
    table = _table(tensors, d)
    samples = _data_tensors(stored, tensors, data)
    rows, columns = (n, d) if stored or not samples else _outside_shape(samples)
    X = y = None
    if samples:
        X, y = _expect(samples, "X", "F64", (rows, columns)), _expect(samples, "y", "F64", (rows,))
    require("W" in tensors and len(tensors["W"].shape) == 2, "W missing or not a matrix")
    m, k, p = tensors["W"].shape[0], len(table), len(table[0])
    W, v = _expect(tensors, "W", "F64", (m, p)), _expect(tensors, "v", "F64", (m * k,))
    entries = top["claims"]
    require(
        isinstance(entries, list) and 1 <= len(entries) <= MAX_CLAIMS,
        "claims must be a list of 1 to 64",
    )
    claims = [_claim(entry, i, tensors, (n, m, p)) for i, entry in enumerate(entries)]
    require(not tensors, "tensor that nobody asked for")
    if X is None or y is None:
        raise NoDataError("the data are not in the file and were not given")
    digest = hashlib.sha256(b"globalmin-data/1 %d %d\n" % (n, d) + X.raw + y.raw).hexdigest()
    if (rows, columns) != (n, d) or digest != top["data"]["sha256"]:
        raise OtherDataError("data digest does not match")
    flat = v.numbers()
    heads = [flat[j * k : (j + 1) * k] for j in range(m)]
    bias = top["data"]["bias"]
    return PatchFile(activation, table, W.rows(), heads, X.rows(), y.numbers(), bias, claims)


@dataclass(frozen=True)
class Cell:
    """The cell of a claim's witness, in exact rationals."""

    file: PatchFile
    claim: Claim

    @cached_property
    def hat(self) -> Matrix:
        """The witness What."""
        return self.claim.tensors["W_hat"].rows()

    @cached_property
    def moving(self) -> list[int]:
        """T."""
        return self.claim.tensors["T"].integers()

    @cached_property
    def solved(self) -> list[int]:
        """S."""
        return self.claim.tensors["S"].integers()

    @cached_property
    def residual(self) -> Vector:
        """f(What) - y on all samples."""
        return self.file.residual(self.hat)

    def slope(self, i: int, j: int) -> Vector:
        """b_ji."""
        total = [ZERO] * len(self.hat[0])
        for q, z in enumerate(self.file.patches[i]):
            if dot(self.hat[j], z) > 0:
                total = [t + self.file.heads[j][q] * x for t, x in zip(total, z, strict=True)]
        return total

    @cached_property
    def J(self) -> Matrix:
        """One row per sample, all samples."""
        return [
            [entry for j in self.moving for entry in self.slope(i, j)]
            for i in range(len(self.file.y))
        ]

    @cached_property
    def G(self) -> Matrix:
        """Over the samples of S."""
        return [[dot(self.J[i], self.J[h]) for h in self.solved] for i in self.solved]

    @cached_property
    def square(self) -> Fraction:
        """rho^2."""
        return sum((self.residual[i] ** 2 for i in self.solved), ZERO)


def rank(A: Matrix) -> int:
    """By elimination."""
    rest, found = [list(row) for row in A], 0
    for column in range(len(A[0])):
        place = next((i for i in range(found, len(rest)) if rest[i][column]), None)
        if place is None:
            continue
        rest[found], rest[place] = rest[place], rest[found]
        for i in range(found + 1, len(rest)):
            factor = rest[i][column] / rest[found][column]
            if factor:
                rest[i] = [x - factor * y for x, y in zip(rest[i], rest[found], strict=True)]
        found += 1
    return found


def _sides_kept(cell: Cell, mu: Fraction) -> bool:
    """(RI) or (margin) for every filter of T and every patch that counts."""
    for j in cell.moving:
        slopes = [cell.slope(i, j) for i in cell.solved]
        for patches in cell.file.patches:
            for q, z in enumerate(patches):
                product2 = dot(cell.hat[j], z) ** 2
                near = product2 * mu >= dot(z, z) * cell.square
                reach = sum((dot(z, b) ** 2 for b in slopes), ZERO)
                far = product2 * mu**2 >= reach * cell.square
                if cell.file.heads[j][q] and not (near or far):
                    return False
    return True


def _roots_at_most(first: Fraction, second: Fraction, bound: Fraction) -> bool:
    """sqrt(first) + sqrt(second) <= bound, exactly."""
    rest = bound**2 - first - second
    return bound >= 0 and rest >= 0 and 4 * first * second <= rest**2


def distance2(A: Matrix, B: Matrix) -> Fraction:
    """The squared Frobenius norm of A - B."""
    return sum(
        ((x - y) ** 2 for a, b in zip(A, B, strict=True) for x, y in zip(a, b, strict=True)), ZERO
    )


def patch_checks(file: PatchFile, claim: Claim, *, believes: bool = True) -> Iterator[Check]:
    """Q1 to Q7; without belief in the witness G >= mu I is decided by elimination."""
    fields, cell = claim.fields, Cell(file, claim)
    mu = fields["mu"]
    yield "Q1", file.activation == "relu"
    yield "Q2", mu > 0
    if len(cell.solved) < len(file.y):
        system = [[*row, r] for row, r in zip(cell.J, cell.residual, strict=True)]
        yield "Q3", rank(system) <= len(cell.solved)
    loss = sum((r * r for r in file.residual(file.filters)), ZERO) / 2
    yield "Q4", loss <= fields["loss_upper"]
    if mu <= 0:
        return
    yield "Q5", _roots_at_most(distance2(cell.hat, file.filters), cell.square / mu, fields["R"])
    yield "Q6", _sides_kept(cell, mu)
    shifted = [[x - mu * (i == h) for h, x in enumerate(row)] for i, row in enumerate(cell.G)]
    definite = witnessed_exactly(shifted, claim.tensors["C"].rows())
    yield "Q7", definite if believes else is_semidefinite(shifted)


def nearest_zero(file: PatchFile, claim: Claim) -> Matrix:
    """The filters What + delta of the theorem; G must not be singular."""
    cell = Cell(file, claim)
    rows = [[*row, cell.residual[i]] for row, i in zip(cell.G, cell.solved, strict=True)]
    for s in range(len(rows)):
        place = next(i for i in range(s, len(rows)) if rows[i][s])
        rows[s], rows[place] = rows[place], rows[s]
        rows[s] = [x / rows[s][s] for x in rows[s]]
        for i in range(len(rows)):
            if i != s:
                rows[i] = [x - rows[i][s] * y for x, y in zip(rows[i], rows[s], strict=True)]
    found = [list(row) for row in cell.hat]
    for row, i in zip(rows, cell.solved, strict=True):
        for j in cell.moving:
            slope = cell.slope(i, j)
            found[j] = [w - row[-1] * b for w, b in zip(found[j], slope, strict=True)]
    return found


def _outcomes(raw: bytes, data: bytes | None, *, believes: bool) -> Iterator[Check]:
    file = read_patches(raw, data)
    yield "bias column", not file.bias or all(row[-1] == 1 for row in file.X)
    for index, claim in enumerate(file.claims):
        for name, holds in patch_checks(file, claim, believes=believes):
            yield f"claim {index}: {name}", holds


def check_bytes(raw: bytes, data: bytes | None = None) -> tuple[str, str]:
    """(verdict, reason) of a file with a patch network."""
    try:
        failed = [name for name, holds in _outcomes(raw, data, believes=True) if not holds]
    except MalformedError as error:
        return "MALFORMED", str(error)
    except OtherDataError as error:
        return "REJECTED", str(error)
    except NoDataError as error:
        return "UNDECIDED", str(error)
    return ("REJECTED", failed[0]) if failed else ("ACCEPTED", "every check holds")


def oracle_truth(raw: bytes, data: bytes | None = None) -> bool | None:
    """Do the inequalities hold for the exact quantities, whatever the witness C?"""
    try:
        return all(holds for _, holds in _outcomes(raw, data, believes=False))
    except (MalformedError, NoDataError):
        return None
    except OtherDataError:
        return False

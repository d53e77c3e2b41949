"""Sections 5.14 and 5.15 of spec/certificate-v1.md (theorem TB) on rational intervals: a slow
checker for filter files.

Another road than the checker's: the loss from the three second moments of student and teacher, the
angle by the arc tangent of its half, the loss of the trap from its output weights themselves. There
is no witness, so the slow checker is the truth oracle.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tests.oracles.claim_grammar import Fields, MalformedError, rationals, require
from tests.oracles.fraction_claims import Check, guarded
from tests.oracles.fraction_elementary import pi
from tests.oracles.fraction_intervals import Interval, at_most, larger, less, total
from tests.oracles.strict_container import MAX_CLAIMS, Tensor, _expect, read_sealed

PRECISIONS = (192, 512, 1536)
THEOREMS = {"spurious-minimum": "filter-trap/1", "global-basin": "filter-basin/1"}
HALVINGS = 5
Vector = list[Fraction]


@dataclass(frozen=True)
class FilterFile:
    """A filter file as exact numbers: student (v, a), teacher (w, true), claims as pairs of kind
    and fields.
    """

    v: Vector
    a: Vector
    w: Vector
    true: Vector
    claims: list[tuple[str, Fields]]


def _claim(entry: Any) -> tuple[str, Fields]:
    require(
        isinstance(entry, dict) and isinstance(entry.get("kind"), str),
        "a claim is not an object with a kind",
    )
    kind = entry["kind"]
    require(
        kind in THEOREMS and entry.get("theorem") == THEOREMS[kind],
        "not a claim about one filter, or the wrong theorem",
    )
    require(type(entry.get("version")) is int and entry["version"] == 1, "unknown claim version")
    needed = (
        rationals("loss_upper", "floor") if kind == "spurious-minimum" else rationals("loss_upper")
    )
    readers = needed | rationals("eta")
    names = set(entry) - {"kind", "version", "theorem"}
    require(set(needed) <= names <= set(readers), "claim has wrong fields")
    return kind, {name: readers[name](entry[name]) for name in names}


def _vector(tensors: dict[str, Tensor], name: str, length: int | None = None) -> Vector:
    require(name in tensors and len(tensors[name].shape) == 1, f"{name} is missing or not a vector")
    size = tensors[name].shape[0] if length is None else length
    return _expect(tensors, name, "F64", (size,)).numbers()


def read_filter(raw: bytes) -> FilterFile:
    """Parse a filter file."""
    top, tensors = read_sealed(raw)
    require(top["loss"] == "population-half-square", "unknown loss")
    require(
        top["network"] == {"kind": "filter"} and top["data"] == {"law": "gaussian-patches"},
        "unknown network or law",
    )
    entries = top["claims"]
    require(
        isinstance(entries, list) and 1 <= len(entries) <= MAX_CLAIMS,
        "claims must be a list of 1 to 64",
    )
    w, true = _vector(tensors, "true_filter"), _vector(tensors, "true_head")
    v, a = _vector(tensors, "filter", len(w)), _vector(tensors, "head", len(true))
    require(not tensors, "tensor that nobody asked for")
    return FilterFile(v, a, w, true, [_claim(entry) for entry in entries])


def dot(left: Vector, right: Vector) -> Fraction:
    """Exact inner product."""
    return sum((x * y for x, y in zip(left, right, strict=True)), Fraction(0))


def artan(x: Interval) -> Interval:
    """Arc tangent on [0, 1]: five times artan x = 2 artan(x/(1 + sqrt(1 + x^2))), then the
    alternating series.
    """
    one, bits = Interval.of(1, x.bits), x.bits
    for _ in range(HALVINGS):
        x = x / (one + (one + x.square()).sqrt())
    result, power, j = x, x, 1
    while power.high.bit_length() + power.exponent > -bits:
        j += 2
        power = power * x.square()
        term = power * Interval.of(Fraction(1, j), bits)
        result = result - term if j % 4 == 3 else result + term
    rest = abs(power)
    return (result + Interval.between(-rest, rest)) * Interval.of(2**HALVINGS, bits)


class Moments:
    """Enclosures of theorem TB's quantities at one precision; v, w*, a* are not zero."""

    def __init__(self, file: FilterFile, bits: int) -> None:
        self.file, self.bits, self.pi = file, bits, pi(bits)
        self.k, self.A, self.s = (
            len(file.true),
            dot(file.true, file.true),
            sum(file.true, Fraction(0)),
        )
        self.v2, self.w2 = dot(file.v, file.v), dot(file.w, file.w)
        self.W, self.one = self.of(self.w2).sqrt(), self.of(1)

    def of(self, value: Fraction | int) -> Interval:
        """The interval of a rational."""
        return Interval.of(value, self.bits)

    def g(self) -> Interval:
        """(pi - phi) cos phi + sin phi with the half angle as an arc tangent of a number in [0,
        1].
        """
        along = dot(self.file.v, self.file.w)
        square = self.v2 * self.w2 - along**2
        if square == 0:
            return self.pi if along > 0 else self.of(0)
        height, both = self.of(square).sqrt(), self.of(self.v2 * self.w2).sqrt()
        turn = self.of(2) * artan(height / (both + self.of(abs(along))))
        left = self.pi - turn if along >= 0 else turn
        return (left * self.of(along) + height) / both

    def loss_of(self, moments: tuple[Interval, Interval, Interval], g: Interval) -> Interval:
        """Half the mean square from |a|^2, 1 . a and a . a*: student, cross and teacher second
        moments.
        """
        a2, alpha, b = moments
        student = (self.pi - self.one) * a2 + alpha.square()
        cross = self.W * ((g - self.one) * b + alpha * self.of(self.s))
        teacher = self.of(self.w2) * ((self.pi - self.one) * self.of(self.A) + self.of(self.s**2))
        return (student - self.of(2) * cross + teacher) / (self.of(4) * self.pi)

    def loss(self) -> Interval:
        """Loss at the stored weights."""
        a, true = self.file.a, self.file.true
        return self.loss_of(
            (self.of(dot(a, a)), self.of(sum(a, Fraction(0))), self.of(dot(a, true))), self.g()
        )

    def trap_loss(self) -> Interval:
        """Loss at the opposite filter with a~ from (11^T + (pi-1) I) a~ = W (11^T - I) a*, solved
        row by row.
        """
        pull = self.of((self.k - 1) * self.s) / (self.of(self.k - 1) + self.pi)
        rows = [
            self.W * (self.of(self.s - x) - pull) / (self.pi - self.one) for x in self.file.true
        ]
        squares, alpha = total((x.square() for x in rows), self.bits), total(rows, self.bits)
        b = total((x * self.of(y) for x, y in zip(rows, self.file.true, strict=True)), self.bits)
        return self.loss_of((squares, alpha, b), self.of(0))

    def barrier(self) -> Interval:
        """W^2 |a*|^4/(2 a*^T M^{-1} a*), the inverse by the rank-one formula."""
        energy = self.of(self.A) - self.of(self.s**2) / (self.of(self.k - 1) + self.pi)
        inverse = self.of(2) * self.pi / (self.pi - self.one) * energy
        return self.of(self.w2 * self.A**2) / (self.of(2) * inverse)

    def beta(self, loss: Interval) -> Interval:
        """Bound of the Hessian along descent."""
        height, tau = self.of(self.A).sqrt(), self.of(2) * self.pi
        b_max = (
            self.W * self.of(self.A)
            + height * (self.of(2) * tau * loss / (self.pi - self.one)).sqrt()
        )
        filter_block = self.W * b_max / self.of(2 * self.v2)
        head_block = (self.of(self.k - 1) + self.pi) / tau
        cross = self.of(Fraction("1.81971")) * self.W * height / (tau * self.of(self.v2).sqrt())
        return larger(filter_block, head_block) + cross


def filter_checks(file: FilterFile, kind: str, fields: Fields, bits: int) -> Iterator[Check]:
    """T1 to T8."""
    for number, vector in (("T1a", file.v), ("T1b", file.w), ("T1c", file.true)):
        yield number, any(vector)
    b, at = dot(file.a, file.true), Moments(file, bits)
    yield "T2", b < 0 if kind == "spurious-minimum" else b > 0
    if kind == "global-basin":
        along = dot(file.v, file.w)
        yield "T8", not (along < 0 and along**2 == at.v2 * at.w2)
    loss = at.loss()
    yield "T3", less(loss, at.barrier())
    yield "T4", at_most(loss, at.of(fields["loss_upper"]))
    if "eta" in fields:
        yield "T5a", fields["eta"] > 0
        yield "T5b", less(at.of(fields["eta"]) * at.beta(loss), at.of(2))
    if kind == "spurious-minimum":
        yield "T6", fields["floor"] > 0
        yield "T7", at_most(at.of(fields["floor"]), at.trap_loss())


def _judged(file: FilterFile) -> tuple[bool | None, str]:
    undecided = ""
    for bits in PRECISIONS:
        outcomes: list[Check] = []
        for index, (kind, fields) in enumerate(file.claims):
            outcomes += [
                (f"claim {index}: {name}", x)
                for name, x in guarded(filter_checks(file, kind, fields, bits))
            ]
        failed = [name for name, outcome in outcomes if outcome is False]
        if failed:
            return False, failed[0]
        undecided = next((name for name, outcome in outcomes if outcome is None), "")
        if not undecided:
            return True, "every check holds"
    return None, undecided


def check_bytes(raw: bytes, _data: bytes | None = None) -> tuple[str, str]:
    """(verdict, reason) of a filter file."""
    try:
        file = read_filter(raw)
    except MalformedError as error:
        return "MALFORMED", str(error)
    accepted, reason = _judged(file)
    return {True: "ACCEPTED", False: "REJECTED", None: "UNDECIDED"}[accepted], reason


def oracle_truth(raw: bytes, _data: bytes | None = None) -> bool | None:
    """Do the claims' inequalities hold for the exact quantities? None if undecided or malformed."""
    try:
        return _judged(read_filter(raw))[0]
    except MalformedError:
        return None

"""The slow checker's inequalities as numbers: how much room each check of a file has, and at which
field that room is zero.

The comparisons of the oracle are recorded while it walks through a file; nothing of the fast
checker is used here. A tie found this way is known to about 700 bits, so that a file can be put on
either side of it at any distance the fast checker's precisions (128 to 1024 bits) can or cannot
see.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import Any

from tests.corpus.whole_files import Whole
from tests.oracles import fraction_additive_stream as additive
from tests.oracles import fraction_deep_claims as deep
from tests.oracles import fraction_factorization_claims as factorization
from tests.oracles import fraction_filter_claims as one_filter
from tests.oracles import fraction_patch_claims as patches
from tests.oracles import fraction_regularized as regularized
from tests.oracles import fraction_stream_claims as streams
from tests.oracles.definiteness import witnessed, witnessed_exactly
from tests.oracles.fraction_checker import CHECKS
from tests.oracles.fraction_claims import Check, Witnessed
from tests.oracles.fraction_intervals import Interval, at_most, less
from tests.oracles.fraction_network import Network
from tests.oracles.strict_container import network_kind, read

BITS = 720
GOAL = 650  # a tie is found when two steps agree to this many bits
STEPS = 40
Matrix = list[list[Fraction]]


@dataclass(frozen=True)
class Comparison:
    """One comparison of the oracle: the room it has, or the matrix and the factor of P1 (then the
    room is 1 - the residual).
    """

    room: Fraction
    A: Matrix | None = None
    C: Matrix | None = None


@dataclass(frozen=True)
class Step:
    """One check of the oracle with the last comparison it made, if it made one on enclosures or on
    P1.
    """

    name: str
    outcome: bool | None
    comparison: Comparison | None


def middle(value: Interval | Fraction) -> Fraction:
    """The midpoint of an enclosure, or the number itself."""
    return value if isinstance(value, Fraction) else (value.lower + value.upper) / 2


def square_root(value: Fraction, bits: int = BITS) -> Fraction:
    """The root of a nonnegative number, rounded down, to at least this many bits."""
    shift = 2 * bits + 2 * max(value.denominator.bit_length() - value.numerator.bit_length(), 0)
    return Fraction(isqrt((value.numerator << shift) // value.denominator), 1 << (shift // 2))


def residual(A: Matrix, C: Matrix) -> Fraction:
    """The Frobenius norm of C A C^T - I."""
    m = len(A)
    CA = [[sum((row[s] * A[s][j] for s in range(m)), Fraction(0)) for j in range(m)] for row in C]
    rest = [
        [sum((CA[i][s] * C[j][s] for s in range(m)), Fraction(0)) - int(i == j) for j in range(m)]
        for i in range(m)
    ]
    return square_root(sum((x * x for row in rest for x in row), Fraction(0)))


@contextmanager
def recording() -> Iterator[list[Comparison]]:
    """While this is open, every comparison of the oracle is appended to the list."""
    notes: list[Comparison] = []

    def compared(original: Callable[..., Any]) -> Callable[..., Any]:
        def compare(a: Interval, b: Interval) -> bool | None:
            notes.append(Comparison(middle(b - a)))
            return original(a, b)

        return compare

    def proved(original: Callable[..., Any]) -> Callable[..., Any]:
        def prove(A: Any, C: Any) -> bool | None:
            rows = [[middle(entry) for entry in row] for row in A]
            notes.append(Comparison(1 - residual(rows, C), rows, C))
            return original(A, C)

        return prove

    new: dict[Any, Any] = {f: compared(f) for f in (at_most, less)} | {
        f: proved(f) for f in (witnessed, witnessed_exactly)
    }
    modules = [
        module for name, module in list(sys.modules.items()) if name.startswith("tests.oracles.")
    ]
    places = [
        (m, name, f)
        for m in modules
        for name, f in list(vars(m).items())
        if callable(f) and any(f is g for g in new)
    ]
    try:
        for module, name, original in places:
            setattr(module, name, new[original])
        yield notes
    finally:
        for module, name, original in places:
            setattr(module, name, original)


def _checks(raw: bytes, bits: int) -> Iterator[Check]:
    """The checks of the first claim, by the judge that believes the witness only."""
    kind = network_kind(raw)
    if kind == "deep":
        file = deep.read_deep(raw)
        return deep.CHECKS[file.claims[0].kind](file, file.claims[0], Witnessed(), bits)
    if kind == "filter":
        start = one_filter.read_filter(raw)
        return one_filter.filter_checks(start, *start.claims[0], bits)
    if kind == "factorization":
        product = factorization.read_factorization(raw)
        return factorization.gap_checks(product, product.claims[0])
    if kind == "regularized":
        return next(regularized.walks(raw, bits))[1]
    if kind == "patches":
        cut = patches.read_patches(raw)
        return patches.patch_checks(cut, cut.claims[0])
    if kind == "stream":
        stream = streams.read_stream(raw)
        return streams.stream_checks(stream, stream.claims[0])
    if kind == "additive-stream":
        parts = additive.read_additive(raw)
        return additive.additive_checks(parts, parts.claims[0])
    certificate = read(raw)
    claim = certificate.claims[0]
    return CHECKS[claim.kind](Network(certificate, bits), claim, Witnessed())


def walk(raw: bytes, bits: int = BITS) -> Generator[Step, None, None]:
    """Every check of the first claim with its comparison, as long as the formulas make sense."""
    with recording() as notes:
        try:
            for name, outcome in _checks(raw, bits):
                yield Step(name, outcome, notes[-1] if notes else None)
                notes.clear()
        except (ArithmeticError, ValueError, OverflowError):
            return


def at(file: Whole, path: str) -> tuple[dict[str, Any], str]:
    """The object of the first claim in which a field lies, by its dotted path, and its name
    there.
    """
    *outer, name = path.split(".")
    inside = file.claim
    for part in outer:
        inside = inside[part]
    return inside, name


def rational(file: Whole, path: str) -> Fraction:
    """A rational field of the first claim."""
    inside, name = at(file, path)
    return Fraction(inside[name])


def has(file: Whole, path: str) -> bool:
    """Whether the first claim has this field."""
    try:
        inside, name = at(file, path)
    except KeyError:
        return False
    return name in inside


def with_field(file: Whole, path: str, value: Fraction) -> Whole:
    """The file with one rational of its first claim replaced; the arrays are shared."""
    result = Whole(copy.deepcopy(file.top), dict(file.tensors))
    inside, name = at(result, path)
    inside[name] = str(short(value))
    return result


def short(value: Fraction, bits: int = BITS) -> Fraction:
    """The number rounded to this many bits, so that it fits the format."""
    if value == 0:
        return value
    shift = bits + value.denominator.bit_length() - value.numerator.bit_length()
    scale = Fraction(2) ** shift
    return Fraction(round(value * scale)) / scale


def room(file: Whole, check: str) -> Fraction | None:
    """How much room the named check has in this file; None if the oracle does not get there."""
    steps = walk(file.sealed())
    found = next(
        (step.comparison for step in steps if step.name == check and step.comparison), None
    )
    steps.close()
    return None if found is None else found.room


@dataclass(frozen=True)
class Tie:
    """The value of a field at which a check has no room, and on which side of it (+1 above, -1
    below) the check holds.
    """

    path: str
    value: Fraction
    holds: int


def tie(file: Whole, check: str, path: str, start: Fraction = Fraction(1, 16)) -> Tie | None:
    """Where the field closes the room of the check, by the secant method from the stored value
    towards (1 + start) times it.
    """
    before = rational(file, path)
    now = before * (1 + start) if before else start
    values = [room(with_field(file, path, x), check) for x in (before, now)]
    last, here = values
    for _ in range(STEPS):
        if last is None or here is None or here == last or now <= 0:
            return None
        slope = (here - last) / (now - before)
        following = short(now - here / slope)
        if abs(following - now) * 2**GOAL <= abs(following):
            return Tie(path, following, 1 if slope > 0 else -1)
        before, last, now = now, here, following
        here = room(with_field(file, path, now), check)
    return None

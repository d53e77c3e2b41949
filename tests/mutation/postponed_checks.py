"""An attacker who postpones: files in which one chosen check is open at 128 bits and decided at
256, 512 or 1024.

A rational field is put beside the value at which the check has no room, at a relative distance of
2^-130 to 2^-600, on the side on which the check holds or on the other one. `KNOTS` names every
check that balls decide, with the field that ties it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from tests.corpus.whole_files import Whole
from tests.mutation import exact_ties as exact
from tests.mutation.factor_attacks import refitted
from tests.mutation.oracle_margins import Tie, has, rational, room, short, tie, with_field
from tests.mutation.tiny_instances import base

from globalmin_check import limits
from globalmin_check.engine import check_bytes

SLOWEST = 1 - Fraction(
    1, 2**640
)  # a rate just below 1, where the decay itself is made as small as a tie
EXPONENTS = (130, 140, 160, 200, 240, 300, 400, 480, 560, 600)
Prelude = Callable[[Whole], Whole | None]


@dataclass(frozen=True)
class Knot:
    """A numbered check, its name in the slow checker, the field that ties it, and what must be made
    room for first.
    """

    number: str
    check: str
    path: str
    prelude: Prelude | None = None
    closed_form: Callable[[Whole], Tie | None] | None = None
    refit: bool = False


@dataclass(frozen=True)
class Tied:
    """A file and the tie of one of its checks."""

    number: str
    file: Whole
    tie: Tie
    refit: bool


def changed(file: Whole, **fields: Fraction) -> Whole:
    """The file with other rationals; a double underscore stands for a dot."""
    for name, value in fields.items():
        file = with_field(file, name.replace("__", "."), value)
    return file


def _without(file: Whole, path: str) -> Whole:
    result = file.copy()
    result.claim.pop(path, None)
    return result


def _room_for_newton(file: Whole) -> Whole:
    """I5: a larger R, no lower radius."""
    R = min(rational(file, "R") * Fraction(5, 2), rational(file, "rho"))
    return _without(changed(file, R=R), "R_lo")


def _room_for_descent(file: Whole) -> Whole:
    """D5: the decay becomes as small as the tie, the path as long as it can be."""
    return changed(
        file, path=rational(file, "rho") * 2, eta=rational(file, "eta") / 16, rate=SLOWEST
    )


def _deep_constant(file: Whole) -> Fraction | None:
    """Lam t, from the room of N4."""
    left = room(file, "Lam t < a")
    return None if left is None else Fraction(float(rational(file, "a2")) ** 0.5) - left


def _room_for_deep_slope(file: Whole) -> Whole | None:
    """N4: t so large that the residual fits although a is only Lam t; a2 starts near its tie."""
    g = Fraction(float(rational(file, "loss_upper")) ** 0.5 * 1.5)
    t, moved = rational(file, "t"), _deep_constant(file)
    if moved is None or moved <= 0:
        return None
    t = short(Fraction(float(5 * g * t / moved) ** 0.5), 60)
    file = changed(file, t=t, eta=rational(file, "eta") / 16, rate=SLOWEST)
    moved = _deep_constant(file)
    return None if moved is None or moved <= 0 else changed(file, a2=moved**2 * Fraction(11, 10))


def _room_for_deep_residual(file: Whole) -> Whole:
    """N5: a2 will shrink by a third, and the decay with it."""
    return changed(file, rate=1 - (1 - rational(file, "rate")) / 4)


def _room_for_barrier(file: Whole) -> Whole:
    """B6: s2 becomes as small as the tie."""
    return changed(file, rate=SLOWEST)


def _room_for_cell(file: Whole) -> Whole:
    """R6: mu will be as small as the margins allow, so the radius is large."""
    return changed(file, R=Fraction(10**6))


def _room_for_residual(file: Whole) -> Whole:
    """V8: lam will be as small as the residual allows."""
    return changed(file, rate=1 - (1 - rational(file, "rate")) / 10**6)


def _room_for_margins(file: Whole) -> Whole:
    """L12: tau grows until the distance from the linear run is too large; the path with it."""
    eps, lam = rational(file, "eps"), rational(file, "lam")
    wide = changed(file, path=rational(file, "path") * 10**30, eps=max(eps, lam / 64))
    return changed(wide, rate=1 - (1 - rational(file, "rate")) / 2)


def _room_for_sigma(file: Whole) -> Whole:
    """A7: the claimed difference stays below its bound."""
    return changed(file, difference=rational(file, "difference") / 4)


def _room_for_decay(file: Whole) -> Whole:
    """O7, O8: the penalty grows with the decay, and the gap with it."""
    return changed(file, gap=rational(file, "gap") + 10**6)


def _room_for_delta(file: Whole) -> Whole:
    """T5, T6: delta may grow by orders of magnitude where the Hessian is positive."""
    return (
        changed(file, radius__epsilon=rational(file, "radius.epsilon") * 10**30)
        if has(file, "radius.epsilon")
        else file
    )


def _closed_form_only(file: Whole) -> Whole | None:
    """G7: the error of a quadrature does not shrink with the precision, so that a tie of lam would
    stay open for ever.
    """
    return file if file.claim["method"] == "closed" else None


LOSS = ("loss_upper", "loss_upper")
KNOTS: dict[str, tuple[Knot, ...]] = {
    "interpolation": (
        Knot("I4", *LOSS),
        Knot("I5", "2 Lip e < a", "quartic.kappa", _room_for_newton, refit=True),
        Knot("I6", "R", "R"),
        Knot("I7c", "R_lo", "R_lo"),
        Knot("I8", "quartic kappa", "quartic.kappa"),
        Knot("I9", "beta2", "beta2"),
        Knot("I10", "a2", "a2"),
    ),
    "descent": (
        Knot("D4", *LOSS),
        Knot("D5", "2 Lip g < a2", "quartic.kappa", _room_for_descent, refit=True),
        Knot("D6", "S <= rho", "rho", refit=True),
        Knot("D7", "path", "path"),
        Knot("D8", "eta", "eta"),
        Knot("D9", "rate", "rate"),
        Knot("D10", "b2", "b2"),
        Knot("D11", "quartic kappa", "quartic.kappa"),
        Knot("D12", "beta2", "beta2"),
        Knot("D13", "a2", "a2"),
    ),
    "relu-interpolation": (
        Knot("R5", "R", "R"),
        Knot("R6", "margins", "mu", _room_for_cell, exact.cell_margin, refit=True),
        Knot("R7", "mu", "mu", _room_for_cell),
    ),
    "patch-interpolation": (
        Knot("Q4", "Q4", "loss_upper", closed_form=exact.patch_loss),
        Knot("Q5", "Q5", "R", closed_form=exact.patch_radius),
        Knot("Q6", "Q6", "mu", _room_for_cell, exact.patch_margin, refit=True),
        Knot("Q7", "Q7", "mu", _room_for_cell),
    ),
    "loss-floor": (Knot("F7", *LOSS),),
    "optimality-gap": (
        Knot("O5", "gap", "gap", closed_form=exact.dual_gap),
        Knot("O7", "Z >= -c", "decay", _room_for_decay),
        Knot("O8", "Z <= c", "decay", _room_for_decay),
        Knot("O9", "gap", "gap"),
        Knot("O10", "mu", "mu"),
    ),
    "identifies": (Knot("U6", "mu", "mu"),),
    "ambiguous": (Knot("A7", "sigma2", "sigma2", _room_for_sigma),),
    "below-barrier": (
        Knot("B5", "E0", "E0"),
        Knot("B6", "s2 > 0", "a_lo", _room_for_barrier, refit=True),
        Knot("B7", "eta", "eta"),
        Knot("B8", "rate", "rate"),
        Knot("B9", "a_lo", "a_lo"),
        Knot("B10", "a_hi", "a_hi"),
        Knot("B11", "Phi", "Phi"),
        Knot("B12", "phi", "phi"),
    ),
    "strict-saddle": (
        Knot("S4", *LOSS),
        Knot("S5", "eps", "eps"),
        Knot("S6", "gamma", "gamma"),
        Knot("S8", "lam", "radius.lam"),
        Knot("S8", "Lip", "radius.Lip"),
        Knot("S9", "kappa", "radius.quartic.kappa"),
    ),
    "second-order-stationary": (
        Knot("T3", *LOSS),
        Knot("T4", "eps", "eps"),
        Knot("T5", "delta", "delta", _room_for_delta),
        Knot("T6.0", "block 0", "delta", _room_for_delta),
        Knot("T6.1", "block 1", "delta", _room_for_delta),
        Knot("T8", "lam", "radius.lam"),
        Knot("T8", "Lip", "radius.Lip"),
        Knot("T9", "kappa", "radius.quartic.kappa"),
        Knot("T12", "mu", "radius.minimum.mu"),
    ),
    "relu-descent": (
        Knot("V8", "residual", "lam", _room_for_residual, exact.relu_residual, refit=True),
        Knot("V9", "eps", "eps", None, exact.relu_spread),
        Knot("V10", "Lam", "Lam", None, exact.relu_rows),
        Knot("V10", "Lam", "Lam"),
        Knot("V11", "lam", "lam"),
    ),
    "relu-linearized-descent": (
        Knot("L8", "tau", "tau"),
        Knot("L9", "eps", "eps", None, exact.relu_spread),
        Knot("L10", "Lam", "Lam", None, exact.relu_rows),
        Knot("L10", "Lam", "Lam"),
        Knot("L11", "lam", "lam"),
        Knot("L12", "margins", "tau", _room_for_margins),
    ),
    "gram-positive": (Knot("G4", *LOSS), Knot("G7", "lam", "lam", _closed_form_only)),
    "deep-descent": (
        Knot("N3", *LOSS),
        Knot("N4", "Lam t < a", "a2", _room_for_deep_slope, refit=True),
        Knot("N5", "residual", "a2", _room_for_deep_residual, refit=True),
        Knot("N6", "eta", "eta"),
        Knot("N7", "rate", "rate"),
        Knot("N9", "b2", "b2"),
        Knot("N10", "a2", "a2"),
    ),
    "relu-trajectory": (
        Knot("RT10", "x2", "x2"),
        Knot("RT12", "tau", "tau"),
        Knot("RT13", "eps", "eps", None, exact.relu_spread),
        Knot("RT14", "Lam", "Lam", None, exact.relu_rows),
        Knot("RT14", "Lam", "Lam"),
        Knot("RT15", "lam", "lam"),
        Knot("RT16", "margins", "tau", _room_for_margins),
    ),
    "deep-trajectory": (
        Knot("DT5", *LOSS),
        Knot("DT9", "rate", "rate"),
        Knot("DT12", "b2", "b2"),
        Knot("DT13", "a2", "a2"),
    ),
    "spurious-minimum": (
        Knot("T4", "T4", "loss_upper"),
        Knot("T5b", "T5b", "eta"),
        Knot("T7", "T7", "floor"),
    ),
    "global-basin": (Knot("T4", "T4", "loss_upper"), Knot("T5b", "T5b", "eta")),
    "unique-minimum": (
        Knot("U3", *LOSS),
        Knot("U4", "modulus", "mu"),
        Knot("U5", "upper bound", "M"),
        Knot("U6", "gradient", "r_minus"),
        Knot("U10", "m0", "m0"),
        Knot("U11", "M0", "M0"),
        Knot("U12", "kappa", "quartic.kappa"),
        Knot("U13", "lam", "lam"),
        Knot("U13", "flat2", "flat2"),
        Knot("U14", "square", "square.kappa"),
    ),
    "trajectory": (
        Knot("J5", *LOSS),
        Knot("J8", "S' + Delta <= rho", "rho", refit=True),
        Knot("J9", "step", "b2"),
        Knot("J10", "rate", "rate"),
        Knot("J12", "x2", "x2"),
        Knot("J13", "b2", "b2"),
        Knot("J14", "quartic kappa", "quartic.kappa"),
        Knot("J15", "a2", "a2"),
    ),
    "sgd-trajectory": (
        Knot("Q5", *LOSS),
        Knot("Q9", "D + M + Delta <= rho", "rho", refit=True),
        Knot("Q11", "x2", "x2"),
        Knot("Q12", "quartic kappa", "quartic.kappa"),
        Knot("Q13", "a2", "a2"),
    ),
    "dual-gap": (
        Knot("Y10", "Y10", "gamma_plus"),
        Knot("Y12", "Y12", "p_up"),
        Knot("Y13", "Y13", "p_low"),
    ),
    "unused-terms": (Knot("Z12", "Z12", "p_up"), Knot("Z13", "Z13", "p_low")),
    "head-gap": (
        Knot("H2", *LOSS),
        Knot("H3", "gap", "gap"),
        Knot("H4", "mu of columns", "mu"),
        Knot("H5", "R", "R"),
        Knot("H6", "mu of rows", "mu"),
    ),
    "stream-gap": (Knot("H5", "H5", "v_max"), Knot("H6", "H6", "v_max")),
    "additive-stream-gap": (),  # no balls: all of it is exact
    "factorization-gap": (
        Knot("F2", "F2", "loss_upper", closed_form=exact.factor_loss),
        Knot("F4", "F4", "a"),
        Knot("F5", "F5", "b", closed_form=exact.outside_norm),
        Knot("F6", "F6", "b"),
        Knot("F7", "F7", "gap", closed_form=exact.factor_gap),
        Knot("F8", "F8", "floor", closed_form=exact.factor_floor),
    ),
}

# Checks that no field can tie: the norms omega are doubles, the last slope is an integral, the
# barrier is made of stored numbers.
# They are postponed by a small factor (N8) or by `stored_ties`.
FIELDLESS = {
    "deep-descent": {"N8.1", "N8.2"},
    "deep-trajectory": {"DT11.1", "DT11.2"},
    "gram-positive": {"G6"},
    "spurious-minimum": {"T3"},
    "global-basin": {"T3"},
    "dual-gap": {"Y11"},
}
# Losses of networks with a rational activation: where balls do not decide, small files are compared
# as exact rationals at once.
EXACT_LOSSES = {
    "relu-interpolation": "R4",
    "optimality-gap": "O4",
    "identifies": "U4",
    "ambiguous": "A5",
    "below-barrier": "B4",
    "relu-descent": "V7",
    "relu-linearized-descent": "L7",
    "relu-trajectory": "RT9",
}


def postponable(kind: str) -> set[str]:
    """The numbers of all checks of a kind that balls decide in small files."""
    return {knot.number for knot in KNOTS[kind]} | FIELDLESS.get(kind, set())


@contextmanager
def only_at(bits: int) -> Iterator[None]:
    """The fast checker with a single precision."""
    before = limits.PRECISIONS
    limits.PRECISIONS = (bits,)
    try:
        yield
    finally:
        limits.PRECISIONS = before


def open_checks(raw: bytes, bits: int = 128) -> set[str]:
    """The numbers of the checks that this precision alone leaves open."""
    with only_at(bits):
        claims = check_bytes(raw).claims
    return {line.number for claim in claims for line in claim.checks if line.outcome == "undecided"}


def found_tie(file: Whole, knot: Knot) -> Tied | None:
    """The tie of the knot in this file, after its prelude."""
    if not has(file, knot.path):
        return None
    ready = knot.prelude(file) if knot.prelude else file
    if ready is None:
        return None
    found = knot.closed_form(ready) if knot.closed_form else tie(ready, knot.check, knot.path)
    return None if found is None else Tied(knot.number, ready, found, knot.refit)


@lru_cache(maxsize=512)
def cached_tie(kind: str, number: int, knot: Knot) -> Tied | None:
    """The tie of a knot in an honest file."""
    return found_tie(base(kind, number), knot)


def beside(tied: Tied, exponent: int, side: int) -> Whole:
    """The file with its field at a relative distance of 2^-exponent from the tie; side +1: the
    check holds, -1: it fails.
    """
    value = tied.tie.value * (1 + side * tied.tie.holds * Fraction(1, 2**exponent))
    result = with_field(tied.file, tied.tie.path, value)
    return refitted(result) if tied.refit else result

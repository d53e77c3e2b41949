"""Free hidden biases, all columns at once: one positive definite matrix per slab of the bias and
sign of u (R4-free of `spec/claims/dual-gap.md`).

With y = x - m a bias that matters has |beta| <= max |y|. For a unit vector w and beta in the slab
[e, f], t = y . w + beta is in [e - |y|, f + |y|].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import lcm

from flint import arb

from globalmin_check import limits
from globalmin_check.balls import ball, total
from globalmin_check.canonical import Fields, rational
from globalmin_check.checks import Checks, ExactChecks
from globalmin_check.claims.dual_constraints import signs_of_heads
from globalmin_check.claims.regularized_network import Form
from globalmin_check.claims.scaled import Scaled, scaled
from globalmin_check.container import Tensor, Tensors
from globalmin_check.positive import require_positive_definite
from globalmin_check.primitives import Rows, weighted_gram
from globalmin_check.verdict import Malformed

NAMES = {1: "plus", -1: "minus"}
Integers = tuple[list[list[int]], int]


@dataclass(frozen=True)
class Slabs:
    """The witness: the shift m, the ends of the slabs, four numbers per slab and row, and per sign
    and slab gamma, delta and the factor of P1.
    """

    center: Tensor
    edges: tuple[Fraction, ...]
    rho: Tensor
    sig: Tensor
    al: Tensor
    be: Tensor
    gamma: dict[int, tuple[Fraction, ...]]
    delta: dict[int, tuple[Fraction, ...]]
    factors: dict[int, list[Tensor]]


def read_slabs(fields: Fields, tensors: Tensors, form: Form, n: int) -> Slabs:
    """Take the witness; form only."""
    edges = _rationals(fields, "slabs")
    count = len(edges) - 1
    if not 1 <= count <= limits.SLABS:
        raise Malformed(f"{fields.where}.slabs is not the ends of 1 to {limits.SLABS} slabs")
    size, signs = form.width + 2, signs_of_heads(form)
    rho, sig, al, be = (tensors.take(role, "F64", count, n) for role in ("rho", "sig", "al", "be"))
    gamma, delta = (
        {sign: _rationals(fields, f"{name}_{NAMES[sign]}", count) for sign in signs}
        for name in ("gamma", "delta")
    )
    factors = {
        sign: [tensors.take(f"C_{NAMES[sign]}_{j}", "F64", size, size) for j in range(count)]
        for sign in signs
    }
    center = tensors.take("center", "F64", form.width)
    return Slabs(center, edges, rho, sig, al, be, gamma, delta, factors)


def _rationals(fields: Fields, key: str, count: int | None = None) -> tuple[Fraction, ...]:
    values = fields.array(key)
    if len(values) != (len(values) if count is None else count):
        raise Malformed(f"{fields.where}.{key} has not one entry for each slab")
    return tuple(rational(value, f"{fields.where}.{key}") for value in values)


def centered(rows: Integers, center: Tensor) -> Integers:
    """The rows x_i - m as integers over one unit."""
    shift = scaled(center.values)
    unit = lcm(rows[1], shift.unit)
    factor, moved = unit // rows[1], shift.over(unit)
    return [[x * factor - m for x, m in zip(row, moved, strict=True)] for row in rows[0]], unit


def require_slab_slopes(slabs: Slabs, rows: Integers, u: Scaled, checks: ExactChecks) -> None:
    """Y14 and Y9: the slabs cover every kink, delta >= 0; the conditions on the slopes."""
    squares = [Fraction(sum(x * x for x in row), rows[1] ** 2) for row in rows[0]]
    low, high = slabs.edges[0], slabs.edges[-1]
    covers = low < 0 < high and max(squares) <= min(low * low, high * high)
    rises = all(e < f for e, f in pairwise(slabs.edges))
    signed = all(delta >= 0 for deltas in slabs.delta.values() for delta in deltas)
    checks.require_fact(
        "Y14",
        "the slabs rise from below -|x_k - m| to above |x_k - m| for every row, and delta >= 0",
        covers and rises and signed,
        f"{len(slabs.edges) - 1} slabs",
    )
    bad = ""
    for j, ends in enumerate(pairwise(slabs.edges)):
        for i, (square, U) in enumerate(zip(squares, u.values, strict=True)):
            place = j * len(squares) + i
            if not all(_fits(slabs, place, sign * U, square, ends) for sign in slabs.gamma):
                bad = bad or f"those of row {i} in slab {j}"
    checks.require_fact(
        "Y9",
        "4 sig rho >= 1 or the row is decided; be (|y| + f) <= 1 - al, be (|y| - e) <= al",
        not bad,
        bad or f"{len(squares)} rows",
    )


def _fits(
    slabs: Slabs, place: int, U: int, square: Fraction, ends: tuple[Fraction, Fraction]
) -> bool:
    """The slopes of one row in one slab, for the sign that U has in it."""
    if U > 0:
        rho, sig = Fraction(slabs.rho.values[place]), Fraction(slabs.sig.values[place])
        return _decided(square, ends) is not None if rho == 0 else rho > 0 and 4 * sig * rho >= 1
    if U == 0:
        return True
    al, be = Fraction(slabs.al.values[place]), Fraction(slabs.be.values[place])
    rooms = (1 - al - be * ends[1], al + be * ends[0])
    return (
        0 <= al <= 1
        and be >= 0
        and all(room >= 0 and be * be * square <= room * room for room in rooms)
    )


def _decided(square: Fraction, ends: tuple[Fraction, Fraction]) -> bool | None:
    """Whether the row is active in the whole slab (|y| <= e) or nowhere in it (|y| <= -f)."""
    if ends[0] >= 0 and square <= ends[0] ** 2:
        return True
    return False if ends[1] <= 0 and square <= ends[1] ** 2 else None


def require_slab_matrices(
    slabs: Slabs, rows: Integers, u: Scaled, b: Fraction, checks: Checks
) -> None:
    """Y10: P1 on the matrix of every slab and sign."""
    unit = arb(rows[1])
    columns = [[x / unit for x in map(arb, column)] for column in zip(*rows[0], strict=True)]
    columns.append([arb(1)] * len(rows[0]))
    squares = [Fraction(sum(x * x for x in row), rows[1] ** 2) for row in rows[0]]
    numbers = [arb(U) / u.unit for U in u.values]
    for j, ends in enumerate(pairwise(slabs.edges)):
        active = [_decided(square, ends) is True for square in squares]
        for sign, factors in slabs.factors.items():
            signed = [sign * value for value in numbers]
            matrix = _matrix(slabs, j, columns, signed, active)
            gamma, delta = slabs.gamma[sign][j], slabs.delta[sign][j]
            _add_multipliers(matrix, gamma, delta, ends, b)
            name = f"the matrix of slab {j} for {'-' * (sign < 0)}u"
            require_positive_definite(checks, "Y10", name, matrix, factors[j])


def _matrix(slabs: Slabs, j: int, columns: Rows, u: Sequence[arb], active: Sequence[bool]) -> Rows:
    """-[[Q, c/2], [c^T/2, k]], the lower triangle; u has the sign in it."""
    rho, sig, al, be = (part.row(j) for part in (slabs.rho, slabs.sig, slabs.al, slabs.be))
    curves: list[arb] = []
    slants: list[arb] = []
    k = arb(0)
    for i, value in enumerate(u):
        if not value > 0:
            curves.append(value * arb(be[i]))
            slants.append(value * arb(al[i]))
        elif rho[i]:
            curves.append(value * arb(rho[i]) / 2)
            slants.append(value / 2)
            k += value * arb(sig[i]) / 2
        else:
            curves.append(arb(0))
            slants.append(value if active[i] else arb(0))
    Q = weighted_gram(columns, curves)
    c = [total(map(arb.__mul__, slants, column)) for column in columns]
    return [
        *([-entry for entry in row[: i + 1]] for i, row in enumerate(Q)),
        [*(-entry / 2 for entry in c), -k],
    ]


def _add_multipliers(
    matrix: Rows, gamma: Fraction, delta: Fraction, ends: tuple[Fraction, Fraction], b: Fraction
) -> None:
    """The part gamma (|w|^2 - 1) + delta (beta - e)(beta - f) + b of the form."""
    size = len(matrix) - 1
    for i in range(size - 1):
        matrix[i][i] += ball(gamma)
    matrix[size - 1][size - 1] += ball(delta)
    matrix[size][size - 1] -= ball(delta * (ends[0] + ends[1]) / 2)
    matrix[size][size] += ball(b - gamma + delta * ends[0] * ends[1])

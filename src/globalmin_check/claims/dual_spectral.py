"""All columns at once: one positive definite matrix per sign of u (R4 of
`spec/claims/dual-gap.md`).

For a unit vector w, relu(t) <= t/2 + sig/2 + rho t^2/2 at the rows with u > 0 and relu(t) >= al t +
be t^2 at those with u < 0, t = x . w.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from globalmin_check.balls import ball, total
from globalmin_check.canonical import Fields
from globalmin_check.checks import Checks, ExactChecks
from globalmin_check.claims.dual_constraints import signs_of_heads
from globalmin_check.claims.regularized_network import Form
from globalmin_check.claims.scaled import Scaled
from globalmin_check.container import Tensor, Tensors
from globalmin_check.positive import require_positive_definite
from globalmin_check.primitives import Rows, weighted_gram

NAMES = {1: "plus", -1: "minus"}


@dataclass(frozen=True)
class Slopes:
    """The witness: four numbers per row, and per sign gamma and the factor of P1."""

    rho: Tensor
    sig: Tensor
    al: Tensor
    be: Tensor
    gamma: dict[int, Fraction]
    factors: dict[int, Tensor]


def read_slopes(fields: Fields, tensors: Tensors, form: Form, n: int) -> Slopes:
    """Take the witness; form only."""
    size = form.width + form.penalizes_bias + 1
    signs = signs_of_heads(form)
    rho, sig, al, be = (tensors.take(role, "F64", n) for role in ("rho", "sig", "al", "be"))
    return Slopes(
        rho,
        sig,
        al,
        be,
        {sign: fields.rational(f"gamma_{NAMES[sign]}") for sign in signs},
        {sign: tensors.take(f"C_{NAMES[sign]}", "F64", size, size) for sign in signs},
    )


def require_slopes(
    slopes: Slopes, rows: tuple[list[list[int]], int], u: Scaled, checks: ExactChecks
) -> None:
    """Y9: the conditions on rho, sig, al, be where the signs of the claim use them."""
    bad = ""
    for i, (row, U) in enumerate(zip(rows[0], u.values, strict=True)):
        for sign in slopes.gamma:
            if sign * U > 0 and not _above(slopes, i):
                bad = bad or f"rho or sig of row {i}"
            if sign * U < 0 and not _below(
                slopes, i, Fraction(sum(x * x for x in row), rows[1] ** 2)
            ):
                bad = bad or f"al or be of row {i}"
    checks.require_fact(
        "Y9",
        "4 sig rho >= 1, be^2 |x|^2 <= min(al, 1 - al)^2",
        not bad,
        bad or f"{len(u.values)} rows",
    )


def _above(slopes: Slopes, i: int) -> bool:
    rho, sig = Fraction(slopes.rho.values[i]), Fraction(slopes.sig.values[i])
    return rho > 0 and 4 * sig * rho >= 1


def _below(slopes: Slopes, i: int, square: Fraction) -> bool:
    al, be = Fraction(slopes.al.values[i]), Fraction(slopes.be.values[i])
    room = min(al, 1 - al)
    return room >= 0 and be >= 0 and be * be * square <= room * room


def require_matrices(
    slopes: Slopes, rows: tuple[list[list[int]], int], u: Scaled, b: Fraction, checks: Checks
) -> None:
    """Y10: P1 on [[gamma I - Q, -c/2], [-c^T/2, b - k - gamma]] for every sign."""
    unit = arb(rows[1])
    columns = [[x / unit for x in map(arb, column)] for column in zip(*rows[0], strict=True)]
    numbers = [arb(U) / u.unit for U in u.values]
    for sign, gamma in slopes.gamma.items():
        name = f"[[gamma I - Q, -c/2], [-c^T/2, b - k - gamma]] for {'-' * (sign < 0)}u"
        matrix = _matrix(slopes, columns, [sign * value for value in numbers], gamma, b)
        require_positive_definite(checks, "Y10", name, matrix, slopes.factors[sign])


def _matrix(slopes: Slopes, columns: Rows, u: Sequence[arb], gamma: Fraction, b: Fraction) -> Rows:
    """The lower triangle; u has the sign in it, and an enclosure of zero is exactly zero."""
    up = [value > 0 for value in u]
    curved = zip(u, up, slopes.rho.values, slopes.be.values, strict=True)
    sloped = zip(u, up, slopes.al.values, strict=True)
    Q = weighted_gram(columns, [v * (arb(rho) / 2 if a else arb(be)) for v, a, rho, be in curved])
    slants = [v * (arb(0.5) if a else arb(al)) for v, a, al in sloped]
    c = [total(map(arb.__mul__, slants, column)) for column in columns]
    k = total(v * sig / 2 for v, a, sig in zip(u, up, slopes.sig.values, strict=True) if a)
    matrix = [[-entry for entry in row[: i + 1]] for i, row in enumerate(Q)]
    for i, row in enumerate(matrix):
        row[i] += ball(gamma)
    return [*matrix, [*(-entry / 2 for entry in c), ball(b - gamma) - k]]

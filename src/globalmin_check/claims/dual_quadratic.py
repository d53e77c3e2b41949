"""Quadratic neurons: -aI < sum_i u_i x_i x_i^T < aI with a = b/(2 v_max) (R5 of
`spec/claims/dual-gap.md`).
"""

from __future__ import annotations

from itertools import compress

from flint import arb

from globalmin_check.checks import Checks, ExactChecks
from globalmin_check.claims.regularized_network import Form
from globalmin_check.claims.scaled import Scaled
from globalmin_check.container import Tensor, Tensors
from globalmin_check.positive import require_positive_definite
from globalmin_check.primitives import Rows, shifted, weighted_gram

# products of all entries over products of nonzeros, from which on integers over the nonzeros are
# quicker than balls
_ZEROS = 64


def read_factors(tensors: Tensors, form: Form) -> dict[int, Tensor]:
    """The factors of P1, by the sign of Z."""
    size = form.d + form.penalizes_bias
    roles = {1: "C_lower"} if form.heads == "nonnegative" else {1: "C_lower", -1: "C_upper"}
    return {sign: tensors.take(role, "F64", size, size) for sign, role in roles.items()}


def _dense_sum(rows: tuple[list[list[int]], int], u: Scaled) -> Rows:
    """The lower triangle of Z(u) in balls."""
    unit = arb(rows[1])
    columns = [[x / unit for x in map(arb, column)] for column in zip(*rows[0], strict=True)]
    return weighted_gram(columns, [arb(U) / u.unit for U in u.values])


def _enclosed(sums: list[list[int]], unit: int) -> Rows:
    """The same in balls, from the integers of `sparse_sums`."""
    return [[arb(entry) / unit if entry else arb(0) for entry in line] for line in sums]


def sparse_sums(
    rows: tuple[list[list[int]], int], u: Scaled, checks: ExactChecks
) -> list[list[int]]:
    """The lower triangle of sum_i U_i x_i x_i^T in integers, where the rows are mostly zeros; empty
    if they are not.
    """
    values, size = rows[0], len(rows[0][0])
    places = [list(compress(range(size), row)) for row in values]
    terms = sum(len(own) ** 2 for own in places)
    if _ZEROS * terms > len(values) * size**2:
        return []
    longest = max(max(map(abs, row)) for row in values).bit_length()
    checks.charge(terms)
    checks.charge_memory(size**2 + terms * ((u.bits + 2 * longest) // 512))
    sums = [[0] * (i + 1) for i in range(size)]
    for U, row, own in zip(u.values, values, places, strict=True):
        for end, i in enumerate(own, 1):
            line, factor = sums[i], U * row[i]
            for j in own[:end]:
                line[j] += factor * row[j]
    return sums


def require_squares(
    factors: dict[int, Tensor],
    rows: tuple[list[list[int]], int],
    u: Scaled,
    form: Form,
    checks: Checks,
    *,
    sums: list[list[int]],
) -> None:
    """Y11: P1 on aI + Z and, for heads of both signs, on aI - Z."""
    Z = _enclosed(sums, rows[1] ** 2 * u.unit) if sums else _dense_sum(rows, u)
    a = form.b / (2 * form.v_max)
    for sign, C in factors.items():
        name = "aI + Z" if sign > 0 else "aI - Z"
        require_positive_definite(checks, "Y11", name, shifted(Z, sign, a), C)

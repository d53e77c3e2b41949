"""Quadratic neurons: -aI < sum_i u_i x_i x_i^T < aI with a = b/(2 v_max) (R5 of
`spec/claims/dual-gap.md`).
"""

from __future__ import annotations

from flint import arb

from globalmin_check.checks import Checks
from globalmin_check.claims.regularized_network import Form
from globalmin_check.claims.scaled import Scaled
from globalmin_check.container import Tensor, Tensors
from globalmin_check.positive import require_positive_definite
from globalmin_check.primitives import shifted, weighted_gram


def read_factors(tensors: Tensors, form: Form) -> dict[int, Tensor]:
    """The factors of P1, by the sign of Z."""
    size = form.d + form.penalizes_bias
    roles = {1: "C_lower"} if form.heads == "nonnegative" else {1: "C_lower", -1: "C_upper"}
    return {sign: tensors.take(role, "F64", size, size) for sign, role in roles.items()}


def require_squares(
    factors: dict[int, Tensor],
    rows: tuple[list[list[int]], int],
    u: Scaled,
    form: Form,
    checks: Checks,
) -> None:
    """Y11: P1 on aI + Z and, for heads of both signs, on aI - Z."""
    unit = arb(rows[1])
    columns = [[x / unit for x in map(arb, column)] for column in zip(*rows[0], strict=True)]
    Z = weighted_gram(columns, [arb(U) / u.unit for U in u.values])
    a = form.b / (2 * form.v_max)
    for sign, C in factors.items():
        name = "aI + Z" if sign > 0 else "aI - Z"
        require_positive_definite(checks, "Y11", name, shifted(Z, sign, a), C)

"""Theorem R1 of `spec/claims/dual-gap.md` for several outputs that share the neurons: the dual
matrix with its equations and domains, its value D(U), and the objective P of the stored network.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from operator import add

from globalmin_check import limits
from globalmin_check.balls import Number, shown
from globalmin_check.checks import Checks, ExactChecks
from globalmin_check.claims.convex_losses import plus
from globalmin_check.claims.dual_bound import Bounds, balls_of, require_class
from globalmin_check.claims.regularized_network import Regularized
from globalmin_check.claims.regularized_objective import hidden_form, penalty
from globalmin_check.claims.scaled import Scaled, scaled
from globalmin_check.claims.several_columns import shared_column_holds
from globalmin_check.claims.several_losses import (
    SeveralRows,
    first_row_outside,
    several_conjugates,
    several_losses,
)
from globalmin_check.verdict import Undecided


@dataclass(frozen=True)
class Several:
    """What the exact checks build once: the columns of U and the outputs (one unit each), labels
    and weights, penalty and what D pays for penalized intercepts.
    """

    U: list[Scaled]
    f: list[Scaled]
    rows: SeveralRows
    penalty: Fraction
    price: Fraction


def require_several(problem: Regularized, claim: Bounds, checks: ExactChecks) -> Several:
    """Y1 to Y7 for several outputs."""
    form, n, d, k = problem.form, problem.sizes.n, problem.sizes.d, problem.sizes.k
    c = form.outputs
    checks.charge(n * (d + 8 * c) + k * (d + len(form.listed)) + 40 * form.count * n * c)
    checks.charge_memory(sum(map(balls_of, (problem.X, problem.y, claim.u))))
    require_class(problem, checks, "Y1")
    checks.require("Y2", "p_up - p_low <= gap", claim.p_up - claim.p_low, "<=", claim.gap)
    columns = [scaled(problem.X.values[j::d]) for j in range(d)]
    U, rows = _dual_matrix(claim, n, c), _rows(problem)
    bits = max(part.bits for part in (*U, *rows.labels, rows.om, *columns))
    if bits > limits.EXACT_BITS:
        raise Undecided(f"the exact numbers have {bits} bits, more than {limits.EXACT_BITS}")
    place = first_row_outside(form.loss, U, rows)
    checks.require_fact(
        "Y4",
        "every U_i is in the domain of the conjugate",
        place is None,
        "all are" if place is None else f"sample {place} is not",
    )
    sums = [part.total() for part in U]
    if form.needs_sum:
        found = ", ".join(map(shown, sums[:4]))
        checks.require_fact("Y5", "sum_i U_i = 0", not any(sums), f"the sums are {found}")
    _require_columns(problem, columns, U, checks)
    price = sum((s * s for s in sums), Fraction(0)) / (2 * form.k0)
    return Several(
        U,
        _outputs(problem, columns, checks),
        rows,
        penalty(problem),
        price if form.intercept == "penalized" else Fraction(0),
    )


def _dual_matrix(claim: Bounds, n: int, c: int) -> list[Scaled]:
    """The columns of U over one unit; with two parts the sums of two doubles."""
    halves = scaled(claim.u.values)
    rest = halves.values[n * c :] or [0] * (n * c)
    values = list(map(add, halves.values[: n * c], rest))
    return [Scaled(values[o::c], halves.unit) for o in range(c)]


def _rows(problem: Regularized) -> SeveralRows:
    n, c = problem.sizes.n, problem.form.outputs
    om = Scaled([1] * n, 1) if problem.om is None else scaled(problem.om.values)
    if problem.form.loss.name == "softmax":
        return SeveralRows([int(value) for value in problem.y.values], [], om)
    return SeveralRows([], [scaled(problem.y.values[o::c]) for o in range(c)], om)


def _require_columns(
    problem: Regularized, columns: list[Scaled], U: list[Scaled], checks: ExactChecks
) -> None:
    """Y7: every group is one column, used by the network or not."""
    form = problem.form
    for (column,) in form.maximal():
        if not shared_column_holds(form, columns[column], U, U[0].unit, form.b):
            checks.require_fact("Y7", "H_g(U) <= b", False, f"not in group [{column}]")
    checks.require_fact("Y7", "H_g(U) <= b in every group", True, f"{form.count} groups")


def _outputs(problem: Regularized, columns: list[Scaled], checks: ExactChecks) -> list[Scaled]:
    """The exact outputs of the stored network, one list per output over one unit."""
    n, k, c = problem.sizes.n, problem.sizes.k, problem.form.outputs
    heads = scaled(problem.v.values)
    start = scaled([0.0] * c if problem.intercept is None else problem.intercept.values)
    hidden = [hidden_form(problem, index, columns) for index in range(k)]
    unit = lcm(start.unit, heads.unit * lcm(*(own for _, _, own in hidden)))
    checks.charge(n * k * (c + 3))
    checks.charge_memory(n * c * (2 + unit.bit_length() // 256))
    f = [[value * (unit // start.unit)] * n for value in start.values]
    for index, (bias, terms, own) in enumerate(hidden):
        z = [bias] * n
        for weight, j in terms:
            z = [t + weight * x for t, x in zip(z, columns[j].values, strict=True)]
        factor = unit // (own * heads.unit)
        for o, v in enumerate(heads.values[index * c : (index + 1) * c]):
            scale = v * factor
            if scale:
                f[o] = [y + scale * t if t > 0 else y for y, t in zip(f[o], z, strict=True)]
    return [Scaled(values, unit) for values in f]


def require_several_values(
    problem: Regularized, claim: Bounds, found: Several, checks: Checks
) -> tuple[Number, Number]:
    """Y12 and Y13: P <= p_up and p_low <= D(U); the objective and the bound."""
    loss = problem.form.loss
    objective = plus(several_losses(loss, found.f, found.rows), found.penalty)
    bound = -plus(several_conjugates(loss, found.U, found.rows), found.price)
    checks.require("Y12", "objective of the stored network <= p_up", objective, "<=", claim.p_up)
    checks.require("Y13", "p_low <= D(U)", claim.p_low, "<=", bound)
    return objective, bound

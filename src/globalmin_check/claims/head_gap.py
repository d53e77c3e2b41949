"""The claim `head-gap`: how far the stored head is from the best one for the stored hidden weights
(`spec/claims/head-gap.md`).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from flint import arb, arb_mat

from globalmin_check import limits
from globalmin_check.activations import value
from globalmin_check.balls import (
    ball,
    column,
    decimal_up,
    lower_float,
    root,
    sum_of_squares,
    upper_float,
)
from globalmin_check.canonical import Fields
from globalmin_check.checks import Checks, ExactChecks
from globalmin_check.claims.kind import ClaimKind, Numbers
from globalmin_check.container import Tensor, Tensors
from globalmin_check.network import outputs_minus_labels, preactivations, require_loss
from globalmin_check.positive import require_positive_definite
from globalmin_check.primitives import Rows, lower_product, shifted
from globalmin_check.problem import Problem, Sizes
from globalmin_check.verdict import TRIVIAL

MEANING = (
    "Theorem (head gap). Let Q be the n x k matrix of phi(w_l . x_i), so that f = Q v and r = Q v "
    "- y. Columns: if Q^T Q >= mu I, mu > 0, then for every z in R^k the loss of the stored head "
    "exceeds the least loss over all heads by at most (1/2) (|Q z| + |Q^T (r - Q z)|/sqrt(mu))^2. "
    "Rows: if Q Q^T >= mu I, mu > 0, some head within |r|/sqrt(mu) of the stored one has loss zero."
)


@dataclass(frozen=True)
class HeadGap:
    """Fields and tensors of section 5.18; `gap` and z belong to "columns", `R` to "rows"."""

    loss_upper: Fraction
    has_columns: bool
    mu: Fraction
    bound: Fraction
    C: Tensor
    z: Tensor | None


def read(fields: Fields, tensors: Tensors, sizes: Sizes) -> HeadGap:
    """Take the fields and tensors of the claim; form only."""
    has_columns = fields.choice("method", ("columns", "rows")) == "columns"
    size = sizes.k if has_columns else sizes.n
    return HeadGap(
        loss_upper=fields.rational("loss_upper"),
        has_columns=has_columns,
        mu=fields.rational("mu"),
        bound=fields.rational("gap" if has_columns else "R"),
        C=tensors.take("C", "F64", size, size),
        z=tensors.take("z", "F64", sizes.k) if has_columns else None,
    )


def work(claim: HeadGap, sizes: Sizes) -> tuple[int, int]:
    """Ball multiplications and balls held at once."""
    n, d, k = sizes.n, sizes.d, sizes.k
    m = k if claim.has_columns else n
    products = n * k * (d + m + limits.WORK_PER_VALUE) + 2 * m**3
    return products, 4 * n * k + 3 * m * m


def exact(claim: HeadGap, problem: Problem, checks: ExactChecks) -> None:
    """H1, the signs of the claimed numbers."""
    name = "gap" if claim.has_columns else "R"
    checks.require_sign("H1a", f"{name} >= 0", claim.bound)
    checks.require_sign("H1b", "mu > 0", claim.mu)


def check(claim: HeadGap, problem: Problem, _: None, checks: Checks) -> Numbers:
    """H2 to H4 (columns) or H2, H5 and H6 (rows) at the present precision."""
    Q = [
        [value(problem.activation, problem.parameter, z) for z in row]
        for row in preactivations(problem)
    ]
    r = outputs_minus_labels(Q, problem)
    loss = require_loss(checks, "H2", problem, claim.loss_upper, r)
    numbers: Numbers = {
        "loss_upper": upper_float(claim.loss_upper),
        "loss": upper_float(loss),
        "mu": lower_float(claim.mu),
    }
    if claim.z is None:
        return numbers | _check_rows(claim, checks, Q, r)
    return numbers | _check_columns(claim, claim.z, checks, Q, r)


def _check_columns(claim: HeadGap, z: Tensor, checks: Checks, Q: Rows, r: list[arb]) -> Numbers:
    """Theorem C: the part of r in the range of Q, by P2 for Q^T Q and Q^T r."""
    matrix = arb_mat(Q)
    fit = (matrix * column(z.values.tolist())).entries()
    rest = matrix.transpose() * column(list(map(arb.__sub__, r, fit)))
    size = root(sum_of_squares(fit)) + root(sum_of_squares(rest.entries())) / ball(claim.mu).sqrt()
    gap = size * size / 2
    checks.require("H3", "(|Q z| + |Q^T (r - Q z)|/sqrt(mu))^2/2 <= gap", gap, "<=", claim.bound)
    columns = matrix.transpose().tolist()
    gram = shifted(lower_product(columns, columns), 1, -claim.mu)
    require_positive_definite(checks, "H4", "Q^T Q - mu I", gram, claim.C)
    least = sum_of_squares(r) / 2 - gap
    return {
        "method": "columns",
        "gap": upper_float(claim.bound),
        "floor": max(0.0, lower_float(least)),
        "distance": upper_float(size / ball(claim.mu).sqrt()),
    }


def _check_rows(claim: HeadGap, checks: Checks, Q: Rows, r: list[arb]) -> Numbers:
    """Theorem R: the head v - Q^T (Q Q^T)^-1 r."""
    distance = root(sum_of_squares(r)) / ball(claim.mu).sqrt()
    checks.require("H5", "|r|/sqrt(mu) <= R", distance, "<=", claim.bound)
    gram = shifted(lower_product(Q, Q), 1, -claim.mu)
    require_positive_definite(checks, "H6", "Q Q^T - mu I", gram, claim.C)
    return {"method": "rows", "R": upper_float(claim.bound)}


def vacuous(claim: HeadGap, problem: Problem, numbers: Numbers) -> str:
    """A gap that is no smaller than the loss itself."""
    if not claim.has_columns:
        return ""
    gap, loss = float(numbers["gap"]), float(numbers["loss"])
    return TRIVIAL if problem.follows_from_zero(gap, loss) else ""


def statement(claim: HeadGap, problem: Problem) -> str:
    """The conclusion in a few sentences."""
    n, bound = problem.sizes.n, decimal_up(claim.bound)
    if claim.has_columns:
        text = (
            "With the stored hidden weights W, no head v has a training loss on these "
            f"{n} samples that is lower than that of the stored head by more than {bound}: it is "
            "within this gap of the global minimum over v, which is attained by one head only. "
            "Other hidden weights may have a lower loss."
        )
    else:
        text = (
            f"With the stored hidden weights W, a head v within distance {bound} of the stored one "
            f"has training loss exactly zero on these {n} samples (phi = {problem.phi})."
        )
    return f"{text} The stored weights have training loss at most {decimal_up(claim.loss_upper)}."


CLAIM = ClaimKind(
    "head-gap",
    "least-squares-gap/1",
    MEANING,
    read,
    work,
    exact,
    check,
    statement,
    vacuous=vacuous,
)

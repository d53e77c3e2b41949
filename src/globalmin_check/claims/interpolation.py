"""The claim `interpolation`: zero-loss weights exist within R of the stored ones
(`spec/claims/interpolation.md`).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from flint import arb

from globalmin_check.balls import (
    ball,
    decimal_down,
    decimal_up,
    lower_float,
    root,
    sum_of_squares,
    total,
    upper_float,
)
from globalmin_check.canonical import Fields
from globalmin_check.checks import Checks, ExactChecks
from globalmin_check.claims.kind import ClaimKind, Numbers
from globalmin_check.claims.smooth import (
    Curvature,
    Linear,
    curvature_work,
    lipschitz,
    read_curvature,
    require_domain,
    require_witnesses,
)
from globalmin_check.container import Tensor, Tensors
from globalmin_check.network import Tangent, require_loss
from globalmin_check.problem import Problem, Sizes
from globalmin_check.verdict import GENERALIZATION_NOTE

MEANING = (
    "Theorem (Newton-Kantorovich). Let r be the residual and J its Jacobian at the stored weights, "
    "K = J J^T >= a^2 I, e >= sqrt(r^T K^-1 r), and let J be Lipschitz with the constant Lip on "
    "the ball of radius rho around the stored weights. If 2 Lip e < a and 2e/(1 + sqrt(1 - 2 Lip "
    "e/a)) <= R <= rho, then weights with zero loss exist within the distance R."
)

WITNESSES = ("I8", "I9", "I10")  # the numbers of the positive definite matrices


@dataclass(frozen=True)
class Interpolation:
    """Fields and tensors of section 5.1."""

    curvature: Curvature
    R: Fraction
    R_lo: Fraction | None
    z: Tensor


def read(fields: Fields, tensors: Tensors, sizes: Sizes, *, stored: bool = True) -> Interpolation:
    """Take the fields and tensors of the claim; form only. Version 2 stores no witness of K."""
    return Interpolation(
        curvature=read_curvature(fields, tensors, sizes, stored=stored),
        R=fields.rational("R"),
        R_lo=fields.rational("R_lo") if fields.has("R_lo") else None,
        z=tensors.take("z", "F64", sizes.n),
    )


def work(claim: Interpolation, sizes: Sizes) -> tuple[int, int]:
    """Ball multiplications and balls held at once."""
    return curvature_work(claim.curvature, sizes)


def exact(claim: Interpolation, problem: Problem, checks: ExactChecks) -> None:
    """I1 to I3, and the signs of the optional R_lo."""
    require_domain(checks, "I", claim.curvature, problem)
    checks.require("I3", "R <= rho", claim.R, "<=", claim.curvature.rho)
    if claim.R_lo is not None:
        checks.require_sign("I7a", "R_lo > 0", claim.R_lo)
        checks.require("I7b", "R_lo <= rho", claim.R_lo, "<=", claim.curvature.rho)


def check(claim: Interpolation, problem: Problem, _: None, checks: Checks) -> Numbers:
    """Verify the inequalities of the theorem at the present precision."""
    tangent = Tangent(problem, claim.curvature.both)
    numbers = inequalities(claim, problem, checks, tangent)
    require_witnesses(checks, WITNESSES, claim.curvature, tangent)
    return numbers


def inequalities(
    claim: Interpolation, problem: Problem, checks: Checks, tangent: Linear
) -> Numbers:
    """I4 to I7, from enclosures of the residual and of products with K."""
    common = claim.curvature
    r = tangent.residual()
    loss = require_loss(checks, "I4", problem, common.loss_upper, r)
    a, Lip = ball(common.a2).sqrt(), lipschitz(common)
    Kz, energy = tangent.apply(claim.z.values.tolist())
    e = root(energy) + root(sum_of_squares(list(map(arb.__sub__, r, Kz)))) / a
    checks.require("I5", "2 Lip e < a", 2 * Lip * e, "<", a)
    radius = 2 * e / (1 + (1 - 2 * Lip * e / a).sqrt())
    checks.require("I6", "2e/(1 + sqrt(1 - 2 Lip e/a)) <= R", radius, "<=", claim.R)
    if claim.R_lo is not None:
        # No zero closer than R_lo. The strict form without division refuses z = 0, which would
        # prove nothing.
        radius, product = ball(claim.R_lo), _dot(r, claim.z)
        bound = (radius + Lip / a * radius * radius / 2) * root(energy)
        checks.require(
            "I7c", "(R_lo + Lip R_lo^2/(2a)) sqrt(z^T K z) < |r . z|", bound, "<", product
        )
    return _numbers(claim, loss, a, Lip, e)


def _dot(r: list[arb], z: Tensor) -> arb:
    return abs(total(entry * factor for entry, factor in zip(r, z.values, strict=True)))


def _numbers(claim: Interpolation, loss: arb, a: arb, Lip: arb, e: arb) -> Numbers:
    common = claim.curvature
    numbers: Numbers = {
        "loss_upper": upper_float(common.loss_upper),
        "loss": upper_float(loss),
        "R": upper_float(claim.R),
        "rho": upper_float(common.rho),
        "a": lower_float(a),
        "Lip": upper_float(Lip),
        "e": upper_float(e),
        "h": upper_float(Lip * e / a),
        "trained": "vW" if common.both else "W",
    }
    if claim.R_lo is not None:
        numbers["R_lo"] = lower_float(claim.R_lo)
    return numbers


def statement(claim: Interpolation, problem: Problem) -> str:
    """The conclusion in one sentence or two."""
    what = "the weights (v, W)" if claim.curvature.both else "the weights W (head v fixed)"
    text = (
        f"There are values of {what} within the distance {decimal_up(claim.R)} of the stored ones "
        f"at which the network fits all {problem.sizes.n} samples exactly: zero training loss, the "
        "global minimum. The stored weights have loss at most "
        f"{decimal_up(claim.curvature.loss_upper)}."
    )
    if claim.R_lo is None:
        return text
    moved = "values of (v, W) have" if claim.curvature.both else "values of W, with this head, have"
    return f"{text} No {moved} zero loss closer than {decimal_down(claim.R_lo)} to the stored ones."


CLAIM = ClaimKind(
    "interpolation",
    "newton-kantorovich/1",
    MEANING,
    read,
    work,
    exact,
    check,
    statement,
    notes=(GENERALIZATION_NOTE,),
    zero_loss=True,
    read_second=partial(read, stored=False),
)

"""The claim `descent`: gradient descent from the stored weights reaches zero loss at a rate
(`spec/claims/descent.md`).
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
    largest,
    lower_float,
    root,
    sum_of_squares,
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
from globalmin_check.positive import require_positive_definite
from globalmin_check.primitives import row_sums, shifted
from globalmin_check.problem import Problem, Sizes
from globalmin_check.verdict import DESCENT_NOTE, GENERALIZATION_NOTE

MEANING = (
    "Theorem (descent path). Let K = J J^T >= a^2 I, |J| <= b and |r| <= g at the stored weights, "
    "and let J be Lipschitz with the constant Lip on the ball of radius rho around them. If 2 Lip "
    "g < a^2, alpha = sqrt(a^2 - 2 Lip g), S = 2g/(a + alpha) <= rho and 0 < eta <= 1/(b + Lip "
    "S)^2, then gradient descent with the step eta on L = (1/2) sum r_i^2 travels at most S, "
    "multiplies the norm of the residual by at most 1 - eta alpha^2 in every step, and converges "
    "to weights with zero loss."
)

WITNESSES = ("D11", "D12", "D13")  # the numbers of the positive definite matrices


@dataclass(frozen=True)
class Descent:
    """Fields and tensors of section 5.2."""

    curvature: Curvature
    b2: Fraction
    eta: Fraction
    rate: Fraction
    path: Fraction
    C_b: Tensor | None

    @property
    def by_rows(self) -> bool:
        """Whether b2 is proved by row sums."""
        return self.C_b is None


def read(
    fields: Fields,
    tensors: Tensors,
    sizes: Sizes,
    *,
    eta: Fraction | None = None,
    stored: bool = True,
) -> Descent:
    """Take the fields and tensors of the claim; form only. The step may be taken already; version 2
    stores no witness of K.
    """
    factor = fields.choice("norm", ("rows", "factor")) == "factor"
    return Descent(
        curvature=read_curvature(fields, tensors, sizes, stored=stored),
        b2=fields.rational("b2"),
        eta=fields.rational("eta") if eta is None else eta,
        rate=fields.rational("rate"),
        path=fields.rational("path"),
        C_b=tensors.take("C_b", "F64", sizes.n, sizes.n) if factor else None,
    )


def work(claim: Descent, sizes: Sizes) -> tuple[int, int]:
    """Ball multiplications and balls held at once."""
    products, balls = curvature_work(claim.curvature, sizes)
    return products + (2 * sizes.n**3 if claim.C_b else sizes.n**2), balls


def exact(claim: Descent, problem: Problem, checks: ExactChecks) -> None:
    """D1 to D3."""
    require_domain(checks, "D", claim.curvature, problem)
    checks.require_sign("D3a", "eta > 0", claim.eta)
    checks.require_sign("D3b", "rate >= 0", claim.rate)
    checks.require("D3c", "rate < 1", claim.rate, "<", Fraction(1))
    checks.require_sign("D3d", "b2 > 0", claim.b2)


def check(claim: Descent, problem: Problem, _: None, checks: Checks) -> Numbers:
    """Verify the inequalities of the theorem at the present precision."""
    tangent = Tangent(problem, claim.curvature.both)
    numbers = inequalities(claim, problem, checks, tangent)
    require_norm(checks, "D10", tangent, claim.b2, claim.C_b)
    require_witnesses(checks, WITNESSES, claim.curvature, tangent)
    return numbers


def inequalities(claim: Descent, problem: Problem, checks: Checks, tangent: Linear) -> Numbers:
    """D4 to D9, from an enclosure of the residual."""
    common = claim.curvature
    r = tangent.residual()
    loss = require_loss(checks, "D4", problem, common.loss_upper, r)
    a, b, Lip = ball(common.a2).sqrt(), ball(claim.b2).sqrt(), lipschitz(common)
    g = root(sum_of_squares(r))
    checks.require("D5", "2 Lip g < a2", 2 * Lip * g, "<", common.a2)
    alpha2 = ball(common.a2) - 2 * Lip * g
    S = 2 * g / (a + alpha2.sqrt())
    checks.require("D6", "S = 2g/(a + sqrt(a2 - 2 Lip g)) <= rho", S, "<=", common.rho)
    checks.require("D7", "S <= path", S, "<=", claim.path)
    eta = ball(claim.eta)
    checks.require("D8", "eta (b + Lip S)^2 <= 1", eta * (b + Lip * S) ** 2, "<=", 1)
    checks.require("D9", "1 - eta (a2 - 2 Lip g) <= rate", 1 - eta * alpha2, "<=", claim.rate)
    return _numbers(claim, loss, (a, b, Lip, g, S))


def require_norm(
    checks: Checks, number: str, tangent: Tangent, b2: Fraction, C_b: Tensor | None
) -> None:
    """b2 >= lambda_max(K), by absolute row sums or by P1 on b2 I - K."""
    if C_b is None:
        largest_sum = largest(row_sums(tangent.gram()))
        checks.require(number, "largest row sum of |K| <= b2", largest_sum, "<=", b2)
    else:
        require_positive_definite(checks, number, "b2 I - K", shifted(tangent.gram(), -1, b2), C_b)


def _numbers(claim: Descent, loss: arb, parts: tuple[arb, arb, arb, arb, arb]) -> Numbers:
    a, b, Lip, g, S = parts
    return {
        "loss_upper": upper_float(claim.curvature.loss_upper),
        "loss": upper_float(loss),
        "eta": str(claim.eta),
        "rate": upper_float(claim.rate),
        "path": upper_float(claim.path),
        "rho": upper_float(claim.curvature.rho),
        "a": lower_float(a),
        "b": upper_float(b),
        "Lip": upper_float(Lip),
        "g": upper_float(g),
        "S": upper_float(S),
        "h": upper_float(Lip * g / (a * a)),
        "trained": "vW" if claim.curvature.both else "W",
    }


def statement(claim: Descent, problem: Problem) -> str:
    """The conclusion in a few sentences."""
    what = "both layers (one common step)" if claim.curvature.both else "W (head v fixed)"
    return (
        f"Gradient descent on {what} with the claimed step eta (about {decimal_down(claim.eta)}) "
        "from the stored weights, in exact arithmetic, converges to weights that fit all "
        f"{problem.sizes.n} samples exactly: zero training loss, the global minimum. Every step "
        f"multiplies the norm of the residual by at most 1 - {decimal_down(1 - claim.rate)}, and "
        f"the whole path is at most {decimal_up(claim.path)} long. The stored weights have loss at "
        f"most {decimal_up(claim.curvature.loss_upper)}."
    )


CLAIM = ClaimKind(
    "descent",
    "descent-path/1",
    MEANING,
    read,
    work,
    exact,
    check,
    statement,
    notes=(DESCENT_NOTE, GENERALIZATION_NOTE),
    zero_loss=True,
    read_second=partial(read, stored=False),
)

"""The claim `ambiguous`: another quadratic network fits the samples equally and differs
(`spec/claims/ambiguous.md`).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from globalmin_check.balls import decimal_down, decimal_up, lower_float, upper_float
from globalmin_check.canonical import Fields
from globalmin_check.checks import Checks, ExactChecks
from globalmin_check.claims import quadratic
from globalmin_check.claims.exact_rank import first_not_annihilated
from globalmin_check.claims.kind import ClaimKind, Numbers
from globalmin_check.container import Tensor, Tensors
from globalmin_check.network import require_loss
from globalmin_check.positive import require_positive_definite
from globalmin_check.primitives import shifted
from globalmin_check.problem import Problem, Sizes

MEANING = (
    "Theorem (quadratic kernel). Let v >= 0 and sum_l v_l w_l w_l^T >= sigma2 I with sigma2 > 0, "
    "and let some symmetric matrix that is not zero vanish at all samples, x_i^T M x_i = 0 (always "
    "so if n < d(d+1)/2). Then weights of the same shape exist with the same head and the same "
    "outputs on all samples, whose function f' differs: the mean of (f' - f)^2 over standard "
    "normal x is at least 2 (d+2)/(d+1) sigma2^2."
)


@dataclass(frozen=True)
class Ambiguous:
    """Fields and tensors of section 5.7."""

    loss_upper: Fraction
    sigma2: Fraction
    difference: Fraction
    C: Tensor
    M: Tensor | None


def read(fields: Fields, tensors: Tensors, sizes: Sizes) -> Ambiguous:
    """Take the fields and tensors of the claim; form only."""
    counted = sizes.n < sizes.d * (sizes.d + 1) // 2
    return Ambiguous(
        loss_upper=fields.rational("loss_upper"),
        sigma2=fields.rational("sigma2"),
        difference=fields.rational("difference"),
        C=tensors.take("C", "F64", sizes.d, sizes.d),
        M=None if counted else tensors.take("M", "I64", sizes.d, sizes.d),
    )


def work(claim: Ambiguous, sizes: Sizes) -> tuple[int, int]:
    """Ball multiplications and balls held at once."""
    n, d, k = sizes.n, sizes.d, sizes.k
    exact = 8 * n * d * d if claim.M else 0
    return exact + (n + 2 * k) * d * d + 2 * d**3, 4 * d * d + 4 * quadratic.STRIP_ENTRIES + 2 * n


def exact(claim: Ambiguous, problem: Problem, checks: ExactChecks) -> None:
    """A1 to A4 and the kernel, A6."""
    name, head, d = problem.activation, min(problem.v.values), problem.sizes.d
    checks.require_fact(
        "A1", "the activation is quadratic", name == "quadratic", f"the activation is {name}"
    )
    checks.require_fact("A2", "every head v_l >= 0", head >= 0, f"the smallest v_l is {head:.6g}")
    checks.require_sign("A3a", "sigma2 > 0", claim.sigma2)
    checks.require_sign("A3b", "difference > 0", claim.difference)
    bound = Fraction(2 * (d + 2), d + 1) * claim.sigma2**2
    checks.require("A4", "difference <= 2 (d+2)/(d+1) sigma2^2", claim.difference, "<=", bound)
    _require_kernel(checks, claim, problem)


def check(claim: Ambiguous, problem: Problem, _: None, checks: Checks) -> Numbers:
    """A5 and A7 at the present precision."""
    loss = require_loss(checks, "A5", problem, claim.loss_upper, quadratic.residual(problem))
    matrix = shifted(quadratic.network_matrix(problem), 1, -claim.sigma2)
    require_positive_definite(checks, "A7", "W^T diag(v) W - sigma2 I", matrix, claim.C)
    return {
        "loss_upper": upper_float(claim.loss_upper),
        "loss": upper_float(loss),
        "sigma2": lower_float(claim.sigma2),
        "difference": lower_float(claim.difference),
    }


def _require_kernel(checks: ExactChecks, claim: Ambiguous, problem: Problem) -> None:
    """Check 6: a symmetric matrix vanishes at all samples, by counting dimensions or by the stored
    integer matrix.
    """
    n, d, M = problem.sizes.n, problem.sizes.d, claim.M
    if M is None:
        checks.require_fact("A6", "n < d(d+1)/2", True, f"n = {n}, d(d+1)/2 = {d * (d + 1) // 2}")
        return
    rows = M.rows()
    symmetric = all(rows[a][b] == rows[b][a] for a, b in quadratic.pairs(d))
    checks.require_fact(
        "A6a", "M is symmetric and not zero", symmetric and any(M.values), "as stored"
    )
    fault = first_not_annihilated(M, problem.X)
    found = "all samples" if fault is None else f"not so at sample {fault}"
    checks.require_fact("A6", "x_i^T M x_i = 0 exactly", fault is None, found)


def statement(claim: Ambiguous, problem: Problem) -> str:
    """The conclusion in a few sentences."""
    coordinate = (
        " (the coordinate of the bias is random here as well, not 1)" if problem.bias else ""
    )
    return (
        "There are weights W' of the same shape which, with the same head, give exactly the "
        f"outputs of the stored network on all {problem.sizes.n} samples, hence the same training "
        "loss, but another function f': the mean of (f'(x) - f(x))^2 over standard normal x in "
        f"R^{problem.sizes.d}{coordinate} is at least {decimal_down(claim.difference)}. The data "
        "do not determine the network. The stored weights have loss at most "
        f"{decimal_up(claim.loss_upper)}."
    )


CLAIM = ClaimKind("ambiguous", "quadratic-kernel/1", MEANING, read, work, exact, check, statement)

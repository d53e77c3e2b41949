"""The claim `relu-descent`: gradient descent on a ReLU network reaches zero loss at a rate
(`spec/claims/relu-descent.md`).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from globalmin_check import limits
from globalmin_check.balls import (
    decimal_down,
    decimal_up,
    largest,
    lower_float,
    sum_of_squares,
    upper_float,
)
from globalmin_check.canonical import Fields
from globalmin_check.checks import Checks, ExactChecks
from globalmin_check.claims.kind import ClaimKind, Numbers
from globalmin_check.claims.relu_bracket import BracketMatrices
from globalmin_check.claims.relu_signs import Bracket, bracket
from globalmin_check.container import Tensor, Tensors
from globalmin_check.network import require_loss, residual
from globalmin_check.positive import require_positive_definite
from globalmin_check.primitives import row_sums, shifted
from globalmin_check.problem import Problem, Sizes
from globalmin_check.verdict import DESCENT_NOTE, GENERALIZATION_NOTE

MEANING = (
    "Theorem (ReLU path). Let tau > 0, and let s_li bound how far the pre-activation z_li = w_l . "
    "x_i can move while the residual, summed over the steps, stays below tau. Let H_mid be the "
    "middle and E the half width of the Gram matrices x_i . x_j sum_l v_l^2 theta_li theta'_lj "
    "over all slopes that are 1 where z_li > s_li, 0 where z_li < -s_li and anything in [0, 1] "
    "elsewhere. If lam I <= H_mid <= Lam I, |E| <= eps < lam and |r| <= (lam - eps) tau, then "
    "gradient descent with 0 < eta <= 2/(lam + Lam) multiplies the norm of the residual by at most "
    "1 - eta (lam - eps) in every step, moves each z_li by at most s_li, travels at most sqrt(Lam "
    "+ eps) tau and converges to weights with zero loss, whatever derivative is taken at the kink."
)


@dataclass(frozen=True)
class ReluDescent:
    """Fields and tensors of section 5.11."""

    loss_upper: Fraction
    tau: Fraction
    lam: Fraction
    Lam: Fraction
    eps: Fraction
    eta: Fraction
    rate: Fraction
    path: Fraction
    e: Tensor
    C: Tensor
    C_Lam: Tensor | None


def read(
    fields: Fields, tensors: Tensors, sizes: Sizes, *, eta: Fraction | None = None
) -> ReluDescent:
    """Take the fields and tensors of the claim; form only. The step may be taken already."""
    factor = fields.choice("norm", ("rows", "factor")) == "factor"
    names = ("loss_upper", "tau", "lam", "Lam", "eps", "rate", "path")
    return ReluDescent(
        **{name: fields.rational(name) for name in names},
        eta=fields.rational("eta") if eta is None else eta,
        e=tensors.take("e", "F64", sizes.n),
        C=tensors.take("C", "F64", sizes.n, sizes.n),
        C_Lam=tensors.take("C_Lam", "F64", sizes.n, sizes.n) if factor else None,
    )


def work(claim: ReluDescent, sizes: Sizes) -> tuple[int, int]:
    """Ball multiplications and balls held at once."""
    n, d, k = sizes.n, sizes.d, sizes.k
    factors = 4 if claim.C_Lam else 2
    return factors * n**3 + n * n * (4 * k + 2 * d + 9) + n * k * (
        2 * d + limits.WORK_PER_VALUE
    ), 8 * n * n + 8 * n * k + n * d


def exact(claim: ReluDescent, problem: Problem, checks: ExactChecks) -> Bracket:
    """V1 to V6, and the sets PA and S of theorem RD."""
    require_numbers(claim, problem, checks, "V")
    return bracket(problem, claim.tau, checks)


def require_numbers(claim: ReluDescent, problem: Problem, checks: ExactChecks, letter: str) -> None:
    """Checks 1 to 6 of a claim about a run that stays in a bracket: activation, signs, step, rate,
    path.
    """
    checks.require_fact(
        f"{letter}1",
        "the activation is relu",
        problem.activation == "relu",
        f"the activation is {problem.activation}",
    )
    for number, name in zip("abcde", ("tau", "lam", "Lam", "eta", "path"), strict=True):
        checks.require_sign(f"{letter}2{number}", f"{name} > 0", getattr(claim, name))
    checks.require_sign(f"{letter}2f", "eps >= 0", claim.eps)
    checks.require_sign(f"{letter}2g", "rate >= 0", claim.rate)
    checks.require(f"{letter}2h", "rate < 1", claim.rate, "<", Fraction(1))
    checks.require_fact(
        f"{letter}2i", "every entry of e is positive", min(claim.e.values) > 0, "as stored"
    )
    checks.require(f"{letter}3", "eps < lam", claim.eps, "<", claim.lam)
    step = claim.eta * (claim.lam + claim.Lam)
    checks.require(f"{letter}4", "eta (lam + Lam) <= 2", step, "<=", Fraction(2))
    factor = 1 - claim.eta * (claim.lam - claim.eps)
    checks.require(f"{letter}5", "1 - eta (lam - eps) <= rate", factor, "<=", claim.rate)
    square = (claim.Lam + claim.eps) * claim.tau**2
    checks.require(f"{letter}6", "(Lam + eps) tau^2 <= path^2", square, "<=", claim.path**2)


def require_spectrum(
    claim: ReluDescent, matrices: BracketMatrices, checks: Checks, letter: str, first: int = 9
) -> None:
    """Three checks, numbered from `first` on: |E| <= eps and lam I <= H_mid <= Lam I."""
    spread, above_number, below_number = (f"{letter}{first + i}" for i in range(3))
    ratios = largest(matrices.spread_ratios(claim.e.values))
    checks.require(spread, "largest (E e)_i/e_i <= eps", ratios, "<=", claim.eps)
    H = matrices.middle
    if claim.C_Lam is None:
        top = largest(row_sums(H))
        checks.require(above_number, "largest row sum of |H_mid| <= Lam", top, "<=", claim.Lam)
    else:
        above = shifted(H, -1, claim.Lam)
        require_positive_definite(checks, above_number, "Lam I - H_mid", above, claim.C_Lam)
    below = shifted(H, 1, -claim.lam)
    require_positive_definite(checks, below_number, "H_mid - lam I", below, claim.C)


def check(claim: ReluDescent, problem: Problem, sets: Bracket, checks: Checks) -> Numbers:
    """V7 to V11 at the present precision, all for the same sets."""
    r = residual(problem)
    loss = require_loss(checks, "V7", problem, claim.loss_upper, r)
    margin = claim.lam - claim.eps
    checks.require(
        "V8", "|r|^2 <= (lam - eps)^2 tau^2", sum_of_squares(r), "<=", (margin * claim.tau) ** 2
    )
    require_spectrum(claim, BracketMatrices(problem, sets), checks, "V")
    return numbers_of(claim, loss, sets)


def numbers_of(claim: ReluDescent, loss: arb, sets: Bracket) -> Numbers:
    """What is reported of an accepted claim."""
    return {
        "loss_upper": upper_float(claim.loss_upper),
        "loss": upper_float(loss),
        "tau": upper_float(claim.tau),
        "lambda": lower_float(claim.lam - claim.eps),
        "eps": upper_float(claim.eps),
        "Lam": upper_float(claim.Lam),
        "eta": str(claim.eta),
        "rate": upper_float(claim.rate),
        "path": upper_float(claim.path),
        "unstable_pairs": float(sets.unstable),
    }


def statement(claim: ReluDescent, problem: Problem) -> str:
    """The conclusion in a few sentences."""
    return (
        f"{descent_statement(claim, problem)} Along every gradient flow on W from the stored "
        "weights the norm of the residual is at time t at most "
        f"exp(-{decimal_down(claim.lam - claim.eps)} t) times its value at the stored weights. The "
        f"stored weights have loss at most {decimal_up(claim.loss_upper)}."
    )


def descent_statement(claim: ReluDescent, problem: Problem) -> str:
    """What is proved of gradient descent."""
    return (
        "Gradient descent on W (head v fixed) of the ReLU network with the claimed step eta (about "
        f"{decimal_down(claim.eta)}) from the stored weights, in exact arithmetic and with any "
        f"derivative in [0, 1] at the kink, converges to weights that fit all {problem.sizes.n} "
        "samples exactly: zero training loss, the global minimum. Every step multiplies the norm "
        f"of the residual by at most 1 - {decimal_down(1 - claim.rate)}, and the whole path is at "
        f"most {decimal_up(claim.path)} long."
    )


CLAIM = ClaimKind(
    "relu-descent",
    "relu-path/1",
    MEANING,
    read,
    work,
    exact,
    check,
    statement,
    notes=(DESCENT_NOTE, GENERALIZATION_NOTE),
    zero_loss=True,
)

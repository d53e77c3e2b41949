"""The claim `below-barrier`: descent from the stored weights reaches the global minimum
(`spec/claims/below-barrier.md`).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

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
from globalmin_check.claims import quadratic
from globalmin_check.claims.kind import ClaimKind, Numbers
from globalmin_check.container import Tensor, Tensors
from globalmin_check.network import require_loss
from globalmin_check.positive import require_positive_definite
from globalmin_check.primitives import Rows, row_sums, shifted
from globalmin_check.problem import Problem, Sizes
from globalmin_check.verdict import DESCENT_NOTE

MEANING = (
    "Theorem (quadratic barrier). Let v > 0, F = S^T S with rows svec(x_i x_i^T), phi I <= F <= "
    "Phi I, and A the least-squares matrix with eigenvalues in [a_lo, a_hi]; E = L - min L over "
    "all symmetric matrices, E <= E0 at the stored weights, tau = sqrt(2 E0/phi). If s2 = a_lo - "
    "tau > 0 and eta v_max (4 Phi (a_hi + tau) + 2 sqrt(2 Phi E0)) <= 1, gradient descent on W "
    "with the step eta multiplies E by at most 1 - 4 eta phi v_min s2 in every step and converges "
    "to a global minimum."
)


@dataclass(frozen=True)
class BelowBarrier:
    """Fields and tensors of section 5.8."""

    loss_upper: Fraction
    phi: Fraction
    Phi: Fraction
    a_lo: Fraction
    a_hi: Fraction
    E0: Fraction
    eta: Fraction
    rate: Fraction
    A_hat: Tensor
    C_phi: Tensor
    C_Phi: Tensor | None
    C_lo: Tensor
    C_hi: Tensor


def read(fields: Fields, tensors: Tensors, sizes: Sizes) -> BelowBarrier:
    """Take the fields and tensors of the claim; form only."""
    factor = fields.choice("norm", ("rows", "factor")) == "factor"
    N, d = sizes.d * (sizes.d + 1) // 2, sizes.d
    return BelowBarrier(
        loss_upper=fields.rational("loss_upper"),
        phi=fields.rational("phi"),
        Phi=fields.rational("Phi"),
        a_lo=fields.rational("a_lo"),
        a_hi=fields.rational("a_hi"),
        E0=fields.rational("E0"),
        eta=fields.rational("eta"),
        rate=fields.rational("rate"),
        A_hat=tensors.take("A_hat", "F64", d, d),
        C_phi=tensors.take("C_phi", "F64", N, N),
        C_Phi=tensors.take("C_Phi", "F64", N, N) if factor else None,
        C_lo=tensors.take("C_lo", "F64", d, d),
        C_hi=tensors.take("C_hi", "F64", d, d),
    )


def work(claim: BelowBarrier, sizes: Sizes) -> tuple[int, int]:
    """Ball multiplications and balls held at once."""
    n, d, k = sizes.n, sizes.d, sizes.k
    N = d * (d + 1) // 2
    products = n * N * N + 2 * N**3 * (2 if claim.C_Phi else 1) + (3 * n + k) * d * d + 4 * d**3
    return products, 4 * N * N + 4 * quadratic.STRIP_ENTRIES + 4 * n


def exact(claim: BelowBarrier, problem: Problem, checks: ExactChecks) -> None:
    """B1 to B3."""
    name, head, rows = problem.activation, min(problem.v.values), claim.A_hat.rows()
    checks.require_fact(
        "B1", "the activation is quadratic", name == "quadratic", f"the activation is {name}"
    )
    checks.require_fact("B2", "every head v_l > 0", head > 0, f"the smallest v_l is {head:.6g}")
    checks.require_sign("B3a", "phi > 0", claim.phi)
    checks.require_sign("B3b", "Phi > 0", claim.Phi)
    checks.require_sign("B3c", "E0 >= 0", claim.E0)
    checks.require_sign("B3d", "eta > 0", claim.eta)
    checks.require_sign("B3e", "rate >= 0", claim.rate)
    checks.require("B3f", "rate < 1", claim.rate, "<", Fraction(1))
    symmetric = all(rows[a][b] == rows[b][a] for a, b in quadratic.pairs(problem.sizes.d))
    checks.require_fact("B3g", "A_hat is symmetric", symmetric, "as stored")


def check(claim: BelowBarrier, problem: Problem, _: None, checks: Checks) -> Numbers:
    """B4 to B12 at the present precision."""
    r = quadratic.residual(problem)
    loss = require_loss(checks, "B4", problem, claim.loss_upper, r)
    rows = claim.A_hat.rows()
    fit = quadratic.forms(problem.X, [list(map(arb, row)) for row in rows])
    q = [value - label for value, label in zip(fit, problem.y.values, strict=True)]
    phi, Phi, E0, eta = map(ball, (claim.phi, claim.Phi, claim.E0, claim.eta))
    G = quadratic.frobenius(quadratic.weighted_sum(problem.X, q))
    start = root(sum_of_squares(list(map(arb.__sub__, r, q)))) + G / phi.sqrt()
    checks.require(
        "B5", "(|S svec(B - A_hat)| + G/sqrt(phi))^2/2 <= E0", start * start / 2, "<=", claim.E0
    )
    tau = (2 * E0 / phi).sqrt()
    s2 = ball(claim.a_lo) - tau
    checks.require("B6", "tau = sqrt(2 E0/phi) < a_lo", tau, "<", claim.a_lo)
    v_min, v_max = arb(min(problem.v.values)), arb(max(problem.v.values))
    Lip = v_max * (4 * Phi * (ball(claim.a_hi) + tau) + 2 * (2 * Phi * E0).sqrt())
    checks.require(
        "B7", "eta v_max (4 Phi (a_hi + tau) + 2 sqrt(2 Phi E0)) <= 1", eta * Lip, "<=", 1
    )
    factor = 1 - 4 * eta * phi * v_min * s2
    checks.require("B8", "1 - 4 eta phi v_min (a_lo - tau) <= rate", factor, "<=", claim.rate)
    _require_minimizer(checks, claim, G / phi)
    _require_spectrum(checks, claim, problem)
    return _numbers(claim, loss, G / phi, s2)


def _require_minimizer(checks: Checks, claim: BelowBarrier, error: arb) -> None:
    """Checks 9 and 10: the eigenvalues of A through those of A_hat, |A - A_hat|_F <= G/phi =
    error.
    """

    def moved(sign: int, shift: arb) -> Rows:
        rows = [[arb(sign * entry) for entry in row] for row in claim.A_hat.rows()]
        for i, row in enumerate(rows):
            row[i] += shift
        return rows

    low, high = ball(claim.a_lo) + error, ball(claim.a_hi) - error
    require_positive_definite(checks, "B9", "A_hat - (a_lo + G/phi) I", moved(1, -low), claim.C_lo)
    require_positive_definite(
        checks, "B10", "(a_hi - G/phi) I - A_hat", moved(-1, high), claim.C_hi
    )


def _require_spectrum(checks: Checks, claim: BelowBarrier, problem: Problem) -> None:
    """Checks 11 and 12: phi I < F and F <= Phi I."""
    F = quadratic.design_gram(problem.X)
    if claim.C_Phi is not None:
        require_positive_definite(
            checks, "B11", "Phi I - F", shifted(F, -1, claim.Phi), claim.C_Phi
        )
    else:
        checks.require(
            "B11", "largest row sum of |F| <= Phi", largest(row_sums(F)), "<=", claim.Phi
        )
    require_positive_definite(checks, "B12", "F - phi I", shifted(F, 1, -claim.phi), claim.C_phi)


def _numbers(claim: BelowBarrier, loss: arb, error: arb, s2: arb) -> Numbers:
    return {
        "loss_upper": upper_float(claim.loss_upper),
        "loss": upper_float(loss),
        "E0": upper_float(claim.E0),
        "barrier": lower_float(claim.phi * claim.a_lo**2 / 2),
        "eta": str(claim.eta),
        "rate": upper_float(claim.rate),
        "s2": lower_float(s2),
        "minimizer_error": upper_float(error),
    }


def statement(claim: BelowBarrier, problem: Problem) -> str:
    """The conclusion in a few sentences."""
    return (
        "The loss of the stored network exceeds the least loss of all quadratic networks on these "
        f"{problem.sizes.n} samples by at most {decimal_up(claim.E0)}, while every network with "
        "rank-deficient weights exceeds it by at least "
        f"{decimal_down(claim.phi * claim.a_lo**2 / 2)}. Gradient descent on W (head v fixed) with "
        f"the claimed step eta (about {decimal_down(claim.eta)}) from the stored weights, in exact "
        f"arithmetic, multiplies this excess by at most 1 - {decimal_down(1 - claim.rate)} in "
        "every step and converges to a global minimum. The stored weights have loss at most "
        f"{decimal_up(claim.loss_upper)}."
    )


CLAIM = ClaimKind(
    "below-barrier",
    "quadratic-barrier/1",
    MEANING,
    read,
    work,
    exact,
    check,
    statement,
    notes=(DESCENT_NOTE,),
)

"""Theorem TB: below the barrier the sign of a . a* decides where descent on the one-filter network
ends.

Shared by the claims spurious-minimum and global-basin (`spec/claims/spurious-minimum.md`,
`spec/claims/global-basin.md`).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from globalmin_check import limits
from globalmin_check.balls import ball, decimal_down, lower_float, root, upper_float
from globalmin_check.canonical import Fields
from globalmin_check.checks import Checks, ExactChecks
from globalmin_check.claims.kind import Numbers
from globalmin_check.exact import inner_product
from globalmin_check.problem import Problem, Sizes

MEANING = (
    "Theorem TB. One filter v with weight normalization, output weights a, Gaussian patches, "
    "teacher (w*, a*). On the plane a . a* = 0 the population loss is at least l* = (pi-1) |w*|^2 "
    "|a*|^2/(4 pi (1 - rho/(k+pi-1))), rho = (1 . a*)^2/|a*|^2. Below l* the flow, and descent "
    "with a step below 2/beta, never crosses that plane: from a . a* < 0 they converge to the "
    "opposite filter with positive loss, from a . a* > 0 (filters not opposite) to the teacher."
)
SLOPE = Fraction(181971, 100000)  # at least max (pi - phi) sin phi


@dataclass(frozen=True)
class Trap:
    """Fields common to both claims; without eta the claim is about the gradient flow."""

    loss_upper: Fraction
    eta: Fraction | None


@dataclass(frozen=True)
class Exact:
    """Rational quantities of the stored numbers: squared norms, inner products and sums."""

    v2: Fraction
    w2: Fraction
    vw: Fraction
    a2: Fraction
    A: Fraction
    b: Fraction
    alpha: Fraction
    s: Fraction
    k: int

    @property
    def determinant(self) -> Fraction:
        """|v|^2 |w*|^2 - (v . w*)^2 >= 0; zero exactly if the filters are parallel."""
        return self.v2 * self.w2 - self.vw**2

    @property
    def antiparallel(self) -> bool:
        """Whether v is a negative multiple of w*."""
        return self.determinant == 0 and self.vw < 0


def require_step(checks: ExactChecks, claim: Trap) -> None:
    """T5a: the sign of the step, if there is one."""
    if claim.eta is not None:
        checks.require_sign("T5a", "eta > 0", claim.eta)


def read_trap(fields: Fields) -> Trap:
    """The common fields; form only."""
    return Trap(
        fields.rational("loss_upper"), fields.rational("eta") if fields.has("eta") else None
    )


def trap_work(sizes: Sizes) -> tuple[int, int]:
    """Ball multiplications and balls held at once."""
    return 100 * limits.WORK_PER_VALUE, 100


def quantities(problem: Problem, checks: ExactChecks) -> Exact:
    """The exact quantities, with T1: no vector that the angles and the barrier divide by is
    zero.
    """
    checks.charge(3 * problem.sizes.d + 5 * problem.sizes.k)
    v, w, a, true = (tensor.values for tensor in (problem.W, problem.X, problem.v, problem.y))
    ones = [1.0] * len(a)
    at = Exact(
        inner_product(v, v),
        inner_product(w, w),
        inner_product(v, w),
        inner_product(a, a),
        inner_product(true, true),
        inner_product(a, true),
        inner_product(a, ones),
        inner_product(true, ones),
        len(a),
    )
    for number, name, value in (
        ("T1a", "|v|^2", at.v2),
        ("T1b", "|w*|^2", at.w2),
        ("T1c", "|a*|^2", at.A),
    ):
        checks.require_sign(number, f"{name} > 0", value)
    return at


def require_trap(checks: Checks, claim: Trap, at: Exact) -> Numbers:
    """T3 to T5: loss below the barrier, step below 2/beta."""
    loss, wall = _loss(at), _barrier(at)
    checks.require("T3", "loss < barrier", loss, "<", wall)
    checks.require("T4", "loss <= loss_upper", loss, "<=", claim.loss_upper)
    numbers: Numbers = {"loss_upper": upper_float(claim.loss_upper), "barrier": lower_float(wall)}
    if claim.eta is not None:
        beta = _smoothness(at, loss)
        checks.require("T5b", "eta beta < 2", ball(claim.eta) * beta, "<", 2)
        numbers |= {"eta": str(claim.eta), "beta": upper_float(beta)}
    return numbers


def _loss(at: Exact) -> arb:
    """L = ((pi-1) |a - W a*|^2 + (1.a - W s)^2)/(4 pi) + (pi - g) W b/(2 pi)."""
    pi, W = arb.pi(), ball(at.w2).sqrt()
    miss2 = root(ball(at.a2) - 2 * W * ball(at.b) + ball(at.w2 * at.A)) ** 2
    miss_sum = ball(at.alpha) - W * ball(at.s)
    turned = (pi - _g(at)) * W * ball(at.b)
    return ((pi - 1) * miss2 + miss_sum**2) / (4 * pi) + turned / (2 * pi)


def _g(at: Exact) -> arb:
    """G = (pi - phi) cos phi + sin phi; exact angles where the filters are parallel."""
    pi = arb.pi()
    if at.determinant == 0:
        return pi if at.vw > 0 else arb(0)
    height, along = ball(at.determinant).sqrt(), ball(at.vw)
    both = ball(at.v2 * at.w2).sqrt()
    return (pi - arb.atan2(height, along)) * along / both + height / both


def _barrier(at: Exact) -> arb:
    """The least loss on the wall a . a* = 0."""
    pi = arb.pi()
    return (pi - 1) * ball(at.w2 * at.A) / (4 * pi * (1 - ball(at.s**2 / at.A) / (at.k + pi - 1)))


def _smoothness(at: Exact, loss: arb) -> arb:
    """Beta of the theorem: descent with a step below 2/beta decreases the loss."""
    pi, W, height, nu = arb.pi(), ball(at.w2).sqrt(), ball(at.A).sqrt(), ball(at.v2).sqrt()
    b_max = W * ball(at.A) + height * root(4 * pi * loss / (pi - 1))
    diagonal = (W * b_max / (2 * ball(at.v2))).max((at.k + pi - 1) / (2 * pi))
    return diagonal + ball(SLOPE) * W * height / (2 * pi * nu)


def spurious_loss(at: Exact) -> arb:
    """Loss at the opposite filter with its best output weights."""
    pi, common = arb.pi(), at.s**2 / at.k
    across = (pi - 2) / (pi - 1) * ball(at.A - common)
    return ball(at.w2) / 4 * (across + (2 * at.k + pi - 2) / (at.k + pi - 1) * ball(common))


def descent_words(claim: Trap) -> str:
    """Who moves, for statements."""
    if claim.eta is None:
        return "Gradient flow"
    return (
        "Gradient flow, and gradient descent with the claimed step eta (about "
        f"{decimal_down(claim.eta)}) in exact arithmetic,"
    )

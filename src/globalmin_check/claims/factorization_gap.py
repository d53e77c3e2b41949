"""The claim `factorization-gap`: how far U V^T is from the best matrix of its rank
(`spec/claims/factorization-gap.md`).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from globalmin_check.balls import ball, decimal_down, decimal_up, lower_float, upper_float
from globalmin_check.canonical import Fields
from globalmin_check.checks import Checks, ExactChecks
from globalmin_check.claims import quadratic
from globalmin_check.claims.factorization_network import (
    STRIP_ENTRIES,
    Compression,
    compression,
    transposed,
)
from globalmin_check.claims.kind import ClaimKind, Numbers
from globalmin_check.container import Tensor, Tensors
from globalmin_check.positive import require_positive_definite
from globalmin_check.primitives import Rows, lower_product, shifted
from globalmin_check.problem import Problem, Sizes
from globalmin_check.verdict import TRIVIAL, Malformed

MEANING = (
    "Theorem EY. Let Q be the projector on the span of the columns of V (n x r), |M x|^2 >= a "
    "|x|^2 on that span, |M x|^2 <= b |x|^2 on its complement, and tau > b. Then every matrix X of "
    "rank at most r has |X - M|^2 >= |M (I - Q)|^2 - |(I - Q) M^T M Q|^2/(tau - b) - r max(tau - "
    "a, 0) (Frobenius norms). So (1/2)|U V^T - M|^2 exceeds the best loss of its rank by at most "
    "half of |(U V^T - M) Q|^2 + |(I - Q) M^T M Q|^2/(tau - b) + r max(tau - a, 0). Side left: the "
    "same for M^T, V U^T."
)


@dataclass(frozen=True)
class Subspace:
    """The witness of theorem EY; C_b is the factor of P1 for b, or None if b is a bound of the
    Frobenius norm.
    """

    side: str
    a: Fraction
    b: Fraction
    tau: Fraction
    C_a: Tensor
    C_b: Tensor | None


@dataclass(frozen=True)
class FactorizationGap:
    """Fields and tensors of section 5.17; without a subspace the best loss is only known not to be
    negative.
    """

    loss_upper: Fraction
    floor: Fraction
    gap: Fraction
    subspace: Subspace | None


def read(fields: Fields, tensors: Tensors, sizes: Sizes) -> FactorizationGap:
    """Take the fields and tensors of the claim; form only."""
    method = fields.choice("method", ("zero", "frobenius", "factor"))
    subspace = (
        None if method == "zero" else _read_subspace(fields, tensors, sizes, method == "factor")
    )
    return FactorizationGap(
        fields.rational("loss_upper"), fields.rational("floor"), fields.rational("gap"), subspace
    )


def _read_subspace(fields: Fields, tensors: Tensors, sizes: Sizes, factor: bool) -> Subspace:
    side = fields.choice("side", ("right", "left"))
    size = sizes.d if side == "right" else sizes.n
    if sizes.k >= min(sizes.n, sizes.d):
        raise Malformed(
            f"{fields.where}: the rank is not below both sides of M, which only the method zero "
            "allows"
        )
    return Subspace(
        side,
        fields.rational("a"),
        fields.rational("b"),
        fields.rational("tau"),
        tensors.take("C_a", "F64", sizes.k, sizes.k),
        tensors.take("C_b", "F64", size, size) if factor else None,
    )


def work(claim: FactorizationGap, sizes: Sizes) -> tuple[int, int]:
    """Ball multiplications and balls held at once."""
    m, n, r = sizes.n, sizes.d, sizes.k
    products = m * n * (2 * r + 1) + 4 * (m + n + r) * r * r
    balls = 4 * max(STRIP_ENTRIES, m, n) + 8 * (m + n + r) * r
    if claim.subspace is None or claim.subspace.C_b is None:
        return products, balls
    size = claim.subspace.C_b.shape[0]
    return products + size**2 * (m * n // size + 2 * r) + 2 * size**3, balls + 4 * size**2


def exact(claim: FactorizationGap, problem: Problem, checks: ExactChecks) -> None:
    """F1 and F3."""
    checks.require_sign("F1a", "gap >= 0", claim.gap)
    checks.require_sign("F1b", "floor >= 0", claim.floor)
    if claim.subspace is not None:
        checks.require_sign("F3a", "a > 0", claim.subspace.a)
        checks.require("F3b", "b < tau", claim.subspace.b, "<", claim.subspace.tau)


def check(claim: FactorizationGap, problem: Problem, _: None, checks: Checks) -> Numbers:
    """F2 and F4 to F8 at the present precision."""
    left = claim.subspace is not None and claim.subspace.side == "left"
    M = transposed(problem.X) if left else problem.X
    at = compression(M, *((problem.W, problem.v) if left else (problem.v, problem.W)))
    loss = at.loss()
    checks.require("F2", "(1/2)|U V^T - M|^2 <= loss_upper", loss, "<=", claim.loss_upper)
    excess, best = loss, arb(0)
    if claim.subspace is not None:
        excess = _excess(claim.subspace, M, checks, at)
        best = (loss - excess).max(arb(0))
    checks.require("F7", "loss - best loss of this rank <= gap", excess, "<=", claim.gap)
    checks.require("F8", "floor <= best loss of this rank", claim.floor, "<=", best)
    numbers: Numbers = {
        "method": _method(claim),
        "rank": str(problem.sizes.k),
        "loss": upper_float(loss),
    }
    numbers |= {
        "loss_upper": upper_float(claim.loss_upper),
        "gap": upper_float(claim.gap),
        "floor": lower_float(claim.floor),
    }
    return numbers | {"matrix_square": lower_float(at.square)}


def _method(claim: FactorizationGap) -> str:
    return (
        "zero"
        if claim.subspace is None
        else "frobenius"
        if claim.subspace.C_b is None
        else "factor"
    )


def _excess(witness: Subspace, M: Tensor, checks: Checks, at: Compression) -> arb:
    """Theorem EY: a bound of loss - best loss, after its three hypotheses."""
    a, b, tau = witness.a, witness.b, witness.tau
    require_positive_definite(
        checks, "F4", "Y^T Y - a V^T V", (at.energy - at.G * ball(a)).tolist(), witness.C_a
    )
    if witness.C_b is None:
        checks.require("F5", "|M (I - Q)|_F^2 <= b", at.outside(), "<=", b)
    else:
        name = "b I - (I - Q) M^T M (I - Q)"
        require_positive_definite(
            checks, "F6", name, shifted(_outer_gram(M, at), -1, b), witness.C_b
        )
    ties = at.G.nrows() * max(tau - a, Fraction(0))
    return (at.inside() + at.projected(at.leak) / ball(tau - b) + ball(ties)) / 2


def _outer_gram(M: Tensor, at: Compression) -> Rows:
    """The lower triangle of (I - Q) M^T M (I - Q) = M^T M - H K^T - N H^T with H = S G^-1 and N =
    (I - Q) K.
    """
    H, N, K = (at.S * at.inverse).tolist(), at.leak.tolist(), at.K.tolist()
    whole = quadratic.weighted_sum(M, [arb(1)] * M.shape[0])
    inner = lower_product(
        [h + n for h, n in zip(H, N, strict=True)], [k + h for k, h in zip(K, H, strict=True)]
    )
    return [[whole[i][j] - inner[i][j] for j in range(i + 1)] for i in range(len(inner))]


def vacuous(claim: FactorizationGap, problem: Problem, numbers: Numbers) -> str:
    """A gap that is no smaller than the loss itself."""
    return (
        TRIVIAL if problem.follows_from_zero(float(numbers["gap"]), float(numbers["loss"])) else ""
    )


def statement(claim: FactorizationGap, problem: Problem) -> str:
    """The conclusion in a few sentences."""
    m, n, r = problem.sizes.n, problem.sizes.d, problem.sizes.k
    return (
        f"The stored factors U ({m} x {r}) and V ({n} x {r}) have loss (1/2)|U V^T - M|_F^2 at "
        f"most {decimal_up(claim.loss_upper)} for the stored {m} x {n} matrix M. No matrix of rank "
        f"at most {r}, so no pair of factors of this width, has a loss lower by more than "
        f"{decimal_up(claim.gap)}: the factors are within this gap of the global minimum, which is "
        f"at least {decimal_down(claim.floor)}."
    )


CLAIM = ClaimKind(
    "factorization-gap",
    "best-rank/1",
    MEANING,
    read,
    work,
    exact,
    check,
    statement,
    vacuous=vacuous,
    network="factorization",
)

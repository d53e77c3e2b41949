"""The claim `optimality-gap`: how far a quadratic network is from the global minimum
(`spec/claims/optimality-gap.md`).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from flint import arb, arb_mat

from globalmin_check.balls import (
    ball,
    decimal_up,
    lower_float,
    root,
    sum_of_squares,
    total,
    upper_float,
)
from globalmin_check.canonical import Fields
from globalmin_check.checks import Checks, ExactChecks
from globalmin_check.claims import quadratic
from globalmin_check.claims.exact_rank import rows_span_all
from globalmin_check.claims.kind import ClaimKind, Numbers
from globalmin_check.container import Tensor, Tensors
from globalmin_check.network import require_loss
from globalmin_check.positive import require_positive_definite
from globalmin_check.primitives import Rows, shifted
from globalmin_check.problem import Problem, Sizes
from globalmin_check.verdict import TRIVIAL, Malformed

SIGNS = {"nonnegative": (1,), "nonpositive": (-1,), "any": (1, -1)}
MEANING = (
    "Theorem (quadratic gap). With Z = sum_i u_i x_i x_i^T, every quadratic network has (1/2)|r|^2 "
    ">= sum_l v_l w_l^T Z w_l - u . y - |u|^2/2. So if Z >= 0 and v >= 0 (or Z <= 0 and v <= 0), "
    "then L >= -u . y - |u|^2/2; and if |v_l| <= v_max and -c I <= Z <= c I with c = w/(2 v_max) "
    "(one side is enough for heads of one sign), then L + (w/2)|W|^2 >= -u . y - |u|^2/2. Span: if "
    "A^T A >= mu I, A the matrix with rows svec(x_i x_i^T), then L - inf L <= (1/2) (A^T r)^T (A^T "
    "A)^-1 (A^T r)."
)


@dataclass(frozen=True)
class OptimalityGap:
    """Fields and tensors of section 5.5; theorem P is theorem D with decay 0. `dual` is lambda, u
    or z, by method.
    """

    loss_upper: Fraction
    method: str
    heads: str
    gap: Fraction
    mu: Fraction
    decay: Fraction
    v_max: Fraction
    dual: Tensor
    rows: tuple[int, ...]
    factors: tuple[Tensor, ...]


def read(fields: Fields, tensors: Tensors, sizes: Sizes) -> OptimalityGap:
    """Take the fields and tensors of the claim; form only."""
    method = fields.choice("method", ("positive", "span", "decay"))
    N = sizes.d * (sizes.d + 1) // 2
    decay, size = method == "decay", N if method == "span" else sizes.d
    heads = (
        "any"
        if method == "span"
        else fields.choice("heads", tuple(SIGNS) if decay else ("nonnegative", "nonpositive"))
    )
    rows: tuple[int, ...] = ()
    if method == "positive" and fields.has("rank"):
        size = fields.integer("rank", 1)
        rows = tuple(tensors.take("rows", "I64", size).values)
        if (
            size >= sizes.d
            or rows[0] < 0
            or rows[-1] >= sizes.n
            or not all(a < b for a, b in pairwise(rows))
        ):
            raise Malformed(
                f"{fields.where}: rank is not below d, or rows are not increasing samples"
            )
    roles = ["C_lower" if sign > 0 else "C_upper" for sign in SIGNS[heads]] if decay else ["C"]
    return OptimalityGap(
        loss_upper=fields.rational("loss_upper"),
        method=method,
        heads=heads,
        gap=fields.rational("gap"),
        mu=fields.rational("mu") if method == "span" else Fraction(0),
        decay=fields.rational("decay") if decay else Fraction(0),
        v_max=fields.rational("v_max") if decay else Fraction(1),
        dual=tensors.take(
            {"positive": "lambda", "decay": "u", "span": "z"}[method],
            "F64",
            N if method == "span" else sizes.n,
        ),
        rows=rows,
        factors=tuple(tensors.take(role, "F64", size, size) for role in roles),
    )


def work(claim: OptimalityGap, sizes: Sizes) -> tuple[int, int]:
    """Ball multiplications and balls held at once."""
    n, d, k = sizes.n, sizes.d, sizes.k
    m, s = claim.factors[0].shape[0], len(claim.rows)
    products = (
        (2 * n + k) * d * d
        + 2 * len(claim.factors) * m**3
        + (n * (d * d + m * m) if claim.method == "span" else 0)
    )
    kernel = (n + s) * d * (d - s) * (16 + s) // 16 if s else 0
    return products + kernel, 3 * max(d, m) ** 2 + 4 * quadratic.STRIP_ENTRIES + 4 * n


def exact(claim: OptimalityGap, problem: Problem, checks: ExactChecks) -> None:
    """O1 to O3 and the span of the chosen rows, O6."""
    name, head = problem.activation, list(map(Fraction, problem.v.values))
    checks.require_fact(
        "O1", "the activation is quadratic", name == "quadratic", f"the activation is {name}"
    )
    checks.require_sign("O2a", "gap >= 0", claim.gap)
    if claim.method == "span":
        checks.require_sign("O2b", "mu > 0", claim.mu)
    if claim.method == "decay":
        checks.require_sign("O2c", "decay > 0", claim.decay)
        checks.require_sign("O2d", "v_max > 0", claim.v_max)
        checks.require("O2e", "max_l |v_l| <= v_max", max(map(abs, head)), "<=", claim.v_max)
    inside = claim.heads == "any" or all(v * SIGNS[claim.heads][0] >= 0 for v in head)
    checks.require_fact(
        "O3",
        f"every head is {claim.heads}",
        inside,
        f"v from {float(min(head)):.6g} to {float(max(head)):.6g}",
    )
    if claim.rows:
        whole = rows_span_all(problem.X, claim.rows)
        checks.require_fact(
            "O6", "every row of X is a combination of `rows`", whole, f"{len(claim.rows)} rows"
        )


def check(claim: OptimalityGap, problem: Problem, _: None, checks: Checks) -> Numbers:
    """The inequalities of theorem P, S or D at the present precision."""
    r = quadratic.residual(problem)
    loss = require_loss(checks, "O4", problem, claim.loss_upper, r)
    if claim.method == "span":
        return _check_span(claim, problem, checks, r)
    penalty = ball(claim.decay) * sum_of_squares(list(map(arb, problem.W.values))) / 2
    floor = _dual_value(claim, problem)
    checks.require(
        "O5", "L + (decay/2)|W|^2 + u . y + |u|^2/2 <= gap", loss + penalty - floor, "<=", claim.gap
    )
    _require_signs(checks, claim, problem)
    return _numbers(claim, loss, loss + penalty, floor)


def _dual_value(claim: OptimalityGap, problem: Problem) -> arb:
    """-u . y - |u|^2/2."""
    u = list(map(arb, claim.dual.values))
    return -total(map(arb.__mul__, u, problem.y.values)) - sum_of_squares(u) / 2


def _require_signs(checks: Checks, claim: OptimalityGap, problem: Problem) -> None:
    """P1 on c I + Z and c I - Z, as the heads ask, c = decay/(2 v_max); on the span of the chosen
    rows if X is deficient.
    """
    c = claim.decay / (2 * claim.v_max)
    Z = _dual_matrix(claim, problem)
    for sign, C in zip(SIGNS[claim.heads], claim.factors, strict=True):
        number, text = ("O7", "c I + Z") if sign > 0 else ("O8", "c I - Z")
        require_positive_definite(checks, number, text, shifted(Z, sign, c), C)


def _dual_matrix(claim: OptimalityGap, problem: Problem) -> Rows:
    Z = quadratic.weighted_sum(problem.X, list(map(arb, claim.dual.values)))
    if not claim.rows:
        return Z
    basis = arb_mat([problem.X.row(i) for i in claim.rows])
    return (basis * arb_mat(Z) * basis.transpose()).tolist()


def _check_span(claim: OptimalityGap, problem: Problem, checks: Checks, r: list[arb]) -> Numbers:
    """Theorem S with P2: A z are the forms of the matrix of z, and A^T applied to residuals is a
    sum of x_i x_i^T.
    """
    X, C = problem.X, claim.factors[0]
    fit = quadratic.forms(X, quadratic.symmetric_matrix(claim.dual.values, problem.sizes.d))
    rest = quadratic.weighted_sum(X, list(map(arb.__sub__, r, fit)))
    size = root(sum_of_squares(fit)) + quadratic.frobenius(rest) / ball(claim.mu).sqrt()
    checks.require(
        "O9", "(|A z| + |A^T r - A^T A z|/sqrt(mu))^2/2 <= gap", size * size / 2, "<=", claim.gap
    )
    require_positive_definite(
        checks, "O10", "A^T A - mu I", shifted(quadratic.design_gram(X), 1, -claim.mu), C
    )
    loss = sum_of_squares(r) / 2
    return _numbers(claim, loss, loss, loss - size * size / 2)


def _numbers(claim: OptimalityGap, loss: arb, objective: arb, floor: arb) -> Numbers:
    return {
        "loss_upper": upper_float(claim.loss_upper),
        "loss": upper_float(loss),
        "objective": upper_float(objective),
        "floor": lower_float(floor),
        "gap": upper_float(claim.gap),
        "method": claim.method,
        "heads": claim.heads,
        "decay": str(claim.decay),
    }


def vacuous(claim: OptimalityGap, problem: Problem, numbers: Numbers) -> str:
    """A gap that is no smaller than the objective itself."""
    return (
        TRIVIAL
        if problem.follows_from_zero(float(numbers["gap"]), float(numbers["objective"]))
        else ""
    )


def statement(claim: OptimalityGap, problem: Problem) -> str:
    """The conclusion in a few sentences."""
    heads = {
        "nonnegative": "with a head v >= 0",
        "nonpositive": "with a head v <= 0",
        "any": "with any head",
    }[claim.heads]
    what = "training loss"
    if claim.method == "decay":
        heads += f" whose entries have size at most v_max (about {decimal_up(claim.v_max)})"
        what = f"penalized loss L + (w/2)|W|^2 with the claimed w (about {decimal_up(claim.decay)})"
    return (
        f"No quadratic network f(x) = sum_l v_l (w_l . x)^2 {heads}, of any width, has a {what} on "
        f"these {problem.sizes.n} samples that is lower than that of the stored network by more "
        f"than {decimal_up(claim.gap)}: it is within this gap of the global minimum over that "
        f"class. The stored weights have training loss at most {decimal_up(claim.loss_upper)}."
    )


CLAIM = ClaimKind(
    "optimality-gap",
    "quadratic-gap/1",
    MEANING,
    read,
    work,
    exact,
    check,
    statement,
    vacuous=vacuous,
)

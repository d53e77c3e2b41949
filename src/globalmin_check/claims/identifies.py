"""The claim `identifies`: the samples determine a quadratic network as a function
(`spec/claims/identifies.md`).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from globalmin_check.balls import decimal_down, decimal_up, lower_float, upper_float
from globalmin_check.canonical import Fields
from globalmin_check.checks import Checks, ExactChecks
from globalmin_check.claims import quadratic
from globalmin_check.claims.exact_rank import squares_span
from globalmin_check.claims.kind import ClaimKind, Numbers
from globalmin_check.container import Tensor, Tensors
from globalmin_check.network import require_loss
from globalmin_check.positive import require_positive_definite
from globalmin_check.primitives import shifted
from globalmin_check.problem import Problem, Sizes

MEANING = (
    "Theorem (quadratic span). If the matrices x_i x_i^T span all symmetric d x d matrices, two "
    "quadratic networks with equal outputs on all samples are the same function: the difference of "
    "their matrices is orthogonal to a spanning set. If A^T A >= mu I, A the matrix with rows "
    "svec(x_i x_i^T), then their matrices differ by at most |f - f'|/sqrt(mu)."
)


@dataclass(frozen=True)
class Identifies:
    """Fields and tensors of section 5.6."""

    loss_upper: Fraction
    mu: Fraction | None
    C: Tensor | None


def read(fields: Fields, tensors: Tensors, sizes: Sizes) -> Identifies:
    """Take the fields and tensors of the claim; form only."""
    stable, N = fields.has("mu"), sizes.d * (sizes.d + 1) // 2
    return Identifies(
        loss_upper=fields.rational("loss_upper"),
        mu=fields.rational("mu") if stable else None,
        C=tensors.take("C", "F64", N, N) if stable else None,
    )


def work(claim: Identifies, sizes: Sizes) -> tuple[int, int]:
    """Ball multiplications and balls held at once."""
    n, d, k = sizes.n, sizes.d, sizes.k
    N = d * (d + 1) // 2
    elimination = (
        (n + N) * N * N // 3 if n >= N else 0
    )  # three primes, a modular multiplication costs a tenth of a ball's
    stable = n * N * N + 2 * N**3 if claim.mu is not None else 0
    return elimination + stable + (n + k) * d * d, 3 * N * N + 4 * quadratic.STRIP_ENTRIES + 4 * n


def exact(claim: Identifies, problem: Problem, checks: ExactChecks) -> None:
    """U1 to U3 and the rank, U5."""
    name, n, d = problem.activation, problem.sizes.n, problem.sizes.d
    N = d * (d + 1) // 2
    checks.require_fact(
        "U1", "the activation is quadratic", name == "quadratic", f"the activation is {name}"
    )
    checks.require_fact("U2", "n >= d(d+1)/2", n >= N, f"n = {n}, d(d+1)/2 = {N}")
    if claim.mu is not None:
        checks.require_sign("U3", "mu > 0", claim.mu)
    full, rank = squares_span(problem.X)
    checks.require_fact(
        "U5",
        "the x_i x_i^T have rank d(d+1)/2 modulo a prime of the list",
        full,
        f"rank {rank} of {N}",
    )


def check(claim: Identifies, problem: Problem, _: None, checks: Checks) -> Numbers:
    """U4 and, if claimed, the least eigenvalue, U6, at the present precision."""
    d = problem.sizes.d
    loss = require_loss(checks, "U4", problem, claim.loss_upper, quadratic.residual(problem))
    if claim.mu is not None and claim.C is not None:
        matrix = shifted(quadratic.design_gram(problem.X), 1, -claim.mu)
        require_positive_definite(checks, "U6", "A^T A - mu I", matrix, claim.C)
    numbers: Numbers = {
        "loss_upper": upper_float(claim.loss_upper),
        "loss": upper_float(loss),
        "rank": float(d * (d + 1) // 2),
    }
    return numbers if claim.mu is None else numbers | {"mu": lower_float(claim.mu)}


def statement(claim: Identifies, problem: Problem) -> str:
    """The conclusion in a few sentences."""
    text = (
        "Two quadratic networks, of any widths and with any heads, that have equal outputs on "
        f"these {problem.sizes.n} samples are the same function everywhere: at most one quadratic "
        "function fits the labels exactly. (The weights themselves are not determined.) The stored "
        f"weights have loss at most {decimal_up(claim.loss_upper)}."
    )
    if claim.mu is None:
        return text
    return (
        f"{text} If the outputs of two networks differ by e in Euclidean norm, their matrices "
        "sum_l v_l w_l w_l^T differ by at "
        f"most e/sqrt(mu) in Frobenius norm, with mu = {decimal_down(claim.mu)}."
    )


CLAIM = ClaimKind("identifies", "quadratic-span/1", MEANING, read, work, exact, check, statement)

"""The claim `strict-saddle`: a direction of negative curvature at the stored weights
(`spec/claims/strict-saddle.md`).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from globalmin_check import limits
from globalmin_check.activations import SMOOTH
from globalmin_check.balls import (
    ball,
    decimal_down,
    decimal_up,
    lower_float,
    root,
    sum_of_squares,
    upper_float,
)
from globalmin_check.canonical import Fields
from globalmin_check.checks import Checks, ExactChecks
from globalmin_check.claims.hessian import Curve
from globalmin_check.claims.kind import ClaimKind, Numbers
from globalmin_check.claims.neighborhood import (
    Neighborhood,
    read_neighborhood,
    require_constants,
    require_signs,
)
from globalmin_check.container import Tensor, Tensors
from globalmin_check.network import require_loss
from globalmin_check.problem import Problem, Sizes

MEANING = (
    "Theorem (negative curvature). Let U be a direction with U^T (hess L) U <= -gamma |U|^2, gamma "
    "> 0, at the stored weights. Then these are not a local minimum, and not a second-order "
    "stationary point with any tolerance below gamma. If the Hessian is Lipschitz with the "
    "constant Lam on the ball of radius R and Lam R <= gamma, no point of the open ball is a local "
    "minimum, and one of the two points at the distance R along U has a loss lower by at least "
    "gamma R^2/3."
)


@dataclass(frozen=True)
class StrictSaddle:
    """Fields and tensors of section 5.9."""

    loss_upper: Fraction
    both: bool
    gamma: Fraction
    eps: Fraction
    U: Tensor
    u: Tensor | None
    radius: Neighborhood | None


def read(fields: Fields, tensors: Tensors, sizes: Sizes) -> StrictSaddle:
    """Take the fields and tensors of the claim; form only."""
    both = fields.choice("trained", ("W", "vW")) == "vW"
    return StrictSaddle(
        loss_upper=fields.rational("loss_upper"),
        both=both,
        gamma=fields.rational("gamma"),
        eps=fields.rational("eps"),
        U=tensors.take("U", "F64", sizes.k, sizes.d),
        u=tensors.take("u", "F64", sizes.k) if both else None,
        radius=_read_radius(fields, tensors, sizes.d, both) if fields.has("radius") else None,
    )


def _read_radius(fields: Fields, tensors: Tensors, d: int, both: bool) -> Neighborhood:
    outer = Fields(fields.take("radius"), f"{fields.where}.radius")
    radius = read_neighborhood(outer, tensors, d, both)
    outer.end()
    return radius


def work(claim: StrictSaddle, sizes: Sizes) -> tuple[int, int]:
    """Ball multiplications and balls held at once."""
    n, d, k = sizes.n, sizes.d, sizes.k
    size = claim.radius.size if claim.radius else 0
    products = (
        4 * n * k * d
        + 2 * limits.WORK_PER_VALUE * n * k
        + n * d * d
        + 2 * d**3
        + n * size**2
        + 2 * size**3
    )
    return products, 8 * n * k + 2 * n * d + n * size + 3 * size**2


def exact(claim: StrictSaddle, problem: Problem, checks: ExactChecks) -> None:
    """S1 to S3 and S7."""
    name = problem.activation
    checks.require_fact(
        "S1", "the activation is smooth", name in SMOOTH, f"the activation is {name}"
    )
    checks.require_sign("S2a", "gamma > 0", claim.gamma)
    checks.require_sign("S2b", "eps >= 0", claim.eps)
    moves = any(claim.U.values) or (claim.u is not None and any(claim.u.values))
    checks.require_fact("S3", "the direction is not zero", moves, "as stored")
    if claim.radius is not None:
        require_signs(checks, "S", claim.radius)
        square = claim.radius.lip_square * claim.radius.R**2
        checks.require("S7d", "Lam^2 R^2 <= gamma^2", square, "<=", claim.gamma**2)


def check(claim: StrictSaddle, problem: Problem, _: None, checks: Checks) -> Numbers:
    """S4 to S6, S8 and S9 at the present precision."""
    head = claim.u.values.tolist() if claim.u else [0.0] * problem.sizes.k
    curve = Curve(problem, claim.both)
    loss = require_loss(checks, "S4", problem, claim.loss_upper, curve.r)
    gradient = curve.gradient_square()
    checks.require("S5", "|grad L|^2 <= eps^2", gradient, "<=", claim.eps**2)
    size = sum_of_squares([arb(entry) for entry in (*claim.U.values, *head)])
    curvature = curve.along(claim.U.rows(), head)
    checks.require(
        "S6", "|r'|^2 + r . r'' <= -gamma |U|^2", curvature, "<=", -ball(claim.gamma) * size
    )
    if claim.radius is not None:
        require_constants(checks, "S", claim.radius, curve)
    numbers: Numbers = {
        "loss_upper": upper_float(claim.loss_upper),
        "loss": upper_float(loss),
        "gamma": lower_float(claim.gamma),
        "eps": upper_float(claim.eps),
        "gradient": upper_float(root(gradient)),
        "curvature": upper_float(curvature / size),
        "trained": "vW" if claim.both else "W",
    }
    if claim.radius is None:
        return numbers
    return numbers | {
        "radius": lower_float(claim.radius.R),
        "drop": lower_float(claim.gamma * claim.radius.R**2 / 3),
    }


def statement(claim: StrictSaddle, problem: Problem) -> str:
    """The conclusion in a few sentences."""
    what = "both layers (v, W)" if claim.both else "W (head v fixed)"
    text = (
        f"As a function of {what}, the training loss has at the stored weights a unit direction in "
        f"which its second derivative is at most -{decimal_down(claim.gamma)}: they are not a "
        "local minimum, and the loss can be lowered along it. The gradient there has norm at most "
        f"{decimal_up(claim.eps)}; it need not be zero, so this excludes a minimum but does not "
        "say that the stored weights are a critical point. The stored weights have loss at most "
        f"{decimal_up(claim.loss_upper)}."
    )
    if claim.radius is None:
        return text
    weights = "weights (v, W)" if claim.both else "weights W"
    R = decimal_down(
        claim.radius.R
    )  # the drop holds for every distance up to R, so for the printed one
    drop = decimal_down(claim.gamma * Fraction(R) ** 2 / 3)
    return (
        f"{text} No {weights} closer than {R} to the stored ones are a local minimum, and one of "
        f"the two points at this distance along the direction has a loss lower by at least {drop}."
    )


CLAIM = ClaimKind(
    "strict-saddle", "negative-curvature/1", MEANING, read, work, exact, check, statement
)

"""The claim `strict-saddle`: a direction of negative curvature at the stored weights (`spec/claims/strict-saddle.md`)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from globalmin_check import limits
from globalmin_check.activations import SMOOTH
from globalmin_check.balls import ball, decimal_down, decimal_up, lower_float, root, sum_of_squares, upper_float
from globalmin_check.canonical import Fields
from globalmin_check.checks import Checks
from globalmin_check.claims.hessian import Curve
from globalmin_check.claims.smooth import read_quartic
from globalmin_check.container import Tensor, Tensors
from globalmin_check.network import require_loss
from globalmin_check.positive import require_positive_definite
from globalmin_check.primitives import Rows, quartic_matrix, shifted, weighted_gram
from globalmin_check.problem import Problem, Sizes
from globalmin_check.verdict import Malformed

THEOREM = "negative-curvature/1"
MEANING = (
    "Theorem (negative curvature). Let U be a direction with U^T (hess L) U <= -gamma |U|^2, gamma > 0, at the stored weights. "
    "Then these are not a local minimum, and not a second-order stationary point with any tolerance below gamma. If the Hessian "
    "in W is Lipschitz with the constant Lam on the ball of radius R and Lam R <= gamma, no point of the open ball is a local "
    "minimum."
)


@dataclass(frozen=True)
class Neighborhood:
    """The optional object `radius` with its tensors: Lam^2 = lam kappa on the ball of radius R."""

    R: Fraction
    lam: Fraction
    kappa: Fraction
    t: Fraction | None
    C_lam: Tensor
    C_kappa: Tensor


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
    if both and fields.has("radius"):
        raise Malformed(f"{fields.where}.radius is for trained = W only")
    return StrictSaddle(
        loss_upper=fields.rational("loss_upper"),
        both=both,
        gamma=fields.rational("gamma"),
        eps=fields.rational("eps"),
        U=tensors.take("U", "F64", sizes.k, sizes.d),
        u=tensors.take("u", "F64", sizes.k) if both else None,
        radius=_read_radius(fields, tensors, sizes.d) if fields.has("radius") else None,
    )


def _read_radius(fields: Fields, tensors: Tensors, d: int) -> Neighborhood:
    outer = Fields(fields.take("radius"), f"{fields.where}.radius")
    R, lam = outer.rational("R"), outer.rational("lam")
    kappa, t, size = read_quartic(outer, d)
    outer.end()
    return Neighborhood(R, lam, kappa, t, tensors.take("C_lam", "F64", d, d), tensors.take("C_kappa", "F64", size, size))


def work(claim: StrictSaddle, sizes: Sizes) -> tuple[int, int]:
    """Ball multiplications and balls held at once."""
    n, d, k = sizes.n, sizes.d, sizes.k
    size = claim.radius.C_kappa.shape[0] if claim.radius else 0
    products = 4 * n * k * d + 2 * limits.WORK_PER_VALUE * n * k + n * d * d + 2 * d**3 + n * size**2 + 2 * size**3
    return products, 8 * n * k + 2 * n * d + n * size + 3 * size**2


def check(claim: StrictSaddle, problem: Problem, checks: Checks) -> dict[str, str | float]:
    """Verify every hypothesis of the theorem at the present precision."""
    name = problem.activation
    checks.require_fact("S1", "the activation is smooth", name in SMOOTH, f"the activation is {name}")
    checks.require_sign("S2a", "gamma > 0", claim.gamma)
    checks.require_sign("S2b", "eps >= 0", claim.eps)
    head = claim.u.values.tolist() if claim.u else [0.0] * problem.sizes.k
    checks.require_fact("S3", "the direction is not zero", any(claim.U.values) or any(head), "as stored")
    curve = Curve(problem, claim.both)
    loss = require_loss(checks, "S4", problem, claim.loss_upper, curve.r)
    gradient = curve.gradient_square()
    checks.require("S5", "|grad L|^2 <= eps^2", gradient, "<=", claim.eps**2)
    size = sum_of_squares([arb(entry) for entry in (*claim.U.values, *head)])
    curvature = curve.along(claim.U.rows(), head)
    checks.require("S6", "|r'|^2 + r . r'' <= -gamma |U|^2", curvature, "<=", -ball(claim.gamma) * size)
    if claim.radius is not None:
        _require_radius(checks, claim.radius, claim.gamma, curve)
    numbers: dict[str, str | float] = {
        "loss_upper": upper_float(claim.loss_upper),
        "loss": upper_float(loss),
        "gamma": lower_float(claim.gamma),
        "eps": upper_float(claim.eps),
        "gradient": upper_float(root(gradient)),
        "curvature": upper_float(curvature / size),
        "trained": "vW" if claim.both else "W",
    }
    return numbers if claim.radius is None else numbers | {"radius": lower_float(claim.radius.R)}


def _require_radius(checks: Checks, claim: Neighborhood, gamma: Fraction, curve: Curve) -> None:
    """Checks 7 to 9: Lam R <= gamma, with the two factors of Lam^2 = lam kappa proved on the ball of radius R."""
    checks.require_sign("S7a", "R > 0", claim.R)
    checks.require_sign("S7b", "lam > 0", claim.lam)
    checks.require_sign("S7c", "kappa > 0", claim.kappa)
    checks.require("S7d", "lam kappa R^2 <= gamma^2", claim.lam * claim.kappa * claim.R**2, "<=", gamma**2)
    if checks.is_proved("S8") and checks.is_proved("S9"):
        return
    c = curve.lipschitz_weights(claim.R)

    def second() -> Rows:
        return shifted(weighted_gram(curve.columns, c), -1, claim.lam)

    def quartic() -> Rows:
        return quartic_matrix(curve.tangent.X, c, claim.kappa, claim.t)

    require_positive_definite(checks, "S8", "lam I - sum_i c_i x_i x_i^T", second, claim.C_lam)
    require_positive_definite(checks, "S9", "kappa I - quartic form", quartic, claim.C_kappa)


def statement(claim: StrictSaddle, problem: Problem) -> str:
    """The conclusion in a few sentences."""
    what = "both layers (v, W)" if claim.both else "W (head v fixed)"
    text = (
        f"As a function of {what}, the training loss has at the stored weights a gradient of norm at most "
        f"{decimal_up(claim.eps)} and a unit direction in which its second derivative is at most -{decimal_down(claim.gamma)}: "
        f"they are not a local minimum, and the loss can be lowered along this direction. The stored weights have loss at most "
        f"{decimal_up(claim.loss_upper)}."
    )
    if claim.radius is None:
        return text
    return f"{text} No weights W closer than {decimal_down(claim.radius.R)} to the stored ones are a local minimum."

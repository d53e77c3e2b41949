"""The claim `unique-minimum`: exactly one critical point in a ball around the stored W
(`spec/claims/unique-minimum.md`).
"""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from globalmin_check import limits
from globalmin_check.activations import SMOOTH
from globalmin_check.balls import ball, decimal_down, decimal_up, lower_float, root, upper_float
from globalmin_check.canonical import Fields
from globalmin_check.checks import Checks, ExactChecks
from globalmin_check.claims.convexity_witness import UniqueMinimum, require_bounds
from globalmin_check.claims.hessian import Curve
from globalmin_check.claims.kind import ClaimKind, Numbers
from globalmin_check.claims.local_convexity import read_quartic
from globalmin_check.container import Tensors
from globalmin_check.network import require_loss
from globalmin_check.problem import Problem, Sizes
from globalmin_check.verdict import DESCENT_NOTE, Malformed

PARAMETERS = 400  # largest number of parameters for which the whole Hessian is formed
NUMBERS = ("loss_upper", "r", "r_minus", "mu", "M", "eta", "rate", "m0", "M0")
MEANING = (
    "Theorem (local convexity). Let |grad L| <= g at the stored W, let hess L >= m0 - a t - b t^2 "
    "at distance t <= r from it, and M >= hess L there. If mu = m0 - a r - b r^2 > 0 and m0 s - a "
    "s^2/2 - b s^3/3 >= g for some s <= r/2, then L is mu-strongly convex on the ball of radius r "
    "and has exactly one critical point there, at distance at most s from W; gradient descent on W "
    "with a step eta <= 2/(mu + M) from every start at distance at most r - 2 s converges to it, "
    "and every step multiplies the distance by at most 1 - eta mu."
)


def read(fields: Fields, tensors: Tensors, sizes: Sizes) -> UniqueMinimum:
    """Take the fields and tensors of the claim; form only."""
    p, d = sizes.k * sizes.d, sizes.d
    if p > PARAMETERS:
        raise Malformed(f"{fields.where}: at most {PARAMETERS} parameters, not {p}")
    form = fields.choice("form", ("plain", "split", "tensor", "mixed"))
    names = (
        NUMBERS
        + {"plain": ("lam",), "split": ("lam", "tau"), "tensor": ("flat2",), "mixed": ("tau",)}[
            form
        ]
    )
    role, *shape = {"tensor": ("C_flat", p, p), "mixed": ("V", p, d)}.get(form, ("C_lam", d, d))
    return UniqueMinimum(
        form=form,
        x={name: fields.rational(name) for name in names},
        quartic=read_quartic(fields, "quartic", tensors, "C_kappa", d),
        square=read_quartic(fields, "square", tensors, "C_square", d) if form == "split" else None,
        C_m=tensors.take("C_m", "F64", p, p),
        C_M=tensors.take("C_M", "F64", p, p),
        extra=tensors.take(role, "F64", *shape),
    )


def work(claim: UniqueMinimum, sizes: Sizes) -> tuple[int, int]:
    """Ball multiplications and balls held at once."""
    n, d, k = sizes.n, sizes.d, sizes.k
    p, N = k * d, d * (d + 1) // 2
    products = 4 * n * p + 3 * limits.WORK_PER_VALUE * n * k + n * p * p + n * p * d + 4 * p**3
    sides = [part.C.shape[0] for part in (claim.quartic, claim.square) if part]
    products += sum(n * side**2 + 2 * side**3 for side in sides) + n * d * d + 2 * d**3
    balls = 12 * n * k + n * (p + 2 * d) + 4 * p * p + 2 * n * max(sides)
    if claim.form in ("tensor", "mixed"):
        products += n * k * k * d * (N + 1) + p**4 + p * p * d
        balls += n * (N + d) + 2 * p**3
    return products, balls


def exact(claim: UniqueMinimum, problem: Problem, checks: ExactChecks) -> None:
    """U1, U2 and U7 to U9."""
    x, name = claim.x, problem.activation
    checks.require_fact(
        "U1", "the activation is smooth", name in SMOOTH, f"the activation is {name}"
    )
    _require_signs(checks, claim)
    checks.require("U7", "2 r_minus <= r", 2 * x["r_minus"], "<=", x["r"])
    checks.require("U8", "eta (mu + M) <= 2", x["eta"] * (x["mu"] + x["M"]), "<=", Fraction(2))
    checks.require("U9", "1 - eta mu <= rate", 1 - x["eta"] * x["mu"], "<=", x["rate"])


def check(claim: UniqueMinimum, problem: Problem, _: None, checks: Checks) -> Numbers:
    """U3 to U6 and the witnesses at the present precision."""
    x = claim.x
    curve = Curve(problem, both=False)
    loss = require_loss(checks, "U3", problem, x["loss_upper"], curve.r)
    a, b, above = _coefficients(claim)
    r, s, m0 = (ball(x[key]) for key in ("r", "r_minus", "m0"))
    checks.require("U4", "mu <= m0 - a r - b r^2", ball(x["mu"]), "<=", m0 - a * r - b * r * r)
    checks.require(
        "U5", "M0 + a r + b' r^2 <= M", ball(x["M0"]) + a * r + above * r * r, "<=", x["M"]
    )
    gradient = root(curve.gradient_square())
    checks.require(
        "U6",
        "|grad L| <= m0 s - a s^2/2 - b s^3/3",
        gradient,
        "<=",
        s * (m0 - s * (a / 2 + s * b / 3)),
    )
    require_bounds(checks, claim, curve)
    return _numbers(claim, loss, gradient)


def _require_signs(checks: ExactChecks, claim: UniqueMinimum) -> None:
    positive = [
        key for key in ("r", "mu", "eta", "m0", "M0", "lam", "flat2", "tau") if key in claim.x
    ]
    for key in positive:
        checks.require_sign(f"U2.{key}", f"{key} > 0", claim.x[key])
    checks.require_sign("U2.r_minus", "r_minus >= 0", claim.x["r_minus"])
    checks.require_sign("U2.rate", "rate >= 0", claim.x["rate"])
    checks.require("U2.rate1", "rate < 1", claim.x["rate"], "<", Fraction(1))
    checks.require_sign("U2.kappa", "kappa > 0", claim.quartic.kappa)
    if claim.square:
        checks.require_sign("U2.square", "square.kappa > 0", claim.square.kappa)
    if "tau" in claim.x:
        checks.require("U2.tau1", "tau < 1", claim.x["tau"], "<", Fraction(1))


def _coefficients(claim: UniqueMinimum) -> tuple[arb, arb, arb]:
    """A, b of the lower bound m0 - a t - b t^2 of the Hessian, and b' of the upper bound M0 + a t +
    b' t^2.
    """
    x, kappa = claim.x, claim.quartic.kappa
    if claim.form == "tensor":
        return ball(x["flat2"]).sqrt(), ball(kappa), ball(kappa)
    a = arb(0) if claim.form == "mixed" else ball(x["lam"] * kappa).sqrt()
    if claim.form == "plain":
        return a, arb(0), arb(0)
    b = (1 / x["tau"] - 1) * claim.square.kappa if claim.square else kappa
    return a, ball(b), ball(b * (1 + x["tau"]) / (1 - x["tau"]))


def _numbers(claim: UniqueMinimum, loss: arb, gradient: arb) -> Numbers:
    x = claim.x
    lower = {key: lower_float(x[key]) for key in ("r", "mu", "m0")}
    upper = {key: upper_float(x[key]) for key in ("loss_upper", "r_minus", "M", "rate")}
    measured = {
        "loss": upper_float(loss),
        "gradient": upper_float(gradient),
        "starts": lower_float(x["r"] - 2 * x["r_minus"]),
    }
    return {**lower, **upper, **measured, "eta": str(x["eta"]), "form": claim.form}


def statement(claim: UniqueMinimum, problem: Problem) -> str:
    """The conclusion in a few sentences."""
    x = claim.x
    starts = decimal_down(x["r"] - 2 * x["r_minus"])
    return (
        "As a function of W (head v fixed), the training loss has exactly one critical point "
        f"within {decimal_down(x['r'])} of the stored weights: a strict local minimum, the only "
        f"minimizer there, at most {decimal_up(x['r_minus'])} away, and the loss is strongly "
        f"convex on this ball with modulus {decimal_down(x['mu'])}. Gradient descent on W with the "
        f"claimed step eta (about {decimal_down(x['eta'])}), in exact arithmetic, from every start "
        f"within {starts} of the stored weights converges to it, and every step multiplies the "
        f"distance by at most 1 - {decimal_down(1 - x['rate'])}. This does not say that the "
        f"minimum is global. The stored weights have loss at most {decimal_up(x['loss_upper'])}."
    )


CLAIM = ClaimKind(
    "unique-minimum",
    "local-convexity/1",
    MEANING,
    read,
    work,
    exact,
    check,
    statement,
    notes=(DESCENT_NOTE,),
)

"""Where a replayed run arrives: theorem LD, or a bound of the loss there and nothing more
(`spec/claims/trajectory.md`).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from globalmin_check.activations import steepest
from globalmin_check.balls import ball, lower_float, root, sum_of_squares, upper_float
from globalmin_check.canonical import Fields
from globalmin_check.checks import Checks, ExactChecks
from globalmin_check.claims import descent
from globalmin_check.claims.kind import Numbers
from globalmin_check.claims.replay import Replayed, Run
from globalmin_check.claims.smooth import lipschitz, read_quartic, require_witnesses
from globalmin_check.container import Tensor, Tensors
from globalmin_check.network import Tangent, require_loss, residual
from globalmin_check.positive import require_positive_definite
from globalmin_check.primitives import lower_product, quartic_matrix, shifted
from globalmin_check.problem import Problem, Sizes


@dataclass(frozen=True)
class Local:
    """Bounds of J at the stored weights and of its Lipschitz constant on the ball of radius rho."""

    b2: Fraction
    rho: Fraction
    kappa: Fraction
    t: Fraction | None
    C_kappa: Tensor
    C_b: Tensor | None


@dataclass(frozen=True)
class LossLanding:
    """The fields of 5.20 with landing "loss"."""

    loss_upper: Fraction
    bound: Fraction
    local: Local | None  # None: the global bound of J


def read_loss(fields: Fields, tensors: Tensors, sizes: Sizes) -> LossLanding:
    """Take the fields and tensors of the landing "loss"; form only."""
    fields.choice("trained", ("W",))
    local = fields.choice("constants", ("global", "local")) == "local"
    return LossLanding(
        fields.rational("loss_upper"),
        fields.rational("bound"),
        _read_local(fields, tensors, sizes) if local else None,
    )


def _read_local(fields: Fields, tensors: Tensors, sizes: Sizes) -> Local:
    kappa, t, size = read_quartic(fields, sizes.d)
    factor = fields.choice("norm", ("rows", "factor")) == "factor"
    return Local(
        b2=fields.rational("b2"),
        rho=fields.rational("rho"),
        kappa=kappa,
        t=t,
        C_kappa=tensors.take("C_kappa", "F64", size, size),
        C_b=tensors.take("C_b", "F64", sizes.n, sizes.n) if factor else None,
    )


def require_loss_range(checks: ExactChecks, landing: LossLanding, run: Run) -> None:
    """Of the local constants: their signs, and that the run arrives where they hold."""
    if landing.local is not None:
        checks.require_sign("J2c", "kappa > 0", landing.local.kappa)
        checks.require_sign("J3e", "b2 > 0", landing.local.b2)
        checks.require("J17", "Delta <= rho", run.Delta, "<=", landing.local.rho)


def require_x2(checks: Checks, number: str, problem: Problem, x2: Fraction, C_x: Tensor) -> None:
    """x2 I - X^T X is positive definite."""
    columns = [list(map(arb, column)) for column in zip(*problem.X.rows(), strict=True)]
    form = shifted(lower_product(columns, columns), -1, x2)
    require_positive_definite(checks, number, "x2 I - X^T X", form, C_x)


def global_norm(problem: Problem, x2: Fraction) -> arb:
    """The bound b_1 |v| sqrt(x2) of |J| at every W."""
    v = [arb(entry) for entry in problem.v.values]
    slope = steepest(problem.activation, problem.parameter)
    return slope * root(sum_of_squares(v)) * ball(x2).sqrt()


def check_descent(
    landing: descent.Descent, run: Run, problem: Problem, found: Replayed, checks: Checks
) -> Numbers:
    """Theorem LD at the stored weights, at the present precision."""
    common = landing.curvature
    tangent = Tangent(problem, common.both)
    r = tangent.residual()
    loss = require_loss(checks, "J5", problem, common.loss_upper, r)
    a, b, Lip = ball(common.a2).sqrt(), ball(landing.b2).sqrt(), lipschitz(common)
    Delta, eta = ball(run.Delta), ball(run.eta)
    g = root(sum_of_squares(r)) + (b + Lip * Delta / 2) * Delta
    a, b = a - Lip * Delta, b + Lip * Delta
    checks.require("J6", "0 < a' = a - Lip Delta", 0, "<", a)
    checks.require("J7", "2 Lip g' < a'^2", 2 * Lip * g, "<", a * a)
    alpha2 = a * a - 2 * Lip * g
    S = 2 * g / (a + alpha2.sqrt())
    checks.require("J8", "S' + Delta <= rho", S + Delta, "<=", common.rho)
    checks.require("J9", "eta (b' + Lip S')^2 <= 1", eta * (b + Lip * S) ** 2, "<=", 1)
    checks.require("J10", "1 - eta (a'^2 - 2 Lip g') <= rate", 1 - eta * alpha2, "<=", landing.rate)
    path = ball(found.path[0]).union(ball(found.path[1])) + S
    checks.require("J11", "path of the replay + S' <= path", path, "<=", landing.path)
    descent.require_norm(checks, "J13", tangent, landing.b2, landing.C_b)
    require_witnesses(checks, ("J14", "J14", "J15"), common, tangent)
    return {
        "loss_upper": upper_float(common.loss_upper),
        "loss": upper_float(loss),
        "rate": upper_float(landing.rate),
        "path": upper_float(landing.path),
        "rho": upper_float(common.rho),
        "a": lower_float(a),
        "b": upper_float(b),
        "Lip": upper_float(Lip),
        "g": upper_float(g),
        "S": upper_float(S),
    }


def check_loss(
    landing: LossLanding, run: Run, problem: Problem, x2: Fraction, checks: Checks
) -> Numbers:
    """The loss after K steps, from the loss at the stored weights and a bound of J between."""
    local, Delta = landing.local, ball(run.Delta)
    if local is None:
        r = residual(problem)
        moved = global_norm(problem, x2) * Delta
    else:
        tangent = Tangent(problem, both=False)
        r, Lip = tangent.residual(), ball(local.kappa).sqrt()
        moved = (ball(local.b2).sqrt() + Lip * Delta / 2) * Delta
        descent.require_norm(checks, "J13", tangent, local.b2, local.C_b)
        weights = tangent.curvature_weights(local.rho)
        quartic = quartic_matrix(tangent.X, weights, local.kappa, local.t)
        require_positive_definite(checks, "J14", "kappa I - quartic form", quartic, local.C_kappa)
    loss = require_loss(checks, "J5", problem, landing.loss_upper, r)
    g = root(sum_of_squares(r)) + moved
    checks.require(
        "J16", "(|r| + what Delta moves it)^2/2 <= bound", g * g / 2, "<=", landing.bound
    )
    return {
        "loss_upper": upper_float(landing.loss_upper),
        "loss": upper_float(loss),
        "bound": upper_float(landing.bound),
        "g": upper_float(g),
        "landing": "loss",
    }

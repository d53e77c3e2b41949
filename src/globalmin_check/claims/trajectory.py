"""The claim `trajectory`: gradient descent from its start reaches zero loss
(`spec/claims/trajectory.md`).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from globalmin_check.activations import supremum
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
from globalmin_check.claims import descent
from globalmin_check.claims.kind import ClaimKind, Numbers
from globalmin_check.claims.replay import (
    Replayed,
    Run,
    follow,
    read_run,
    require_arrival,
    start_words,
)
from globalmin_check.claims.replay_steps import Expansion, HiddenStep, charge_full_steps
from globalmin_check.claims.smooth import lipschitz, require_domain, require_witnesses
from globalmin_check.container import Tensor, Tensors
from globalmin_check.network import Tangent, require_loss
from globalmin_check.positive import require_positive_definite
from globalmin_check.primitives import lower_product, shifted
from globalmin_check.problem import Problem, Sizes
from globalmin_check.verdict import DESCENT_NOTE, GENERALIZATION_NOTE, Malformed

ONE_START_NOTE = (
    "a statement about this start; how likely random starts are to succeed is not said by one file"
)
MEANING = (
    "Theorem (trajectory). The steps w -> w - eta grad L(w) are replayed in balls from the start, "
    "with a bound delta of the distance to the exact run that grows in every step by at most the "
    "factor max(1, eta b^2 - 1) + eta C (|r| + b delta), b >= |J| and C a Lipschitz constant of J "
    "on the ball of radius delta, and by the rounding of the step. If the exact run is within "
    "Delta of the stored weights V after K steps, and at V K = J J^T >= a^2 I, |J| <= b, |r| <= g, "
    "J Lipschitz with Lip on the ball of radius rho, and with a' = a - Lip Delta, b' = b + Lip "
    "Delta, g' = g + (b + Lip Delta/2) Delta, S' = 2g'/(a' + sqrt(a'^2 - 2 Lip g')) it holds that "
    "a' > 0, 2 Lip g' < a'^2, S' + Delta <= rho and eta (b' + Lip S')^2 <= 1, then the run "
    "converges to weights with zero loss, its residual shrinking by 1 - eta (a'^2 - 2 Lip g') in "
    "every step after the K-th."
)


@dataclass(frozen=True)
class Trajectory:
    """Fields and tensors of section 5.20: the run, and the claim `descent` where it lands."""

    run: Run
    expansion: Expansion
    C_x: Tensor
    landing: descent.Descent


def read(fields: Fields, tensors: Tensors, sizes: Sizes) -> Trajectory:
    """Take the fields and tensors of the claim; form only."""
    run = read_run(fields, tensors, {"W0": (sizes.k, sizes.d)}, seeds=True)
    x2, rows = fields.rational("x2"), fields.choice("expansion", ("norm", "rows")) == "rows"
    C_x = tensors.take("C_x", "F64", sizes.d, sizes.d)
    landing = descent.read(fields, tensors, sizes, eta=run.eta)
    if landing.curvature.both:
        raise Malformed(f"{fields.where}.trained is not W")
    return Trajectory(run, Expansion(x2, rows), C_x, landing)


def work(claim: Trajectory, sizes: Sizes) -> tuple[int, int]:
    """Ball multiplications and balls held at once by the landing; the replay is counted by its own
    pass.
    """
    products, balls = descent.work(claim.landing, sizes)
    return products + 2 * sizes.d**3 + sizes.n * sizes.d**2, balls


def exact(claim: Trajectory, problem: Problem, checks: ExactChecks) -> Replayed:
    """J1 to J3, and J4: the one pass of the replay at the bits of the claim."""
    run, common = claim.run, claim.landing.curvature
    require_domain(checks, "J", common, problem)
    bounded = supremum(problem.activation, problem.parameter, 1) is not None
    checks.require_fact(
        "J3h",
        "the slope is bounded, or the expansion is by rows",
        bounded or claim.expansion.rows,
        f"the activation is {problem.activation}",
    )
    checks.require_sign("J3a", "eta > 0", run.eta)
    checks.require_sign("J3b", "Delta > 0", run.Delta)
    checks.require_sign("J3c", "x2 > 0", claim.expansion.x2)
    checks.require_sign("J3d", "delta0 >= 0", run.start.delta0)
    checks.require_sign("J3e", "b2 > 0", claim.landing.b2)
    checks.require_sign("J3f", "rate >= 0", claim.landing.rate)
    checks.require("J3g", "rate < 1", claim.landing.rate, "<", Fraction(1))
    charge_full_steps(run, claim.expansion, problem.sizes, checks)
    found = follow(
        run, lambda _: HiddenStep(run, claim.expansion, problem), (problem.W,), number="J4"
    )
    require_arrival(checks, "J4", run, found)
    return found


def check(claim: Trajectory, problem: Problem, found: Replayed, checks: Checks) -> Numbers:
    """The landing at the present precision: theorem LD at the stored weights."""
    landing, common, run = claim.landing, claim.landing.curvature, claim.run
    tangent = Tangent(problem, both=False)
    r = tangent.residual()
    loss = require_loss(checks, "J5", problem, common.loss_upper, r)
    gram = lower_product(*[list(map(list, zip(*tangent.X, strict=True)))] * 2)
    x2 = shifted(gram, -1, claim.expansion.x2)
    require_positive_definite(checks, "J12", "x2 I - X^T X", x2, claim.C_x)
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
    descent.require_norm(checks, "J13", landing, tangent)
    require_witnesses(checks, ("J14", "J14", "J15"), common, tangent)
    return _numbers(claim, found, loss, (a, b, Lip, g, S))


def _numbers(
    claim: Trajectory, found: Replayed, loss: arb, parts: tuple[arb, arb, arb, arb, arb]
) -> Numbers:
    a, b, Lip, g, S = parts
    run, landing = claim.run, claim.landing
    return {
        "loss_upper": upper_float(landing.curvature.loss_upper),
        "loss": upper_float(loss),
        "eta": str(run.eta),
        "rate": upper_float(landing.rate),
        "path": upper_float(landing.path),
        "steps": float(run.K),
        "replay_bits": float(run.bits),
        "Delta": upper_float(run.Delta),
        "distance": upper_float(found.distance[1]),
        "delta": upper_float(found.delta),
        "delta0": upper_float(run.start.delta0),
        "seed": "" if run.start.seed is None else str(run.start.seed),
        "rho": upper_float(landing.curvature.rho),
        "a": lower_float(a),
        "b": upper_float(b),
        "Lip": upper_float(Lip),
        "g": upper_float(g),
        "S": upper_float(S),
        "trained": "W",
    }


def statement(claim: Trajectory, problem: Problem) -> str:
    """The conclusion in a few sentences."""
    run, landing = claim.run, claim.landing
    return (
        "Gradient descent on W (head v fixed) with the claimed step eta (about "
        f"{decimal_down(run.eta)}) from {start_words(run.start)}, in exact arithmetic, is after "
        f"{run.K} steps within {decimal_up(run.Delta)} of the stored weights and converges to "
        f"weights that fit all {problem.sizes.n} samples exactly: zero training loss, the global "
        "minimum. From then on every step multiplies the norm of the residual by at most 1 - "
        f"{decimal_down(1 - landing.rate)}; the whole path, from the start, is at most "
        f"{decimal_up(landing.path)} long. The stored weights have loss at most "
        f"{decimal_up(landing.curvature.loss_upper)}."
    )


CLAIM = ClaimKind(
    "trajectory",
    "replayed-descent/1",
    MEANING,
    read,
    work,
    exact,
    check,
    statement,
    notes=(DESCENT_NOTE, ONE_START_NOTE, GENERALIZATION_NOTE),
    zero_loss=True,
)

"""The claim `trajectory`: gradient descent from its start reaches zero loss, or at least a small
one (`spec/claims/trajectory.md`).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from globalmin_check.activations import SMOOTH, supremum
from globalmin_check.balls import decimal_down, decimal_up
from globalmin_check.canonical import Fields
from globalmin_check.checks import Checks, ExactChecks
from globalmin_check.claims import descent
from globalmin_check.claims.kind import ClaimKind, Numbers
from globalmin_check.claims.landing import (
    LossLanding,
    check_descent,
    check_loss,
    read_loss,
    require_loss_range,
    require_x2,
)
from globalmin_check.claims.replay import (
    Replayed,
    Run,
    follow,
    read_run,
    replay_numbers,
    require_arrival,
    start_words,
)
from globalmin_check.claims.replay_steps import (
    BothStep,
    Expansion,
    HiddenStep,
    charge_full_steps,
)
from globalmin_check.claims.smooth import require_domain
from globalmin_check.container import Tensor, Tensors
from globalmin_check.limits import WORK_PER_VALUE
from globalmin_check.problem import Problem, Sizes
from globalmin_check.verdict import DESCENT_NOTE, GENERALIZATION_NOTE

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
    'every step after the K-th. With the landing "loss" nothing is said of steps after the K-th: '
    "there L <= g'^2/2, if Delta <= rho, or with b_1 |v| |X| in place of b + Lip Delta/2 always."
)


@dataclass(frozen=True)
class Trajectory:
    """Fields and tensors of section 5.20: the run, and the claim `descent` or a bound of the loss
    where it lands.
    """

    run: Run
    both: bool
    expansion: Expansion
    C_x: Tensor
    landing: descent.Descent | LossLanding


def read(fields: Fields, tensors: Tensors, sizes: Sizes) -> Trajectory:
    """Take the fields and tensors of the claim; form only."""
    loss = fields.has("landing") and fields.choice("landing", ("loss",)) == "loss"
    eta = fields.rational("eta")
    landing = (
        read_loss(fields, tensors, sizes) if loss else descent.read(fields, tensors, sizes, eta=eta)
    )
    both = isinstance(landing, descent.Descent) and landing.curvature.both
    roles: dict[str, tuple[int, ...]] = {"W0": (sizes.k, sizes.d)}
    if both:
        roles["v0"] = (sizes.k,)
    methods = ("rows", "blocks") if both else ("norm", "rows")
    return Trajectory(
        run=read_run(fields, tensors, eta, roles, seeds=not both),
        both=both,
        expansion=Expansion(fields.rational("x2"), fields.choice("expansion", methods)),
        C_x=tensors.take("C_x", "F64", sizes.d, sizes.d),
        landing=landing,
    )


def work(claim: Trajectory, sizes: Sizes) -> tuple[int, int]:
    """Ball multiplications and balls held at once by the landing; the replay is counted by its own
    pass.
    """
    n, d, k = sizes.n, sizes.d, sizes.k
    of_x2 = 2 * d**3 + n * d**2
    if isinstance(claim.landing, descent.Descent):
        products, balls = descent.work(claim.landing, sizes)
        return products + of_x2, balls
    products, balls = n * k * (d + WORK_PER_VALUE), 8 * n * k + n * d
    if claim.landing.local is not None:
        size = claim.landing.local.C_kappa.shape[0]
        products += 2 * n**3 + n * n * (k + d) + 2 * size**3 + n * size**2
        balls += max(3 * n * n, 3 * size**2 + n * size)
    return products + of_x2, balls


def exact(claim: Trajectory, problem: Problem, checks: ExactChecks) -> Replayed:
    """J1 to J3, J17, and J4: the one pass of the replay at the bits of the claim."""
    run, landing, expansion = claim.run, claim.landing, claim.expansion
    if isinstance(landing, descent.Descent):
        require_domain(checks, "J", landing.curvature, problem)
    else:
        name = problem.activation
        smooth = name in SMOOTH
        checks.require_fact("J1", "the activation is smooth", smooth, f"the activation is {name}")
    _require_slope(claim, problem, checks)
    checks.require_sign("J3a", "eta > 0", run.eta)
    checks.require_sign("J3b", "Delta > 0", run.Delta)
    checks.require_sign("J3c", "x2 > 0", expansion.x2)
    checks.require_sign("J3d", "delta0 >= 0", run.start.delta0)
    if isinstance(landing, descent.Descent):
        checks.require_sign("J3e", "b2 > 0", landing.b2)
        checks.require_sign("J3f", "rate >= 0", landing.rate)
        checks.require("J3g", "rate < 1", landing.rate, "<", Fraction(1))
    else:
        require_loss_range(checks, landing, run)
    charge_full_steps(run, expansion, problem.sizes, checks)
    step = BothStep if claim.both else HiddenStep
    stored = (problem.W, problem.v) if claim.both else (problem.W,)
    found = follow(run, lambda _: step(run, expansion, problem), stored, number="J4")
    require_arrival(checks, "J4", run, found)
    return found


def _require_slope(claim: Trajectory, problem: Problem, checks: ExactChecks) -> None:
    """Where a bound of the slope on the whole line is used, there must be one."""
    bounded = supremum(problem.activation, problem.parameter, 1) is not None
    found = f"the activation is {problem.activation}"
    by_rows = claim.expansion.method == "rows" and not claim.both
    checks.require_fact(
        "J3h",
        "the slope is bounded, or W alone is trained and the expansion is by rows",
        bounded or by_rows,
        found,
    )
    if isinstance(claim.landing, LossLanding) and claim.landing.local is None:
        checks.require_fact("J3i", "the slope is bounded for global constants", bounded, found)


def check(claim: Trajectory, problem: Problem, found: Replayed, checks: Checks) -> Numbers:
    """The landing at the present precision."""
    run, landing, x2 = claim.run, claim.landing, claim.expansion.x2
    require_x2(checks, "J12", problem, x2, claim.C_x)
    if isinstance(landing, descent.Descent):
        numbers = check_descent(landing, run, problem, found, checks)
    else:
        numbers = check_loss(landing, run, problem, x2, checks)
    return {
        **numbers,
        "eta": str(run.eta),
        **replay_numbers(run, found),
        "trained": "vW" if claim.both else "W",
    }


def statement(claim: Trajectory, problem: Problem) -> str:
    """The conclusion in a few sentences."""
    run, landing = claim.run, claim.landing
    what = "both layers (one common step)" if claim.both else "W (head v fixed)"
    arrival = (
        f"Gradient descent on {what} with the claimed step eta (about {decimal_down(run.eta)}) "
        f"from {start_words(run.start)}, in exact arithmetic, is after {run.K} steps within "
        f"{decimal_up(run.Delta)} of the stored weights and "
    )
    if isinstance(landing, LossLanding):
        return (
            f"{arrival}has there a loss of at most {decimal_up(landing.bound)}. Nothing is said "
            f"about further steps, and nothing about zero loss. The stored weights have loss at "
            f"most {decimal_up(landing.loss_upper)}."
        )
    return (
        f"{arrival}converges to weights that fit all {problem.sizes.n} samples exactly: zero "
        "training loss, the global minimum. From then on every step multiplies the norm of the "
        f"residual by at most 1 - {decimal_down(1 - landing.rate)}; the whole path, from the "
        f"start, is at most {decimal_up(landing.path)} long. The stored weights have loss at most "
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
    reaches_zero=lambda claim: isinstance(claim.landing, descent.Descent),
)

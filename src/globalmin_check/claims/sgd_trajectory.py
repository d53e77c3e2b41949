"""The claim `sgd-trajectory`: stochastic gradient descent from its start, in the recorded order and
then in every order that goes on meeting all samples, reaches zero loss
(`spec/claims/sgd-trajectory.md`).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from globalmin_check.activations import steepest, supremum
from globalmin_check.balls import (
    ball,
    decimal_down,
    decimal_up,
    largest,
    lower_float,
    root,
    sum_of_squares,
    upper_float,
)
from globalmin_check.canonical import Fields
from globalmin_check.checks import Checks, ExactChecks
from globalmin_check.claims.kind import ClaimKind, Numbers
from globalmin_check.claims.landing import global_norm, require_x2
from globalmin_check.claims.replay import (
    Replayed,
    Run,
    follow,
    read_run,
    replay_numbers,
    require_arrival,
    start_words,
)
from globalmin_check.claims.replay_steps import SampleStep, charge_single_steps
from globalmin_check.claims.smooth import (
    Curvature,
    curvature_work,
    lipschitz,
    read_curvature,
    require_domain,
    require_witnesses,
)
from globalmin_check.claims.trajectory import ONE_START_NOTE
from globalmin_check.container import Tensor, Tensors
from globalmin_check.network import Tangent, require_loss
from globalmin_check.problem import Problem, Sizes
from globalmin_check.verdict import GENERALIZATION_NOTE, Malformed

SGD_NOTE = (
    "stochastic gradient descent in exact arithmetic with a constant step, one sample a step, not "
    "a floating-point run; sampling with replacement has no blocks and is not covered"
)
MEANING = (
    "Theorem (stochastic trajectory). The steps w -> w - eta r_i grad f_i(w), the samples i in the "
    "recorded order, are replayed in balls from the start, with a bound delta of the distance to "
    "the exact run that grows in every step by at most the factor max(1, eta m_i^2 - 1) + eta "
    "ell_i (|r_i| + m_i delta) and by the rounding of the step. Let the run be within Delta of the "
    "stored weights after the last recorded step; within rho of them sigma_min(J) >= alpha > 0, "
    "|grad f_i| <= m and grad f_i Lipschitz with ell. With cc = eta (2 - eta m^2)/2 > 0, kap = "
    "eta^2 ell^2/(4 cc), gam = cc alpha^2/(1 + eta m^2 sqrt(n N))^2, D = |r|/alpha there and M = "
    "(4/gam) eta m sqrt(5N/(4 cc)) D: if 4 N kap D^2 <= gam and D + M + Delta <= rho, every "
    "continuation in which each block of N steps meets every sample converges to zero loss, on a "
    "path of at most M."
)


@dataclass(frozen=True)
class Stochastic:
    """Fields and tensors of section 5.21: the run with its order, and theorem SG where it lands."""

    run: Run
    order: Tensor
    block: int
    x2: Fraction
    path: Fraction
    curvature: Curvature
    C_x: Tensor


def read(fields: Fields, tensors: Tensors, sizes: Sizes) -> Stochastic:
    """Take the fields and tensors of the claim; form only."""
    curvature = read_curvature(fields, tensors, sizes)
    if curvature.both:
        raise Malformed(f"{fields.where}.trained is not W")
    order = tensors.take("order", "I64", None)
    if any(not 0 <= sample < sizes.n for sample in order.values):
        raise Malformed(f"{fields.where}: the order names a sample that is not among 0..n-1")
    roles: dict[str, tuple[int, ...]] = {"W0": (sizes.k, sizes.d)}
    run = read_run(fields, tensors, fields.rational("eta"), roles, seeds=True, order=order)
    return Stochastic(
        run=run,
        order=order,
        block=fields.integer("block", sizes.n),  # fewer steps cannot meet every sample
        x2=fields.rational("x2"),
        path=fields.rational("path"),
        curvature=curvature,
        C_x=tensors.take("C_x", "F64", sizes.d, sizes.d),
    )


def work(claim: Stochastic, sizes: Sizes) -> tuple[int, int]:
    """Ball multiplications and balls held at once by the landing; the replay is counted by its own
    pass.
    """
    products, balls = curvature_work(claim.curvature, sizes)
    return products + 2 * sizes.d**3 + sizes.n * sizes.d**2, balls


def exact(claim: Stochastic, problem: Problem, checks: ExactChecks) -> Replayed:
    """Q1 to Q3, and Q4: the one pass of the replay at the bits of the claim."""
    run, name = claim.run, problem.activation
    require_domain(checks, "Q", claim.curvature, problem)
    bounded = supremum(name, problem.parameter, 1) is not None
    checks.require_fact("Q3e", "the slope is bounded", bounded, f"the activation is {name}")
    checks.require_sign("Q3a", "eta > 0", run.eta)
    checks.require_sign("Q3b", "Delta > 0", run.Delta)
    checks.require_sign("Q3c", "x2 > 0", claim.x2)
    checks.require_sign("Q3d", "delta0 >= 0", run.start.delta0)
    charge_single_steps(run, problem.sizes, checks)
    found = follow(
        run,
        lambda _: SampleStep(run, claim.x2, problem, claim.order.values),
        (problem.W,),
        number="Q4",
    )
    require_arrival(checks, "Q4", run, found)
    return found


def check(claim: Stochastic, problem: Problem, found: Replayed, checks: Checks) -> Numbers:
    """Theorem SG at the present precision, every constant from the stored weights."""
    run, common = claim.run, claim.curvature
    tangent = Tangent(problem, both=False)
    r = tangent.residual()
    loss = require_loss(checks, "Q5", problem, common.loss_upper, r)
    require_x2(checks, "Q11", problem, claim.x2, claim.C_x)
    eta, Delta, rho = ball(run.eta), ball(run.Delta), ball(common.rho)
    alpha = ball(common.a2).sqrt() - lipschitz(common) * rho
    checks.require("Q6", "0 < alpha = a - Lip rho", 0, "<", alpha)
    m, ell = _sample_bounds(tangent)
    checks.require("Q7", "eta m^2 < 2", eta * m * m, "<", 2)
    N = arb(claim.block)
    cc = eta * (2 - eta * m * m) / 2
    kap = eta * eta * ell * ell / (4 * cc)
    spread = 1 + eta * m * m * (problem.sizes.n * N).sqrt()
    gam = cc * alpha * alpha / (spread * spread)
    D = (root(sum_of_squares(r)) + global_norm(problem, claim.x2) * Delta) / alpha
    checks.require("Q8", "4 N kap D^2 <= gam", 4 * N * kap * D * D, "<=", gam)
    M = 4 / gam * eta * m * (5 * N / (4 * cc)).sqrt() * D
    checks.require("Q9", "D + M + Delta <= rho", D + M + Delta, "<=", common.rho)
    path = ball(found.path[0]).union(ball(found.path[1])) + M
    checks.require("Q10", "path of the replay + M <= path", path, "<=", claim.path)
    require_witnesses(checks, ("Q12", "Q12", "Q13"), common, tangent)
    return _numbers(claim, found, loss, (alpha, gam, D, M))


def _sample_bounds(tangent: Tangent) -> tuple[arb, arb]:
    """Everywhere: b_1 |v| max |x_i| >= |grad f_i|, and b_2 max |v_l| max |x_i|^2, a Lipschitz
    constant of grad f_i.
    """
    problem, longest = tangent.problem, largest(tangent.norms)
    bend = ball(supremum(problem.activation, problem.parameter, 2) or 0)
    head = root(sum_of_squares(tangent.v))
    m = steepest(problem.activation, problem.parameter) * head * longest
    return m, bend * largest(map(abs, tangent.v)) * longest * longest


def _numbers(
    claim: Stochastic, found: Replayed, loss: arb, parts: tuple[arb, arb, arb, arb]
) -> Numbers:
    run = claim.run
    alpha, gam, D, M = parts
    return {
        "loss_upper": upper_float(claim.curvature.loss_upper),
        "loss": upper_float(loss),
        "eta": str(run.eta),
        "path": upper_float(claim.path),
        **replay_numbers(run, found),
        "block": float(claim.block),
        "rho": upper_float(claim.curvature.rho),
        "a": lower_float(alpha),
        "gam": lower_float(gam),
        "D": upper_float(D),
        "M": upper_float(M),
        "trained": "W",
    }


def statement(claim: Stochastic, problem: Problem) -> str:
    """The conclusion in a few sentences."""
    run, n = claim.run, problem.sizes.n
    one = " (one permutation after the other, for example)" if claim.block == n else ""
    return (
        "Stochastic gradient descent on W (head v fixed), one sample a step, with the claimed step "
        f"eta (about {decimal_down(run.eta)}) from {start_words(run.start)}, in exact arithmetic "
        f"and in the recorded order, is after {run.K} steps within {decimal_up(run.Delta)} of the "
        f"stored weights. In every order in which it may go on, as long as each block of "
        f"{claim.block} further steps meets all samples{one}, it converges to weights that fit all "
        f"{n} samples exactly: zero training loss, the global minimum. The whole path, from the "
        f"start, is at most {decimal_up(claim.path)} long; no rate per step is claimed. The stored "
        f"weights have loss at most {decimal_up(claim.curvature.loss_upper)}."
    )


CLAIM = ClaimKind(
    "sgd-trajectory",
    "replayed-sgd/1",
    MEANING,
    read,
    work,
    exact,
    check,
    statement,
    notes=(SGD_NOTE, ONE_START_NOTE, GENERALIZATION_NOTE),
    zero_loss=True,
)

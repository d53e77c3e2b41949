"""The claim `relu-trajectory`: gradient descent on a ReLU network from its start
(`spec/claims/relu-trajectory.md`).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from globalmin_check.balls import (
    ball,
    decimal_down,
    decimal_up,
    root,
    sum_of_squares,
    upper_float,
)
from globalmin_check.canonical import Fields
from globalmin_check.checks import Checks, ExactChecks
from globalmin_check.claims import relu_descent, relu_linearized_descent
from globalmin_check.claims.kind import ClaimKind, Numbers
from globalmin_check.claims.landing import require_x2
from globalmin_check.claims.relu_bracket import BracketMatrices
from globalmin_check.claims.relu_linear_path import Margins, linear_run
from globalmin_check.claims.relu_linearized_descent import ReluLinearizedDescent
from globalmin_check.claims.relu_replay import (
    KINKED,
    KinkedStep,
    charge_kinked_steps,
    lengths,
    lipschitz_of_outputs,
)
from globalmin_check.claims.relu_signs import Bracket
from globalmin_check.claims.replay import (
    Replayed,
    Run,
    follow,
    read_run,
    replay_numbers,
    require_arrival,
    start_words,
)
from globalmin_check.claims.trajectory import ONE_START_NOTE
from globalmin_check.container import Tensor, Tensors
from globalmin_check.network import require_loss, residual
from globalmin_check.problem import Problem, Sizes
from globalmin_check.verdict import DESCENT_NOTE, GENERALIZATION_NOTE

MEANING = (
    "Theorem (trajectory of a network with kinks). The steps w -> w - eta grad L(w) are replayed "
    "in balls from the start, with a bound delta of the distance to the exact run. In every step "
    "each |z_li| is more than delta |x_i|, so on the ball of radius delta the step is affine and "
    "lengthens no distance by more than max(1, eta beta^2 - 1), beta a bound of |J|. After K steps "
    "the exact run is within Delta of the stored weights. There either (landing descent) the "
    "theorem of the linearized ReLU path holds with every residual, sum and margin changed by what "
    "a distance of Delta can change it, so that the run converges to weights with zero loss; or "
    "(landing loss) its loss is at most (|r| + beta Delta)^2/2."
)


@dataclass(frozen=True)
class ReluTrajectory:
    """Fields and tensors of section 5.22: the run, and where it lands."""

    run: Run
    x2: Fraction
    C_x: Tensor
    landing: ReluLinearizedDescent | None  # None: "loss"
    loss_upper: Fraction
    bound: Fraction


def read(fields: Fields, tensors: Tensors, sizes: Sizes) -> ReluTrajectory:
    """Take the fields and tensors of the claim; form only."""
    eta = fields.rational("eta")
    run = read_run(fields, tensors, eta, {"W0": (sizes.k, sizes.d)}, seeds=True)
    x2, C_x = fields.rational("x2"), tensors.take("C_x", "F64", sizes.d, sizes.d)
    if fields.choice("landing", ("descent", "loss")) == "loss":
        loss_upper, bound = fields.rational("loss_upper"), fields.rational("bound")
        return ReluTrajectory(run, x2, C_x, None, loss_upper, bound)
    landing = relu_linearized_descent.read(fields, tensors, sizes, eta=eta)
    return ReluTrajectory(run, x2, C_x, landing, landing.rates.loss_upper, Fraction(0))


def work(claim: ReluTrajectory, sizes: Sizes) -> tuple[int, int]:
    """Ball multiplications and balls held at once by the landing; the replay is counted by its own
    pass.
    """
    n, d, k = sizes.n, sizes.d, sizes.k
    landing = claim.landing
    known = (0, 0) if landing is None else relu_linearized_descent.work(landing, sizes)
    return known[0] + 2 * d**3 + n * d * (d + k), known[1] + 3 * d * d + 2 * n * (d + k)


Objects = tuple[Replayed, Bracket | None]


def exact(claim: ReluTrajectory, problem: Problem, checks: ExactChecks) -> Objects:
    """RT1 to RT7, the signs outside U, and RT8: the one pass of the replay."""
    run, landing = claim.run, claim.landing
    if landing is None:
        checks.require_fact(
            "RT1",
            "the activation is relu, leaky_relu or abs",
            problem.activation in KINKED,
            f"the activation is {problem.activation}",
        )
    else:
        relu_descent.require_numbers(landing.rates, problem, checks, "RT")
    checks.require_sign("RT7a", "eta > 0", run.eta)
    checks.require_sign("RT7b", "Delta > 0", run.Delta)
    checks.require_sign("RT7c", "x2 > 0", claim.x2)
    checks.require_sign("RT7d", "delta0 >= 0", run.start.delta0)
    charge_kinked_steps(run, problem.sizes, checks)
    found = follow(run, lambda _: KinkedStep(run, claim.x2, problem, "RT8"), (problem.W,), "RT8")
    require_arrival(checks, "RT8", run, found)
    if landing is None:
        return found, None
    return found, relu_linearized_descent.stored_signs(landing, problem, checks)


def check(claim: ReluTrajectory, problem: Problem, objects: Objects, checks: Checks) -> Numbers:
    """RT9 to RT17 at the present precision."""
    found, sets = objects
    r = residual(problem)
    loss = require_loss(checks, "RT9", problem, claim.loss_upper, r)
    require_x2(checks, "RT10", problem, claim.x2, claim.C_x)
    moved = lipschitz_of_outputs(problem, claim.x2) * ball(claim.run.Delta)
    if claim.landing is None or sets is None:
        top = root(sum_of_squares(r)) + moved
        checks.require("RT11", "(g + beta Delta)^2/2 <= bound", top * top / 2, "<=", claim.bound)
        return _numbers(claim, found, loss) | {"bound": upper_float(claim.bound)}
    _require_landing(claim.landing, problem, sets, checks, (r, moved, claim.run.Delta))
    rates = claim.landing.rates
    tail = ball(rates.Lam + rates.eps).sqrt() * ball(rates.tau)
    path = ball(found.path[0]).union(ball(found.path[1])) + tail
    checks.require("RT17", "path of the replay and after it <= path", path, "<=", rates.path)
    known = relu_descent.numbers_of(rates, loss, sets)
    return known | _numbers(claim, found, loss)


def _require_landing(
    landing: ReluLinearizedDescent,
    problem: Problem,
    sets: Bracket,
    checks: Checks,
    near: tuple[list[arb], arb, Fraction],
) -> None:
    """RT12 to RT16: theorem RL from every point within Delta, for r at the stored weights and the
    bound lam e of what Delta changes in it.
    """
    (r, moved, Delta), rates = near, landing.rates
    matrices, lam = BracketMatrices(problem, sets), ball(landing.rates.lam)
    run = linear_run(matrices.middle, r, rates.eta, rates.lam, landing.steps)
    size = root(sum_of_squares(r)).min(run.length * lam) + moved
    reach = (rates.lam - rates.eps) * rates.tau
    checks.require("RT12", "min(|r|, lam T0) + lam e <= (lam - eps) tau", size, "<=", reach)
    relu_descent.require_spectrum(rates, matrices, checks, "RT", first=13)
    run = run.from_nearby(moved / lam)
    drift = run.rest + ball(rates.eps * rates.tau / rates.lam)
    rooms = [ball(Delta) * length for length in lengths(problem)]
    outcome = Margins(problem, matrices, run).outcome(ball(rates.tau), drift, rooms)
    found = f"{sets.unstable} pairs may change sign"
    checks.require_outcome("RT16", "s_li + q_i < |z_li| for every pair outside U", outcome, found)


def _numbers(claim: ReluTrajectory, found: Replayed, loss: arb) -> Numbers:
    run = claim.run
    return {
        "loss_upper": upper_float(claim.loss_upper),
        "loss": upper_float(loss),
        "eta": str(run.eta),
        **replay_numbers(run, found),
        "landing": "loss" if claim.landing is None else "descent",
        "trained": "W",
    }


def statement(claim: ReluTrajectory, problem: Problem) -> str:
    """The conclusion in a few sentences."""
    run, landing = claim.run, claim.landing
    begin = (
        f"Gradient descent on W (head v fixed) of the {problem.phi} network with the claimed step "
        f"eta (about {decimal_down(run.eta)}) from {start_words(run.start)}, in exact arithmetic, "
        f"meets no kink before step {run.K} and is then within {decimal_up(run.Delta)} of the "
        "stored weights"
    )
    if landing is None:
        return (
            f"{begin}: its loss there is at most {decimal_up(claim.bound)}. Nothing is said about "
            "later steps. The stored weights have loss at most "
            f"{decimal_up(claim.loss_upper)}."
        )
    rates = landing.rates
    return (
        f"{begin}; from there, with any derivative in [0, 1] at the kink, it converges to weights "
        f"that fit all {problem.sizes.n} samples exactly: zero training loss, the global minimum. "
        "From then on every step multiplies the norm of the residual by at most 1 - "
        f"{decimal_down(1 - rates.rate)}; the whole path, from the start, is at most "
        f"{decimal_up(rates.path)} long. The stored weights have loss at most "
        f"{decimal_up(rates.loss_upper)}."
    )


CLAIM = ClaimKind(
    "relu-trajectory",
    "replayed-relu-descent/1",
    MEANING,
    read,
    work,
    exact,
    check,
    statement,
    notes=(DESCENT_NOTE, ONE_START_NOTE, GENERALIZATION_NOTE),
    zero_loss=True,
    reaches_zero=lambda claim: claim.landing is not None,
)

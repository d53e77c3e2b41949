"""The claim `relu-linearized-descent`: gradient descent on a ReLU network reaches zero loss, from
its linearized path (`spec/claims/relu-linearized-descent.md`).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from globalmin_check import limits
from globalmin_check.balls import ball, decimal_up, root, sum_of_squares
from globalmin_check.canonical import Fields
from globalmin_check.checks import Checks, ExactChecks
from globalmin_check.claims import relu_descent
from globalmin_check.claims.kind import ClaimKind, Numbers
from globalmin_check.claims.relu_bracket import BracketMatrices
from globalmin_check.claims.relu_descent import ReluDescent
from globalmin_check.claims.relu_linear_path import Margins, linear_run
from globalmin_check.claims.relu_signs import Bracket, active
from globalmin_check.container import Tensors
from globalmin_check.network import require_loss, residual
from globalmin_check.problem import Problem, Sizes
from globalmin_check.verdict import DESCENT_NOTE, GENERALIZATION_NOTE, Malformed

MEANING = (
    "Theorem (linearized ReLU path). Let U be a set of pairs (neuron, sample), H the middle and E "
    "the half width of the Gram matrices x_i . x_j sum_l v_l^2 theta_li theta'_lj over all slopes "
    "that are those of the stored weights outside U and anything in [0, 1] in U. Let lam I <= H <= "
    "Lam I, |E| <= eps < lam and 0 < eta <= 2/(lam + Lam). Let s_li bound how far z_li = w_l . x_i "
    "is moved by the linear run r -> (I - eta H) r, by slopes in U and by the distance of the true "
    "run from the linear one, which is eps tau/lam when summed over the steps. If |z_li| > s_li "
    "outside U, then gradient descent with the step eta multiplies the norm of the residual by at "
    "most 1 - eta (lam - eps) in every step, changes no sign outside U, travels at most sqrt(Lam + "
    "eps) tau and converges to weights with zero loss, whatever derivative is taken at the kink."
)


@dataclass(frozen=True)
class ReluLinearizedDescent:
    """Fields and tensors of section 5.19."""

    rates: ReluDescent
    steps: int
    unstable: frozenset[int]


def read(
    fields: Fields, tensors: Tensors, sizes: Sizes, *, eta: Fraction | None = None
) -> ReluLinearizedDescent:
    """Take the fields and tensors of the claim; form only. The step may be taken already."""
    pairs = tensors.take("U", "I64", None).values
    inside = not pairs or (pairs[0] >= 0 and pairs[-1] < sizes.n * sizes.k)
    if not inside or not all(a < b for a, b in pairwise(pairs)):
        raise Malformed(f"{fields.where}: U is not an increasing list of pairs")
    steps = fields.integer("steps", 1)
    rates = relu_descent.read(fields, tensors, sizes, eta=eta)
    return ReluLinearizedDescent(rates, steps, frozenset(pairs))


def work(claim: ReluLinearizedDescent, sizes: Sizes) -> tuple[int, int]:
    """Ball multiplications and balls held at once."""
    n, k, N = sizes.n, sizes.k, claim.steps
    products, balls = relu_descent.work(claim.rates, sizes)
    products += N * n * (n * (k + 1) + 10 * limits.WORK_PER_VALUE) + 2 * n * n * k
    return products, balls + 3 * N * (n + k + 1) + 6 * n * k


def exact(claim: ReluLinearizedDescent, problem: Problem, checks: ExactChecks) -> Bracket:
    """L1 to L6, and the sets PA and S of theorem RL: the stored signs outside U."""
    relu_descent.require_numbers(claim.rates, problem, checks, "L")
    return stored_signs(claim, problem, checks)


def stored_signs(claim: ReluLinearizedDescent, problem: Problem, checks: ExactChecks) -> Bracket:
    """PA and S: the signs of the stored weights outside U, decided exactly."""
    k = problem.sizes.k
    pattern = active(problem.X.rows(), problem.W, checks)
    possible, sure = [list(row) for row in pattern], [list(row) for row in pattern]
    for pair in claim.unstable:
        i, neuron = divmod(pair, k)
        possible[i][neuron], sure[i][neuron] = 1, 0
    return Bracket(possible, sure)


def check(claim: ReluLinearizedDescent, problem: Problem, sets: Bracket, checks: Checks) -> Numbers:
    """L7 to L12 at the present precision, all for the same sets."""
    rates, r = claim.rates, residual(problem)
    loss = require_loss(checks, "L7", problem, rates.loss_upper, r)
    matrices = BracketMatrices(problem, sets)
    run = linear_run(matrices.middle, r, rates.eta, rates.lam, claim.steps)
    size = root(sum_of_squares(r)).min(run.length * ball(rates.lam))
    reach = (rates.lam - rates.eps) * rates.tau
    checks.require("L8", "min(|r|, lam T0) <= (lam - eps) tau", size, "<=", reach)
    relu_descent.require_spectrum(rates, matrices, checks, "L")
    drift = run.rest + ball(rates.eps * rates.tau / rates.lam)
    outcome = Margins(problem, matrices, run).outcome(ball(rates.tau), drift)
    found = f"{sets.unstable} pairs may change sign"
    checks.require_outcome("L12", "s_li < |z_li| for every pair outside U", outcome, found)
    return relu_descent.numbers_of(rates, loss, sets) | {"steps": float(claim.steps)}


def statement(claim: ReluLinearizedDescent, problem: Problem) -> str:
    """The conclusion in a few sentences."""
    pairs, count = len(claim.unstable), problem.sizes.n * problem.sizes.k
    return (
        f"{relu_descent.descent_statement(claim.rates, problem)} Of the {count} pairs of a neuron "
        f"and a sample at most {pairs} ever change sign. The stored weights have loss at most "
        f"{decimal_up(claim.rates.loss_upper)}."
    )


CLAIM = ClaimKind(
    "relu-linearized-descent",
    "relu-linearized-path/1",
    MEANING,
    read,
    work,
    exact,
    check,
    statement,
    notes=(DESCENT_NOTE, GENERALIZATION_NOTE),
    zero_loss=True,
)

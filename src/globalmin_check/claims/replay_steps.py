"""Steps of gradient descent on shallow smooth networks in balls, with their expansion factors
(lemma 1 of `spec/claims/trajectory.md`).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from flint import arb, arb_mat

from globalmin_check import limits
from globalmin_check.activations import jet, supremum
from globalmin_check.balls import ball, column, largest, root, sum_of_squares
from globalmin_check.checks import ExactChecks
from globalmin_check.claims.replay import Run, Weights, charge
from globalmin_check.primitives import hadamard, lower_product, row_sums
from globalmin_check.problem import Problem, Sizes


@dataclass(frozen=True)
class Expansion:
    """By what the factors are bounded: x2 >= |X|^2, and row sums of K(w_t) or the global norm."""

    x2: Fraction
    rows: bool


def charge_full_steps(run: Run, expansion: Expansion, sizes: Sizes, checks: ExactChecks) -> None:
    """Count the pass over steps with the gradient of all samples."""
    n, d, k = sizes.n, sizes.d, sizes.k
    step = 2 * n * k * d + limits.WORK_PER_VALUE * n * k
    step += n * n * (k + d) if expansion.rows else 0
    balls = 6 * n * k + 4 * k * d + n * d + (3 * n * n if expansion.rows else 0)
    charge(run, step, balls, checks)


class HiddenStep:
    """One step W -> W - eta grad L(W), the head fixed."""

    def __init__(self, run: Run, expansion: Expansion, problem: Problem) -> None:
        self.problem, self.rows, self.eta = problem, expansion.rows, ball(run.eta)
        self.points = problem.X.rows()
        self.X, self.y = arb_mat(self.points), column(problem.y.values.tolist())
        self.v = [arb(entry) for entry in problem.v.values]
        lengths = [sum_of_squares([arb(entry) for entry in row]) for row in self.points]
        name, parameter, x2 = problem.activation, problem.parameter, ball(expansion.x2)
        bend, slope = supremum(name, parameter, 2), supremum(name, parameter, 1)
        # kappa0 <= x2 max |x_i|^2, so J is C-Lipschitz everywhere
        self.C = ball(bend or 0) * largest(map(abs, self.v)) * (x2 * largest(lengths)).sqrt()
        head = root(sum_of_squares(self.v))
        self.beta = None if slope is None else ball(slope) * head * x2.sqrt()

    def __call__(self, t: int, weights: Weights, delta: arb) -> tuple[Weights, arb]:
        """The balls of the next weights, and the factor on the ball of radius delta."""
        (W,) = weights
        name, parameter = self.problem.activation, self.problem.parameter
        jets = [[jet(name, parameter, z) for z in row] for row in (self.X * W.transpose()).tolist()]
        values = arb_mat([[entry[0] for entry in row] for row in jets])
        r = (values * column(self.v) - self.y).entries()
        B = [[entry[1] * v for entry, v in zip(row, self.v, strict=True)] for row in jets]
        pulled = arb_mat(
            [[entry * factor for entry in row] for row, factor in zip(B, r, strict=True)]
        )
        moved = W - (pulled.transpose() * self.X) * self.eta
        return (moved,), self._factor(B, root(sum_of_squares(r)), delta)

    def _factor(self, B: list[list[arb]], g: arb, delta: arb) -> arb:
        """A Lipschitz constant of w -> w - eta grad L(w) on the ball of radius delta (lemma 1)."""
        if self.rows or self.beta is None:
            K = hadamard(lower_product(B, B), lower_product(self.points, self.points))
            b = root(largest(row_sums(K))) + self.C * delta
        else:
            b = self.beta
        return (self.eta * b * b - 1).max(arb(1)) + self.eta * self.C * (g + b * delta)

"""Steps of gradient descent on shallow smooth networks in balls, with their expansion factors
(lemma 1 of `spec/claims/trajectory.md`; one sample at a time: `spec/claims/sgd-trajectory.md`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from flint import arb, arb_mat

from globalmin_check.activations import steepest, supremum, values_and_slopes
from globalmin_check.balls import ball, column, largest, root, sum_of_squares
from globalmin_check.checks import ExactChecks
from globalmin_check.claims.replay import Run, Weights, charge
from globalmin_check.primitives import Rows, add_lower, hadamard, lower_product, row_sums
from globalmin_check.problem import Problem, Sizes

WORK_PER_VALUE = 300  # one value with its slope: 1 to 3 microseconds at 128 bits


@dataclass(frozen=True)
class Expansion:
    """By what the factors are bounded: x2 >= |X|^2; the global norm of J, row sums of K(w_t), or
    these and the blocks of the Hessian.
    """

    x2: Fraction
    method: str  # "norm" or "rows" for W, "rows" or "blocks" for both layers

    @property
    def has_gram(self) -> bool:
        """Whether K(w_t) is formed in every step."""
        return self.method != "norm"


def charge_full_steps(run: Run, expansion: Expansion, sizes: Sizes, checks: ExactChecks) -> None:
    """Count the pass over steps with the gradient of all samples."""
    n, d, k = sizes.n, sizes.d, sizes.k
    step = 2 * n * k * d + WORK_PER_VALUE * n * k
    step += n * n * (2 * k + d) if expansion.has_gram else 0
    balls = 6 * n * k + 4 * k * d + n * d + (3 * n * n if expansion.has_gram else 0)
    charge(run, step, balls, checks)


def charge_single_steps(run: Run, sizes: Sizes, checks: ExactChecks) -> None:
    """Count the pass over steps with the gradient of one sample."""
    d, k = sizes.d, sizes.k
    charge(run, 2 * k * d + WORK_PER_VALUE * k, 4 * k * d + 6 * k + sizes.n * d, checks)


class _Samples:
    """The stored data in balls, and the suprema of the activation's derivatives."""

    def __init__(self, run: Run, x2: Fraction, problem: Problem) -> None:
        self.problem, self.eta, self.x2 = problem, ball(run.eta), ball(x2)
        self.points = problem.X.rows()
        self.X, self.y = arb_mat(self.points), column(problem.y.values.tolist())
        self.squares = [sum_of_squares([arb(entry) for entry in row]) for row in self.points]
        name, parameter = problem.activation, problem.parameter
        self.b1 = steepest(name, parameter)
        self.b2 = ball(supremum(name, parameter, 2) or 0)
        # kappa0 = x2 max |x_i|^2 bounds sum_i (x_i . a)^4 on the unit sphere
        self.quartic = (self.x2 * largest(self.squares)).sqrt()

    def evaluated(self, W: arb_mat) -> tuple[arb_mat, arb_mat]:
        """The n x k matrices Q = phi(Z) and P = phi'(Z)."""
        n, k = self.problem.sizes.n, self.problem.sizes.k
        Z = (self.X * W.transpose()).entries()
        values, slopes = values_and_slopes(self.problem.activation, self.problem.parameter, Z)
        return arb_mat(n, k, values), arb_mat(n, k, slopes)

    def gram(self, P: arb_mat, v: list[arb]) -> Rows:
        """The lower triangle of K = (B B^T) o (X X^T), B = P diag(v)."""
        B = scaled_rows(v, P.transpose()).transpose().tolist()
        return hadamard(lower_product(B, B), lower_product(self.points, self.points))


class HiddenStep(_Samples):
    """One step W -> W - eta grad L(W), the head fixed."""

    def __init__(self, run: Run, expansion: Expansion, problem: Problem) -> None:
        super().__init__(run, expansion.x2, problem)
        self.v = [arb(entry) for entry in problem.v.values]
        self.C = self.b2 * largest(map(abs, self.v)) * self.quartic  # J is C-Lipschitz everywhere
        head = root(sum_of_squares(self.v)) * self.x2.sqrt()
        self.beta = None if expansion.has_gram else self.b1 * head

    def __call__(self, t: int, weights: Weights, delta: arb) -> tuple[Weights, arb]:
        """The balls of the next weights, and the factor on the ball of radius delta."""
        (W,) = weights
        Q, P = self.evaluated(W)
        r = (Q * column(self.v) - self.y).entries()
        moved = W - scaled_rows([self.eta * v for v in self.v], pulled_back(P, r, self.X))
        return (moved,), self._factor(P, root(sum_of_squares(r)), delta)

    def _factor(self, P: arb_mat, g: arb, delta: arb) -> arb:
        """A Lipschitz constant of w -> w - eta grad L(w) on the ball of radius delta (lemma 1)."""
        b = self.beta
        if b is None:
            b = root(largest(row_sums(self.gram(P, self.v)))) + self.C * delta
        return (self.eta * b * b - 1).max(arb(1)) + self.eta * self.C * (g + b * delta)


class BothStep(_Samples):
    """One step of both layers, (W, v) -> (W, v) - eta grad L(W, v)."""

    def __init__(self, run: Run, expansion: Expansion, problem: Problem) -> None:
        super().__init__(run, expansion.x2, problem)
        self.blocks = expansion.method == "blocks"
        self.longest = root(largest(self.squares))

    def __call__(self, t: int, weights: Weights, delta: arb) -> tuple[Weights, arb]:
        """The balls of the next weights, and the factor on the ball of radius delta."""
        W, head = weights
        v = head.entries()
        Q, P = self.evaluated(W)
        r = Q * head - self.y
        pulled = pulled_back(P, r.entries(), self.X)
        moved = W - scaled_rows([self.eta * entry for entry in v], pulled)
        turned = head - Q.transpose() * r * self.eta
        K = add_lower(self.gram(P, v), lower_product(Q.tolist(), Q.tolist()))
        g = root(sum_of_squares(r.entries()))
        mm = self.b2 * (largest(map(abs, v)) + delta) * self.quartic
        Lip = (mm + (mm * mm + 4 * self.b1 * self.b1 * self.x2).sqrt()) / 2
        b = root(largest(row_sums(K))) + Lip * delta
        bend = self._block(pulled, mm, b, g, delta) if self.blocks else Lip * (g + b * delta)
        return (moved, turned), (self.eta * b * b - 1).max(arb(1)) + self.eta * bend

    def _block(self, pulled: arb_mat, mm: arb, b: arb, g: arb, delta: arb) -> arb:
        """The largest norm of a block [[0, c_l^T], [c_l, S_l]] of sum_i r_i Hess f_i on the
        ball.
        """
        s = mm * (g + b * delta)
        steep = self.b1 * b + self.b2 * g * self.longest
        c = largest(root(sum_of_squares(row)) for row in pulled.tolist())
        c += self.x2.sqrt() * steep * delta
        return (s + (s * s + 4 * c * c).sqrt()) / 2


class SampleStep(_Samples):
    """One step W -> W - eta r_i grad f_i(W), the sample i taken from the recorded order."""

    def __init__(self, run: Run, x2: Fraction, problem: Problem, order: Sequence[int]) -> None:
        super().__init__(run, x2, problem)
        self.order = order
        self.v = [arb(entry) for entry in problem.v.values]
        self.head = arb_mat(1, len(self.v), self.v)
        self.columns = [column(row) for row in self.points]
        steep = self.b1 * root(sum_of_squares(self.v))
        self.m = [steep * root(square) for square in self.squares]
        bend = self.eta * self.b2 * largest(map(abs, self.v))
        self.bends = [bend * square for square in self.squares]  # eta ell_i
        self.least = [(self.eta * m * m - 1).max(arb(1)) for m in self.m]

    def __call__(self, t: int, weights: Weights, delta: arb) -> tuple[Weights, arb]:
        """The balls of the next weights, and the factor on the ball of radius delta."""
        (W,), i, problem = weights, self.order[t], self.problem
        x = self.columns[i]
        values, slopes = values_and_slopes(problem.activation, problem.parameter, (W * x).entries())
        r = (self.head * column(values))[0, 0] - self.y[i, 0]
        pull = self.eta * r
        push = [pull * v * slope for v, slope in zip(self.v, slopes, strict=True)]
        moved = W - column(push) * x.transpose()
        return (moved,), self.least[i] + self.bends[i] * (abs(r) + self.m[i] * delta)


def pulled_back(P: arb_mat, r: list[arb], X: arb_mat) -> arb_mat:
    """P^T diag(r) X, whose row l is sum_i r_i phi'_il x_i: the gradient of neuron l over v_l."""
    return P.transpose() * scaled_rows(r, X)


def scaled_rows(factors: list[arb], A: arb_mat) -> arb_mat:
    """The matrix diag(factors) A."""
    return arb_mat(
        [[factor * entry for entry in row] for factor, row in zip(factors, A.tolist(), strict=True)]
    )

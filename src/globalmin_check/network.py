"""The stored network in balls: outputs, residual, Jacobian products and the tangent Gram matrix K =
J J^T, never J itself.
"""

from __future__ import annotations

from fractions import Fraction

from flint import arb, arb_mat

from globalmin_check import limits
from globalmin_check.activations import RATIONAL, exact_value, jet, supremum, value
from globalmin_check.balls import Number, ball, column, decide, largest, root, sum_of_squares, total
from globalmin_check.checks import Checks
from globalmin_check.exact import inner_product
from globalmin_check.primitives import Rows, add_lower, hadamard, lower_product
from globalmin_check.problem import Problem


def require_loss(
    checks: Checks, number: str, problem: Problem, loss_upper: Fraction, r: list[arb]
) -> arb:
    """Check L(stored weights) <= loss_upper for the residual r and return the ball of L; ties of
    rational networks are exact.
    """
    loss: Number = sum_of_squares(r) / 2
    n, d, k = problem.sizes.n, problem.sizes.d, problem.sizes.k
    if (
        decide(loss, "<=", loss_upper) is None
        and problem.activation in RATIONAL
        and n * d * k <= limits.EXACT_TERMS
    ):
        checks.budget.charge_exact(n * k * (d + 8))
        loss = exact_loss(problem)
    checks.require(number, "L(stored weights) <= loss_upper", loss, "<=", loss_upper)
    return ball(loss)


def residual(problem: Problem) -> list[arb]:
    """r_i = sum_l v_l phi(w_l . x_i) - y_i."""
    rows = [
        [value(problem.activation, problem.parameter, z) for z in row]
        for row in preactivations(problem)
    ]
    return outputs_minus_labels(rows, problem)


def outputs_minus_labels(Q: Rows, problem: Problem) -> list[arb]:
    """Q v - y for the matrix Q of activation values."""
    return (
        arb_mat(Q) * column(problem.v.values.tolist()) - column(problem.y.values.tolist())
    ).entries()


def preactivations(problem: Problem) -> Rows:
    """z_il = w_l . x_i."""
    return (arb_mat(problem.X.rows()) * arb_mat(problem.W.rows()).transpose()).tolist()


def exact_loss(problem: Problem) -> Fraction:
    """L in exact rationals, for piecewise polynomial activations."""
    v, loss = list(map(Fraction, problem.v.values)), Fraction(0)
    for i, y in enumerate(problem.y.values):
        x = problem.X.row(i)
        z = [inner_product(problem.W.row(neuron), x) for neuron in range(len(v))]
        f = sum(
            (
                v[j] * exact_value(problem.activation, problem.parameter, z[j])
                for j in range(len(v))
            ),
            Fraction(0),
        )
        loss += (f - Fraction(y)) ** 2 / 2
    return loss


class Tangent:
    """First and second order quantities of a smooth network at the stored weights.

    Q = phi(Z), P = phi'(Z), D = phi''(Z) are n x k; B = P diag(v). With `both` the head is trained
    too and K = K_W + Q Q^T.
    """

    def __init__(self, problem: Problem, both: bool) -> None:
        self.problem = problem
        self.both = both
        jets = [
            [jet(problem.activation, problem.parameter, z) for z in row]
            for row in preactivations(problem)
        ]
        self.Q, self.P, self.D = ([[entry[j] for entry in row] for row in jets] for j in range(3))
        self.v = [arb(entry) for entry in problem.v.values]
        self.B = [list(map(arb.__mul__, row, self.v)) for row in self.P]
        self.X = problem.X.rows()
        self.norms = [root(sum_of_squares(list(map(arb, row)))) for row in self.X]

    def residual(self) -> list[arb]:
        """R = f - y."""
        return outputs_minus_labels(self.Q, self.problem)

    def gram(self) -> Rows:
        """Lower triangle of K = (B B^T) o (X X^T), plus Q Q^T if both layers are trained."""
        K = hadamard(lower_product(self.B, self.B), lower_product(self.X, self.X))
        return add_lower(K, lower_product(self.Q, self.Q)) if self.both else K

    def trace(self) -> arb:
        """The trace of J J^T."""
        slopes = total(
            square * norm * norm
            for square, norm in zip(map(sum_of_squares, self.B), self.norms, strict=True)
        )
        return slopes + total(map(sum_of_squares, self.Q)) if self.both else slopes

    def apply(self, z: list[float]) -> tuple[list[arb], arb]:
        """K z and z^T K z through J^T z, which costs n k d instead of n^2."""
        weighted = [
            [entry * factor for entry in row] for row, factor in zip(self.B, z, strict=True)
        ]
        G = arb_mat(weighted).transpose() * arb_mat(self.X)
        M = (arb_mat(self.X) * G.transpose()).tolist()
        Kz = [total(map(arb.__mul__, row, other)) for row, other in zip(self.B, M, strict=True)]
        energy = sum_of_squares(G.entries())
        if self.both:
            q = arb_mat(self.Q).transpose() * column(z)
            Kz = list(map(arb.__add__, Kz, (arb_mat(self.Q) * q).entries()))
            energy += sum_of_squares(q.entries())
        return Kz, energy

    def local_supremum(self, order: int, i: int, rho: arb) -> list[arb]:
        """s_{j,il}(rho) = min(b_j, |phi^(j)(z_il)| + b_{j+1} rho |x_i|) for all neurons l; order j
        is 1 or 2.
        """
        name, b = self.problem.activation, self.problem.parameter
        cap, slope = supremum(name, b, order), supremum(name, b, order + 1)
        margin = ball(slope or 0) * rho * self.norms[i]
        values = [abs(entry) + margin for entry in (self.P if order == 1 else self.D)[i]]
        return values if cap is None else [entry.min(ball(cap)) for entry in values]

    def curvature_weights(self, rho: Fraction) -> list[arb]:
        """q_i = c_i^2 of LIP-W or LIP-VW: c_i = max_l (|v_l| [+ rho]) s_{2,il}(rho)."""
        radius = ball(rho)
        heads = [abs(entry) + (radius if self.both else 0) for entry in self.v]
        bounds = [
            largest(map(arb.__mul__, heads, self.local_supremum(2, i, radius)))
            for i in range(len(self.X))
        ]
        return [c * c for c in bounds]

    def slope_weights(self, rho: Fraction) -> list[arb]:
        """The squares of max_l s_{1,il}(rho), the weights of beta^2 in LIP-VW."""
        bounds = [largest(self.local_supremum(1, i, ball(rho))) for i in range(len(self.X))]
        return [s * s for s in bounds]

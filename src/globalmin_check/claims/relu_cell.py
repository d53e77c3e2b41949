"""The activation cell of the witness of a relu-interpolation claim."""

from __future__ import annotations

from fractions import Fraction

from flint import arb, arb_mat

from globalmin_check.balls import column, sum_of_squares
from globalmin_check.container import Tensor
from globalmin_check.primitives import Rows, hadamard, lower_product
from globalmin_check.problem import Problem


class Cell:
    """The activation cell of What over the kept samples: pre-activations, pattern D, residual, Gram matrices."""

    def __init__(self, W_hat: Tensor, neurons: tuple[int, ...], kept: tuple[int, ...], problem: Problem) -> None:
        self.rows = [problem.X.row(i) for i in kept]
        self.weights = W_hat.rows()
        self.Z: Rows = (arb_mat(self.rows) * arb_mat(self.weights).transpose()).tolist()
        self.D = [[self._active(i, j, z) for j, z in enumerate(row)] for i, row in enumerate(self.Z)]
        heads = problem.v.values.tolist()
        parts = arb_mat([[z if on else 0 for z, on in zip(*pair, strict=True)] for pair in zip(self.Z, self.D, strict=True)])
        labels = [problem.y.values[i] for i in kept]
        self.residual_square = sum_of_squares((parts * column(heads) - column(labels)).entries())
        self.neurons = neurons
        self.heads = [heads[j] for j in neurons]
        self.pattern = [[1 if row[j] else 0 for j in neurons] for row in self.D]

    def _active(self, i: int, j: int, z: arb) -> bool:
        """Whether what_j . x_i > 0, by exact rationals if the ball does not decide; an exact zero is inactive."""
        if z > 0 or z <= 0:
            return z > 0
        return sum((Fraction(a) * Fraction(b) for a, b in zip(self.weights[j], self.rows[i], strict=True)), Fraction(0)) > 0

    def inner(self) -> Rows:
        """Lower triangle of x_i . x_j."""
        return lower_product(self.rows, self.rows)

    def gram(self) -> Rows:
        """Lower triangle of G."""
        active = [[head if on else 0.0 for head, on in zip(self.heads, row, strict=True)] for row in self.pattern]
        return hadamard(lower_product(active, active), self.inner())

    def margin_sums(self) -> Rows:
        """sum_j (x_i . x_j)^2 D_lj for every kept sample i and every l in T."""
        half = self.inner()
        size = len(half)
        squares = [[(half[i][j] if j <= i else half[j][i]) ** 2 for j in range(size)] for i in range(size)]
        return (arb_mat(squares) * arb_mat(self.pattern)).tolist()

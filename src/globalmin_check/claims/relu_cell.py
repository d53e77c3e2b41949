"""The activation cell of the witness of a relu-interpolation claim, enclosed at the present
precision.
"""

from __future__ import annotations

from collections.abc import Sequence

from flint import arb_mat

from globalmin_check.balls import column, sum_of_squares
from globalmin_check.claims.relu_signs import Pattern
from globalmin_check.container import Tensor
from globalmin_check.primitives import Rows, hadamard, lower_product, symmetric_product
from globalmin_check.problem import Problem


class Cell:
    """The activation cell of What over the kept samples: pre-activations, pattern D, residual, Gram
    matrices.
    """

    def __init__(
        self,
        W_hat: Tensor,
        neurons: Sequence[int],
        kept: Sequence[int],
        active: Pattern,
        problem: Problem,
    ) -> None:
        self.rows = [problem.X.row(i) for i in kept]
        self.Z: Rows = (arb_mat(self.rows) * arb_mat(W_hat.rows()).transpose()).tolist()
        heads = problem.v.values.tolist()
        parts = arb_mat(
            [
                [z if on else 0 for z, on in zip(*pair, strict=True)]
                for pair in zip(self.Z, active, strict=True)
            ]
        )
        labels = [problem.y.values[i] for i in kept]
        self.residual_square = sum_of_squares((parts * column(heads) - column(labels)).entries())
        self.neurons = neurons
        self.heads = [heads[j] for j in neurons]
        self.pattern = [[row[j] for j in neurons] for row in active]

    def inner(self) -> Rows:
        """Lower triangle of x_i . x_j."""
        return lower_product(self.rows, self.rows)

    def gram(self) -> Rows:
        """Lower triangle of G."""
        active = [
            [head if on else 0.0 for head, on in zip(self.heads, row, strict=True)]
            for row in self.pattern
        ]
        return hadamard(lower_product(active, active), self.inner())

    def margin_sums(self) -> Rows:
        """sum_j (x_i . x_j)^2 D_lj for every kept sample i and every l in T."""
        squares = [[entry * entry for entry in row] for row in symmetric_product(self.rows)]
        return (arb_mat(squares) * arb_mat(self.pattern)).tolist()

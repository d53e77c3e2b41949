"""The bracket of the Gram matrices of a ReLU network, H_mid and E of theorem RD, enclosed at the
present precision.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from flint import arb

from globalmin_check.balls import total
from globalmin_check.claims.relu_signs import Bracket, Pattern
from globalmin_check.primitives import Rows, lower_product, symmetric_product
from globalmin_check.problem import Problem


class BracketMatrices:
    """H_mid and E for the sets PA and S, which are given."""

    def __init__(self, problem: Problem, sets: Bracket) -> None:
        self.sets = sets
        self.K = symmetric_product(problem.X.rows())
        self.heads = problem.v.values.tolist()

    def _weighted(self, pattern: Pattern) -> Rows:
        """sum_l v_l^2 P_il P_jl."""
        rows = [
            [v if on else 0.0 for v, on in zip(self.heads, row, strict=True)] for row in pattern
        ]
        return lower_product(rows, rows)

    @cached_property
    def _outer(self) -> tuple[Rows, Rows]:
        return self._weighted(self.sets.possible), self._weighted(
            self.sets.sure
        ) if self.sets.unstable else []

    @cached_property
    def middle(self) -> Rows:
        """Lower triangle of H_mid."""
        most, least = self._outer
        pairs = [(i, range(i + 1)) for i in range(len(self.K))]
        if not self.sets.unstable:
            return [[self.K[i][j] * most[i][j] for j in row] for i, row in pairs]
        return [[self.K[i][j] * (most[i][j] + least[i][j]) / 2 for j in row] for i, row in pairs]

    def spread_ratios(self, e: Sequence[float]) -> list[arb]:
        """(E e)_i/e_i; their maximum bounds the norm of the symmetric matrix E >= 0 for every e >
        0.
        """
        if not self.sets.unstable:
            return [arb(0)]
        most, least = self._outer
        n = len(self.K)
        E = [
            [abs(self.K[i][j]) * (most[i][j] - least[i][j]) / 2 for j in range(i + 1)]
            for i in range(n)
        ]
        return [total(E[max(i, j)][min(i, j)] * e[j] for j in range(n)) / e[i] for i in range(n)]

"""The pairs of a ReLU network that may change sign while the residual decays, and the bracket of its Gram matrices.

A pair that balls do not decide is put among those that may change (in PA, not in S), which is sound: see
`spec/claims/relu-descent.md`.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property

from flint import arb, arb_mat

from globalmin_check.balls import ball, root, sum_of_squares, total
from globalmin_check.network import outputs_minus_labels, preactivations
from globalmin_check.primitives import Rows, lower_product
from globalmin_check.problem import Problem


class Bracket:
    """PA (may be active), S (surely active) and what follows: H_mid and E of theorem RD, for one radius tau."""

    def __init__(self, problem: Problem, tau: Fraction) -> None:
        Z = preactivations(problem)
        self.r = outputs_minus_labels([[z.max(arb(0)) for z in row] for row in Z], problem)
        X = problem.X.rows()
        half = lower_product(X, X)
        n = len(half)
        self.K = [[half[i][j] if j <= i else half[j][i] for j in range(n)] for i in range(n)]
        self.heads = problem.v.values.tolist()
        self._decide(Z, [abs(arb(v)) * ball(tau) for v in self.heads])

    def _decide(self, Z: Rows, reach: list[arb]) -> None:
        """The signs: first with the whole row of K, then with the samples on which the neuron may be active."""
        first = [root(sum_of_squares(row)) for row in self.K]
        near = [[0 if z < -u * first[i] else 1 for z, u in zip(row, reach, strict=True)] for i, row in enumerate(Z)]
        squares = arb_mat([[entry * entry for entry in row] for row in self.K]) * arb_mat(near)
        shifts = [[root(square) * u for square, u in zip(row, reach, strict=True)] for row in squares.tolist()]
        self.possible = [
            [0 if not maybe or z < -s else 1 for z, s, maybe in zip(*rows, strict=True)]
            for rows in zip(Z, shifts, near, strict=True)
        ]
        self.sure = [[1 if z > s else 0 for z, s in zip(*rows, strict=True)] for rows in zip(Z, shifts, strict=True)]
        self.unstable = sum(map(sum, self.possible)) - sum(map(sum, self.sure))

    def _weighted(self, pattern: list[list[int]]) -> Rows:
        """sum_l v_l^2 P_il P_jl."""
        rows = [[v if on else 0.0 for v, on in zip(self.heads, row, strict=True)] for row in pattern]
        return lower_product(rows, rows)

    @cached_property
    def _outer(self) -> tuple[Rows, Rows]:
        return self._weighted(self.possible), self._weighted(self.sure) if self.unstable else []

    @cached_property
    def middle(self) -> Rows:
        """Lower triangle of H_mid."""
        most, least = self._outer
        pairs = [(i, range(i + 1)) for i in range(len(self.K))]
        if not self.unstable:
            return [[self.K[i][j] * most[i][j] for j in row] for i, row in pairs]
        return [[self.K[i][j] * (most[i][j] + least[i][j]) / 2 for j in row] for i, row in pairs]

    def spread_ratios(self, e: Sequence[float]) -> list[arb]:
        """(E e)_i/e_i; their maximum bounds the norm of the symmetric matrix E >= 0 for every e > 0."""
        if not self.unstable:
            return [arb(0)]
        most, least = self._outer
        n = len(self.K)
        E = [[abs(self.K[i][j]) * (most[i][j] - least[i][j]) / 2 for j in range(i + 1)] for i in range(n)]
        return [total(E[max(i, j)][min(i, j)] * e[j] for j in range(n)) / e[i] for i in range(n)]

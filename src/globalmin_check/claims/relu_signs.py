"""The signs of the pre-activations of a ReLU network that theorems RI and RD speak of, decided
exactly.

Balls at a fixed precision decide almost all of them; the others are compared as exact integers. So
the sets are functions of the stored numbers alone, whatever precision the claim is checked at.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar

from flint import arb, arb_mat

from globalmin_check.balls import ball, decide, total
from globalmin_check.checks import ExactChecks
from globalmin_check.container import Tensor
from globalmin_check.exact import inner_product
from globalmin_check.primitives import Rows, symmetric_product
from globalmin_check.problem import Problem

Pattern = list[list[int]]  # one row per sample, one column per neuron, entries 0 and 1
Comparison = Callable[[Any, Any], bool | None]
Value = TypeVar("Value", Fraction, arb)


def active(X: list[list[float]], W: Tensor, checks: ExactChecks) -> Pattern:
    """Where w_l . x_i > 0; an exact zero is not active."""
    pattern: Pattern = []
    for x, row in zip(X, (arb_mat(X) * arb_mat(W.rows()).transpose()).tolist(), strict=True):
        signs = [decide(0, "<", z) for z in row]
        unknown = [neuron for neuron, sign in enumerate(signs) if sign is None]
        checks.charge(len(unknown) * len(x))
        for neuron in unknown:
            signs[neuron] = inner_product(x, W.row(neuron)) > 0
        pattern.append([1 if sign else 0 for sign in signs])
    return pattern


@dataclass(frozen=True)
class Bracket:
    """PA (pairs that may be active while the residual decays) and S (pairs that surely are) of
    theorem RD, for one tau.
    """

    possible: Pattern
    sure: Pattern

    @property
    def unstable(self) -> int:
        """How many pairs may change sign."""
        return sum(map(sum, self.possible)) - sum(map(sum, self.sure))


class _Pairs:
    """The comparisons of z_li with -s and s, s^2 = v_l^2 tau^2 (sum of K_ij^2 over a set of j): by
    balls, else by rationals.
    """

    def __init__(self, problem: Problem, tau: Fraction, checks: ExactChecks) -> None:
        X, W = problem.X.rows(), problem.W.rows()
        self.Z: Rows = (arb_mat(X) * arb_mat(W).transpose()).tolist()
        K = symmetric_product(X)
        self.squares: Rows = [[entry * entry for entry in row] for row in K]
        self.scales = [(Fraction(v) * tau) ** 2 for v in problem.v.values]
        self._balls = list(map(ball, self.scales))
        self._problem, self._checks = problem, checks

    def compare(
        self, i: int, sums: list[arb], members: Callable[[int], list[int]], holds: Comparison
    ) -> list[bool]:
        """For every neuron l whether holds(z_li, s^2), the set of neuron l being where members(l)
        is 1, with the ball sums[l].
        """
        outcomes = [
            holds(z, scale * size)
            for z, scale, size in zip(self.Z[i], self._balls, sums, strict=True)
        ]
        unknown = [neuron for neuron, outcome in enumerate(outcomes) if outcome is None]
        if not unknown:
            return [outcome is True for outcome in outcomes]
        X, W = self._problem.X, self._problem.W
        self._checks.charge((X.shape[0] + len(unknown)) * X.shape[1] + len(unknown) * X.shape[0])
        x = X.row(i)
        squares = [inner_product(x, X.row(j)) ** 2 for j in range(X.shape[0])]
        for neuron in unknown:
            size = sum(
                (square for square, on in zip(squares, members(neuron), strict=True) if on),
                Fraction(0),
            )
            outcomes[neuron] = holds(inner_product(x, W.row(neuron)), self.scales[neuron] * size)
        return [outcome is True for outcome in outcomes]


def _not_below(z: Value, square: Value) -> bool | None:
    """Z >= -s for s >= 0 with the given square."""
    if decide(0, "<=", z):
        return True
    if decide(z, "<", 0):
        return decide(z * z, "<=", square)
    return True if decide(z * z, "<=", square) else None


def _above(z: Value, square: Value) -> bool | None:
    """Z > s for s >= 0 with the given square."""
    if decide(z, "<=", 0):
        return False
    if decide(0, "<", z):
        return decide(square, "<", z * z)
    return False if decide(z * z, "<=", square) else None


def bracket(problem: Problem, tau: Fraction, checks: ExactChecks) -> Bracket:
    """The sets of theorem RD: first with the whole row of K, then with the samples on which the
    neuron may be active.
    """
    pairs = _Pairs(problem, tau, checks)
    n, k = problem.sizes.n, problem.sizes.k
    whole = list(map(total, pairs.squares))
    everywhere = [1] * n
    near = [pairs.compare(i, [whole[i]] * k, lambda _: everywhere, _not_below) for i in range(n)]
    columns = [[1 if row[neuron] else 0 for row in near] for neuron in range(k)]
    sums = (arb_mat(pairs.squares) * arb_mat([list(map(int, row)) for row in near])).tolist()
    possible, sure = [], []
    for i in range(n):
        keeps = pairs.compare(i, sums[i], columns.__getitem__, _not_below)
        possible.append([1 if on else 0 for on in keeps])  # fewer samples, smaller s: also near
        sure.append(
            [1 if on else 0 for on in pairs.compare(i, sums[i], columns.__getitem__, _above)]
        )
    return Bracket(possible, sure)

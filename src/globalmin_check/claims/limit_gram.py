"""Limiting Gram matrices in balls: the closed forms of ReLU and partial Hermite series of smooth
activations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from globalmin_check import limits
from globalmin_check.balls import ball, root
from globalmin_check.checks import ExactChecks
from globalmin_check.claims.gaussian import Trapezoid
from globalmin_check.exact import inner_product
from globalmin_check.primitives import Rows, lower_product
from globalmin_check.problem import Problem


@dataclass(frozen=True)
class Norms:
    """The distinct squares of the row norms, and `place[i]`, which one row i has."""

    squares: tuple[Fraction, ...]
    place: tuple[int, ...]


def norms(problem: Problem, checks: ExactChecks) -> Norms:
    """The row norms, told apart exactly."""
    checks.charge(problem.sizes.n * problem.sizes.d)
    squares = [inner_product(row, row) for row in problem.X.rows()]
    order = {square: index for index, square in enumerate(dict.fromkeys(squares))}
    return Norms(tuple(order), tuple(order[square] for square in squares))


@dataclass(frozen=True)
class Near:
    """A pair of rows that balls of the first precision do not tell from parallel ones: D_ij
    exactly, and whether K_ij > 0.
    """

    determinant: Fraction
    same_side: bool


def near_pairs(problem: Problem, checks: ExactChecks) -> dict[tuple[int, int], Near]:
    """The pairs i > j whose D_ij = K_ii K_jj - K_ij^2 is not certainly positive in balls, with
    their exact numbers.
    """
    X = problem.X.rows()
    K, found = lower_product(X, X), {}
    for i, row in enumerate(K):
        near = [j for j in range(i) if not row[i] * K[j][j] - row[j] * row[j] > 0]
        checks.charge(3 * len(near) * problem.sizes.d)
        for j in near:
            inner = inner_product(X[i], X[j])
            found[i, j] = Near(
                inner_product(X[i], X[i]) * inner_product(X[j], X[j]) - inner * inner, inner > 0
            )
        checks.charge_memory(limits.BALLS_PER_EXACT * len(found))
    return found


def relu_gram(problem: Problem, features: bool, near: dict[tuple[int, int], Near]) -> Rows:
    """Lower triangle of K_ij (pi - theta_ij)/(2 pi), or with `features` of (sqrt(D_ij) + (pi -
    theta_ij) K_ij)/(2 pi).

    The angle is atan2(sqrt(D), K), never an arc cosine.
    """
    X, pi = problem.X.rows(), arb.pi()
    K = lower_product(X, X)
    rows: Rows = []
    for i, row in enumerate(K):
        rows.append([])
        for j in range(i):
            sine, angle = _angle(row[i] * K[j][j] - row[j] * row[j], row[j], near.get((i, j)))
            entry = (pi - angle) * row[j]
            rows[i].append((entry + sine if features else entry) / (2 * pi))
        rows[i].append(row[i] / 2)
    return rows


def _angle(D: arb, K: arb, near: Near | None) -> tuple[arb, arb]:
    """sqrt(D_ij) and theta_ij."""
    if near is not None and near.determinant == 0:
        return arb(0), arb(0) if near.same_side else arb.pi()
    sine = (D if near is None else ball(near.determinant)).sqrt()
    return sine, arb.atan2(sine, K)


class Series:
    """The Hermite coefficients of the network's activation at every distinct row norm."""

    def __init__(self, problem: Problem, norms: Norms, rule: Trapezoid) -> None:
        self.X = problem.X.rows()
        self.sizes = [ball(square).sqrt() for square in norms.squares]
        self.place = norms.place
        self.rule = rule

    def _coefficients(self, orders: Sequence[int], features: bool) -> Rows:
        """E[phi'(s g) h_r] or E[phi(s g) h_r], the latter from (s/sqrt r) E[phi'(s g) h_(r-1)] for
        r >= 1.
        """
        if not features:
            return self.rule.coefficients(self.sizes, list(orders))
        positive = [r for r in orders if r]
        shifted = (
            self.rule.coefficients(self.sizes, [r - 1 for r in positive])
            if positive
            else [[]] * len(self.sizes)
        )
        rows = [
            [s * c / arb(r).sqrt() for c, r in zip(row, positive, strict=True)]
            for s, row in zip(self.sizes, shifted, strict=True)
        ]
        if len(positive) == len(orders):
            return rows
        return [[self.rule.mean(s, "phi"), *row] for s, row in zip(self.sizes, rows, strict=True)]

    def partial_sum(self, orders: Sequence[int], features: bool) -> Rows:
        """Lower triangle of the sum over the orders r of (c_r c_r^T) o rho^r, times K entry by
        entry unless `features`.
        """
        distinct, place = self._coefficients(orders, features), self.place
        gaps = [r - q for r, q in zip(orders, [0, *orders], strict=False)]
        rows: Rows = []
        for i, row in enumerate(lower_product(self.X, self.X)):
            size = self.sizes[place[i]]
            entries = []
            for j in range(i + 1):
                rho = row[j] / (size * self.sizes[place[j]]) if j < i else arb(1)
                value = _power_sum(distinct[place[i]], distinct[place[j]], rho, gaps)
                entries.append(value if features else value * row[j])
            rows.append(entries)
        return rows

    def least_last_slope(self, depth: int, c_res: Fraction, c_sigma: Fraction) -> arb:
        """The least E[phi'(sqrt(K_ii) g)^2] at the last layer of the infinitely wide residual
        network (scalar recursions).
        """
        t, c = ball(c_res / depth), ball(c_sigma)
        least = arb("inf")
        for s in self.sizes:
            K, bias = c * self.rule.mean(s, "phi^2"), c.sqrt() * self.rule.mean(s, "phi")
            for _ in range(2, depth):
                size = root(K)
                mean = self.rule.mean(size, "phi")
                K, bias = (
                    K + 2 * t * bias * mean + t * t * self.rule.mean(size, "phi^2"),
                    bias + t * mean,
                )
            least = least.min(self.rule.mean(root(K), "phi'^2"))
        return least


def _power_sum(c: list[arb], e: list[arb], rho: arb, gaps: list[int]) -> arb:
    """Sum of c_r e_r rho^r; the orders are the partial sums of the gaps."""
    result, power = arb(0), arb(1)
    for a, b, gap in zip(c, e, gaps, strict=True):
        power = power * rho**gap if gap else power
        result += a * b * power
    return result

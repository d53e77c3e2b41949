"""Limiting Gram matrices in balls: the closed forms of ReLU and partial Hermite series of smooth activations."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from flint import arb

from globalmin_check.balls import ball, root
from globalmin_check.claims.gaussian import Trapezoid
from globalmin_check.primitives import Rows, lower_product
from globalmin_check.problem import Problem


class ExactRow:
    """A row of doubles as integers over a power of two, for exact inner products that cost no more than they must."""

    def __init__(self, x: list[float]) -> None:
        pairs = [value.as_integer_ratio() for value in x]
        self.unit = max(q for _, q in pairs)
        self.entries = [p * (self.unit // q) for p, q in pairs]

    def inner(self, other: ExactRow) -> Fraction:
        """The inner product with another row."""
        return Fraction(sum(map(int.__mul__, self.entries, other.entries)), self.unit * other.unit)


class Norms:
    """The row norms: `sizes` are the distinct ones as balls, `place[i]` says which one row i has (by exact squares)."""

    def __init__(self, X: list[list[float]]) -> None:
        squares = [row.inner(row) for row in map(ExactRow, X)]
        order = {square: index for index, square in enumerate(dict.fromkeys(squares))}
        self.sizes = [ball(square).sqrt() for square in order]
        self.place = [order[square] for square in squares]


def relu_gram(problem: Problem, features: bool) -> Rows:
    """Lower triangle of K_ij (pi - theta_ij)/(2 pi), or with `features` of (sqrt(D_ij) + (pi - theta_ij) K_ij)/(2 pi).

    The angle is atan2(sqrt(D), K), never an arc cosine; where balls do not decide D > 0 it is decided exactly.
    """
    X, pi = problem.X.rows(), arb.pi()
    K, exact = lower_product(X, X), list(map(ExactRow, X))
    rows: Rows = []
    for i, row in enumerate(K):
        rows.append([])
        for j in range(i):
            sine, angle = _angle(K[i][i] * K[j][j] - row[j] * row[j], row[j], exact[i], exact[j])
            entry = (pi - angle) * row[j]
            rows[i].append((entry + sine if features else entry) / (2 * pi))
        rows[i].append(row[i] / 2)
    return rows


def _angle(D: arb, K: arb, x: ExactRow, u: ExactRow) -> tuple[arb, arb]:
    """sqrt(D_ij) and theta_ij."""
    if not D > 0:
        inner = x.inner(u)
        exact = x.inner(x) * u.inner(u) - inner * inner
        if exact == 0:
            return arb(0), arb(0) if inner > 0 else arb.pi()
        D = ball(exact)
    return D.sqrt(), arb.atan2(D.sqrt(), K)


class Series:
    """The Hermite coefficients of the network's activation at every distinct row norm."""

    def __init__(self, problem: Problem, rule: Trapezoid) -> None:
        self.X = problem.X.rows()
        self.norms = Norms(self.X)
        self.rule = rule

    def _coefficients(self, orders: Sequence[int], features: bool) -> Rows:
        """E[phi'(s g) h_r] or E[phi(s g) h_r], the latter from (s/sqrt r) E[phi'(s g) h_(r-1)] for r >= 1."""
        if not features:
            return self.rule.coefficients(self.norms.sizes, list(orders))
        positive = [r for r in orders if r]
        shifted = (
            self.rule.coefficients(self.norms.sizes, [r - 1 for r in positive]) if positive else [[]] * len(self.norms.sizes)
        )
        rows = [
            [s * c / arb(r).sqrt() for c, r in zip(row, positive, strict=True)]
            for s, row in zip(self.norms.sizes, shifted, strict=True)
        ]
        if len(positive) == len(orders):
            return rows
        return [[self.rule.mean(s, "phi"), *row] for s, row in zip(self.norms.sizes, rows, strict=True)]

    def partial_sum(self, orders: Sequence[int], features: bool) -> Rows:
        """Lower triangle of the sum over the orders r of (c_r c_r^T) o rho^r, times K entry by entry unless `features`."""
        distinct, place = self._coefficients(orders, features), self.norms.place
        gaps = [r - q for r, q in zip(orders, [0, *orders], strict=False)]
        rows: Rows = []
        for i, row in enumerate(lower_product(self.X, self.X)):
            size = self.norms.sizes[place[i]]
            entries = []
            for j in range(i + 1):
                rho = row[j] / (size * self.norms.sizes[place[j]]) if j < i else arb(1)
                value = _power_sum(distinct[place[i]], distinct[place[j]], rho, gaps)
                entries.append(value if features else value * row[j])
            rows.append(entries)
        return rows

    def least_last_slope(self, depth: int, c_res: Fraction, c_sigma: Fraction) -> arb:
        """The least E[phi'(sqrt(K_ii) g)^2] at the last layer of the infinitely wide residual network (scalar recursions)."""
        t, c = ball(c_res / depth), ball(c_sigma)
        least = arb("inf")
        for s in self.norms.sizes:
            K, bias = c * self.rule.mean(s, "phi^2"), c.sqrt() * self.rule.mean(s, "phi")
            for _ in range(2, depth):
                size = root(K)
                mean = self.rule.mean(size, "phi")
                K, bias = K + 2 * t * bias * mean + t * t * self.rule.mean(size, "phi^2"), bias + t * mean
            least = least.min(self.rule.mean(root(K), "phi'^2"))
        return least


def _power_sum(c: list[arb], e: list[arb], rho: arb, gaps: list[int]) -> arb:
    """Sum of c_r e_r rho^r; the orders are the partial sums of the gaps."""
    result, power = arb(0), arb(1)
    for a, b, gap in zip(c, e, gaps, strict=True):
        power = power * rho**gap if gap else power
        result += a * b * power
    return result

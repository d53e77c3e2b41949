"""Limiting Gram matrices of deep networks in balls: the recursion of GP-deep
(`spec/claims/gram-positive.md`), every entry enclosed by a Hermite series with a proved remainder.

Arrays are lower triangles over the pairs A = (sample, pixel), row i p + l for sample i and pixel l.
"""

from __future__ import annotations

from flint import arb

from globalmin_check.balls import ball, root, sum_of_squares, total
from globalmin_check.claims.gaussian import Trapezoid
from globalmin_check.claims.limit_layers import LimitLayers
from globalmin_check.primitives import Rows, add_lower, lower_product
from globalmin_check.problem import Problem


class DeepLimit:
    """The recursion at the stored samples."""

    def __init__(self, problem: Problem, layers: LimitLayers, rule: Trapezoid) -> None:
        self.layers, self.rule, self.n = layers, rule, problem.sizes.n
        p = layers.pixels
        pixels = [x[pixel::p] for x in problem.X.rows() for pixel in range(p)]
        self.inputs = _lower(lower_product(pixels, pixels))

    def matrix(self) -> Rows:
        """The lower triangle of the claimed matrix, n x n."""
        S, b, moments = self.inputs, [arb(0)] * len(self.inputs), []
        H, every = len(self.layers.squares), self.layers.all_blocks
        for h in range(H):
            P = self._windows(S)
            last = h == H - 1
            F, slope, mean = _Moments(P, self.rule, self.layers.terms).enclose(
                values=every or not last
            )
            moments.append((P, slope))
            if every or not last:
                S, b = self._advance(h, S, b, F, mean)
        return self._all(S, moments) if every else self._last(*moments[-1])

    def _last(self, P: Rows, slope: Rows) -> Rows:
        """The matrix of the last hidden weight matrix."""
        square = ball(self.layers.squares[-1])
        product = [
            [square * x * y for x, y in zip(*rows, strict=True)]
            for rows in zip(P, slope, strict=True)
        ]
        return self._traced(product)

    def _advance(
        self, h: int, S: Rows, b: list[arb], F: Rows, mean: list[arb]
    ) -> tuple[Rows, list[arb]]:
        square = ball(self.layers.squares[h])
        s = square.sqrt()
        if not self.layers.residual[h]:
            return [[square * entry for entry in row] for row in F], [s * mu for mu in mean]
        rows = [
            [
                S[A][B] + s * (b[A] * mean[B] + mean[A] * b[B]) + square * F[A][B]
                for B in range(A + 1)
            ]
            for A in range(len(S))
        ]
        return rows, [x + s * mu for x, mu in zip(b, mean, strict=True)]

    def _all(self, S: Rows, moments: list[tuple[Rows, Rows]]) -> Rows:
        """The sum of the matrices of all weight matrices and of the head."""
        p, N = self.layers.pixels, len(S)
        result = self._traced(S)
        B: Rows = [[arb(int(a % p == c % p)) for c in range(a + 1)] for a in range(N)]
        for h in reversed(range(len(moments))):
            P, slope = moments[h]
            square = ball(self.layers.squares[h])
            pulled = [[square * B[a][c] * slope[a][c] for c in range(a + 1)] for a in range(N)]
            product = [[pulled[a][c] * P[a][c] for c in range(a + 1)] for a in range(N)]
            result = add_lower(result, self._traced(product))  # B is zero at different pixels
            if h:
                below = self._adjoint(pulled)
                B = (
                    [[x + y for x, y in zip(*r, strict=True)] for r in zip(B, below, strict=True)]
                    if self.layers.residual[h]
                    else below
                )
        return result

    def _windows(self, S: Rows) -> Rows:
        """T(S): sums of S over windows that move together, zero outside."""
        if self.layers.windows == ((0,),):
            return S
        p, windows = self.layers.pixels, self.layers.windows
        return [
            [
                total(
                    _entry(S, a - a % p + u, c - c % p + v)
                    for u, v in zip(windows[a % p], windows[c % p], strict=True)
                    if u >= 0 and v >= 0
                )
                for c in range(a + 1)
            ]
            for a in range(len(S))
        ]

    def _adjoint(self, M: Rows) -> Rows:
        """The transpose of T."""
        if self.layers.windows == ((0,),):
            return M
        p, windows = self.layers.pixels, self.layers.windows
        result: Rows = [[arb(0)] * (a + 1) for a in range(len(M))]
        for a in range(len(M)):
            for c in range(len(M)):
                for u, v in zip(windows[a % p], windows[c % p], strict=True):
                    x, y = a - a % p + u, c - c % p + v
                    if u >= 0 and v >= 0 and y <= x:
                        result[x][y] += _entry(M, a, c)
        return result

    def _traced(self, M: Rows) -> Rows:
        """Sums over equal pixels, n x n."""
        p = self.layers.pixels
        return [
            [total(M[i * p + k][j * p + k] for k in range(p)) for j in range(i + 1)]
            for i in range(self.n)
        ]


class _Moments:
    """E[phi phi], E[phi' phi'] and E phi of a normal vector with the covariance P."""

    def __init__(self, P: Rows, rule: Trapezoid, terms: int) -> None:
        self.P, self.rule = P, rule
        self.sizes = [row[-1].sqrt() for row in P]
        self.jets = [rule.jets(s) for s in self.sizes]
        self.slopes = rule.coefficients(self.sizes, list(range(terms)), self.jets)
        self.roots = [1 / arb(r).sqrt() for r in range(1, terms + 1)]

    def enclose(self, *, values: bool) -> tuple[Rows, Rows, list[arb]]:
        """F (empty unless `values`), F' and the means."""
        slope = self._series(self.slopes, "phi'^2")
        if not values:
            return [], slope, []
        mean = self._means("phi")
        alpha = [
            [mu, *(s * c * r for c, r in zip(row, self.roots, strict=True))]
            for mu, s, row in zip(mean, self.sizes, self.slopes, strict=True)
        ]
        return self._series(alpha, "phi^2"), slope, mean

    def _means(self, what: str) -> list[arb]:
        pairs = zip(self.sizes, self.jets, strict=True)
        return [self.rule.mean(s, what, jets) for s, jets in pairs]

    def _series(self, table: list[list[arb]], square: str) -> Rows:
        """The sum of c_r(A) c_r(B) rho^r, plus a ball for the orders that are left out; the
        diagonal is the mean square itself.
        """
        diagonal = self._means(square)
        rest = [
            root(whole - sum_of_squares(row)) for whole, row in zip(diagonal, table, strict=True)
        ]
        rows: Rows = []
        for A, c in enumerate(table):
            entries = []
            for B in range(A):
                rho = self.P[A][B] / (self.sizes[A] * self.sizes[B])
                value = arb(0)
                for x, y in zip(reversed(c), reversed(table[B]), strict=True):
                    value = value * rho + x * y
                tail = rest[A] * rest[B] * abs(rho) ** len(c)
                entries.append(value + arb(0, 1) * tail)
            rows.append([*entries, diagonal[A]])
        return rows


def _entry(S: Rows, a: int, c: int) -> arb:
    return S[a][c] if c <= a else S[c][a]


def _lower(rows: Rows) -> Rows:
    return [row[: i + 1] for i, row in enumerate(rows)]

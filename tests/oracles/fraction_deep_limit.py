"""GP-deep of spec/claims/gram-positive.md on rational intervals: the recursion with full square
arrays, a dictionary of pairs for the windows, and the transposed windows by definition.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

from tests.oracles.claim_grammar import Fields, require
from tests.oracles.fraction_intervals import Interval

Matrix = list[list[Interval]]


def read_layers(value: Any) -> list[tuple[Fraction, bool]]:
    """The field `layers`."""
    from tests.oracles.claim_grammar import rational

    require(isinstance(value, list) and bool(value), "layers is not a list of layers")
    result = []
    for entry in value:
        require(
            isinstance(entry, dict) and set(entry) == {"residual", "scale2"},
            "wrong fields in layers",
        )
        require(type(entry["residual"]) is bool, "residual is not a boolean")
        result.append((rational(entry["scale2"]), entry["residual"]))
    require(not result[0][1], "the first layer is residual")
    return result


def read_windows(rows: list[list[int]] | None, pixels: int) -> list[list[int]]:
    """The tensor `patches`."""
    if rows is None:
        return [[0]]
    require(all(-1 <= x < pixels for row in rows for x in row), "patches out of range")
    return rows


def has_zero_window(X: list[list[Fraction]], windows: list[list[int]]) -> bool:
    """Whether some window of some sample holds only zeros."""
    p = len(windows)
    return any(
        all(x[k] == 0 for k in range(len(x)) if k % p in window)
        for x, window in product(X, windows)
    )


class DeepLimit:
    """The recursion; `rule` is the trapezoid rule of `fraction_gram_claims`."""

    def __init__(self, X: list[list[Fraction]], rule: Any, f: Fields, windows: list[list[int]]):
        self.rule, self.f, self.windows, self.p, self.n = rule, f, windows, len(windows), len(X)
        self.pairs = [(i, pixel) for i in range(len(X)) for pixel in range(self.p)]
        self.S = [
            [
                rule.of(
                    sum(
                        (x * y for x, y in zip(X[i][a :: self.p], X[j][b :: self.p], strict=True)),
                        Fraction(0),
                    )
                )
                for j, b in self.pairs
            ]
            for i, a in self.pairs
        ]

    def zeros(self) -> Matrix:
        """An array of zeros over the pairs."""
        return [[self.rule.of(0) for _ in self.pairs] for _ in self.pairs]

    def spread(self, M: Matrix, *, transposed: bool) -> Matrix:
        """T(M), or its transpose, straight from the definition."""
        result, places = self.zeros(), {pair: k for k, pair in enumerate(self.pairs)}
        for (i, a), (j, b) in product(self.pairs, self.pairs):
            for u, v in zip(self.windows[a], self.windows[b], strict=True):
                if u < 0 or v < 0:
                    continue
                outer = places[i, a], places[j, b]
                inner = places[i, u], places[j, v]
                (x, y), (s, t) = (inner, outer) if transposed else (outer, inner)
                result[x][y] = result[x][y] + M[s][t]
        return result

    def moments(self, P: Matrix) -> tuple[Matrix, Matrix, list[Interval]]:
        """F, F' and mu."""
        rule, R = self.rule, self.f["terms"]
        s = [P[k][k].sqrt() for k in range(len(P))]
        slopes = [[rule.coefficient(size, r) for r in range(R)] for size in s]
        mean = [rule.mean(size, "phi") for size in s]
        values = [
            [mu] + [size * c[r - 1] / rule.of(r).sqrt() for r in range(1, R + 1)]
            for mu, size, c in zip(mean, s, slopes, strict=True)
        ]
        return self.series(P, s, values, "phi^2"), self.series(P, s, slopes, "phi'^2"), mean

    def series(
        self, P: Matrix, s: list[Interval], table: list[list[Interval]], what: str
    ) -> Matrix:
        """The partial sums with their remainders."""
        rule, result = self.rule, self.zeros()
        whole = [rule.mean(size, what) for size in s]
        for a, b in product(range(len(P)), range(len(P))):
            if a == b:
                result[a][b] = whole[a]
                continue
            rho = P[a][b] / (s[a] * s[b])
            value, power = rule.of(0), rule.of(1)
            missing = [whole[a], whole[b]]
            for c, e in zip(table[a], table[b], strict=True):
                value, power = value + c * e * power, power * rho
                missing = [missing[0] - c.square(), missing[1] - e.square()]
            # the two missing mean squares are not negative; their product's root, from above
            tops = [max(m.upper, Fraction(0)) for m in missing]
            rest = rule.of(tops[0] * tops[1]).sqrt() * abs(power)
            result[a][b] = value + Interval.between(-rest, rest)
        return result

    def matrix(self) -> Matrix:
        """The n x n matrix of the claim."""
        rule, S, b = self.rule, self.S, [self.rule.of(0) for _ in self.pairs]
        kept = []
        for square, residual in self.f["layers"]:
            P = self.spread(S, transposed=False)
            F, slope, mean = self.moments(P)
            kept.append((P, slope))
            a = rule.of(square)
            t, new = a.sqrt(), self.zeros()
            for x, y in product(range(len(P)), range(len(P))):
                new[x][y] = a * F[x][y]
                if residual:
                    new[x][y] = new[x][y] + S[x][y] + t * (b[x] * mean[y] + mean[x] * b[y])
            b = [
                t * mu + (old if residual else rule.of(0)) for mu, old in zip(mean, b, strict=True)
            ]
            S = new
        B = self.zeros()
        for x, y in product(range(len(S)), range(len(S))):
            B[x][y] = rule.of(int(self.pairs[x][1] == self.pairs[y][1]))
        result = [[rule.of(0) for _ in range(self.n)] for _ in range(self.n)]
        every = self.f["blocks"] == "all"
        if every:
            self.add(result, [[B[x][y] * S[x][y] for y in range(len(S))] for x in range(len(S))])
        for (square, residual), (P, slope) in zip(
            reversed(self.f["layers"]), reversed(kept), strict=True
        ):
            a, N = rule.of(square), range(len(P))
            pulled = [[a * B[x][y] * slope[x][y] for y in N] for x in N]
            self.add(result, [[pulled[x][y] * P[x][y] for y in N] for x in N])
            if not every:
                break
            below = self.spread(pulled, transposed=True)
            B = [[below[x][y] + (B[x][y] if residual else rule.of(0)) for y in N] for x in N]
        return result

    def add(self, result: Matrix, M: Matrix) -> None:
        """Add the sums over all pairs of pixels."""
        for (x, (i, _)), (y, (j, _)) in product(enumerate(self.pairs), enumerate(self.pairs)):
            result[i][j] = result[i][j] + M[x][y]

"""Two roads to "this symmetric matrix is positive definite": the witness of the spec (P1) and an
elimination without any witness.

Each works on matrices of intervals and on matrices of exact rationals, and answers True, False or
None. P1 answers about the witness (False: the residual is certainly at least 1), the elimination
about the matrix itself (False: the matrix is certainly not positive semidefinite).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from tests.oracles.fraction_intervals import Interval, UndefinedError, total

IntervalMatrix = Sequence[Sequence[Interval]]
RationalMatrix = Sequence[Sequence[Fraction]]


def shifted(A: IntervalMatrix, shift: Fraction, *, sign: int = 1) -> list[list[Interval]]:
    """sign * A + shift * I."""
    bits = A[0][0].bits
    diagonal = Interval.of(shift, bits)
    signed = [[entry if sign > 0 else -entry for entry in row] for row in A]
    return [
        [entry + diagonal if i == j else entry for j, entry in enumerate(row)]
        for i, row in enumerate(signed)
    ]


def witnessed(A: IntervalMatrix, C: RationalMatrix) -> bool | None:
    """P1: True if the Frobenius norm of C A C^T - I is certainly below 1, which proves A > 0; False
    if it certainly is not.
    """
    m, bits = len(A), A[0][0].bits
    factor = [[Interval.of(x, bits) for x in row] for row in C]
    CA = [[total((row[s] * A[s][j] for s in range(m)), bits) for j in range(m)] for row in factor]
    squares = []
    for i in range(m):
        for j in range(m):
            entry = total((CA[i][s] * factor[j][s] for s in range(m)), bits)
            squares.append((entry - Interval.of(int(i == j), bits)).square())
    norm2 = total(squares, bits)
    return True if norm2.upper < 1 else False if norm2.lower >= 1 else None


def witnessed_exactly(A: RationalMatrix, C: RationalMatrix) -> bool:
    """P1 in exact rationals: no None."""
    m = len(A)
    CA = [[sum((row[s] * A[s][j] for s in range(m)), Fraction(0)) for j in range(m)] for row in C]
    T = [
        [sum((CA[i][s] * C[j][s] for s in range(m)), Fraction(0)) - int(i == j) for j in range(m)]
        for i in range(m)
    ]
    return sum((x * x for row in T for x in row), Fraction(0)) < 1


def eliminated(A: IntervalMatrix) -> tuple[bool | None, list[Interval], list[list[Interval]]]:
    """L D L^T by elimination: (is A positive definite?, the pivots found, the unit lower
    factor).
    """
    m, bits = len(A), A[0][0].bits
    rest = [list(row) for row in A]
    lower = [[Interval.of(int(i == j), bits) for j in range(m)] for i in range(m)]
    pivots: list[Interval] = []
    for s in range(m):
        pivot = rest[s][s]
        if pivot.low <= 0:
            return (False if pivot.high < 0 else None), pivots, lower
        pivots.append(pivot)
        for i in range(s + 1, m):
            lower[i][s] = rest[i][s] / pivot
            for j in range(s + 1, i + 1):
                rest[i][j] = rest[j][i] = rest[i][j] - lower[i][s] * rest[j][s]
    return True, pivots, lower


def inverse_energy(A: IntervalMatrix, r: Sequence[Interval]) -> Interval:
    """r^T A^{-1} r = sum_s (L^{-1} r)_s^2 / D_s for a positive definite A."""
    definite, pivots, lower = eliminated(A)
    if not definite:
        raise UndefinedError("matrix not proved positive definite")
    bits, solved = A[0][0].bits, list(r)
    for i in range(len(solved)):
        for s in range(i):
            solved[i] = solved[i] - lower[i][s] * solved[s]
    return total((x.square() / pivot for x, pivot in zip(solved, pivots, strict=True)), bits)


def is_semidefinite(A: RationalMatrix) -> bool:
    """Exact test of A >= 0 by elimination: a zero pivot must have a zero column."""
    rest = [list(row) for row in A]
    m = len(rest)
    for s in range(m):
        pivot = rest[s][s]
        if pivot < 0 or (pivot == 0 and any(rest[i][s] for i in range(s + 1, m))):
            return False
        for i in range(s + 1, m):
            if pivot == 0:
                continue
            multiple = rest[i][s] / pivot
            for j in range(s + 1, m):
                rest[i][j] -= multiple * rest[s][j]
    return True

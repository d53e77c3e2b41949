"""Symmetric matrices of balls, and the quartic form P3 of `spec/claims/primitives.md`.

Matrices are lists of rows of balls. A symmetric matrix is stored as its lower triangle: row i has
at least i + 1 entries, and only those are read. Large products are done in strips of rows, so that
only one triangle of a symmetric product is computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from flint import arb, arb_mat

from globalmin_check import limits
from globalmin_check.balls import ball, sum_of_squares

Rows = list[list[arb]]


def strips(m: int) -> list[tuple[int, int]]:
    """The row ranges in which a matrix with m rows is worked on."""
    count = -(-m // limits.STRIP)
    return [(m * i // count, m * (i + 1) // count) for i in range(count)]


def lower_product(U: Sequence[Sequence], V: Sequence[Sequence]) -> Rows:
    """Rows of U V^T, each at least up to the diagonal; for a product known to be symmetric that is
    all of it.
    """
    rows: Rows = []
    for start, end in strips(len(U)):
        rows += (arb_mat(U[start:end]) * arb_mat(V[:end]).transpose()).tolist()
    return rows


def symmetric_product(U: Sequence[Sequence]) -> Rows:
    """All entries of U U^T."""
    lower = lower_product(U, U)
    return [
        row[: i + 1] + [lower[j][i] for j in range(i + 1, len(lower))]
        for i, row in enumerate(lower)
    ]


def hadamard(A: Rows, B: Rows) -> Rows:
    """The entrywise product of two lower triangles."""
    return [[A[i][j] * B[i][j] for j in range(i + 1)] for i in range(len(A))]


def add_lower(A: Rows, B: Rows) -> Rows:
    """The sum of two lower triangles."""
    return [[A[i][j] + B[i][j] for j in range(i + 1)] for i in range(len(A))]


def shifted(A: Rows, sign: int, shift: Fraction) -> Rows:
    """The lower triangle of sign * A + shift * I."""
    rows = [
        row[: i + 1] if sign > 0 else [-entry for entry in row[: i + 1]] for i, row in enumerate(A)
    ]
    for i, row in enumerate(rows):
        row[i] = row[i] + ball(shift)
    return rows


def row_sums(A: Rows) -> list[arb]:
    """The sums of absolute values of the rows of a symmetric matrix given by its lower triangle."""
    sums = [arb(0)] * len(A)
    for i, row in enumerate(A):
        for j in range(i):
            size = abs(row[j])
            sums[i] += size
            sums[j] += size
        sums[i] += abs(row[i])
    return sums


def quartic_matrix(X: list[list[float]], q: list[arb], kappa: Fraction, t: Fraction | None) -> Rows:
    """P3: the matrix whose positive definiteness bounds sum_i q_i (x_i . a)^4 below kappa on the
    unit sphere.

    t = None is the method "rows", kappa I_d - sum_i q_i |x_i|^2 x_i x_i^T; with t it is "svec",
    kappa I_N - S^T diag(q) S + t (u u^T - I_N).
    """
    columns = [[arb(value) for value in column] for column in zip(*X, strict=True)]
    if t is None:
        weights = [
            weight * sum_of_squares([arb(value) for value in row])
            for weight, row in zip(q, X, strict=True)
        ]
        return shifted(weighted_gram(columns, weights), -1, kappa)
    pairs = [(a, b) for a in range(len(columns)) for b in range(a, len(columns))]
    monomials = [list(map(arb.__mul__, columns[a], columns[b])) for a, b in pairs]
    scale = {
        (True, True): arb(1),
        (True, False): arb(2).sqrt(),
        (False, True): arb(2).sqrt(),
        (False, False): arb(2),
    }
    diagonal = [a == b for a, b in pairs]
    gram = weighted_gram(monomials, q)
    rows = [
        [-gram[i][j] * scale[diagonal[i], diagonal[j]] for j in range(i + 1)]
        for i in range(len(pairs))
    ]
    for i, row in enumerate(rows):
        for j in range(i + 1):
            if diagonal[i] and diagonal[j]:
                row[j] += ball(t)
        row[i] += ball(kappa - t)
    return rows


def weighted_gram(columns: Rows, weights: list[arb]) -> Rows:
    """The lower triangle of M diag(weights) M^T, for the rows of M given as `columns` (one per
    feature).
    """
    weighted = [list(map(arb.__mul__, row, weights)) for row in columns]
    return lower_product(weighted, columns)

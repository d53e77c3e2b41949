r"""Linear algebra on doubles over the rationals, exactly: the rank of a matrix, and the least loss
of linear functions.

Rank: proved bounds, equal whenever that is affordable. Lower bound: the rank modulo one odd prime
(a minor that is nonzero modulo p is nonzero). Upper bound: the size of the matrix without zero and
proportional rows and columns, or an exact rational dependency found by solving with the pivot
block.

Least squares, $\min_w \frac12\|Xw - y\|^2$ over the reals: independent columns are found modulo
the prime, the normal equations of these columns are solved in integers, and the residual is
verified to be orthogonal to every column. That verification is the proof: by Pythagoras' theorem no
other w has a smaller residual.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from globalmin._types import Array
from globalmin.data.proportionality import PRIME, integer_row, line_groups, residues

if TYPE_CHECKING:
    from flint import fmpz_mat, nmod_mat


MAX_PIVOTS = 200  # the exact solve with a pivot block of this order takes seconds
MAX_ENTRIES = 4_000_000


def rank_bounds(X: Array) -> tuple[int, int]:
    """Proved bounds (lower, upper) of the rank of X; equal unless the exact elimination would be
    too large.

    Theory
    ------
    P4 of the certificate theorems: a modular rank bounds from below only, so the upper bound always
    rests on exact integer arithmetic.
    """
    if not X.any():
        return 0, 0
    reduced = without_multiples(without_multiples(X).T).T
    full = min(reduced.shape)
    sample = _spread_rows(reduced)
    lower = modular_rank(sample)
    if lower == full or reduced.size > MAX_ENTRIES:
        return lower, full
    if sample.shape[0] < reduced.shape[0]:
        lower = modular_rank(reduced)
    if lower == full or lower > MAX_PIVOTS:
        return lower, full
    return _bounds_by_pivot_block(reduced)


def without_multiples(X: Array) -> Array:
    """X without its zero rows, and with one row kept of every group of proportional rows: the rank
    is unchanged.
    """
    keep = (X != 0).any(axis=1)
    for group in line_groups(X):
        keep[list(group[1:])] = False
    return np.ascontiguousarray(X[keep])


def modular_rank(X: Array) -> int:
    """Rank over the field of 2^61 - 1 elements: a lower bound of the rank over the rationals."""
    return _modular(X).rank()


def independent_columns(X: Array) -> list[int]:
    """Columns that are independent over the rationals, as many as there are modulo the prime 2^61 -
    1: in practice a basis.
    """
    return _pivot_columns(_modular(X)) if X.any() else []


def _spread_rows(X: Array) -> Array:
    """Evenly spaced rows, enough to show full column rank in almost every case."""
    count = 2 * X.shape[1] + 8
    return X if X.shape[0] <= count else X[np.linspace(0, X.shape[0] - 1, count).astype(int)]


def _bounds_by_pivot_block(X: Array) -> tuple[int, int]:
    """B the r x r block of pivot rows and columns: the rank is r exactly when X = X_J B^{-1} X_I,
    tested in integers.
    """
    columns = _pivot_columns(_modular(X))
    rows = _pivot_columns(_modular(np.ascontiguousarray(X[:, columns].T)))
    r = len(rows)
    others = [j for j in range(X.shape[1]) if j not in set(columns)]
    scaled = [integer_row(row) for row in X]
    block = _integer_matrix([[scaled[i][j] for j in columns] for i in rows])
    right = _integer_matrix([[scaled[i][j] for j in others] for i in rows])
    solution: Any = block.solve(right)
    numerator, denominator = solution.numer_denom()
    predicted = _integer_matrix([[row[j] for j in columns] for row in scaled]) * numerator
    actual = _integer_matrix([[row[j] for j in others] for row in scaled]) * denominator
    return (r, r) if predicted == actual else (r + 1, min(X.shape))


def _modular(X: Array) -> nmod_mat:
    from flint import nmod_mat

    return nmod_mat(X.shape[0], X.shape[1], residues(X).ravel().tolist(), PRIME)


def _integer_matrix(table: list[list[int]]) -> fmpz_mat:
    from flint import fmpz_mat

    return fmpz_mat(table)


def _pivot_columns(matrix: nmod_mat) -> list[int]:
    echelon, rank = matrix.rref()
    table = echelon.tolist()
    return [next(j for j, entry in enumerate(table[i]) if int(entry)) for i in range(rank)]


MAX_WORK = 20_000_000  # n d^2, about a second
MAX_BITS = 2_000  # between the largest and the smallest entry


def least_squares_floor(X: Array, y: Array) -> Fraction | None:
    r"""$\min_w \frac12\|Xw - y\|^2$ of the stored doubles, exact; None where integers would be too
    large or too many.

    >>> least_squares_floor(np.array([[1.0], [2.0]]), np.array([1.0, 1.0]))
    Fraction(1, 10)
    """
    if X.size * X.shape[1] > MAX_WORK:
        return None
    scaled, labels = _integers(X), _integers(y[:, None])
    columns = independent_columns(X)
    if scaled is None or labels is None or len(columns) > MAX_PIVOTS:
        return None
    (A, _), (b, exponent) = scaled, labels
    unit = Fraction(2) ** (2 * exponent)
    square = int((b.transpose() * b)[0, 0])
    if not columns:
        return unit * square / 2
    chosen = _columns(A, columns)
    right = chosen.transpose() * b
    solution: Any = (chosen.transpose() * chosen).solve(right)
    numerator, denominator = solution.numer_denom()
    residual = denominator * b - chosen * numerator
    if any(int(entry) for entry in (A.transpose() * residual).entries()):
        return None  # the columns found modulo the prime do not span the others
    explained = Fraction(int((right.transpose() * numerator)[0, 0]), int(denominator))
    return unit * (square - explained) / 2


def _integers(values: Array) -> tuple[fmpz_mat, int] | None:
    """The matrix as integers times 2^exponent, or None if its entries are too far apart."""
    from flint import fmpz_mat

    mantissa, exponent = np.frexp(values)
    integers = np.ldexp(mantissa, 53).astype(np.int64)
    used = exponent[integers != 0]
    low = int(used.min()) if used.size else 0
    if used.size and int(used.max()) - low > MAX_BITS:
        return None
    shifts = np.where(integers != 0, exponent - low, 0)
    entries = [
        int(m) << int(e)
        for m, e in zip(integers.ravel().tolist(), shifts.ravel().tolist(), strict=True)
    ]
    return fmpz_mat(values.shape[0], values.shape[1], entries), low - 53


def _columns(A: fmpz_mat, columns: list[int]) -> fmpz_mat:
    from flint import fmpz_mat

    table: Any = A.tolist()
    return fmpz_mat([[row[j] for j in columns] for row in table])

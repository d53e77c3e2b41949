"""Rank of a matrix of doubles over the rationals: proved bounds, equal whenever that is affordable.

Lower bound: the rank modulo one odd prime (a minor that is nonzero modulo p is nonzero). Upper
bound: the size of the matrix without zero and proportional rows and columns, or an exact rational
dependency found by solving with the pivot block.
"""

from __future__ import annotations

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

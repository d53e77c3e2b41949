"""Sparse tables (scipy.sparse): rows of which most entries are zero, as one-hot columns have them,
kept compressed by rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from globalmin._types import Array
from globalmin.data.validation import refuse_non_finite
from globalmin.errors import DataError


def is_sparse(X: object) -> bool:
    """Whether X is a matrix or an array of scipy.sparse."""
    return hasattr(X, "toarray") and hasattr(X, "nnz")


def as_sparse_rows(X: Any) -> Any:
    """X as a `csr_array` of doubles: sorted, without duplicates and stored zeros, read-only."""
    from scipy.sparse import csr_array

    if X.ndim != 2 or 0 in X.shape:
        raise DataError(f"X is sparse of shape {X.shape}; give at least one row and one column")
    if X.dtype.kind not in "buif":
        raise DataError(f"X is sparse with entries of type {X.dtype}; give real numbers")
    rows: Any = csr_array(X, dtype=np.float64, copy=True)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    refuse_non_finite(rows.data, "the stored entries of X")
    for part in (rows.data, rows.indices, rows.indptr):
        part.flags.writeable = False
    return rows


def as_dense(X: Any) -> Array:
    """X itself, or the dense matrix of a sparse one."""
    return np.ascontiguousarray(X.toarray()) if is_sparse(X) else X


def largest_entries(X: Any) -> Array:
    """The largest absolute value of each column of sparse rows, 1 for a column of zeros: dividing
    by it keeps zeros, and leaves one-hot columns as they are.
    """
    largest = np.asarray(abs(X).max(axis=0).toarray()).ravel()
    return np.where(largest > 0, largest, 1.0)


def divided_columns(X: Any, scale: Array) -> Any:
    """X with each column divided by its number."""
    if not is_sparse(X):
        return X / scale
    rows = X.tocsr().copy()
    rows.data = rows.data / scale[rows.indices]
    return rows

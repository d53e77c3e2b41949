"""Columns rounded to few values: the work for pairs of columns then depends on the bins and not on
the rows.
"""

from __future__ import annotations

import numpy as np

from globalmin._types import Array

_BIN_BITS = 20  # of the place of a bin: short numbers are checked faster


def binned(X: Array, bins: int, weight: Array | None = None) -> Array:
    """Every column with at most `bins` different values: quantile bins of equal weight, each at the
    mean of its rows, a number of few bits. Columns that have no more values stay as they are.
    """
    used = np.ones(len(X)) if weight is None else weight
    columns = [_binned_column(x, bins, used) for x in X.T]
    return np.ascontiguousarray(np.array(columns).T)


def _binned_column(x: Array, bins: int, weight: Array) -> Array:
    values, place = np.unique(x, return_inverse=True)
    if values.size <= bins:
        return x
    shares = np.bincount(place, weight, values.size)
    before = np.cumsum(shares) - 0.5 * shares  # of each value the weight up to its middle
    bin_of = np.minimum((bins * before / shares.sum()).astype(np.int64), bins - 1)[place]
    total = np.bincount(bin_of, weight, bins)
    mean = np.bincount(bin_of, weight * x, bins) / np.where(total > 0, total, 1.0)
    exponent = _BIN_BITS - int(np.frexp(np.abs(values).max())[1])
    return np.ldexp(np.rint(np.ldexp(mean, exponent)), -exponent)[bin_of]

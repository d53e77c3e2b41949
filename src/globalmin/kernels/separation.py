"""How far apart the directions of the rows are: separation, and pairs of parallel rows."""

from __future__ import annotations

import math

import numpy as np

from globalmin._renamed import renamed
from globalmin._types import Array, ArrayLike
from globalmin.data.preprocessing import normalized_rows
from globalmin.data.proportionality import estimate_closest_pair, line_groups
from globalmin.data.validation import as_matrix
from globalmin.errors import DataError
from globalmin.references import states

STRIP = 2**20


@states("OS-TI.1")
def separation(X: ArrayLike) -> float:
    r"""$\delta = \min_{i \ne j} \min(\|x_i - x_j\|, \|x_i + x_j\|)$ over the rows scaled to norm 1,
    an estimate (OS-TI.1).

    0 when a row is zero, which has no direction, or two rows are exactly parallel; infinite for a
    single row.
    """
    X = as_matrix(X)
    if not X.any(axis=1).all() or line_groups(X):
        return 0.0
    pair = estimate_closest_pair(X, np.arange(len(X)))
    return math.inf if pair is None else 2.0 * math.sin(pair.angle / 2.0)


@states("DU-T2.1")
@renamed(tolerance="tol")
def parallel_pairs(
    X: ArrayLike, *, tol: float = 0.0, limit: int = 1000
) -> tuple[tuple[int, int], ...]:
    r"""Pairs i < j of nonzero rows on one line, equal or opposite directions alike; at most `limit`
    of them.

    Parameters
    ----------
    tol : float
        With 0 the answer is exact for the stored numbers; otherwise rows whose lines meet at an
        angle whose sine is at most `tol` count as parallel, in floating point.

    Theory
    ------
    DU-T2.1: without such pairs and without zero rows, lambda_min of the ReLU Gram matrix is
    positive. The converse fails.
    """
    X = as_matrix(X)
    if not 0.0 <= tol < 1.0:
        raise DataError(f"tol={tol!r}: give a number >= 0 and below 1")
    found: list[tuple[int, int]] = []
    if tol == 0.0:
        for group in line_groups(X):
            for place, i in enumerate(group):
                found += [(i, j) for j in group[place + 1 :]][: limit - len(found)]
                if len(found) >= limit:
                    return tuple(sorted(found))
        return tuple(sorted(found))
    return _nearly_parallel(X, tol, limit)


def _nearly_parallel(X: Array, tol: float, limit: int) -> tuple[tuple[int, int], ...]:
    rows = np.flatnonzero(X.any(axis=1))
    U = normalized_rows(X[rows])
    found: list[tuple[int, int]] = []
    step = max(1, STRIP // max(1, len(U)))
    coarse = math.sqrt(max(0.0, 1.0 - 2.0 * tol**2)) - 1e-12
    for start in range(0, len(U), step):
        i, j = np.nonzero(np.abs(U[start : start + step] @ U.T) >= coarse)
        for p, q in zip((i + start).tolist(), j.tolist(), strict=True):
            if p < q and _sine(U[p], U[q]) <= tol:
                found.append((int(rows[p]), int(rows[q])))
                if len(found) == limit:
                    return tuple(found)
    return tuple(found)


def _sine(u: Array, v: Array) -> float:
    return 0.5 * float(np.linalg.norm(u - v)) * float(np.linalg.norm(u + v))

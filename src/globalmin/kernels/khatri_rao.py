r"""Row-wise Khatri-Rao powers X^{*r}: row i is x_i kron ... kron x_i. Gram matrix (XX^T)^{o r}.
Floats: estimates.
"""

from __future__ import annotations

import math
from itertools import combinations_with_replacement

import numpy as np

from globalmin._renamed import renamed
from globalmin._types import Array, ArrayLike
from globalmin.data.exact_algebra import estimate_closest_pair, line_groups
from globalmin.data.preprocessing import normalized_rows
from globalmin.data.validation import as_matrix, gram_bytes, matrix_bytes, require_memory
from globalmin.errors import DataError
from globalmin.linalg.spectrum import estimate_lambda_min
from globalmin.references import states

DIRECT = 2**22  # entries of a matrix of monomials small enough for a singular value decomposition


def khatri_rao(X: ArrayLike, r: int) -> Array:
    """X^{*r}, n x d^r."""
    X, r = as_matrix(X), _power(r)
    n, d = X.shape
    require_memory(matrix_bytes(n, d**r), f"the Khatri-Rao power {r} of {n:,} rows of length {d:,}")
    product = X
    for _ in range(r - 1):
        product = (product[:, :, None] * X[:, None, :]).reshape(n, -1)
    return product.copy() if r == 1 else product


@states("SJL-L5.4")
def khatri_rao_gram(X: ArrayLike, r: int) -> Array:
    """(X^{*r})(X^{*r})^T = (XX^T)^{o r}, n x n, without forming X^{*r}."""
    X, r = as_matrix(X), _power(r)
    require_memory(gram_bytes(len(X), copies=2), f"the Gram matrix of {len(X):,} samples")
    K = X @ X.T
    return K**r


@states("SJL-L5.6")
def khatri_rao_sigma_min(X: ArrayLike, r: int) -> float:
    """The n-th singular value of X^{*r}, an estimate; exactly 0 when n exceeds the number of
    monomials of degree r.

    Small products are decomposed directly; large ones through the n x n Gram matrix, which resolves
    values down to about 1e-8 of the largest one only.
    """
    X, r = as_matrix(X), _power(r)
    n, d = X.shape
    monomials = math.comb(d + r - 1, r)
    if n > monomials:
        return 0.0
    if n * monomials <= DIRECT:
        return float(np.linalg.svd(monomial_rows(X, r), compute_uv=False)[n - 1])
    return math.sqrt(max(estimate_lambda_min(khatri_rao_gram(X, r)), 0.0))


def monomial_rows(X: Array, r: int) -> Array:
    """Rows isometric to those of X^{*r}: each monomial once, times the square root of the number of
    its arrangements.
    """
    places = list(combinations_with_replacement(range(X.shape[1]), r))
    rows = np.ones((len(X), len(places)))
    for position in range(r):
        rows *= X[:, [place[position] for place in places]]
    return rows * np.sqrt([_arrangements(place) for place in places])


def _arrangements(place: tuple[int, ...]) -> int:
    return math.factorial(len(place)) // math.prod(
        math.factorial(place.count(j)) for j in set(place)
    )


@states("OS-T2.1")
def kappa(X: ArrayLike) -> float:
    r"""$\kappa(X) = \sqrt{d/n}\,\|X\|/\sigma_{\min}(X*X)^2$, an estimate; infinite when X*X has
    dependent rows (OS-T2.1).
    """
    X = as_matrix(X)
    return estimate_kappa_tilde(X, khatri_rao_sigma_min(X, 2) ** 2)


def estimate_kappa_tilde(X: ArrayLike, lambda_: float) -> float:
    r"""$\tilde\kappa(X) = \sqrt{d/n}\,\|X\|/\lambda$ for lambda = lambda(X) (OS-T6.2); infinite for
    lambda <= 0.
    """
    X = as_matrix(X)
    n, d = X.shape
    return math.sqrt(d / n) * float(np.linalg.norm(X, 2)) / lambda_ if lambda_ > 0 else math.inf


def _power(r: int) -> int:
    if isinstance(r, bool) or r != int(r) or not 1 <= r <= 64:
        raise DataError(f"r={r!r}: give an integer from 1 to 64")
    return int(r)


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

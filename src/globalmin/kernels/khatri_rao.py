r"""Row-wise Khatri-Rao powers X^{*r}: row i is x_i kron ... kron x_i. Gram matrix (XX^T)^{o r}.
Floats: estimates.
"""

from __future__ import annotations

import math
from itertools import combinations_with_replacement

import numpy as np

from globalmin._types import Array, ArrayLike
from globalmin.data.memory import gram_bytes, matrix_bytes, require_memory
from globalmin.data.validation import as_matrix
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

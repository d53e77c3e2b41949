"""Extreme eigenvalues of the n x n matrices of an inspection, in floats; all of them where that is
cheap.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from globalmin._types import Array

if TYPE_CHECKING:
    from scipy.sparse.linalg import LinearOperator


ALL_LIMIT = 1_500  # up to this order all eigenvalues are computed, which takes seconds
# entries of the limiting matrices are accurate to about this, so smaller eigenvalues mean nothing
RESOLUTION = 1e-12


@dataclass(frozen=True, eq=False)
class Extremes:
    """Smallest and largest eigenvalue of a positive semidefinite matrix; `low` is 0 where it is
    singular or nearly so.

    `is_resolved` tells whether a zero is a fact about the rows (True) or only below what floats
    resolve (False). `spectrum` holds all eigenvalues, increasing, or None for large matrices.
    """

    low: float
    high: float
    is_resolved: bool = True
    spectrum: Array | None = field(default=None, repr=False)


def extremes(G: Array, *, is_singular: bool = False) -> Extremes:
    """Extremes of a positive semidefinite matrix.

    Parameters
    ----------
    G : symmetric, n x n.
    is_singular : whether it is known to be singular; its smallest eigenvalue is then exactly 0.
    """
    n = G.shape[0]
    spectrum = np.linalg.eigvalsh(G).astype(np.float64) if n <= ALL_LIMIT else None
    low, high = (
        (float(spectrum[0]), float(spectrum[-1]))
        if spectrum is not None
        else _iterated(G, is_singular)
    )
    if is_singular:
        return Extremes(0.0, max(high, 0.0), spectrum=spectrum)
    resolved = low > max(4.0 * n * np.finfo(np.float64).eps, RESOLUTION) * high
    return Extremes(low if resolved else 0.0, max(high, 0.0), resolved, spectrum)


def spectral_norm(A: Array) -> float:
    """Largest absolute eigenvalue of a symmetric matrix."""
    if A.shape[0] <= ALL_LIMIT:
        return float(np.abs(np.linalg.eigvalsh(A)[[0, -1]]).max())
    return abs(_lanczos(A, "LM")) if A.any() else 0.0


def _iterated(G: Array, is_singular: bool) -> tuple[float, float]:
    """By Lanczos iterations: on G for the largest eigenvalue, on its inverse through a Cholesky
    factor for the smallest.
    """
    from scipy.linalg import LinAlgError, cho_factor, cho_solve
    from scipy.sparse.linalg import LinearOperator

    if not G.any():
        return 0.0, 0.0
    high = _lanczos(G, "LA")
    if is_singular:
        return 0.0, high
    try:
        factor = cho_factor(G, lower=True, check_finite=False)
    except LinAlgError:
        return 0.0, high
    solve = partial(cho_solve, factor, check_finite=False)
    inverse = LinearOperator(G.shape, matvec=solve, dtype=np.float64)  # pyright: ignore
    return 1.0 / _lanczos(inverse, "LA"), high


def _lanczos(A: Array | LinearOperator, which: str) -> float:
    """One extreme eigenvalue, the same for every call with the same matrix."""
    from scipy.sparse.linalg import eigsh

    start = np.random.default_rng(0).standard_normal(A.shape[0])
    options = {"which": which, "v0": start, "return_eigenvectors": False, "tol": 1e-9}
    return float(eigsh(A, k=1, **options)[0])

r"""The eigenvalues of $Z(u) = \sum_i u_i z_iz_i^T$ that decide about networks of squares: those at
both ends. Of a large matrix they are found by Lanczos's method, from products with the rows only,
so that a sparse table stays sparse. All in floats: a certificate proves its own matrices.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from globalmin._types import Array
from globalmin.data.sparse import is_sparse
from globalmin.linalg.symmetric import moment_matrix

_LARGE = 400  # columns from which on a few eigenvectors are cheaper than all
_OUTER = 12  # eigenvectors of each end that one round of new neurons may use
_DENSE_LIMIT = 6_000  # columns up to which all eigenvalues are computed if Lanczos's method fails


def dual_matrix(Z: Any, u: Array) -> Array:
    """The dense matrix Z(u), of dense or sparse rows."""
    if not is_sparse(Z):
        return moment_matrix(Z, u)
    found = np.asarray((Z.T @ Z.multiply(u[:, None])).toarray())
    return (found + found.T) / 2.0


def spectrum_ends(Z: Any, u: Array) -> tuple[float, float]:
    """The least and the largest eigenvalue of Z(u)."""
    if Z.shape[1] < _LARGE:
        found = np.linalg.eigvalsh(dual_matrix(Z, u))
    else:
        found = _outer_pairs(Z, u, 1)[0]
    return float(found[0]), float(found[-1])


def outermost(Z: Any, u: Array) -> tuple[Array, Array]:
    """Eigenvalues of Z(u), increasing, with their eigenvectors: all of them, or those next to both
    ends if there are many.
    """
    if Z.shape[1] < _LARGE:
        return np.linalg.eigh(dual_matrix(Z, u))
    return _outer_pairs(Z, u, _OUTER)


def _outer_pairs(Z: Any, u: Array, count: int) -> tuple[Array, Array]:
    from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

    p = Z.shape[1]
    if not u.any():
        return np.zeros(2), np.eye(p)[:, :2]
    operator: Any = LinearOperator  # its stub knows subclasses only
    product = operator((p, p), matvec=lambda x: Z.T @ (u * (Z @ x)), dtype=np.float64)
    start = np.random.default_rng(0).standard_normal(p)  # the same run twice, the same digits
    try:
        tolerance: Any = 1e-11  # the stub knows whole numbers only
        found: Any = eigsh(product, k=2 * count, which="BE", v0=start, tol=tolerance)
    except ArpackError:
        if p > _DENSE_LIMIT:
            raise
        return np.linalg.eigh(dual_matrix(Z, u))
    order = np.argsort(found[0], kind="stable")
    return found[0][order], found[1][:, order]

r"""The quartic form $\sup_{\|a\|=1} \sum_i q_i (x_i \cdot a)^4$, from above, in two ways.

It is the square of the Lipschitz constant of the Jacobian (OS-K4, LIP-W). Everything here is in
floating point and therefore an estimate of a true bound; the proof of the bound is the checker's
(primitive P3).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from globalmin._types import Array
from globalmin.references import states


def row_matrix(X: Array, q: Array) -> Array:
    r"""The d x d matrix $\sum_i q_i \|x_i\|^2 x_i x_i^T$, whose largest eigenvalue bounds the
    quartic form.
    """
    weights = q * np.einsum("ij,ij->i", X, X)
    return (X * weights[:, None]).T @ X


def symmetric_monomials(X: Array) -> Array:
    r"""Rows svec(x_i x_i^T), n x N, N = d(d+1)/2: entries a <= b in lexicographic order,
    off-diagonal ones times $\sqrt 2$.
    """
    rows, columns = np.triu_indices(X.shape[1])
    return X[:, rows] * X[:, columns] * np.where(rows == columns, 1.0, np.sqrt(2.0))


def svec_identity(d: int) -> Array:
    """The vector u = svec(I), the indicator of the diagonal entries."""
    rows, columns = np.triu_indices(d)
    return (rows == columns).astype(np.float64)


def svec_matrix(X: Array, q: Array, t: float) -> Array:
    r"""The N x N matrix $S^T \mathrm{diag}(q) S - t (u u^T - I)$ of P3; any real t gives a bound, a
    good one a sharp bound.
    """
    S = symmetric_monomials(X)
    return _shifted((S * q[:, None]).T @ S, svec_identity(X.shape[1]), t)


def _shifted(A: Array, u: Array, t: float) -> Array:
    shifted = A - t * np.outer(u, u)
    shifted[np.diag_indices_from(shifted)] += t
    return shifted


def largest_eigenvalue(A: Array) -> float:
    """Largest eigenvalue of a symmetric matrix, in floats."""
    from scipy.linalg import eigvalsh

    last = A.shape[0] - 1
    return float(eigvalsh(A, subset_by_index=(last, last), check_finite=False)[0])


@states("OS-K4")
def estimate_quartic_rows(X: Array, q: Array) -> float:
    r"""$\lambda_{\max}(\sum_i q_i \|x_i\|^2 x_i x_i^T)$, an upper bound of the quartic form up to
    rounding; cost $n d^2 + d^3$.

    Theory
    ------
    OS-K4, primitive P3 (fallback of size d): $(x_i \cdot a)^4 \le \|x_i\|^2 (x_i \cdot a)^2$ for
    unit a.
    """
    return max(largest_eigenvalue(row_matrix(X, q)), 0.0)


@dataclass(frozen=True)
class SvecBound:
    """Value `kappa` of the sharper bound and the multiplier `t` that attains it."""

    kappa: float
    t: float


@states("OS-K4")
def estimate_quartic_svec(X: Array, q: Array, *, tolerance: float = 1e-4) -> SvecBound:
    r"""$\min_t \lambda_{\max}(S^T \mathrm{diag}(q) S - t(u u^T - I))$, a sharper bound up to
    rounding; cost $n N^2 + 20 N^3$.

    The function of t is convex and its minimizer lies in [-lambda, lambda], lambda the value at t =
    0: for t > lambda test the matrix with a unit vector orthogonal to u, for t < -lambda with u /
    |u|.

    Theory
    ------
    OS-K4, primitive P3: for unit a and s = svec(a a^T), s^T (u u^T - I) s = 0.
    """
    from scipy.optimize import minimize_scalar

    S, u = symmetric_monomials(X), svec_identity(X.shape[1])
    A = (S * q[:, None]).T @ S
    start = max(largest_eigenvalue(A), 0.0)
    if start == 0.0 or X.shape[1] == 1:
        return SvecBound(start, 0.0)
    found = minimize_scalar(
        lambda t: largest_eigenvalue(_shifted(A, u, float(t))),
        bounds=(-start, start),
        method="bounded",
        options={"xatol": tolerance * start},
    )
    value, t = float(found.fun), float(found.x)
    return SvecBound(value, t) if value < start else SvecBound(start, 0.0)


def estimate_quartic_attained(X: Array, q: Array, *, steps: int = 30) -> float:
    r"""A value the quartic form attains, a lower bound up to rounding: ascent $a \leftarrow \sum_i
    q_i (x_i \cdot a)^3 x_i$.

    The form is convex in a, so the ascent is monotone. It starts from the row directions of largest
    value and the top eigenvector of `row_matrix`, and tells when no upper bound, however sharp,
    could help.
    """
    norms = np.linalg.norm(X, axis=1)
    directions = X[norms > 0] / norms[norms > 0, None]
    if not directions.size:
        return 0.0
    values = ((directions @ X.T) ** 4) @ q
    starts = directions[np.argsort(values)[-4:]]
    starts = np.vstack([starts, np.linalg.eigh(row_matrix(X, q))[1][:, -1]])
    for _ in range(steps):
        ascent = ((starts @ X.T) ** 3 * q) @ X
        length = np.linalg.norm(ascent, axis=1, keepdims=True)
        starts = np.where(length > 0, ascent / np.where(length > 0, length, 1.0), starts)
    return float((((starts @ X.T) ** 4) @ q).max())

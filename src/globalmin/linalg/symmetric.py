r"""Symmetric matrices as vectors, and the linear map of quadratic networks: $M \mapsto (x_i^T M
x_i)_i$, its adjoint and its Gram matrices.

A quadratic network $f(x) = \sum_l v_l (w_l \cdot x)^2$ is the quadratic form of $M = W^T
\mathrm{diag}(v) W$, so everything about it goes through the map A above. Rows of X are samples; N =
d(d+1)/2; svec lists the entries a <= b in lexicographic order, off-diagonal ones times sqrt 2.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from globalmin._types import Array
from globalmin.errors import DataError, HypothesisError
from globalmin.linalg.quartic import symmetric_monomials
from globalmin.references import states

BLOCK = 2**18  # entries of a block of rows: temporaries stay in the cache


def svec(M: Array) -> Array:
    r"""The N entries of a symmetric matrix as a vector, $\langle \mathrm{svec} M, \mathrm{svec}
    N\rangle = \mathrm{tr}(MN)$.
    """
    rows, columns = np.triu_indices(M.shape[0])
    return M[rows, columns] * np.where(rows == columns, 1.0, math.sqrt(2.0))


def unsvec(s: Array) -> Array:
    """The symmetric matrix of such a vector."""
    d = order_of(s.shape[0])
    rows, columns = np.triu_indices(d)
    M = np.zeros((d, d))
    M[rows, columns] = s / np.where(rows == columns, 1.0, math.sqrt(2.0))
    return M + np.triu(M, 1).T


def order_of(N: int) -> int:
    """The d with d(d+1)/2 = N."""
    d = (math.isqrt(8 * N + 1) - 1) // 2
    if d * (d + 1) // 2 != N or N == 0:
        raise DataError(
            f"a vector of {N} entries is no svec of a symmetric matrix; its length must be "
            "d(d+1)/2 with d >= 1"
        )
    return d


def design_matrix(X: Array) -> Array:
    r"""S with rows $s_i = \mathrm{svec}(x_i x_i^T)$, n x N: $S\,\mathrm{svec}(M) = (x_i^T M
    x_i)_i$.
    """
    return symmetric_monomials(X)


def row_blocks(n: int, d: int) -> Iterator[slice]:
    """Slices of the samples, each of about `BLOCK` numbers."""
    step = max(64, BLOCK // max(d, 1))
    return (slice(start, min(start + step, n)) for start in range(0, n, step))


def quadratic_forms(X: Array, M: Array) -> Array:
    r"""$A(M)_i = x_i^T M x_i$ without forming S; cost $2nd^2$."""
    out = np.empty(X.shape[0])
    for rows in row_blocks(*X.shape):
        part = X[rows]
        np.einsum("ij,ij->i", part @ M, part, out=out[rows])
    return out


def factored_forms(X: Array, W: Array, v: Array) -> Array:
    r"""$\sum_l v_l (w_l \cdot x_i)^2$, the same numbers from a factor with k rows; cost $2ndk$."""
    out = np.empty(X.shape[0])
    for rows in row_blocks(X.shape[0], max(W.shape)):
        out[rows] = np.square(X[rows] @ W.T) @ v
    return out


def moment_matrix(X: Array, u: Array) -> Array:
    r"""$A^*(u) = \sum_i u_i x_i x_i^T$, d x d: the adjoint of `quadratic_forms`, and $\nabla_M L$
    for u = r; cost $2nd^2$.
    """
    Z = np.zeros((X.shape[1], X.shape[1]))
    for rows in row_blocks(*X.shape):
        part = X[rows]
        Z += (part * u[rows, None]).T @ part
    return (Z + Z.T) / 2.0


def design_gram(X: Array) -> Array:
    r"""$S^T S$, N x N, summed over blocks of samples so that S is never held; cost $n N^2$."""
    N = X.shape[1] * (X.shape[1] + 1) // 2
    gram = np.zeros((N, N))
    for rows in row_blocks(X.shape[0], N):
        S = design_matrix(X[rows])
        gram += S.T @ S
    return gram


@states("SJL-L5.4")
def sample_gram(X: Array) -> Array:
    r"""$S S^T = (X X^T) \circ (X X^T)$, n x n, since $\langle x x^T, z z^T\rangle = (x \cdot
    z)^2$.
    """
    return np.square(X @ X.T)


@states("SJL-T2.1")
def factor_by_head(M: Array, v: Array, *, drop: float = 0.0) -> Array | None:
    r"""W with $W^T \mathrm{diag}(v) W = M$: each eigenvalue goes to a neuron whose head weight has
    its sign.

    Parameters
    ----------
    M : symmetric d x d.
    v : head; among the neurons of one sign the largest weights are used first, which keeps ||W||
        least.
    drop : eigenvalues of absolute value at most `drop` times the largest are left out.

    Returns
    -------
    W of shape (k, d), or None if one sign of M has more eigenvalues than v has weights of that
    sign.

    Theory
    ------
    SJL-T2.1, the constructive half: eigenvalue $\lambda$ with eigenvector q becomes the row
    $\sqrt{\lambda/v_l}\,q^T$.
    """
    eigenvalues, vectors = np.linalg.eigh(M)
    eigenvalues[np.abs(eigenvalues) <= drop * float(np.abs(eigenvalues).max(initial=0.0))] = 0.0
    return place_on_head(np.sqrt(np.abs(eigenvalues))[:, None] * vectors.T, np.sign(eigenvalues), v)


def place_on_head(rows: Array, signs: Array, v: Array) -> Array | None:
    r"""W with $\sum_l v_lw_lw_l^T = \sum_i s_ia_ia_i^T$ for given rows $a_i$ and signs $s_i$ (0:
    left out), longest rows on the largest weights.

    Returns None if more rows of one sign are given than v has weights of it.
    """
    W = np.zeros((v.shape[0], rows.shape[1]))
    lengths = np.linalg.norm(rows, axis=1)
    for sign in (1.0, -1.0):
        wanted = [i for i in np.argsort(-lengths, kind="stable") if signs[i] == sign]
        neurons = [j for j in np.argsort(-sign * v, kind="stable") if sign * v[j] > 0]
        if len(wanted) > len(neurons):
            return None
        for i, j in zip(wanted, neurons, strict=False):
            W[j] = rows[i] / math.sqrt(abs(v[j]))
    return W


def head_counts(v: Array) -> tuple[int, int]:
    """How many head weights are positive and how many negative; zeros count for neither."""
    return int((v > 0).sum()), int((v < 0).sum())


@states("SJL-L5.6")
def generic_rank(n: int, d: int) -> int:
    r"""Rank of $\{x_i x_i^T\}$ for n samples in general position: min(n, d(d+1)/2), so they are
    independent iff n <= d(d+1)/2.
    """
    if n < 1 or d < 1:
        raise DataError(f"n={n} samples of d={d} features; both must be at least 1")
    return min(n, d * (d + 1) // 2)


def require_wide(W: Array, name: str = "W") -> None:
    """Refuse fewer neurons than features: the statements of GKZ are for m >= d."""
    m, d = W.shape
    if m < d:
        raise HypothesisError(
            f"{name} has {m} neurons for {d} features; the theorem needs at least as many neurons "
            "as features",
            hypothesis="m >= d",
            value=m,
        )

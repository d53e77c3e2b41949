r"""Least squares over all symmetric matrices: the minimum of quadratic networks with heads of both
signs, no weight decay.

SJL-T2.1: $\min_M \tfrac12\|A(M) - y\|^2$. Conjugate gradients in white coordinates ($X^TX = nI$),
where Gaussian-like samples are well conditioned; the n x n Gram matrix $(XX^T)\circ(XX^T)$ for
fewer samples than N = d(d+1)/2; a dense factorization where conjugate gradients are slow and it
fits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from globalmin._types import Array
from globalmin.linalg.symmetric import (
    design_gram,
    moment_matrix,
    quadratic_forms,
    sample_gram,
    svec,
    unsvec,
)
from globalmin.references import states

DIRECT_SAMPLES = 400  # up to here the n x n Gram matrix is used at once
DENSE_ORDER = 3_000  # largest order of a dense Gram matrix, used when conjugate gradients are slow
MAX_ITER = 400


@dataclass(frozen=True)
class LeastSquares:
    """A least-squares matrix, its residual A(M) - y, an estimate of its excess loss, the iterations
    used, and the matrices on the way: (iterations so far, M) after every refinement.
    """

    M: Array
    residual: Array
    gap: float
    n_iter: int
    stages: tuple[tuple[int, Array], ...] = ()


@states("SJL-T2.1", "SJL-L6.1")
def least_squares(X: Array, y: Array, *, tol: float = 1e-10) -> LeastSquares:
    r"""A minimizer of $\tfrac12\|A(M) - y\|^2$ over symmetric M.

    Refined until the excess loss is below `tol` of the loss, or below 1e-3 `tol` of the loss of M =
    0.

    Parameters
    ----------
    X : samples, best in white coordinates (`row_space`).
    """
    n, d = X.shape
    scale = 0.5 * float(y @ y)
    N = d * (d + 1) // 2
    solver = _sample_solver(X) if n <= min(N, DIRECT_SAMPLES) else None
    M, used, gap = np.zeros((d, d)), 0, scale
    r, stages = -y, []
    for attempt in range(4):
        correction, steps = solver(r) if solver else conjugate_gradients(X, -r, floor=1e-17 * scale)
        M, used = M + correction, used + steps
        stages.append((used, M))
        change = quadratic_forms(X, correction)
        r = quadratic_forms(X, M) - y
        gap = max(
            0.5 * float(change @ change), 0.0
        )  # the loss fell by this much, and the next correction is far smaller
        if attempt and gap <= max(tol * 0.5 * float(r @ r), 1e-3 * tol * scale):
            break
        if steps >= MAX_ITER and min(n, N) <= DENSE_ORDER:
            solver = _sample_solver(X) if n <= N else _feature_solver(X)
    return LeastSquares(M, r, gap, used, tuple(stages))


def conjugate_gradients(X: Array, target: Array, *, floor: float) -> tuple[Array, int]:
    """The least-squares matrix of `target` by conjugate gradients on the normal equations, from
    zero, and the iterations.

    Ends when three steps in a row lower the loss by less than `floor` each, or when rounding is
    reached: beyond it the recursion of the residual no longer belongs to M and may diverge.
    """
    M = np.zeros((X.shape[1], X.shape[1]))
    r, S = target.copy(), moment_matrix(X, target)
    P, square, idle = S, float(np.sum(S * S)), 0
    goal = np.finfo(np.float64).eps ** 2 * square
    for count in range(MAX_ITER):
        if not square > goal or idle == 3:
            return M, count
        image = quadratic_forms(X, P)
        length = float(image @ image)
        if not length > 0:
            return M, count
        step = square / length
        idle = idle + 1 if 0.5 * step * square <= floor else 0
        M, r = M + step * P, r - step * image
        S = moment_matrix(X, r)
        previous, square = square, float(np.sum(S * S))
        P = S + (square / previous) * P
    return M, MAX_ITER


def _sample_solver(X: Array):  # noqa: ANN202 (a closure: residual -> correction, 1)
    r"""For n <= N: $M = -A^*(K^+r)$ with $K = AA^*$; eigenvalues at the rounding level are left
    out.
    """
    eigenvalues, vectors = np.linalg.eigh(sample_gram(X))
    kept = eigenvalues > X.shape[0] * np.finfo(np.float64).eps * float(eigenvalues[-1])

    def solve(r: Array) -> tuple[Array, int]:
        coordinates = (vectors[:, kept].T @ r) / eigenvalues[kept]
        return -moment_matrix(X, vectors[:, kept] @ coordinates), 1

    return solve


def _feature_solver(X: Array):  # noqa: ANN202 (a closure: residual -> correction, 1)
    r"""For n > N: $M = -(A^*A)^+A^*(r)$ by an eigendecomposition of the N x N Gram matrix."""
    eigenvalues, vectors = np.linalg.eigh(design_gram(X))
    kept = eigenvalues > max(X.shape[0], eigenvalues.shape[0]) * np.finfo(np.float64).eps * float(
        eigenvalues[-1]
    )

    def solve(r: Array) -> tuple[Array, int]:
        coordinates = (vectors[:, kept].T @ svec(moment_matrix(X, r))) / eigenvalues[kept]
        return -unsvec(vectors[:, kept] @ coordinates), 1

    return solve

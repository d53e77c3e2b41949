r"""Components of a symmetric K x K x K tensor $T = \sum_i\lambda_iu_i^{\otimes3}$ by joint
diagonalization (FCL-KCL).

The components are not orthogonal and the weights have both signs, so whitening does not apply. The
matrices $R_l = T(I,I,\theta_l) = U\,\mathrm{diag}(\lambda_i\,\theta_l\cdot u_i)\,U^T$ are made
diagonal by one matrix B from both sides; the columns of $B^{-1}$ are the components.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from globalmin._types import Array
from globalmin.errors import DataError
from globalmin.references import states

EXTRA = 4  # columns beyond K: they speed up the iteration and show the next eigenvalue


class Operator(Protocol):
    """A symmetric d x d matrix known by its products only."""

    dimension: int

    def times(self, V: Array) -> Array:
        """Product with a matrix of columns."""
        ...


@dataclass(frozen=True)
class Subspace:
    r"""An orthonormal basis and how far the subspace stands out.

    Attributes
    ----------
    V : d x K.
    values : Ritz values, largest absolute value first; more than K where known.
    gap : $(|\lambda_K| - |\lambda_{K+1}|)/|\lambda_1|$; small when the data do not show K
        directions.
    iterations : steps taken.
    """

    V: Array
    values: Array
    gap: float
    iterations: int


def _checked(operator: Operator, K: int) -> int:
    if not 1 <= K <= operator.dimension:
        raise DataError(
            f"K={K} directions of an operator on dimension {operator.dimension}; 1 <= K <= "
            "dimension is needed"
        )
    return operator.dimension


@states("FCL-PM")
def leading_subspace(
    operator: Operator, K: int, *, seed: int = 0, tol: float = 1e-12, max_iter: int = 1_000
) -> Subspace:
    r"""Orthogonal iteration with $P^2$ on a block of K + 4 columns and a Rayleigh-Ritz step: the
    rate is $(\lambda_{K+5}/\lambda_K)^2$ whatever the signs of the eigenvalues.
    """
    d = _checked(operator, K)
    block = min(d, K + EXTRA)
    V = np.linalg.qr(np.random.default_rng(seed).standard_normal((d, block)))[0]
    values, vectors, previous = np.zeros(block), V, np.inf
    step = 0
    while step < max_iter:
        step += 1
        image = operator.times(V)
        values, rotation = np.linalg.eigh((V.T @ image + image.T @ V) / 2.0)
        order = np.argsort(-np.abs(values))
        values, vectors, moved = values[order], V @ rotation[:, order], image @ rotation[:, order]
        residual = float(np.linalg.norm(moved[:, :K] - vectors[:, :K] * values[:K]))
        largest = float(np.abs(values).max())
        if (
            residual <= tol * largest
            or (residual >= 0.99 * previous and residual <= 1e-9 * largest)
            or largest == 0
        ):
            break
        previous = residual
        V = np.linalg.qr(operator.times(np.linalg.qr(moved)[0]))[0]
    return Subspace(vectors[:, :K], values, _gap(values, K), step)


def _gap(values: Array, K: int) -> float:
    sizes = np.abs(values)
    following = float(sizes[K]) if len(sizes) > K else 0.0
    return (float(sizes[K - 1]) - following) / float(sizes[0]) if sizes[0] > 0 else 0.0


@states("FCL-PM")
def shifted_power_subspace(
    operator: Operator, K: int, *, seed: int = 0, iterations: int = 200
) -> Subspace:
    r"""The paper's iteration: $V_1 \leftarrow qr(CV_1 + PV_1)$ and $V_2 \leftarrow qr(CV_2 - PV_2)$
    with C = 3 ||P||, then the K columns of largest absolute Rayleigh quotient of the right sign,
    those of $V_2$ made orthogonal to those of $V_1$.

    Slow: the factor per step is $(3+\lambda_{K+1})/(3+\lambda_K)$ in units of ||P||.
    """
    d = _checked(operator, K)
    rng = np.random.default_rng(seed)
    C = 3.0 * _norm(operator, rng)
    up, down = (np.linalg.qr(rng.standard_normal((d, K)))[0] for _ in range(2))
    for _ in range(iterations):
        up = np.linalg.qr(C * up + operator.times(up))[0]
        down = np.linalg.qr(C * down - operator.times(down))[0]
    above, below = (np.einsum("ij,ij->j", A, operator.times(A)) for A in (up, down))
    merit = np.concatenate(
        [np.where(above > 0, above, -np.inf), np.where(below < 0, -below, -np.inf)]
    )
    chosen = np.argsort(-merit)[:K]
    basis = np.hstack([up[:, chosen[chosen < K]], down[:, chosen[chosen >= K] - K]])
    V = np.linalg.qr(basis)[0]
    values = np.concatenate([above, below])[np.argsort(-merit)]
    return Subspace(V, values, _gap(values, K), iterations)


def _norm(operator: Operator, rng: np.random.Generator) -> float:
    """Estimate of the spectral norm by thirty steps of the power method."""
    v = rng.standard_normal((operator.dimension, 1))
    for _ in range(30):
        image = operator.times(v / np.linalg.norm(v))
        v = image if np.linalg.norm(image) > 0 else v
    return float(np.linalg.norm(v))


PROJECTIONS = 100
LONGEST_STEP = (
    0.5  # of a joint update, in Frobenius norm: beyond it the linearization means nothing
)


@states("FCL-KCL")
def joint_diagonalize(matrices: Array, *, tol: float = 1e-13, max_sweeps: int = 200) -> Array:
    r"""An invertible B that makes every $BR_lB^T$ as diagonal as possible; matrices is L x K x K,
    symmetric.

    Sweeps of plane rotations and shears bring the matrices near diagonal form; then all
    off-diagonal pairs are updated together by $B \leftarrow (I+\Omega)B$, $\Omega$ from a 2 x 2
    least-squares problem per pair, which converges quadratically when an exact solution exists.
    """
    if matrices.ndim != 3 or matrices.shape[1] != matrices.shape[2] or 0 in matrices.shape:
        raise DataError(f"matrices has shape {matrices.shape}; give L symmetric K x K matrices")
    A, B = matrices / max(float(np.abs(matrices).max()), 1e-300), np.eye(matrices.shape[1])
    for _ in range(30):
        A, B, change = _sweep(A, B)
        if change < 1e-3:
            break
    for _ in range(max_sweeps):
        Omega = _joint_update(A)
        size = float(np.linalg.norm(Omega))
        if not np.isfinite(size):
            break
        step = np.eye(len(B)) + Omega * min(1.0, LONGEST_STEP / max(size, 1e-300))
        A, B = step @ A @ step.T, step @ B
        lengths = np.linalg.norm(B, axis=1)
        A, B = A / (lengths[:, None] * lengths[None, :]), B / lengths[:, None]
        if size < tol:
            break
    return B


def _sweep(A: Array, B: Array) -> tuple[Array, Array, float]:
    """One round of rotations and shears over all pairs; the last number says how far the round
    moved.
    """
    K, start = len(B), B
    for i in range(K):
        for j in range(i + 1, K):
            step = np.eye(K)
            c, s = _rotation(A, i, j)
            step[[i, i, j, j], [i, j, i, j]] = c, s, -s, c
            A, B = step @ A @ step.T, step @ B
    for i in range(K):
        for j in range(K):
            if i != j:
                step = np.eye(K)
                step[j, i] = _shear(A, i, j)
                A, B = step @ A @ step.T, step @ B
    lengths = np.linalg.norm(B, axis=1)
    A, B = A / (lengths[:, None] * lengths[None, :]), B / lengths[:, None]
    return A, B, float(np.linalg.norm(B @ np.linalg.pinv(start) - np.eye(K)))


def _rotation(A: Array, i: int, j: int) -> tuple[float, float]:
    rows = np.stack([A[:, i, i] - A[:, j, j], 2.0 * A[:, i, j]], axis=1)
    v = np.linalg.eigh(rows.T @ rows)[1][:, -1]
    v = v if v[0] >= 0 else -v
    angle = np.arctan2(v[1], v[0]) / 2.0
    return float(np.cos(angle)), float(np.sin(angle))


def _shear(A: Array, i: int, j: int) -> float:
    keep = np.arange(A.shape[1]) != j
    above, below = float((A[:, i, keep] * A[:, j, keep]).sum()), float((A[:, i, keep] ** 2).sum())
    return float(np.clip(-above / below, -1.0, 1.0)) if below > 0 else 0.0


def _joint_update(A: Array) -> Array:
    r"""$\Omega$ with $\Omega_{ij}D_j + \Omega_{ji}D_i = -E_{ij}$ over all matrices, in least
    squares for each pair.
    """
    D = np.einsum("lii->li", A)
    Z, Y = D.T @ D, np.einsum("li,lij->ij", D, A)  # Y_ij = sum_l D_i E_ij
    diagonal = np.diag(Z)
    determinant = np.outer(diagonal, diagonal) - Z**2
    np.fill_diagonal(determinant, 1.0)
    determinant = np.maximum(determinant, 1e-14 * np.maximum(np.outer(diagonal, diagonal), 1e-300))
    Omega = (Z * Y - diagonal[:, None] * Y.T) / determinant
    np.fill_diagonal(Omega, 0.0)
    return Omega


@dataclass(frozen=True)
class Components:
    r"""Unit columns $u_i$ of U, weights with $T \approx \sum_i\lambda_iu_i^{\otimes3}$, and the
    relative residual of the fit.
    """

    U: Array
    weights: Array
    residual: float


@states("FCL-KCL")
def decompose_symmetric(T: Array, *, seed: int = 0, projections: int = PROJECTIONS) -> Components:
    """Components of a symmetric tensor: random projections first, then projections along the
    components found.
    """
    if T.ndim != 3 or len(set(T.shape)) != 1 or T.shape[0] == 0:
        raise DataError(f"T has shape {T.shape}; a K x K x K tensor is needed")
    K = T.shape[0]
    theta = np.random.default_rng(seed).standard_normal((projections, K))
    U = _components(T, theta / np.linalg.norm(theta, axis=1, keepdims=True))
    return min(
        (_fitted(T, one) for one in (_components(T, U.T), U)), key=lambda found: found.residual
    )


def _components(T: Array, theta: Array) -> Array:
    B = joint_diagonalize(np.einsum("ijk,lk->lij", T, theta))
    U = np.linalg.pinv(B)
    return U / np.maximum(np.linalg.norm(U, axis=0), 1e-300)


def _fitted(T: Array, U: Array) -> Components:
    cubes = np.einsum("ai,bi,ci->abci", U, U, U).reshape(-1, U.shape[1])
    weights = np.linalg.lstsq(cubes, T.reshape(-1), rcond=None)[0]
    size = float(np.linalg.norm(T))
    return Components(
        U,
        weights,
        float(np.linalg.norm(cubes @ weights - T.reshape(-1))) / size if size > 0 else 0.0,
    )

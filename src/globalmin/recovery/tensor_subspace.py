r"""The span of the neurons: the K eigenvectors of largest absolute eigenvalue of an implicit
symmetric operator (FCL-PM).
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

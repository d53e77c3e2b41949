"""Lemma 4.2: a balanced stationary point of the factorization is a global minimum or a strict
saddle; the direction down.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from globalmin._types import Array, ArrayLike
from globalmin.factorization.factors import Factors, checked_matrix
from globalmin.factorization.landscape import factorization_gradient, hessian_form, imbalance
from globalmin.references import states


@dataclass(frozen=True)
class SaddleTest:
    r"""The direction $\Delta = W - W^*R$ of Lemma 4.2 and what it shows.

    Attributes
    ----------
    direction : the pair $(\Delta_U, \Delta_V)$. curvature : the second derivative along it (not
        divided by its length).
    bound : $-\lVert UV^T-M\rVert_F^2+\frac12\varepsilon^2$ with eps the imbalance; the curvature is
        at most this at a stationary point of a matrix M of rank at most r.
    gradient_norm : how stationary the point is. distance : $\lVert UV^T-M\rVert_F$.
    """

    direction: tuple[Array, Array]
    curvature: float
    bound: float
    gradient_norm: float
    distance: float

    @property
    def is_escape(self) -> bool:
        """Whether the direction has negative curvature."""
        return self.curvature < 0.0


@states("DU-L4.2")
def saddle_test(factors: Factors, M: ArrayLike) -> SaddleTest:
    """The direction towards the nearest balanced optimal factors, its curvature and the bound of
    Lemma 4.2.
    """
    M = checked_matrix(M)
    best = balanced_target(M, factors.rank)
    R = nearest_rotation(factors, best)
    direction = (factors.U - best.U @ R, factors.V - best.V @ R)
    residual = float(np.linalg.norm(factors.product() - M))
    off = float(np.linalg.norm(imbalance(factors)))
    slope = float(np.sqrt(sum(np.sum(part**2) for part in factorization_gradient(factors, M))))
    return SaddleTest(
        direction, hessian_form(factors, M, direction), 0.5 * off**2 - residual**2, slope, residual
    )


def balanced_target(M: ArrayLike, rank: int) -> Factors:
    r"""$U^*=\Phi\Sigma^{1/2}$, $V^*=\Psi\Sigma^{1/2}$ of the truncated singular value
    decomposition: a global minimum.
    """
    left, values, right = np.linalg.svd(checked_matrix(M), full_matrices=False)
    roots = np.sqrt(values[:rank])
    U, V = np.zeros((left.shape[0], rank)), np.zeros((right.shape[1], rank))
    U[:, : roots.size], V[:, : roots.size] = left[:, :rank] * roots, right[:rank].T * roots
    return Factors(U, V)


def nearest_rotation(factors: Factors, target: Factors) -> Array:
    r"""The orthogonal R with the smallest $\lVert W-W^*R\rVert_F$, W the factors one above the
    other (Procrustes).
    """
    left, _, right = np.linalg.svd(target.U.T @ factors.U + target.V.T @ factors.V)
    return left @ right

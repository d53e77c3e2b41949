"""The direction that leads out of a stationary point of the population risk of a planted quadratic
network.
"""

from __future__ import annotations

import numpy as np

from globalmin._types import Array
from globalmin.quadratic.risk import gram_difference
from globalmin.references import states
from globalmin.shallow.stationary import Escape


@states("GKZ-CENSUS")
def population_escape(W: Array, Wstar: Array) -> Escape | None:
    r"""At a rank-deficient W: $V = uq^T$ with u orthogonal to the range of W and q the least
    eigenvector of D; curvature $8\lambda_{\min}(D) + 4\,\mathrm{tr}D$.

    At the stationary points of the census this is the least eigenvalue of the Hessian of the
    population risk. None if W has full row rank or the curvature is not negative.
    """
    left, singular, _ = np.linalg.svd(W)
    tolerance = (
        max(W.shape) * np.finfo(np.float64).eps * max(float(singular[0]), np.finfo(np.float64).tiny)
    )
    rank = int((singular > tolerance).sum())
    if rank == W.shape[0]:
        return None
    D = gram_difference(W, Wstar)
    eigenvalues, vectors = np.linalg.eigh(D)
    curvature = 8.0 * float(eigenvalues[0]) + 4.0 * float(np.trace(D))
    return (
        Escape(np.outer(left[:, -1], vectors[:, 0]), None, curvature, "closed form")
        if curvature < 0
        else None
    )

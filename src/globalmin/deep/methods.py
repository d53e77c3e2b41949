"""The two methods for deep networks, as generators of points: gradient descent and
Levenberg-Marquardt in the n x n form.

(G + lambda I) u = r with G = J J^T the sum of the layer Grams, and the step is -J^T u: the n x P
Jacobian is never formed, and the step is exactly the one that the full Jacobian gives.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING

import numpy as np

from globalmin._types import Array
from globalmin.optimize.follow import Iterate
from globalmin.optimize.run import Status

if TYPE_CHECKING:
    from globalmin.deep.problem import DeepPoint


PATIENCE = 1_000  # gradient steps without a new smallest loss
START_DAMPING = 0.1  # lambda at the start, relative to the mean of the diagonal of G
MAX_REJECTIONS = 12
STALL, PROGRESS = 40, 0.99  # given up when so many systems have not lowered ||r|| by one per cent


def descent_steps(
    point: DeepPoint, eta: float
) -> Generator[Iterate[DeepPoint], None, Status | None]:
    """Steps theta <- theta - eta J^T r for all layers, until the weights overflow or the loss has
    found no new minimum for a thousand of them.
    """
    lowest, since = point.norm, 0
    while since < PATIENCE:
        moved = point.moved(point.gradient, -eta)
        if moved is None:
            return Status.DIVERGED
        point = moved
        yield Iterate(point)
        lowest, since = (point.norm, 0) if point.norm < lowest else (lowest, since + 1)
    return None


def damped_steps(point: DeepPoint) -> Generator[Iterate[DeepPoint], None, None]:
    """Levenberg-Marquardt steps, one point per linear system solved, rejected or not, down to the
    rounding level.
    """
    eps = float(np.finfo(np.float64).eps)
    diagonal = float(np.trace(point.gram)) / len(point.residual)
    mu, growth, rejections = START_DAMPING * diagonal / max(point.norm, eps), 2.0, 0
    norms = [point.norm]
    while diagonal > 0 and point.norm > 0 and rejections < MAX_REJECTIONS:
        shift = max(mu * point.norm, 4 * eps * diagonal)
        u = _solve(point.gram, point.residual, shift)
        trial = None if u is None else point.moved(point.pull_back(u), -1.0)
        if u is not None and trial is not None and trial.norm < point.norm:
            expected = max(point.norm**2 - shift**2 * float(u @ u), np.finfo(np.float64).tiny)
            gain = min((point.norm**2 - trial.norm**2) / expected, 1.0)
            mu *= max(1 / 3, 1 - (2 * gain - 1) ** 3) if gain < 0.9 else 1 / 10
            point, growth, rejections = trial, 2.0, 0
            diagonal = float(np.trace(point.gram)) / len(point.residual)
        else:
            mu, growth, rejections = mu * growth, 2 * growth, rejections + 1
        yield Iterate(point)
        norms.append(point.norm)
        if len(norms) > STALL and norms[-1] > PROGRESS * norms[-STALL - 1]:
            return


def _solve(G: Array, r: Array, shift: float) -> Array | None:
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    damped = G.copy()
    damped.flat[:: len(G) + 1] += shift
    try:
        u = cho_solve(
            cho_factor(damped, lower=True, overwrite_a=True, check_finite=False),
            r,
            check_finite=False,
        )
    except LinAlgError:
        return None
    return u if np.isfinite(u).all() else None

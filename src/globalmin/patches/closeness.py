r"""Close patches, which make a filter easy to learn: DU-T6.5, corrected (both bounds are false as
printed).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from globalmin._types import Array, ArrayLike
from globalmin.errors import DataError
from globalmin.patches.model import as_patches
from globalmin.references import states


@dataclass(frozen=True)
class Closeness:
    r"""Closeness of the patches of the samples given, and the corrected bounds.

    Attributes
    ----------
    rho : largest angle between a patch and the mean patch of its sample. unit_norm : whether all
        patches have length 1.
    mu_star, mu : mass within angle $\varphi \le 2\rho$ of the hyperplane of w* and of w, divided by
        $\varphi$ (largest ratio).
    gamma_average : least eigenvalue of the second moment of the mean patch over samples where it is
        on the positive side of both.
    gamma_lower : `gamma_average` minus twice the largest mass of a patch within $\rho$ of either
        hyperplane.
    cross_upper : $3\max(\mu^*, \mu)$.
    """

    rho: float
    unit_norm: bool
    mu_star: float
    mu: float
    gamma_average: float
    gamma_lower: float
    cross_upper: float


@states("DU-T6.5")
def closeness(Z: ArrayLike, w: ArrayLike, w_star: ArrayLike) -> Closeness:
    r"""The quantities of DU-T6.5 for the empirical law of the samples; measure $\gamma$ and
    $L_{cross}$ directly where you can.

    $\gamma \ge \gamma_{avg} - 2\max_iP[Z_i$ within $\rho$ of a hyperplane$]$ holds for the samples
    themselves if no patch is longer than 1 (the average patch is not normalized). The density bound
    is over the angles seen in the samples.
    """
    Z, w = as_patches(Z, w)
    Z, w_star = as_patches(Z, w_star)
    lengths = np.linalg.norm(Z, axis=2)
    if not np.all(lengths > 0.0) or not np.any(w) or not np.any(w_star):
        raise DataError(
            "closeness needs patches and filters that are not zero; drop the zero patches, or "
            "scale the others"
        )
    mean = Z.mean(axis=1)
    rho = float(np.max(_angles(Z, mean[:, None, :])))
    near = [
        np.abs(np.arcsin(np.clip(Z @ u / (lengths * np.linalg.norm(u)), -1.0, 1.0)))
        for u in (w_star, w)
    ]
    mass = float(np.max(np.mean((near[0] <= rho) | (near[1] <= rho), axis=0)))
    both = mean[(mean @ w >= 0.0) & (mean @ w_star >= 0.0)]
    average = float(np.linalg.eigvalsh(both.T @ both / len(Z))[0]) if len(both) else 0.0
    mu_star, mu = (_density(x, 2.0 * rho) for x in near)
    unit = bool(np.allclose(lengths, 1.0, atol=1e-9))
    return Closeness(
        rho, unit, mu_star, mu, max(average, 0.0), average - 2.0 * mass, 3.0 * max(mu_star, mu)
    )


def _angles(A: Array, B: Array) -> Array:
    A = A / np.linalg.norm(A, axis=-1, keepdims=True)
    length = np.linalg.norm(B, axis=-1, keepdims=True)
    B = np.divide(B, length, out=np.zeros_like(B), where=length > 0.0)
    return 2.0 * np.arctan2(np.linalg.norm(A - B, axis=-1), np.linalg.norm(A + B, axis=-1))


def _density(near: Array, limit: float) -> float:
    """Largest mass per angle over angles up to the limit, for the patch position where it is
    largest.
    """
    worst = 0.0
    for column in near.T:
        seen = np.sort(column)
        inside = seen <= limit
        if inside.any():
            share = np.arange(1, inside.sum() + 1) / len(seen)
            worst = max(
                worst,
                float(
                    np.max(
                        np.divide(
                            share,
                            seen[inside],
                            out=np.full(len(share), math.inf),
                            where=seen[inside] > 0,
                        )
                    )
                ),
            )
    return worst

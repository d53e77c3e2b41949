"""The part of a claim that proves the Lipschitz constant of the Jacobian on the ball of radius rho
(P3, and P1 for beta).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from globalmin._options import Trained
from globalmin._types import Array
from globalmin.linalg.positive_definite import upper_witness
from globalmin.linalg.quartic import (
    estimate_quartic_attained,
    estimate_quartic_svec,
    row_matrix,
    svec_matrix,
)
from globalmin.proving.claim import Json, Tensor, rational
from globalmin.shallow.lipschitz import (
    combine_layers,
    curvature_by_radius,
    curvature_weights,
    slope_matrix,
    slope_weights,
)

if TYPE_CHECKING:
    from globalmin.shallow.network import ShallowNetwork


SVEC_LIMIT = 1300  # side N = d(d+1)/2 up to which the sharper bound is affordable for the checker
OVERSHOOT = 1e-3  # of a step of the walk, so that it ends
_STEPS = 60


@dataclass(frozen=True)
class LipschitzWitness:
    """Lip on the ball of radius `rho`, with the numbers and factors that prove it."""

    rho: float
    Lip: float
    kappa: float
    method: str
    C_kappa: Array = field(repr=False)
    t: float = 0.0
    beta2: float | None = None
    C_beta: Array | None = field(default=None, repr=False)

    def fields(self) -> dict[str, Json]:
        """`rho`, `quartic` and, for both layers, `beta2` of the certificate format."""
        quartic = {"kappa": rational(self.kappa), "method": self.method}
        if self.method == "svec":
            quartic["t"] = rational(self.t)
        fields: dict[str, Json] = {"rho": rational(self.rho), "quartic": quartic}
        return fields if self.beta2 is None else {**fields, "beta2": rational(self.beta2)}

    def tensors(self) -> dict[str, Tensor]:
        """`C_kappa` and, for both layers, `C_beta`."""
        tensors: dict[str, Tensor] = {"C_kappa": self.C_kappa}
        return tensors if self.C_beta is None else {**tensors, "C_beta": self.C_beta}


def lipschitz_witness(
    network: ShallowNetwork,
    X: Array,
    rho: float,
    *,
    trained: Trained,
    method: str,
    curvature: Callable[[float, float], Array] | None = None,
) -> LipschitzWitness:
    """Witness of LIP-W or LIP-VW at radius rho, `method` "rows" or "svec"; NotPositiveDefiniteError
    if the bound overflows. `curvature` is `curvature_by_radius`, if it is at hand.
    """
    weights = curvature or curvature_by_radius(network, X, trained)
    q, least = (weights(rho, sign) ** 2 for sign in (1.0, -1.0))
    t = estimate_quartic_svec(X, q).t if method == "svec" else 0.0
    matrix, spread = (
        svec_matrix(X, w, s) if method == "svec" else row_matrix(X, w)
        for w, s in ((q, t), (q - least, 0.0))
    )
    kappa, C_kappa = upper_witness(matrix, uncertain=_size(spread))
    if trained == "W":
        return LipschitzWitness(rho, math.sqrt(kappa), kappa, method, C_kappa, t)
    slopes, least = (slope_weights(network, X, rho, rounding=sign) for sign in (1.0, -1.0))
    slope_form = slope_matrix(X, slopes)
    beta2, C_beta = upper_witness(slope_form, uncertain=_size(slope_form - slope_matrix(X, least)))
    return LipschitzWitness(
        rho,
        combine_layers(math.sqrt(kappa), math.sqrt(beta2)),
        kappa,
        method,
        C_kappa,
        t,
        beta2,
        C_beta,
    )


def _size(spread: Array) -> float:
    """Frobenius norm of how far the matrix in floats may be above the one the checker forms; 0
    where it overflows.
    """
    size = float(np.linalg.norm(spread))
    return size if math.isfinite(size) else 0.0


@np.errstate(over="ignore", invalid="ignore")
def smallest_ball(
    network: ShallowNetwork,
    X: Array,
    start: float,
    radius: Callable[[float], float],
    *,
    trained: Trained,
) -> LipschitzWitness | None:
    """Walk rho upward from `start` until `radius(Lip(rho)) <= rho`: the d x d bound first, then the
    sharper; None if both fail.

    Lip grows with rho, so the theorem's radius does too, and the first rho that contains its own
    radius is the least one found.
    """
    found = _walk(network, X, start, radius, trained=trained, method="rows")
    d = X.shape[1]
    if found is not None or d * (d + 1) // 2 > SVEC_LIMIT:
        return found
    q = curvature_weights(network, X, start, trained=trained) ** 2
    if math.isinf(radius(math.sqrt(estimate_quartic_attained(X, q)))):
        return None
    return _walk(network, X, start, radius, trained=trained, method="svec")


def _walk(
    network: ShallowNetwork,
    X: Array,
    start: float,
    radius: Callable[[float], float],
    *,
    trained: Trained,
    method: str,
) -> LipschitzWitness | None:
    rho, curvature = start, curvature_by_radius(network, X, trained)
    for _ in range(_STEPS):
        witness = lipschitz_witness(
            network, X, rho, trained=trained, method=method, curvature=curvature
        )
        needed = radius(witness.Lip)
        if needed <= rho:
            return witness
        if math.isinf(needed):
            return None
        rho = needed * (1.0 + OVERSHOOT)
    return None

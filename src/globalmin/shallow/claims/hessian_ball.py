"""The Lipschitz constant of the Hessian on a ball around the weights, with the witnesses that
strict-saddle and second-order-stationary store.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from globalmin._options import Trained
from globalmin._types import Array
from globalmin.linalg.positive_definite import NotPositiveDefiniteError, upper_witness
from globalmin.proving.claim import Json, Tensor, rational
from globalmin.shallow.claims.curvature import hessian_lipschitz_weights
from globalmin.shallow.lipschitz import estimate_hessian_lipschitz_both_layers

if TYPE_CHECKING:
    from globalmin.shallow.network import ShallowNetwork


_ROOM = 1e-6
_HALVINGS = 40
_LARGEST_RADIUS = 2.0**60


@dataclass(frozen=True)
class HessianBall:
    """A radius, the exact square of a Lipschitz constant of the Hessian on the ball, its fields and
    its tensors.
    """

    R: float
    lip_square: Fraction
    fields: dict[str, Json]
    tensors: dict[str, Tensor]


def estimate_hessian_lipschitz(
    network: ShallowNetwork, X: Array, y: Array, R: float, trained: Trained
) -> float:
    """Lam on the ball of radius R in floats: the lemma for W (product of two eigenvalues) or the
    one for both layers.
    """
    if trained == "vW":
        return estimate_hessian_lipschitz_both_layers(network, X, y, R)
    products = [max(float(np.linalg.eigvalsh(A)[-1]), 0.0) for A in _forms(network, X, y, R)]
    return math.sqrt(math.prod(products))


@np.errstate(over="ignore", invalid="ignore")
def hessian_ball(
    network: ShallowNetwork, X: Array, y: Array, R: float, trained: Trained
) -> HessianBall | None:
    """The constant with its witnesses; None if the numbers leave the range of doubles."""
    if trained == "vW":
        Lip = estimate_hessian_lipschitz_both_layers(network, X, y, R) * (1.0 + _ROOM)
        if not 0.0 < Lip < math.inf:
            return None
        return HessianBall(R, Fraction(Lip) ** 2, {"R": rational(R), "Lip": rational(Lip)}, {})
    try:
        (lam, C_lam), (kappa, C_kappa) = (upper_witness(A) for A in _forms(network, X, y, R))
    except (NotPositiveDefiniteError, np.linalg.LinAlgError):
        return None
    quartic: Json = {"kappa": rational(kappa), "method": "rows"}
    fields: dict[str, Json] = {"R": rational(R), "lam": rational(lam), "quartic": quartic}
    return HessianBall(
        R, Fraction(lam) * Fraction(kappa), fields, {"C_lam": C_lam, "C_kappa": C_kappa}
    )


def _forms(network: ShallowNetwork, X: Array, y: Array, R: float) -> tuple[Array, Array]:
    c = hessian_lipschitz_weights(network, X, y, R)
    return (X.T * c) @ X, (X.T * (c * np.einsum("ij,ij->i", X, X))) @ X


def largest_below(increasing: Callable[[float], float], bound: float) -> float:
    """R with increasing(R) <= bound, the largest up to 1e-12 (at most 2^60; 0 if there is none
    above 2^-60).
    """
    low, high = 0.0, 1.0
    while increasing(high) <= bound and high < _LARGEST_RADIUS:
        low, high = high, 2.0 * high
    while low == 0.0 and high > 1.0 / _LARGEST_RADIUS:
        low, high = (high / 2.0, high) if increasing(high / 2.0) <= bound else (0.0, high / 2.0)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        low, high = (middle, high) if increasing(middle) <= bound else (low, middle)
    return low

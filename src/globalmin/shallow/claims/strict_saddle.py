"""Claim `strict-saddle`: a direction of negative curvature at the stored weights, and optionally a
ball without local minimum.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from globalmin._options import Trained
from globalmin._types import Array
from globalmin.errors import CannotCertify
from globalmin.proving.claim import Claim, ClaimRecord, Json, Proves, Tensor, rational
from globalmin.references import states
from globalmin.shallow.claims.curvature import gradient_above, smooth_arrays
from globalmin.shallow.claims.hessian_ball import (
    HessianBall,
    estimate_hessian_lipschitz,
    hessian_ball,
    largest_below,
)
from globalmin.shallow.claims.high_precision import precise_residual
from globalmin.shallow.claims.linearized_point import loss_above
from globalmin.shallow.hessian import curvature_along, curvature_rounding
from globalmin.shallow.network import ShallowNetwork
from globalmin.shallow.stationary import Escape, hessian_escape, quadratic_escape

if TYPE_CHECKING:
    from globalmin.data import Dataset


_DENSE = 1_500  # parameters up to which the least eigenvector of the whole Hessian is computed


@states("SJL-T2.1", "SJL-T2.2")
def build(network: ShallowNetwork, data: Dataset, trained: Trained = "W") -> Claim:
    r"""The claim with its direction, or CannotCertify if no direction of provably negative
    curvature is found.

    Parameters
    ----------
    network, data : smooth network and its data set.
    trained : "W" or "vW", the parameters whose Hessian is meant. A radius without local minimum is
        proved as well.

    Theory
    ------
    SJL-T2.1, SJL-T2.2: the closed-form direction of quadratic networks, where it is better than the
    least eigenvector.
    """
    X, y = smooth_arrays(network, data, trained)
    loss = loss_above(precise_residual(network, X, y))
    escape = _best_direction(network, X, y, trained)
    if escape is None:
        raise CannotCertify(
            "no direction of negative curvature was found at these weights; claim "
            "second-order-stationary"
        )
    gamma = _gamma(network, X, y, escape)
    eps = gradient_above(network, X, y, trained=trained)
    fields: dict[str, Json] = {
        "loss_upper": rational(loss),
        "trained": trained,
        "gamma": rational(gamma),
        "eps": rational(eps),
    }
    tensors: dict[str, Tensor] = {"U": escape.U}
    if escape.u is not None:
        tensors["u"] = escape.u
    summary = {"loss_upper": loss, "gamma": gamma, "eps": eps}
    found = _radius(network, X, y, gamma, trained)
    if found is None:
        return Claim(CLAIM.kind, fields, tensors, summary)
    return Claim(
        CLAIM.kind,
        {**fields, "radius": found.fields},
        tensors | found.tensors,
        summary | {"radius": found.R},
    )


def _best_direction(network: ShallowNetwork, X: Array, y: Array, trained: Trained) -> Escape | None:
    found: list[Escape | None] = []
    if network.activation.certificate_name == "quadratic" and trained == "W":
        found.append(quadratic_escape(network, X, y))
    if network.W.size <= _DENSE:
        found.append(hessian_escape(network, X, y, trained=trained))
    candidates = [
        _with_head(escape, network, trained)
        for escape in found
        if escape is not None and escape.curvature < 0
    ]
    return min(candidates, key=lambda escape: escape.curvature, default=None)


def _with_head(escape: Escape, network: ShallowNetwork, trained: Trained) -> Escape:
    u = np.zeros(network.width) if trained == "vW" and escape.u is None else escape.u
    return Escape(np.ascontiguousarray(escape.U), u, escape.curvature, escape.method)


def _gamma(network: ShallowNetwork, X: Array, y: Array, escape: Escape) -> float:
    """Minus the curvature per squared length, from below: an estimate of the rounding is taken
    off.
    """
    U, u = escape.U, escape.u
    noise = curvature_rounding(network, X, y, U, u)
    size = float(np.sum(U * U)) + (0.0 if u is None else float(u @ u))
    curvature = curvature_along(network, X, y, U, u)
    gamma = (-curvature - noise) / size * (1.0 - 1e-12)
    if not (math.isfinite(gamma) and gamma > 0):
        raise CannotCertify(
            f"the least curvature found, {curvature / size:.3g}, is within rounding "
            f"({noise / size:.3g}) of zero"
        )
    return gamma


def _radius(
    network: ShallowNetwork, X: Array, y: Array, gamma: float, trained: Trained
) -> HessianBall | None:
    """The largest ball found with Lam(R) R <= gamma; None if the numbers leave the range of
    doubles: the claim then speaks of the stored weights alone.
    """

    def product(R: float) -> float:
        return R * estimate_hessian_lipschitz(network, X, y, R, trained)

    try:
        low = largest_below(product, gamma * (1.0 - 1e-5))
    except np.linalg.LinAlgError:
        return None
    found = hessian_ball(network, X, y, low, trained) if low > 0 else None
    return (
        found
        if found is not None and found.lip_square * Fraction(low) ** 2 <= Fraction(gamma) ** 2
        else None
    )


CLAIM = ClaimRecord(
    kind="strict-saddle",
    theorem="negative-curvature/1",
    proves=Proves.POINT,
    label="saddle with a way down",
    network=ShallowNetwork,
    build=lambda q: build(q.network, q.data, q.trained),
    sentence="The stored weights are not a local minimum: the gradient is at most {eps}, and along "
    "the stored direction the loss curves downwards, with a second derivative of −{gamma} or less."
    "{ball} Their loss is at most {loss_upper}.",
    headline="The stored weights are not a local minimum: along the direction in the file the loss "
    "curves downwards.",
)

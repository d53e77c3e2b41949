"""Gradient of the loss of a smooth network in floats with an estimate of its rounding, for the
second-order claims.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from globalmin._options import TRAINED, Trained, one_of
from globalmin._types import Array
from globalmin.errors import CannotCertify
from globalmin.shallow.claims.linearized_point import SMOOTH, checked_arrays
from globalmin.shallow.hessian import gradient_norm, gradient_rounding
from globalmin.shallow.lipschitz import local_suprema, output_rounding, rounding_of_preactivations
from globalmin.shallow.network import preactivations

if TYPE_CHECKING:
    from globalmin.data import Dataset
    from globalmin.shallow.network import ShallowNetwork


_ROOM = 1e-9


def smooth_arrays(network: ShallowNetwork, data: Dataset, trained: Trained) -> tuple[Array, Array]:
    """X and y, after checking that the network has a Hessian the checker knows."""
    X, y = checked_arrays(network, data)
    one_of("trained", trained, TRAINED)
    if network.activation.certificate_name not in SMOOTH:
        raise CannotCertify(
            f"second derivatives are proved for {', '.join(SMOOTH)}, not for {network.activation}"
        )
    return X, y


def gradient_above(network: ShallowNetwork, X: Array, y: Array, *, trained: Trained) -> float:
    """Norm of the gradient from above: in floats, plus an estimate of the rounding of residual and
    products.
    """
    noise = gradient_rounding(network, X, y, trained=trained)
    above = gradient_norm(network, X, y, trained=trained) * (1.0 + _ROOM) + noise
    if not np.isfinite(above):
        raise CannotCertify("the gradient of these weights overflows a double; train first")
    return max(above, 2.0**-400)


def hessian_lipschitz_weights(network: ShallowNetwork, X: Array, y: Array, R: float) -> Array:
    r"""$c_i = 3n_{1,i}\max_l|v_l|s_{2,il} + (|r_i| + R\|x_i\|n_{1,i})\max_l|v_l|s_{3,il}$ on the
    ball of radius R, from above.

    $n_{1,i} = \|(v_ls_{1,il})_l\|$ with the local suprema $s_j$; the Hessian in W is Lipschitz with
    any constant of at least $\sup_a\sum_ic_i|x_i \cdot a|^3$ over unit vectors a.
    """
    Z, heads, norms = preactivations(network, X), np.abs(network.v), np.linalg.norm(X, axis=1)
    reach = R * norms[:, None] + rounding_of_preactivations(network, X)
    s1, s2, s3 = (
        local_suprema(network.activation, Z, reach, order=order) * heads for order in (1, 2, 3)
    )
    n1 = np.linalg.norm(s1, axis=1)
    r = np.abs(network.activation(Z) @ network.v - y) + output_rounding(network, X, y)
    return (3.0 * n1 * s2.max(axis=1) + (r + R * norms * n1) * s3.max(axis=1)) * (1.0 + _ROOM)

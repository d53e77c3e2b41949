r"""Lipschitz constant of the Jacobian of a shallow network on a ball around its weights (LIP-W,
LIP-VW).

Floating-point estimates of true bounds; the producer of certificates adds its margins, the checker
proves.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from globalmin._types import Array
from globalmin.errors import DataError
from globalmin.linalg import quartic
from globalmin.references import states
from globalmin.shallow.network import ShallowNetwork, preactivations

if TYPE_CHECKING:
    from globalmin.activations import Activation


def local_suprema(activation: Activation, Z: Array, reach: Array, *, order: int) -> Array:
    r"""$s_j = \min(b_j, |\phi^{(j)}(z)| + b_{j+1}\,\mathrm{reach})$, at least $\sup |\phi^{(j)}|$
    over $z \pm \mathrm{reach}$.

    Parameters
    ----------
    activation : gives the derivatives and their suprema b_j over the line (`math.inf` allowed).
    Z : n x k pre-activations.
    reach : how far a pre-activation may move, broadcast against Z; `rho * ||x_i||` on a ball of
        radius rho.
    order : j, 1 to 3.
    """
    bound, slope = float(activation.supremum(order)), float(activation.supremum(order + 1))
    if math.isinf(slope):
        is_local = (
            math.isinf(bound) and activation.is_smooth
        )  # polynomials of higher degree: finite on intervals only
        return (
            activation.supremum_on(order, Z - reach, Z + reach)
            if is_local
            else np.full(Z.shape, bound)
        )
    try:
        size = np.abs(activation.derivative(Z, order=order))
    except DataError:  # a user's activation, registered without this derivative
        return np.full(Z.shape, bound)
    return np.minimum(bound, size + slope * reach)


def rounding_of_preactivations(network: ShallowNetwork, X: Array) -> Array:
    """Estimate of the rounding error of each entry of Z = X W^T computed in floats, n x k."""
    d = X.shape[1]
    return (d + 2) * np.finfo(np.float64).eps * (np.abs(X) @ np.abs(network.W).T)


def output_rounding(network: ShallowNetwork, X: Array, y: Array) -> Array:
    """Estimated rounding error of the outputs (and so of the residual) in floats, sample by
    sample.
    """
    Z, phi = preactivations(network, X), network.activation
    moved = np.abs(phi.derivative(Z)) * (np.abs(X) @ np.abs(network.W).T)
    eps = float(np.finfo(np.float64).eps)
    return (
        4.0
        * sum(network.W.shape)
        * eps
        * ((moved + np.abs(phi(Z))) @ np.abs(network.v) + np.abs(y))
    )


def curvature_weights(
    network: ShallowNetwork, X: Array, rho: float, *, trained: str = "W", rounding: float = 1.0
) -> Array:
    r"""$c_i = \max_l |v_l| s_{2,il}(\rho)$, with $|v_l| + \rho$ in place of $|v_l|$ when both
    layers are trained.

    The pre-activations in floats are off by their rounding, which is added to the reach; with
    `rounding` = -1 it is taken off instead, and the true number lies between the two answers.
    """
    Z = preactivations(network, X)
    head = np.abs(network.v) + (rho if trained == "vW" else 0.0)
    s2 = local_suprema(network.activation, Z, _reach(network, X, rho, rounding), order=2)
    return np.maximum(s2 * head, 0.0).max(axis=1)


def slope_weights(network: ShallowNetwork, X: Array, rho: float, *, rounding: float = 1.0) -> Array:
    r"""$\max_l s_{1,il}(\rho)$, needed when both layers are trained; `rounding` as in
    `curvature_weights`.
    """
    Z = preactivations(network, X)
    s1 = local_suprema(network.activation, Z, _reach(network, X, rho, rounding), order=1)
    return np.maximum(s1, 0.0).max(axis=1)


def _reach(network: ShallowNetwork, X: Array, rho: float, rounding: float) -> Array:
    return rho * np.linalg.norm(X, axis=1)[:, None] + rounding * rounding_of_preactivations(
        network, X
    )


def slope_matrix(X: Array, slopes: Array) -> Array:
    r"""X^T diag(s)^2 X, d x d, whose largest eigenvalue is $\beta^2 = \|\mathrm{diag}(s) X\|^2$ of
    LIP-VW.
    """
    scaled = X * slopes[:, None]
    return scaled.T @ scaled


def combine_layers(mm: float, beta: float) -> float:
    r"""$(mm + \sqrt{mm^2 + 4\beta^2})/2$, the norm of [[0, beta], [beta, mm]] (LIP-VW)."""
    return (mm + math.hypot(mm, 2.0 * beta)) / 2.0


@states("OS-K4")
def estimate_lipschitz(
    network: ShallowNetwork, X: Array, rho: float, *, trained: str = "W", method: str = "rows"
) -> float:
    r"""Lip with $\|J(\theta') - J(\theta)\| \le \mathrm{Lip}\,\|\theta' - \theta\|$ on the ball of
    radius rho, up to rounding.

    Parameters
    ----------
    network, X : smooth network and its n x d inputs.
    rho : radius of the ball around the stored weights.
    trained : "W" (head frozen) or "vW" (both layers).
    method : bound of the quartic form, "rows" (d x d) or "svec" (N x N, sharper and slower).

    Returns
    -------
    The estimate, or `math.inf` where the activation has no bound.

    Theory
    ------
    LIP-W and LIP-VW; OS-K4 for the quartic form.
    """
    q = curvature_weights(network, X, rho, trained=trained) ** 2
    if not np.isfinite(q).all():
        return math.inf
    kappa = (
        quartic.estimate_quartic_rows(X, q)
        if method == "rows"
        else quartic.estimate_quartic_svec(X, q).kappa
    )
    mm = math.sqrt(kappa)
    if trained == "W":
        return mm
    slopes = slope_weights(network, X, rho)
    if not np.isfinite(slopes).all():
        return math.inf
    return combine_layers(
        mm, math.sqrt(max(quartic.largest_eigenvalue(slope_matrix(X, slopes)), 0.0))
    )

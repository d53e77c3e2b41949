r"""Lipschitz constant of the Jacobian of a deep smooth network on a ball of weights, and the
descent test on it (theorem DS).

The recursion carries, for each sample, bounds xi of a feature, p of a back-propagated vector and q
= L p, and the Lipschitz constants dx, dz, dp, dq of feature, pre-activation, p and q in the
weights. Floats: estimates of true bounds; the checker proves.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from globalmin._types import Array, ArrayLike
from globalmin.deep import passes as deep_passes
from globalmin.errors import DataError
from globalmin.references import states

if TYPE_CHECKING:
    from globalmin.deep.network import DeepNetwork


# of the iteration t -> radius needed with Lam(t); it rises to its limit geometrically when it has
# one
ROUNDS = 60
# the radius is inflated by this much, so that the inequalities hold with room for rounding
MARGIN = 1e-6


class _Up(NamedTuple):
    """Bound xi and Lipschitz constant dx of the features of each layer 0..H, and dz of the
    pre-activations of layers 1..H.
    """

    xi: list[Array]
    dx: list[Array]
    dz: list[Array]


@states("DU-CERT-S")
def deep_jacobian_lipschitz(
    network: DeepNetwork, X: ArrayLike, radius: float, *, norms: tuple[float, ...] | None = None
) -> float:
    r"""Lam with $\|J(\theta') - J(\theta)\| \le \mathrm{Lam}\,\|\theta' - \theta\|$ on the ball
    around the weights.

    Parameters
    ----------
    network, X : a network whose sigma' is Lipschitz, and its inputs; with a kink the answer is
        `math.inf`.
    radius : of the ball, in the Euclidean norm of all parameters.
    norms : spectral norms of the weight matrices, if they are at hand.

    Theory
    ------
    Theorem DS (replaces DU-CERT-S): Lam^2 = sum over samples of dx_H^2 + sum over layers of T_h^2.
    """
    if not 0.0 <= radius < math.inf:
        raise DataError(f"radius={radius!r} must be a number >= 0")
    L, beta = float(network.activation.supremum(1)), float(network.activation.supremum(2))
    if not (math.isfinite(L) and math.isfinite(beta)):
        return math.inf
    omega = [norm + radius for norm in norms or spectral_norms(network)]
    sizes = np.linalg.norm(network.geometry.arrange(X), axis=(1, 2))
    with np.errstate(over="ignore", invalid="ignore"):
        up = _forward_bounds(network, sizes, omega, L)
        squares = up.dx[-1] ** 2 + _backward_squares(network, up, omega, (L, beta), radius)
        total = math.sqrt(float(squares.sum()))
    return total if math.isfinite(total) else math.inf


def spectral_norms(network: DeepNetwork) -> tuple[float, ...]:
    """||W^(1)||, ..., ||W^(H)||."""
    return tuple(float(np.linalg.norm(W, 2)) for W in network.weights)


def _forward_bounds(network: DeepNetwork, sizes: Array, omega: list[float], L: float) -> _Up:
    root = math.sqrt(network.geometry.window)
    up = _Up([sizes], [np.zeros_like(sizes)], [])
    for h, kappa in enumerate(network.scales):
        below, moved = up.xi[-1], up.dx[-1]
        constant = abs(float(network.activation(0.0))) * math.sqrt(
            len(network.weights[h]) * network.geometry.pixels
        )
        up.dz.append(root * (omega[h] * moved + below))
        skip = float(network.skips[h])
        up.dx.append(kappa * L * up.dz[-1] + skip * moved)
        up.xi.append(kappa * (constant + L * omega[h] * root * below) + skip * below)
    return up


def _backward_squares(
    network: DeepNetwork, up: _Up, omega: list[float], slopes: tuple[float, float], radius: float
) -> Array:
    """The sum over layers of T_h^2, per sample."""
    (L, beta), root = slopes, math.sqrt(network.geometry.window)
    p = np.full_like(up.xi[0], np.linalg.norm(network.head) + radius)
    dp = np.ones_like(p)
    total = np.zeros_like(p)
    for h in reversed(range(network.depth)):
        kappa, skip = network.scales[h], float(network.skips[h])
        q, dq = L * p, beta * up.dz[h] * p + L * dp
        total += (kappa * root * (dq * up.xi[h] + q * up.dx[h])) ** 2
        p, dp = (
            kappa * root * omega[h] * q + skip * p,
            kappa * root * (omega[h] * dq + q) + skip * dp,
        )
    return total


class DeepDescent(NamedTuple):
    """What theorem DS says at these weights, in floats.

    Attributes
    ----------
    holds : whether Lam t < a and ||r|| <= a t - Lam t^2/2: gradient descent with `step_size`
        reaches zero loss within `radius`.
    residual : ||r||.
    smallest, largest : a and b, the extreme singular values of the Jacobian.
    lipschitz : Lam on the ball of that radius.
    radius : t, or infinity if no radius is large enough for its own Lam.
    step_size : eta = 1/(b + Lam t)^2.
    rate : eta alpha^2 with alpha = a - Lam t, so that ||r_k|| <= (1 - rate)^k ||r||.
    """

    holds: bool
    residual: float
    smallest: float
    largest: float
    lipschitz: float
    radius: float
    step_size: float
    rate: float


@states("DU-CERT-S")
def estimate_deep_descent(network: DeepNetwork, X: ArrayLike, y: ArrayLike) -> DeepDescent:
    """Whether theorem DS can be expected to hold at these weights; best asked at a late iterate,
    where ||r|| is small.
    """
    passed = network.forward(X)
    r = deep_passes.outputs(network, passed) - np.asarray(y, dtype=np.float64)
    spectrum = np.linalg.eigvalsh(sum(deep_passes.layer_grams(network, passed)))
    noise = len(r) * float(np.finfo(np.float64).eps) * float(spectrum[-1])
    a = math.sqrt(spectrum[0]) if spectrum[0] > noise else 0.0
    b, size = math.sqrt(max(float(spectrum[-1]), 0.0)), float(np.linalg.norm(r))
    t, Lam = _radius(network, X, size, a)
    if not math.isfinite(t) or Lam * t >= a:
        return DeepDescent(False, size, a, b, Lam, math.inf, 0.0, 0.0)
    eta = 1.0 / (b + Lam * t) ** 2
    return DeepDescent(
        size <= a * t - Lam * t**2 / 2, size, a, b, Lam, t, eta, eta * (a - Lam * t) ** 2
    )


def _radius(network: DeepNetwork, X: ArrayLike, residual: float, a: float) -> tuple[float, float]:
    """The smallest t with a t - Lam(t) t^2/2 >= ||r||, inflated, and Lam there; t is infinite if
    there is none.
    """
    norms = spectral_norms(network)
    t, Lam = 0.0, deep_jacobian_lipschitz(network, X, 0.0, norms=norms)
    for _ in range(ROUNDS):
        gap = a**2 - 2.0 * Lam * residual
        if a == 0.0 or not gap > 0.0:
            return math.inf, Lam
        wanted = 2.0 * residual / (a + math.sqrt(gap)) * (1.0 + MARGIN)
        if wanted <= t:
            break
        t = wanted * (1.0 + MARGIN)
        Lam = deep_jacobian_lipschitz(network, X, t, norms=norms)
    return t, Lam

r"""Lipschitz constant of the Jacobian of a deep smooth network on a ball of weights, and the
descent test on it (theorem DS): one constant for training, theory and the claim deep-descent.

The recursion carries, for each sample, bounds xi of a feature, P of the largest entry of a
back-propagated vector and Q of phi'(z) o p, and the Lipschitz constants dx, dz, dp, dq of feature,
pre-activation and these two in the weights. Norms at the weights themselves are measured once;
only what the ball adds is bounded. Floats: estimates of true bounds; the checker proves.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from globalmin._types import Array, ArrayLike
from globalmin.activations.suprema import float_above
from globalmin.deep import passes as deep_passes
from globalmin.errors import DataError
from globalmin.references import states

if TYPE_CHECKING:
    from globalmin.deep.network import DeepNetwork
    from globalmin.deep.passes import Forward


# of the iteration t -> radius needed with Lam(t); it rises to its limit geometrically when it has
# one
ROUNDS = 200
# relative room between a claimed number and the inequality it enters; ties are never accepted
MARGIN = 1e-9
GROWTH = 1e-4  # by which a radius that is too small is enlarged beyond the one asked for
ROUNDING = 1e-6  # by which Lam is enlarged, far above the rounding of its recursion


@dataclass(frozen=True)
class JacobianBound:
    """Lam as a function of the radius, from what was measured at the weights: per sample the norms
    of the features x^(0..H) and of Q^(1..H), the largest entries of p^(1..H), and the norms of the
    weight matrices.
    """

    network: DeepNetwork
    omega: Array = field(repr=False)
    features: tuple[Array, ...] = field(repr=False)
    slopes: tuple[Array, ...] = field(repr=False)
    largest: tuple[Array, ...] = field(repr=False)

    @classmethod
    def of(
        cls, network: DeepNetwork, passed: Forward, omega: ArrayLike | None = None
    ) -> JacobianBound:
        """Measure at a forward pass; `omega` are (bounds of) the spectral norms of the weights, if
        they are at hand.
        """
        Q = deep_passes.backward(network, passed)
        p = np.broadcast_to(network.head_matrix.T, passed.features[-1].shape)
        largest = [np.abs(p).max(axis=(1, 2))]
        for h in reversed(range(1, network.depth)):
            pulled = network.scales[h] * network.geometry.fold(Q[h] @ network.weights[h])
            p = p + pulled if network.skips[h] else pulled
            largest.append(np.abs(p).max(axis=(1, 2)))
        norms = spectral_norms(network) if omega is None else omega
        return cls(
            network,
            np.asarray(norms, dtype=np.float64),
            tuple(map(_norms, passed.features)),
            tuple(map(_norms, Q)),
            tuple(reversed(largest)),
        )

    @states("DU-CERT-S")
    def at(self, t: float) -> float:
        """Lam on the ball of radius t: Lam^2 = sum over samples of dx_H^2 + sum over layers of
        T_h^2; infinite where sigma or sigma' has no Lipschitz constant.
        """
        phi = self.network.activation
        if not (math.isfinite(phi.supremum(1)) and math.isfinite(phi.supremum(2))):
            return math.inf
        L, beta = float_above(phi.supremum(1)), float_above(phi.supremum(2))
        with np.errstate(over="ignore", invalid="ignore"):
            xi, dx, dz = self._up(t, L)
            squares = dx[-1] ** 2 + self._down(t, (L, beta), xi, dx, dz)
            total = math.sqrt(float(squares.sum()))
        return total if math.isfinite(total) else math.inf

    def _up(self, t: float, L: float) -> tuple[list[Array], list[Array], list[Array]]:
        net, width = self.network, math.sqrt(overlap(self.network))
        xi, dx, dz = [self.features[0]], [np.zeros_like(self.features[0])], []
        for h, s in enumerate(net.scales):
            dz.append(width * ((self.omega[h] + t) * dx[h] + xi[h]))
            dx.append(s * L * dz[h] + (dx[h] if net.skips[h] else 0.0))
            xi.append(self.features[h + 1] + t * dx[h + 1])
        return xi, dx, dz

    def _down(
        self,
        t: float,
        slopes: tuple[float, float],
        xi: list[Array],
        dx: list[Array],
        dz: list[Array],
    ) -> Array:
        (L, beta), net, width = slopes, self.network, math.sqrt(overlap(self.network))
        total, dp = np.zeros_like(xi[0]), np.ones_like(xi[0])
        for h in reversed(range(net.depth)):
            s = net.scales[h]
            dq = beta * dz[h] * (self.largest[h] + t * dp) + L * dp
            q = self.slopes[h] + t * dq
            total += (s * width * (dq * xi[h] + q * dx[h])) ** 2
            dp = s * width * ((self.omega[h] + t) * dq + q) + (dp if net.skips[h] else 0.0)
        return total


def _norms(x: Array) -> Array:
    return np.sqrt((x * x).sum(axis=(1, 2)))


def overlap(network: DeepNetwork) -> int:
    """The largest number of windows that one pixel is in: ||phi(x)||^2 <= overlap ||x||^2."""
    if network.geometry.window == 1:
        return 1
    return int(
        np.bincount(network.geometry.table.ravel(), minlength=network.geometry.pixels)[
            : network.geometry.pixels
        ].max()
    )


def spectral_norms(network: DeepNetwork) -> tuple[float, ...]:
    """||W^(1)||, ..., ||W^(H)||."""
    return tuple(float(np.linalg.norm(W, 2)) for W in network.weights)


@states("DU-CERT-S")
def deep_jacobian_lipschitz(
    network: DeepNetwork, X: ArrayLike, radius: float, *, norms: ArrayLike | None = None
) -> float:
    r"""Lam with $\|J(\theta') - J(\theta)\| \le \mathrm{Lam}\,\|\theta' - \theta\|$ on the ball
    around the weights, the constant that the claim deep-descent proves.

    Parameters
    ----------
    network : DeepNetwork
        With a Lipschitz sigma'; with a kink the answer is `math.inf`.
    X : ArrayLike
        Its inputs.
    radius : float
        Of the ball, in the Euclidean norm of all parameters.
    norms : ArrayLike | None
        Spectral norms of the weight matrices, if they are at hand.

    Theory
    ------
    Theorem DS (replaces DU-CERT-S), `spec/claims/deep-descent.md`.
    """
    if not 0.0 <= radius < math.inf:
        raise DataError(f"radius={radius!r} must be a number >= 0")
    return JacobianBound.of(network, network.forward(X), norms).at(radius)


class Radius(NamedTuple):
    """A radius t, Lam on the ball of that radius, and whether Lam t < a and ||r|| <= a t - Lam
    t^2/2.
    """

    t: float
    Lam: float
    holds: bool


def smallest_radius(bound: JacobianBound, a2: float, residual: float) -> Radius:
    """The root t of ||r|| = a t - Lam t^2/2, raised until Lam at the new t asks for no more;
    `holds` is False, with the last Lam tried, if there is none.
    """
    a2, g = a2 * (1.0 - MARGIN), max(residual, 2.0**-500) * (1.0 + MARGIN)
    t, Lam = 0.0, 0.0
    for _ in range(ROUNDS):
        Lam = bound.at(t) * (1.0 + ROUNDING)
        rest = a2 - 2.0 * Lam * g
        if not rest > 0.0:
            break
        needed = 2.0 * g / (math.sqrt(a2) + math.sqrt(rest)) * (1.0 + MARGIN)
        if needed <= t and Lam * t < math.sqrt(a2):
            return Radius(t, Lam, True)
        t = needed * (1.0 + GROWTH)
    return Radius(math.inf, Lam, False)


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
    """Whether theorem DS can be expected to hold at these weights, with the numbers that the claim
    deep-descent would prove; best asked at a late iterate, where ||r|| is small.
    """
    passed = network.forward(X)
    r = deep_passes.outputs(network, passed) - np.asarray(y, dtype=np.float64)
    spectrum = np.linalg.eigvalsh(sum(deep_passes.layer_grams(network, passed)))
    noise = len(r) * float(np.finfo(np.float64).eps) * float(spectrum[-1])
    a = math.sqrt(spectrum[0]) if spectrum[0] > noise else 0.0
    b, size = math.sqrt(max(float(spectrum[-1]), 0.0)), float(np.linalg.norm(r))
    t, Lam, holds = smallest_radius(JacobianBound.of(network, passed), a * a, size)
    if not holds:
        return DeepDescent(False, size, a, b, Lam, math.inf, 0.0, 0.0)
    eta = 1.0 / (b + Lam * t) ** 2
    return DeepDescent(True, size, a, b, Lam, t, eta, eta * (a - Lam * t) ** 2)

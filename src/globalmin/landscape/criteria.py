r"""The criteria by which a point is told: how far its loss is above the least one, what gradient
and curvature alone promise of it, and how negative a curvature must be before it tells a saddle
from a minimum.

Excess, from above: by duality for quadratic networks, by completing the square for quadratic
polynomials, by Newton's theorem where zero loss is near, by the loss floor and by zero for all.

Curvature, at weights that are only nearly stationary. Let $\|\nabla L\| \le \epsilon$,
$u^T\nabla^2L\,u = -\gamma < 0$ for a unit vector u, and let the Hessian be $\rho$-Lipschitz on the
ball of radius $2\epsilon/\gamma$. Along the line, $\psi(t) = L(\theta + tu)$ has $|\psi'(0)| \le
\epsilon$, $\psi''(0) = -\gamma$ and $|\psi''(t) - \psi''(0)| \le \rho|t|$.

- If $\gamma^2 > 2\rho\epsilon$, Newton's method on $\psi'$ converges (Kantorovich: $h =
  \rho\epsilon/\gamma^2 < 1/2$) to a point within $2\epsilon/\gamma < \gamma/\rho$, where still
  $\psi'' < 0$: along u the loss is stationary there and curves downwards.
- If $\gamma^2 \le 2\rho\epsilon$, a gradient of size $\epsilon$ explains the curvature: $\psi(t) =
  \rho(t - \delta)^3/6$ with $\delta = \gamma/\rho$ has $\psi'(0) = \gamma^2/2\rho \le \epsilon$ and
  curvature 0 at its only stationary point.

So $\sqrt{2\rho\epsilon}$ is the bend that a gradient of size $\epsilon$ allows; below it, or below
the rounding error of the eigenvalue, a negative number says nothing. A least eigenvalue above it
makes the stationary point nearby a strict minimum, by the same theorem for the gradient itself. All
in floats: the certificates prove.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from globalmin._options import Trained
from globalmin._types import Array
from globalmin.data.degeneracy import Degeneracy
from globalmin.errors import HypothesisError
from globalmin.linalg.spectrum import rounding_shift
from globalmin.linalg.symmetric import design_matrix, head_counts, unsvec
from globalmin.quadratic.approximate import estimate_mixed_excess, estimate_planted_excess
from globalmin.quadratic.duality import estimate_span_gap, positive_dual
from globalmin.quadratic.general_activation import estimate_general_gap
from globalmin.references import states
from globalmin.shallow import hessian
from globalmin.shallow.complete_square import is_quadratic
from globalmin.shallow.lipschitz import (
    estimate_hessian_lipschitz,
    estimate_hessian_lipschitz_both_layers,
)
from globalmin.shallow.network import ShallowNetwork, residual
from globalmin.shallow.provability import estimate_provability

if TYPE_CHECKING:
    Direction = tuple[Array, Array | None]


LARGEST_PROVABLE = 3_000  # largest n of the n x n provability test
LARGEST_DESIGN = 20_000_000  # n d^2 up to which least squares over all matrices are solved


class Excess(NamedTuple):
    """A bound of loss minus the least loss of the class, in floats, and why; None where only "no
    loss is below zero" is known.
    """

    gap: float | None
    reason: str


@states("SJL-T2.1", "SJL-T2.2k", "GKZ-C2.2")
def estimate_excess(network: ShallowNetwork, X: Array, y: Array, trained: Trained) -> Excess:
    """The bound of the theorem that fits the activation and the trained layers."""
    r = residual(network, X, y)
    if network.activation.name == "quadratic":
        return _quadratic(network, X, y, r, trained)
    if is_quadratic(network.activation):
        gap = estimate_general_gap(network, X, r, trained=trained)
        return Excess(
            gap,
            "least squares over all functions of such networks, completed to squares on (x, 1) "
            "(theorem S)",
        )
    if X.shape[0] <= LARGEST_PROVABLE and estimate_provability(network, X, y, trained) < 1.0:
        return Excess(0.5 * float(r @ r), "zero loss can be proved near this point (OS-C2)")
    floor = float(Degeneracy(X, y).loss_floor(network.activation).floor)
    if floor > 0.0:
        return Excess(
            max(0.5 * float(r @ r) - floor, 0.0),
            f"no network with this activation is below the loss floor {floor:.6g}",
        )
    return Excess(None, "no loss is below zero")


def _quadratic(network: ShallowNetwork, X: Array, y: Array, r: Array, trained: Trained) -> Excess:
    plus, minus = head_counts(network.v)
    if trained == "W" and not (plus and minus):
        sign = -1.0 if minus else 1.0
        bound = positive_dual(X, sign * y, sign * r).value
        return Excess(
            0.5 * float(r @ r) - bound, "dual bound over all heads of this sign (theorem P)"
        )
    return Excess(estimate_span_gap(X, r), "least squares over all quadratic functions (theorem S)")


class Promise(NamedTuple):
    """What a theorem says of the loss from the gradient norm and the least eigenvalue alone, in
    floats, and the theorem with its numbers.
    """

    loss: float
    reason: str


@states("SJL-T2.1q", "SJL-T2.2a")
def estimate_promise(
    network: ShallowNetwork, X: Array, y: Array, *, gap: float | None, curvature: float
) -> Promise | None:
    r"""The loss that every point with this gradient norm and least eigenvalue has at most; None
    where neither theorem speaks.

    Parameters
    ----------
    network, X, y : a quadratic network of which W is trained, and the data.
    gap : loss above the least one, from which the least one is known (mixed heads).
    curvature : $\epsilon_H \ge 0$ with Hessian $\ge -\epsilon_HI$.
    """
    if network.activation.name != "quadratic":
        return None
    plus, minus = head_counts(network.v)
    d = X.shape[1]
    rounding = hessian.gradient_rounding(network, X, y, trained="W")
    gradient = hessian.gradient_norm(network, X, y) + rounding
    if min(plus, minus) > d and gap is not None and X.shape[0] * d**2 <= LARGEST_DESIGN:
        return _mixed_promise(network, X, y, gap=gap, gradient=gradient, curvature=curvature)
    sign = 1.0 if plus else -1.0
    is_planted_case = (network.v == network.v[0]).all() and network.v[0] != 0.0
    if is_planted_case and network.width > d and (sign * y >= 0.0).all() and y.any():
        return _planted_promise(network, X, sign * y, gradient, curvature)
    return None


def _mixed_promise(
    network: ShallowNetwork, X: Array, y: Array, *, gap: float, gradient: float, curvature: float
) -> Promise:
    r = residual(network, X, y)
    least = max(0.5 * float(r @ r) - gap, 0.0)
    solution = np.asarray(np.linalg.lstsq(design_matrix(X), y, rcond=None)[0], dtype=np.float64)
    excess = estimate_mixed_excess(
        network.W,
        network.v,
        gradient_norm=gradient,
        negative_curvature=curvature,
        nuclear_norm=float(np.abs(np.linalg.eigvalsh(unsvec(solution))).sum()),
    )
    return Promise(
        least + excess,
        f"loss at most {least + excess:.6g}, the least one {least:.6g} and {excess:.3g}, from the "
        f"gradient {gradient:.3g} and curvatures above {-curvature:.3g} (SJL-T2.1q)",
    )


def _planted_promise(
    network: ShallowNetwork, X: Array, y: Array, gradient: float, curvature: float
) -> Promise | None:
    try:
        found = estimate_planted_excess(
            X,
            y,
            head=abs(float(network.v[0])),
            gradient_norm=gradient,
            negative_curvature=curvature,
            weight_norm=float(np.linalg.norm(network.W)),
        )
    except HypothesisError:  # X without full column rank
        return None
    if found.loss < 0.5 * float(np.sum((np.abs(network.predict(X)) - y) ** 2)):
        return None  # the labels are not planted
    return Promise(
        found.loss,
        f"if the labels are planted, loss at most {found.loss:.3g} from the gradient "
        f"{gradient:.3g} and curvatures above {-curvature:.3g} (SJL-T2.2a)",
    )


LARGEST_RADIUS = 1e60  # fourth powers stay finite
SMALLEST_STEP = 1e-4  # of difference quotients: rounding is far below the differences


@dataclass(frozen=True)
class CurvatureThreshold:
    r"""The numbers a curvature is compared with.

    Attributes
    ----------
    rounding : error of the curvature in floats.
    gradient : $\epsilon$, the norm of the gradient and its rounding.
    lipschitz : $\rho$ on the ball that the comparison speaks of.
    """

    rounding: float
    gradient: float
    lipschitz: float

    @property
    def bend(self) -> float:
        r"""$\sqrt{2\rho\epsilon}$, what a gradient of size $\epsilon$ can make of a curvature of
        zero.
        """
        return math.sqrt(2.0 * self.lipschitz * self.gradient) if self.gradient > 0.0 else 0.0

    @property
    def largest(self) -> float:
        """Curvatures of at most this size have no certain sign at the stationary point nearby."""
        return max(self.rounding, self.bend)


@states("DU-D7.5")
def curvature_threshold(
    network: ShallowNetwork,
    X: Array,
    y: Array,
    curvature: float,
    *,
    trained: Trained,
    rounding: float,
    direction: Direction,
) -> CurvatureThreshold:
    r"""What a curvature of this size must exceed.

    Parameters
    ----------
    network, X, y : weights and data.
    curvature : $\pm\gamma$, which sets the radius $2\epsilon/\gamma$ of the ball.
    trained : "W" or "vW".
    rounding : error of the curvature in floats, see `eigenvalue_rounding`.
    direction : the unit vector u as (U, u). Where the activation has no bounds, $\rho$ is an
        estimate: four times the largest difference quotient of the curvature along it.
    """
    epsilon = hessian.gradient_norm(network, X, y, trained=trained) + hessian.gradient_rounding(
        network, X, y, trained=trained
    )
    radius = 2.0 * epsilon / abs(curvature) if curvature != 0.0 else math.inf
    rho = _lipschitz(network, X, y, radius, trained)
    if math.isinf(rho) and radius < LARGEST_RADIUS:
        rho = _estimated_slope(network, X, y, radius, direction)
    return CurvatureThreshold(rounding, epsilon, rho)


@np.errstate(over="ignore", invalid="ignore")
def _lipschitz(network: ShallowNetwork, X: Array, y: Array, R: float, trained: Trained) -> float:
    """The Lipschitz constant of the Hessian on the ball of radius R; infinite for a ball without
    bound.
    """
    if not R < LARGEST_RADIUS:
        return math.inf
    if trained == "vW":
        found = estimate_hessian_lipschitz_both_layers(network, X, y, R)
    else:
        found = estimate_hessian_lipschitz(network, X, y, R, level="spectral")
    return found if math.isfinite(found) else math.inf


@np.errstate(over="ignore", invalid="ignore")
def _estimated_slope(
    network: ShallowNetwork, X: Array, y: Array, R: float, direction: Direction
) -> float:
    U, u = direction
    here, reach = hessian.curvature_along(network, X, y, U, u), max(R, SMALLEST_STEP)
    quotients = []
    for t in (-reach, -reach / 2, reach / 2, reach):
        there = network.with_weights(network.W + t * U, None if u is None else network.v + t * u)
        quotients.append(abs(hessian.curvature_along(there, X, y, U, u) - here) / abs(t))
    steepest = 4.0 * max(quotients)
    return steepest if math.isfinite(steepest) else math.inf


def eigenvalue_rounding(network: ShallowNetwork, X: Array, y: Array, H: Array) -> float:
    """Error of an eigenvalue of the dense Hessian: of its entries and of the eigenvalue routine."""
    return rounding_shift(H) + hessian.hessian_rounding(network, X, y)

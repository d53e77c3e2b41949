"""What the claim second-order-stationary says of a ball around the weights: epsilon with a proved
rho, and a minimum nearby.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from globalmin._options import Trained
from globalmin._types import Array
from globalmin.linalg.positive_definite import EPS
from globalmin.proving.claim import Json, Tensor, rational
from globalmin.shallow.claims.hessian_ball import (
    HessianBall,
    estimate_hessian_lipschitz,
    hessian_ball,
    largest_below,
)
from globalmin.shallow.claims.measured_point import strict_witness

if TYPE_CHECKING:
    from globalmin.shallow.network import ShallowNetwork

    Found = tuple[dict[str, Json], dict[str, Tensor], dict[str, float]]

_SHARE = 0.01  # of the norm of the weights: the radius where no minimum is claimed
_MARGINS = (1e-9, 1e-6, 1e-3)
_SHRINKINGS = 30


@dataclass(frozen=True)
class Around:
    """The point: network, data, what is trained, and the proved tolerances eps and delta."""

    network: ShallowNetwork
    X: Array
    y: Array
    trained: Trained
    eps: float
    delta: float

    def ball(self, R: float) -> HessianBall | None:
        """The Lipschitz constant of the Hessian on the ball of radius R with its witnesses."""
        try:
            return hessian_ball(self.network, self.X, self.y, R, self.trained)
        except (np.linalg.LinAlgError, FloatingPointError):
            return None

    def estimate(self, R: float) -> float:
        """The same constant in floats."""
        return estimate_hessian_lipschitz(self.network, self.X, self.y, R, self.trained)


def surroundings(
    around: Around, H: Array | None, noise: float, *, radius: float | None
) -> Found | None:
    """Fields of the object `radius`, tensors and summary; None if nothing is asked for or the
    numbers leave the doubles.
    """
    if radius == 0.0:
        return None
    found = _with_minimum(around, H, noise, radius) if H is not None else None
    if found is not None:
        return found
    size = math.hypot(
        float(np.linalg.norm(around.network.W)), float(np.linalg.norm(around.network.v))
    )
    ball = around.ball(radius or _SHARE * size or 1.0)
    return None if ball is None else _described(ball, around)


def _described(ball: HessianBall, around: Around) -> Found | None:
    r"""The least epsilon = max(eps, delta^2/Lam), a little above."""
    Lam = math.sqrt(ball.lip_square)
    epsilon = max(around.eps, around.delta**2 / Lam) * (1.0 + 1e-12) if Lam > 0 else math.inf
    if (
        not math.isfinite(epsilon)
        or Fraction(around.delta) ** 4 > ball.lip_square * Fraction(epsilon) ** 2
    ):
        return None
    fields = {**ball.fields, "epsilon": rational(epsilon)}
    return fields, dict(ball.tensors), {"radius": ball.R, "rho": Lam, "epsilon": epsilon}


def _with_minimum(around: Around, H: Array, noise: float, radius: float | None) -> Found | None:
    """The largest ball with one critical point, a minimum; a smaller ball where the constant of the
    largest is too big.
    """
    witness = _curvature_below(H, noise)
    if witness is None:
        return None
    mu, C = witness
    R = (
        largest_below(lambda R: R * around.estimate(R), mu * (1.0 - 1e-5))
        if radius is None
        else radius
    )
    for _ in range(_SHRINKINGS if radius is None else 1):
        ball = around.ball(R) if R > 0 else None
        distance = None if ball is None else _distance(mu, around.eps, ball)
        described = None if ball is None or distance is None else _described(ball, around)
        if described is not None and distance is not None:
            fields, tensors, summary = described
            minimum: Json = {"mu": rational(mu), "distance": rational(distance)}
            more = {"mu": mu, "distance": distance}
            return {**fields, "minimum": minimum}, tensors | {"C_mu": C}, summary | more
        R /= 2.0
    return None


def _curvature_below(H: Array, noise: float) -> tuple[float, Array] | None:
    """A number mu > 0 with H > mu I and the factor that proves it."""
    spectrum = np.linalg.eigvalsh(H)
    low, size = float(spectrum[0]), float(np.abs(spectrum).max())
    for margin in _MARGINS:
        mu = low * (1.0 - margin) - margin * 1e-3 * size - 40.0 * noise
        C = strict_witness(H - mu * np.eye(len(H)), noise + EPS * size) if mu > 0 else None
        if C is not None:
            return mu, C
    return None


def _distance(mu: float, eps: float, ball: HessianBall) -> float | None:
    """D with mu D - Lam D^2/2 > eps, just above the smallest, at most R; None if there is none or
    Lam R >= mu.
    """
    Lam, square = math.sqrt(ball.lip_square), ball.lip_square
    if square * Fraction(ball.R) ** 2 >= Fraction(mu) ** 2 or 2.0 * Lam * eps >= mu**2:
        return None
    D = 2.0 * eps / (mu + math.sqrt(mu**2 - 2.0 * Lam * eps)) * (1.0 + 1e-6)
    room = Fraction(mu) * Fraction(D) - Fraction(eps)
    fits = 0 < D <= ball.R and room > 0 and square * Fraction(D) ** 4 < 4 * room**2
    return D if fits else None

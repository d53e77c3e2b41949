"""What second-order-stationary may add about a ball around the weights: epsilon with rho = Lam, and
the minimum nearby (SO).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from globalmin_check.balls import decimal_down, decimal_up, lower_float, upper_float
from globalmin_check.canonical import Fields
from globalmin_check.checks import Checks, ExactChecks
from globalmin_check.claims.hessian import Curve
from globalmin_check.claims.neighborhood import (
    Neighborhood,
    read_neighborhood,
    require_constants,
    require_signs,
)
from globalmin_check.container import Tensor, Tensors
from globalmin_check.positive import require_positive_definite
from globalmin_check.primitives import shifted
from globalmin_check.verdict import Malformed


@dataclass(frozen=True)
class Minimum:
    """The optional object `minimum`: hess L >= mu I at the stored weights, and how far the critical
    point may be.
    """

    mu: Fraction
    distance: Fraction
    C_mu: Tensor


@dataclass(frozen=True)
class Surroundings:
    """The object `radius`: the Lipschitz constant of the Hessian on a ball, epsilon, and the
    optional minimum.
    """

    near: Neighborhood
    epsilon: Fraction
    minimum: Minimum | None

    @property
    def rho(self) -> Fraction:
        """A rational at least Lam, from the exact square."""
        bits = 2**128
        return Fraction(math.isqrt(math.ceil(max(self.near.lip_square, 0) * bits * bits)) + 1, bits)


def read_surroundings(fields: Fields, tensors: Tensors, d: int, both: bool, p: int) -> Surroundings:
    """Take the object `radius` and its tensors; p = 0 where the Hessian is not formed."""
    outer = Fields(fields.take("radius"), f"{fields.where}.radius")
    near, epsilon, minimum = (
        read_neighborhood(outer, tensors, d, both),
        outer.rational("epsilon"),
        None,
    )
    if outer.has("minimum"):
        inner = Fields(outer.take("minimum"), f"{outer.where}.minimum")
        if not p:
            raise Malformed(f"{inner.where} is for the dense method only")
        minimum = Minimum(
            inner.rational("mu"), inner.rational("distance"), tensors.take("C_mu", "F64", p, p)
        )
        inner.end()
    outer.end()
    return Surroundings(near, epsilon, minimum)


def require_exact_surroundings(
    checks: ExactChecks, claim: Surroundings, eps: Fraction, delta: Fraction
) -> None:
    """Checks 7, 10 and 11. Lam^2 = lam kappa is rational, so all but the witnesses are decided
    exactly.
    """
    square, R = claim.near.lip_square, claim.near.R
    require_signs(checks, "T", claim.near)
    checks.require("T10a", "eps <= epsilon", eps, "<=", claim.epsilon)
    checks.require("T10b", "delta^4 <= Lam^2 epsilon^2", delta**4, "<=", square * claim.epsilon**2)
    if claim.minimum is None:
        return
    mu, D = claim.minimum.mu, claim.minimum.distance
    checks.require_sign("T11a", "mu > 0", mu)
    checks.require_sign("T11b", "distance > 0", D)
    checks.require("T11c", "distance <= R", D, "<=", R)
    checks.require("T11d", "Lam^2 R^2 < mu^2", square * R**2, "<", mu**2)
    checks.require("T11e", "eps < mu distance", eps, "<", mu * D)
    checks.require(
        "T11f",
        "Lam^2 distance^4 < 4 (mu distance - eps)^2",
        square * D**4,
        "<",
        4 * (mu * D - eps) ** 2,
    )


def require_surroundings(checks: Checks, claim: Surroundings, curve: Curve) -> None:
    """Checks 8, 9 and 12: the witnesses."""
    if claim.minimum is not None:
        matrix = shifted(curve.matrix(), 1, -claim.minimum.mu)
        require_positive_definite(checks, "T12", "H - mu I", matrix, claim.minimum.C_mu)
    require_constants(checks, "T", claim.near, curve)


def surroundings_numbers(claim: Surroundings) -> dict[str, float]:
    """What was verified about the ball."""
    numbers = {
        "radius": lower_float(claim.near.R),
        "rho": upper_float(claim.rho),
        "epsilon": upper_float(claim.epsilon),
    }
    if claim.minimum is not None:
        numbers |= {
            "mu": lower_float(claim.minimum.mu),
            "distance": upper_float(claim.minimum.distance),
        }
    return numbers


def sentences(claim: Surroundings, eps: Fraction) -> str:
    """The conclusions about the ball, in words."""
    R = decimal_down(claim.near.R)
    text = (
        f"Within {R} of them the Hessian is Lipschitz with the constant rho = "
        f"{decimal_up(claim.rho)}, and for this rho they are epsilon-second-order stationary with "
        f"epsilon = {decimal_up(claim.epsilon)}: gradient at most epsilon, no second derivative "
        "below -sqrt(rho epsilon). "
    )
    if claim.minimum is None:
        return text
    return text + (
        f"A strict local minimum lies at most {decimal_up(claim.minimum.distance)} away, with a "
        "loss lower by at most "
        f"{decimal_up(eps * claim.minimum.distance)}, and no other critical point within {R}. "
    )

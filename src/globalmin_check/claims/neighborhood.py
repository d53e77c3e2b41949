"""The Lipschitz constant of the Hessian on a ball, as strict-saddle and second-order-stationary
claim and prove it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from globalmin_check.canonical import Fields
from globalmin_check.checks import Checks, ExactChecks
from globalmin_check.claims.hessian import Curve
from globalmin_check.claims.smooth import read_quartic
from globalmin_check.container import Tensor, Tensors
from globalmin_check.positive import require_positive_definite
from globalmin_check.primitives import quartic_matrix, shifted, weighted_gram


@dataclass(frozen=True)
class Neighborhood:
    """R and the two factors of Lam^2 = lam kappa on the ball of radius R; for both layers lam =
    kappa = Lip, without tensors.
    """

    R: Fraction
    lam: Fraction
    kappa: Fraction
    t: Fraction | None
    C_lam: Tensor | None
    C_kappa: Tensor | None

    @property
    def lip_square(self) -> Fraction:
        """Lam^2."""
        return self.lam * self.kappa

    @property
    def size(self) -> int:
        """Order of the factor of the quartic form."""
        return 0 if self.C_kappa is None else self.C_kappa.shape[0]


def read_neighborhood(outer: Fields, tensors: Tensors, d: int, both: bool) -> Neighborhood:
    """R and the constants of the object `radius`, with their tensors; other fields of the object
    are left to the claim.
    """
    R = outer.rational("R")
    if both:
        Lip = outer.rational("Lip")
        return Neighborhood(R, Lip, Lip, None, None, None)
    lam = outer.rational("lam")
    kappa, t, size = read_quartic(outer, d)
    return Neighborhood(
        R,
        lam,
        kappa,
        t,
        tensors.take("C_lam", "F64", d, d),
        tensors.take("C_kappa", "F64", size, size),
    )


def require_signs(checks: ExactChecks, letter: str, claim: Neighborhood) -> None:
    """Checks 7a to 7c."""
    checks.require_sign(f"{letter}7a", "R > 0", claim.R)
    if claim.C_lam is None:
        checks.require_sign(f"{letter}7b", "Lip > 0", claim.lam)
        return
    checks.require_sign(f"{letter}7b", "lam > 0", claim.lam)
    checks.require_sign(f"{letter}7c", "kappa > 0", claim.kappa)


def require_constants(checks: Checks, letter: str, claim: Neighborhood, curve: Curve) -> None:
    """Checks 8 and 9: the constants hold on the ball of radius R."""
    if claim.C_lam is None or claim.C_kappa is None:
        constant = curve.lipschitz_of_both(claim.R)
        checks.require(
            f"{letter}8",
            "Lipschitz constant of the Hessian on the ball <= Lip",
            constant,
            "<=",
            claim.lam,
        )
        return
    c = curve.lipschitz_weights(claim.R)
    second = shifted(weighted_gram(curve.columns, c), -1, claim.lam)
    require_positive_definite(
        checks, f"{letter}8", "lam I - sum_i c_i x_i x_i^T", second, claim.C_lam
    )
    quartic = quartic_matrix(curve.tangent.X, c, claim.kappa, claim.t)
    require_positive_definite(
        checks, f"{letter}9", "kappa I - quartic form", quartic, claim.C_kappa
    )

"""What interpolation and descent share: the witness of K >= a^2 I and of the Lipschitz constant
(`spec/claims/primitives.md`).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from flint import arb

from globalmin_check import limits
from globalmin_check.activations import SMOOTH
from globalmin_check.balls import ball
from globalmin_check.canonical import Fields
from globalmin_check.checks import Checks, ExactChecks
from globalmin_check.claims.own_witness import require_without_witness
from globalmin_check.container import Tensor, Tensors
from globalmin_check.network import Tangent
from globalmin_check.positive import require_positive_definite, require_shared
from globalmin_check.primitives import quartic_matrix, shifted, weighted_gram
from globalmin_check.problem import Problem, Sizes


class Linear(Protocol):
    """What the inequalities ask of the stored network, in balls, whoever computed them."""

    def residual(self) -> list[arb]:
        """F - y."""
        ...

    def apply(self, z: list[float]) -> tuple[list[arb], arb]:
        """K z and z^T K z."""
        ...


@dataclass(frozen=True)
class Curvature:
    """The fields and tensors of section 5.1 that prove K >= a^2 I and the Lipschitz constant on the
    ball of radius rho.
    """

    both: bool
    loss_upper: Fraction
    a2: Fraction
    rho: Fraction
    kappa: Fraction
    t: Fraction | None
    beta2: Fraction
    C_a: Tensor | None  # None in version 2
    C_kappa: Tensor
    C_beta: Tensor | None


def read_curvature(
    fields: Fields, tensors: Tensors, sizes: Sizes, *, stored: bool = True
) -> Curvature:
    """Take the shared fields and tensors; without C_a if the witness of K is not stored."""
    both = fields.choice("trained", ("W", "vW")) == "vW"
    kappa, t, size = read_quartic(fields, sizes.d)
    return Curvature(
        both=both,
        loss_upper=fields.rational("loss_upper"),
        a2=fields.rational("a2"),
        rho=fields.rational("rho"),
        kappa=kappa,
        t=t,
        beta2=fields.rational("beta2") if both else Fraction(0),
        C_a=tensors.take("C_a", "F64", sizes.n, sizes.n) if stored else None,
        C_kappa=tensors.take("C_kappa", "F64", size, size),
        C_beta=tensors.take("C_beta", "F64", sizes.d, sizes.d) if both else None,
    )


def read_quartic(
    outer: Fields, d: int, name: str = "quartic"
) -> tuple[Fraction, Fraction | None, int]:
    """Kappa, t (None for the method "rows") and the order of the factor C_kappa, from the object
    `quartic`.
    """
    fields = Fields(outer.take(name), f"{outer.where}.{name}")
    svec = fields.choice("method", ("rows", "svec")) == "svec"
    kappa, t = fields.rational("kappa"), fields.rational("t") if svec else None
    fields.end()
    return kappa, t, d * (d + 1) // 2 if svec else d


def curvature_work(claim: Curvature, sizes: Sizes) -> tuple[int, int]:
    """Ball multiplications and balls held at once."""
    n, d, k = sizes.n, sizes.d, sizes.k
    size = claim.C_kappa.shape[0]
    work = (
        2 * n**3
        + n * n * (2 * k + d)
        + 2 * size**3
        + n * size**2
        + 2 * d**3
        + 6 * n * k * d
        + limits.WORK_PER_VALUE * n * k
    )
    return work, max(3 * n * n, 3 * size**2 + n * size) + 8 * n * k + n * d


def require_domain(checks: ExactChecks, letter: str, claim: Curvature, problem: Problem) -> None:
    """Checks 1 and 2: a smooth activation, and the signs of the claimed numbers."""
    name = problem.activation
    checks.require_fact(
        f"{letter}1", "the activation is smooth", name in SMOOTH, f"the activation is {name}"
    )
    checks.require_sign(f"{letter}2a", "a2 > 0", claim.a2)
    checks.require_sign(f"{letter}2b", "rho >= 0", claim.rho)
    checks.require_sign(f"{letter}2c", "kappa > 0", claim.kappa)
    if claim.both:
        checks.require_sign(f"{letter}2d", "beta2 > 0", claim.beta2)


def lipschitz(claim: Curvature) -> arb:
    """Lip = sqrt(kappa) (LIP-W) or (sqrt(kappa) + sqrt(kappa + 4 beta2))/2 (LIP-VW); beta2 = 0
    makes the two agree.
    """
    return (ball(claim.kappa).sqrt() + ball(claim.kappa + 4 * claim.beta2).sqrt()) / 2


def require_witnesses(
    checks: Checks, numbers: tuple[str, str, str], claim: Curvature, tangent: Tangent
) -> None:
    """The positive definite matrices: kappa (P3), beta2 (P1) and K > a2 I (P1), the cheap ones
    first.
    """
    quartic = quartic_matrix(tangent.X, tangent.curvature_weights(claim.rho), claim.kappa, claim.t)
    require_positive_definite(checks, numbers[0], "kappa I - quartic form", quartic, claim.C_kappa)
    if claim.C_beta is not None:
        columns = [list(map(arb, column)) for column in zip(*tangent.X, strict=True)]
        slopes = shifted(weighted_gram(columns, tangent.slope_weights(claim.rho)), -1, claim.beta2)
        require_positive_definite(
            checks, numbers[1], "beta2 I - X^T diag(s_1)^2 X", slopes, claim.C_beta
        )
    if claim.C_a is None:
        matrix = shifted(tangent.gram(), 1, -claim.a2)
        require_without_witness(checks, numbers[2], "K - a2 I", matrix)
        return
    require_shared(
        checks,
        numbers[2],
        "K - a2 I",
        lambda: shifted(tangent.gram(), 1, -claim.a2),
        claim.C_a,
        of=("K - a2 I", claim.both, claim.a2),
    )

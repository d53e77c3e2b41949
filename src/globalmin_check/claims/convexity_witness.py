"""The positive definite matrices of the claim `unique-minimum`, U10 to U14
(`spec/claims/unique-minimum.md`).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from globalmin_check.balls import ball
from globalmin_check.checks import Checks
from globalmin_check.claims import local_convexity as local
from globalmin_check.claims.hessian import Curve
from globalmin_check.claims.local_convexity import Quartic
from globalmin_check.container import Tensor
from globalmin_check.positive import require_positive_definite
from globalmin_check.primitives import Rows, quartic_matrix, shifted, weighted_gram


@dataclass(frozen=True)
class UniqueMinimum:
    """Fields and tensors of section 5.16; `x` holds the rational fields."""

    form: str
    x: dict[str, Fraction]
    quartic: Quartic
    square: Quartic | None
    C_m: Tensor
    C_M: Tensor
    extra: Tensor | None  # C_lam, C_flat or V


def require_bounds(checks: Checks, claim: UniqueMinimum, curve: Curve) -> None:
    """The positive definite matrices: the Hessian at W between m0 and M0, and the constants of its
    change.
    """
    x, X = claim.x, curve.tangent.X
    sizes = local.local_sizes(curve, x["r"])
    tau, third = x.get("tau", Fraction(0)), None
    if claim.form in ("plain", "split"):
        q = local.cubic_weights(sizes, 3 if claim.form == "plain" else 1)
    else:
        third = local.third_blocks(curve, 3 if claim.form == "tensor" else 1)
        squares = Fraction(3, 2) if claim.form == "tensor" else 1 / tau - Fraction(1, 2)
        q = local.quartic_weights(sizes, squares, 4 if claim.form == "tensor" else 2)
    tilts = (
        local.tilt(third, claim.extra) if claim.form == "mixed" and third and claim.extra else []
    )
    H, blocks = (
        curve.matrix(),
        [curve.block(neuron) for neuron in range(len(curve.tangent.v))] if tau else [],
    )
    lower = shifted(_moved(H, blocks, tilts, -tau, -x["r"]), 1, -x["m0"])
    require_positive_definite(checks, "U10", "lower bound of the Hessian - m0 I", lower, claim.C_m)
    upper = shifted(_moved(H, blocks, tilts, tau, x["r"]), -1, x["M0"])
    require_positive_definite(checks, "U11", "M0 I - upper bound of the Hessian", upper, claim.C_M)
    quartic = quartic_matrix(X, q, claim.quartic.kappa, claim.quartic.t)
    require_positive_definite(checks, "U12", "kappa I - quartic form", quartic, claim.quartic.C)
    if claim.form != "mixed" and claim.extra:
        linear = local.flattened_gram(third) if third else weighted_gram(curve.columns, q)
        constant = shifted(linear, -1, x["flat2" if third else "lam"])
        require_positive_definite(checks, "U13", "linear coefficient", constant, claim.extra)
    if claim.square:
        bends = quartic_matrix(
            X, [top * top for top in sizes.top2], claim.square.kappa, claim.square.t
        )
        require_positive_definite(checks, "U14", "square I - quartic form", bends, claim.square.C)


def _moved(H: Rows, blocks: list[Rows], tilts: list[Rows], tau: Fraction, r: Fraction) -> Rows:
    """(1 + tau) H - tau N + r S, lower triangle; N and S are block diagonal."""
    factor, change, radius = ball(1 + tau), ball(tau), ball(r)
    rows = [[factor * entry for entry in row] for row in H]
    for parts, weight in ((blocks, -change), (tilts, radius)):
        for neuron, part in enumerate(parts):
            d = len(part)
            for a in range(d):
                for b in range(a + 1):
                    rows[neuron * d + a][neuron * d + b] += weight * part[a][b]
    return rows

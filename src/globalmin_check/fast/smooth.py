"""The claims `interpolation` and `descent` in floats: the inequalities are those of the exact
route, with bounds of the fast one put into balls.
"""

from __future__ import annotations

from flint import arb

from globalmin_check.checks import Checks
from globalmin_check.claims import descent, interpolation
from globalmin_check.claims.descent import Descent
from globalmin_check.claims.interpolation import Interpolation
from globalmin_check.claims.kind import Numbers
from globalmin_check.claims.smooth import Curvature
from globalmin_check.fast.definite import Enclosure, prove_above, row_sums_up
from globalmin_check.fast.linearization import Linearization
from globalmin_check.fast.products import Products
from globalmin_check.fast.rounding import float_down, float_up
from globalmin_check.problem import Problem, Sizes


class Prover:
    """Proofs of positive definiteness of one file; equal questions of two claims are asked once."""

    def __init__(self, products: Products) -> None:
        self.products = products
        self._known: dict[tuple, tuple[float, float]] = {}

    def require_above(
        self, checks: Checks, number: str, name: str, A: Enclosure, bound: float, *of: object
    ) -> None:
        """PD-R: the matrix is above `bound` times the identity. `of` says all it is made of, if the
        answer may serve twice.
        """
        key = (*of, bound)
        found = self._known.get(key) if of else None
        if found is None:
            found = prove_above(A, bound, self.products)
            if of:
                self._known[key] = found
        sentence = f"PD-R: row sums of |D ({name}) D - c I - L L^T| < c"
        checks.require(number, sentence, arb(found[0]), "<", arb(found[1]))


def require_witnesses(
    checks: Checks,
    numbers: tuple[str, str, str],
    claim: Curvature,
    tangent: Linearization,
    prover: Prover,
) -> None:
    """The positive definite matrices: kappa (P3), beta2 and K > a2 I."""
    quartic = tangent.minus_quartic(claim.rho, claim.t)
    kappa = -float_down(claim.kappa)
    prover.require_above(checks, numbers[0], "kappa I - quartic form", quartic, kappa)
    if claim.both:
        slopes = tangent.minus_weighted_gram(tangent.X, tangent.slope_weights(claim.rho))
        name = "beta2 I - X^T diag(s_1)^2 X"
        prover.require_above(checks, numbers[1], name, slopes, -float_down(claim.beta2))
    of = ("K", claim.both)
    a2 = float_up(claim.a2)
    prover.require_above(checks, numbers[2], "K - a2 I", tangent.gram(), a2, *of)


def check_interpolation(
    claim: Interpolation, problem: Problem, _: None, checks: Checks, prover: Prover
) -> Numbers:
    """The checks of `interpolation`."""
    tangent = Linearization(problem, claim.curvature.both, prover.products)
    numbers = interpolation.inequalities(claim, problem, checks, tangent)
    require_witnesses(checks, interpolation.WITNESSES, claim.curvature, tangent, prover)
    return numbers


def check_descent(
    claim: Descent, problem: Problem, _: None, checks: Checks, prover: Prover
) -> Numbers:
    """The checks of `descent`."""
    tangent = Linearization(problem, claim.curvature.both, prover.products)
    numbers = descent.inequalities(claim, problem, checks, tangent)
    _require_norm(checks, "D10", tangent, claim, prover)
    require_witnesses(checks, descent.WITNESSES, claim.curvature, tangent, prover)
    return numbers


def _require_norm(
    checks: Checks, number: str, tangent: Linearization, claim: Descent, prover: Prover
) -> None:
    """b2 >= lambda_max(K), by absolute row sums or by PD-R."""
    if claim.by_rows:
        largest = float(row_sums_up(tangent.gram(), prover.products).max())
        checks.require(number, "largest row sum of |K| <= b2", arb(largest), "<=", claim.b2)
        return
    matrix = tangent.gram(sign=-1)
    prover.require_above(checks, number, "b2 I - K", matrix, -float_down(claim.b2))


def needed_bytes(claim: Interpolation | Descent, sizes: Sizes) -> int:
    """Memory at once: the factor, strips, and a few n x k and n x d arrays."""
    n, d, k = sizes.n, sizes.d, sizes.k
    size = d * (d + 1) // 2 if claim.curvature.t is not None else d
    return 8 * n * n + 8 * (12 * 256 * n + 40 * n * k + 12 * n * d + 3 * n * size + 4 * size**2)


def flops(claim: Interpolation | Descent, sizes: Sizes) -> int:
    """Operations in floats, roughly."""
    n, d, k = sizes.n, sizes.d, sizes.k
    size = d * (d + 1) // 2 if claim.curvature.t is not None else d
    return n**3 + 6 * n * n * (k + d) + 40 * n * k * d + 2 * n * size**2 + size**3

"""The claims `dual-gap` and `unused-terms` with the search over cones in floats (section 8 of
`spec/fast-route.md`); all the rest is the code of the exact route, of which only the certainly true
counts.
"""

from __future__ import annotations

from collections.abc import Callable

from globalmin_check import limits
from globalmin_check.balls import precision
from globalmin_check.checks import Checks, ExactChecks
from globalmin_check.claims import dual_gap, unused_terms
from globalmin_check.claims.dual_bound import Certified
from globalmin_check.claims.kind import Numbers
from globalmin_check.claims.regularized_network import form_of
from globalmin_check.fast.cones import cones_hold
from globalmin_check.fast.rounding import NotProved
from globalmin_check.fast.smooth import Prover
from globalmin_check.problem import Problem, Sizes

Claim = dual_gap.DualGap | unused_terms.UnusedTerms


def why_not(claim: Claim, problem: Problem) -> str:
    """Empty if a group of several columns is searched by cones."""
    searched = claim.constraint == "cones" and form_of(problem.sizes).width > 1
    return "" if searched else f"the constraint {claim.constraint} is not proved in floats"


def exact_gap(claim: dual_gap.DualGap, problem: Problem, checks: ExactChecks) -> dual_gap.Objects:
    """Y1 to Y8."""
    return dual_gap.exact(claim, problem, checks, cones_hold)


def check_gap(
    claim: dual_gap.DualGap,
    problem: Problem,
    objects: dual_gap.Objects,
    checks: Checks,
    prover: Prover,
) -> Numbers:
    """Y12 and Y13."""
    return _at_rising_precision(lambda: dual_gap.check(claim, problem, objects, checks), checks)


def exact_unused(
    claim: unused_terms.UnusedTerms, problem: Problem, checks: ExactChecks
) -> Certified:
    """Z1 to Z9."""
    return unused_terms.exact(claim, problem, checks, cones_hold)


def check_unused(
    claim: unused_terms.UnusedTerms,
    problem: Problem,
    found: Certified,
    checks: Checks,
    prover: Prover,
) -> Numbers:
    """Z12 and Z13."""
    return _at_rising_precision(lambda: unused_terms.check(claim, problem, found, checks), checks)


def _at_rising_precision(check: Callable[[], Numbers], checks: Checks) -> Numbers:
    """The checks in balls, which say nothing about floats: all of them anew at every precision, as
    on the exact route.
    """
    before = len(checks.lines)
    for bits in limits.PRECISIONS[:-1]:
        try:
            with precision(bits):
                return check()
        except NotProved:
            del checks.lines[before:]
    with precision(limits.PRECISIONS[-1]):
        return check()


def needed_bytes(claim: Claim, sizes: Sizes) -> int:
    """Memory at once: rows and exact numbers, and the lists of cones."""
    return 1000 * sizes.n * (form_of(sizes).width + 2) + 2**28


def flops(claim: Claim, sizes: Sizes) -> int:
    """Operations in floats before the search, which counts its own."""
    form = form_of(sizes)
    return 100 * form.count * sizes.n * (form.width + 1)

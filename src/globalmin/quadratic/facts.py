"""The theorems of GKZ about quadratic networks on one instance; those of SJL: `facts_landscape`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from globalmin.facts.finding import Finding, Hypothesis, TheoremReport, check, unknown
from globalmin.facts.registry import fact
from globalmin.quadratic.identifiability import critical_samples

if TYPE_CHECKING:
    from globalmin.facts.instance import Instance, Measurements

FULL_RANK_LIMIT = 1_300  # d(d+1)/2 up to which the rank of the products is computed


def quadratic(m: Measurements) -> Hypothesis:
    """The activation is z^2."""
    return check("φ(z) = z²", m.activation.name == "quadratic", f"{m.activation}", is_scope=True)


@fact("GKZ-T2.3", headline=True)
def stationary_theorem(it: Instance) -> TheoremReport:
    """GKZ-T2.3 for the data at hand."""
    m, start = it.m, it.start
    k = start.network.width
    return TheoremReport(
        "GKZ-T2.3",
        "quadratic network with unit head, planted labels: a stationary point of full rank is a "
        "global minimum",
        (
            quadratic(m),
            check("m ≥ d", k >= m.d, f"m = {k}, d = {m.d}"),
            unknown("labels planted by a full-rank network", "not visible in the data"),
        ),
        width=float(m.d),
        instead="the claims below-barrier and optimality-gap",
    )


@fact("GKZ-T2.8", headline=True)
def span_theorem(it: Instance) -> TheoremReport:
    """GKZ-T2.6a, GKZ-T2.8: the products of the features span."""
    m = it.m
    N = critical_samples(m.d)
    return TheoremReport(
        "GKZ-T2.8",
        "enough samples: every quadratic network that fits them is the teacher",
        (quadratic(m), check(f"n ≥ d(d+1)/2 = {N}", m.n >= N, f"n = {m.n}"), _spans(m, N)),
        instead="the claims identifies and ambiguous decide it for these data",
    )


def _spans(m: Measurements, N: int) -> Hypothesis:
    statement = "{x xᵀ} span the symmetric matrices"
    if m.n < N:
        return check(statement, False, f"at most {m.n} of {N} dimensions")
    if N > FULL_RANK_LIMIT or m.activation.name != "quadratic":
        return Hypothesis(statement, Finding.UNKNOWN, f"{N} dimensions, not computed")
    from globalmin.quadratic.identifiability import span_condition

    found = span_condition(m.X)
    return check(statement, found.holds, f"rank {found.rank} of {N}")

"""The theorems about quadratic networks (SJL-T2.1, SJL-T2.2 and GKZ) on one instance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from globalmin.facts.finding import Finding, Hypothesis, TheoremReport, check, number, unknown
from globalmin.facts.registry import fact
from globalmin.linalg.symmetric import head_counts
from globalmin.quadratic.identifiability import critical_samples
from globalmin.quadratic.initialization import sufficient_width
from globalmin.shallow.overparameterization import quadratic_width

if TYPE_CHECKING:
    from globalmin.facts.instance import Instance, Measurements

FULL_RANK_LIMIT = 1_300  # d(d+1)/2 up to which the rank of the products is computed


def quadratic(m: Measurements) -> Hypothesis:
    """The activation is z^2."""
    return check("φ(z) = z²", m.activation.name == "quadratic", f"{m.activation}", is_scope=True)


@fact("SJL-T2.1", headline=True)
def mixed_theorem(it: Instance) -> TheoremReport:
    """SJL-T2.1: no constant is unknown."""
    m, start = it.m, it.start
    plus, minus = head_counts(start.network.v)
    N = critical_samples(m.d)
    return TheoremReport(
        "SJL-T2.1",
        "quadratic network, signs mixed: no spurious minima, every other critical point has an "
        "escape direction",
        (
            quadratic(m),
            check(
                f"at least d = {m.d} positive and {m.d} negative head weights",
                min(plus, minus) >= m.d,
                f"{plus} and {minus}",
            ),
            check(f"n ≤ d(d+1)/2 = {N} for zero loss", m.n <= N, f"n = {m.n}"),
        ),
        width=float(quadratic_width(m.d)),
        instead='any labels: gm.QuadraticNetworkRegressor(signs="mixed") reaches and proves the '
        "global minimum",
    )


@fact("SJL-T2.2", headline=True)
def positive_theorem(it: Instance) -> TheoremReport:
    """SJL-T2.2: one sign, planted labels."""
    m, start = it.m, it.start
    plus, minus = head_counts(start.network.v)
    return TheoremReport(
        "SJL-T2.2",
        "quadratic network, one sign, planted labels: every second-order point is global with zero "
        "loss",
        (
            quadratic(m),
            check(
                f"head ≥ 0 with at least d = {m.d} nonzero weights",
                minus == 0 and plus >= m.d,
                f"{plus} positive, {minus} negative",
            ),
            unknown("labels planted by a network with head ≥ 0", "not visible in the data"),
        ),
        width=float(quadratic_width(m.d, signs="positive")),
        instead="SJL-T2.2k and the claim optimality-gap need no planting",
    )


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


@fact("GKZ-T2.5", headline=True)
def start_theorem(it: Instance) -> TheoremReport:
    """GKZ-T2.5: a start below the barrier, for a random teacher."""
    m, start = it.m, it.start
    needed = sufficient_width(m.d)
    k = start.network.width
    return TheoremReport(
        "GKZ-T2.5",
        "quadratic network, random planted teacher: the scaled identity starts below the barrier "
        "of rank-deficient points",
        (
            quadratic(m),
            check(f"m ≥ {number(needed)} (explicit, ours)", k >= needed, f"m = {k}"),
            unknown("teacher with N(0,1) weights", "not visible in the data"),
        ),
        width=float(needed),
        instead="the claim below-barrier decides it for actual weights",
    )

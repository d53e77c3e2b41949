"""The theorems about quadratic networks (SJL-T2.1, SJL-T2.2 and GKZ) on one instance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from globalmin.inspection.hypothesis import (
    Finding,
    Hypothesis,
    TheoremReport,
    check,
    number,
    unknown,
)
from globalmin.linalg.symmetric import head_counts
from globalmin.quadratic.identifiability import critical_samples
from globalmin.quadratic.initialization import sufficient_width
from globalmin.references import states
from globalmin.shallow.widths import quadratic_width

if TYPE_CHECKING:
    from globalmin.inspection.measurements import Measurements
    from globalmin.inspection.start import Start

FULL_RANK_LIMIT = 1_300  # d(d+1)/2 up to which the rank of the products is computed


def reports(m: Measurements, start: Start) -> list[TheoremReport]:
    """Landscape theorems first, then identification."""
    return [
        mixed_theorem(m, start),
        positive_theorem(m, start),
        stationary_theorem(m, start),
        span_theorem(m),
        start_theorem(m, start),
    ]


def quadratic(m: Measurements) -> Hypothesis:
    """The activation is z^2."""
    return check("φ(z) = z²", m.activation.name == "quadratic", f"{m.activation}", is_scope=True)


@states("SJL-T2.1")
def mixed_theorem(m: Measurements, start: Start) -> TheoremReport:
    """SJL-T2.1: no constant is unknown."""
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


@states("SJL-T2.2")
def positive_theorem(m: Measurements, start: Start) -> TheoremReport:
    """SJL-T2.2: one sign, planted labels."""
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


@states("GKZ-T2.3")
def stationary_theorem(m: Measurements, start: Start) -> TheoremReport:
    """GKZ-T2.3 for the data at hand."""
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


@states("GKZ-T2.8")
def span_theorem(m: Measurements) -> TheoremReport:
    """GKZ-T2.6a, GKZ-T2.8: the products of the features span."""
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


@states("GKZ-T2.5")
def start_theorem(m: Measurements, start: Start) -> TheoremReport:
    """GKZ-T2.5: a start below the barrier, for a random teacher."""
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

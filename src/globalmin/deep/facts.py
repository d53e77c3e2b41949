"""The theorems of DU chapter 3 on one table of data: deep networks of a given depth."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from globalmin.deep.convergence import deep_width_order, residual_width_order
from globalmin.deep.gram import deep_gram
from globalmin.facts.finding import (
    Hypothesis,
    TheoremReport,
    check,
    fact,
    no_parallel_rows,
    number,
    smooth,
    unit_rows,
    unknown,
)
from globalmin.linalg.spectrum import extremes

if TYPE_CHECKING:
    from globalmin.facts.instance import Instance, Measurements

DEEP_LIMIT = 1_000  # samples up to which deep Gram matrices are computed for the table
POLYNOMIALS = ("linear", "quadratic", "polynomial")


def _analytic(m: Measurements) -> Hypothesis:
    is_analytic = m.activation.is_smooth and m.activation.name not in POLYNOMIALS
    return check(
        "φ is smooth, analytic and no polynomial", is_analytic, f"{m.activation}", is_scope=True
    )


def _deep(m: Measurements, architecture: str, depth: int) -> tuple[float, tuple[Hypothesis, ...]]:
    """λ_min of the last-layer Gram matrix (NaN if not computed) and the hypotheses that can be
    checked.
    """
    hypotheses = (_analytic(m), smooth(m), unit_rows(m), no_parallel_rows(m))
    if m.n > DEEP_LIMIT or not m.activation.is_smooth or m.activation.name in POLYNOMIALS:
        return math.nan, hypotheses
    found = extremes(
        deep_gram(m.X, architecture, depth, m.activation),
        is_singular=m.slope.low == 0.0 and m.slope.is_resolved,
    )
    gap = check(
        f"λ_min(K^(H)) > 0 at depth H = {depth}", found.low > 0.0, f"λ_min = {number(found.low)}"
    )
    return found.low, (*hypotheses, gap)


@fact("DU-T3.1", headline=True)
def fully_connected_theorem(it: Instance) -> TheoremReport:
    """DU-T3.1: constants exist only."""
    m, failure, depth = it.m, it.failure, it.depth
    says = f"gradient descent on all layers of a fully connected network of depth {depth} converges"
    lam, hypotheses = _deep(m, "fully_connected", depth)
    order = number(deep_width_order(m.n, depth, lam, failure)) if lam > 0.0 else "–"
    return TheoremReport(
        "DU-T3.1", says, (*hypotheses, unknown("width ≥ 2^O(H) max{n⁴/λ⁴, n/δ, n² "
                                               "log(Hn/δ)/λ²}", f"without 2^O(H): {order}")),
        instead="the claim deep-descent (theorem DS) at the weights of an actual network",
    )  # fmt: skip


@fact("DU-T3.2", headline=True)
def residual_theorem(it: Instance) -> TheoremReport:
    """DU-T3.2: constants exist only; powers of H corrected (erratum E15)."""
    m, failure, depth = it.m, it.failure, it.depth
    says = f"the same for a residual network of depth {depth}, without the exponential factor"
    lam, hypotheses = _deep(m, "resnet", max(depth, 2))
    order = number(residual_width_order(m.n, max(depth, 2), lam, failure)) if lam > 0.0 else "–"
    return TheoremReport(
        "DU-T3.2", says, (*hypotheses, unknown("width ≥ C max{n⁴/(λ⁴H⁴), n²/λ², n/δ, n² "
                                               "log(Hn/δ)/λ²}", f"without C: {order}")),
        instead="the claim deep-descent (theorem DS)",
    )  # fmt: skip


@fact("DU-T3.3", headline=True)
def convolutional_theorem(it: Instance) -> TheoremReport:
    """DU-T3.3: needs images."""
    m = it.m
    return TheoremReport(
        "DU-T3.3",
        "the same for convolutional residual networks",
        (
            _analytic(m),
            check(
                "inputs are images (channels × pixels)",
                False,
                f"a table of {m.d} features",
                is_scope=True,
            ),
        ),
        instead="gm.theory.deep_gram with images",
    )

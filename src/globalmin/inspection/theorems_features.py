"""Theorems about other trainings on the same data: random features (OS-T3.2) and deep networks (DU
chapter 3).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from globalmin.inspection.eigenvalues import extremes
from globalmin.inspection.hypothesis import (
    Hypothesis,
    TheoremReport,
    check,
    enough_width,
    number,
    unknown,
)
from globalmin.inspection.theorems_relu import no_parallel_rows
from globalmin.inspection.theorems_smooth import smooth, unit_rows
from globalmin.kernels import random_features, widths
from globalmin.references import states

if TYPE_CHECKING:
    from globalmin.inspection.measurements import Measurements
    from globalmin.inspection.start import Start

DEEP_LIMIT = 1_000  # samples up to which deep Gram matrices are computed for the table
POLYNOMIALS = ("linear", "quadratic", "polynomial")


def reports(m: Measurements, start: Start, *, depth: int, failure: float) -> list[TheoremReport]:
    """Random features, then the three deep architectures at the given depth."""
    return [
        random_feature_theorem(m, start, failure=failure),
        *deep_theorems(m, depth=depth, failure=failure),
    ]


@states("OS-T3.2")
def random_feature_theorem(m: Measurements, start: Start, *, failure: float) -> TheoremReport:
    """OS-T3.2 with an explicit number of features (ours) beside the printed one."""
    says = "with W random and only the head trained, some head fits all labels exactly"
    lam, k = m.feature.low, start.network.width
    gap = check("λ̃(X) > 0", lam > 0.0, f"λ̃ = {number(lam)}{_why(m)}")
    bounded = check("φ' is bounded", math.isfinite(m.B), f"sup |φ'| = {number(m.B)}")
    if not (lam > 0.0 and math.isfinite(m.B)):
        return TheoremReport(
            "OS-T3.2", says, (bounded, gap), width=math.inf if lam <= 0.0 else None
        )
    printed = random_features.feature_width(m.n, lam, max(m.B, abs(float(m.activation(0.0)))))
    mean, spread = math.sqrt(m.n * m.mean_square), m.B * m.X_norm
    needed = random_features.feature_width_explicit(
        m.n, lam, mean=mean, spread=spread, delta=failure
    )
    return TheoremReport(
        "OS-T3.2", says, (bounded, gap, enough_width(k, needed)), needed, None, None, failure,
        instead=f"printed constant: {number(printed)} features; in practice k ≥ n and λ_min(ΦΦᵀ) > "
                "0 is computed",
    )  # fmt: skip


def _why(m: Measurements) -> str:
    return "" if m.feature.low > 0.0 or m.feature.is_resolved else ": below what floats resolve"


def deep_theorems(m: Measurements, *, depth: int, failure: float) -> list[TheoremReport]:
    """DU-T3.1, DU-T3.2 and DU-T3.3 at one depth."""
    return [
        fully_connected_theorem(m, depth=depth, failure=failure),
        residual_theorem(m, depth=depth, failure=failure),
        convolutional_theorem(m),
    ]


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
    from globalmin.deep.gram import deep_gram

    found = extremes(
        deep_gram(m.X, architecture, depth, m.activation),
        is_singular=m.slope.low == 0.0 and m.slope.is_resolved,
    )
    gap = check(
        f"λ_min(K^(H)) > 0 at depth H = {depth}", found.low > 0.0, f"λ_min = {number(found.low)}"
    )
    return found.low, (*hypotheses, gap)


@states("DU-T3.1")
def fully_connected_theorem(m: Measurements, *, depth: int, failure: float) -> TheoremReport:
    """DU-T3.1: constants exist only."""
    says = f"gradient descent on all layers of a fully connected network of depth {depth} converges"
    lam, hypotheses = _deep(m, "fully_connected", depth)
    order = number(widths.deep_width_order(m.n, depth, lam, failure)) if lam > 0.0 else "–"
    return TheoremReport(
        "DU-T3.1", says, (*hypotheses, unknown("width ≥ 2^O(H) max{n⁴/λ⁴, n/δ, n² "
                                               "log(Hn/δ)/λ²}", f"without 2^O(H): {order}")),
        instead="the claim deep-descent (theorem DS) at the weights of an actual network",
    )  # fmt: skip


@states("DU-T3.2")
def residual_theorem(m: Measurements, *, depth: int, failure: float) -> TheoremReport:
    """DU-T3.2: constants exist only; powers of H corrected (erratum E15)."""
    says = f"the same for a residual network of depth {depth}, without the exponential factor"
    lam, hypotheses = _deep(m, "resnet", max(depth, 2))
    order = (
        number(widths.residual_width_order(m.n, max(depth, 2), lam, failure)) if lam > 0.0 else "–"
    )
    return TheoremReport(
        "DU-T3.2", says, (*hypotheses, unknown("width ≥ C max{n⁴/(λ⁴H⁴), n²/λ², n/δ, n² "
                                               "log(Hn/δ)/λ²}", f"without C: {order}")),
        instead="the claim deep-descent (theorem DS)",
    )  # fmt: skip


@states("DU-T3.3")
def convolutional_theorem(m: Measurements) -> TheoremReport:
    """DU-T3.3: needs images."""
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

"""Random features (OS-T3.2): W random, only the head trained."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from globalmin.errors import HypothesisError
from globalmin.facts.finding import TheoremReport, check, enough_width, number
from globalmin.facts.registry import fact
from globalmin.kernels import random_features

if TYPE_CHECKING:
    from globalmin.facts.instance import Instance, Measurements


@fact("OS-T3.2", headline=True)
def random_feature_theorem(it: Instance) -> TheoremReport:
    """OS-T3.2 with an explicit number of features (ours) beside the printed one."""
    m, start, failure = it.m, it.start, it.failure
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
    thresholds = (mean + t * spread for t in (0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0))
    at_this_width = min(
        random_features.feature_failure(m.n, k, lam, T=T, mean=mean, spread=spread)
        for T in thresholds
    )
    return TheoremReport(
        "OS-T3.2", says, (bounded, gap, enough_width(k, needed)), needed, None, None, failure,
        instead=f"printed constant: {number(printed)} features; in practice k ≥ n and λ_min(ΦΦᵀ) > "
                "0 is computed",
        numbers=(("failure probability at this width, at most", at_this_width), *_fitted(it)),
    )  # fmt: skip


def _fitted(it: Instance) -> tuple[tuple[str, float], ...]:
    """The head of least norm on the drawn first layer, where one fits the labels."""
    try:
        found = random_features.fit_random_features(it.start.network, it.m.X, it.m.y)
    except HypothesisError:
        return (("λ_min(ΦΦᵀ) at the drawn start", 0.0),)
    return (
        ("λ_min(ΦΦᵀ) at the drawn start", found.lambda_min),
        ("relative residual with the head of least norm", found.relative_residual),
    )


def _why(m: Measurements) -> str:
    return "" if m.feature.low > 0.0 or m.feature.is_resolved else ": below what floats resolve"

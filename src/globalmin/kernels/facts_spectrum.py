"""The spectrum of the Jacobian at Gaussian inputs (SJL section 7) on one instance: measured, its
constants exist only.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from globalmin.facts.finding import TheoremReport, check, number, unknown
from globalmin.facts.hypotheses import at_least_as_wide, gaussian, smooth
from globalmin.facts.registry import fact
from globalmin.kernels.overparameterization_jacobian import jacobian_spectrum_ratios
from globalmin.shallow.overparameterization import khatri_rao_ratios, sample_condition_ratio

if TYPE_CHECKING:
    from globalmin.facts.instance import Instance


@fact("SJL-C7.5", headline=True)
def products_corollary(it: Instance) -> TheoremReport:
    """SJL-C7.5."""
    m = it.m
    low, high = khatri_rao_ratios(m.n, m.d, m.sigma, math.sqrt(m.squares.high))
    return TheoremReport(
        "SJL-C7.5",
        f"σ_min(X*X) ≥ c d and σ_max(X*X) ≤ C √(nd); here {number(low)} d and {number(high)} √(nd)",
        (
            gaussian(m),
            check("d ≤ n", m.d <= m.n, f"d = {m.d}, n = {m.n}"),
            unknown("n ≤ c₁ d²", f"n/d² = {number(m.n / m.d**2)}"),
        ),
        instead="σ_min(X*X) is computed: it is all that OS-T2.1 and OS-T2.3 need",
    )


@fact("SJL-P7.4", headline=True)
def spectrum_proposition(it: Instance) -> TheoremReport:
    """SJL-P7.4."""
    m, start = it.m, it.start
    ratio = sample_condition_ratio(start.network.W, m.n)
    low, high = jacobian_spectrum_ratios(start.network, start.a, start.b, m.n)
    return TheoremReport(
        "SJL-P7.4",
        f"σ_min(J) ≥ c σ_min(W) d and σ_max(J) ≤ C σ_max(W) √(nk); here {number(low)} and "
        f"{number(high)} times that",
        (
            gaussian(m),
            smooth(m),
            at_least_as_wide(m, start.network.width),
            unknown(
                "n ≤ c₀ σ_min(W)⁴ d²/σ_max(W)⁸",
                f"n σ_max⁸/(σ_min⁴ d²) = {number(ratio)}; wider networks make it worse",
            ),
        ),
        instead="a = σ_min(J) is computed at the actual weights",
    )

"""The theorems with Gaussian inputs and planted labels (SJL section 7, SJL-T2.5, FCL) on one
instance: measured, not decided.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from globalmin.inspection.hypothesis import Hypothesis, TheoremReport, check, number, unknown
from globalmin.inspection.theorems_smooth import smooth
from globalmin.kernels.overparameterization_jacobian import jacobian_spectrum_ratios
from globalmin.kernels.rates import planted_local_exponent
from globalmin.references import states
from globalmin.shallow.widths import khatri_rao_ratios, sample_condition_ratio

if TYPE_CHECKING:
    from globalmin.inspection.measurements import Measurements
    from globalmin.inspection.start import Start

PLANTED = "labels planted by a network of this width"


def reports(m: Measurements, start: Start) -> list[TheoremReport]:
    """The spectrum first, then the local theorems."""
    return [
        products_corollary(m),
        spectrum_proposition(m, start),
        local_theorem(m, start),
        curvature_theorem(m),
        *recovery_theorems(m),
    ]


def gaussian(m: Measurements) -> Hypothesis:
    """Standard normal inputs, a law; what one data set shows is its second moment."""
    spread = float(np.linalg.norm(m.X.T @ m.X / m.n - np.eye(m.d), 2))
    return unknown(
        "inputs drawn from N(0, I)",
        f"a law; here ‖XᵀX/n − I‖ = {number(spread)}, "
        f"{number(2 * math.sqrt(m.d / m.n) + m.d / m.n)} expected",
    )


def thrice_bounded(m: Measurements) -> Hypothesis:
    """Bounded first three derivatives."""
    bounds = (m.B, m.M, float(m.activation.supremum(3)))
    return check(
        "φ', φ'', φ''' are bounded",
        all(map(math.isfinite, bounds)),
        f"{m.activation}",
        is_scope=True,
    )


def at_least_as_wide(m: Measurements, k: int) -> Hypothesis:
    """At least as many neurons as features."""
    return check("k ≥ d", k >= m.d, f"k = {k}, d = {m.d}")


@states("SJL-C7.5")
def products_corollary(m: Measurements) -> TheoremReport:
    """SJL-C7.5."""
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


@states("SJL-P7.4")
def spectrum_proposition(m: Measurements, start: Start) -> TheoremReport:
    """SJL-P7.4."""
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


@states("SJL-T2.5")
def local_theorem(m: Measurements, start: Start) -> TheoremReport:
    """SJL-T2.5."""
    W = start.network.W
    low = float(np.linalg.svd(W, compute_uv=False)[-1]) if W.shape[0] >= W.shape[1] else 0.0
    exponent = number(planted_local_exponent(m.n, m.d, low))
    return TheoremReport(
        "SJL-T2.5",
        "both layers trained, planted labels: linear convergence near the teacher, rate 1 − α c² "
        f"σ_min(W)² d²/(4n), here σ²d²/n = {exponent}",
        (
            gaussian(m),
            smooth(m),
            at_least_as_wide(m, start.network.width),
            unknown(PLANTED, "not visible in the data"),
            unknown(
                "start within C₀ σ_min³/σ_max d^2.5/(n^1.5 k) of the teacher", "C₀ exists only"
            ),
        ),
        instead='OS-C5: gm.certify(..., trained="vW") at the trained weights',
    )


def curvature_theorem(m: Measurements) -> TheoremReport:
    """FCL-T1."""
    return TheoremReport(
        "FCL-T1",
        "planted mean of K neurons: the loss is strongly convex in a ball around the teacher",
        (
            thrice_bounded(m),
            check("φ is not affine", m.activation.name != "linear", f"{m.activation}"),
            gaussian(m),
            unknown(PLANTED, "not visible in the data"),
            unknown("n ≥ C d K³ log²d · (…)²", f"n = {m.n}, d = {m.d}; C exists only"),
        ),
        instead="the claim unique-minimum (FCL-CERT) for actual weights",
    )


def recovery_theorems(m: Measurements) -> list[TheoremReport]:
    """FCL-T2 and FCL-T3."""
    sample = unknown("n ≥ that of FCL-T1", f"n = {m.n}; C exists only")
    increasing = check(
        "φ is odd or a sigmoid, so that its moments do not vanish",
        m.activation.name in ("sigmoid", "tanh", "erf"),
        f"{m.activation}",
        is_scope=True,
    )
    return [
        TheoremReport(
            "FCL-T2", "one critical point in that ball, and gradient descent converges to it",
            (thrice_bounded(m), gaussian(m), sample), instead="the claim unique-minimum (FCL-CERT)",
        ),
        TheoremReport(
            "FCL-T3", "tensor moments give a start within that ball",
            (gaussian(m), increasing, unknown("n ≥ d poly(K, κ, log d, 1/ε)", "the polynomial is "
                                                                              "not specified")),
            instead="gm.recover_teacher, then FCL-CERT",
        ),
    ]  # fmt: skip

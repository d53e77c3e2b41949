"""The theorems with Gaussian inputs and planted labels (SJL-T2.5, FCL) on one instance: measured,
not decided.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from globalmin.facts.finding import TheoremReport, check, number, unknown
from globalmin.facts.hypotheses import at_least_as_wide, gaussian, smooth, thrice_bounded
from globalmin.facts.registry import fact

if TYPE_CHECKING:
    from globalmin.facts.instance import Instance

PLANTED = "labels planted by a network of this width"


@fact("SJL-T2.5", headline=True)
def local_theorem(it: Instance) -> TheoremReport:
    """SJL-T2.5."""
    m, start = it.m, it.start
    W = start.network.W
    low = float(np.linalg.svd(W, compute_uv=False)[-1]) if W.shape[0] >= W.shape[1] else 0.0
    exponent = number(low**2 * m.d**2 / m.n)
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


@fact("FCL-T1", headline=True)
def curvature_theorem(it: Instance) -> TheoremReport:
    """FCL-T1."""
    m = it.m
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


@fact("FCL-T2", headline=True)
def unique_point(it: Instance) -> TheoremReport:
    """FCL-T2."""
    m = it.m
    sample = unknown("n ≥ that of FCL-T1", f"n = {m.n}; C exists only")
    return TheoremReport(
        "FCL-T2",
        "one critical point in that ball, and gradient descent converges to it",
        (thrice_bounded(m), gaussian(m), sample),
        instead="the claim unique-minimum (FCL-CERT)",
    )


@fact("FCL-T3", headline=True)
def tensor_start(it: Instance) -> TheoremReport:
    """FCL-T3."""
    m = it.m
    increasing = check(
        "φ is odd or a sigmoid, so that its moments do not vanish",
        m.activation.name in ("sigmoid", "tanh", "erf"),
        f"{m.activation}",
        is_scope=True,
    )
    polynomial = unknown("n ≥ d poly(K, κ, log d, 1/ε)", "the polynomial is not specified")
    return TheoremReport(
        "FCL-T3",
        "tensor moments give a start within that ball",
        (gaussian(m), increasing, polynomial),
        instead="gm.recover_teacher, then FCL-CERT",
    )

"""The theorems of SJL about quadratic networks on one instance."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from globalmin.facts.finding import Hypothesis, TheoremReport, check, fact, unknown
from globalmin.linalg.symmetric import design_matrix, head_counts, unsvec
from globalmin.quadratic.approximate import estimate_mixed_excess, estimate_planted_excess
from globalmin.quadratic.duality import estimate_span_gap, is_stationary_in_matrix, positive_kkt
from globalmin.quadratic.identifiability import critical_samples
from globalmin.shallow.hessian import (
    estimate_least_eigenvalue_below,
    quadratic_gradient,
    quadratic_hessian_form,
)
from globalmin.shallow.network import residual
from globalmin.shallow.widths import quadratic_width

if TYPE_CHECKING:
    from globalmin.facts.instance import Instance, Measurements

SMALL = 1e-6  # of ‖y‖: the gradient norm and curvature that SJL-T2.2a is asked about
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


@fact("SJL-D3", "SJL-L6.1", "SJL-T2.2k")
def stationarity(it: Instance) -> TheoremReport:
    """Gradient, curvature and the conditions of a global minimum at the drawn start."""
    m, net = it.m, it.start.network
    says = "a quadratic network is a global minimum as soon as Σ rᵢxᵢxᵢᵀ = 0"
    if m.activation.name != "quadratic":
        return TheoremReport("SJL-D3", says, (quadratic(m),))
    gradient = quadratic_gradient(net.W, net.v, m.X, m.y)
    size = float(np.sum(gradient**2))
    curvature = quadratic_hessian_form(net.W, net.v, m.X, m.y, gradient) / size if size else 0.0
    r = residual(net, m.X, m.y)
    kkt = positive_kkt(net.W, np.abs(net.v), m.X, m.y)
    return TheoremReport(
        "SJL-D3",
        says,
        (quadratic(m), check("Σ rᵢxᵢxᵢᵀ = 0", is_stationary_in_matrix(m.X, r))),
        numbers=(
            ("‖∇L‖ at the drawn start", math.sqrt(size)),
            ("curvature along the gradient", curvature),
            ("loss above the least of all quadratic networks", estimate_span_gap(m.X, r)),
            ("with all heads positive: λ_min(Σ rᵢxᵢxᵢᵀ), ≥ 0 at the minimum", kkt.least_eigenvalue),
            ("with all heads positive: ⟨M, Σ rᵢxᵢxᵢᵀ⟩, 0 at the minimum", kkt.complementarity),
        ),
    )


@fact("SJL-T2.1q")
def approximate_mixed(it: Instance) -> TheoremReport:
    """SJL-T2.1q at the drawn start."""
    m, net = it.m, it.start.network
    plus, minus = head_counts(net.v)
    says = "small gradient and little negative curvature: the loss is near the least one (ours)"
    signs = check(
        f"more than d = {m.d} head weights of each sign", min(plus, minus) > m.d, f"{plus}, {minus}"
    )
    if m.activation.name != "quadratic" or min(plus, minus) <= m.d:
        return TheoremReport("SJL-T2.1q", says, (quadratic(m), signs))
    S = design_matrix(m.X)
    M = unsvec(np.asarray(np.linalg.lstsq(S, m.y, rcond=None)[0], dtype=np.float64))
    bound = estimate_mixed_excess(
        net.W,
        net.v,
        gradient_norm=float(np.linalg.norm(quadratic_gradient(net.W, net.v, m.X, m.y))),
        negative_curvature=max(0.0, -estimate_least_eigenvalue_below(net, m.X, m.y)),
        nuclear_norm=float(np.abs(np.linalg.eigvalsh(M)).sum()),
    )
    excess = estimate_span_gap(m.X, residual(net, m.X, m.y))
    return TheoremReport(
        "SJL-T2.1q",
        says,
        (quadratic(m), signs),
        numbers=(("L − min L at the drawn start ≤", bound), ("L − min L", excess)),
    )


@fact("SJL-T2.2a")
def approximate_planted(it: Instance) -> TheoremReport:
    """SJL-T2.2a, our deterministic form, for one small gradient and curvature."""
    m = it.m
    says = "one sign, planted labels: an approximate second-order point has a small loss"
    tall = check("X has full column rank", m.rank == m.d, f"rank {m.rank} of {m.d}")
    positive = check("labels of positive mean", bool(m.y.mean() > 0.0))
    if m.activation.name != "quadratic" or m.rank < m.d or not m.y.mean() > 0.0:
        return TheoremReport("SJL-T2.2a", says, (quadratic(m), tall, positive))
    found = estimate_planted_excess(
        m.X, m.y, head=1.0, gradient_norm=SMALL * m.y_norm, negative_curvature=SMALL * m.y_norm
    )
    return TheoremReport(
        "SJL-T2.2a",
        says,
        (quadratic(m), tall, positive, unknown("labels planted by a network with head ≥ 0")),
        numbers=(
            (f"gradient norm and negative curvature asked about, {SMALL:g}‖y‖", SMALL * m.y_norm),
            ("loss of every such point ≤", found.loss),
            ("‖W‖ of every such point ≤", found.weight_norm),
            ("trace of the teacher's WᵀW ≤", found.teacher_trace),
        ),
    )

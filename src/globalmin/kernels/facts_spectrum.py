"""The spectrum of the Jacobian at Gaussian inputs (SJL section 7) on one instance: measured, its
constants exist only.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from globalmin.activations.moments import MeanSign, average_class
from globalmin.facts.assumptions import (
    at_least_as_wide,
    average_curvature,
    average_slope,
    enough_samples,
    few_samples,
    gaussian,
    not_affine,
    sized_weights,
    smooth,
)
from globalmin.facts.finding import Finding, Hypothesis, TheoremReport, check, fact, number, unknown
from globalmin.kernels import overparameterization_jacobian as jacobian_parts
from globalmin.kernels.explain_jacobian import explain_jacobian
from globalmin.kernels.khatri_rao import khatri_rao_sigma_min
from globalmin.linalg.symmetric import generic_rank
from globalmin.shallow.widths import khatri_rao_ratios

if TYPE_CHECKING:
    from globalmin._types import Array
    from globalmin.facts.instance import Instance

CHAIN_LIMIT = 800  # samples up to which `inspect` computes the chain: five n x n spectra


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
            enough_samples(m),
            unknown("n ≤ c₁ d²", f"n/d² = {number(m.n / m.d**2)}"),
        ),
        instead="σ_min(X*X) is computed: it is all that OS-T2.1 and OS-T2.3 need",
    )


@fact("SJL-P7.1", "SJL-DEF7", "SJL-L7.6", "SJL-L7.7", "SJL-P7.9", headline=True)
def jacobian_chain(it: Instance) -> TheoremReport:
    """SJL section 7 on the network: the chain that ends in sigma_min(J)."""
    m, net = it.m, it.start.network
    says = "where σ_min(J) comes from: mean slopes, whitening, nearly orthogonal rows, any data"
    numbers: list[tuple[str, float]] = []
    if m.n <= CHAIN_LIMIT and not_affine(m).finding is Finding.HOLDS:
        found = explain_jacobian(net, m.X)
        numbers.append(("σ_min(J)", found.sigma_min))
        numbers += [(f"≥, {step.name} ({step.item})", step.value) for step in found.steps]
        numbers += [
            ("σ_min(J̃), slopes centered (SJL-DEF7)", found.centered),
            ("σ_min(J)² ≥ as SJL-P7.1 is printed", found.printed),
            ("‖J‖", found.sigma_max),
            ("‖J‖ ≤, SJL-P7.1", found.upper),
        ]
    return TheoremReport(
        "SJL-P7.1",
        says,
        (not_affine(m),),
        numbers=tuple(numbers),
        instead="gm.explain_jacobian(network, X) prints and draws it",
    )


@fact("SJL-P7.4", headline=True)
def spectrum_proposition(it: Instance) -> TheoremReport:
    """SJL-P7.4."""
    m, start = it.m, it.start
    is_class_b = average_class(m.activation).letter == "b"
    low, high = jacobian_parts.jacobian_spectrum_ratios(
        start.network.W, start.a, start.b, m.n, is_class_b=is_class_b
    )
    order = "d" if is_class_b else "σ_min(W) d"
    ratios = ((f"σ_min(J)/({order})", low), ("σ_max(J)/(σ_max(W)√(nk))", high))
    return TheoremReport(
        "SJL-P7.4",
        f"σ_min(J) ≥ c {order} and σ_max(J) ≤ C σ_max(W) √(nk); here {number(low)} and "
        f"{number(high)} times that",
        (smooth(m), not_affine(m), gaussian(m), *_assumptions(it)),
        instead="a = σ_min(J) is computed at the actual weights",
        numbers=tuple(pair for pair in ratios if math.isfinite(pair[1])),
    )


def _assumptions(it: Instance) -> tuple[Hypothesis, ...]:
    return (
        average_slope(it),
        average_curvature(it),
        sized_weights(it),
        at_least_as_wide(it.m, it.width),
        enough_samples(it.m),
        few_samples(it),
    )


@fact("SJL-R7.3")
def odd_remark(it: Instance) -> TheoremReport:
    """SJL-R7.3: class b, the weights do not enter."""
    m, start = it.m, it.start
    found = average_class(m.activation).curvature
    low, _ = jacobian_parts.jacobian_spectrum_ratios(
        start.network.W, start.a, start.b, m.n, is_class_b=True
    )
    return TheoremReport(
        "SJL-R7.3",
        f"class b: σ_min(J) ≥ c d whatever the weights; here {number(low)} d",
        (
            smooth(m),
            check("γ(s) is zero for every s", found is MeanSign.ALWAYS, found.value, is_scope=True),
            not_affine(m),
            gaussian(m),
            enough_samples(m),
            few_samples(it),
        ),
        numbers=(("σ_min(J)/d", low),),
    )


@fact("SJL-L7.10")
def whitened_moments(it: Instance) -> TheoremReport:
    """SJL-L7.10: the size of the whitened slopes, for Gaussian inputs and on these."""
    m, net = it.m, it.start.network
    says = "the whitened slopes z have d ≤ E‖z‖² ≤ ρ²d for Gaussian inputs"
    mean = jacobian_parts.mean_centered_jacobian(net)
    heads = check("no head weight is zero", bool(net.v.all()))
    is_zero = average_class(m.activation).curvature is MeanSign.ALWAYS  # for certain: class b
    can_be = net.width >= m.d and not is_zero
    full = check(
        "diag(v)ΓW has full column rank",
        can_be and _least(mean) > 1e-12 * float(np.linalg.norm(mean, 2)),
        f"σ_min = {number(_least(mean) if can_be else 0.0)}",
    )
    curved = check(
        "φ'' is bounded", math.isfinite(m.M), f"sup |φ''| = {number(m.M)}", is_scope=True
    )
    hypotheses = (curved, heads, full, gaussian(m))
    if any(h.finding is Finding.FAILS for h in hypotheses):
        return TheoremReport("SJL-L7.10", says, hypotheses)
    low, high = jacobian_parts.whitened_moment_limits(net)
    z = jacobian_parts.centered_slopes(net, m.X) @ np.linalg.pinv(mean).T
    here = float((z**2).sum(axis=1).mean())
    return TheoremReport(
        "SJL-L7.10",
        says,
        hypotheses,
        numbers=(("d", low), ("mean of ‖z‖² on these inputs", here), ("ρ²d", high)),
    )


def _least(A: Array) -> float:
    return float(np.linalg.svd(A, compute_uv=False)[-1])


@fact("SJL-L5.3")
def scaled_rows(it: Instance) -> TheoremReport:
    """The replacement of SJL-L5.3 on the drawn weights."""
    m, net = it.m, it.start.network
    tall = at_least_as_wide(m, net.width)
    if net.width < m.d:
        return TheoremReport("SJL-L5.3", "scaling rows keeps a matrix well conditioned", (tall,))
    return TheoremReport(
        "SJL-L5.3",
        "scaling the rows of W by the head keeps σ_min up to the smallest head weight",
        (tall,),
        numbers=(
            ("min |v_l| σ_min(W)", jacobian_parts.scaled_rows_limit(net.W, net.v)),
            ("σ_min(diag(v)W)", _least(net.v[:, None] * net.W)),
            ("max |v_l| σ_min(W), the printed bound of ‖diag(v)W‖", _printed(net.W, net.v)),
        ),
    )


def _printed(W: Array, v: Array) -> float:
    return float(np.abs(v).max()) * _least(W)


@fact("SJL-L5.7")
def quadratic_moment(it: Instance) -> TheoremReport:
    """The Gaussian identity against the sample mean, with A = X^T X/n."""
    m = it.m
    A = m.X.T @ m.X / m.n
    weights = np.einsum("ij,jk,ik->i", m.X, A, m.X)
    mean = (m.X * weights[:, None]).T @ m.X / m.n
    gap = float(np.linalg.norm(mean - jacobian_parts.gaussian_quadratic_moment(A), 2))
    share = gap / float(np.trace(A))
    return TheoremReport(
        "SJL-L5.7",
        "for Gaussian inputs E[(xᵀAx)xxᵀ] = 2A + tr(A)I; samples deviate by at most δ tr(A)",
        (gaussian(m), unknown("n ≥ c(δ) d log d", f"n = {m.n}, d = {m.d}")),
        numbers=(("δ seen with A = XᵀX/n (spectral norm over the trace)", share),),
    )


@fact("SJL-L5.6", "SJL-L5.4")
def product_rank(it: Instance) -> TheoremReport:
    """The rank of the products of the features."""
    m = it.m
    generic, N = generic_rank(m.n, m.d), m.d * (m.d + 1) // 2
    return TheoremReport(
        "SJL-L5.6",
        "in general position the products x xᵀ of n samples are independent up to n = d(d+1)/2",
        (check(f"n ≤ d(d+1)/2 = {N}", m.n <= N, f"n = {m.n}"),),
        numbers=(
            ("rank in general position", float(generic)),
            ("σ_min(X*X) here", khatri_rao_sigma_min(m.X, 2)),
        ),
    )

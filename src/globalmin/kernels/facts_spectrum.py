"""The spectrum of the Jacobian at Gaussian inputs (SJL section 7) on one instance: measured, its
constants exist only.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from globalmin.facts.finding import (
    TheoremReport,
    at_least_as_wide,
    check,
    fact,
    gaussian,
    number,
    smooth,
    unknown,
)
from globalmin.kernels import overparameterization_jacobian as jacobian_parts
from globalmin.kernels.khatri_rao import khatri_rao_sigma_min
from globalmin.linalg.symmetric import generic_rank
from globalmin.shallow.widths import khatri_rao_ratios, sample_condition_ratio

if TYPE_CHECKING:
    from globalmin._types import Array
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


@fact("SJL-P7.4", "SJL-R7.3", headline=True)
def spectrum_proposition(it: Instance) -> TheoremReport:
    """SJL-P7.4."""
    m, start = it.m, it.start
    ratio = sample_condition_ratio(start.network.W, m.n)
    low, high = jacobian_parts.jacobian_spectrum_ratios(start.network, start.a, start.b, m.n)
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


@fact("SJL-DEF7", "SJL-L7.6", "SJL-L7.7", "SJL-P7.1", "SJL-P7.2", "SJL-P7.9", "SJL-L7.10")
def centered_spectrum(it: Instance) -> TheoremReport:
    """The centered Jacobian of the drawn network and every computable bound from it."""
    m, net = it.m, it.start.network
    G = jacobian_parts.centered_gram(net, m.X)
    spectrum = np.linalg.eigvalsh(G)
    found = jacobian_parts.uncentering_limits(net, m.X)
    off_low, off_high = jacobian_parts.nearly_orthogonal_limits(G)
    numbers = [
        ("σ_min(J̃)²", float(spectrum[0])),
        ("σ_min(J)² ≥, SJL-P7.1", found.lower),
        ("σ_min(J)² measured", it.start.gram.low),
        ("‖J‖ ≤, SJL-P7.1", found.upper),
        ("‖J‖ measured", it.start.b),
        ("σ_min(J̃)² ≥, from the off-diagonal entries, SJL-P7.9", off_low),
        ("‖J̃‖² ≤, the same", off_high),
        ("σ_min(J̃) ≥, whitened, SJL-L7.7", jacobian_parts.whitened_limit(net, m.X)),
    ]
    if m.activation.is_smooth and net.width >= m.d:
        mean = jacobian_parts.mean_centered_jacobian(net)
        numbers.append(("σ_min of the mean diag(v)ΓW", _least(mean)))
        numbers.append(
            (
                "sample ratio of SJL-P7.2, at most an unknown constant",
                jacobian_parts.centered_condition_ratio(net, m.n),
            )
        )
        if _least(mean) > 0.0 and net.v.all():
            low, high = jacobian_parts.whitened_moment_limits(net)
            numbers += [("E‖z‖² whitened ≥", low), ("E‖z‖² whitened ≤", high)]
    return TheoremReport(
        "SJL-DEF7",
        "centering the slopes at their Gaussian mean separates a small part of the Jacobian; its "
        "spectrum bounds that of the Jacobian",
        (gaussian(m), smooth(m), at_least_as_wide(m, net.width)),
        numbers=tuple(numbers),
        instead="σ_min(J) is computed at the actual weights",
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

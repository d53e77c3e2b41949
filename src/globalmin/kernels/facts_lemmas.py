"""Lemmas of OS and DU chapter 2 on one instance: the bound that the lemma gives, beside what is
measured.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from globalmin.activations.dual import dual_kernel, dual_partial_sum
from globalmin.activations.dual_pairs import estimate_by_gauss_hermite
from globalmin.activations.moments import normalizer
from globalmin.facts.assumptions import (
    labels,
    no_parallel_rows,
    positive_lambda,
    relu,
    smooth,
    unit_rows,
)
from globalmin.facts.finding import Hypothesis, TheoremReport, check, fact, number
from globalmin.kernels import movement, probability, rates
from globalmin.kernels.gram_bounds import lambda_lower_bounds
from globalmin.kernels.limit_gram import Kind, gram_error
from globalmin.shallow.network import preactivations

if TYPE_CHECKING:
    from globalmin._types import Array
    from globalmin.facts.instance import Instance, Measurements


def bounded_slope(m: Measurements) -> Hypothesis:
    """A bounded first derivative."""
    return check("φ' is bounded", math.isfinite(m.B), f"sup |φ'| = {number(m.B)}")


def head_ratio(it: Instance) -> float:
    r"""$\|v\|_2/\|v\|_\infty$ of the drawn head."""
    v = it.start.network.v
    return float(np.linalg.norm(v) / np.abs(v).max())


def preactivations_of(it: Instance) -> Array:
    """X W^T of the drawn network, n x k."""
    return preactivations(it.start.network, it.m.X)


@fact("OS-DEF6.1", "OS-DEF3.1", "OS-J")
def limiting_spectrum(it: Instance) -> TheoremReport:
    """The limiting Gram matrices, with the error of their entries."""
    m, v = it.m, it.start.network.v
    bar = float(gram_error(m.X, m.activation).max())
    return TheoremReport(
        "OS-DEF6.1",
        "the expected Gram matrix of the Jacobian is ‖v‖² Σ(X), that of the features k Σ̃(X)",
        (positive_lambda(m),),
        numbers=(
            ("λ_min(Σ)", m.lam),
            ("λ_max(Σ)", m.slope.high),
            ("λ_min(Σ̃)", m.feature.low),
            ("error of an entry of Σ, at most", bar),
            ("‖JJᵀ/‖v‖² − Σ‖ at the drawn start", it.start.deviation),
            ("λ_min(JJᵀ)/‖v‖² at the drawn start", it.start.gram.low / float(v @ v)),
        ),
    )


@fact("OS-LH.2", "OS-L6.4", "OS-HERM")
def hermite_eigenvalue(it: Instance) -> TheoremReport:
    """The Hermite series' lower bounds of both eigenvalues."""
    m = it.m
    return TheoremReport(
        "OS-LH.2",
        "any terms of the Hermite series bound the smallest eigenvalues from below",
        (no_parallel_rows(m),),
        numbers=(
            ("λ(X), computed", m.lam),
            *_bounds_of(m, "weights"),
            ("λ̃(X), computed", m.feature.low),
            *_bounds_of(m, "features"),
        ),
    )


@fact("OS-TI.1", "OS-CI.2", "DU-D2.1")
def relu_eigenvalue(it: Instance) -> TheoremReport:
    """The lower bounds that only ReLU has."""
    m = it.m
    return TheoremReport(
        "OS-TI.1",
        "separated rows, or powers of their cosines, bound λ of the ReLU kernel from below",
        (relu(m), no_parallel_rows(m)),
        numbers=(
            ("λ(X), computed", m.lam),
            *(_bounds_of(m, "weights", only_relu=True) if m.is_relu else ()),
        ),
    )


def _bounds_of(
    m: Measurements, kind: Kind, *, only_relu: bool = False
) -> tuple[tuple[str, float], ...]:
    special = ("OS-TI.1", "OS-CI.2", "DU-D2.1")
    return tuple(
        (f"at least, {b.item}: {b.description}", float(b.value))
        for b in lambda_lower_bounds(m.X, m.activation, kernel=kind)
        if (b.item in special) == only_relu
    )


@fact("DU-DA0", "DU-DA1", "DU-DA2", "DU-DA3", "DU-DA4", "DU-DA6")
def dual_kernels(it: Instance) -> TheoremReport:
    """The mean product of the activation at the first two rows, by three roads."""
    m, phi = it.m, it.m.activation
    says = "means of products of φ at two correlated Gaussians, in closed form or by a series"
    rows = m.X[:2]
    a, b = (float(row @ row) for row in (rows[0], rows[-1]))
    if not min(a, b) > 0.0:
        return TheoremReport("DU-DA0", says, (check("the first two rows are not zero", False),))
    c = float(rows[0] @ rows[-1])
    rho = min(max(c / math.sqrt(a * b), -1.0), 1.0)
    angle = (rho, math.sqrt(max(1.0 - rho * rho, 0.0)))
    return TheoremReport(
        "DU-DA0",
        says,
        (check("the first two rows are not zero", True, f"correlation {number(rho)}"),),
        numbers=(
            ("E[φ(u)φ(v)] at the first two rows", float(dual_kernel(phi, a, b, c))),
            ("by 12 terms of the Hermite series", float(dual_partial_sum(phi, a, b, c, terms=12))),
            (
                "by the 40 x 40 Gauss-Hermite rule",
                estimate_by_gauss_hermite(phi, math.sqrt(a), math.sqrt(b), angle),
            ),
            ("E[φ'(u)φ'(v)]", float(dual_kernel(phi, a, b, c, 1))),
            ("c_σ = 1/E φ(z)²", normalizer(phi)),
        ),
    )


@fact("OS-L6.5")
def schur_products(it: Instance) -> TheoremReport:
    """The spectrum of JJ^T between those of its factors."""
    m, net = it.m, it.start.network
    S = m.activation.derivative(preactivations_of(it)) * net.v
    low, high = movement.schur_eigenvalue_limits(m.X @ m.X.T, S @ S.T)
    other_low, other_high = movement.schur_eigenvalue_limits(S @ S.T, m.X @ m.X.T)
    return TheoremReport(
        "OS-L6.5",
        "the spectrum of an entrywise product lies between diagonal entries times eigenvalues",
        (),
        numbers=(
            ("λ_min(JJᵀ) ≥", max(low, other_low, 0.0)),
            ("λ_min(JJᵀ), measured", it.start.gram.low),
            ("λ_max(JJᵀ) ≤", min(high, other_high)),
            ("λ_max(JJᵀ), measured", it.start.gram.high),
        ),
    )


@fact("OS-L6.6")
def jacobian_size(it: Instance) -> TheoremReport:
    """The norm of the Jacobian at all weights."""
    m = it.m
    return TheoremReport(
        "OS-L6.6",
        "the Jacobian is never larger than B‖v‖‖X‖, whatever the weights",
        (bounded_slope(m),),
        numbers=(
            ("B‖v‖‖X‖", movement.jacobian_norm_limit(it.start.network.v, m.B, m.X_norm)),
            ("‖J‖ at the drawn start", it.start.b),
        ),
    )


@fact("OS-L6.7", "OS-T6.14")
def first_jacobian(it: Instance) -> TheoremReport:
    """The smallest singular value of the first Jacobian."""
    m, v = it.m, it.start.network.v
    size = float(v @ v)
    says = "the random start has σ_min(J)² ≥ ‖v‖²λ/2, but for the stated probability"
    if not (m.lam > 0.0 and math.isfinite(m.B)):
        return TheoremReport("OS-L6.7", says, (bounded_slope(m), positive_lambda(m)))
    needed = probability.head_ratio_needed(m.n, m.lam, m.B, m.X_norm)
    failure = probability.jacobian_failure(
        m.n, m.lam, head_ratio=head_ratio(it), B=m.B, X_norm=m.X_norm
    )
    wide = check(
        "‖v‖/‖v‖_∞ ≥ √(20 ln n) B‖X‖/√λ",
        head_ratio(it) >= needed,
        f"{number(head_ratio(it))}, {number(needed)} asked",
    )
    return TheoremReport(
        "OS-L6.7",
        says,
        (bounded_slope(m), positive_lambda(m), wide),
        failure=failure,
        numbers=(("‖v‖²λ/2", size * m.lam / 2.0), ("σ_min(J)² measured", it.start.gram.low)),
    )


@fact("OS-L6.12")
def first_misfit(it: Instance) -> TheoremReport:
    """The misfit of the random start."""
    m = it.m
    sharp = probability.misfit_limit(m.y_norm, m.B, it.delta, variance=m.variance)
    mean = math.sqrt(probability.expected_misfit_square(m.y_norm, m.variance))
    v = it.start.network.v
    head = check(
        "the head of OS: signs balanced, norm ‖y‖/√n",
        bool(abs(v.sum()) <= 1e-9 * np.abs(v).sum()) and it.width % 2 == 0,
        f"sum {number(float(v.sum()))}, norm {number(float(np.linalg.norm(v)))}",
    )
    return TheoremReport(
        "OS-L6.12",
        "the head of OS starts with a misfit of the size of the labels",
        (bounded_slope(m), labels(m), head),
        failure=probability.misfit_failure(m.n, m.X_norm, it.delta),
        numbers=(
            ("‖f(W₀)−y‖ ≤, printed (unit rows)", probability.misfit_limit(m.y_norm, m.B, it.delta)),
            ("‖f(W₀)−y‖ ≤, ours", sharp),
            ("root of E‖f(W₀)−y‖²", mean),
            ("‖f(W₀)−y‖ measured", it.start.residual_norm),
        ),
    )


@fact("OS-LC.3")
def order_statistics(it: Instance) -> TheoremReport:
    """How near to zero the smallest pre-activations are."""
    m, k = it.m, it.width
    count = math.ceil(6.0 * math.log(m.n / it.failure))
    says = "no sample has more than m pre-activations below m/(2k)"
    wide = check("m = 6 ln(n/δ) ≤ k", count <= k, f"m = {count}, k = {k}")
    if count > k:
        return TheoremReport("OS-LC.3", says, (unit_rows(m), wide))
    smallest = np.sort(np.abs(preactivations_of(it)), axis=1)[:, count - 1].min()
    return TheoremReport(
        "OS-LC.3",
        says,
        (unit_rows(m), wide),
        failure=probability.order_statistic_failure(m.n, count),
        numbers=(
            ("m-th smallest |w·x| ≥, printed", probability.order_statistic_limit(count, k)),
            ("the same by the proof", probability.order_statistic_limit(count, k, sharp=True)),
            ("smallest over the samples, measured", float(smallest)),
        ),
    )


@fact("OS-L6.9")
def stable_jacobian(it: Instance) -> TheoremReport:
    """The radius on which the ReLU Jacobian hardly changes."""
    m = it.m
    says = "within a small radius of a random start the ReLU Jacobian keeps its spectrum"
    if not (m.is_relu and m.lam > 0.0):
        return TheoremReport("OS-L6.9", says, (relu(m), unit_rows(m), positive_lambda(m)))
    ratio = head_ratio(it)
    index = probability.stability_index(m.lam, ratio, m.X_norm)
    radius = probability.relu_stability_radius(m.lam, ratio, m.X_norm, it.width)
    norms = np.linalg.norm(m.X, axis=1)
    change = movement.kink_jacobian_change(
        preactivations_of(it), it.start.network.v, norms, m.X_norm, radius
    )
    wide = check("m₀² ≥ 1", index >= 1.0, f"m₀² = {number(index**2)}")
    size = float(np.linalg.norm(it.start.network.v))
    return TheoremReport(
        "OS-L6.9",
        says,
        (relu(m), unit_rows(m), positive_lambda(m), wide),
        failure=probability.relu_stability_failure(m.n, m.lam, ratio, m.X_norm),
        numbers=(
            ("radius m₀³/(2k)", radius),
            ("change of J promised there, at most", size * math.sqrt(m.lam / 72.0)),
            ("change of J at this start, at most (OS-C3)", change),
        ),
    )


@fact("OS-C6.11", "OS-T6.10")
def meta_smooth(it: Instance) -> TheoremReport:
    """The smooth meta theorem at the drawn start."""
    m, s = it.m, it.start
    says = "nonlinear least squares: descent reaches zero loss if J is large and changes slowly"
    if not (s.a > 0.0 and math.isfinite(s.Lip)):
        return TheoremReport("OS-C6.11", says, (smooth(m), _full_row_rank(it)))
    ratio = rates.start_ratio(s.a, s.Lip, s.residual_norm)
    alpha, beta = s.a / 2.0, s.b + s.Lip * 8.0 * s.residual_norm / s.a
    printed = rates.smooth_meta(alpha, beta, s.Lip, s.residual_norm)
    sharp = rates.smooth_meta_sharp(alpha, beta, s.Lip, s.residual_norm)
    near = check("16 Lip ‖r‖ ≤ a² at the drawn start", ratio <= 1.0, f"ratio {number(ratio)}")
    return TheoremReport(
        "OS-C6.11",
        says,
        (smooth(m), _full_row_rank(it), near),
        None,
        printed.step_size,
        printed.rate,
        instead="OS-C1 asks for 2 Lip ‖r‖ < a² only",
        numbers=(
            ("radius 4‖r‖/α, α = a/2", printed.distance),
            ("path by the sharper form (OS-C1')", sharp.path),
            ("factor per step by the sharper form", sharp.rate),
        ),
    )


def _full_row_rank(it: Instance) -> Hypothesis:
    return check("J has full row rank at the drawn start", it.start.a > 0.0, number(it.start.a))


@fact("OS-T6.13")
def meta_nonsmooth(it: Instance) -> TheoremReport:
    """The nonsmooth meta theorem at the drawn start."""
    m, s = it.m, it.start
    says = "least squares with kinks: descent reaches zero loss if J hardly changes nearby"
    if not (m.is_relu and s.a > 0.0):
        return TheoremReport("OS-T6.13", says, (relu(m), _full_row_rank(it)))
    v, alpha = s.network.v, s.a / 2.0
    beta = movement.jacobian_norm_limit(v, 1.0, m.X_norm)
    found = rates.nonsmooth_meta(alpha, beta, s.residual_norm)
    norms = np.linalg.norm(m.X, axis=1)
    change = movement.kink_jacobian_change(
        preactivations_of(it), v, norms, m.X_norm, found.distance
    )
    close = check(
        "J changes by at most α/3 within 3‖r‖/α, α = a/2",
        change <= alpha / 3.0,
        f"at most {number(change)}, {number(alpha / 3.0)} allowed",
    )
    return TheoremReport(
        "OS-T6.13",
        says,
        (relu(m), _full_row_rank(it), close),
        None,
        found.step_size,
        found.rate,
        instead="OS-C3: the same with the best radius of a scan",
        numbers=(("distance 3‖r‖/α", found.distance),),
    )

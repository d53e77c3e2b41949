"""The theorems of OS for smooth activations on one instance: printed ones, and ours without unknown
constants.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from globalmin.errors import HypothesisError
from globalmin.facts.finding import (
    CONVERGES,
    Hypothesis,
    TheoremReport,
    check,
    enough_width,
    labels,
    number,
    positive_lambda,
    scale_rows,
    smooth,
    unit_rows,
    unknown,
)
from globalmin.facts.registry import fact
from globalmin.kernels import probability, random_features, rates, widths
from globalmin.shallow.sgd_guarantee import stochastic_guarantee
from globalmin.shallow.widths import moderate_ratio

if TYPE_CHECKING:
    from globalmin.facts.instance import Instance, Measurements, Start


NU = 3.0  # of OS-T2.6: larger values make its event likelier and its step smaller


@fact("OS-T6.2", headline=True)
def meta_theorem(it: Instance) -> TheoremReport:
    """OS-T6.2 with the constants of its proof; one bound for both derivatives, as printed."""
    m, start, delta = it.m, it.start, it.delta
    return _printed(m, start, "OS-T6.2", m.lam, positive_lambda(m), delta=delta)


@fact("OS-T2.1", headline=True)
def khatri_rao_theorem(it: Instance) -> TheoremReport:
    r"""OS-T2.1: the same with $\mu_\phi^2\sigma_{\min}(X*X)^2$ in place of lambda."""
    m, start, delta = it.m, it.start, it.delta
    lam = (m.mu * m.sigma) ** 2
    reason = (
        f"n = {m.n} exceeds d(d+1)/2 = {m.d * (m.d + 1) // 2}"
        if m.n > m.d * (m.d + 1) // 2
        else "parallel or zero rows"
    )
    shown = (
        f"σ_min(X*X) = {number(m.sigma)}, μ_φ = "
        f"{number(m.mu)}{'' if m.sigma > 0 else ': ' + reason}"
    )
    return _printed(
        m, start, "OS-T2.1", lam, check("μ_φ σ_min(X*X) > 0", lam > 0.0, shown), delta=delta
    )


def _printed(
    m: Measurements, start: Start, item: str, lam: float, gap: Hypothesis, *, delta: float
) -> TheoremReport:
    B, k = max(m.B, m.M), start.network.width
    common = (smooth(m), unit_rows(m), labels(m), gap)
    if not (math.isfinite(B) and lam > 0.0 and m.y_norm > 0.0 and m.has_unit_rows):
        return TheoremReport(
            item, CONVERGES, common, width=math.inf if lam <= 0.0 else None, instead=scale_rows(m)
        )
    needed = widths.smooth_width(m.n, lam, X_norm=m.X_norm, B=B, M=B, delta=delta)
    found = rates.smooth_guarantee(
        m.n, lam, X_norm=m.X_norm, y_norm=m.y_norm, residual_norm=start.residual_norm, B=B
    )
    failure = min(1.0, 1.0 / m.n + probability.misfit_failure(m.n, m.X_norm, delta))
    return TheoremReport(
        item, CONVERGES, (*common, enough_width(k, needed)), needed, found.step_size, found.rate,
        failure,
        instead="OS-C6 asks for far less, and OS-C1 can be tested at any weights",
    )  # fmt: skip


@fact("OS-C2.2", headline=True)
def sphere_corollary(it: Instance) -> TheoremReport:
    """OS-C2.2: rows uniform on the sphere; constants exist only."""
    m, start = it.m, it.start
    k = start.network.width
    return TheoremReport(
        "OS-C2.2",
        "for softplus and rows drawn from the unit sphere, about n²/d neurons suffice",
        (
            check("softplus", m.activation.name == "softplus", f"{m.activation}", is_scope=True),
            unit_rows(m),
            check("d ≤ n", m.d <= m.n, f"d = {m.d}, n = {m.n}"),
            unknown("n ≤ c d²", f"n/d² = {number(m.n / m.d**2)}"),
            unknown("√(kd) ≥ C n", f"√(kd)/n = {number(moderate_ratio(m.n, m.d, k))}"),
            unknown("rows drawn uniformly from the sphere", "a law, not visible in one data set"),
        ),
        instead="measure ‖X‖ and σ_min(X*X) and read OS-T2.1, or OS-C6",
    )


@fact("OS-T2.6", headline=True)
def stochastic_theorem(it: Instance) -> TheoremReport:
    """OS-T2.6, SGD."""
    m, start = it.m, it.start
    says = "stochastic gradient descent converges in mean on an event of stated probability"
    lam = (m.mu * m.sigma) ** 2
    common = (
        smooth(m),
        unit_rows(m),
        labels(m),
        check("μ_φ σ_min(X*X) > 0", lam > 0.0, f"{number(math.sqrt(lam))}"),
    )
    if not (lam > 0.0 and m.y_norm > 0.0 and math.isfinite(max(m.B, m.M)) and m.has_unit_rows):
        return TheoremReport("OS-T2.6", says, common, instead=scale_rows(m))
    found = rates.printed_stochastic_guarantee(
        m.n,
        m.mu,
        m.sigma,
        B=max(m.B, m.M),
        X_norm=m.X_norm,
        y_norm=m.y_norm,
        n_weights=start.network.W.size,
        nu=NU,
    )
    width = unknown("width as in OS-T2.1, radius c ν √n", "c is in the cited paper only")
    meaningful = check(
        "P(E) > 0", found.failure < 1.0, f"1 − P(E) ≤ {number(found.failure)} at ν = {number(NU)}"
    )
    return TheoremReport(
        "OS-T2.6", says, (*common, width, meaningful), None, found.step_size,
        math.sqrt(max(found.rate, 0.0)), found.failure,
        instead="OS-C4: explicit step, radius and probability from any weights",
    )  # fmt: skip


@fact("OS-C6", headline=True)
def explicit_theorem(it: Instance) -> TheoremReport:
    """OS-C6 (ours): fully explicit, any row norms."""
    m, start, delta, theta = it.m, it.start, it.delta, it.theta
    says = "ours: with this width the descent theorem OS-C1 applies at the random start itself"
    hypotheses = (smooth(m), labels(m), positive_lambda(m))
    if not (math.isfinite(m.B) and math.isfinite(m.M) and m.lam > 0.0 and m.y_norm > 0.0):
        return TheoremReport("OS-C6", says, hypotheses, width=math.inf if m.lam <= 0.0 else None)
    needed = explicit_width(m, delta=delta, theta=theta)
    k = start.network.width
    failure = widths.explicit_width_failure(
        m.n, max(k, needed), m.lam, B=m.B, X_norm=m.X_norm, theta=theta, delta=delta
    )
    found = start.descent
    eta, rate = (found.eta, found.rate) if found else (None, None)
    instead = "below this width: train, then OS-C1 or OS-C2 at the trained weights (gm.certify)"
    return TheoremReport(
        "OS-C6", says, (*hypotheses, enough_width(k, needed)), needed, eta, rate, failure, instead
    )


def explicit_width(m: Measurements, *, delta: float, theta: float) -> float:
    """The width of OS-C6 on these data; infinite where it does not apply."""
    if not (math.isfinite(m.B) and math.isfinite(m.M)):
        return math.inf
    options = {"B": m.B, "M": m.M, "variance": m.variance, "theta": theta, "delta": delta}
    return widths.explicit_width(m.n, m.lam, kappa4=m.kappa4, **options)


@fact("OS-C1", headline=True)
def descent_at_start(it: Instance) -> TheoremReport:
    """OS-C1 (ours) at the drawn start."""
    m, start = it.m, it.start
    found = start.descent
    measured = (
        f"2 Lip ‖r‖/a² = {number(start.descent_ratio)} (a = {number(start.a)}, Lip = "
        f"{number(start.Lip)})"
    )
    return TheoremReport(
        "OS-C1",
        "ours: gradient descent from exactly these weights reaches zero loss",
        (smooth(m), check("2 Lip ‖r‖ < a² at the drawn start", found is not None, measured)),
        None, found.eta if found else None, found.rate if found else None,
        instead="it fires after some training at widths near kd ≥ 1.2 n: gm.train, then gm.certify",
    )  # fmt: skip


@fact("OS-C2", headline=True)
def existence_at_start(it: Instance) -> TheoremReport:
    """OS-C2 (ours) at the drawn start."""
    m, start = it.m, it.start
    return TheoremReport(
        "OS-C2",
        "ours: a network with zero loss exists near exactly these weights",
        (
            smooth(m),
            check(
                "2 Lip e ≤ a at the drawn start",
                start.newton_ratio <= 1.0,
                f"2 Lip e/a = {number(start.newton_ratio)}",
            ),
        ),
        instead="it fires earlier in training than OS-C1",
    )


@fact("OS-C4", headline=True)
def stochastic_at_start(it: Instance) -> TheoremReport:
    """OS-C4 (ours) at the drawn start."""
    m, start = it.m, it.start
    says = (
        "ours: stochastic gradient descent from exactly these weights, with an explicit probability"
    )
    if not (math.isfinite(start.Lip) and start.a > 0.0 and start.Lip > 0.0):
        return TheoremReport(
            "OS-C4",
            says,
            (smooth(m), check("a > 0 at the drawn start", start.a > 0.0, f"a = {number(start.a)}")),
        )
    row = m.B * float((start.network.v @ start.network.v) ** 0.5) * m.row_norms[1]
    found = stochastic_guarantee(
        start.a, start.b, start.Lip, start.residual_norm, n=m.n, row_norm=row
    )
    meaningful = check(
        "probability of leaving the ball below 1",
        found.failure < 1.0,
        f"at most {number(found.failure)}",
    )
    return TheoremReport(
        "OS-C4", says, (smooth(m), meaningful), None, found.step_size, math.sqrt(found.rate),
        found.failure,
        instead="apply it after some training, when ‖r‖ is small",
    )  # fmt: skip


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

"""The theorems of OS for smooth activations on one instance: printed ones, and ours without unknown
constants.

The paper has one letter B for the bounds of phi' and phi''. Widths are the printed ones, with the
larger of the two; steps and rates need that of phi' only (`step_sizes`).
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from globalmin.activations.moments import slope_coefficients
from globalmin.errors import HypothesisError
from globalmin.facts.assumptions import (
    CONVERGES,
    DISTINCT,
    enough_width,
    labels,
    positive_lambda,
    promised,
    scale_rows,
    smooth,
    unit_rows,
)
from globalmin.facts.finding import Hypothesis, TheoremReport, check, fact, number, unknown
from globalmin.kernels import probability, random_features, rates, widths
from globalmin.linalg.spectrum import ALL_LIMIT, extremes
from globalmin.shallow.step_sizes import stochastic_nu, stochastic_step
from globalmin.shallow.widths import moderate_ratio

if TYPE_CHECKING:
    from globalmin.facts.instance import Instance, Measurements

POWERS = 4  # terms of the Hermite series of phi' that OS-LH.1 is asked for


@fact("OS-T6.2", headline=True)
def meta_theorem(it: Instance) -> TheoremReport:
    """OS-T6.2 with the constants of its proof."""
    return _printed(it, "OS-T6.2", it.m.lam, positive_lambda(it.m))


@fact("OS-T2.1", headline=True)
def khatri_rao_theorem(it: Instance) -> TheoremReport:
    r"""OS-T2.1: the same with $\mu_\phi^2\sigma_{\min}(X*X)^2$ in place of lambda."""
    m = it.m
    return _printed(it, "OS-T2.1", (m.mu * m.sigma) ** 2, _products(m), _higher(m))


@fact("OS-LH.1", headline=True)
def hermite_theorem(it: Instance) -> TheoremReport:
    r"""OS-T2.1 with $\mu_r(\phi')^2\sigma_{\min}(X^{*(r+1)})^2$, the best r of the first ones."""
    m, found = it.m, powers(it.m)
    best = max(found, key=lambda power: power.lam)
    shown = (
        f"best r = {best.r}: μ_r(φ') = {number(best.mu)}, σ_min(X^*{best.r + 1}) = "
        f"{number(best.sigma)}"
    )
    gap = check(
        f"μ_r(φ') σ_min(X^*(r+1)) > 0 for some r < {POWERS}",
        best.lam > 0.0,
        shown if best.lam > 0.0 else _why_no_power(m),
        remedy=DISTINCT if m.facts.lines or m.facts.zero_rows else "fewer samples per feature",
    )
    report = _printed(it, "OS-LH.1", best.lam, gap)
    numbers = tuple((f"at least, r = {power.r}", power.lam) for power in found)
    return TheoremReport(
        "OS-LH.1",
        "OS-T2.1 with a higher Khatri-Rao power of the data where the square does not serve: "
        f"{CONVERGES}",
        report.hypotheses, report.width, report.step_size, report.rate, report.failure,
        report.instead, (("λ(X), computed", m.lam), *numbers, *report.numbers),
    )  # fmt: skip


class Power(NamedTuple):
    r"""One term of OS-LH.1: $\mu_r(\phi')$, $\sigma_{\min}(X^{*(r+1)})$, and what they say."""

    r: int
    mu: float
    sigma: float

    @property
    def lam(self) -> float:
        """The lower bound of lambda(X) for rows of norm 1."""
        return (self.mu * self.sigma) ** 2


@lru_cache(maxsize=2)
def powers(m: Measurements) -> tuple[Power, ...]:
    """The terms r < POWERS; beyond the size where eigenvalues are cheap only the first that can
    serve.
    """
    found, K = [], m.X @ m.X.T
    for r, mu in enumerate(slope_coefficients(m.activation, POWERS).tolist()):
        served = m.n > ALL_LIMIT and any(power.lam > 0.0 for power in found)
        singular = bool(m.facts.lines or m.facts.zero_rows)
        if mu == 0.0 or served or singular or m.n > math.comb(m.d + r, r + 1):
            found.append(Power(r, mu, 0.0))
        else:
            low = m.squares.low if r == 1 else extremes(K ** (r + 1)).low
            found.append(Power(r, mu, math.sqrt(low)))
    return tuple(found)


def independent_products(m: Measurements) -> Hypothesis:
    r"""$\sigma_{\min}(X*X) > 0$."""
    return check(
        "σ_min(X*X) > 0",
        m.sigma > 0.0,
        f"σ_min(X*X) = {number(m.sigma)}{'' if m.sigma > 0.0 else ': ' + _why_dependent(m)}",
        remedy=_spread(m),
    )


def _products(m: Measurements) -> Hypothesis:
    reasons = []
    if m.mu == 0.0:
        reasons.append(f"φ' of {m.activation} is even, so μ_φ = E[g φ'(g)] is exactly 0")
    if m.sigma == 0.0:
        reasons.append(_why_dependent(m))
    shown = f"σ_min(X*X) = {number(m.sigma)}, μ_φ = {number(m.mu)}"
    return check(
        "μ_φ σ_min(X*X) > 0",
        not reasons,
        ": ".join([shown, "; ".join(reasons)]) if reasons else shown,
        remedy="a higher power of the data: OS-LH.1" if m.mu == 0.0 else _spread(m),
    )


def _spread(m: Measurements) -> str:
    """What makes the products of the features independent."""
    if m.n > m.d * (m.d + 1) // 2 and not (m.facts.lines or m.facts.zero_rows):
        return "at most d(d+1)/2 samples"
    return DISTINCT


def _why_dependent(m: Measurements) -> str:
    if m.n > m.d * (m.d + 1) // 2:
        return f"n = {m.n} exceeds d(d+1)/2 = {m.d * (m.d + 1) // 2}"
    if m.facts.lines or m.facts.zero_rows:
        return "parallel or zero rows"
    return "below what floats resolve"


def _why_no_power(m: Measurements) -> str:
    if m.facts.lines or m.facts.zero_rows:
        return "parallel or zero rows"
    usable = [power.r for power in powers(m) if power.mu != 0.0]
    most = max((math.comb(m.d + r, r + 1) for r in usable), default=0)
    return f"n = {m.n}, at most {most} products of the features" if m.n > most else "below rounding"


def _higher(m: Measurements) -> str:
    """What OS-LH.1 offers where the square of the data does not serve."""
    if m.mu * m.sigma != 0.0 or not math.isfinite(max(m.B, m.M)):
        return ""
    best = max(powers(m), key=lambda power: power.lam)
    return (
        f"OS-LH.1 with r = {best.r}: μ_r(φ')² σ_min(X^*{best.r + 1})² = {number(best.lam)} takes "
        "the place of μ_φ² σ_min(X*X)²"
        if best.lam > 0.0
        else ""
    )


def _printed(
    it: Instance, item: str, lam: float, gap: Hypothesis, instead: str = ""
) -> TheoremReport:
    m, k, delta = it.m, it.width, it.delta
    common = (smooth(m), unit_rows(m), labels(m), gap)
    if not _is_complete(m, lam):
        width = math.inf if lam <= 0.0 else None
        return TheoremReport(item, CONVERGES, common, width, instead=instead or scale_rows(m))
    needed = printed_width(m, lam, delta)
    found = rates.smooth_guarantee(
        m.n, lam, X_norm=m.X_norm, y_norm=m.y_norm, residual_norm=it.start.residual_norm, B=m.B
    )
    failure = probability.smooth_failure(m.n, m.X_norm, delta)
    apart = widths.smooth_width(m.n, lam, X_norm=m.X_norm, B=m.B, M=m.M, delta=delta)
    return TheoremReport(
        item, CONVERGES, (*common, enough_width(k, needed), promised(failure)),
        needed, found.step_size, found.rate, failure,
        instead="OS-C6 asks for far less, and OS-C1 can be tested at any weights",
        numbers=(
            ("width with sup |φ'| and sup |φ''| kept apart, same proof", apart),
            ("path from this start, at most", found.path),
        ),
    )  # fmt: skip


def _is_complete(m: Measurements, lam: float) -> bool:
    """Whether all numbers of a printed theorem exist."""
    return math.isfinite(max(m.B, m.M)) and lam > 0.0 and m.y_norm > 0.0 and m.has_unit_rows


def printed_width(m: Measurements, lam: float, delta: float) -> float:
    """The width of OS-T6.2 with one bound for both derivatives, as printed."""
    B = max(m.B, m.M)
    return widths.smooth_width(m.n, lam, X_norm=m.X_norm, B=B, M=B, delta=delta)


@fact("OS-C2.2", headline=True)
def sphere_corollary(it: Instance) -> TheoremReport:
    """OS-C2.2: rows uniform on the sphere; constants exist only."""
    m, k = it.m, it.width
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
    """OS-T2.6, SGD: nu solved from `failure`, the width that of OS-T2.1."""
    m, n_weights = it.m, it.start.network.W.size
    says = (
        "one-sample stochastic gradient descent converges in mean, E[‖r_t‖² 1_E] shrinking by the "
        "square of the rate in every update, on an event E of stated probability"
    )
    gap = abs(m.mu) * m.sigma
    common = (smooth(m), unit_rows(m), labels(m), _products(m))
    if not _is_complete(m, gap**2):
        return TheoremReport(
            "OS-T2.6", says, common,
            width=math.inf if gap == 0.0 else None,
            instead=_higher(m) or scale_rows(m) or "OS-C4 at actual weights",
            numbers=_higher_step(it),
        )  # fmt: skip
    nu = stochastic_nu(gap, failure=it.failure, B=m.B, X_norm=m.X_norm, n_weights=n_weights)
    found = rates.printed_stochastic_guarantee(
        m.n, m.mu, m.sigma, B=m.B, X_norm=m.X_norm, y_norm=m.y_norm, n_weights=n_weights, nu=nu
    )
    start = probability.smooth_failure(m.n, m.X_norm, it.delta)
    failure = min(1.0, start + found.failure)
    needed = printed_width(m, gap**2, it.delta)
    return TheoremReport(
        "OS-T2.6", says, (*common, enough_width(it.width, needed), promised(failure)),
        needed, found.step_size, math.sqrt(max(found.rate, 0.0)), failure,
        instead="OS-C4: explicit step, radius and probability from any weights",
        numbers=(
            ("ν, the least ≥ 3 with 1 − P(E) ≤ failure", nu),
            ("1 − P(E), at most", found.failure),
            ("probability that the random start is a bad one, at most", start),
        ),
    )  # fmt: skip


def _higher_step(it: Instance) -> tuple[tuple[str, float], ...]:
    """The step of OS-T2.6 with OS-LH.1's bound in the place of its square."""
    m = it.m
    gap = math.sqrt(max(power.lam for power in powers(m))) if m.has_unit_rows else 0.0
    if not _is_complete(m, gap**2):
        return ()
    nu = stochastic_nu(
        gap, failure=it.failure, B=m.B, X_norm=m.X_norm, n_weights=it.start.network.W.size
    )
    eta = stochastic_step(m.n, gap, nu=nu, B=m.B, X_norm=m.X_norm, y_norm=m.y_norm)
    return (("step with OS-LH.1 in place of μ_φ σ_min(X*X)", eta),)


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
        "OS-C6", says, (*hypotheses, enough_width(k, needed), promised(failure)),
        needed, eta, rate, failure, instead,
    )  # fmt: skip


def explicit_width(m: Measurements, *, delta: float, theta: float) -> float:
    """The width of OS-C6 on these data; infinite where it does not apply."""
    if not (math.isfinite(m.B) and math.isfinite(m.M)):
        return math.inf
    options = {"B": m.B, "M": m.M, "variance": m.variance, "theta": theta, "delta": delta}
    return widths.explicit_width(m.n, m.lam, kappa4=m.kappa4, **options)


@fact("OS-T3.2", headline=True)
def random_feature_theorem(it: Instance) -> TheoremReport:
    """OS-T3.2 with an explicit number of features (ours) beside the printed one."""
    m, start, failure = it.m, it.start, it.failure
    says = "with W random and only the head trained, some head fits all labels exactly"
    lam, k = m.feature.low, start.network.width
    gap = check("λ̃(X) > 0", lam > 0.0, f"λ̃ = {number(lam)}{_why(m)}", remedy=DISTINCT)
    bounded = check("φ' is bounded", math.isfinite(m.B), f"sup |φ'| = {number(m.B)}", is_scope=True)
    if not (lam > 0.0 and math.isfinite(m.B)):
        return TheoremReport(
            "OS-T3.2", says, (bounded, gap), width=math.inf if lam <= 0.0 else None,
            numbers=_fitted(it),
        )  # fmt: skip
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
    fitted = _fitted(it)
    return TheoremReport(
        "OS-T3.2", says, (bounded, gap, enough_width(k, needed)), needed, None, None, failure,
        instead=_measured_head(fitted[0][1]),
        numbers=(
            *fitted,
            ("failure probability at this width, at most", at_this_width),
            ("features by the printed constant (rows of norm 1)", printed),
        ),
    )  # fmt: skip


def _measured_head(lambda_min: float) -> str:
    """The conclusion at this network, which needs no theorem."""
    if lambda_min > 0.0:
        return (
            f"measured at the drawn start: λ_min(ΦΦᵀ) = {number(lambda_min)} > 0, so some head "
            'fits all labels here already; gm.train(trained="v") finds it'
        )
    return (
        "measured at the drawn start: ΦΦᵀ is singular, so no head fits all labels; it takes k ≥ n "
        "and rows that differ"
    )


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

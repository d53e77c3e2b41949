"""The theorems of OS and DU chapter 2 for two-layer ReLU networks on one instance."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from globalmin.facts.assumptions import (
    CONVERGES,
    DISTINCT,
    TRAINED,
    enough_width,
    labels,
    no_parallel_rows,
    positive_lambda,
    promised,
    relu,
    scale_rows,
    unit_rows,
)
from globalmin.facts.finding import Hypothesis, TheoremReport, check, fact, number, unknown
from globalmin.kernels import movement, probability, rates, widths
from globalmin.kernels.facts_smooth import independent_products
from globalmin.shallow.step_sizes import relu_step
from globalmin.shallow.widths import moderate_relu_ratio

if TYPE_CHECKING:
    from globalmin.facts.instance import Instance, Measurements

    Failing = Callable[[int, float, float], float]  # n, ‖X‖, delta -> probability


@fact("OS-T6.3", headline=True)
def meta_theorem(it: Instance) -> TheoremReport:
    """OS-T6.3 with the constant of its proof, 9.216e9."""
    m = it.m
    return _printed(it, "OS-T6.3", m.lam, positive_lambda(m), probability.relu_failure)


@fact("OS-T2.3", headline=True)
def khatri_rao_theorem(it: Instance) -> TheoremReport:
    r"""OS-T2.3: $\sigma_{\min}(X*X)^2/(2\pi)$ in place of lambda."""
    m = it.m
    lam = m.squares.low / (2.0 * math.pi)
    failing = probability.relu_failure_products
    return _printed(it, "OS-T2.3", lam, independent_products(m), failing)


def _printed(
    it: Instance, item: str, lam: float, gap: Hypothesis, failing: Failing
) -> TheoremReport:
    m, start, delta = it.m, it.start, it.delta
    hypotheses = (relu(m), unit_rows(m), labels(m), gap)
    if not (lam > 0.0 and m.y_norm > 0.0 and m.has_unit_rows):
        return TheoremReport(
            item,
            CONVERGES,
            hypotheses,
            width=math.inf if lam <= 0.0 else None,
            instead=scale_rows(m),
        )
    needed = widths.relu_width(m.n, lam, X_norm=m.X_norm, delta=delta)
    found = rates.relu_guarantee(
        m.n, lam, X_norm=m.X_norm, y_norm=m.y_norm, residual_norm=start.residual_norm
    )
    wide = enough_width(start.network.width, needed)
    failure = failing(m.n, m.X_norm, delta)
    return TheoremReport(
        item, CONVERGES, (*hypotheses, wide, promised(failure)),
        needed, found.step_size, found.rate, failure,
        instead="OS-C3 and the claim relu-descent speak of actual weights, before or after "
                "training",
        numbers=(("distance from the start, at most", found.distance),),
    )  # fmt: skip


@fact("OS-C2.4", headline=True)
def sphere_corollary(it: Instance) -> TheoremReport:
    """OS-C2.4; constants exist only."""
    m, start = it.m, it.start
    ratio = moderate_relu_ratio(m.n, m.d, start.network.width)
    return TheoremReport(
        "OS-C2.4",
        "for ReLU and rows drawn from the unit sphere, about n⁴/d³ neurons suffice",
        (
            relu(m),
            unit_rows(m),
            check("d ≤ n", m.d <= m.n, f"d = {m.d}, n = {m.n}"),
            unknown("n ≤ c d²", f"n/d² = {number(m.n / m.d**2)}"),
            unknown("√(kd) ≥ C n²/d", f"√(kd) d/n² = {number(ratio)}"),
        ),
        instead="measure σ_min(X*X) and read OS-T2.3",
    )


@fact("OS-T2.5", headline=True)
def separated_theorem(it: Instance) -> TheoremReport:
    """OS-T2.5: separated rows."""
    m, start, delta = it.m, it.start, it.delta
    rows = "" if m.separation > 0.0 else f": {no_parallel_rows(m).measured}"
    gap = check(
        "separation δ > 0",
        m.separation > 0.0,
        f"δ = {number(m.separation)}{rows}",
        remedy=DISTINCT,
    )
    hypotheses = (relu(m), unit_rows(m), labels(m), gap)
    says = "rows that are pairwise separated are enough for gradient descent to reach zero loss"
    if not (0.0 < m.separation < math.inf and m.y_norm > 0.0 and m.has_unit_rows):
        return TheoremReport(
            "OS-T2.5",
            says,
            hypotheses,
            width=math.inf if m.separation == 0.0 else None,
            instead=scale_rows(m),
        )
    needed = widths.separated_width(m.n, m.separation, X_norm=m.X_norm, nu=delta)
    eta = relu_step(m.n, X_norm=m.X_norm, y_norm=m.y_norm)
    rate = rates.separated_rate(m.n, m.separation, m.X_norm)
    failure = probability.relu_failure(m.n, m.X_norm, delta)
    wide = enough_width(start.network.width, needed)
    return TheoremReport(
        "OS-T2.5",
        says,
        (*hypotheses, wide, promised(failure)),
        needed,
        eta,
        rate,
        failure,
        instead="the exact λ(X) is far above δ/(100 n²): read OS-T6.3",
        numbers=(
            ("δ/(100 n²)", m.separation / (widths.SEPARATION * m.n**2)),
            ("λ(X), computed", m.lam),
        ),
    )


@fact("OS-C3", headline=True)
def kink_theorem(it: Instance) -> TheoremReport:
    """OS-C3 (ours) at the drawn start."""
    m, start = it.m, it.start
    found = start.kink
    shown = (
        f"radius {number(found.radius)}"
        if found
        else f"no radius closes (a = {number(start.a)}, ‖r‖ = {number(start.residual_norm)})"
    )
    guarantee = found.guarantee if found else None
    return TheoremReport(
        "OS-C3",
        "ours: gradient descent from exactly these ReLU weights reaches zero loss, sign changes "
        "counted",
        (
            relu(m),
            check(
                "a radius R with ‖r‖/(a − 3ε(R)) ≤ R exists at the drawn start",
                found is not None,
                shown,
                remedy=TRAINED,
            ),
        ),
        None, guarantee.step_size if guarantee else None, guarantee.rate if guarantee else None,
        instead="train first: margins grow and ‖r‖ shrinks; the claim relu-interpolation needs no "
                "descent",
    )  # fmt: skip


@fact("DU-T2.1", headline=True)
def positive_gram(it: Instance) -> TheoremReport:
    """DU-T2.1."""
    m = it.m
    return TheoremReport(
        "DU-T2.1",
        "λ₀ = λ_min(H∞) > 0 if no two inputs are parallel; here λ₀ = "
        f"{number(m.lam) if m.is_relu else '– (ReLU only)'}",
        (relu(m), no_parallel_rows(m)),
        instead="λ₀ itself is computed; antiparallel rows may still have λ₀ > 0",
    )


@fact("DU-L2.1", headline=True)
def first_gram(it: Instance) -> TheoremReport:
    """DU-L2.1 with explicit widths, the matrix Chernoff one."""
    m, start, failure = it.m, it.start, it.failure
    says = "the Gram matrix of the random start is close to its limit: λ_min ≥ ¾ λ₀"
    common = (relu(m), positive_lambda(m))
    if not (m.is_relu and m.lam > 0.0):
        return TheoremReport("DU-L2.1", says, common, width=math.inf if m.is_relu else None)
    needed = widths.gram_width(m.n, m.lam, X_norm=m.X_norm, delta=failure)
    printed = widths.gram_width_entrywise(m.n, m.lam, K_frobenius=m.K_frobenius, delta=failure)
    size = float(start.network.v @ start.network.v)
    measured = (
        f"printed route: {number(printed)}; measured at this start λ_min = "
        f"{number(start.gram.low / size)}, λ₀ = {number(m.lam)}"
    )
    return TheoremReport(
        "DU-L2.1",
        says,
        (*common, enough_width(start.network.width, needed)),
        needed,
        None,
        None,
        failure,
        measured,
    )


def _first_misfit(m: Measurements, failure: float) -> float:
    squares = float((m.X * m.X).sum())
    return probability.first_misfit_square_limit(m.y_norm, squares, failure)


def _row_norms(m: Measurements) -> list[float]:
    return [math.sqrt(float(row @ row)) for row in m.X]


@fact("DU-T2.2", headline=True)
def flow_theorem(it: Instance) -> TheoremReport:
    """DU-T2.2 with the constants of its proof."""
    m, start, failure = it.m, it.start, it.failure
    says = "gradient flow of a two-layer ReLU network converges, ‖u(t)−y‖² ≤ e^(−λ₀t)‖u(0)−y‖²"
    common = (relu(m), no_parallel_rows(m), positive_lambda(m))
    if not (m.is_relu and m.lam > 0.0):
        return TheoremReport("DU-T2.2", says, common, width=math.inf if m.is_relu else None)
    misfit, norms = _first_misfit(m, failure), _row_norms(m)
    needed = widths.flow_width(m.n, m.lam, misfit_square=misfit, delta=failure, row_norms=norms)
    k = start.network.width
    moved = movement.flow_movement(m.X_norm, math.sqrt(misfit), k, m.lam)
    room = probability.stable_radius(m.lam, math.fsum(norms), failure)
    instead = (
        f"at width {number(k)} the weights may move {number(moved)} but only {number(room)} is "
        "allowed; see OS-C3"
    )
    wide = enough_width(k, needed)
    return TheoremReport(
        "DU-T2.2", says, (*common, wide), needed, None, None, min(1.0, 3.0 * failure), instead
    )


@fact("DU-T2.3", headline=True)
def descent_theorem(it: Instance) -> TheoremReport:
    """DU-T2.3 with the constants of its proof."""
    m, start, failure = it.m, it.start, it.failure
    says = (
        "gradient descent on a two-layer ReLU network converges, ‖u(k)−y‖² ≤ (1−ηλ₀/2)^k ‖u(0)−y‖²"
    )
    common = (relu(m), no_parallel_rows(m), positive_lambda(m))
    if not (m.is_relu and m.lam > 0.0):
        return TheoremReport("DU-T2.3", says, common, width=math.inf if m.is_relu else None)
    misfit, norms = _first_misfit(m, failure), _row_norms(m)
    needed = widths.descent_width(m.n, m.lam, misfit_square=misfit, delta=failure, row_norms=norms)
    eta = rates.relu_step_limit(m.lam, math.fsum(s * s for s in norms))
    rate = math.sqrt(1.0 - eta * m.lam / 2.0)
    wide = enough_width(start.network.width, needed)
    return TheoremReport(
        "DU-T2.3", says, (*common, wide), needed, eta, rate, min(1.0, 3.0 * failure),
        instead="its step η ≤ λ₀/(4‖X‖_F⁴) is far below 2/λ_max; OS-C3 allows 1/(b+ε)²",
    )  # fmt: skip

"""The landscape of quadratic networks (SJL-T2.1, SJL-T2.2 and their quantified forms) on one
instance, part by part: every hypothesis is decided on the data.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from globalmin.facts.finding import Finding, Hypothesis, TheoremReport, check, fact, number
from globalmin.linalg.symmetric import design_matrix, head_counts, moment_matrix, unsvec
from globalmin.quadratic.approximate import (
    estimate_mixed_excess,
    estimate_planted_excess,
    printed_planted_excess,
)
from globalmin.quadratic.duality import (
    estimate_span_gap,
    is_stationary_in_matrix,
    positive_dual,
    positive_kkt,
)
from globalmin.quadratic.identifiability import critical_samples
from globalmin.quadratic.solve import solve_quadratic
from globalmin.shallow.hessian import (
    estimate_least_eigenvalue_below,
    quadratic_gradient,
    quadratic_hessian_form,
)
from globalmin.shallow.network import residual
from globalmin.shallow.widths import quadratic_width

if TYPE_CHECKING:
    from globalmin._types import Array
    from globalmin.facts.instance import Instance, Measurements

SMALL = 1e-6  # of ‖y‖: the gradient norm and curvature that SJL-T2.2a is asked about
DECIDED_LIMIT = 4_000_000  # n d² up to which the positive semidefinite fit is solved
FITTED, UNFITTED = 1e-9, 1e-6  # of (1/2)‖y‖²: the least loss counts as zero, as not zero
FULL_RANK_LIMIT = 1_300  # d(d+1)/2 up to which the rank of the products is computed


def quadratic(m: Measurements) -> Hypothesis:
    """The activation is z^2."""
    return check("φ(z) = z²", m.activation.name == "quadratic", f"{m.activation}", is_scope=True)


def mixed_signs(it: Instance) -> Hypothesis:
    """At least d heads of each sign, so that k >= 2d."""
    plus, minus = head_counts(it.start.network.v)
    return check(
        f"at least d = {it.m.d} positive and {it.m.d} negative head weights",
        min(plus, minus) >= it.m.d,
        f"{plus} and {minus}",
    )


def one_sign(it: Instance) -> Hypothesis:
    """All head weights of one sign or zero, at least d of them not zero."""
    plus, minus = head_counts(it.start.network.v)
    remedy = '; plan with scheme="positive"' if plus and minus else ""
    return check(
        f"head weights of one sign, at least d = {it.m.d} of them nonzero",
        min(plus, minus) == 0 and max(plus, minus) >= it.m.d,
        f"{plus} positive, {minus} negative{remedy}",
    )


def least_loss(it: Instance) -> float:
    r"""$\min L = \frac12\|(I - \Pi)y\|^2$ over all quadratic networks, from the labels alone."""
    m = it.m
    return max(0.5 * float(m.y @ m.y) - estimate_span_gap(m.X, -m.y), 0.0)


@fact("SJL-T2.1", headline=True)
def mixed_theorem(it: Instance) -> TheoremReport:
    """SJL-T2.1, for any number of samples: no constant is unknown."""
    m = it.m
    numbers: tuple[tuple[str, float], ...] = ()
    if m.activation.name == "quadratic":
        numbers = (
            ("least loss of all quadratic networks, (1/2)Σr²", least_loss(it)),
            ("loss of the network", 0.5 * it.start.residual_norm**2),
            ("most negative curvature at the saddle W = 0", curvature_at_zero(it)),
        )
    return TheoremReport(
        "SJL-T2.1",
        "quadratic network, signs mixed, any data of any size: no spurious minima, every other "
        "critical point has an escape direction",
        (quadratic(m), mixed_signs(it)),
        width=float(quadratic_width(m.d)),
        instead='any labels: gm.QuadraticNetworkRegressor(signs="mixed") reaches and proves the '
        "global minimum",
        numbers=numbers,
    )


def curvature_at_zero(it: Instance) -> float:
    r"""The least eigenvalue of the Hessian at W = 0, where $r = -y$: that of $-2D_v \otimes
    Z(y)$.
    """
    spectrum = np.linalg.eigvalsh(moment_matrix(it.m.X, it.m.y))
    heads = it.start.network.v
    return float(-2.0 * np.max(np.outer(heads, spectrum[[0, -1]])))


@fact("SJL-T2.1b", headline=True)
def zero_loss(it: Instance) -> TheoremReport:
    """SJL-T2.1, its second part: few samples in general position are fitted exactly."""
    m = it.m
    N = critical_samples(m.d)
    numbers: tuple[tuple[str, float], ...] = (("σ_min(X*X)", m.sigma),)
    if m.activation.name == "quadratic":
        numbers += (("least loss of all quadratic networks, (1/2)Σr²", least_loss(it)),)
    return TheoremReport(
        "SJL-T2.1b",
        "quadratic network, signs mixed, few samples: the global minimum is zero for every label",
        (
            quadratic(m),
            mixed_signs(it),
            check(f"n ≤ d(d+1)/2 = {N}", m.n <= N, f"n = {m.n}"),
            independent_products(m),
        ),
        width=float(quadratic_width(m.d)),
        instead="the least loss is computed; SJL-T2.1 holds for any n",
        numbers=numbers,
    )


def independent_products(m: Measurements) -> Hypothesis:
    """The products x x^T of the samples are linearly independent: "almost every input"."""
    doubt = "" if m.squares.is_resolved else ", below what floats resolve"
    return check(
        "the products x xᵀ are independent (almost every X)",
        m.sigma > 0.0,
        f"σ_min(X*X) = {number(m.sigma)}{doubt}",
    )


class Fit(NamedTuple):
    """The least loss of heads of one sign, from above and below, in floats."""

    upper: float
    lower: float


def one_sided_fit(m: Measurements, sign: float) -> Fit | None:
    """The convex fit by matrices of one sign; None where it is too large."""
    if m.n * m.d**2 > DECIDED_LIMIT:
        return None
    found = solve_quadratic(m.X, m.y, head=sign * np.ones(m.d))
    r = residual(found.network, m.X, m.y)
    dual = positive_dual(m.X, sign * m.y, sign * r).value
    return Fit(found.objective, max(0.0, dual))


def planted_labels(it: Instance) -> Hypothesis:
    r"""Labels $x_i^TM^*x_i$ with $M^* \ge 0$ (or $\le 0$): decided by the convex fit over such
    matrices.
    """
    m, sign = it.m, head_sign(it.start.network.v)
    word = "≥" if sign > 0 else "≤"
    statement = f"labels planted by a quadratic network with head {word} 0"
    wrong = np.flatnonzero(sign * m.y < 0.0)
    if wrong.size:
        return check(statement, False, f"label {wrong[0]} is {number(float(m.y[wrong[0]]))}")
    fit, half = one_sided_fit(m, sign), 0.5 * m.y_norm**2
    if fit is not None and fit.upper <= FITTED * half:
        return check(statement, True, f"one fits them with loss {number(fit.upper)}")
    if fit is not None and fit.lower > UNFITTED * half:
        return check(statement, False, f"no such network has a loss below {number(fit.lower)}")
    return Hypothesis(statement, Finding.UNKNOWN, "not decided on these data")


def head_sign(v: Array) -> float:
    """The sign that most head weights have."""
    plus, minus = head_counts(v)
    return 1.0 if plus >= minus else -1.0


@fact("SJL-T2.2", headline=True)
def positive_theorem(it: Instance) -> TheoremReport:
    """SJL-T2.2, the landscape: one sign, planted labels."""
    m = it.m
    says = (
        "quadratic network, one sign, planted labels: every second-order point is global with zero "
        "loss, every other critical point has an escape direction"
    )
    hypotheses = [quadratic(m), one_sign(it)]
    if all(h.finding is Finding.HOLDS for h in hypotheses):  # the fit takes its time
        hypotheses.append(planted_labels(it))
    return TheoremReport(
        "SJL-T2.2",
        says,
        tuple(hypotheses),
        width=float(quadratic_width(m.d, signs="positive")),
        instead="SJL-T2.2k and the claim optimality-gap need no planting",
    )


@fact("SJL-T2.2k", headline=True)
def any_labels(it: Instance) -> TheoremReport:
    """SJL-T2.2k (ours): one sign, any labels."""
    m, net = it.m, it.start.network
    says = (
        "quadratic network, one sign, any labels (ours): every second-order point is a global "
        "minimum, that of a convex problem"
    )
    numbers: list[tuple[str, float]] = []
    if m.activation.name == "quadratic" and one_sign(it).finding is Finding.HOLDS:
        kkt = positive_kkt(net.W, np.abs(net.v), m.X, head_sign(net.v) * m.y)
        numbers += [
            ("λ_min(±Σ rᵢxᵢxᵢᵀ) of the network, ≥ 0 at the minimum", kkt.least_eigenvalue),
            ("⟨M, Σ rᵢxᵢxᵢᵀ⟩ of the network, 0 at the minimum", kkt.complementarity),
        ]
        fit = one_sided_fit(m, head_sign(net.v))
        if fit is not None:
            numbers += [("least loss of heads of this sign ≤", fit.upper), ("and ≥", fit.lower)]
    return TheoremReport(
        "SJL-T2.2k",
        says,
        (quadratic(m), one_sign(it)),
        width=float(quadratic_width(m.d, signs="positive")),
        instead='gm.QuadraticNetworkRegressor(signs="positive") reaches and proves it',
        numbers=tuple(numbers),
    )


@fact("SJL-L6.1", "SJL-D3")
def stationarity(it: Instance) -> TheoremReport:
    """Gradient, curvature and the condition of a global minimum at the network."""
    m, net = it.m, it.start.network
    says = "a quadratic network is a global minimum as soon as Σ rᵢxᵢxᵢᵀ = 0"
    if m.activation.name != "quadratic":
        return TheoremReport("SJL-L6.1", says, (quadratic(m),))
    gradient = quadratic_gradient(net.W, net.v, m.X, m.y)
    size = float(np.sum(gradient**2))
    curvature = quadratic_hessian_form(net.W, net.v, m.X, m.y, gradient) / size if size else 0.0
    r = residual(net, m.X, m.y)
    norm = float(np.linalg.norm(moment_matrix(m.X, r), 2))
    return TheoremReport(
        "SJL-L6.1",
        says,
        (
            quadratic(m),
            check("Σ rᵢxᵢxᵢᵀ = 0", is_stationary_in_matrix(m.X, r), f"norm {number(norm)}"),
        ),
        numbers=(
            ("‖∇L‖ of the network", math.sqrt(size)),
            ("curvature along the gradient", curvature),
            ("loss above the least of all quadratic networks", estimate_span_gap(m.X, r)),
        ),
    )


@fact("SJL-T2.1q")
def approximate_mixed(it: Instance) -> TheoremReport:
    """SJL-T2.1q at the network."""
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
        numbers=(("L − min L of the network ≤", bound), ("L − min L", excess)),
    )


@fact("SJL-T2.2a")
def approximate_planted(it: Instance) -> TheoremReport:
    """SJL-T2.2a, our deterministic form, for one small gradient and curvature."""
    m, v = it.m, it.start.network.v
    says = "equal heads, planted labels: an approximate second-order point has a small loss"
    k = v.shape[0]
    equal = check(
        "all head weights equal and not zero",
        bool((v == v[0]).all() and v[0] != 0.0),
        f"{number(float(v.min()))} to {number(float(v.max()))}",
    )
    wide = check("k > d", k > m.d, f"k = {k}, d = {m.d}")
    tall = check("X has full column rank", m.rank == m.d, f"rank {m.rank} of {m.d}")
    hypotheses = (quadratic(m), equal, wide, tall)
    if any(h.finding is Finding.FAILS for h in hypotheses):
        return TheoremReport("SJL-T2.2a", says, hypotheses)
    planted = planted_labels(it)
    numbers: tuple[tuple[str, float], ...] = ()
    if planted.finding is not Finding.FAILS:
        sign, small = head_sign(v), SMALL * m.y_norm
        asked = {"head": abs(float(v[0])), "gradient_norm": small, "negative_curvature": small}
        found = estimate_planted_excess(m.X, sign * m.y, **asked)
        printed = printed_planted_excess(m.n, nuclear_norm=found.teacher_trace, **asked)
        numbers = (
            (f"gradient norm and negative curvature asked about, {SMALL:g}‖y‖", small),
            ("loss of every such point ≤", found.loss),
            ("the printed bound with that trace, Gaussian inputs, probability unknown", printed),
            ("‖W‖ of every such point ≤", found.weight_norm),
            ("trace of the teacher's M* ≤", found.teacher_trace),
        )
    return TheoremReport("SJL-T2.2a", says, (*hypotheses, planted), numbers=numbers)


@fact("SJL-DUAL")
def dual_value_of_sign(it: Instance) -> TheoremReport:
    """SJL-DUAL (ours): a lower bound of the loss of every network with a head of one sign."""
    m, net = it.m, it.start.network
    says = "no quadratic network with a head of this sign, of any width, has a loss below a number"
    plus, minus = head_counts(net.v)
    signs = check(
        "head weights of one sign", min(plus, minus) == 0, f"{plus} positive, {minus} negative"
    )
    if m.activation.name != "quadratic" or min(plus, minus):
        return TheoremReport("SJL-DUAL", says, (quadratic(m), signs))
    r, sign = residual(net, m.X, m.y), head_sign(net.v)
    bound = positive_dual(m.X, sign * m.y, sign * r).value
    loss = 0.5 * float(r @ r)
    return TheoremReport(
        "SJL-DUAL",
        says,
        (quadratic(m), signs),
        numbers=(("loss of every such network ≥", bound), ("loss of this one", loss)),
        instead="the claim optimality-gap proves it",
    )

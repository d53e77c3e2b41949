"""The theorems of GKZ about the landscape, on one instance, with the teacher that the labels
themselves determine.

Where the products of the features span, one symmetric matrix A fits the labels best; if it is
positive definite it stands for the teacher, and every quantity of the theorems can be computed. The
network is the one of the instance: its head, width, rank and risk are measured too.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from globalmin.errors import HypothesisError
from globalmin.facts.finding import Finding, Hypothesis, TheoremReport, check, fact, number, unknown
from globalmin.quadratic import barrier as barriers
from globalmin.quadratic import risk
from globalmin.quadratic.barrier import (
    identity_start,
    risk_of_start_limit,
    singular_value_interval,
    start_margin,
    start_probability,
    sufficient_width,
)
from globalmin.quadratic.census import population_escape
from globalmin.quadratic.facts_landscape import FULL_RANK_LIMIT, quadratic
from globalmin.quadratic.general_activation import (
    general_risk,
    solve_general_quadratic,
    teacher_weights,
)
from globalmin.quadratic.identifiability import (
    critical_samples,
    recover_network,
    samples_determine,
)
from globalmin.shallow.complete_square import is_quadratic, quadratic_coefficients
from globalmin.shallow.network import outputs

if TYPE_CHECKING:
    from globalmin._types import Array
    from globalmin.facts.instance import Instance, Measurements

PLANTED = 1e-8  # misfit relative to the labels that counts as rounding


@lru_cache(maxsize=1)
def spans(m: Measurements) -> Hypothesis:
    """Exactly: whether the samples determine a quadratic network."""
    statement = "{x xᵀ} span the symmetric matrices (exact)"
    needed = critical_samples(m.d)
    if m.n < needed:
        return check(statement, False, f"at most {m.n} of {needed} dimensions")
    if needed > FULL_RANK_LIMIT or m.activation.name != "quadratic":
        return Hypothesis(statement, Finding.UNKNOWN, f"{needed} dimensions, not computed")
    found = samples_determine(m.X)
    return check(statement, found.determines is True, f"rank {found.rank} of {found.needed}")


@lru_cache(maxsize=1)
def teacher(m: Measurements) -> Array | None:
    """The d x d teacher read from the labels; None if they determine none or it is singular."""
    if m.activation.name != "quadratic" or spans(m).finding != "holds":
        return None
    W = recover_network(m.X, m.y, m.d)
    return W if risk.numerical_rank(W) == m.d else None


def planted(m: Measurements, Wstar: Array | None) -> Hypothesis:
    """Whether the labels are those of a teacher of full rank; not known where the samples determine
    none.
    """
    statement = "labels planted by a teacher of full rank"
    if Wstar is None and spans(m).finding != "holds":
        return unknown(statement, "the samples do not determine one")
    if Wstar is None:
        return check(statement, False, "the form that fits best is not positive definite")
    misfit, size = math.sqrt(risk.empirical_risk(Wstar, m.X, m.y)), m.y_norm / math.sqrt(m.n)
    measured = f"root mean square misfit {number(misfit)} of {number(size)}"
    return check(statement, misfit <= PLANTED * size, measured)


def unit_head(it: Instance) -> Hypothesis:
    """The paper's networks have no output weights."""
    v = it.start.network.v
    is_unit = bool((v == 1.0).all())
    remedy = "" if is_unit else '; scheme="identity" has it'
    return check(
        "head v = 1", is_unit, f"from {number(float(v.min()))} to {number(float(v.max()))}{remedy}"
    )


def wide(it: Instance) -> Hypothesis:
    """At least as many neurons as features."""
    return check("m ≥ d", it.width >= it.m.d, f"m = {it.width}, d = {it.m.d}")


def full_rank(it: Instance) -> Hypothesis:
    """The weights of the instance have rank d."""
    found = risk.numerical_rank(it.start.network.W)
    return check("rank W = d", found == it.m.d, f"rank {found}, d = {it.m.d}")


def landscape(it: Instance) -> tuple[Hypothesis, ...]:
    """What the theorems about the population risk ask for."""
    return quadratic(it.m), unit_head(it), wide(it), planted(it.m, teacher(it.m))


def _risk(W: Array, Wstar: Array) -> float:
    return risk.population_risk(W, Wstar)


@fact("GKZ-T2.1a")
def global_optima(it: Instance) -> TheoremReport:
    """GKZ-T2.1a at the network."""
    m, W = it.m, it.start.network.W
    Wstar = teacher(m)
    numbers: tuple[tuple[str, float], ...] = ()
    if Wstar is not None:
        rows = max(W.shape[0], m.d)
        ours, theirs = (np.vstack([M, np.zeros((rows - len(M), m.d))]) for M in (W, Wstar))
        numbers = (
            ("risk of the network over N(0, I)", _risk(W, Wstar)),
            ("its distance from the nearest QW*", risk.orbit_distance(ours, theirs)),
        )
    says = "the population risk is zero exactly for rotations of the teacher's rows"
    return TheoremReport("GKZ-T2.1a", says, landscape(it), numbers=numbers)


@fact("GKZ-T2.1b")
def energy_barrier(it: Instance) -> TheoremReport:
    """GKZ-T2.1b at the network."""
    W, Wstar = it.start.network.W, teacher(it.m)
    numbers: tuple[tuple[str, float], ...] = ()
    if Wstar is not None:
        numbers = (
            ("2σ⁴, as printed", barriers.barrier(Wstar, "paper")),
            ("the exact value (ours)", barriers.barrier(Wstar)),
            ("risk of the network", _risk(W, Wstar)),
            ("rank of the network", float(risk.numerical_rank(W))),
            ("λ_min(WᵀW) of the network", risk.smallest_singular_value(W) ** 2),
            ("which is at least (ours)", barriers.estimate_smallest_eigenvalue_below(W, Wstar)),
        )
    says = "weights of rank below d have a population risk of at least 2σ⁴, σ = σ_min(W*)"
    return TheoremReport("GKZ-T2.1b", says, landscape(it), numbers=numbers)


@fact("GKZ-T2.1c")
def tightness(it: Instance) -> TheoremReport:
    """GKZ-T2.1c: the paper's own point."""
    Wstar = teacher(it.m)
    numbers: tuple[tuple[str, float], ...] = ()
    if Wstar is not None:
        tight = barriers.tight_point(Wstar)
        numbers = (
            ("its risk, 3σ⁴", _risk(tight, Wstar)),
            ("its rank", float(risk.numerical_rank(tight))),
            ("the least risk of that rank (ours)", barriers.barrier(Wstar)),
        )
    says = "some weights of rank d − 1 have a population risk of 3σ⁴"
    return TheoremReport("GKZ-T2.1c", says, landscape(it), numbers=numbers)


@fact("GKZ-T2.3", headline=True)
def stationary_theorem(it: Instance) -> TheoremReport:
    """GKZ-T2.3, and where the network stands."""
    m, W = it.m, it.start.network.W
    Wstar = teacher(m)
    numbers: tuple[tuple[str, float], ...] = (("rank of W", float(risk.numerical_rank(W))),)
    if Wstar is not None:
        numbers += (
            ("‖∇L‖ of the population risk, relative", relative_gradient(W, Wstar)),
            ("population risk", _risk(W, Wstar)),
        )
    return TheoremReport(
        "GKZ-T2.3",
        "quadratic network with unit head, planted labels: a stationary point of full rank is a "
        "global minimum",
        landscape(it),
        width=float(m.d),
        numbers=numbers,
        instead="the claims below-barrier and optimality-gap",
    )


def relative_gradient(W: Array, Wstar: Array) -> float:
    r"""$\|\nabla L\|$ relative to $8\|W\|\|W^*\|_F^2$, as in `classify_stationary`."""
    scale = 8.0 * float(np.linalg.norm(W)) * float(np.linalg.norm(Wstar)) ** 2
    size = float(np.linalg.norm(risk.population_gradient(W, Wstar)))
    return size / scale if scale > 0.0 else 0.0


@fact("GKZ-T2.1", "GKZ-R1", "GKZ-R2", "GKZ-R3", "GKZ-CENSUS", headline=True)
def population(it: Instance) -> TheoremReport:
    """The landscape of the population risk around the recovered teacher."""
    m = it.m
    Wstar = teacher(m)
    says = "Gaussian inputs: every W of deficient rank costs at least the barrier; one attains it"
    if Wstar is None:
        return TheoremReport("GKZ-T2.1", says, landscape(it))
    tight, cheapest = barriers.tight_point(Wstar), barriers.exact_barrier_point(Wstar)
    W0 = identity_start(m.d, m.d, scale=float(np.sum(Wstar**2)) / m.d)
    gradient = risk.population_gradient(W0, Wstar)
    curvature = risk.population_hessian_form(W0, Wstar, gradient) / max(
        float(np.sum(gradient**2)), np.finfo(np.float64).tiny
    )
    escape = population_escape(cheapest, Wstar)
    return TheoremReport(
        "GKZ-T2.1",
        says,
        landscape(it),
        numbers=(
            ("barrier, exact (ours)", barriers.barrier(Wstar)),
            ("barrier, printed", barriers.barrier(Wstar, "paper")),
            ("risk of the cheapest point of deficient rank", _risk(cheapest, Wstar)),
            ("risk of the printed one, 3σ⁴", _risk(tight, Wstar)),
            ("curvature out of the cheapest point", escape.curvature if escape else 0.0),
            ("risk of the scaled identity", _risk(W0, Wstar)),
            ("its λ_min(WᵀW) ≥", barriers.estimate_smallest_eigenvalue_below(W0, Wstar)),
            ("its distance from the orbit of the teacher", risk.orbit_distance(W0, Wstar)),
            ("curvature there along the gradient", curvature),
            ("curvature there, at most", risk.population_hessian_limit(W0, Wstar)),
        ),
    )


@fact("GKZ-RATE", "GKZ-GD", "GKZ-RATEemp")
def descent(it: Instance) -> TheoremReport:
    """Linear convergence on the data from the scaled identity."""
    m = it.m
    says = "from below the barrier gradient descent converges linearly to the global minimum"
    scope = (quadratic(m), spans(m))
    if m.activation.name != "quadratic" or scope[1].finding == "fails" or not m.y.mean() > 0.0:
        positive = check("labels of positive mean", bool(m.y.mean() > 0.0))
        return TheoremReport("GKZ-RATE", says, (*scope, positive))
    W0 = identity_start(m.d, m.d, scale="data", y=m.y)
    found = barriers.barrier_quantities(W0, np.ones(m.d), m.X, m.y)
    Wstar = teacher(m)
    numbers = [
        ("excess loss at the scaled identity", found.E0),
        ("excess loss of any W of deficient rank, at least", found.barrier),
        ("λ_min(WᵀW) along the way ≥", found.s2),
        ("‖∇L̂‖²/L̂ ≥ at the start, planted labels", barriers.empirical_domination(W0, m.X)),
    ]
    if Wstar is not None:
        least = barriers.empirical_barrier(Wstar, m.X)
        numbers.append(("L̂ of any W of deficient rank, planted labels ≥", least))
    return TheoremReport(
        "GKZ-RATE",
        says,
        (*scope, check("the scaled identity starts below the barrier", found.is_below)),
        None,
        found.eta if found.is_below else None,
        math.sqrt(found.rate) if found.is_below else None,
        numbers=tuple(numbers),
        instead="the claim below-barrier proves it for actual weights",
    )


@fact("GKZ-T2.4")
def gaussian_spectrum(it: Instance) -> TheoremReport:
    """The singular values of the drawn weights."""
    m, W = it.m, it.start.network.W
    t = math.sqrt(2.0 * math.log(2.0 / it.failure))
    low, high, probability = singular_value_interval(W.shape[0], W.shape[1], t)
    singular = np.linalg.svd(W, compute_uv=False)
    return TheoremReport(
        "GKZ-T2.4",
        "all singular values of a Gaussian matrix lie in √m ± (√d + t)",
        (
            check("k ≥ d", W.shape[0] >= m.d, f"k = {W.shape[0]}, d = {m.d}"),
            check(
                "entries of variance 1 (heads os and du)",
                abs(float(W.var()) - 1.0) <= 6.0 * math.sqrt(2.0 / W.size),
                f"variance {number(float(W.var()))}",
            ),
        ),
        failure=1.0 - probability,
        numbers=(
            ("σ_min(W₀) ≥", low),
            ("σ_min(W₀)", float(singular[-1])),
            ("σ_max(W₀)", float(singular[0])),
            ("σ_max(W₀) ≤", high),
        ),
    )


@fact("GKZ-T2.5", headline=True)
def start_theorem(it: Instance) -> TheoremReport:
    """GKZ-T2.5: a start below the barrier. The law of the teacher is not visible; what its proof
    uses of the law is, on the teacher of the labels.
    """
    m, needed = it.m, sufficient_width(it.m.d)
    Wstar = teacher(m)
    scope = (quadratic(m), unit_head(it), planted(m, Wstar))
    enough = check(f"m ≥ {number(needed)} (explicit, ours)", it.width >= needed, f"m = {it.width}")
    return TheoremReport(
        "GKZ-T2.5",
        "quadratic network, random planted teacher: the scaled identity starts below the barrier "
        "of rank-deficient points",
        (*scope, enough, *_like_gaussian(it, Wstar)),
        width=float(needed),
        failure=1.0 - start_probability(m.d),
        numbers=() if Wstar is None else _start_numbers(it, Wstar),
        instead="the claim below-barrier decides it for actual weights",
    )


def _like_gaussian(it: Instance, Wstar: Array | None) -> tuple[Hypothesis, ...]:
    """The two events of N(0,1) weights on which the proof of GKZ-T2.5 rests."""
    k, d = it.width, it.m.d
    if Wstar is None:
        return (unknown("teacher with N(0,1) weights", "not visible in the data"),)
    low, high, _ = singular_value_interval(k, d, math.sqrt(d))
    singular = np.linalg.svd(Wstar, compute_uv=False)
    trace, spread = float(np.sum(Wstar**2)), d * math.sqrt(k)
    return (
        check(
            "singular values of the teacher in √m ± 2√d, as of N(0,1) weights",
            low <= singular[-1] and singular[0] <= high,
            f"{number(float(singular[-1]))} to {number(float(singular[0]))} in "
            f"{number(low)} to {number(high)}",
        ),
        check(
            "|‖W*‖² − md| ≤ d√m, as of N(0,1) weights",
            abs(trace - k * d) <= spread,
            f"{number(abs(trace - k * d))} against {number(spread)}",
        ),
    )


def _start_numbers(it: Instance, Wstar: Array) -> tuple[tuple[str, float], ...]:
    """The starts against the barrier of the recovered teacher."""
    m = it.m
    gamma = float(np.sum(Wstar**2)) / m.d
    spread = float(np.abs(np.linalg.eigvalsh(Wstar.T @ Wstar) - gamma).max())
    W0 = identity_start(m.d, m.d, scale=gamma)
    paper = identity_start(m.d, m.d, scale=float(it.width + 4 * m.d))
    return (
        ("risk over barrier of the paper's start, (m + 4d)I", start_margin(paper, Wstar)),
        ("risk over barrier of the best multiple of I", start_margin(W0, Wstar)),
        ("that risk ≤ (2d + d²)ε²", risk_of_start_limit(m.d, spread)),
    )


@fact("GKZ-C2.2", headline=True)
def general_activation(it: Instance) -> TheoremReport:
    """Networks with any activation of degree two."""
    m = it.m
    two = is_quadratic(m.activation)
    degree = check("φ is a polynomial of degree 2", two, f"{m.activation}", is_scope=True)
    says = "any activation αz²+βz+γ: weights of rank below d cost at least 2α²σ⁴"
    if not two or critical_samples(m.d) > FULL_RANK_LIMIT:
        return TheoremReport("GKZ-C2.2", says, (degree,))
    coefficients = quadratic_coefficients(it.start.network)
    least = solve_general_quadratic(m.X, m.y, coefficients)
    numbers = (
        ("least loss of all widths, head summing to zero", least.loss),
        ("a lower estimate of it", least.lower_estimate),
    )
    found, Wstar = _general_teacher(it, coefficients)
    if Wstar is not None:
        unit = coefficients[0] ** 2 * risk.smallest_singular_value(Wstar) ** 4
        numbers += (
            ("2α²σ⁴, as printed", 2.0 * unit),
            ("with the exact constant (ours)", barriers.barrier_constant(m.d) * unit),
            ("risk of the network", general_risk(it.start.network.W, Wstar, coefficients)),
        )
    return TheoremReport(
        "GKZ-C2.2", says, (degree, unit_head(it), wide(it), found), numbers=numbers
    )


def _general_teacher(
    it: Instance, coefficients: tuple[float, float, float]
) -> tuple[Hypothesis, Array | None]:
    """Whether a teacher of full rank, with this activation and as many neurons, has the labels."""
    m, net = it.m, it.start.network
    statement = "labels planted by a teacher of full rank with this activation and width"
    if net.width < m.d:
        return check(statement, False, "fewer neurons than features"), None
    try:
        W = teacher_weights(m.X, m.y, coefficients, net.width)
    except HypothesisError as refusal:
        if refusal.hypothesis == "span":
            return unknown(statement, "the samples do not determine one"), None
        return check(statement, False, str(refusal)), None
    r = outputs(net.with_weights(W=W, v=np.ones(net.width)), m.X) - m.y
    is_planted = float(np.linalg.norm(r)) <= PLANTED * m.y_norm and risk.numerical_rank(W) == m.d
    measured = f"misfit {number(float(np.linalg.norm(r)))} of {number(m.y_norm)}"
    return check(statement, is_planted, measured), W if is_planted else None

"""The theorems of GKZ with the teacher that the labels themselves determine, on one instance.

Where the products of the features span, one symmetric matrix A fits the labels best; if it is
positive definite it stands for the teacher, and every quantity of the theorems can be computed.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from globalmin.errors import HypothesisError
from globalmin.facts.finding import Hypothesis, TheoremReport, check, fact, number, unknown
from globalmin.quadratic import barrier as barriers
from globalmin.quadratic import risk
from globalmin.quadratic.ambiguity import disagreeing_networks
from globalmin.quadratic.barrier import (
    identity_start,
    risk_of_start_limit,
    singular_value_interval,
    start_margin,
    start_probability,
    sufficient_width,
)
from globalmin.quadratic.census import population_escape
from globalmin.quadratic.facts import FULL_RANK_LIMIT, quadratic
from globalmin.quadratic.general_activation import solve_general_quadratic
from globalmin.quadratic.identifiability import (
    critical_samples,
    recover_network,
    samples_determine,
)

if TYPE_CHECKING:
    from globalmin._types import Array
    from globalmin.facts.instance import Instance, Measurements


def spans(m: Measurements) -> Hypothesis:
    """Exactly: whether the samples determine a quadratic network."""
    statement = "{x xᵀ} span the symmetric matrices (exact)"
    if critical_samples(m.d) > FULL_RANK_LIMIT:
        return check(statement, False, f"{critical_samples(m.d)} dimensions, not computed")
    found = samples_determine(m.X)
    return check(statement, found.determines is True, f"rank {found.rank} of {found.needed}")


def teacher(m: Measurements) -> Array | None:
    """The d x d teacher read from the labels; None if they determine none or it is singular."""
    if m.activation.name != "quadratic" or spans(m).finding != "holds":
        return None
    W = recover_network(m.X, m.y, m.d)
    return W if risk.smallest_singular_value(W) > 0.0 else None


def planted(m: Measurements, Wstar: Array | None) -> Hypothesis:
    """Whether the labels are those of a teacher of full rank."""
    if Wstar is None:
        return check("the labels determine a teacher of full rank", False)
    misfit = math.sqrt(risk.empirical_risk(Wstar, m.X, m.y))
    size = m.y_norm / math.sqrt(m.n)
    return check(
        "the labels are those of a teacher of full rank",
        misfit <= 1e-8 * size,
        f"root mean square misfit {number(misfit)} of {number(size)}",
    )


@fact("GKZ-SPAN", "GKZ-T2.6a", "GKZ-T2.9a", "GKZ-C2.7", "GKZ-M1")
def determined(it: Instance) -> TheoremReport:
    """Whether these samples determine a quadratic network, exactly."""
    m = it.m
    return TheoremReport(
        "GKZ-SPAN",
        "if the products of the features span, every quadratic network with head 1 (or any "
        "positive head, absorbed into the rows) that fits the labels is the teacher everywhere",
        (quadratic(m), spans(m)),
        instead="the claim identifies proves it",
    )


@fact("GKZ-T2.6b", "GKZ-T2.9b")
def ambiguous(it: Instance) -> TheoremReport:
    """Two networks that fit and disagree, where the samples are too few."""
    m = it.m
    few = check("{x xᵀ} do not span", spans(m).finding == "fails", spans(m).measured)
    says = "too few samples: two quadratic networks fit all of them and are different functions"
    if few.finding == "fails" or m.activation.name != "quadratic":
        return TheoremReport("GKZ-T2.6b", says, (quadratic(m), few))
    try:
        found = disagreeing_networks(m.X, m.y)
    except HypothesisError as refusal:
        return TheoremReport("GKZ-T2.6b", says, (quadratic(m), check(str(refusal), False)))
    return TheoremReport(
        "GKZ-T2.6b",
        says,
        (quadratic(m), few),
        numbers=(
            ("loss of both", found.loss),
            ("largest difference on the samples (rounding)", found.on_samples),
            ("root mean square difference over N(0, I)", found.root_mean_square),
            ("difference at one unit vector", found.at_x),
        ),
        instead="the claim ambiguous proves it",
    )


@fact("GKZ-DIRECT", "GKZ-T2.3emp", "GKZ-R4")
def direct(it: Instance) -> TheoremReport:
    """The whole problem by one least-squares solution."""
    m = it.m
    Wstar = teacher(m)
    says = "where the samples span, one least-squares problem finds the teacher"
    if Wstar is None:
        return TheoremReport("GKZ-DIRECT", says, (quadratic(m), spans(m)))
    return TheoremReport(
        "GKZ-DIRECT",
        says,
        (quadratic(m), spans(m)),
        numbers=(
            ("mean squared misfit of the recovered network", risk.empirical_risk(Wstar, m.X, m.y)),
            ("smallest singular value of its W", risk.smallest_singular_value(Wstar)),
            ("mean squared misfit of the drawn start", 2.0 * _loss(it) / m.n),
        ),
    )


def _loss(it: Instance) -> float:
    return it.start.residual_norm**2 / 2.0


@fact("GKZ-T2.1", "GKZ-T2.1a", "GKZ-T2.1b", "GKZ-T2.1c", "GKZ-R1", "GKZ-R2", "GKZ-R3", "GKZ-CENSUS")
def population(it: Instance) -> TheoremReport:
    """The landscape of the population risk around the recovered teacher."""
    m = it.m
    Wstar = teacher(m)
    says = "Gaussian inputs: every W of deficient rank costs at least the barrier; one attains it"
    if Wstar is None:
        return TheoremReport("GKZ-T2.1", says, (quadratic(m), spans(m), planted(m, None)))
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
        (quadratic(m), spans(m), planted(m, Wstar)),
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


def _risk(W: Array, Wstar: Array) -> float:
    return risk.population_risk(W, Wstar)


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
    """GKZ-T2.5: a start below the barrier, for a random teacher."""
    m, start = it.m, it.start
    needed = sufficient_width(m.d)
    k = start.network.width
    return TheoremReport(
        "GKZ-T2.5",
        "quadratic network, random planted teacher: the scaled identity starts below the barrier "
        "of rank-deficient points",
        (
            quadratic(m),
            check(f"m ≥ {number(needed)} (explicit, ours)", k >= needed, f"m = {k}"),
            unknown("teacher with N(0,1) weights", "not visible in the data"),
        ),
        width=float(needed),
        failure=1.0 - start_probability(m.d),
        numbers=_start_numbers(it),
        instead="the claim below-barrier decides it for actual weights",
    )


def _start_numbers(it: Instance) -> tuple[tuple[str, float], ...]:
    """The start against the barrier of the recovered teacher."""
    m = it.m
    Wstar = teacher(m)
    if Wstar is None:
        return ()
    gamma = float(np.sum(Wstar**2)) / m.d
    spread = float(np.abs(np.linalg.eigvalsh(Wstar.T @ Wstar) - gamma).max())
    W0 = identity_start(m.d, m.d, scale=gamma)
    return (
        ("risk over barrier of the best multiple of I", start_margin(W0, Wstar)),
        ("that risk ≤ (2d + d²)ε²", risk_of_start_limit(m.d, spread)),
    )


@fact("GKZ-C2.2")
def general_activation(it: Instance) -> TheoremReport:
    """Networks with any activation of degree two."""
    m = it.m
    powers = {"quadratic": (0.0, 0.0, 1.0), "polynomial": m.activation.coefficients}
    given = powers.get(m.activation.name, ())
    two = len(given) == 3 and given[2] != 0.0
    degree = check("φ is a polynomial of degree 2", two, f"{m.activation}", is_scope=True)
    says = "any activation αz²+βz+γ: the barrier grows by α², and one least squares is the minimum"
    if not two or critical_samples(m.d) > FULL_RANK_LIMIT:
        return TheoremReport("GKZ-C2.2", says, (degree,))
    found = solve_general_quadratic(m.X, m.y, (given[2], given[1], given[0]))
    return TheoremReport(
        "GKZ-C2.2",
        says,
        (degree,),
        numbers=(
            ("least loss of all widths, head summing to zero", found.loss),
            ("a lower estimate of it", found.lower_estimate),
        ),
    )

"""The theorems of GKZ about samples: when they determine a quadratic network, on one instance.

Also the landscape of the empirical risk (GKZ-T2.3emp). The network of the instance is measured too:
its outputs on the samples, and, where they are too few, a second network with the same ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from globalmin.errors import HypothesisError
from globalmin.facts.finding import Finding, Hypothesis, TheoremReport, check, fact, number
from globalmin.quadratic import risk
from globalmin.quadratic.ambiguity import bad_interpolant, disagreeing_networks
from globalmin.quadratic.facts_landscape import quadratic
from globalmin.quadratic.facts_teacher import (
    full_rank,
    planted,
    spans,
    teacher,
    unit_head,
)
from globalmin.quadratic.identifiability import critical_samples, span_condition

if TYPE_CHECKING:
    from globalmin._types import Array
    from globalmin.facts.instance import Instance, Measurements

STATIONARY = 1e-8  # gradients relative to their parts that count as zero
Numbers = tuple[tuple[str, float], ...]


def _enough(m: Measurements) -> Hypothesis:
    N = critical_samples(m.d)
    return check(f"n ≥ d(d+1)/2 = {N}", m.n >= N, f"n = {m.n}")


def _too_few(m: Measurements) -> Hypothesis:
    """The opposite of `spans`, where that is decided."""
    found = spans(m)
    turned = {Finding.HOLDS: Finding.FAILS, Finding.FAILS: Finding.HOLDS}
    return Hypothesis(
        "{x xᵀ} do not span", turned.get(found.finding, Finding.UNKNOWN), found.measured
    )


@fact("GKZ-T2.8", headline=True)
def span_theorem(it: Instance) -> TheoremReport:
    """GKZ-T2.8: the products of the features span, which almost every d(d+1)/2 samples do."""
    m = it.m
    return TheoremReport(
        "GKZ-T2.8",
        "enough samples: every quadratic network that fits them is the teacher",
        (quadratic(m), _enough(m), spans(m)),
        instead="the claims identifies and ambiguous decide it for these data",
    )


@fact("GKZ-SPAN", "GKZ-M1")
def determined(it: Instance) -> TheoremReport:
    """Whether these samples determine a quadratic network, exactly."""
    return TheoremReport(
        "GKZ-SPAN",
        "the products of the features span all symmetric matrices",
        (quadratic(it.m), spans(it.m)),
        instead="the claim identifies proves it",
    )


@fact("GKZ-T2.6a", headline=True)
def identified(it: Instance) -> TheoremReport:
    """GKZ-T2.6a, and how near the network is to the teacher."""
    m = it.m
    return TheoremReport(
        "GKZ-T2.6a",
        "if the products of the features span, every network with unit head that fits the labels "
        "is the teacher everywhere",
        (quadratic(m), unit_head(it), spans(m)),
        numbers=_against_teacher(it),
        instead="the claim identifies proves it",
    )


def _against_teacher(it: Instance) -> Numbers:
    m, net, Wstar = it.m, it.start.network, teacher(it.m)
    if Wstar is None:
        return ()
    weighted = np.abs(net.v)[:, None] ** 0.5 * net.W
    return (
        ("λ_min of (1/n)Σ svec(xxᵀ)svec(xxᵀ)ᵀ", span_condition(m.X).lambda_min),
        ("mean squared misfit of the network", it.start.residual_norm**2 / m.n),
        (
            "‖WᵀW − A‖ from the teacher's",
            float(np.linalg.norm(weighted.T @ weighted - _gram(Wstar))),
        ),
    )


def _gram(W: Array) -> Array:
    return W.T @ W


@fact("GKZ-T2.9a", headline=True)
def identified_at_random(it: Instance) -> TheoremReport:
    """GKZ-T2.9a; "almost surely" is replaced by the exact rank of the samples at hand."""
    m = it.m
    return TheoremReport(
        "GKZ-T2.9a",
        "n ≥ d(d+1)/2 random samples: almost surely every network that fits has no risk at all",
        (quadratic(m), unit_head(it), _enough(m), spans(m), planted(m, teacher(m))),
        numbers=_against_teacher(it),
    )


@fact("GKZ-T2.6b", headline=True)
def ambiguous(it: Instance) -> TheoremReport:
    """GKZ-T2.6b with the network as the teacher: a second one with its outputs on the samples."""
    m = it.m
    scope = (quadratic(m), unit_head(it), full_rank(it), _too_few(m))
    return TheoremReport(
        "GKZ-T2.6b",
        "too few samples: some network has the same outputs on all of them and a risk of at least "
        "2σ⁴",
        scope,
        numbers=(*_impostor(it, it.start.network.W, scope), *_disagreement(m)),
        instead="the claim ambiguous proves it",
    )


@fact("GKZ-T2.9b", headline=True)
def ambiguous_at_random(it: Instance) -> TheoremReport:
    """GKZ-T2.9b: the same from the number of samples alone."""
    m, N = it.m, critical_samples(it.m.d)
    fewer = check(f"n < d(d+1)/2 = {N}", m.n < N, f"n = {m.n}")
    scope = (quadratic(m), unit_head(it), full_rank(it), fewer)
    return TheoremReport(
        "GKZ-T2.9b",
        "n < d(d+1)/2 samples, whatever they are: a network fits all and is wrong elsewhere",
        scope,
        numbers=_impostor(it, it.start.network.W, scope),
    )


def _impostor(it: Instance, W: Array, scope: tuple[Hypothesis, ...]) -> Numbers:
    if any(hypothesis.finding != "holds" for hypothesis in scope):
        return ()
    found = bad_interpolant(it.m.X, W)
    if found is None:
        return ()
    return (
        ("σ_min(W)⁴·2, the printed bound", 2.0 * risk.smallest_singular_value(W) ** 4),
        ("risk of the second network", found.population_risk),
        ("its largest difference on the samples (rounding)", found.training_error),
    )


def _disagreement(m: Measurements) -> Numbers:
    """The same without a teacher: two networks with heads of both signs that fit the labels."""
    if m.activation.name != "quadratic" or _too_few(m).finding != "holds":
        return ()
    try:
        found = disagreeing_networks(m.X, m.y)
    except HypothesisError:
        return ()
    return (
        ("loss of both", found.loss),
        ("largest difference on the samples (rounding)", found.on_samples),
        ("root mean square difference over N(0, I)", found.root_mean_square),
        ("difference at one unit vector", found.at_x),
    )


@fact("GKZ-C2.7", headline=True)
def positive_heads(it: Instance) -> TheoremReport:
    """GKZ-C2.7: heads a > 0 are absorbed, and GKZ-T2.6 is about the absorbed weights."""
    m, net = it.m, it.start.network
    says = "positive heads are absorbed into the rows, √aⱼWⱼ: what the samples say is the same"
    least = float(net.v.min())
    positive = check("head v > 0", least > 0.0, f"least weight {number(least)}")
    if m.activation.name != "quadratic" or least <= 0.0:
        return TheoremReport("GKZ-C2.7", says, (quadratic(m), positive))
    absorbed = np.sqrt(net.v)[:, None] * net.W
    rank = risk.numerical_rank(absorbed)
    either = spans(m).finding == "holds" or rank == m.d
    scope = (
        quadratic(m),
        positive,
        check(
            "{x xᵀ} span, or rank √aW = d (missing in print, G17)",
            either,
            f"{spans(m).measured}; rank {rank}, d = {m.d}",
        ),
    )
    difference = risk.quadratic_outputs(absorbed, m.X) - risk.quadratic_outputs(net.W, m.X, net.v)
    numbers: Numbers = (("difference of the outputs, rounding", float(np.abs(difference).max())),)
    if rank == m.d:
        numbers += _impostor(it, absorbed, scope)
    return TheoremReport("GKZ-C2.7", says, scope, numbers=numbers)


@fact("GKZ-T2.3emp")
def stationary_on_data(it: Instance) -> TheoremReport:
    """GKZ-T2.3emp at the network: a statement about this very point."""
    m, W = it.m, it.start.network.W
    says = "for any data, a stationary point of the empirical risk of full rank has none left"
    if m.activation.name != "quadratic":
        return TheoremReport("GKZ-T2.3emp", says, (quadratic(m),))
    gradient = float(np.linalg.norm(risk.empirical_gradient(W, m.X, m.y)))
    moment = float(np.linalg.norm(m.X * m.y[:, None])) * float(np.linalg.norm(m.X))
    scale = 4.0 / m.n * float(np.linalg.norm(W)) * moment
    relative = gradient / scale if scale > 0.0 else 0.0
    stationary = check("∇L̂(W) = 0", relative <= STATIONARY, f"relative {number(relative)}")
    return TheoremReport(
        "GKZ-T2.3emp",
        says,
        (quadratic(m), unit_head(it), full_rank(it), stationary, planted(m, teacher(m))),
        numbers=(("empirical risk", risk.empirical_risk(W, m.X, m.y)),),
    )


@fact("GKZ-DIRECT", "GKZ-R4")
def direct(it: Instance) -> TheoremReport:
    """The whole problem by one least-squares solution."""
    m = it.m
    Wstar = teacher(m)
    numbers: Numbers = ()
    if Wstar is not None:
        numbers = (
            ("mean squared misfit of the recovered network", risk.empirical_risk(Wstar, m.X, m.y)),
            ("smallest singular value of its W", risk.smallest_singular_value(Wstar)),
            ("mean squared misfit of the network", it.start.residual_norm**2 / m.n),
        )
    return TheoremReport(
        "GKZ-DIRECT",
        "where the samples span, one least-squares problem finds the teacher",
        (quadratic(m), spans(m)),
        numbers=numbers,
    )

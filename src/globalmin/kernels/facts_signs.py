"""Lemmas of DU chapter 2 on one instance: which signs can change, how far weights move, and the
conditions of ours on the flow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from globalmin.facts.assumptions import positive_lambda, relu, unit_rows
from globalmin.facts.finding import TheoremReport, check, fact, number
from globalmin.kernels import movement, probability
from globalmin.kernels.facts_lemmas import preactivations_of
from globalmin.kernels.linearized import estimate_linearized_rate
from globalmin.kernels.movement import descent_movement, flow_movement, stays_in_place
from globalmin.shallow.relu_margins import ReluState, estimate_flow_radius

if TYPE_CHECKING:
    from globalmin.facts.instance import Instance

FLOW_LIMIT = 2_000_000  # pre-activations up to which the two flow conditions take seconds


@fact("DU-L2.2", "DU-L2.5")
def stable_gram(it: Instance) -> TheoremReport:
    """How much the ReLU Gram matrix may change within R."""
    m = it.m
    says = "within a radius R per neuron few signs can change, and the Gram matrix changes little"
    if not (m.is_relu and m.lam > 0.0):
        return TheoremReport("DU-L2.2", says, (relu(m), unit_rows(m), positive_lambda(m)))
    R, k = probability.stable_radius(m.lam, m.n, it.failure), it.width
    norms = np.linalg.norm(m.X, axis=1)
    counts = movement.flippable_counts(preactivations_of(it), norms, R)
    change = movement.gram_change_limit(m.X @ m.X.T, counts, 1.0 / k)
    return TheoremReport(
        "DU-L2.2",
        says,
        (relu(m), unit_rows(m), positive_lambda(m)),
        failure=it.failure,
        numbers=(
            ("R with ‖H−H(0)‖ ≤ λ₀/4", R),
            ("λ₀/4, by Markov", probability.gram_movement_limit(m.n, R, it.failure)),
            ("‖H−H(0)‖ ≤, from the signs of this start", change),
            ("pairs that can flip ≤", probability.flippable_pairs_limit(m.n, k, R, it.failure)),
            ("pairs expected to", m.n * k * probability.flip_probability(R)),
            ("pairs that can flip at this start", float(counts.sum())),
        ),
    )


@fact("DU-L2.3", "DU-L2.4", "DU-C2.1")
def movements(it: Instance) -> TheoremReport:
    """How far weights may move against how far they do no harm."""
    m, k = it.m, it.width
    says = "while λ_min(H) ≥ λ₀/2 no weight vector moves further than R'; R' < R closes the proof"
    if not (m.is_relu and m.lam > 0.0):
        return TheoremReport("DU-L2.3", says, (relu(m), unit_rows(m), positive_lambda(m)))
    numbers = (m.X_norm, it.start.residual_norm, k, m.lam)
    small = stays_in_place(*numbers, n=m.n, delta=it.failure)
    R = probability.stable_radius(m.lam, m.n, it.failure)
    return TheoremReport(
        "DU-L2.3",
        says,
        (
            relu(m),
            unit_rows(m),
            positive_lambda(m),
            check("R' < R", small, f"R' = {number(flow_movement(*numbers))}, R = {number(R)}"),
        ),
        numbers=(
            ("R' of the flow", flow_movement(*numbers)),
            ("R' of descent", descent_movement(*numbers)),
            ("R that DU-L2.2 allows", R),
        ),
        instead="OS-C3 and the claim relu-descent follow the actual signs",
    )


@fact("DU-CERT-L1", "DU-CERT-L1C", "DU-CERT-L2")
def flow_conditions(it: Instance) -> TheoremReport:
    """The conditions of ours on the ReLU flow at the drawn start."""
    m = it.m
    says = "ours: the signs of the stored weights alone show that flow and descent reach zero loss"
    fits = m.n * it.width <= FLOW_LIMIT
    small = check("n k small enough to compute", fits, f"{number(m.n * it.width)}")
    if not (m.is_relu and fits):
        return TheoremReport("DU-CERT-L1", says, (relu(m), small))
    net, Z = it.start.network, preactivations_of(it)
    state = ReluState(m.X @ m.X.T, Z, net.v, m.activation(Z) @ net.v - m.y)
    plain, refined = (estimate_flow_radius(state, refined=r) for r in (False, True))
    linear = estimate_linearized_rate(state)
    found = [("by L1", plain.rate.plain if plain else None)]
    found += [("by L1C, flow only", refined.rate.best if refined else None)]
    found += [("by L2, linearized path, flow", linear.rate if linear else None)]
    holds = any(rate is not None for _, rate in found)
    return TheoremReport(
        "DU-CERT-L1",
        says,
        (relu(m), check("some λ > 0 is consistent with the signs", holds)),
        numbers=(
            ("λ_min(H) at the drawn start", it.start.gram.low),
            *((f"rate λ {how}", rate) for how, rate in found if rate is not None),
        ),
        instead="the claims relu-linearized-descent (descent, narrower) and relu-descent prove it, "
        "if need be after some training (DU-CERT-R)",
    )

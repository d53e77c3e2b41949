"""The theorems and lemmas of DU chapter 3 on one table of data: deep networks of a given depth,
their limits with lower bounds, and the constants of the proofs at one drawn network.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from globalmin._options import Architecture
from globalmin.deep import constants, gram_bounds
from globalmin.deep.facts_convergence import C_RES, DEEP_LIMIT, POLYNOMIALS
from globalmin.deep.gram import deep_features, deep_gram, deep_ntk
from globalmin.deep.gram_bounds import error_amplification, last_layer_split
from globalmin.deep.lipschitz import estimate_deep_descent
from globalmin.deep.network import DeepNetwork, draw_deep
from globalmin.facts import assumptions, finding
from globalmin.facts.finding import fact

if TYPE_CHECKING:
    from globalmin.facts.instance import Instance, Measurements

BOTH: tuple[tuple[Architecture, str], ...] = (
    ("fully_connected", "fully connected"),
    ("resnet", "residual"),
)
WIDTH_LIMIT = 2_000  # widths up to which a deep network is drawn for a fact


def computable(it: Instance) -> finding.Hypothesis:
    """Whether the deep quantities are computed for these data."""
    m = it.m
    fits = m.n <= DEEP_LIMIT and it.width <= WIDTH_LIMIT
    nice = m.activation.is_smooth and m.activation.name not in POLYNOMIALS
    return finding.check(
        "smooth φ, no polynomial, and sizes for which this is computed",
        fits and nice,
        f"{m.activation}, n = {m.n}, width {it.width}",
        is_scope=True,
    )


def _is_out(it: Instance) -> bool:
    return computable(it).finding == "fails"


def _depth(it: Instance) -> int:
    return max(it.depth, 2)


def _least(m: Measurements, architecture: Architecture, depth: int) -> float:
    K = deep_gram(m.X, architecture, depth, m.activation, c_res=C_RES)
    return float(np.linalg.eigvalsh(K)[0])


@fact("DU-D3.1", "DU-D3.2", "DU-D3.4", "DU-X3.1", "DU-G3")
def limits(it: Instance) -> finding.TheoremReport:
    """The limiting Gram matrices of both architectures."""
    m, H = it.m, _depth(it)
    says = "wide deep networks have fixed Gram matrices, one per layer; their sum is the kernel"
    if _is_out(it):
        return finding.TheoremReport("DU-D3.1", says, (computable(it),))
    numbers = []
    for architecture, word in BOTH:
        total = deep_ntk(m.X, architecture, H, m.activation, c_res=C_RES).total
        numbers += [
            (f"λ_min(K^(H)), {word}, H = {H}", _least(m, architecture, H)),
            (f"λ_min of the sum over all layers, {word}", float(np.linalg.eigvalsh(total)[0])),
        ]
        numbers.append(
            (f"largest correlation of two rows at the top, {word}", _collapse(it, architecture))
        )
    return finding.TheoremReport("DU-D3.1", says, (computable(it),), numbers=tuple(numbers))


def _collapse(it: Instance, architecture: Architecture) -> float:
    """The largest correlation of two samples in the features below the head: depth draws inputs
    together.
    """
    S = deep_features(it.m.X, architecture, _depth(it), it.m.activation, c_res=C_RES)[-1].S
    scale = np.sqrt(np.diag(S))
    cosines = S / np.outer(scale, scale) - 2.0 * np.eye(len(S))
    return float(cosines.max())


@fact("DU-P3.1", "DU-L3.23", "DU-L3.24", "DU-L3.31")
def full_rank(it: Instance) -> finding.TheoremReport:
    """When the fully connected limit is positive definite, and lower bounds of it."""
    m, H = it.m, _depth(it)
    says = "no two rows parallel and φ analytic, no polynomial: λ_min(K^(H)) > 0"
    found = gram_bounds.full_rank_hypotheses(m.X, m.activation)
    hypothesis = finding.check(
        "DU-P3.1 applies", found.holds, "; ".join(found.reasons), is_scope=True
    )
    if _is_out(it):
        return finding.TheoremReport("DU-P3.1", says, (hypothesis, computable(it)))
    numbers = [
        (f"λ_min(K^(H)), H = {H}", _least(m, "fully_connected", H)),
        ("at least, by Schur from the layer below", gram_bounds.schur_limit(m.X, H, m.activation)),
        (
            "rank of the (n−1)-fold tensor powers",
            float(gram_bounds.tensor_power_rank(m.X, m.n - 1)),
        ),
        ("n", float(m.n)),
    ]
    if m.has_unit_rows:
        value = gram_bounds.hermite_limit(np.clip(m.X @ m.X.T, -1.0, 1.0), m.activation)
        numbers.append(("λ_min(c_σ E[σσᵀ]) at least, by 12 Hermite terms", value))
    return finding.TheoremReport(
        "DU-P3.1", says, (hypothesis, computable(it)), numbers=tuple(numbers)
    )


@fact("DU-P3.2", "DU-L3.25")
def depth_independent(it: Instance) -> finding.TheoremReport:
    """The bound of residual networks that does not decay with the depth."""
    m, H = it.m, _depth(it)
    says = "residual networks: λ_min(K^(H)) ≥ (c_res/H)² κ, κ free of the depth (explicit, ours)"
    if _is_out(it):
        return finding.TheoremReport(
            "DU-P3.2", says, (computable(it), assumptions.no_parallel_rows(m))
        )
    found = gram_bounds.depth_independent_limit(m.X, H, m.activation, c_res=C_RES)
    return finding.TheoremReport(
        "DU-P3.2",
        says,
        (computable(it), assumptions.no_parallel_rows(m)),
        numbers=(
            ("κ₁ = λ_min(K^(1) − b b^T)", found.kappa),
            (f"λ_min(K^(H)) at least, H = {H}", found.bound),
            ("λ_min(K^(H))", _least(m, "resnet", H)),
        ),
    )


@fact("DU-T3.4", "DU-DA5")
def amplification(it: Instance) -> finding.TheoremReport:
    """How errors of one layer grow through the next."""
    m, H = it.m, max(it.depth, 3)
    says = "finite layers deviate from their limits by O(1/√m), times a factor per layer"
    if _is_out(it):
        return finding.TheoremReport("DU-T3.4", says, (computable(it), assumptions.smooth(m)))
    numbers = []
    for architecture, word in BOTH:
        found = error_amplification(m.X, architecture, H, m.activation, c_res=C_RES)
        product = math.prod(layer.gram for layer in found)
        numbers.append((f"product of the factors of layers 2..H−1, {word}, H = {H}", product))
    return finding.TheoremReport(
        "DU-T3.4", says, (computable(it), assumptions.smooth(m)), numbers=tuple(numbers)
    )


def _drawn(it: Instance, architecture: Architecture) -> DeepNetwork:
    return draw_deep(
        it.m.X, it.width, _depth(it), architecture, it.m.activation, c_res=C_RES, seed=0
    )


@fact("DU-L3.22", "DU-L3.2")
def first_layers(it: Instance) -> finding.TheoremReport:
    """A drawn network's last layer against its limit."""
    m = it.m
    says = "at a large width the drawn last-layer Gram matrix is within λ₀/4 of its limit"
    if _is_out(it):
        return finding.TheoremReport("DU-L3.22", says, (computable(it),))
    found = last_layer_split(_drawn(it, "fully_connected"), m.X, c_res=C_RES)
    return finding.TheoremReport(
        "DU-L3.22",
        says,
        (
            computable(it),
            finding.check(
                "‖G^(H)(0) − K^(H)‖ ≤ λ₀/4 for one drawn network",
                found.holds,
                f"{finding.number(found.total)}, {finding.number(found.allowed)} allowed",
            ),
        ),
        numbers=(
            ("its own sampling error", found.sampling),
            ("inherited from the layers below", found.inherited),
            ("total", found.total),
            ("allowed, λ₀/4", found.allowed),
        ),
    )


@fact("DU-L3.1", "DU-L3.3", "DU-L3.4", "DU-L3.5", "DU-L3.6", "DU-L3.8", "DU-A3.1")
def proof_constants(it: Instance) -> finding.TheoremReport:
    """The constants of the proofs of DU-T3.1 and DU-T3.2 at one drawn network."""
    m, H, phi = it.m, _depth(it), it.m.activation
    says = "the proof closes once descent moves the weights less (R') than it may (R)"
    if _is_out(it) or not math.isfinite(m.M):
        return finding.TheoremReport("DU-L3.1", says, (computable(it), assumptions.smooth(m)))
    network = _drawn(it, "fully_connected")
    start = constants.measured_start(network, m.X)
    r = float(np.linalg.norm(network.predict(m.X) - m.y))
    lam = _least(m, "fully_connected", H)
    residual_start = constants.measured_start(_drawn(it, "resnet"), m.X)
    numbers = [
        ("width for ½ ≤ ‖x^(h)‖ ≤ 2, DU-L3.1", constants.width_for_norms(m.n, H, phi)),
        ("largest ‖x^(h)‖ of the drawn network", start.c_x0),
        ("largest ‖W^(h)‖/√m of it", start.c_w0),
        ("P(‖W‖ > 3√m) ≤", constants.spectral_tail(it.width, 3.0)),
        ("largest ‖x^(h)‖ of a residual network", residual_start.c_x0),
        (
            "the same, bound of DU-L3.8",
            constants.feature_limit(phi, residual_start.c_w0, c_res=C_RES),
        ),
    ]
    closes = False
    if lam > 0.0:
        allowed = constants.allowed_movement(phi, start, H, m.n, lambda0=lam)
        moved = constants.predicted_movement(
            phi, start, H, m.n, width=it.width, residual=r, lambda0=lam
        ).upper
        step = constants.proof_step_size(phi, start, H, m.n, residual=r, lambda0=lam)
        closes = moved < allowed
        numbers += [("R, DU-L3.4", allowed), ("R', DU-L3.5", moved), ("step, DU-L3.6", step)]
    return finding.TheoremReport(
        "DU-L3.1",
        says,
        (
            computable(it),
            assumptions.smooth(m),
            assumptions.unit_rows(m),
            finding.check("R' < R", closes),
        ),
        numbers=tuple(numbers),
        instead="the claim deep-descent (theorem DS) at actual weights",
    )


@fact("DU-CERT-S")
def descent_at_start(it: Instance) -> finding.TheoremReport:
    """Theorem DS at one drawn network."""
    says = "ours: gradient descent from exactly these deep weights reaches zero loss"
    if _is_out(it):
        return finding.TheoremReport("DU-CERT-S", says, (computable(it),))
    found = estimate_deep_descent(_drawn(it, "fully_connected"), it.m.X, it.m.y)
    return finding.TheoremReport(
        "DU-CERT-S",
        says,
        (computable(it), finding.check("‖r‖ ≤ a t − Λ t²/2 for some t", found.holds)),
        None,
        found.step_size if found.holds else None,
        1.0 - found.rate if found.holds else None,
        numbers=(
            ("‖r‖", found.residual),
            ("σ_min(J), all layers", found.smallest),
            ("‖J‖", found.largest),
            ("Lipschitz constant Λ of J nearby", found.lipschitz),
        ),
        instead="train with gm.train_deep, then the claim deep-descent",
    )

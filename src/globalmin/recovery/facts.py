"""The theorems of FCL, Gaussian inputs and planted labels, on one instance: measured, not decided;
SJL-T2.5: `facts_planted`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from globalmin.errors import HypothesisError
from globalmin.facts.assumptions import gaussian, smooth, thrice_bounded
from globalmin.facts.finding import Hypothesis, TheoremReport, check, fact, number
from globalmin.recovery import bounds, concentration, geometry, information, moments, planted
from globalmin.recovery.geometry import fourth_directional_derivative
from globalmin.recovery.population import (
    gradient_deviation,
    hessian_deviation,
    orthonormal_hessian,
    population_hessian,
)

if TYPE_CHECKING:
    from globalmin._types import Array
    from globalmin.facts.instance import Instance


PLANTED = "labels planted by a network of this width"


WEIGHTS_LIMIT = 60  # Kd up to which Hessians and third derivatives are formed
BOUNDED = ("sigmoid", "tanh", "erf")


def few_neurons(it: Instance) -> Hypothesis:
    """The theory is for at most d neurons, and computed for few weights."""
    K, d = it.start.network.W.shape
    return check(
        "K ≤ d, and Kd small enough to compute",
        d >= K and K * d <= WEIGHTS_LIMIT,
        f"K = {K} neurons (the width), d = {d}",
    )


def _is_out(it: Instance) -> bool:
    return "fails" in (few_neurons(it).finding, thrice_bounded(it.m).finding)


def _common(it: Instance) -> tuple[Hypothesis, ...]:
    return thrice_bounded(it.m), gaussian(it.m), few_neurons(it)


@fact("FCL-DEF1", "FCL-A2", "FCL-F2", "FCL-GAM", "FCL-A3", "FCL-A4", "FCL-DEF3", "FCL-A1")
def activation_moments(it: Instance) -> TheoremReport:
    """The Gaussian moments of the activation at norm 1."""
    m, phi = it.m, it.m.activation
    says = "a few Gaussian moments of φ decide curvature at a teacher and recovery from moments"
    if thrice_bounded(m).finding == "fails":
        return TheoremReport("FCL-DEF1", says, (thrice_bounded(m),))
    numbers = [(f"α_{q}(1)", float(moments.slope_moment(1.0, phi, q))) for q in range(3)]
    numbers += [(f"β_{q}(1)", float(moments.squared_slope_moment(1.0, phi, q))) for q in (0, 2)]
    numbers += [("ρ(1)", float(moments.rho(1.0, phi)))]
    numbers += [(f"γ_{j}(1)", float(moments.value_moment(1.0, phi, j))) for j in range(5)]
    numbers += [(f"m_{j}(1)", float(moments.hermite_moment(1.0, phi, j))) for j in range(1, 5)]
    try:
        orders = moments.moment_orders(phi)
        told = check("the moments tell neurons apart (FCL-A3)", True, f"orders {orders.vanishing}")
    except HypothesisError as refusal:
        told = check("the moments tell neurons apart (FCL-A3)", False, str(refusal))
    return TheoremReport("FCL-DEF1", says, (thrice_bounded(m), told), numbers=tuple(numbers))


@fact("FCL-LMIN", "FCL-HMAX", "FCL-L1", "FCL-L2", "FCL-ORTH", "FCL-POP")
def population_curvature(it: Instance) -> TheoremReport:
    """The population Hessian at the drawn first layer as teacher."""
    W, phi = it.start.network.W, it.m.activation
    says = "the population loss of a planted mean of K neurons is strongly convex near the teacher"
    if _is_out(it):
        return TheoremReport("FCL-LMIN", says, _common(it))
    (K, d), found = W.shape, bounds.population_radius(W, phi, it.theta)
    exact = np.linalg.eigvalsh(population_hessian(W, W, phi))
    step, rate = bounds.descent_rate(found.least, found.most)  # of the loss 1/(2n)
    like = orthonormal_hessian(found.conditioning.sigma_min, K, d, phi)
    return TheoremReport(
        "FCL-LMIN",
        says,
        _common(it),
        None,
        step / it.m.n,
        numbers=(
            ("step on the loss 1/(2n) Σ r²", step),
            ("factor of the distance to the teacher per step", rate),
            ("λ_min(∇²f) ≥ ρ/(K²κ²λ)", bounds.population_curvature_least(W, phi)),
            ("λ_min(∇²f)", float(exact[0])),
            ("λ_max(∇²f)", float(exact[-1])),
            ("λ_max(∇²f) ≤ b₁²/K", bounds.population_curvature_most(K, phi)),
            ("Lipschitz constant of ∇²f from the teacher", _lipschitz(K, it)),
            (f"radius that keeps the part {number(it.theta)} of the curvature", found.radius),
            ("λ_min(∇²f) for orthogonal neurons of the smallest norm", _smallest(like)),
        ),
    )


def _lipschitz(K: int, it: Instance) -> float:
    return bounds.population_hessian_lipschitz(K, it.m.activation)


def _smallest(H: Array) -> float:
    return float(np.linalg.eigvalsh(H)[0])


@fact("FCL-C1", "FCL-C2", "FCL-C4")
def sample_sizes(it: Instance) -> TheoremReport:
    """The orders of FCL-T1 and FCL-T2, and our explicit number of samples."""
    m, W, phi = it.m, it.start.network.W, it.m.activation
    says = "from so many samples on the loss itself is strongly convex near the teacher"
    if _is_out(it) or m.n < 2 or m.d < 2:
        return TheoremReport("FCL-C1", says, _common(it))
    scales = bounds.theorem_scales(W, m.n, phi)
    numbers = [
        ("n of FCL-T1 without its constant", scales.samples),
        ("radius without its constant", scales.radius),
        ("error of FCL-T2 without its constant", scales.error),
    ]
    enough = math.inf
    if phi.name in BOUNDED:
        found = concentration.explicit_samples(W, phi, theta=it.theta, delta=it.failure)
        enough = float(found.samples)
        numbers += [
            ("n that suffices (ours, explicit)", enough),
            ("radius of that ball", found.radius),
        ]
    wide = check("n ≥ our explicit number", m.n >= enough, f"n = {m.n}, {number(enough)} asked")
    return TheoremReport(
        "FCL-C1",
        says,
        (*_common(it), wide),
        failure=it.failure,
        numbers=tuple(numbers),
        instead="the claim unique-minimum (FCL-CERT) for actual weights",
    )


@fact("FCL-L3", "FCL-L4", "FCL-L5", "FCL-L6", "FCL-L7")
def deviations(it: Instance) -> TheoremReport:
    """How far gradient and Hessian of the sample are from their means."""
    m, W, phi = it.m, it.start.network.W, it.m.activation
    says = "gradient and Hessian of the sample are near those of the population"
    bounded = check("φ is bounded (sigmoid, tanh, erf)", phi.name in BOUNDED, f"{phi}")
    if _is_out(it) or phi.name not in BOUNDED:
        return TheoremReport("FCL-L3", says, (*_common(it), bounded))
    K, d = W.shape
    planted_y = phi(m.X @ W.T).mean(axis=1)
    u = W / np.linalg.norm(W)
    hessian_gap = hessian_deviation(W, W, m.X, planted_y, phi)
    along = concentration.sample_gradients_along(u, W, m.X, m.y, phi)
    options = {"delta": it.failure}
    return TheoremReport(
        "FCL-L3",
        says,
        (*_common(it), bounded),
        failure=it.failure,
        numbers=(
            ("‖∇²f_n−∇²f‖ ≤", concentration.hessian_deviation_limit(m.n, d, K, phi, **options)),
            ("‖∇²f_n−∇²f‖, labels of the drawn layer", hessian_gap),
            ("‖∇f_n−∇f‖ ≤", concentration.gradient_deviation_limit(m.n, d, K, phi, **options)),
            ("‖∇f_n−∇f‖, the same", gradient_deviation(W, W, m.X, planted_y, phi)),
            ("Lipschitz constant of ∇²f_n ≤", bounds.pathwise_hessian_lipschitz(m.X, K, phi)),
            ("ψ₂ norm of one gradient ≤", concentration.gradient_psi2_limit(K, phi)),
            ("ψ₂ norm along W, these labels", concentration.estimate_psi2_norm(along)),
            ("log of the size of a ¼-net", concentration.log_net_size(K * d, 0.25)),
        ),
    )


@fact("FCL-D1", "FCL-D2", "FCL-D3")
def derivatives(it: Instance) -> TheoremReport:
    """Derivatives up to the fourth along the gradient, at the drawn first layer."""
    m, W, phi = it.m, it.start.network.W, it.m.activation
    says = "the first four derivatives of the loss of a mean of K neurons in closed form"
    if _is_out(it):
        return TheoremReport("FCL-D1", says, _common(it))
    loss, G = geometry.empirical_loss_and_gradient(W, m.X, m.y, phi)
    A = G / max(float(np.linalg.norm(G)), np.finfo(np.float64).tiny)
    second, third = geometry.directional_derivatives(W, A, m.X, m.y, phi)
    flat = geometry.third_tensor(W, m.X, m.y, phi).reshape(W.size, -1)
    numbers = [
        ("loss 1/(2n)", loss),
        ("‖∇f_n‖", float(np.linalg.norm(G))),
        ("second derivative along it", second),
        ("third derivative along it", third),
        ("norm of the flattened third derivative", float(np.linalg.norm(flat, 2))),
    ]
    if phi.name in (*BOUNDED, "softplus"):
        fourth = fourth_directional_derivative(W, A, m.X, m.y, phi)
        numbers.append(("fourth derivative along it", fourth))
    return TheoremReport("FCL-D1", says, _common(it), numbers=tuple(numbers))


@fact("FCL-M1")
def label_information(it: Instance) -> TheoremReport:
    """How well n binary labels can tell the weights."""
    m, W, phi = it.m, it.start.network.W, it.m.activation
    says = "binary labels with the teacher's probabilities; n of them tell the weights only so well"
    suits = information.gives_probabilities(phi)
    probable = check("φ has values in (0, 1)", suits, f"{phi}", is_scope=True)
    if _is_out(it) or not suits:
        return TheoremReport("FCL-M1", says, (probable, *_common(it)))
    found = information.estimate_label_information(W, phi)
    squares, best = found.squares_covariance, found.likelihood_covariance
    error = information.asymptotic_error(squares, m.n)
    return TheoremReport(
        "FCL-M1",
        says,
        (probable, *_common(it)),
        numbers=(
            ("‖W*‖", float(np.linalg.norm(W))),
            ("error of least squares at this n (limit)", error),
            ("its median", information.estimate_median_error(squares, m.n, draws=20_000)),
            ("error of any unbiased estimator ≥ (limit)", information.asymptotic_error(best, m.n)),
        ),
    )


@fact("OS-C5")
def joint_training(it: Instance) -> TheoremReport:
    """Both layers trained: from the drawn start, and around it as a teacher."""
    m, net = it.m, it.start.network
    says = "ours: both layers trained from exactly these weights, descent reaches zero loss"
    if smooth(m).finding == "fails":
        return TheoremReport("OS-C5", says, (smooth(m),))
    found = planted.joint_descent(net, m.X, m.y)
    basin = planted.planted_basin(net, m.X)
    numbers: list[tuple[str, float]] = []
    if basin is not None:
        low, high = (2.0 / m.n * s**2 for s in (basin.point.a, basin.point.b))
        loss = planted.trapped_loss(low, high, basin.radius)
        numbers += [
            ("labels of this network: descent returns from every start within", basin.radius),
            ("loss ‖r‖²/(2n) from which SJL-PL keeps descent in that ball", loss),
        ]
    if net.width >= m.d:
        scales = planted.planted_scales(net, m.n)
        numbers.append(("the radius of SJL-T2.5 without its constant", scales.radius))
    return TheoremReport(
        "OS-C5",
        says,
        (smooth(m), check("OS-C5 closes at the drawn start", found is not None)),
        None,
        found.quantities.eta if found else None,
        found.quantities.rate if found else None,
        numbers=tuple(numbers),
        instead='gm.certify(..., trained="vW") at the trained weights',
    )

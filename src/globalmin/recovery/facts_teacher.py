"""FCL-T1, FCL-T2 and FCL-T3 on one instance, with numbers: the first layer of the network is taken
for the teacher, its head for 1/K.

Laws (Gaussian inputs, planted labels) are tested, not proved: six standard errors. Where the
theorem's constant exists only, the number of samples of its explicit version (ours) decides if it
is reached; below it the finding stays "constant unknown".
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from globalmin.errors import HypothesisError
from globalmin.facts.assumptions import thrice_bounded
from globalmin.facts.finding import Finding, Hypothesis, TheoremReport, check, fact, number, unknown
from globalmin.recovery import bounds, concentration, information, moments
from globalmin.recovery.doubts import SIGMAS, input_deviation
from globalmin.recovery.geometry import hessian_parts
from globalmin.recovery.matching import match_neurons
from globalmin.recovery.population import population_hessian
from globalmin.recovery.tensor_initialization import tensor_start

if TYPE_CHECKING:
    from globalmin._types import Array
    from globalmin.activations import Activation
    from globalmin.facts.instance import Instance

NORMS = np.geomspace(0.05, 50.0, 25)  # at which Assumption 2 is evaluated
POSITIVE = 1e-9  # rho below this part of b_1^2 min(1, s)^4 is rounding
SAME = 1e-9  # labels equal the network's outputs up to this
WEIGHTS_LIMIT = 60  # Kd up to which Hessians are formed
HALF = 0.5  # part of the population curvature kept on the ball
PLANTED = "labels planted by a mean of K neurons of this network's first layer"


def rho_is_positive(it: Instance) -> Hypothesis:
    """Assumption 2 as stated: rho(s) > 0 for all s > 0; evaluated at 25 norms."""
    phi = it.m.activation
    values = moments.rho(NORMS, phi)
    floor = POSITIVE * float(phi.supremum(1)) ** 2 * np.minimum(NORMS, 1.0) ** 4
    return check(
        "ρ(s) > 0 for all s > 0 (Assumption 2)",
        bool((values > floor).all()),
        f"least of 25 norms from 0.05 to 50: ρ = {number(float(values.min()))}; zero for affine φ "
        "only",
    )


def gaussian_law(it: Instance) -> Hypothesis:
    """Standard normal inputs: first and second moments within six standard errors."""
    off, allowed = input_deviation(it.m.X)
    return check(
        "inputs drawn from N(0, I) (a law: tested, not proved)",
        off <= allowed,
        f"moments off by {number(off)}, {number(allowed)} allowed",
    )


def at_most_d(it: Instance) -> Hypothesis:
    """No more neurons than features."""
    K, d = it.start.network.W.shape
    return check("K ≤ d", d >= K, f"K = {K} neurons (the width), d = {d}")


def independent(it: Instance) -> Hypothesis:
    """The smallest singular value of the teacher is positive."""
    values = np.linalg.svd(it.start.network.W, compute_uv=False)
    kappa = float(values[0]) / max(float(values[-1]), 1e-300)
    return check(
        "σ_K > 0: independent neurons",
        len(values) == len(it.start.network.W) and kappa < 1e12,
        f"σ_K = {number(float(values[-1]))}, κ = {number(kappa)}",
    )


def planted_labels(it: Instance) -> Hypothesis:
    """Labels of FCL-M2 exactly, or of FCL-M1 as far as a score test sees."""
    W, phi, m = it.start.network.W, it.m.activation, it.m
    p = phi(m.X @ W.T).mean(axis=1)
    gap = float(np.abs(p - m.y).max())
    if gap <= SAME * (1.0 + float(np.abs(m.y).max())):
        return check(PLANTED, True, "noiseless: y is its output (FCL-M2)")
    given = getattr(it.start, "is_given", False)
    if np.isin(m.y, (0.0, 1.0)).all() and information.gives_probabilities(phi):
        sigmas = _score_sigmas(W, m.X, m.y, phi)
        fits = abs(sigmas) <= SIGMAS
        told = f"binary (FCL-M1); score test {number(sigmas)} standard deviations"
        if fits or given:
            return check(PLANTED, fits, told)
    if given:
        return check(PLANTED, False, f"largest |y − f(x)| = {number(gap)}")
    return unknown(PLANTED, "the layer was drawn; give the teacher as network=")


def _score_sigmas(W: Array, X: Array, y: Array, phi: Activation) -> float:
    """(T - m)/sqrt(2m) of the score of the teacher, chi-square with m degrees of freedom if the
    labels are its own.
    """
    Z = X @ W.T
    p = np.clip(phi(Z).mean(axis=1), 1e-9, 1.0 - 1e-9)
    J = (phi.derivative(Z)[:, :, None] * X[:, None, :]).reshape(len(X), W.size)
    score, V = J.T @ (y - p), (J * (p * (1.0 - p))[:, None]).T @ J
    rank = int(np.linalg.matrix_rank(V))
    statistic = float(score @ np.linalg.lstsq(V, score, rcond=None)[0])
    return (statistic - rank) / math.sqrt(2.0 * max(rank, 1))


def _common(it: Instance) -> tuple[Hypothesis, ...]:
    return (
        thrice_bounded(it.m),
        *((rho_is_positive(it),) if thrice_bounded(it.m).finding == Finding.HOLDS else ()),
        gaussian_law(it),
        at_most_d(it),
        independent(it),
        planted_labels(it),
    )


def _can_compute(hypotheses: tuple[Hypothesis, ...]) -> bool:
    """Whether the numbers of the teacher exist: everything but the laws holds."""
    return all(
        h.finding is not Finding.FAILS or h.statement.startswith(("inputs", "labels"))
        for h in hypotheses
    )


def _enough(it: Instance, asked: float | None, printed: float) -> Hypothesis:
    """The samples against the explicit number: reached, or unknown, since C may be smaller."""
    told = f"n = {it.m.n}; without C {number(printed)}"
    if asked is None:
        return unknown(
            "n ≥ C d K³ log²d ((L+1)L κ²λ/ρ)²", f"{told}; no explicit version for this φ"
        )
    told += f"; with explicit constants (ours) {number(asked)}"
    if it.m.n >= asked:
        return check("n ≥ C d K³ log²d ((L+1)L κ²λ/ρ)²", True, told)
    return unknown("n ≥ C d K³ log²d ((L+1)L κ²λ/ρ)²", told)


def _curvature(W: Array, phi: Activation) -> float | None:
    """The least eigenvalue of the population Hessian at the teacher where it is affordable."""
    if W.size > WEIGHTS_LIMIT:
        return None
    return float(np.linalg.eigvalsh(population_hessian(W, W, phi))[0]) * (1.0 - 1e-9)


@fact("FCL-T1", headline=True)
def curvature_theorem(it: Instance) -> TheoremReport:
    """FCL-T1 with its radius, curvature and samples."""
    says = (
        "planted mean of K neurons: the loss 1/(2n) Σ r² is strongly convex in a ball around the "
        "teacher"
    )
    instead = "the claim unique-minimum (FCL-CERT) for actual weights; gm.plan_recovery"
    hypotheses = _common(it)
    if not _can_compute(hypotheses) or it.m.d < 2 or it.m.n < 2:
        return TheoremReport("FCL-T1", says, hypotheses, instead=instead)
    numbers, asked = _curvature_numbers(it)
    return TheoremReport(
        "FCL-T1",
        says,
        (*hypotheses, _enough(it, asked, dict(numbers)["n without C"])),
        failure=it.failure,
        instead=instead,
        numbers=tuple(numbers),
    )


def _curvature_numbers(it: Instance) -> tuple[list[tuple[str, float]], float | None]:
    """Curvature, radius and samples around the teacher; and the explicit number of samples."""
    W, phi, m = it.start.network.W, it.m.activation, it.m
    curvature = _curvature(W, phi)
    ball = bounds.population_radius(W, phi, HALF, curvature=curvature)
    explicit = _explicit(it, curvature)
    numbers = [
        ("ρ(σ_K)", ball.conditioning.rho),
        ("κ", ball.conditioning.kappa),
        ("λ = Π σ_i/σ_K", ball.conditioning.volume),
        ("radius that keeps half of the population curvature (FCL-L2)", ball.radius),
        ("H_min ≥ ρ/(K²κ²λ) at the teacher", bounds.population_curvature_least(W, phi)),
        ("H_min on the ball, population", ball.least),
        ("H_max on the ball, population", ball.most),
        ("n without C", bounds.theorem_scales(W, m.n, phi).samples),
    ]
    if curvature is not None:
        H = np.linalg.eigvalsh(hessian_parts(W, m.X, m.y, phi).total)
        numbers += [
            ("λ_min of the population Hessian at the teacher", curvature),
            ("λ_min of the Hessian of these samples there", float(H[0])),
            ("λ_max of the Hessian of these samples there", float(H[-1])),
        ]
    if explicit is not None:
        numbers += [
            ("n that suffices, every constant explicit", float(explicit.samples)),
            ("H_min of the samples on the ball from that n on", explicit.least),
        ]
    return numbers, None if explicit is None else float(explicit.samples)


def _explicit(it: Instance, curvature: float | None) -> concentration.ExplicitSamples | None:
    try:
        return concentration.explicit_samples(
            it.start.network.W,
            it.m.activation,
            theta=HALF,
            delta=it.failure,
            curvature=curvature,
        )
    except HypothesisError:  # residuals without a bound
        return None


@fact("FCL-T2", headline=True)
def unique_point(it: Instance) -> TheoremReport:
    """FCL-T2 with step, rate, expected error and samples."""
    says = (
        "one critical point in the ball of FCL-T1, near the teacher, and gradient descent from "
        "inside the ball converges to it, the distance shrinking by the rate in every step"
    )
    instead = "gm.recover_teacher: error bars of the samples, and a certified ball (FCL-CERT)"
    hypotheses = _common(it)
    if not _can_compute(hypotheses) or it.m.d < 2 or it.m.n < 2:
        return TheoremReport("FCL-T2", says, hypotheses, instead=instead)
    W, phi, m = it.start.network.W, it.m.activation, it.m
    curvature = _curvature(W, phi)
    ball = bounds.population_radius(W, phi, HALF, curvature=curvature)
    low, high = ball.least / 2.0, ball.most + ball.least / 2.0  # of the samples, as in FCL-T1
    step, rate = bounds.descent_rate(low, high)
    scales, size = bounds.theorem_scales(W, m.n, phi), float(np.linalg.norm(W))
    numbers = [
        ("radius", ball.radius),
        ("step on the loss 1/(2n) Σ r², 2/(H_min + H_max)", step),
        ("factor of the distance to the critical point per step", rate),
        ("H_min on the ball, samples", low),
        ("H_max on the ball, samples", high),
        ("the paper's step H_min/H_max², the same loss", low / high**2),
        ("error (8) without C₁, relative", scales.error / size),
    ]
    asked, found = _error_numbers(it, curvature, noiseless="noiseless" in hypotheses[-1].measured)
    numbers += found
    return TheoremReport(
        "FCL-T2",
        says,
        (*hypotheses, _enough(it, asked, scales.samples)),
        None,
        step / m.n,
        failure=it.failure,
        instead=instead,
        numbers=tuple(numbers),
    )


def _error_numbers(
    it: Instance, curvature: float | None, *, noiseless: bool
) -> tuple[float | None, list[tuple[str, float]]]:
    """Samples of the explicit theorem, and the error of the critical point to be expected."""
    W, phi, n = it.start.network.W, it.m.activation, it.m.n
    explicit, enough = _explicit(it, curvature), "n that suffices, every constant explicit"
    if noiseless:
        exact = [("relative error of the critical point (FCL-C2)", 0.0)]
        if explicit is None:
            return None, exact
        return float(explicit.samples), [*exact, (enough, float(explicit.samples))]
    if explicit is None or not information.gives_probabilities(phi):
        return None, []
    asked = float(
        concentration.explicit_error_samples(
            W, phi, error=1.0, theta=HALF, delta=it.failure, curvature=curvature
        )
    )
    if W.size > WEIGHTS_LIMIT:
        return asked, [(enough, asked)]
    C = information.estimate_label_information(W, phi).squares_covariance
    relative = information.asymptotic_error(C, n) / float(np.linalg.norm(W))
    return asked, [
        ("relative error to be expected, binary labels (large n)", relative),
        ("n for 10 % of it (estimate)", n * (relative / 0.1) ** 2),
        (enough, asked),
    ]


@fact("FCL-T3", headline=True)
def tensor_theorem(it: Instance) -> TheoremReport:
    """FCL-T3: whether the moments show the neurons, and how near the tensor start comes."""
    says = "a start from moment tensors (Algorithm 2) within that ball"
    W, phi, m = it.start.network.W, it.m.activation, it.m
    smooth = thrice_bounded(m)
    hypotheses = [smooth, gaussian_law(it), at_most_d(it), independent(it), planted_labels(it)]
    numbers: list[tuple[str, float]] = []
    if smooth.finding is Finding.HOLDS:
        hypotheses += _moment_hypotheses(W, phi)
        numbers += _start_numbers(it, tuple(hypotheses))
    hypotheses.append(unknown("n ≥ d poly(K, κ, log d, 1/ε)", f"n = {m.n}; not specified"))
    return TheoremReport(
        "FCL-T3",
        says,
        tuple(hypotheses),
        instead="gm.recover_teacher, then FCL-CERT",
        numbers=tuple(numbers),
    )


def _moment_hypotheses(W: Array, phi: Activation) -> list[Hypothesis]:
    """Assumptions 3 and 4, from the moments of the activation."""
    try:
        orders = moments.moment_orders(phi)
    except HypothesisError as refusal:
        return [check("moments do not vanish (Assumption 3)", False, str(refusal))]
    read = f"reads orders {orders.magnitude}, {orders.matrix}, {orders.tensor}"
    norms = np.linalg.norm(W, axis=1)
    slopes = moments.slope_moment(np.maximum(norms, 1e-12), phi, 2)
    return [
        check("moments do not vanish (Assumption 3)", True, f"{phi}: {read}"),
        check(
            "m₁ increases at every norm (Assumption 4)",
            bool((slopes > 0.0).all()),
            f"slope α₂ {number(float(slopes.min()))} at least: errors of a norm grow by "
            f"{number(1.0 / max(float(slopes.min()), 1e-300))}",
        ),
    ]


def _start_numbers(it: Instance, hypotheses: tuple[Hypothesis, ...]) -> list[tuple[str, float]]:
    """The distance of the tensor start from the teacher, measured on these samples."""
    W, phi, m = it.start.network.W, it.m.activation, it.m
    K, d = W.shape
    if any(h.finding is not Finding.HOLDS for h in hypotheses) or m.n < 2 * (d + 1):
        return []
    start = tensor_start(m.X, m.y, K, phi)
    error = match_neurons(start.weights, W).relative_error
    radius = bounds.population_radius(W, phi, HALF).radius / float(np.linalg.norm(W))
    return [
        ("relative distance of the tensor start from the teacher, these samples", error),
        ("radius of FCL-L2, relative", radius),
        ("gap of the matrix moment", start.subspace.gap),
    ]

"""The facts of chapter 6 with the rows of a table as inputs of one neuron: what `gm.theorem`
prints, computed again.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import globalmin as gm
from globalmin.patches.constants import RotationInvariantConstants, estimate_constants
from globalmin.patches.inputs import filter_at_distance, gaussian_patches
from globalmin.patches.model import filter_gradient, filter_outputs
from globalmin.patches.rates import max_step, plan_sgd

DATA = gm.generators.sphere_with_random_labels(400, 3, seed=0)


def asked(item: str) -> gm.Theorem:
    return gm.theorem(item, DATA, width=4, activation="relu")


def setting() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, the first neuron of the drawn network, and a start at half its length."""
    net = gm.ShallowNetwork.initialize(DATA, width=4, activation="relu", seed=0)
    w = net.W[0]
    return DATA.X[:, None, :], w, filter_at_distance(w, 0.5 * float(np.linalg.norm(w)), seed=1)


def test_numbers_about_one_neuron() -> None:
    """DU-T6.1, DU-T6.2, DU-D6.1, DU-L6.1, DU-T6.7: measured constants beside those of round laws,
    the two terms, steps to one per cent.
    """
    report = asked("DU-T6.2").report
    found = dict(report.numbers)
    Z, w_star, w0 = setting()
    known = estimate_constants(Z, w_star, n_bootstrap=0, seed=1)
    phi0 = math.asin(0.5)
    assert found["γ(φ₀) on these inputs (estimate)"] == pytest.approx(known.gamma(phi0))
    assert found["β on these inputs (estimate)"] == pytest.approx(known.beta)
    size = float(np.mean(np.sum(Z**2, axis=2))) / w_star.size
    law = RotationInvariantConstants(size)
    assert found["γ(φ₀) of a round law of the same size"] == pytest.approx(law.gamma(phi0))
    assert found["β of a round law, m/π"] == pytest.approx(size / math.pi)
    alike = estimate_constants(
        gaussian_patches(len(Z), 1, w_star.size, 1), w_star, n_bootstrap=0, seed=1
    )
    name = "γ(φ₀) on as many standard Gaussian inputs (estimate)"
    assert found[name] == pytest.approx(alike.gamma(phi0))
    slope = filter_gradient(Z, filter_outputs(Z, w_star), w0) @ (w0 - w_star)
    terms = (
        found["⟨∇ℓ, w−w*⟩, part where both are active"] + found["the same, part where only w is"]
    )
    assert terms == pytest.approx(float(slope))
    step = max_step(known, phi0)
    assert report.step_size == pytest.approx(step, rel=1e-6)
    assert report.rate**2 == pytest.approx(1 - step * known.gamma(phi0) / 2, rel=1e-6)
    steps = math.ceil(2 * math.log(1e4) / (report.step_size * known.gamma(phi0)))
    assert abs(found["steps to 0.01 of the distance ≤ (estimate)"] - steps) <= 1
    p = w_star.size
    sharp = found["a random start is good with probability ≥"]
    assert found["the same, as printed"] == pytest.approx(0.25)
    gammas = math.gamma(p / 2 + 1) / math.gamma(p / 2 + 0.5)
    assert sharp == pytest.approx(0.5 - gammas / math.sqrt(math.pi) / math.sqrt(8 * math.pi * p))


def test_plan_of_the_stochastic_theorem() -> None:
    """DU-T6.4, DU-L6.2: step, steps and bounds for one fifth of the length in nine of ten runs."""
    report = asked("DU-T6.4").report
    found = dict(report.numbers)
    Z, w_star, w0 = setting()
    W = float(np.linalg.norm(w_star))
    known = estimate_constants(Z, w_star, n_bootstrap=0, seed=1)
    bound = float(np.max(np.sum(Z**2, axis=2))) * W
    plan = plan_sgd(known, 0.5 * W, gradient_bound=bound, eps=0.2, delta=0.1, W=W)
    assert report.step_size == pytest.approx(plan.step_size, rel=1e-6)
    assert report.failure == pytest.approx(plan.bounds.miss_upper, rel=1e-6)
    assert report.failure <= 0.1
    assert found["steps until ‖w−w*‖ < 0.2‖w*‖"] == pytest.approx(plan.n_steps, rel=1e-6)
    gradient = filter_gradient(Z, filter_outputs(Z, w_star), w0)
    assert found["‖∇ℓ‖ at the start, from the regions"] == pytest.approx(np.linalg.norm(gradient))
    assert found["radius that is kept"] == pytest.approx(plan.bounds.outer)


def test_gradients_of_samples_are_within_the_bound_of_the_plan() -> None:
    """DU-M6: |g| <= max|z|^2 W for every sample and filters no further than W."""
    Z, w_star, _ = setting()
    W = float(np.linalg.norm(w_star))
    bound = float(np.max(np.sum(Z**2, axis=2))) * W
    rng, largest = np.random.default_rng(0), 0.0
    for _ in range(50):
        u = rng.standard_normal(w_star.size)
        w = w_star + W * u / np.linalg.norm(u)
        for z in Z[:50]:
            g = filter_gradient(z[None], filter_outputs(z[None], w_star), w)
            largest = max(largest, float(np.linalg.norm(g)))
    # attained, up to the roundings of a gradient of some ten terms
    assert 0.3 * bound < largest <= bound * (1 + 1e-14)

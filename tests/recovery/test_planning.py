"""gm.plan_recovery: samples, curvature, radius, step and rate, each by another road."""

import math

import numpy as np
import pytest

import globalmin as gm
from globalmin.errors import DataError, HypothesisError
from globalmin.recovery.bounds import conditioning
from globalmin.recovery.concentration import (
    explicit_error_samples,
    explicit_samples,
    gradient_deviation_limit,
    hessian_deviation_limit,
)

W = np.array([[1.5, 0.3, 0.0, 0.0], [0.0, -0.4, 1.8, 0.1]])


def by_monte_carlo(n=1_000_000, seed=0):
    """H = E[JJ^T] and S = E[p(1-p)JJ^T] of the sigmoid teacher W from a sample."""
    X = np.random.default_rng(seed).standard_normal((n, 4))
    s = 1.0 / (1.0 + np.exp(-X @ W.T))
    J = ((s * (1 - s) / 2)[:, :, None] * X[:, None, :]).reshape(n, 8)
    p = s.mean(axis=1)
    return J.T @ J / n, (J * (p * (1 - p))[:, None]).T @ J / n


def test_curvature_radius_step_and_samples_are_those_of_a_sample_of_a_million():
    plan = gm.plan_recovery(W, labels="classification", accuracy=0.1)
    H, S = by_monte_carlo()
    eigenvalues = np.linalg.eigvalsh(H)
    assert plan.curvature == pytest.approx(eigenvalues[0], rel=0.01)
    assert plan.largest_curvature == pytest.approx(eigenvalues[-1], rel=0.01)
    assert plan.curvature_bound <= plan.curvature
    # FCL-L2: half the curvature over 6 sqrt(2/pi) b_1 b_2 K^(-3/2), b_1 = 1/4, b_2 = sqrt(3)/18
    lipschitz = 6 * math.sqrt(2 / math.pi) * 0.25 * math.sqrt(3) / 18 / 2**1.5
    assert plan.radius == pytest.approx(0.5 * plan.curvature / lipschitz, rel=1e-6)
    low, high = plan.curvature / 4, 1 / 16 / 2 + plan.curvature / 2 + plan.curvature / 4
    assert plan.step_size == pytest.approx(2 / (low + high), rel=1e-6)
    assert plan.rate == pytest.approx(1 - 2 * low / (low + high), rel=1e-6)
    inverse = np.linalg.inv(H)
    trace = float(np.trace(inverse @ S @ inverse))
    assert plan.samples == pytest.approx(trace / (0.1 * np.linalg.norm(W)) ** 2, rel=0.03)
    assert plan.expected_error(plan.samples) == pytest.approx(0.1, rel=1e-4)
    assert plan.expected_error(4 * plan.samples) == pytest.approx(0.05, rel=1e-4)
    likely = gm.plan_recovery(W, estimator="likelihood")
    assert likely.samples < plan.samples  # Cramer-Rao


def test_noisy_regression_needs_the_noise_squared_over_the_curvature():
    noisy = gm.plan_recovery(W, labels="regression", noise=0.05, accuracy=0.02)
    H, _ = by_monte_carlo()
    expected = 0.05**2 * np.trace(np.linalg.inv(H)) / (0.02 * np.linalg.norm(W)) ** 2
    assert noisy.samples == pytest.approx(expected, rel=0.03)
    assert noisy.convex_samples is None  # the theorem is about noiseless labels
    exact = gm.plan_recovery(W, labels="regression")
    assert exact.samples == W.size
    assert exact.expected_error(100) == 0.0
    assert exact.error_samples == exact.convex_samples
    softplus = gm.plan_recovery(W, "softplus", labels="regression")
    assert softplus.convex_samples is None
    assert "none known" in str(softplus)


def test_the_planned_samples_give_the_planned_error():
    """Two recoveries of one teacher at the planned n: errors near 10 %, as the error bars say."""
    plan = gm.plan_recovery(W, labels="classification", accuracy=0.1)
    rng = np.random.default_rng(3)
    squares = []
    for _ in range(4):
        X = rng.standard_normal((plan.samples, 4))
        p = (1 / (1 + np.exp(-X @ W.T))).mean(axis=1)
        data = gm.Dataset(X, (rng.random(len(p)) < p) * 1.0, bias=False, scaling="none")
        found = gm.recover_teacher(data, 2, labels="classification", certify=False)
        assert found.expected_error == pytest.approx(0.1, rel=0.3)
        squares.append(found.error_against(W) ** 2)
    # a mean of 4 sums of 8 squares: within a factor of two in the root
    assert 0.05 < math.sqrt(np.mean(squares)) < 0.2
    assert gm.plan_recovery(found).neurons == 2


def test_explicit_samples_are_the_first_that_suffice():
    """FCL-T1 and FCL-T2 with numbers: both conditions hold at n and one of them fails at .98 n."""
    plan = gm.plan_recovery(W, labels="classification", accuracy=0.1, failure=0.02)
    least = plan.curvature * (1 - 1e-9)
    convex = explicit_samples(W, delta=0.02, curvature=least)
    assert plan.convex_samples == convex.samples

    def hessian(n):
        return hessian_deviation_limit(n, 4, 2, "sigmoid", delta=0.02, radius=convex.radius)

    assert hessian(convex.samples) <= least / 4 < hessian(int(0.98 * convex.samples))
    near = explicit_error_samples(W, error=0.1, delta=0.02, curvature=least)
    assert plan.error_samples == near
    allowed = least / 4 * min(convex.radius, 0.1 * np.linalg.norm(W))

    def gradient(n):
        return gradient_deviation_limit(n, 4, 2, "sigmoid", delta=0.01)

    assert gradient(near) <= allowed < gradient(int(0.98 * near))
    assert near > convex.samples > 1e8
    tiny = explicit_error_samples(W, error=1e-4, delta=0.02, curvature=least)
    assert tiny == pytest.approx(near * (convex.radius / (1e-4 * np.linalg.norm(W))) ** 2, rel=0.01)


def test_what_cannot_be_planned_is_refused():
    with pytest.raises(HypothesisError, match="K <= d"):
        gm.plan_recovery(np.eye(3)[:, :2])
    with pytest.raises(HypothesisError, match="dependent"):
        gm.plan_recovery(np.ones((2, 3)))
    with pytest.raises(HypothesisError, match="kinks"):
        gm.plan_recovery(W, "relu")
    with pytest.raises(HypothesisError, match="no probabilities"):
        gm.plan_recovery(W, "tanh")
    for wrong, word in (
        ({"labels": "counts"}, "labels"),
        ({"estimator": "moments"}, "estimator"),
        ({"noise": 0.1}, "noise"),
        ({"accuracy": 10}, "accuracy"),
        ({"failure": 0.0}, "failure"),
    ):
        with pytest.raises(DataError, match=word):
            gm.plan_recovery(W, **wrong)
    with pytest.raises(DataError, match="shape"):
        gm.plan_recovery(W[0])
    with pytest.raises(DataError, match="error"):
        explicit_error_samples(W, error=0.0)


def test_kappa_and_lambda_of_a_teacher_with_three_lengths():
    """The paper's lambda is the product of all sigma_i/sigma_K, not the largest of them."""
    facts = conditioning(np.diag([3.0, 2.0, 1.0]) @ np.eye(3, 5), "sigmoid")
    assert (facts.sigma_min, facts.kappa, facts.volume) == pytest.approx((1.0, 3.0, 6.0))


def test_the_deviation_of_the_hessian_has_the_fourth_moment_of_a_gaussian():
    """One W: 2 (sqrt(2 E g^4 c^2 t/n) + 2 c t/n), E g^4 = 3, c = (b_1^2 + b_2)/K of the sigmoid."""
    c = (1 / 16 + math.sqrt(3) / 18) / 2
    t = 8 * math.log(9) + math.log(2 / 0.05)
    expected = 2 * (math.sqrt(6 * c**2 * t / 10**6) + 2 * c * t / 10**6)
    assert hessian_deviation_limit(10**6, 4, 2, "sigmoid", delta=0.05) == pytest.approx(expected)

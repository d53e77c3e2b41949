"""Error bars of recovered weights: by another road, on teachers in general position with unequal
norms.
"""

import math

import numpy as np
import pytest
from bench.coverage import General, Tally, coverage

import globalmin as gm
from globalmin.errors import DataError
from globalmin.recovery.information import estimate_label_information
from globalmin.recovery.recover import recover_teacher
from globalmin.recovery.uncertainty import error_bars


def drawn(K, d, n, *, binary, noise=0.0, seed=0):
    rng = np.random.default_rng([seed, 3])
    U = rng.standard_normal((K, d))
    W = U / np.linalg.norm(U, axis=1, keepdims=True) * rng.uniform(1.2, 2.5, (K, 1))
    X = rng.standard_normal((n, d))
    p = gm.get_activation("sigmoid")(X @ W.T).mean(axis=1)
    y = (rng.random(n) < p).astype(float) if binary else p + noise * rng.standard_normal(n)
    return X, y, W


def sigmoid_jacobian(X, W):
    s = 1.0 / (1.0 + np.exp(-(X @ W.T)))
    return ((s * (1 - s) / len(W))[:, :, None] * X[:, None, :]).reshape(len(X), -1), s


def test_regression_bars_are_those_of_nonlinear_least_squares():
    """Same end point by SciPy, covariance s^2 (J^T J)^-1 there; ours has the full Hessian, so a few
    parts in a hundred may differ at noise .02.
    """
    from scipy.optimize import least_squares

    X, y, W = drawn(2, 4, 3_000, binary=False, noise=0.02)
    found = recover_teacher(gm.Dataset(X, y, bias=False, scaling="none"), 2)
    W = W[found.match(W).order.argsort()]
    other = least_squares(
        lambda w: sigmoid_jacobian(X, w.reshape(2, 4))[1].mean(axis=1) - y,
        W.reshape(-1),
        xtol=1e-14,
    )
    np.testing.assert_allclose(found.weights.reshape(-1), other.x, atol=1e-6)
    s2 = 2.0 * other.cost / (len(y) - W.size)
    assert found.noise == pytest.approx(math.sqrt(s2), rel=1e-6)
    assert found.noise == pytest.approx(0.02, rel=0.06)  # four standard errors of a variance
    C = s2 * np.linalg.inv(other.jac.T @ other.jac)
    np.testing.assert_allclose(found.covariance, C, atol=0.05 * np.abs(C).max())
    np.testing.assert_allclose(found.standard_errors, np.sqrt(np.diag(C)).reshape(2, 4), rtol=0.05)


@pytest.mark.parametrize("estimator", ["squares", "likelihood"])
def test_classification_bars_are_those_of_the_population_at_the_teacher(estimator):
    """400,000 samples at the teacher, labels replaced by their means so that the Hessian has no
    residual part: the sandwich (or the Fisher matrix) is that of the population by quadrature. A
    mean of products of Gaussians over 400,000 samples scatters by less than 1 %, the inverse by
    its condition; 3 % of the largest entry.
    """
    X, _, W = drawn(2, 4, 400_000, binary=True)
    p = sigmoid_jacobian(X, W)[1].mean(axis=1)
    bars = error_bars(X, p, W, labels="classification", estimator=estimator)
    info = estimate_label_information(W, "sigmoid")
    C = {"squares": info.squares_covariance, "likelihood": info.likelihood_covariance}[estimator]
    np.testing.assert_allclose(bars.covariance * len(p), C, atol=0.03 * np.abs(C).max())


def test_the_sandwich_has_the_whole_hessian_of_the_samples():
    """H by differences of a gradient written here, at the critical point of binary labels."""
    X, y, _ = drawn(2, 3, 3_000, binary=True)
    found = recover_teacher(
        gm.Dataset(X, y, bias=False, scaling="none"), 2, labels="classification"
    )
    n, m, h = len(y), found.weights.size, 1e-5

    def gradient(w):
        J, s = sigmoid_jacobian(X, w.reshape(2, 3))
        return J.T @ (s.mean(axis=1) - y) / n

    at = found.weights.reshape(-1)
    H = np.array([(gradient(at + h * e) - gradient(at - h * e)) / (2 * h) for e in np.eye(m)])
    J, s = sigmoid_jacobian(X, found.weights)
    p = s.mean(axis=1)
    S = (J * (p * (1 - p))[:, None]).T @ J / (n - m)
    inverse = np.linalg.inv(H)
    C = inverse @ S @ inverse.T / n
    np.testing.assert_allclose(found.covariance, C, atol=1e-5 * np.abs(C).max())
    assert found.bars.curvature == pytest.approx(np.linalg.eigvalsh((H + H.T) / 2)[0], rel=1e-4)
    assert found.noise == pytest.approx(math.sqrt(np.sum((y - p) ** 2) / (n - m)), rel=1e-9)


def test_expected_error_and_intervals_follow_from_the_standard_errors():
    X, y, _ = drawn(2, 3, 4_000, binary=True)
    found = recover_teacher(
        gm.Dataset(X, y, bias=False, scaling="none"), 2, labels="classification"
    )
    variance = float(np.trace(found.covariance))
    assert found.bars.drift == pytest.approx(0.0, abs=1e-6)
    size = float(np.square(found.weights).sum())
    assert found.expected_error == pytest.approx(math.sqrt(variance / (size - variance)), rel=1e-6)
    low, high = found.intervals(0.95)
    np.testing.assert_allclose((high - low) / 2, 1.959964 * found.standard_errors, rtol=1e-6)
    np.testing.assert_allclose((high + low) / 2, found.weights)
    with pytest.raises(DataError, match="level"):
        found.intervals(95)


def test_a_point_that_is_no_minimum_has_infinite_bars_and_an_unfinished_one_long_ones():
    X, y, W = drawn(2, 3, 2_000, binary=False)
    flat = error_bars(X, y, np.zeros((2, 3)))
    assert flat.expected_error == math.inf
    assert np.isinf(flat.standard_errors).all()
    near = error_bars(X, y, W + 1e-3)
    np.testing.assert_allclose(near.drift, 1e-3, rtol=0.1)  # one Newton step leads back
    assert near.expected_error >= 0.99 * np.linalg.norm(near.drift) / np.linalg.norm(W)
    few = error_bars(X[:6], y[:6], W)
    assert few.expected_error == math.inf


def test_bars_in_other_coordinates_are_those_of_the_mapped_weights():
    X, y, W = drawn(2, 3, 2_000, binary=False, noise=0.05)
    T = np.random.default_rng(0).standard_normal((3, 3)) + 2 * np.eye(3)
    bars = error_bars(X, y, W).mapped(T)
    other = error_bars(X @ np.linalg.inv(T), y, W @ T.T)
    np.testing.assert_allclose(bars.covariance, other.covariance, rtol=1e-6)
    np.testing.assert_allclose(bars.weights, other.weights)


@pytest.mark.parametrize(
    ("problem", "n"),
    [
        (General(2, 5, "regression", noise=0.1), 2_000),
        (General(2, 5, "classification"), 8_000),
        (General(2, 5, "classification", estimator="likelihood"), 8_000),
    ],
    ids=["regression", "squares", "likelihood"],
)
def test_intervals_cover_on_teachers_in_general_position(problem, n):
    """25 draws of 10 weights: .95 expected; weights of one draw are dependent, so .87 to 1 is what
    25 draws may show (the campaign has 200).
    """
    found = coverage(problem, n, 25)
    print(found)
    assert 0.87 <= found.covered <= 0.998
    assert 0.7 < found.ratio < 1.4
    assert found.silent == 0


@pytest.mark.campaign
@pytest.mark.parametrize(
    ("problem", "n"),
    [
        (General(3, 8, "regression", noise=0.05), 4_000),
        (General(3, 8, "classification"), 40_000),
        (General(3, 8, "classification", estimator="likelihood"), 40_000),
    ],
    ids=["regression", "squares", "likelihood"],
)
def test_intervals_cover_in_two_hundred_draws(problem, n):
    """Issue 15: 95 % intervals cover in 90 to 99 % of 200 draws where the error is below 30 %."""
    found = coverage(problem, n, 200)
    print(found)
    assert 0.90 <= found.covered <= 0.99
    assert found.silent == 0


@pytest.mark.campaign
@pytest.mark.parametrize("n", [1_000, 4_000, 10_000])
def test_no_failure_is_silent_in_two_hundred_draws(n):
    """Issue 15: an error over 50 % always carries a warning."""
    found: Tally = coverage(General(3, 8, "classification"), n, 200)
    print(found)
    assert found.lost > 10 or n == 10_000
    assert found.silent == 0

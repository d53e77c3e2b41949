"""Bounds on probabilities against frequencies over many draws: a bound may never be exceeded beyond
the binomial error.
"""

import math

import numpy as np
import pytest
from scipy import integrate, stats

from globalmin.activations.moments import variance
from globalmin.errors import DataError
from globalmin.kernels import probability as p
from globalmin.shallow.initialization import os_head

DRAWS = 1000


def is_consistent(failures: int, draws: int, bound: float) -> bool:
    """Whether so many failures are compatible with a true probability of at most `bound` (level
    1e-6).
    """
    return stats.binom.sf(failures - 1, draws, min(bound, 1.0)) > 1e-6


def sphere(n, d, seed):
    X = np.random.default_rng(seed).standard_normal((n, d))
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def relu_limit(X):
    """E over w of the ReLU Gram matrix, by the arccosine formula."""
    K = np.clip(X @ X.T, -1, 1)
    return K * (np.pi - np.arccos(K)) / (2 * np.pi)


def test_chernoff_exponent_is_the_legendre_transform_of_a_poisson_with_the_published_constant():
    assert p.chernoff_exponent(0.5) == pytest.approx(0.1534, abs=5e-5)
    assert 1 / p.chernoff_exponent(0.5) < 13.04 / 2
    for theta in (0.1, 0.5, 0.9):
        t = np.linspace(0, 12, 200_001)
        assert p.chernoff_exponent(theta) == pytest.approx(
            np.max(-t * (1 - theta) + 1 - np.exp(-t)), abs=1e-7
        )
    with pytest.raises(DataError, match="theta"):
        p.chernoff_exponent(1.0)


def test_matrix_chernoff_bound_is_never_exceeded():
    """OS-T6.14: sums of rank-one projectors, whose smallest eigenvalue has the mean count/n."""
    rng, n, count, theta = np.random.default_rng(0), 4, 60, 0.5
    failures = 0
    for _ in range(DRAWS):
        Q = rng.standard_normal((count, n))
        Q /= np.linalg.norm(Q, axis=1, keepdims=True)
        failures += np.linalg.eigvalsh(Q.T @ Q)[0] <= (1 - theta) * count / n
    bound = p.chernoff_failure(n, count / n, theta)
    assert 0 < bound < 1
    assert is_consistent(failures, DRAWS, bound)


@pytest.mark.parametrize("rows", ["unit", "any"])
def test_smallest_singular_value_of_the_first_jacobian_fails_no_more_often_than_stated(rows):
    """OS-L6.7 for ReLU, with unit rows and with rows of any norm."""
    rng, n, d, k = np.random.default_rng(1), 3, 6, 400
    X = sphere(n, d, 2) * (1.0 if rows == "unit" else np.array([[0.5], [1.0], [1.7]]))
    lengths = np.linalg.norm(X, axis=1)
    lam = np.linalg.eigvalsh(relu_limit(X / lengths[:, None]) * np.outer(lengths, lengths))[0]
    v = os_head(rng.standard_normal(n), k)
    ratio, size = np.linalg.norm(v) / np.abs(v).max(), float(v @ v)
    X_norm, failures, theta = np.linalg.norm(X, 2), 0, 0.2
    for _ in range(DRAWS):
        S = ((X @ rng.standard_normal((d, k))) >= 0) * v
        failures += np.linalg.eigvalsh((S @ S.T) * (X @ X.T))[0] < (1 - theta) * size * lam
    bound = p.jacobian_failure(n, lam, head_ratio=ratio, B=1.0, X_norm=X_norm, theta=theta)
    assert is_consistent(failures, DRAWS, bound)
    assert ratio == pytest.approx(math.sqrt(k))


def test_the_printed_head_ratio_makes_the_failure_at_most_one_over_n():
    """OS-L6.7: sqrt(20 log n) is on the safe side of the exponent."""
    for n in (2, 10, 1000):
        needed = p.head_ratio_needed(n, 0.03, 1.5, 2.0)
        assert p.jacobian_failure(n, 0.03, head_ratio=needed, B=1.5, X_norm=2.0) <= 1.0 / n


@pytest.mark.parametrize("activation", ["softplus", "relu"])
def test_first_misfit_has_the_stated_mean_square_and_tail(activation):
    """OS-L6.12: the mean square is exact, both bounds hold with their probability, and ours is
    below the printed one.
    """
    from globalmin.activations import get_activation

    phi, rng, n, d, k, delta = get_activation(activation), np.random.default_rng(3), 4, 5, 40, 0.5
    X, y = sphere(n, d, 4), rng.standard_normal(n)
    v, y_norm = os_head(y, k), np.linalg.norm(y)
    norms = np.array(
        [np.linalg.norm(phi(X @ rng.standard_normal((d, k))) @ v - y) for _ in range(4 * DRAWS)]
    )
    spread = float(variance(phi))
    expected = p.expected_misfit_square(y_norm, spread)
    error = 4 * np.std(norms**2) / math.sqrt(norms.size)
    assert np.mean(norms**2) == pytest.approx(expected, abs=error)
    allowed = p.misfit_failure(n, np.linalg.norm(X, 2), delta)
    sharp, printed = (
        p.misfit_limit(y_norm, 1.0, delta, variance=spread),
        p.misfit_limit(y_norm, 1.0, delta),
    )
    assert sharp < printed
    assert is_consistent(int((norms > sharp).sum()), norms.size, allowed)


def test_smallest_preactivations_are_as_large_as_stated():
    """OS-LC.3, in the printed and the sharper form."""
    rng, n, d, k, m = np.random.default_rng(5), 3, 6, 300, 24
    X = sphere(n, d, 6)
    failures = 0
    for _ in range(DRAWS):
        ordered = np.sort(np.abs(X @ rng.standard_normal((d, k))), axis=1)[:, m - 1]
        failures += bool((ordered < p.order_statistic_limit(m, k, sharp=True)).any())
    assert p.order_statistic_limit(m, k) < p.order_statistic_limit(m, k, sharp=True)
    assert is_consistent(failures, DRAWS, p.order_statistic_failure(n, m))


def test_relu_jacobian_is_stable_on_the_stated_radius():
    """OS-L6.9: random directions of the stated length change the Jacobian by no more than the
    stated amount.
    """
    rng, n, d, k = np.random.default_rng(7), 2, 8, 60_000
    X = sphere(n, d, 8)
    lam, X_norm = np.linalg.eigvalsh(relu_limit(X))[0], np.linalg.norm(X, 2)
    v = os_head(rng.standard_normal(n), k)
    R = p.relu_stability_radius(lam, math.sqrt(k), X_norm, k)
    assert p.stability_index(lam, math.sqrt(k), X_norm) > 1
    allowed = np.linalg.norm(v) * math.sqrt(lam) / (6 * math.sqrt(2))
    W0 = rng.standard_normal((k, d))
    for _ in range(20):
        step = np.outer(rng.standard_normal(k), rng.standard_normal(d))
        moved = (
            (X @ (W0 + R * step / np.linalg.norm(step, 2)).T >= 0).astype(float) - (X @ W0.T >= 0)
        ) * v
        assert math.sqrt(np.linalg.norm((moved @ moved.T) * (X @ X.T), 2)) <= allowed
    assert p.relu_stability_failure(n, lam, math.sqrt(k), X_norm) < 1
    assert p.relu_stability_failure(n, lam, 2.0, X_norm) == 1.0


def test_flips_and_gram_movement_follow_the_small_ball_bound():
    """DU-L2.2 and DU-L2.5: exact probability by quadrature, counts by Monte Carlo, Markov's step by
    frequency.
    """
    for R in (0.01, 0.3, 2.0):
        exact = integrate.quad(stats.norm.pdf, -R, R)[0]
        assert p.flip_probability(R) == pytest.approx(exact, abs=1e-12)
        assert p.flip_probability(R) <= 2 * R / math.sqrt(2 * math.pi)
    rng, n, d, m, delta, R = np.random.default_rng(9), 3, 5, 50, 0.3, 0.02
    X = sphere(n, d, 10)
    counts = np.array([(np.abs(X @ rng.standard_normal((d, m))) < R).sum() for _ in range(DRAWS)])
    assert is_consistent(
        int((counts > p.flippable_pairs_limit(n, m, R, delta)).sum()), DRAWS, delta
    )
    assert counts.mean() == pytest.approx(m * n * p.flip_probability(R), rel=0.1)


def test_the_stable_radius_makes_the_movement_a_quarter_of_lambda():
    """DU-L2.2: c = sqrt(2 pi)/16 exactly."""
    R = p.stable_radius(0.2, 7, 0.1)
    assert p.gram_movement_limit(7, R, 0.1) == pytest.approx(0.05, rel=1e-14)


def test_first_misfit_of_the_other_initialization_has_the_corrected_mean():
    """DU-L2.4 with erratum E4: the mean of ||y - u(0)||^2 is sum y_i^2 + ||x_i||^2/2, and Markov's
    bound holds.
    """
    rng, n, d, m, delta = np.random.default_rng(11), 3, 4, 30, 0.25
    X, y = sphere(n, d, 12) * np.array([[0.6], [1.0], [1.5]]), rng.standard_normal(n)
    norms = np.linalg.norm(X, axis=1)
    squares = []
    for _ in range(5 * DRAWS):
        a = rng.choice([-1.0, 1.0], m) / math.sqrt(m)
        squares.append(float(np.sum((np.maximum(X @ rng.standard_normal((d, m)), 0) @ a - y) ** 2)))
    squares = np.array(squares)
    bound = p.first_misfit_square_limit(np.linalg.norm(y), float(norms @ norms), delta)
    assert squares.mean() == pytest.approx(
        delta * bound, abs=4 * squares.std() / math.sqrt(squares.size)
    )
    assert is_consistent(int((squares > bound).sum()), squares.size, delta)

"""Fisher information and asymptotic errors of a teacher's weights (FCL-L4, FCL-T2) against other
roads.
"""

import math

import numpy as np
import pytest

from globalmin.activations import get_activation
from globalmin.errors import DataError, HypothesisError
from globalmin.recovery import information as li
from globalmin.recovery.descent import local_descent
from globalmin.recovery.geometry import empirical_loss_and_gradient
from globalmin.recovery.newton import likelihood_refinement
from globalmin.recovery.population import population_hessian


def orthogonal(K, d, sigma, seed=0):
    return sigma * np.linalg.qr(np.random.default_rng(seed).standard_normal((d, K)))[0].T


def draw(W, n, seed, name="sigmoid"):
    rng = np.random.default_rng([seed, 11])
    X = rng.standard_normal((n, W.shape[1]))
    return X, (rng.random(n) < get_activation(name)(X @ W.T).mean(axis=1)).astype(float)


@pytest.mark.parametrize(("K", "d"), [(1, 1), (1, 3), (2, 2), (2, 4), (3, 4)])
def test_the_curvature_is_the_population_hessian(K, d):
    """H against the pairwise quadrature of FCL-POP, teachers in general position."""
    W = np.random.default_rng(K).standard_normal((K, d)) + 2 * np.eye(K, d)
    found = li.estimate_label_information(W, "sigmoid")
    np.testing.assert_allclose(found.curvature, population_hessian(W, W, "sigmoid"), atol=1e-10)


def test_all_three_matrices_are_what_monte_carlo_says():
    """FCL-L4: H, S, I by 400,000 samples, entries within six standard errors; above three neurons
    by a sample of the span.
    """
    for K in (2, 4):
        W = orthogonal(K, 5, 2.0)
        found = li.estimate_label_information(W, "sigmoid")
        X = np.random.default_rng(1).standard_normal((400_000, 5))
        phi, Z = get_activation("sigmoid"), X @ W.T
        p = phi(Z).mean(axis=1)
        J = (phi.derivative(Z)[:, :, None] * X[:, None, :]).reshape(len(X), -1) / K
        for matrix, factor in (
            (found.curvature, 1),
            (found.noise, p * (1 - p)),
            (found.fisher, 1 / (p * (1 - p))),
        ):
            probe = np.linspace(-1, 1, J.shape[1])
            values = factor * (J @ probe) ** 2
            error = values.std() / math.sqrt(len(X)) * (6 if K <= 3 else 9)
            assert abs(values.mean() - probe @ matrix @ probe) < error
            assert np.linalg.eigvalsh(matrix)[0] > 0


def test_the_mean_square_of_the_gradient_is_the_trace_of_the_noise():
    """FCL-L4 exactly: E ||grad f_n(W*)||^2 = tr S/n over 400 draws of 300 samples, within five
    standard errors.
    """
    W = orthogonal(2, 3, 1.5)
    squares = []
    for seed in range(400):
        X, y = draw(W, 300, seed)
        squares.append(np.sum(empirical_loss_and_gradient(W, X, y, "sigmoid")[1] ** 2))
    expected = np.trace(li.estimate_label_information(W, "sigmoid").noise) / 300
    assert abs(np.mean(squares) - expected) < 5 * np.std(squares) / math.sqrt(400)


def test_the_likelihood_is_never_worse_and_both_attain_their_errors():
    """FCL-T2 (8) in the limit: 40 draws of 10,000 samples, K = 2, d = 3; root mean squares within
    five standard errors.
    """
    W, n = orthogonal(2, 3, 2.0), 10_000
    info = li.estimate_label_information(W, "sigmoid")
    gain = np.linalg.eigvalsh(info.squares_covariance - info.likelihood_covariance)
    assert gain[0] > -1e-9 * gain[-1]
    errors = []
    for seed in range(40):
        X, y = draw(W, n, seed)
        squares = local_descent(X, y, W, step="curvature", max_iter=200, newton=True).weights
        errors.append(
            [
                np.sum((A - W) ** 2)
                for A in (squares, likelihood_refinement(X, y, squares, "sigmoid"))
            ]
        )
    mean, spread = np.mean(errors, axis=0), np.std(errors, axis=0) / math.sqrt(40)
    expected = [
        li.asymptotic_error(C, n) ** 2
        for C in (info.squares_covariance, info.likelihood_covariance)
    ]
    assert np.all(np.abs(mean - expected) < 5 * spread)
    for C in (info.squares_covariance, info.likelihood_covariance):
        assert 0.7 < li.estimate_median_error(C, n) / li.asymptotic_error(C, n) < 1.0


def test_median_of_one_direction_is_that_of_a_normal():
    """The median of |N(0, 4/n)| is 2 * 0.67449/sqrt n."""
    assert li.estimate_median_error(np.diag([4.0, 0.0]), 100) == pytest.approx(
        0.2 * 0.67449, rel=0.01
    )
    with pytest.raises(DataError, match="n=0"):
        li.asymptotic_error(np.eye(2), 0)


def test_labels_must_be_probabilities():
    with pytest.raises(HypothesisError, match="probabilities"):
        li.estimate_label_information(orthogonal(2, 3, 1.0), "tanh")

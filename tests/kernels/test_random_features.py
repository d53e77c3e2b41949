"""Random features with a trained head (OS-T3.2): the fit, and how many features make it
possible.
"""

import math

import numpy as np
import pytest
from scipy import integrate, stats

from globalmin.activations.moments import mean_square
from globalmin.errors import HypothesisError
from globalmin.kernels import random_features as rf
from globalmin.shallow.network import ShallowNetwork


def instance(n, d, k, seed, activation="softplus"):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return (
        ShallowNetwork(rng.standard_normal((k, d)), np.ones(k), activation),
        X,
        rng.standard_normal(n),
        rng,
    )


@pytest.mark.parametrize("activation", ["softplus", "relu", "tanh"])
def test_head_interpolates_and_has_the_least_norm(activation):
    """OS-T3.2: Phi v = y to 1e-10, and every other interpolating head is longer."""
    network, X, y, rng = instance(10, 6, 40, 0, activation)
    fit = rf.fit_random_features(network, X, y)
    assert fit.relative_residual < 1e-10
    Phi = network.activation(X @ network.W.T)
    assert fit.network.v == pytest.approx(np.linalg.lstsq(Phi, y)[0], abs=1e-8)
    assert fit.lambda_min == pytest.approx(np.linalg.eigvalsh(Phi @ Phi.T)[0], rel=1e-6)
    null = rng.standard_normal(40)
    null -= np.linalg.pinv(Phi) @ (Phi @ null)
    assert np.linalg.norm(fit.network.v + null) > np.linalg.norm(fit.network.v)


def test_too_few_features_or_repeated_rows_are_refused_with_the_remedy():
    """OS-T3.2 needs full row rank."""
    network, X, y, _ = instance(10, 6, 8, 1)
    with pytest.raises(HypothesisError, match="larger width"):
        rf.fit_random_features(network, X, y)
    network, X, y, _ = instance(4, 6, 30, 1)
    with pytest.raises(HypothesisError, match="row rank"):
        rf.fit_random_features(network, np.vstack([X, X[:1]]), np.append(y, 1.0))


def test_published_width_follows_from_its_own_truncation():
    """OS-T3.2: C from the proof, and about 2.9e5 B^2 at n = 100."""
    n, lam, B = 100, 0.2, 1.0
    log = math.log(n)
    T = (math.sqrt(404 * log) + 1.9) * B * math.sqrt(n)
    k = rf.feature_width(n, lam, B)
    assert n * math.exp(-0.15342640972 * k * lam / T**2) == pytest.approx(n**-100.0, rel=1e-6)
    assert k * lam / (n * log**2) == pytest.approx(2.9e5, rel=0.03)
    assert rf.feature_width(n, lam, 2 * B) == pytest.approx(4 * k)
    assert rf.feature_width(n, 0.0, B) == math.inf


def test_truncation_loss_bounds_what_is_cut_off():
    """The tail integral against Monte Carlo and against quadrature of its own integrand."""
    network, X, _, _ = instance(3, 4, 200_000, 2)
    norms = np.linalg.norm(network.activation(X @ network.W.T), axis=0)
    mean, spread = math.sqrt(3 * float(mean_square("softplus"))), float(np.linalg.norm(X, 2))
    for T in (mean + 0.5, mean + 1.5):
        bound = rf.truncation_loss(T, mean, spread)
        assert np.mean(norms**2 * (norms > T)) <= bound

        def tail(s):
            return 2 * s * math.exp(-((s - mean) ** 2) / (2 * spread**2))

        exact = (
            T**2 * math.exp(-((T - mean) ** 2) / (2 * spread**2))
            + integrate.quad(tail, T, T + 40)[0]
        )
        assert bound == pytest.approx(exact, rel=1e-8)


def test_explicit_number_of_features_is_enough_in_almost_all_draws():
    """OS-T3.2, finite version: at the stated width the smallest eigenvalue fails no more often than
    delta allows.
    """
    network, X, _, rng = instance(3, 6, 400_000, 3)
    Phi = network.activation(X @ network.W.T)
    lam = np.linalg.eigvalsh(Phi @ Phi.T / network.width)[0]
    mean, spread, delta = (
        math.sqrt(3 * float(mean_square("softplus"))),
        float(np.linalg.norm(X, 2)),
        0.1,
    )
    k = rf.feature_width_explicit(3, lam, mean=mean, spread=spread, delta=delta)
    assert k < rf.feature_width(3, lam, 1.0) / 100
    smaller, failures = int(k), 0
    for _ in range(1000):
        Phi = network.activation(X @ rng.standard_normal((6, smaller)))
        failures += np.linalg.eigvalsh(Phi @ Phi.T)[0] < 0.25 * k * lam
    assert stats.binom.sf(failures - 1, 1000, delta) > 1e-6
    T = next(
        T
        for T in mean + spread * np.linspace(1, 12, 100)
        if rf.truncation_loss(T, mean, spread) < lam / 2
    )
    failure = [
        rf.feature_failure(3, k * factor, lam, T=T, mean=mean, spread=spread)
        for factor in (1, 4, 16)
    ]
    assert failure[0] > failure[1] > failure[2]
    assert failure[1] < delta
    assert rf.feature_failure(3, k, lam, T=mean + 0.1, mean=mean, spread=spread) == 1.0
    assert rf.feature_width_explicit(3, 0.0, mean=mean, spread=spread) == math.inf

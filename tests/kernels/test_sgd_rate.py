"""Stochastic gradient descent: OS-C4 on small networks, and the decoding of OS-T2.6."""

import math

import numpy as np
import pytest
from scipy import stats

from globalmin.errors import HypothesisError
from globalmin.kernels import rates as sgd_rate
from globalmin.shallow.initialization import os_head
from globalmin.shallow.lipschitz import estimate_lipschitz
from globalmin.shallow.network import ShallowNetwork, jacobian_gram, residual
from globalmin.shallow.provability import linearize
from globalmin.shallow.sgd_guarantee import stochastic_guarantee


def test_printed_constants_are_those_of_the_generic_statement():
    """OS-T2.6: 144 = 9 * 8 * 2, the printed step is the generic one with 9 for 8, the probability
    with 3 for sqrt 8.
    """
    n, lam, B, X_norm, y_norm, p = 12, 0.03, 1.4, 2.1, 3.0, 60
    head = y_norm / math.sqrt(n)
    alpha, beta, row, nu = head * math.sqrt(lam / 8), B * head * X_norm, B * head, 400.0
    step = alpha**2 / (nu * (beta * row) ** 2)
    printed = sgd_rate.printed_stochastic_guarantee(
        n, 1.0, math.sqrt(lam), B=B, X_norm=X_norm, y_norm=y_norm, n_weights=p, nu=400.0
    )
    assert printed.step_size == pytest.approx(8 / 9 * step)
    assert 1 - printed.rate == pytest.approx(8 / 9 * step * alpha**2 / (2 * n))
    failure = 4 / nu * (beta / alpha) ** (1 / p)
    assert printed.failure == pytest.approx(failure * (3 / math.sqrt(8)) ** (1 / p))
    assert printed.failure < 1


def start(seed):
    """A network near enough to a fit: labels are its own outputs plus a small change."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((4, 4))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    network = ShallowNetwork(rng.standard_normal((30, 4)), os_head(np.ones(4), 30), "softplus")
    return network, X, network.predict(X) + 2e-4 * rng.standard_normal(4), rng


def test_sgd_stays_in_the_radius_and_decays_as_promised():
    """OS-C4: exits are no more frequent than stated, and the mean square decays below its
    envelope.
    """
    network, X, y, rng = start(0)
    point = linearize(jacobian_gram(network, X), residual(network, X, y))
    Lip = estimate_lipschitz(network, X, 10.0)
    m = float(np.linalg.norm(network.v))
    found = stochastic_guarantee(point.a, point.b, Lip, point.g, n=4, row_norm=m)
    assert 0 < found.failure < 0.5
    runs, steps = 60, 4000
    W = np.repeat(network.W[None], runs, axis=0)
    outside = np.zeros(runs, dtype=bool)
    picks = rng.integers(0, 4, (steps, runs))
    for step in range(steps):
        x = X[picks[step]]
        z = np.einsum("rkd,rd->rk", W, x)
        r = network.activation(z) @ network.v - y[picks[step]]
        W -= (
            found.step_size
            * (r[:, None] * network.activation.derivative(z) * network.v)[:, :, None]
            * x[:, None, :]
        )
        outside |= np.linalg.norm(W - network.W, axis=(1, 2)) > found.radius
    squares = np.square(np.einsum("k,rkn->rn", network.v, network.activation(W @ X.T)) - y).sum(
        axis=1
    )
    assert stats.binom.sf(outside.sum() - 1, runs, found.failure) > 1e-6
    mean, error = squares[~outside].mean(), 4 * squares.std() / math.sqrt(runs)
    assert mean <= found.rate**steps * point.g**2 + error


def test_the_default_level_minimizes_the_failure_bound():
    """OS-C4: alpha = 2a/3 gives 13.5 sqrt(n) m Lip ||r||/a^3, the least over alpha."""
    a, b, Lip, g, n, m = 0.5, 1.2, 0.3, 1e-3, 5, 0.9
    best = stochastic_guarantee(a, b, Lip, g, n=n, row_norm=m).failure
    assert best == pytest.approx(13.5 * math.sqrt(n) * m * Lip * g / a**3)
    others = [
        stochastic_guarantee(a, b, Lip, g, n=n, row_norm=m, alpha=s * a).failure
        for s in np.linspace(0.3, 0.9, 25)
    ]
    assert best <= min(others)


def test_levels_outside_the_open_interval_are_refused():
    """OS-C4 needs 0 < alpha < a."""
    with pytest.raises(HypothesisError, match="alpha"):
        stochastic_guarantee(0.5, 1.0, 0.1, 0.1, n=3, row_norm=1.0, alpha=0.5)

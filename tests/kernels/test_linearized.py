"""The linearized trajectory against stepping, the matrix exponential, and real gradient descent
(DU-Q2.6, OS-DEFG.2).
"""

import math

import numpy as np
import pytest
from scipy.linalg import expm

from globalmin.kernels import linearized
from globalmin.shallow.network import (
    ShallowNetwork,
    jacobian_gram,
    jacobian_transpose_times,
    outputs,
    residual,
)


def problem(seed=0, n=5, d=6, k=40, activation="softplus"):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) / math.sqrt(d)
    v = rng.choice([-1.0, 1.0], k) / math.sqrt(k)
    return ShallowNetwork(rng.standard_normal((k, d)), v, activation), X, rng.standard_normal(n)


def test_spectral_form_equals_stepping_and_the_matrix_exponential():
    """DU-Q2.6: (I - eta G)^t by repeated products, e^{-Gt} by scipy."""
    network, X, y = problem()
    G, u0 = jacobian_gram(network, X), outputs(network, X)
    run = linearized.linearize_run(G, u0, y)
    eta, u, seen = run.largest_step, u0.copy(), [u0]
    for _ in range(30):
        u = u - eta * G @ (u - y)
        seen.append(u)
    assert run.outputs(range(31), eta) == pytest.approx(np.array(seen), abs=1e-10)
    assert run.residual_norms([0, 7, 30], eta) == pytest.approx(
        [np.linalg.norm(seen[t] - y) for t in (0, 7, 30)], abs=1e-10
    )
    times = [0.0, 0.4, 5.0]
    exact = [y + expm(-G * t) @ (u0 - y) for t in times]
    assert run.flow_outputs(times) == pytest.approx(np.array(exact), abs=1e-10)
    assert run.flow_norms(times) == pytest.approx([np.linalg.norm(e - y) for e in exact], abs=1e-10)
    assert run.rate(eta) == pytest.approx(np.linalg.norm(np.eye(5) - eta * G, 2), rel=1e-12)


@pytest.mark.parametrize("activation", ["relu", "softplus", "tanh", "leaky_relu(0.2)"])
def test_one_step_of_gradient_descent_obeys_the_secant_gram_matrix_exactly(activation):
    """DU-Q2.6 and OS-DEFG.2: u(1) - y = (I - eta H)(u(0) - y) with signs changing; the average
    Jacobian by quadrature.
    """
    network, X, y = problem(3, k=60, activation=activation)
    eta = 3.0
    r = residual(network, X, y)
    W = network.W - eta * jacobian_transpose_times(network, X, r)
    moved = network.with_weights(W=W)
    assert ((X @ W.T >= 0) != (X @ network.W.T >= 0)).sum() > 5
    H = linearized.secant_gram(network, W, X)
    assert r - eta * H @ r == pytest.approx(residual(moved, X, y), abs=1e-10)
    t, weight = np.polynomial.legendre.leggauss(400)
    slopes = sum(
        w / 2 * network.activation.derivative(X @ (network.W + (s + 1) / 2 * (W - network.W)).T)
        for s, w in zip(t, weight, strict=True)
    )
    accuracy = 1e-9 if network.activation.is_smooth else 5e-3
    assert linearized.secant_slopes(network.activation, X @ network.W.T, X @ W.T) == pytest.approx(
        slopes, abs=accuracy
    )


def test_real_run_stays_within_the_linearization_error():
    """Deviation of a real run from the prediction against its bound with the measured change of the
    Gram matrix.
    """
    network, X, y = problem(5, k=2000)
    G = jacobian_gram(network, X)
    run = linearized.linearize_run(G, outputs(network, X), y)
    eta, steps = 0.9 * run.largest_step, 150
    W, eps, norms, deviations = network.W, 0.0, [], []
    for t in range(steps):
        current = network.with_weights(W=W)
        u = outputs(current, X)
        deviations.append(np.linalg.norm(u - run.outputs([t], eta)[0]))
        norms.append(np.linalg.norm(u - y))
        W = W - eta * jacobian_transpose_times(current, X, u - y)
        eps = max(eps, np.linalg.norm(linearized.secant_gram(current, W, X) - G, 2))
    mu = float(run.eigenvalues[0])
    assert eps < mu
    t = np.arange(steps)
    bound = norms[0] * ((1 - eta * (mu - eps)) ** t - (1 - eta * mu) ** t)
    assert (np.array(deviations) <= bound + 1e-12).all()
    assert max(deviations) < 0.1 * norms[0]


def test_predicted_number_of_steps_is_the_least_one():
    """Bisection against a scan; infinite when the step is too long or the matrix singular."""
    network, X, y = problem(7)
    run = linearized.linearize_run(jacobian_gram(network, X), outputs(network, X), y)
    eta = run.largest_step / 2
    t = linearized.predicted_steps(run, eta, 0.05)
    scan = run.residual_norms(range(int(t) + 2), eta) / np.linalg.norm(run.coordinates)
    assert np.flatnonzero(scan <= 0.05)[0] == t
    assert linearized.predicted_steps(run, 1.01 * 2 / run.eigenvalues[-1], 0.05) == math.inf
    singular = linearized.linearize_run(np.ones((2, 2)), np.array([1.0, 0.0]), np.zeros(2))
    assert linearized.predicted_steps(singular, 0.5, 0.05) == math.inf

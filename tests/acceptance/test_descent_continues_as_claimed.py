"""Plain gradient descent, stopped by the descent claim, then continued: the claimed rate and radius
hold (OS-C1).
"""

import numpy as np
import pytest

import globalmin as gm
from globalmin.shallow.network import jacobian_transpose_times, residual

CONTINUED_STEPS = 10_000


@pytest.fixture(scope="module")
def stopped():
    data = gm.generators.sphere_with_random_labels(100, 20, seed=0)
    start = gm.ShallowNetwork.initialize(data, width=40, activation="softplus", seed=0)
    run = gm.train(
        start,
        data,
        method="gradient_descent",
        step_size="theory",
        until="descent",
        max_iter=100_000,
    )
    return data, run, gm.certify(run.network, data, claims=["descent"])


def test_gradient_descent_with_the_theory_step_is_stopped_by_an_accepted_claim(stopped, tmp_path):
    data, run, certificate = stopped
    path = tmp_path / "descent.gmc"
    certificate.save(path)
    result = gm.check(path)
    relative = np.linalg.norm(residual(run.network, data.X, data.y)) / np.linalg.norm(data.y)
    print(
        f"stopped after {run.n_iter} steps at relative residual {relative:.2e}: "
        f"{result.verdict.value}"
    )
    assert result.verdict.value == "ACCEPTED"
    assert relative > 1e-6, "the claim must fire long before the fit is exact, or it says little"


def _rounding(network, data) -> float:
    """First-order bound on the floating-point error of the residual: k products and sums per
    output, d per pre-activation, and one rounding of each weight, whose effect on a pre-activation
    has the same size.
    """
    eps = np.finfo(np.float64).eps
    Z = data.X @ network.W.T
    k, d = network.W.shape
    values = (k + 4) * np.abs(network.activation(Z)) @ np.abs(network.v) + np.abs(data.y)
    slopes = np.abs(network.activation.derivative(Z)) * (np.abs(data.X) @ np.abs(network.W).T)
    arguments = (d + 2) * slopes @ np.abs(network.v)
    return float(eps * np.linalg.norm(values + arguments))


def test_ten_thousand_further_steps_violate_neither_rate_nor_radius(stopped):
    data, run, certificate = stopped
    claim = certificate.summary()
    eta, rate, path = claim["eta"], claim["rate"], claim["path"]
    rounding = 3 * _rounding(run.network, data)
    W, r = run.network.W.copy(), residual(run.network, data.X, data.y)
    travelled, worst, exact_steps = 0.0, 0.0, 0
    for _ in range(CONTINUED_STEPS):
        network = run.network.with_weights(W=W)
        step = eta * jacobian_transpose_times(network, data.X, r)
        W = W - step
        travelled += float(np.linalg.norm(step))
        before, r = float(np.linalg.norm(r)), residual(network.with_weights(W=W), data.X, data.y)
        after = float(np.linalg.norm(r))
        assert after <= rate * before + rounding
        if rounding < 1e-3 * (1 - rate) * before:
            worst, exact_steps = max(worst, after / before), exact_steps + 1
    print(f"{exact_steps} steps above rounding, worst factor {worst:.8f} (claimed {rate:.8f})")
    print(f"path {travelled:.4f} (claimed {path:.4f})")
    assert exact_steps > 1000
    assert worst <= rate
    assert travelled <= path
    assert np.linalg.norm(W - run.network.W) <= path

"""Plain gradient descent on quadratic networks with mixed heads ends at the proved minimum from
random starts (SJL-T2.1).
"""

from types import SimpleNamespace

import numpy as np
import pytest

from globalmin.landscape.classify import classify_point
from globalmin.quadratic.solve import solve_quadratic
from globalmin.shallow.network import ShallowNetwork
from globalmin.shallow.stationary import PointKind
from globalmin.shallow.train import train


def excesses(seeds, *, d=8, n=60, max_iter=20_000):
    """Excess loss over the solved minimum, relative to it, of gradient descent from each start."""
    rng = np.random.default_rng(0)
    data = SimpleNamespace(X=rng.standard_normal((n, d)), y=rng.standard_normal(n))
    least = solve_quadratic(data.X, data.y)
    v = np.repeat([1.0, -1.0], d)
    found = []
    for seed in seeds:
        W = np.random.default_rng(seed).standard_normal((2 * d, d)) / np.sqrt(d)
        run = train(
            ShallowNetwork(W, v, "quadratic"), data, method="gradient_descent", max_iter=max_iter
        )
        assert run.loss >= least.lower_estimate * (1 - 1e-12)
        found.append((run.loss - least.objective) / least.objective)
    return np.array(found)


def test_gradient_descent_reaches_the_proved_minimum_from_a_few_starts():
    assert (excesses(range(3), d=4, n=24) <= 1e-6).all()


@pytest.mark.campaign
def test_gradient_descent_reaches_the_proved_minimum_from_a_thousand_starts():
    """d = 8, k = 16, n = 60 > N = 36, arbitrary labels; 1,000 starts, about twenty minutes."""
    found = excesses(range(1_000))
    print(
        f"\nworst relative excess of 1,000 runs: {found.max():.1e}, median {np.median(found):.1e}"
    )
    assert (found <= 1e-4).all()


def test_descent_from_near_a_saddle_leaves_it():
    """Started beside W = 0 along the escape direction the loss falls to the minimum."""
    rng = np.random.default_rng(1)
    data = SimpleNamespace(X=rng.standard_normal((24, 4)), y=rng.standard_normal(24))
    zero = ShallowNetwork(np.zeros((8, 4)), np.repeat([1.0, -1.0], 4), "quadratic")
    saddle = classify_point(zero, data)
    assert saddle.kind is PointKind.STRICT_SADDLE
    assert saddle.escape is not None
    start = zero.with_weights(0.1 * saddle.escape.U + 1e-3 * rng.standard_normal((8, 4)))
    run = train(start, data, method="gradient_descent", max_iter=30_000, step_size=1e-3)
    assert run.loss == pytest.approx(solve_quadratic(data.X, data.y).objective, rel=1e-4)

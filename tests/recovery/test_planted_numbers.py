"""The numbers shown beside SJL-T2.5 for one network, without the measurements of an instance."""

from types import SimpleNamespace

import numpy as np
import pytest

from globalmin.recovery import facts_planted
from globalmin.shallow.network import ShallowNetwork


def numbers(monkeypatch=None, limit=None):
    rng = np.random.default_rng(0)
    W, X = rng.standard_normal((6, 2)), rng.standard_normal((4, 2))
    network = ShallowNetwork(W, np.ones(6), "softplus")
    m = SimpleNamespace(n=4, d=2, X=X, M=0.25)
    if limit is not None:
        monkeypatch.setattr(facts_planted, "BASIN_LIMIT", limit)
    it = SimpleNamespace(m=m, start=SimpleNamespace(network=network))
    return dict(facts_planted.local_numbers(it)), W, X


def test_the_basin_shrinks_by_half_of_the_least_singular_value_squared_times_its_step():
    """Ours: at half of the largest radius half of a^2 is left, so 1 - rate = step a^2 / 2 with a of
    the dense Jacobian of both layers.
    """
    found, W, X = numbers()
    Z = X @ W.T
    slopes = (1 / (1 + np.exp(-Z)))[:, :, None] * X[:, None, :]
    J = np.hstack([np.logaddexp(0, Z), slopes.reshape(4, -1)])
    a = np.linalg.svd(J, compute_uv=False)[-1]
    shrinks = found["its step on (1/2)Σr²"] * a**2 / 2
    assert found["1 − its factor of ‖r‖ per step"] == pytest.approx(shrinks, rel=1e-6)
    s = np.linalg.svd(W, compute_uv=False)
    assert (found["σ_max(W)"], found["σ_min(W)"]) == pytest.approx((s[0], s[-1]))
    assert found["part 1/n of the failure probability 1/n + 2n e^(−b√d)"] == 0.25


def test_the_basin_is_computed_up_to_its_size(monkeypatch):
    """n^2 times the number of weights, with equality."""
    assert len(numbers(monkeypatch, 16 * 12)[0]) == 10
    assert len(numbers(monkeypatch, 16 * 12 - 1)[0]) == 7

"""Bounds of the loss above the least one and thresholds of curvature, by their definitions: heads
of either sign, the sizes up to which they are computed, slopes of a curvature by difference
quotients.
"""

import numpy as np
import pytest

from globalmin.landscape import criteria
from globalmin.shallow.hessian import hessian
from globalmin.shallow.network import ShallowNetwork


def instance(seed=0, n=9, d=2, k=6):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)), rng.standard_normal(n), rng.standard_normal((k, d))


def test_heads_of_one_sign_are_the_mirror_of_the_other():
    """Theorem P: -v with labels -y has the gap of v with y; labels of the wrong sign leave nothing
    to gain over the zero network.
    """
    X, y, W = instance()
    ones = np.ones(len(W))
    plus = criteria.estimate_excess(ShallowNetwork(W, ones, "quadratic"), X, y, "W")
    minus = criteria.estimate_excess(ShallowNetwork(W, -ones, "quadratic"), X, -y, "W")
    assert minus.gap == pytest.approx(plus.gap, rel=1e-12)
    negative = -np.abs(y)
    for v, labels in ((ones, negative), (-ones, -negative)):
        nothing = ShallowNetwork(np.zeros_like(W), v, "quadratic")
        assert criteria.estimate_excess(nothing, X, labels, "W").gap == pytest.approx(0.0, abs=1e-6)
        some = ShallowNetwork(W, v, "quadratic")
        above = 0.5 * np.sum((some.predict(X) - labels) ** 2) - 0.5 * labels @ labels
        assert above <= criteria.estimate_excess(some, X, labels, "W").gap <= 1.1 * above


def test_promises_of_mixed_heads_are_computed_up_to_their_size(monkeypatch):
    """SJL-T2.1q: more than d heads of each sign, n d^2 up to the limit, with equality."""
    X, y, W = instance()
    network = ShallowNetwork(W, [1.0, 1.0, 1.0, -1.0, -1.0, -1.0], "quadratic")
    ask = {"gap": 0.1, "curvature": 0.2}
    monkeypatch.setattr(criteria, "LARGEST_DESIGN", 9 * 4)
    found = criteria.estimate_promise(network, X, y, **ask)
    assert found is not None
    loss = 0.5 * np.sum((network.predict(X) - y) ** 2)
    assert found.loss > loss - 0.1
    monkeypatch.setattr(criteria, "LARGEST_DESIGN", 9 * 4 - 1)
    assert criteria.estimate_promise(network, X, y, **ask) is None
    monkeypatch.setattr(criteria, "LARGEST_DESIGN", 9 * 4)
    assert criteria.estimate_promise(network, X, y, gap=None, curvature=0.2) is None
    few = ShallowNetwork(W, [1.0, 1.0, 1.0, 1.0, -1.0, -1.0], "quadratic")  # d of one sign
    assert criteria.estimate_promise(few, X, y, **ask) is None


@pytest.mark.parametrize("reach", [0.05, 0.0])
def test_the_slope_of_a_curvature_is_four_times_the_largest_quotient(reach):
    """At -R, -R/2, R/2 and R along the direction; R at least the smallest step."""
    X, y, W = instance()
    network = ShallowNetwork(W, np.ones(len(W)), "tanh")
    U = np.random.default_rng(1).standard_normal(W.shape)
    U /= np.linalg.norm(U)

    def along(t):
        H = hessian(network.with_weights(W + t * U), X, y)
        return U.ravel() @ H @ U.ravel()

    R = max(reach, criteria.SMALLEST_STEP)
    quotients = [abs(along(t) - along(0.0)) / abs(t) for t in (-R, -R / 2, R / 2, R)]
    found = criteria._estimated_slope(network, X, y, reach, (U, None))
    assert found == pytest.approx(4 * max(quotients), rel=1e-6)
    assert max(quotients) > 1.01 * min(quotients) or not reach

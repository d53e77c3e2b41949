"""Steps to the nearest stationary point, by their formula: how long they are, when they stop; and
the rounding of a Hessian where one term of it is known by hand.
"""

import itertools

import numpy as np
import pytest

from globalmin.errors import DataError
from globalmin.shallow import stationary
from globalmin.shallow.hessian import EPS, gradient, hessian, hessian_rounding
from globalmin.shallow.network import ShallowNetwork


def instance(seed=0, n=12, d=3, k=4):
    rng = np.random.default_rng(seed)
    network = ShallowNetwork(rng.standard_normal((k, d)), rng.standard_normal(k), "tanh")
    return network, rng.standard_normal((n, d)), rng.standard_normal(n)


def flat(network, X, y, trained):
    in_W, in_v = gradient(network, X, y, trained=trained)
    return in_W.ravel() if in_v is None else np.append(in_v, in_W)


@pytest.mark.parametrize("trained", ["W", "vW"])
def test_the_first_step_solves_its_equation(trained):
    """(H^2 + mu I) step = H g with mu = 1e-3 |H|^2, halved no further if the gradient shrinks."""
    network, X, y = instance()
    near = stationary.nearest_stationary(network, X, y, trained=trained)
    start = near.with_weights(near.W + 1e-3)  # close: the first step is taken
    moved = stationary.nearest_stationary(start, X, y, trained=trained, tol=0.0, max_iter=1)
    H, g = hessian(start, X, y, trained=trained), flat(start, X, y, trained)
    mu = 1e-3 * np.linalg.norm(H, 2) ** 2
    step = np.linalg.solve(H @ H + mu * np.eye(len(H)), H @ g)
    head = 4 if trained == "vW" else 0
    assert moved.W.ravel() == pytest.approx(start.W.ravel() - step[head:], abs=1e-12)
    assert moved.v == pytest.approx(start.v - step[:4] if head else start.v, abs=1e-12)


def test_it_stops_at_the_part_of_the_gradient_that_was_asked():
    """The first iterate with at most a tenth of the first gradient, whose norm is far from 1."""
    network, X, y = instance()
    X, y = 10.0 * X, 10.0 * y
    first = np.linalg.norm(flat(network, X, y, "W"))
    assert first > 30.0
    found = stationary.nearest_stationary(network, X, y, tol=0.1)
    iterates = [
        stationary.nearest_stationary(network, X, y, tol=0.0, max_iter=t) for t in range(1, 40)
    ]
    norms = [np.linalg.norm(flat(each, X, y, "W")) for each in iterates]
    expected = next(t for t, norm in enumerate(norms) if norm <= 0.1 * first)
    assert pytest.approx(iterates[expected].W, abs=0.0) == found.W
    assert all(b < a for a, b in itertools.pairwise(norms))


def test_too_many_weights_are_refused_and_the_limit_is_not(monkeypatch):
    network, X, y = instance()
    monkeypatch.setattr(stationary, "MOST_PARAMETERS", 12)
    assert stationary.nearest_stationary(network, X, y, max_iter=1).W.shape == (4, 3)
    with pytest.raises(DataError, match="16 weights"):
        stationary.nearest_stationary(network, X, y, trained="vW")


def test_rounding_of_the_hessian_where_the_residual_is_large():
    """One sample, one neuron z^2, w.x = 1 and |x| = s: the term of the residual is at least
    4 eps |r| |phi''| s^2 and grows like s^2.
    """
    y = np.array([1e8])
    found = []
    for s in (1.0, 2.0, 4.0):
        network = ShallowNetwork([[1.0 / s, 0.0]], [1.0], "quadratic")
        found.append(hessian_rounding(network, np.array([[s, 0.0]]), y))
        assert 4 * EPS * 1e8 * 2 * s**2 < found[-1] < 40 * EPS * 1e8 * 2 * s**2
    assert found[1] / found[0] == pytest.approx(4.0, rel=1e-6)
    assert found[2] / found[1] == pytest.approx(4.0, rel=1e-6)

"""When two neurons on one line are indistinct: the loss that merging them costs against what noise
explains, at the edge.
"""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import minimize

from globalmin.activations import get_activation
from globalmin.recovery import doubts


@pytest.fixture(scope="module")
def pair():
    """Two neurons on one line, their labels, and what the best single neuron in their place costs
    (by another optimizer).
    """
    W = np.array([[1.0, 0.5], [2.0, 1.0]])
    X = np.random.default_rng(0).standard_normal((60, 2))
    y = np.tanh(X @ W.T).mean(axis=1)

    def loss(w):
        return np.sum((np.tanh(X @ w) - y) ** 2) / (2 * len(X))

    return W, X, y, minimize(loss, W.mean(axis=0), tol=1e-14).fun


def test_neurons_on_a_line_are_indistinct_as_far_as_noise_explains(pair):
    """sigma^2 (d + z sqrt(2d)) / (2n): the mean and z deviations of a chi-square with d degrees."""
    W, X, y, worse = pair
    worse -= (doubts.EXACT * np.std(y)) ** 2 / 2
    assert worse > 1e-6
    share = (2 + doubts.SIGMAS * math.sqrt(4.0)) / (2 * 60)
    for factor, found in ((1.01, (0, 1)), (0.99, None)):
        bars = SimpleNamespace(weights=W, noise=math.sqrt(factor * worse / share))
        assert doubts.indistinct_pair(bars, X, y, get_activation("tanh")) == found


def test_neurons_on_different_lines_are_not_compared(pair):
    _, X, y, _ = pair
    bars = SimpleNamespace(weights=np.array([[1.0, 0.5], [1.0, -2.0]]), noise=1e6)
    assert doubts.indistinct_pair(bars, X, y, get_activation("tanh")) is None

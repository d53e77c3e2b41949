"""Starts for the tests of stochastic gradient descent."""

import numpy as np

import globalmin as gm
from globalmin.shallow.degenerate import pose


def near_fit(scale=1e-5, *, n=4, d=6, k=40, seed=0):
    """A network whose residual lies along the least singular direction of J: the slowest decay."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    network = gm.ShallowNetwork(rng.standard_normal((k, d)), np.tile([0.3, -0.3], k // 2))
    K = pose(network, gm.Dataset(X, np.ones(n), bias=False, scaling="none"), "W").gram()
    slowest = np.linalg.eigh(K)[1][:, 0]
    y = network.predict(X) - scale * slowest
    return network, gm.Dataset(X, y, bias=False, scaling="none"), K

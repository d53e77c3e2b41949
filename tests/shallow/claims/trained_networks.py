"""Small networks to certify, trained by a dense Gauss-Newton of a few lines that shares nothing
with `globalmin.training`.
"""

import numpy as np

from globalmin.data import Dataset
from globalmin.shallow.network import ShallowNetwork

SMOOTH = ("softplus", "softplus(4)", "sigmoid", "sigmoid(0.5)", "tanh", "erf", "quadratic")
SIZES = {"n": 20, "d": 6, "k": 8}


def dense_jacobian(network, X, *, trained="W"):
    """J, n x p, by its definition."""
    Z = X @ network.W.T
    J_W = ((network.activation.derivative(Z) * network.v)[:, :, None] * X[:, None, :]).reshape(
        len(X), -1
    )
    return np.hstack([network.activation(Z), J_W]) if trained == "vW" else J_W


def gauss_newton(network, X, y, *, trained="W", steps=30):
    """Minimum-norm Newton steps, halved while the residual does not fall."""
    k = network.width
    for _ in range(steps):
        r = network.predict(X) - y
        step = np.linalg.lstsq(dense_jacobian(network, X, trained=trained), r, rcond=None)[0]
        for length in 0.5 ** np.arange(12):
            v = network.v - length * step[:k] if trained == "vW" else network.v
            W = network.W - length * step[-network.W.size :].reshape(network.W.shape)
            candidate = network.with_weights(W, v)
            if np.linalg.norm(candidate.predict(X) - y) < np.linalg.norm(r):
                network = candidate
                break
        else:
            break
    return network


def start(activation="softplus", *, n=20, d=6, k=8, seed=0, distance=0.05, bias=False):
    """A random network and data whose labels are its outputs moved by `distance` times Gaussian
    noise.
    """
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    if bias:
        X[:, -1] = 1.0
    network = ShallowNetwork(rng.standard_normal((k, d)), rng.choice([-1.0, 1.0], k), activation)
    return network, Dataset.from_preprocessed(
        X, network.predict(X) + distance * rng.standard_normal(n), bias=bias
    )


def interpolating(activation="softplus", *, trained="W", **options):
    """A network trained to the rounding floor, and its data."""
    network, data = start(activation, **options)
    return gauss_newton(network, data.X, data.y, trained=trained), data

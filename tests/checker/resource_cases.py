"""Small files that ask for much: exact work, memory, depth."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from tests.oracles import gmc_builder as gmc

HUGE = Fraction(10) ** 300


def scattered(rng: np.random.Generator, shape: tuple[int, ...], low: int, high: int) -> np.ndarray:
    """Numbers whose binary exponents fill a range, so that exact sums of them are integers of
    thousands of bits.
    """
    return np.ldexp(rng.random(shape) + 0.5, rng.integers(low, high, shape))


def long_filters(p: int) -> bytes:
    """global-basin with filters of p entries with exponents from -1000 to 999."""
    rng = np.random.default_rng(0)
    claim = gmc.claim("global-basin", loss_upper=Fraction(1))
    certificate = {
        "claims": [claim],
        "data": {"law": "gaussian-patches"},
        "loss": "population-half-square",
        "network": {"kind": "filter"},
        "producer": "tests",
    }
    filters = {name: scattered(rng, (p,), -1000, 1000) for name in ("true_filter", "filter")}
    return gmc.pack(certificate, filters | {"true_head": np.ones(1), "head": np.ones(1)})


def zero_signs(size: int) -> bytes:
    """relu-interpolation whose pre-activations are all exactly zero, which no ball decides."""
    rng = np.random.default_rng(0)
    x, w = (scattered(rng, (size, size // 2), -400, 400) for _ in range(2))
    X, W = np.hstack([x, x]), np.hstack([w, -w])
    claim = gmc.claim("relu-interpolation", loss_upper=HUGE, mu=Fraction(1), R=HUGE)
    witness = {"W_hat": W, "T": np.arange(1), "dropped": np.zeros((0, 2), int), "C": np.eye(size)}
    return gmc.build(X, np.zeros(size), W, np.ones(size), [(claim, witness)], activation="relu")


def dropped_samples(n: int, d: int = 100) -> bytes:
    """relu-interpolation in which all samples but one are multiples of the first."""
    u = scattered(np.random.default_rng(0), (d,), -900, 0)
    X = np.array([u * 2.0 ** (i % 50) for i in range(n)])
    claim = gmc.claim("relu-interpolation", loss_upper=HUGE, mu=Fraction(1, 2), R=Fraction(10))
    dropped = np.array([[i, 0] for i in range(1, n)])
    witness = {"W_hat": np.zeros((1, d)), "T": np.arange(1), "dropped": dropped, "C": np.eye(1)}
    return gmc.build(
        X, np.zeros(n), np.zeros((1, d)), np.ones(1), [(claim, witness)], activation="relu"
    )


def one_ray(n: int, d: int = 20) -> bytes:
    """loss-floor with one group of n equal rows and labels of all sizes."""
    rng = np.random.default_rng(0)
    X, y = (
        np.repeat(scattered(rng, (1, d), -1000, 1000), n, axis=0),
        scattered(rng, (n,), -1000, 1000),
    )
    claim = gmc.claim("loss-floor", loss_upper=HUGE**3, heads="any", floor=Fraction(0), gap=HUGE**3)
    groups = {"members": np.arange(n), "sizes": np.array([n]), "kinds": np.array([2])}
    return gmc.build(X, y, np.zeros((1, d)), np.zeros(1), [(claim, groups)], activation="relu")


def parallel_rows(n: int, d: int = 20) -> bytes:
    """gram-positive in which every pair of rows is parallel, which no ball decides."""
    x = scattered(np.random.default_rng(0), (d,), -400, 400)
    X = np.array([x * 2.0 ** (i % 30) for i in range(n)])
    fields = {
        "kernel": "weights",
        "method": "closed",
        "lam": Fraction(1, 10**6),
        "loss_upper": HUGE,
    }
    claim = gmc.claim("gram-positive", **fields)
    return gmc.build(
        X,
        np.zeros(n),
        np.zeros((1, d)),
        np.zeros(1),
        [(claim, {"C": np.eye(n)})],
        activation="relu",
    )


def deep_kernel(depth: int) -> bytes:
    """gram-positive of a residual network of great depth, in a file of 1 kB."""
    fields = {
        "kernel": "resnet",
        "method": "series",
        "step": Fraction(2),
        "nodes": 1,
        "depth": depth,
    }
    fields |= dict.fromkeys(("c_res", "c_sigma", "kappa"), Fraction(1)) | {
        "lam": Fraction(1, 10**9),
        "loss_upper": Fraction(1),
    }
    claim = gmc.claim("gram-positive", **fields)
    tensors = {"Q": np.array([1]), "C": np.eye(1)}
    return gmc.build(
        np.ones((1, 1)),
        np.zeros(1),
        np.zeros((1, 1)),
        np.zeros(1),
        [(claim, tensors)],
        activation="tanh",
    )

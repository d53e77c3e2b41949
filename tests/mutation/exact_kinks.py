"""Numbers that are exactly zero, or so nearly that no ball at 128 bits can tell: pre-activations at
the kink, parallel rows.

A checker must decide these exactly, or leave them open; it must not guess. The zeros are sums of
products that cancel after more than 128 bits, so that their balls have a radius.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from tests.checker import gram_cases as gram
from tests.corpus.small_producer import inverse_factor
from tests.corpus.whole_files import Whole, opened
from tests.mutation.tiny_instances import pick
from tests.oracles import gmc_builder as gmc
from tests.oracles.fraction_network import dot

Rng = np.random.Generator
FAR = 2.0**-90


def relu_kink(rng: Rng) -> Whole:
    """relu-interpolation at exactly zero residual, with pre-activations that are exactly zero; mu
    as if they were active or not.

    A neuron at its kink is inactive. The first sample is (a, a FAR, a, a FAR), the second
    orthogonal to it; the neurons lie on their rays, plus sometimes a hair, so that the other
    sample's pre-activation is an exact zero or not one.
    """
    first, second = np.array([1.0, FAR, 1.0, FAR]), np.array([1.0, FAR, -1.0, -FAR])
    X = np.array([first, second])[: int(rng.integers(1, 3))] * pick(rng, 1.0, 0.5, 2.0)
    k = int(rng.integers(1, 3))
    W = np.array([pick(rng, first, second, first + second) for _ in range(k)]) * pick(
        rng, 1.0, 0.25
    )
    if rng.random() < 0.3:
        W[0, 1] += pick(rng, 1, -1) * 2.0 ** -int(rng.integers(60, 200))
    x, w = ([[Fraction(float(a)) for a in row] for row in array] for array in (X, W))
    z = [[dot(row, weights) for weights in w] for row in x]
    v = rng.choice([0.5, 1.0, 2.0], size=k)
    on = np.array(
        [[entry > 0 or (entry == 0 and rng.random() < 0.5) for entry in row] for row in z]
    )
    active = np.where(on, v, 0.0)
    G = (active @ active.T) * np.array([[float(dot(a, b)) for b in x] for a in x])
    mu = float(np.linalg.eigvalsh(G)[0]) * 0.9
    mu = mu if mu > 1e-9 else pick(rng, 0.1, 1.0, 1e-6)
    heads = [Fraction(float(head)) for head in v]
    y = np.array([float(dot(heads, [max(entry, Fraction(0)) for entry in row])) for row in z])
    tensors = {"W_hat": W, "T": np.arange(k), "C": inverse_factor(G - mu * np.eye(len(G)))}
    tensors["dropped"] = np.zeros((0, 2), np.int64)
    claim = gmc.claim(
        "relu-interpolation", mu=mu, R=pick(rng, Fraction(0), Fraction(1)), loss_upper=Fraction(1)
    )
    return opened(gmc.build(X, y, W, v, [(claim, tensors)], activation="relu"))


def nearly_parallel(rng: Rng) -> Whole:
    """gram-positive, closed form: the rows (1, t) and (1, -t), t from 2^-10 to 2^-300 or zero, lam
    around the least eigenvalue.

    By symmetry the eigenvectors are (1, 1) and (1, -1) exactly; with theta = 2 atan t the least
    eigenvalue is about t/pi.
    """
    t = float(2.0 ** -int(rng.integers(10, 300))) if rng.random() < 0.9 else 0.0
    X = np.array([[1.0, t], [1.0, -t]])
    lam = Fraction(t / np.pi if t else 2.0**-200) * pick(
        rng, *map(Fraction, ("1/2", "9/10", "11/10", "2", "1/1000"))
    )
    least = Fraction(t / np.pi) - lam
    low = float(abs(least)) ** -0.5 if least else 1.0
    C = np.array([[1.0, 1.0], [low, -low]]) / np.sqrt(2.0)
    fields, _ = gram.claim("relu", np.eye(2), "weights", lam=lam, loss_upper=Fraction(1))
    return opened(gram.build("relu", X, [(fields, {"C": C})]))

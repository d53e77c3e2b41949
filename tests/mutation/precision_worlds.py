"""relu-descent where the precision decides which pairs may change sign: one tie of tau, two worlds,
numbers from either.

At 128 bits the tied pair is undecided, so that an enclosure would put it among the pairs that may
change (the coarse world); beyond, it is decided (the fine world). The theorem needs all its numbers
from one world. The attacker takes each of lam, Lam, eps and the factors from a world of its own
choice, and e from anywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from tests.corpus.small_producer import inverse_factor
from tests.corpus.whole_files import Whole, opened
from tests.mutation.oracle_margins import short, square_root
from tests.mutation.tiny_instances import pick
from tests.oracles import gmc_builder as gmc
from tests.oracles.fraction_network import Network, dot
from tests.oracles.fraction_relu_descent import patterns
from tests.oracles.strict_container import Certificate

Rng = np.random.Generator
Matrix = list[list[Fraction]]
Pattern = list[list[bool]]
# products of doubles this far apart do not fit 128 bits, so that exact zeros have balls with a
# radius
FAR = 2.0**-100


@dataclass(frozen=True)
class World:
    """H_mid and E for one choice of the sets."""

    middle: Matrix
    spread: Matrix


def _rows(array: np.ndarray) -> Matrix:
    return [[Fraction(float(x)) for x in row] for row in array]


def _samples(rng: Rng) -> np.ndarray:
    """One sample; two orthogonal ones whose inner product is zero only after an exact cancellation;
    two of any direction.
    """
    style = pick(rng, "one", "cancelling", "cancelling", "cancelling", "any")
    if style == "one":
        return rng.uniform(0.5, 2, (1, 1))
    if style == "any":
        return rng.standard_normal((2, 2)) + np.eye(2)
    a, b = rng.uniform(0.5, 1.5, 2)
    return np.array([[a, a * FAR, a, a * FAR], [b, b * FAR, -b, -b * FAR]])


def _active_weights(rng: Rng, X: np.ndarray, k: int) -> np.ndarray:
    """Neurons that are active on every sample, the last one sometimes on none or at the kink."""
    heights = rng.uniform(0.25, 2, (k, len(X)))
    if k > 1 and rng.random() < 0.5:
        heights[-1] *= pick(rng, -1.0, 1e-3, -1e-3)
    return np.array([np.linalg.lstsq(X, height, rcond=None)[0] for height in heights])


def _worlds(certificate: Certificate, tau: Fraction, pair: tuple[int, int]) -> tuple[World, World]:
    """(coarse, fine): the tied pair may change sign, or what is true."""
    possible, sure = patterns(Network(certificate, 64), tau)
    neuron, sample = pair
    wide, narrow = [list(row) for row in possible], [list(row) for row in sure]
    wide[neuron][sample], narrow[neuron][sample] = True, False
    return _world(certificate, wide, narrow), _world(certificate, possible, sure)


def _world(c: Certificate, possible: Pattern, sure: Pattern) -> World:
    n = range(len(c.y))

    def shared(pattern: Pattern, i: int, j: int) -> Fraction:
        return sum(
            (v * v for v, row in zip(c.v, pattern, strict=True) if row[i] and row[j]), Fraction(0)
        )

    K = [[dot(c.X[i], c.X[j]) for j in n] for i in n]
    middle = [[K[i][j] * (shared(possible, i, j) + shared(sure, i, j)) / 2 for j in n] for i in n]
    spread = [
        [abs(K[i][j]) * (shared(possible, i, j) - shared(sure, i, j)) / 2 for j in n] for i in n
    ]
    return World(middle, spread)


def _floats(A: Matrix) -> np.ndarray:
    return np.array([[float(x) for x in row] for row in A])


def _weights(rng: Rng, n: int, sample: int) -> np.ndarray:
    """e: ordinary, or of an extreme ratio, mostly with its least entry at the tied sample, where it
    blows up every radius.
    """
    style = pick(rng, "ones", "any", "ratio", "ratio", "ratio", "ratio")
    if style == "ratio":
        exponents = np.where(np.arange(n) == sample, -990, 990) * pick(rng, 1, 1, 1, -1)
        return np.ldexp(rng.uniform(0.5, 1, n), exponents)
    return np.ones(n) if style == "ones" else rng.uniform(0.5, 2, n)


def _width(rng: Rng, world: World, e: np.ndarray) -> Fraction:
    """eps of a world: its bound with room, or just below it, or next to nothing."""
    weights = [Fraction(float(x)) for x in e]
    bound = max(dot(row, weights) / x for row, x in zip(world.spread, weights, strict=True))
    factor = pick(
        rng,
        *[Fraction(0)] * 4,
        Fraction(101, 100),
        1 - Fraction(1, 2**126),
        1 + Fraction(1, 2**140),
    )
    return bound * factor + pick(rng, Fraction(0), Fraction(1, 2**100), Fraction(1, 2**30))


def two_worlds(rng: Rng) -> Whole | None:
    """A file whose tau ties one pair, with numbers mixed from the two worlds; None where they do
    not fit together at all.
    """
    X = _samples(rng)
    k, n = int(rng.integers(1, 3)), len(X)
    W, v = _active_weights(rng, X, k), rng.uniform(0.5, 1.5, k) * pick(rng, 1.0, -1.0)
    x, w = _rows(X), _rows(W)
    neuron, sample = int(rng.integers(k)), int(rng.integers(n))
    z = dot(w[neuron], x[sample])
    reach = abs(Fraction(float(v[neuron]))) * square_root(
        sum((dot(x[sample], other) ** 2 for other in x), Fraction(0))
    )
    if z == 0:
        return None
    tau = short(
        abs(z) / reach * (1 - pick(rng, 1, 1, -1) * Fraction(1, 2 ** int(rng.integers(140, 250))))
    )
    known = Certificate(
        "relu", None, False, True, x, [Fraction(0)] * n, w, [Fraction(float(h)) for h in v], []
    )
    e = _weights(rng, n, sample)
    return _claimed(rng, (X, W, v, e), tau, _worlds(known, tau, (neuron, sample)))


def _claimed(
    rng: Rng, arrays: tuple[np.ndarray, ...], tau: Fraction, worlds: tuple[World, World]
) -> Whole | None:
    X, W, v, e = arrays
    n = len(X)
    lower, upper, width, proof = (worlds[int(rng.integers(2))] for _ in range(4))
    draw = rng.random()
    if (
        draw < 0.7
    ):  # one world for the matrix H_mid, the coarse one or any, and another for its width
        upper = proof = lower = worlds[0] if draw < 0.4 else lower
    elif draw < 0.85:  # the truth
        lower = upper = width = proof = worlds[1]
    norm = pick(rng, "rows", "factor")
    spectrum = np.linalg.eigvalsh(_floats(upper.middle))
    lam = Fraction(float(np.linalg.eigvalsh(_floats(lower.middle))[0])) * pick(
        rng, *map(Fraction, ("1/2", "9/10", "999/1000"))
    )
    top = (
        float(np.abs(_floats(upper.middle)).sum(axis=1).max())
        if norm == "rows"
        else float(spectrum[-1])
    )
    Lam, eps = Fraction(top) * Fraction(1001, 1000), _width(rng, width, e)
    if not eps < lam:
        return None
    eta = 2 / (lam + Lam) * pick(rng, Fraction(1), Fraction(9, 10))
    r = rng.standard_normal(n)
    r *= float((lam - eps) * tau) * float(rng.uniform(0.1, 0.9)) / np.linalg.norm(r)
    path = Fraction(float(Lam + eps) ** 0.5 * float(tau) * 1.001)
    fields = {
        "tau": tau,
        "lam": lam,
        "Lam": Lam,
        "eps": eps,
        "eta": eta,
        "rate": 1 - eta * (lam - eps),
        "path": path,
    }
    tensors = {"e": e, "C": inverse_factor(_floats(proof.middle) - float(lam) * np.eye(n))}
    if norm == "factor":
        tensors["C_Lam"] = inverse_factor(float(Lam) * np.eye(n) - _floats(upper.middle))
    y = np.maximum(X @ W.T, 0) @ v - r
    numbers = {name: short(value, 760) for name, value in fields.items()}
    claim = gmc.claim("relu-descent", norm=norm, loss_upper=Fraction(9), **numbers)
    return opened(gmc.build(X, y, W, v, [(claim, tensors)], activation="relu"))

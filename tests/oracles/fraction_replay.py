"""Descent replayed on exact rational intervals with exact dyadic weights (theorem TR of
spec/claims/trajectory.md), the normal distribution inverted by bracketing.
"""

from __future__ import annotations

from fractions import Fraction
from hashlib import sha256
from math import isqrt
from typing import Any

import numpy as np
from tests.oracles.claim_grammar import require
from tests.oracles.definiteness import shifted
from tests.oracles.fraction_activations import derivatives, suprema
from tests.oracles.fraction_claims import Check, Witnessed, inner
from tests.oracles.fraction_elementary import erf
from tests.oracles.fraction_intervals import Interval, larger, total
from tests.oracles.fraction_network import Network, dot, row_sum_bound
from tests.oracles.strict_container import Claim

BITS = (128, 192, 256, 384, 512, 768, 1024, 1536, 2048)
Matrix = list[list[Fraction]]


def rounded(value: Fraction, bits: int) -> Fraction:
    """The nearest number below with this many bits."""
    if value == 0:
        return value
    exponent = value.numerator.bit_length() - value.denominator.bit_length() - bits
    scale = Fraction(2) ** exponent
    return (value / scale).__floor__() * scale


def norm_upper(entries: list[Fraction]) -> Fraction:
    """A rational that is at least the Euclidean norm, and by at most 2^-200 of it larger."""
    return root_upper(sum((entry * entry for entry in entries), Fraction(0)))


def root_upper(square: Fraction, bits: int = 400) -> Fraction:
    """A rational at or just above the square root."""
    scale = bits + max(0, square.denominator.bit_length() - square.numerator.bit_length())
    return Fraction(isqrt(square.numerator * 4**scale // square.denominator) + 1, 2**scale)


def root_lower(square: Fraction) -> Fraction:
    """A rational at or just below the square root."""
    upper = root_upper(square)
    return max(Fraction(0), upper - Fraction(2) ** -380 * (1 + upper))


def cell(place: str, bits: int) -> tuple[Fraction, Fraction]:
    """Rationals around every z with m <= 2^1024 Phi(z) <= m + 1."""
    text = b"".join(sha256(f"globalmin-start/1|{place}|{b}".encode()).digest() for b in range(4))
    m = int.from_bytes(text, "big")
    return -_tail(m, bits)[1] if m < 2**1023 else _tail(2**1024 - m - 1, bits)[0], (
        -_tail(m + 1, bits)[0] if m + 1 <= 2**1023 else _tail(2**1024 - m - 1, bits)[1]
    )


def _tail(count: int, bits: int) -> tuple[Fraction, Fraction]:
    """Rationals around z >= 0 with 2^1024 (1 - Phi(z)) = count <= 2^1023, by bisection on erf."""
    target = 1 - Fraction(2 * count, 2**1024)  # erf(z / sqrt 2)
    low, high = Fraction(0), Fraction(64)
    root = root_upper(Fraction(2))
    for _ in range(bits + 8):
        middle = rounded((low + high) / 2, bits + 16)
        found = erf(middle / root, bits + 64)  # at a point just below middle/sqrt 2
        if found.upper <= target:
            low = middle
        elif found.lower >= target:
            high = middle
        else:
            break
    return max(low - Fraction(2) ** (8 - bits), Fraction(0)), high + Fraction(2) ** (8 - bits)


class Replay:
    """K steps at the bits of the claim: w_K, delta_K, and the shortest and longest path."""

    def __init__(self, net: Network, claim: Claim) -> None:
        self.c, self.f, self.bits = net.certificate, claim.fields, claim.fields["bits"]
        self.eta = self._of(self.f["eta"])
        b1, b2, _ = suprema(self.c.activation, self.c.parameter)
        longest = max(dot(x, x) for x in self.c.X)
        x2 = self.f["x2"]
        self.C = self._of(b2 * max(map(abs, self.c.v))) * self._of(x2 * longest).sqrt()
        self.beta = (
            None if b1 is None else self._of(b1) * self._of(dot(self.c.v, self.c.v) * x2).sqrt()
        )
        self.order, self.done = self.steps(claim), 0
        self.W, self.delta = self._start(claim)
        self.shortest = self.longest = Fraction(0)

    def _of(self, value: Fraction | int) -> Interval:
        return Interval.of(value, self.bits)

    def _start(self, claim: Claim) -> tuple[Matrix, Fraction]:
        if "W0" in claim.tensors:
            return claim.tensors["W0"].rows(), self.f["delta0"]
        k, d = len(self.c.W), len(self.c.W[0])
        ends = [cell(f"{self.f['seed']}|{j}", self.bits) for j in range(k * d)]
        middle = [rounded((a + b) / 2, self.bits) for a, b in ends]
        radii = [max(m - a, b - m) for m, (a, b) in zip(middle, ends, strict=True)]
        return [middle[i * d : (i + 1) * d] for i in range(k)], norm_upper(radii)

    def steps(self, claim: Claim) -> list[int]:
        """One entry a step; for descent on all samples it says nothing."""
        return [0] * self.f["K"]

    def target(self) -> Matrix:
        """The stored weights."""
        return self.c.W

    def run(self) -> bool:
        """Whether the bound stays below Delta."""
        for done in range(len(self.order)):
            self.done = done
            self._step()
            if self.delta > self.f["Delta"]:
                return False
        return True

    def _step(self) -> None:
        c, bits = self.c, self.bits
        jets = [
            [derivatives(c.activation, dot(w, x), bits, c.parameter) for w in self.W] for x in c.X
        ]
        heads = [self._of(v) for v in c.v]
        r = [
            total((h * e[0] for h, e in zip(heads, row, strict=True)), bits) - self._of(y)
            for row, y in zip(jets, c.y, strict=True)
        ]
        moved: Matrix = []
        radii: list[Fraction] = []
        for neuron, w in enumerate(self.W):
            pulls = [heads[neuron] * row[neuron][1] * s for row, s in zip(jets, r, strict=True)]
            line = []
            for a, entry in enumerate(w):
                slope = total((p * self._of(x[a]) for p, x in zip(pulls, c.X, strict=True)), bits)
                new = self._of(entry) - self.eta * slope
                line.append(rounded((new.lower + new.upper) / 2, bits))
                radii.append(max(new.upper - line[-1], line[-1] - new.lower))
            moved.append(line)
        grown = (self._expansion(jets, r) * self._of(self.delta)).upper + norm_upper(radii)
        self._walk(moved, grown)

    def _expansion(self, jets: Any, r: list[Interval]) -> Interval:
        one, delta = self._of(1), self._of(self.delta)
        if self.f["expansion"] == "rows" or self.beta is None:
            heads = [self._of(v * v) for v in self.c.v]
            K = [
                [
                    total((h * p[1] * q[1] for h, p, q in zip(heads, a, b, strict=True)), self.bits)
                    * self._of(dot(x, z))
                    for b, z in zip(jets, self.c.X, strict=True)
                ]
                for a, x in zip(jets, self.c.X, strict=True)
            ]
            b = row_sum_bound(K).sqrt() + self.C * delta
        else:
            b = self.beta
        g = inner(r, r).sqrt()
        return larger(one, self.eta * b.square() - one) + self.eta * self.C * (g + b * delta)

    def _walk(self, moved: Matrix, grown: Fraction) -> None:
        square = _square_distance(moved, self.W)
        spread = self.delta + grown
        self.longest += root_upper(square) + spread
        self.shortest += root_lower(square) - spread
        self.W, self.delta = moved, rounded(grown, self.bits) + Fraction(2) ** -(4 * self.bits)
        self.delta = max(self.delta, grown)

    def arrives(self) -> bool | None:
        """|w_K - V| + delta_K <= Delta."""
        square = _square_distance(self.W, self.target())
        if root_upper(square) + self.delta <= self.f["Delta"]:
            return True
        return False if root_lower(square) - self.delta > self.f["Delta"] else None


def _square_distance(A: Matrix, B: Matrix) -> Fraction:
    pairs = ((p - q) ** 2 for a, b in zip(A, B, strict=True) for p, q in zip(a, b, strict=True))
    return sum(pairs, Fraction(0))


def x2_check(net: Network, claim: Claim, judge: Witnessed) -> Check:
    """x2 I - X^T X."""
    columns = [list(column) for column in zip(*net.certificate.X, strict=True)]
    gram = [[Interval.of(dot(a, b), net.bits) for b in columns] for a in columns]
    form = shifted(gram, claim.fields["x2"], sign=-1)
    return "x2", judge.definite(form, claim.tensors["C_x"].rows())


def a_natural_number(value: Any) -> int:
    """Zero or more."""
    require(type(value) is int and value >= 0, "not a natural number")
    return value


def seeded_weights(seed: int, k: int, d: int) -> np.ndarray:
    """The midpoints of the cells as doubles."""
    entries = [sum(cell(f"{seed}|{j}", 128)) / 2 for j in range(k * d)]
    return np.array([float(entry) for entry in entries]).reshape(k, d)

"""The claim deep-trajectory on rational intervals (spec/claims/deep-trajectory.md): descent on all
layers replayed with exact dyadic weights, the gradient from the Jacobian itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from math import prod

from tests.oracles import fraction_deep_claims as deep
from tests.oracles.claim_grammar import Fields, Role, demand, rationals, require
from tests.oracles.fraction_claims import Check, Truth, Witnessed, inner
from tests.oracles.fraction_deep_claims import DeepCertificate, DeepPasses
from tests.oracles.fraction_intervals import Interval, at_most, larger, less, total
from tests.oracles.fraction_network import row_sum_bound
from tests.oracles.fraction_replay import (
    BITS,
    a_natural_number,
    cell,
    norm_upper,
    root_lower,
    root_upper,
    rounded,
)
from tests.oracles.strict_container import Claim

LONGEST = 12  # steps that the slow checker follows


def _flat(c: DeepCertificate) -> list[Fraction]:
    return [entry for W in c.weights for row in W for entry in row] + list(c.head)


def _at(c: DeepCertificate, theta: list[Fraction]) -> DeepCertificate:
    """The same network with other weights."""
    weights, place = [], 0
    for W in c.weights:
        rows = []
        for row in W:
            rows.append(theta[place : place + len(row)])
            place += len(row)
        weights.append(rows)
    return replace(c, weights=weights, head=theta[place:])


class Replay:
    """K steps at the bits of the claim: theta_K, delta_K, and the shortest and longest path."""

    def __init__(self, c: DeepCertificate, claim: Claim) -> None:
        self.c, self.f, self.bits = c, claim.fields, claim.fields["bits"]
        self.omega = claim.tensors["omega"].numbers()
        self.stored = _flat(c)
        self.theta, self.delta = self._start(claim)
        self.shortest = self.longest = Fraction(0)

    def _start(self, claim: Claim) -> tuple[list[Fraction], Fraction]:
        if "v0" in claim.tensors:
            layers = [claim.tensors[f"W0_{h}"] for h in range(1, len(self.c.weights) + 1)]
            entries = [x for layer in layers for x in layer.numbers()]
            return entries + claim.tensors["v0"].numbers(), self.f["delta0"]
        ends = [cell(f"{self.f['seed']}|{j}", self.bits) for j in range(len(self.stored))]
        middle = [rounded((a + b) / 2, self.bits) for a, b in ends]
        return middle, norm_upper(
            [max(m - a, b - m) for m, (a, b) in zip(middle, ends, strict=True)]
        )

    def run(self) -> bool:
        """Whether the bound stays below Delta."""
        if self.f["K"] > LONGEST:
            return False
        for _ in range(self.f["K"]):
            self._step()
            if self.delta > self.f["Delta"]:
                return False
        return True

    def _step(self) -> None:
        bits, c = self.bits, _at(self.c, self.theta)
        samples = [DeepPasses(c, x, bits) for x in c.X]
        eta = Interval.of(self.f["eta"], bits)
        r = [s.output() - Interval.of(y, bits) for s, y in zip(samples, c.y, strict=True)]
        J = [_in_order(sample) for sample in samples]
        moved, radii = [], []
        for place, entry in enumerate(self.theta):
            slope = total((row[place] * s for row, s in zip(J, r, strict=True)), bits)
            new = Interval.of(entry, bits) - eta * slope
            moved.append(rounded((new.lower + new.upper) / 2, bits))
            radii.append(max(new.upper - moved[-1], moved[-1] - new.lower))
        factor = self._factor(c, samples, J, inner(r, r).sqrt())
        grown = (factor * Interval.of(self.delta, bits)).upper + norm_upper(radii)
        square = _square(moved, self.theta)
        spread = self.delta + grown
        self.longest += root_upper(square) + spread
        self.shortest += root_lower(square) - spread
        self.theta, self.delta = moved, grown

    def _factor(
        self, c: DeepCertificate, samples: list[DeepPasses], J: list[list[Interval]], g: Interval
    ) -> Interval:
        bits, one = self.bits, Interval.of(1, self.bits)
        away, place = [], 0
        for W in c.weights:
            size = sum(map(len, W))
            part = slice(place, place + size)
            away.append(root_upper(_square(self.theta[part], self.stored[part])))
            place += size
        omega = [a + b for a, b in zip(self.omega, away, strict=True)]
        Lam = deep.lipschitz(samples, omega, self.delta, truth=False)
        delta, eta = Interval.of(self.delta, bits), Interval.of(self.f["eta"], bits)
        G = [[inner(a, b) for b in J] for a in J]
        b = row_sum_bound(G).sqrt() + Lam * delta
        return larger(one, eta * b.square() - one) + eta * Lam * (g + b * delta)

    def arrives(self) -> bool | None:
        """|w_K - V| + delta_K <= Delta."""
        square = _square(self.theta, self.stored)
        if root_upper(square) + self.delta <= self.f["Delta"]:
            return True
        return False if root_lower(square) - self.delta > self.f["Delta"] else None


def _in_order(sample: DeepPasses) -> list[Interval]:
    """The row of J, its head channel by channel, as the head is stored."""
    row, last = sample.jacobian(), sample.features[-1]
    head = [pixel[channel] for channel in range(len(last[0])) for pixel in last]
    return row[: -len(head)] + head


def _square(a: list[Fraction], b: list[Fraction]) -> Fraction:
    return sum(((p - q) ** 2 for p, q in zip(a, b, strict=True)), Fraction(0))


def deep_trajectory_checks(
    c: DeepCertificate, claim: Claim, judge: Witnessed, bits: int
) -> Iterator[Check]:
    """Theorem TR for all layers, then theorem DL."""
    f = claim.fields

    def of(value: Fraction | int) -> Interval:
        return Interval.of(value, bits)

    yield from deep.sign_checks(c, claim)
    if c.activation not in deep.BOUNDED:
        return
    yield "Delta > 0", f["Delta"] > 0
    yield "delta0 >= 0", f.get("delta0", 0) >= 0
    replay = Replay(c, claim)
    yield "arrival", replay.arrives() if replay.run() else None
    samples = [DeepPasses(c, x, bits) for x in c.X]
    r = [sample.output() - of(y) for sample, y in zip(samples, c.y, strict=True)]
    yield "loss_upper", at_most(inner(r, r) * of(Fraction(1, 2)), of(f["loss_upper"]))
    omega, radius = claim.tensors["omega"].numbers(), f["t"] + f["Delta"]
    Lam = deep.lipschitz(samples, omega, radius, truth=isinstance(judge, Truth))
    half, t, eta, Delta = of(Fraction(1, 2)), of(f["t"]), of(f["eta"]), of(f["Delta"])
    b = of(f["b2"]).sqrt()
    g = inner(r, r).sqrt() + (b + Lam * Delta * half) * Delta
    a, b = of(f["a2"]).sqrt() - Lam * Delta, b + Lam * Delta
    yield "Lam t < a'", less(Lam * t, a)
    yield "residual", at_most(g, a * t - Lam * t.square() * half)
    yield "step", at_most(eta * (b + Lam * t).square(), of(1))
    yield "rate", at_most(of(1) - eta * (a - Lam * t).square(), of(f["rate"]))
    ends = (of(end) for end in (replay.shortest, replay.longest))
    yield "path", at_most(Interval.between(*ends) + t, of(f["path"]))
    yield from deep.spectrum_checks(c, claim, judge, samples)


def _roles(fields: Fields, n: int, shapes: list[tuple[int, ...]]) -> list[Role]:
    require(fields["K"] <= 10**6 and fields["bits"] in BITS, "K or bits out of range")
    require(fields.get("seed", 0) < 10**18, "the seed is too large")
    demand(fields, {"seed"} if "seed" in fields else {"delta0"}, {"seed", "delta0"})
    roles = deep.GRAMMARS["deep-descent"].roles(fields, n, shapes)
    if "seed" in fields:
        return roles
    stored = [Role(f"W0_{h}", "F64", shape) for h, shape in enumerate(shapes[:-1], start=1)]
    return [*roles, *stored, Role("v0", "F64", (prod(shapes[-1]),))]


GRAMMAR = deep.DeepGrammar(
    "replayed-deep-descent/1",
    deep.FIELDS | rationals("Delta", "path") | {"K": a_natural_number, "bits": a_natural_number},
    rationals("delta0") | {"seed": a_natural_number},
    _roles,
)

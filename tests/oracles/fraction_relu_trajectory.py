"""The claim relu-trajectory on exact rationals (spec/claims/relu-trajectory.md): a step of a
network with kinks is rational, so the replay has no rounding but that of its midpoints.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from tests.oracles.claim_grammar import (
    Fields,
    Grammar,
    Role,
    Sizes,
    demand,
    one_of,
    rationals,
    require,
    squares,
)
from tests.oracles.definiteness import is_semidefinite, witnessed_exactly
from tests.oracles.fraction_claims import Check, Truth, Witnessed, loss_checks
from tests.oracles.fraction_intervals import Interval, at_most, largest, smaller
from tests.oracles.fraction_network import Network, dot
from tests.oracles.fraction_relu_descent import bracket_of, number_checks, spectrum_checks
from tests.oracles.fraction_relu_linearized import GRAMMAR as LINEARIZED
from tests.oracles.fraction_relu_linearized import Run, excesses, linear_run, patterns_of
from tests.oracles.fraction_relu_linearized import read_pairs as read_unstable
from tests.oracles.fraction_replay import (
    BITS,
    Matrix,
    a_natural_number,
    cell,
    norm_upper,
    root_lower,
    root_upper,
    rounded,
)
from tests.oracles.strict_container import Certificate, Claim

LONGEST = 2_000  # steps that the slow checker follows
KINKED = ("relu", "leaky_relu", "abs")


def negative_slope(c: Certificate) -> Fraction:
    """The slope for z < 0."""
    return {"relu": Fraction(0), "abs": Fraction(-1)}.get(c.activation, c.parameter or Fraction(0))


def exact_step(c: Certificate, W: Matrix, eta: Fraction) -> Matrix:
    """One step of gradient descent, exactly; z = 0 counts as negative."""
    down = negative_slope(c)
    Z = [[dot(w, x) for w in W] for x in c.X]
    slopes = [[Fraction(1) if z > 0 else down for z in row] for row in Z]
    r = [
        sum((v * s * z for v, s, z in zip(c.v, *rows, strict=True)), Fraction(0)) - y
        for rows, y in zip(zip(slopes, Z, strict=True), c.y, strict=True)
    ]
    return [
        [
            entry
            - eta
            * sum(
                (c.v[j] * slopes[i][j] * r[i] * c.X[i][a] for i in range(len(r))),
                Fraction(0),
            )
            for a, entry in enumerate(w)
        ]
        for j, w in enumerate(W)
    ]


def square_distance(A: Matrix, B: Matrix) -> Fraction:
    """|A - B|^2."""
    pairs = ((p - q) ** 2 for a, b in zip(A, B, strict=True) for p, q in zip(a, b, strict=True))
    return sum(pairs, Fraction(0))


class Replay:
    """K steps: the midpoints, the bound delta, and the shortest and longest path."""

    def __init__(self, c: Certificate, claim: Claim) -> None:
        self.c, self.f, self.bits = c, claim.fields, claim.fields["bits"]
        beta2 = dot(c.v, c.v) * self.f["x2"]
        self.factor = max(Fraction(1), self.f["eta"] * beta2 - 1)
        self.W, self.delta = self._start(claim)
        self.shortest = self.longest = Fraction(0)

    def _start(self, claim: Claim) -> tuple[Matrix, Fraction]:
        if "W0" in claim.tensors:
            return claim.tensors["W0"].rows(), self.f["delta0"]
        k, d = len(self.c.W), len(self.c.W[0])
        ends = [cell(f"{self.f['seed']}|{j}", self.bits) for j in range(k * d)]
        middle = [rounded((a + b) / 2, self.bits) for a, b in ends]
        radii = [max(m - a, b - m) for m, (a, b) in zip(middle, ends, strict=True)]
        return [middle[i * d : (i + 1) * d] for i in range(k)], norm_upper(radii)

    def is_clear(self) -> bool:
        """Whether every margin of theorem RT holds."""
        return all(
            dot(w, x) ** 2 > self.delta**2 * dot(x, x)
            for w, v in zip(self.W, self.c.v, strict=True)
            for x in self.c.X
            if v != 0 and any(x)
        )

    def run(self) -> bool:
        """Whether all margins hold and the bound stays below Delta."""
        if self.f["K"] > LONGEST:
            return False
        for _ in range(self.f["K"]):
            if not self.is_clear():
                return False
            moved = exact_step(self.c, self.W, self.f["eta"])
            kept = [[rounded(entry, self.bits) for entry in row] for row in moved]
            lost = root_upper(square_distance(moved, kept)) if moved != kept else Fraction(0)
            grown = self._up(self.factor * self.delta + lost)
            square, spread = square_distance(kept, self.W), self.delta + grown
            self.longest += root_upper(square) + spread
            self.shortest += root_lower(square) - spread
            self.W, self.delta = kept, grown
            if self.delta > self.f["Delta"]:
                return False
        return True

    def _up(self, value: Fraction) -> Fraction:
        """At most 2^-bits of it larger, with few digits."""
        return value and -rounded(-value, self.bits)

    def arrives(self) -> bool | None:
        """|w_K - V| + delta_K <= Delta."""
        square = square_distance(self.W, self.c.W)
        if root_upper(square) + self.delta <= self.f["Delta"]:
            return True
        return False if root_lower(square) - self.delta > self.f["Delta"] else None


def relu_trajectory_checks(net: Network, claim: Claim, judge: Witnessed) -> Iterator[Check]:
    """Theorem RT, then theorem RL' or a bound of the loss."""
    c, f = net.certificate, claim.fields
    if f["landing"] == "loss":
        yield "kinked activation", c.activation in KINKED
        if c.activation not in KINKED:
            return
        yield "eta > 0", f["eta"] > 0
        yield from loss_checks(net, claim)
    else:
        yield from number_checks(net, claim, judge)
        if c.activation != "relu":
            return
    for word in ("Delta", "x2"):
        yield f"{word} > 0", f[word] > 0
    yield "delta0 >= 0", f.get("delta0", 0) >= 0
    columns = [list(column) for column in zip(*c.X, strict=True)]
    gram = [[(f["x2"] if a is b else 0) - dot(a, b) for b in columns] for a in columns]
    if isinstance(judge, Truth):
        yield "x2", is_semidefinite(gram)
    else:
        yield "x2", witnessed_exactly(gram, claim.tensors["C_x"].rows())
    replay = Replay(c, claim)
    yield "arrival", replay.arrives() if replay.run() else None
    if f["landing"] == "loss":
        yield "bound", _loss_bound(net, f)
    else:
        yield from _landing(net, claim, judge, replay)


def _moved(net: Network, f: Fields) -> Interval:
    """Beta Delta."""
    c, bits = net.certificate, net.bits
    return Interval.of(dot(c.v, c.v) * f["x2"] * f["Delta"] ** 2, bits).sqrt()


def _loss_bound(net: Network, f: Fields) -> bool | None:
    r = net.exact_residual(net.certificate.W) or []
    top = Interval.of(dot(r, r), net.bits).sqrt() + _moved(net, f)
    return at_most(top.square(), Interval.of(2 * f["bound"], net.bits))


def _landing(net: Network, claim: Claim, judge: Witnessed, replay: Replay) -> Iterator[Check]:
    c, f, bits = net.certificate, claim.fields, net.bits
    lam, moved = Interval.of(f["lam"], bits), _moved(net, f)
    sets = patterns_of(net, set(claim.tensors["U"].integers()))
    H, E = bracket_of(net, *sets)
    r = net.exact_residual(c.W) or []
    run = linear_run(H, r, f, bits)
    least = smaller(Interval.of(dot(r, r), bits).sqrt(), run.length * lam) + moved
    yield "tau", at_most(least, Interval.of((f["lam"] - f["eps"]) * f["tau"], bits))
    yield from spectrum_checks(claim, judge, H, E)
    e = moved / lam
    near: Run = replace(
        run, rest=run.rest + e, length=run.length + e, columns=[w + e for w in run.columns]
    )
    rooms = [Interval.of(f["Delta"] ** 2 * dot(x, x), bits).sqrt() for x in c.X]
    worst = largest([Interval.of(-1, bits), *excesses(net, f, sets, near, rooms)])
    yield "margins", judge.strictly(worst, Interval.of(0, bits))
    ends = (Interval.of(end, bits) for end in (replay.shortest, replay.longest))
    tail = Interval.of((f["Lam"] + f["eps"]) * f["tau"] ** 2, bits).sqrt()
    yield "whole path", at_most(Interval.between(*ends) + tail, Interval.of(f["path"], bits))


def read_pairs(certificate: Certificate, claim: Claim) -> object:
    """U of the landing "descent"."""
    return read_unstable(certificate, claim) if "U" in claim.tensors else None


def _roles(fields: Fields, sizes: Sizes) -> list[Role]:
    _, d, k = sizes
    require(fields["K"] <= 10**6 and fields["bits"] in BITS, "K or bits out of range")
    require(fields.get("seed", 0) < 10**18, "the seed is too large")
    is_descent = fields["landing"] == "descent"
    landing = set(LINEARIZED.fields) - {"eta"} if is_descent else {"bound"}
    start = {"seed"} if "seed" in fields else {"delta0"}
    demand(fields, landing | start, set(_OPTIONAL))
    stored = [] if "seed" in fields else [Role("W0", "F64", (k, d))]
    more = LINEARIZED.roles(fields, sizes) if is_descent else []
    return [*more, *squares("C_x", d), *stored]


_OPTIONAL = (
    {name: reader for name, reader in LINEARIZED.fields.items() if name != "eta"}
    | rationals("bound", "delta0")
    | {"seed": a_natural_number}
)
GRAMMAR = Grammar(
    "replayed-relu-descent/1",
    rationals("eta", "Delta", "x2")
    | {"K": a_natural_number, "bits": a_natural_number, "landing": one_of("descent", "loss")},
    _OPTIONAL,
    _roles,
)

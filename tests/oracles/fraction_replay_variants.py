"""Replays of both layers and of stochastic steps on exact rational intervals, the landing in a loss
and theorem SG (spec/claims/trajectory.md, spec/claims/sgd-trajectory.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from tests.oracles.claim_grammar import (
    CLAIMS,
    Fields,
    Grammar,
    Role,
    Sizes,
    demand,
    quartic_factor,
    rationals,
    require,
    squares,
)
from tests.oracles.fraction_activations import SMOOTH, derivatives, suprema
from tests.oracles.fraction_claims import (
    Check,
    Witnessed,
    gram_checks,
    inner,
    lipschitz_checks,
    loss_checks,
)
from tests.oracles.fraction_intervals import Interval, at_most, larger, largest, less, total
from tests.oracles.fraction_network import Network, dot, row_sum_bound
from tests.oracles.fraction_replay import (
    BITS,
    Matrix,
    Replay,
    a_natural_number,
    norm_upper,
    rounded,
    x2_check,
)
from tests.oracles.strict_container import Certificate, Claim

Jets = list[list[tuple[Interval, Interval, Interval]]]


class BothReplay(Replay):
    """Both layers: the rows of W, and the head as one more row."""

    def _start(self, claim: Claim) -> tuple[Matrix, Fraction]:
        tensors = claim.tensors
        return [*tensors["W0"].rows(), tensors["v0"].numbers()], self.f["delta0"]

    def target(self) -> Matrix:
        return [*self.c.W, self.c.v]

    def _step(self) -> None:
        c, bits, of = self.c, self.bits, self._of
        W, v = self.W[:-1], self.W[-1]
        jets = [[derivatives(c.activation, dot(w, x), bits, c.parameter) for w in W] for x in c.X]
        r = [
            total((of(h) * e[0] for h, e in zip(v, row, strict=True)), bits) - of(y)
            for row, y in zip(jets, c.y, strict=True)
        ]
        steep = [
            [
                total(
                    (s * row[j][1] * of(x[a]) for s, row, x in zip(r, jets, c.X, strict=True)), bits
                )
                for a in range(len(c.X[0]))
            ]
            for j in range(len(W))
        ]  # c_l = sum_i r_i phi'_il x_i
        new = [
            [of(w) - self.eta * of(v[j]) * entry for w, entry in zip(W[j], steep[j], strict=True)]
            for j in range(len(W))
        ]
        turns = (
            total((s * row[j][0] for s, row in zip(r, jets, strict=True)), bits)
            for j in range(len(W))
        )
        new.append([of(h) - self.eta * turn for h, turn in zip(v, turns, strict=True)])
        moved = [[rounded((e.lower + e.upper) / 2, bits) for e in row] for row in new]
        radii = [
            max(e.upper - m, m - e.lower)
            for row, line in zip(new, moved, strict=True)
            for e, m in zip(row, line, strict=True)
        ]
        factor = self._both_expansion(jets, r, v, steep)
        self._walk(moved, (factor * of(self.delta)).upper + norm_upper(radii))

    def _both_expansion(
        self, jets: Jets, r: list[Interval], v: list[Fraction], steep: list[list[Interval]]
    ) -> Interval:
        of, bits, X = self._of, self.bits, self.c.X
        b1, b2, _ = suprema(self.c.activation, self.c.parameter)
        assert b1 is not None
        delta, x2, longest = of(self.delta), self.f["x2"], max(dot(x, x) for x in X)
        K = [
            [
                total((of(h * h) * p[1] * q[1] for h, p, q in zip(v, a, b, strict=True)), bits)
                * of(dot(x, z))
                + total((p[0] * q[0] for p, q in zip(a, b, strict=True)), bits)
                for b, z in zip(jets, X, strict=True)
            ]
            for a, x in zip(jets, X, strict=True)
        ]
        half = of(Fraction(1, 2))
        mm = of(b2 * (max(map(abs, v)) + self.delta)) * of(x2 * longest).sqrt()
        Lip = (mm + (mm.square() + of(4 * b1 * b1 * x2)).sqrt()) * half
        b = row_sum_bound(K).sqrt() + Lip * delta
        g = inner(r, r).sqrt()
        least = larger(of(1), self.eta * b.square() - of(1))
        if self.f["expansion"] == "rows":
            return least + self.eta * Lip * (g + b * delta)
        c = largest(inner(row, row).sqrt() for row in steep)
        c = c + of(x2).sqrt() * (of(b1) * b + of(b2) * g * of(longest).sqrt()) * delta
        s = mm * (g + b * delta)
        return least + self.eta * (s + (s.square() + of(4) * c.square()).sqrt()) * half


class SampleReplay(Replay):
    """One sample a step, in the recorded order."""

    def steps(self, claim: Claim) -> list[int]:
        return claim.tensors["order"].integers()

    def _step(self) -> None:
        c, of = self.c, self._of
        i = self.order[self.done]
        x, y = c.X[i], c.y[i]
        jets = [derivatives(c.activation, dot(w, x), self.bits, c.parameter) for w in self.W]
        r = total((of(v) * e[0] for v, e in zip(c.v, jets, strict=True)), self.bits) - of(y)
        moved: Matrix = []
        radii: list[Fraction] = []
        for w, v, e in zip(self.W, c.v, jets, strict=True):
            new = [of(a) - self.eta * r * of(v) * e[1] * of(b) for a, b in zip(w, x, strict=True)]
            moved.append([rounded((z.lower + z.upper) / 2, self.bits) for z in new])
            radii += [max(z.upper - m, m - z.lower) for z, m in zip(new, moved[-1], strict=True)]
        b1, b2, _ = suprema(c.activation, c.parameter)
        assert b1 is not None
        m = of(b1 * b1 * dot(c.v, c.v) * dot(x, x)).sqrt()
        bend = of(b2 * max(map(abs, c.v)) * dot(x, x))
        factor = larger(of(1), self.eta * m.square() - of(1))
        factor = factor + self.eta * bend * (abs(r) + m * of(self.delta))
        self._walk(moved, (factor * of(self.delta)).upper + norm_upper(radii))


def loss_landing(
    net: Network, claim: Claim, judge: Witnessed, b1: Fraction | None
) -> Iterator[Check]:
    """What is left of a trajectory with landing "loss" after its arrival."""
    f, bits = claim.fields, net.bits
    Delta = Interval.of(f["Delta"], bits)
    if f["constants"] == "global":
        assert b1 is not None
        c = net.certificate
        moved = Interval.of(b1 * b1 * dot(c.v, c.v) * f["x2"], bits).sqrt() * Delta
    else:
        yield "Delta <= rho", f["Delta"] <= f["rho"]
        yield "kappa > 0", f["quartic"]["kappa"] > 0
        yield "quartic kappa", judge.quartic(net, net.quartic_weights("W", f["rho"]), claim)
        yield "b2", judge.norm(net.gram("W"), claim)
        Lip = Interval.of(f["quartic"]["kappa"], bits).sqrt()
        half = Interval.of(Fraction(1, 2), bits)
        moved = (Interval.of(f["b2"], bits).sqrt() + Lip * Delta * half) * Delta
    g = inner(net.residual, net.residual).sqrt() + moved
    yield "bound", at_most(g.square(), Interval.of(2 * f["bound"], bits))


def sgd_checks(net: Network, claim: Claim, judge: Witnessed) -> Iterator[Check]:
    """Theorem TR for the recorded order, then theorem SG."""
    f, name = claim.fields, net.certificate.activation
    yield "smooth activation", name in SMOOTH
    if name not in SMOOTH:
        return
    for word in ("eta", "Delta", "x2"):
        yield f"{word} > 0", f[word] > 0
    yield "delta0 >= 0", f.get("delta0", 0) >= 0
    yield "bounded slope", name != "quadratic"
    if name == "quadratic":
        return
    yield from loss_checks(net, claim)
    replay = SampleReplay(net, claim)
    yield "arrival", replay.arrives() if replay.run() else None
    yield x2_check(net, claim, judge)
    lip: list[Interval] = []
    yield from gram_checks(net, claim, judge, net.gram("W"))
    yield from lipschitz_checks(net, claim, judge, lip)
    yield from _stochastic_landing(net, claim, replay, lip[0])


def _stochastic_landing(
    net: Network, claim: Claim, replay: Replay, Lip: Interval
) -> Iterator[Check]:
    f, bits, c = claim.fields, net.bits, net.certificate

    def of(value: Fraction | int) -> Interval:
        return Interval.of(value, bits)

    b1, b2, _ = suprema(c.activation, c.parameter)
    assert b1 is not None
    n, N, eta, longest = len(c.X), f["block"], f["eta"], max(dot(x, x) for x in c.X)
    alpha = of(f["a2"]).sqrt() - Lip * of(f["rho"])
    yield "alpha > 0", less(of(0), alpha)
    m2 = b1 * b1 * dot(c.v, c.v) * longest  # m^2 and everything rational in it are exact
    yield "eta m^2 < 2", eta * m2 < 2
    if eta * m2 >= 2:
        return
    cc = eta * (2 - eta * m2) / 2
    ell = b2 * max(map(abs, c.v)) * longest
    kap = eta * eta * ell * ell / (4 * cc)
    gam = of(cc) * alpha.square() / (of(1) + of(eta * m2) * of(n * N).sqrt()).square()
    beta = of(b1 * b1 * dot(c.v, c.v) * f["x2"]).sqrt()
    D = (inner(net.residual, net.residual).sqrt() + beta * of(f["Delta"])) / alpha
    yield "4 N kap D^2 <= gam", at_most(of(4 * N * kap) * D.square(), gam)
    M = of(4) / gam * of(eta * eta * m2 * 5 * N / (4 * cc)).sqrt() * D
    yield "D + M + Delta <= rho", at_most(D + M + of(f["Delta"]), of(f["rho"]))
    ends = (of(end) for end in (replay.shortest, replay.longest))
    yield "path", at_most(Interval.between(*ends) + M, of(f["path"]))


LOSS_FIELDS = {"bound", "constants"}
LOCAL_FIELDS = {"b2", "norm", "rho", "quartic"}
DESCENT_FIELDS = {"a2", "rate", "path"}


def loss_roles(fields: Fields, sizes: Sizes) -> list[Role]:
    """The tensors of a landing "loss"."""
    n, d, _ = sizes
    conditional = LOSS_FIELDS | LOCAL_FIELDS | DESCENT_FIELDS | {"beta2"}
    local = fields.get("constants") == "local"
    demand(fields, LOSS_FIELDS | (LOCAL_FIELDS if local else set()), conditional)
    require(fields["trained"] == "W", "a loss is bounded for W only")
    if not local:
        return []
    factor = squares("C_b" if fields["norm"] == "factor" else "", n)
    return [*quartic_factor(fields["quartic"], d), *factor]


def _sgd_roles(fields: Fields, sizes: Sizes) -> list[Role]:
    n, d, k = sizes
    require(fields["trained"] == "W" and fields["bits"] in BITS, "trained or bits out of range")
    require(fields["block"] >= n, "a block of fewer steps than samples")
    demand(fields, {"seed"} if "seed" in fields else {"delta0"}, {"seed", "delta0", "beta2"})
    require(fields.get("seed", 0) < 10**18, "the seed is too large")
    stored = [] if "seed" in fields else [Role("W0", "F64", (k, d))]
    factors = [*squares("C_a", n), *quartic_factor(fields["quartic"], d), *squares("C_x", d)]
    return [*factors, Role("order", "I64", (None,)), *stored]


def read_order(certificate: Certificate, claim: Claim) -> None:
    """Every entry is a sample, and there are at most a million."""
    order, n = claim.tensors["order"].integers(), len(certificate.X)
    require(len(order) <= 10**6 and all(0 <= i < n for i in order), "the order is out of range")


def _sgd_fields() -> dict[str, Any]:
    shared = CLAIMS["descent"].fields
    taken = {name: shared[name] for name in ("trained", "a2", "rho", "quartic", "eta", "path")}
    words = {"bits": a_natural_number, "block": a_natural_number}
    return taken | rationals("Delta", "x2") | words


GRAMMAR = Grammar(
    "replayed-sgd/1",
    _sgd_fields(),
    rationals("delta0", "beta2") | {"seed": a_natural_number},
    _sgd_roles,
)

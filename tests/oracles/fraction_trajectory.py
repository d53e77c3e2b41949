"""The claim trajectory on exact rational intervals (spec/claims/trajectory.md): the replay, then
theorem LD or a bound of the loss.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from tests.oracles.claim_grammar import (
    CLAIMS,
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
from tests.oracles.fraction_activations import SMOOTH, suprema
from tests.oracles.fraction_claims import (
    Check,
    Witnessed,
    gram_checks,
    inner,
    lipschitz_checks,
    loss_checks,
)
from tests.oracles.fraction_intervals import Interval, at_most, less
from tests.oracles.fraction_network import Network
from tests.oracles.fraction_replay import BITS, Replay, a_natural_number, x2_check
from tests.oracles.fraction_replay_variants import (
    DESCENT_FIELDS,
    LOCAL_FIELDS,
    LOSS_FIELDS,
    BothReplay,
    loss_landing,
    loss_roles,
)
from tests.oracles.strict_container import Claim


def trajectory_checks(net: Network, claim: Claim, judge: Witnessed) -> Iterator[Check]:
    """Theorem TR, then theorem LD."""
    f, name = claim.fields, net.certificate.activation
    yield "smooth activation", name in SMOOTH
    if name not in SMOOTH:
        return
    for word in ("eta", "Delta", "x2"):
        yield f"{word} > 0", f[word] > 0
    yield "delta0 >= 0", f.get("delta0", 0) >= 0
    both, loss = f["trained"] == "vW", "landing" in f
    by_rows = f["expansion"] == "rows" and not both
    yield "bounded slope", name != "quadratic" or by_rows
    everywhere = both or (loss and f["constants"] == "global")  # a bound on the whole line
    if loss:
        yield "bounded slope of the loss", name != "quadratic" or f["constants"] == "local"
    if everywhere and name == "quadratic":
        return
    if not loss:
        yield "0 <= rate < 1", 0 <= f["rate"] < 1
    yield from loss_checks(net, claim)
    replay = (BothReplay if both else Replay)(net, claim)
    yield "arrival", replay.arrives() if replay.run() else None
    yield x2_check(net, claim, judge)
    if loss:
        yield from loss_landing(net, claim, judge, suprema(name, net.certificate.parameter)[0])
    else:
        yield from _descent_landing(net, claim, judge, replay)


def _descent_landing(
    net: Network, claim: Claim, judge: Witnessed, replay: Replay
) -> Iterator[Check]:
    K, lip = net.gram(claim.fields["trained"]), []
    yield from gram_checks(net, claim, judge, K)
    yield from lipschitz_checks(net, claim, judge, lip)
    yield "b2", judge.norm(K, claim)
    yield from _landing(net, claim, replay, lip[0])


def _landing(net: Network, claim: Claim, replay: Replay, Lip: Interval) -> Iterator[Check]:
    f, bits = claim.fields, net.bits
    Delta, eta, one, two = (Interval.of(x, bits) for x in (f["Delta"], f["eta"], 1, 2))
    half = Interval.of(Fraction(1, 2), bits)
    a = Interval.of(f["a2"], bits).sqrt() - Lip * Delta
    b = Interval.of(f["b2"], bits).sqrt()
    g = inner(net.residual, net.residual).sqrt() + (b + Lip * Delta * half) * Delta
    b = b + Lip * Delta
    yield "a' > 0", less(Interval.of(0, bits), a)
    h = two * Lip * g
    yield "2 Lip g' < a'^2", less(h, a.square())
    alpha2 = a.square() - h
    S = two * g / (a + alpha2.sqrt())
    yield "S' + Delta <= rho", at_most(S + Delta, Interval.of(f["rho"], bits))
    yield "step", at_most(eta * (b + Lip * S).square(), one)
    yield "rate", at_most(one - eta * alpha2, Interval.of(f["rate"], bits))
    ends = (Interval.of(end, bits) for end in (replay.shortest, replay.longest))
    yield "path", at_most(Interval.between(*ends) + S, Interval.of(f["path"], bits))


def _roles(fields: Fields, sizes: Sizes) -> list[Role]:
    _, d, k = sizes
    both, loss = fields["trained"] == "vW", "landing" in fields
    require(fields["K"] <= 10**6 and fields["bits"] in BITS, "K or bits out of range")
    demand(fields, {"seed"} if "seed" in fields else {"delta0"}, {"seed", "delta0"})
    require(fields.get("seed", 0) < 10**18, "the seed is too large")
    require(not (both and "seed" in fields), "a seed draws W only")
    require(fields["expansion"] in (("rows", "blocks") if both else ("norm", "rows")), "expansion")
    stored = [] if "seed" in fields else [Role("W0", "F64", (k, d))]
    heads = [Role("v0", "F64", (k,))] if both else []
    if not loss:
        demand(fields, LOCAL_FIELDS | DESCENT_FIELDS, OF_A_LANDING)
    landing = loss_roles(fields, sizes) if loss else CLAIMS["descent"].roles(fields, sizes)
    return [*landing, *squares("C_x", d), *stored, *heads]


_OF_DESCENT = CLAIMS["descent"].fields
OF_A_LANDING = LOSS_FIELDS | LOCAL_FIELDS | DESCENT_FIELDS
_WORDS = {
    "K": a_natural_number,
    "bits": a_natural_number,
    "expansion": one_of("norm", "rows", "blocks"),
}
_LOSS_WORDS = {"landing": one_of("loss"), "constants": one_of("global", "local")}
GRAMMAR = Grammar(
    "replayed-descent/1",
    {name: _OF_DESCENT[name] for name in ("trained", "eta")} | rationals("Delta", "x2") | _WORDS,
    {name: _OF_DESCENT[name] for name in LOCAL_FIELDS | DESCENT_FIELDS}
    | CLAIMS["descent"].optional
    | rationals("delta0", "bound")
    | _LOSS_WORDS
    | {"seed": a_natural_number},
    _roles,
)

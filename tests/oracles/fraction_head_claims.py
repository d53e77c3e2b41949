"""The claim head-gap on exact rational intervals, from spec/claims/head-gap.md: least squares in
the head, for the stored hidden weights.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from tests.oracles.claim_grammar import Fields, Grammar, Role, Sizes, demand, one_of, rationals
from tests.oracles.definiteness import shifted
from tests.oracles.fraction_activations import value
from tests.oracles.fraction_claims import Check, Truth, Witnessed, inner, loss_checks
from tests.oracles.fraction_intervals import Interval, at_most
from tests.oracles.fraction_network import Network
from tests.oracles.strict_container import Claim


def features(net: Network) -> list[list[Interval]]:
    """phi(w_l . x_i), one row per sample."""
    c = net.certificate
    return [
        [value(c.activation, z, net.bits, c.parameter) for z in row] for row in net.preactivations
    ]


def head_checks(net: Network, claim: Claim, judge: Witnessed) -> Iterator[Check]:
    """Both methods; the oracle asks for the exact projection of r."""
    f, bits = claim.fields, net.bits
    Q, r = features(net), net.residual
    bound = f["gap"] if f["method"] == "columns" else f["R"]
    yield "gap >= 0", bound >= 0
    yield "mu > 0", f["mu"] > 0
    yield from loss_checks(net, claim)
    vectors = [list(column) for column in zip(*Q, strict=True)] if f["method"] == "columns" else Q
    G = [[inner(a, b) for b in vectors] for a in vectors]
    yield f"mu of {f['method']}", judge.definite(shifted(G, -f["mu"]), claim.tensors["C"].rows())
    root = Interval.of(f["mu"], bits).sqrt()
    if f["method"] == "rows":
        distance = judge.energy_upper(G, r, r, root) if isinstance(judge, Truth) else None
        norm = inner(r, r).sqrt() / root
        yield "R", at_most(distance or norm, Interval.of(bound, bits))
        return
    z = [Interval.of(x, bits) for x in claim.tensors["z"].numbers()]
    size = judge.energy_upper(G, [inner(column, r) for column in vectors], z, root)
    half = Interval.of(Fraction(1, 2), bits)
    yield "gap", at_most(size.square() * half, Interval.of(bound, bits))


def _roles(fields: Fields, sizes: Sizes) -> list[Role]:
    n, _, k = sizes
    has_columns = fields["method"] == "columns"
    demand(fields, {"gap" if has_columns else "R"}, {"gap", "R"})
    m = k if has_columns else n
    extra = [Role("z", "F64", (k,))] if has_columns else []
    return [Role("C", "F64", (m, m)), *extra]


GRAMMAR = Grammar(
    "least-squares-gap/1",
    rationals("loss_upper", "mu") | {"method": one_of("columns", "rows")},
    rationals("gap", "R"),
    _roles,
)

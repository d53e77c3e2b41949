"""The claims that are decided in exact rationals: relu-interpolation (theorem RI) and
loss-floor.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from tests.oracles.claim_grammar import require
from tests.oracles.definiteness import is_semidefinite, witnessed_exactly
from tests.oracles.fraction_activations import NONNEGATIVE, ODD, ZERO_AT_ZERO
from tests.oracles.fraction_claims import Check, Truth, Witnessed, loss_checks
from tests.oracles.fraction_intervals import Interval, at_most
from tests.oracles.fraction_network import Network, dot
from tests.oracles.strict_container import Certificate, Claim

EQUAL, ZERO, RAY, LINE, ODD_PAIR, NEGATIVE_LABEL = range(6)


def _ratio(x: list[Fraction], u: list[Fraction]) -> Fraction | None:
    """c with x = c u, u not zero; None if there is none."""
    place = next((i for i, entry in enumerate(u) if entry), None)
    if place is None:
        return None
    c = x[place] / u[place]
    return c if all(p == c * q for p, q in zip(x, u, strict=True)) else None


@dataclass(frozen=True)
class Cell:
    """The indices of a relu-interpolation claim after the checks of their form."""

    T: list[int]
    dropped: list[tuple[int, int]]
    kept: list[int]


def read_cell(certificate: Certificate, claim: Claim) -> Cell:
    """Indices in range, strictly increasing, something kept, C of the right shape: everything else
    is malformed.
    """
    n, k = len(certificate.y), len(certificate.v)
    T, flat = claim.tensors["T"].integers(), claim.tensors["dropped"].integers()
    dropped = list(zip(flat[0::2], flat[1::2], strict=True))
    require(len(T) >= 1 and all(0 <= i < k for i in T), "T empty or out of range")
    require(all(a < b for a, b in pairwise(T)), "T not strictly increasing")
    gone = [j for j, _ in dropped]
    require(all(0 <= j < n and -1 <= i < n for j, i in dropped), "dropped index out of range")
    require(all(a < b for a, b in pairwise(gone)), "dropped not strictly increasing")
    kept = [i for i in range(n) if i not in set(gone)]
    require(bool(kept), "no sample kept")
    require(
        all(i == -1 or i in kept for _, i in dropped),
        "a sample is dropped for one that is not kept",
    )
    require(claim.tensors["C"].shape == (len(kept), len(kept)), "C has the wrong shape")
    return Cell(T, dropped, kept)


def _drop_is_sound(certificate: Certificate, j: int, i: int) -> bool:
    X, y = certificate.X, certificate.y
    if i == -1:
        return not any(X[j]) and y[j] == 0
    c = _ratio(X[j], X[i])
    return c is not None and c > 0 and y[j] == c * y[i]


def relu_checks(net: Network, claim: Claim, judge: Witnessed) -> Iterator[Check]:
    """Theorem RI at the witness W_hat: dropped samples, G > mu I, the margin of every pair, the
    radius.
    """
    certificate, f = net.certificate, claim.fields
    cell = read_cell(certificate, claim)
    yield "activation is relu", certificate.activation == "relu"
    yield from loss_checks(net, claim)
    yield "mu > 0", f["mu"] > 0
    for j, i in cell.dropped:
        yield f"dropped sample {j}", _drop_is_sound(certificate, j, i)
    W_hat = claim.tensors["W_hat"].rows()
    everything = net.exact_residual(W_hat) or []
    r = [everything[i] for i in cell.kept]
    X = [certificate.X[i] for i in cell.kept]
    z = {level: [dot(W_hat[level], x) for x in X] for level in cell.T}
    A = [
        [entry - (f["mu"] if i == j else 0) for j, entry in enumerate(row)]
        for i, row in enumerate(_cell_gram(X, z, certificate.v))
    ]
    positive = (
        is_semidefinite(A)
        if isinstance(judge, Truth)
        else witnessed_exactly(A, claim.tensors["C"].rows())
    )
    yield "mu", positive
    yield (
        "margins",
        all(
            _margin_holds(X, z[level], certificate.v[level], f["mu"], dot(r, r)) for level in cell.T
        ),
    )
    moved = [
        p - q for a, b in zip(W_hat, certificate.W, strict=True) for p, q in zip(a, b, strict=True)
    ]
    distance = (
        Interval.of(dot(moved, moved), net.bits).sqrt()
        + Interval.of(dot(r, r) / f["mu"], net.bits).sqrt()
    )
    yield "R", at_most(distance, Interval.of(f["R"], net.bits))


def _cell_gram(
    X: list[list[Fraction]], z: dict[int, list[Fraction]], v: list[Fraction]
) -> list[list[Fraction]]:
    """G_ij = x_i.x_j times the sum of v_l^2 over l in T active on both."""
    n = len(X)
    shared = [
        [
            sum((v[level] ** 2 for level in z if z[level][i] > 0 and z[level][j] > 0), Fraction(0))
            for j in range(n)
        ]
        for i in range(n)
    ]
    return [[dot(X[i], X[j]) * shared[i][j] for j in range(n)] for i in range(n)]


def _margin_holds(
    X: list[list[Fraction]], z: list[Fraction], v: Fraction, mu: Fraction, r2: Fraction
) -> bool:
    """(RI) or its first refinement, for one neuron and every sample."""
    for i, x in enumerate(X):
        plain = z[i] ** 2 * mu >= dot(x, x) * r2
        reach = sum((dot(x, X[j]) ** 2 for j in range(len(X)) if z[j] > 0), Fraction(0))
        if not (plain or z[i] ** 2 * mu**2 >= v**2 * reach * r2):
            return False
    return True


@dataclass(frozen=True)
class Group:
    """Samples whose outputs are known multiples of one unknown number."""

    kind: int
    members: list[int]


def read_groups(certificate: Certificate, claim: Claim) -> list[Group]:
    """Sizes that add up, indices in range, disjoint groups, known kinds: everything else is
    malformed.
    """
    members, sizes, kinds = (
        claim.tensors[name].integers() for name in ("members", "sizes", "kinds")
    )
    require(
        len(sizes) >= 1 and len(sizes) == len(kinds),
        "sizes and kinds differ in length or are empty",
    )
    require(all(s >= 1 for s in sizes) and sum(sizes) == len(members), "sizes do not add up")
    require(all(0 <= i < len(certificate.y) for i in members), "member out of range")
    require(len(set(members)) == len(members), "a sample is in two groups")
    require(all(EQUAL <= kind <= NEGATIVE_LABEL for kind in kinds), "unknown group kind")
    ends = [sum(sizes[: i + 1]) for i in range(len(sizes))]
    return [
        Group(kind, members[end - size : end])
        for kind, size, end in zip(kinds, sizes, ends, strict=True)
    ]


def factors(certificate: Certificate, group: Group) -> list[Fraction] | None:
    """The known multiples g_i; None if the rows or the activation do not allow this kind of
    group.
    """
    X, name = certificate.X, certificate.activation
    u, rows = X[group.members[0]], [X[i] for i in group.members]
    if group.kind == EQUAL:
        return [Fraction(1)] * len(rows) if all(x == u for x in rows) else None
    if group.kind == ZERO:
        return (
            [Fraction(0)] * len(rows)
            if name in ZERO_AT_ZERO and not any(any(x) for x in rows)
            else None
        )
    if group.kind == NEGATIVE_LABEL:
        return [Fraction(1)] if len(rows) == 1 and certificate.y[group.members[0]] < 0 else None
    ratios = [_ratio(x, u) for x in rows]
    c = [ratio for ratio in ratios if ratio]
    if len(c) < len(rows):
        return None
    if group.kind == RAY and name in ("relu", "leaky_relu", "linear", "quadratic") and min(c) > 0:
        return [ratio**2 if name == "quadratic" else ratio for ratio in c]
    if group.kind == LINE and name in ("abs", "quadratic"):
        return [ratio**2 if name == "quadratic" else abs(ratio) for ratio in c]
    return (
        c
        if group.kind == ODD_PAIR and name in ODD and all(abs(ratio) == 1 for ratio in c)
        else None
    )


def group_floor(g: list[Fraction], y: list[Fraction], *, nonnegative: bool) -> Fraction:
    """(1/2)(|y|^2 - (g.y)^2/|g|^2), the inner product cut at zero for nonnegative heads."""
    inner = max(dot(g, y), Fraction(0)) if nonnegative else dot(g, y)
    return (dot(y, y) - (inner**2 / dot(g, g) if any(g) else 0)) / 2


def floor_checks(net: Network, claim: Claim, judge: Witnessed) -> Iterator[Check]:
    """Theorem of section 6, in exact rationals."""
    certificate, f = net.certificate, claim.fields
    groups = read_groups(certificate, claim)
    nonnegative = f["heads"] == "nonnegative"
    yield "floor >= 0", f["floor"] >= 0
    yield "gap >= 0", f["gap"] >= 0
    if nonnegative:
        phi_nonnegative = certificate.activation in NONNEGATIVE
        yield (
            "nonnegative heads and activation",
            phi_nonnegative and all(v >= 0 for v in certificate.v),
        )
    total = Fraction(0)
    for number, group in enumerate(groups):
        g = factors(certificate, group)
        yield f"group {number}", g is not None and (nonnegative or group.kind != NEGATIVE_LABEL)
        total += (
            group_floor(g or [], [certificate.y[i] for i in group.members], nonnegative=nonnegative)
            if g
            else 0
        )
    yield "floor", f["floor"] <= total
    yield from loss_checks(net, claim)
    yield "gap", f["loss_upper"] - f["floor"] <= f["gap"]

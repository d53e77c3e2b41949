"""The inequalities of each claim as a sequence of (what is checked, True | False | None).

Two judges walk the same list: `Witnessed` believes only what the file's witness proves (P1, P2),
`Truth` ignores the witness and asks whether the inequality holds for the exact quantities
(elimination, exact solve). The first is the slow checker, the second the truth oracle.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from tests.oracles.definiteness import eliminated, inverse_energy, shifted, witnessed
from tests.oracles.fraction_activations import SMOOTH
from tests.oracles.fraction_intervals import Interval, UndefinedError, at_most, less, total
from tests.oracles.fraction_network import (
    Network,
    quartic_exceeds,
    row_sum_bound,
    rows_matrix,
    svec_matrix,
)
from tests.oracles.strict_container import Claim

Check = tuple[str, bool | None]
Gram = list[list[Interval]]


def inner(a: list[Interval], b: list[Interval]) -> Interval:
    """Enclosure of an inner product; of the square of a norm if both are the same list."""
    if a is b:
        return total((x.square() for x in a), a[0].bits)
    return total((x * y for x, y in zip(a, b, strict=True)), a[0].bits)


class Witnessed:
    """Believes the witness only."""

    lenient = False

    def definite(self, A: Gram, C: list[list[Fraction]] | None) -> bool | None:
        """P1; by elimination where the file holds no witness."""
        return eliminated(A)[0] if C is None else witnessed(A, C)

    def energy_upper(self, K: Gram, r: list[Interval], z: list[Interval], a: Interval) -> Interval:
        """P2: sqrt(z^T K z) + |r - K z| / a >= sqrt(r^T K^{-1} r)."""
        Kz = [inner(row, z) for row in K]
        rest = [x - y for x, y in zip(r, Kz, strict=True)]
        return inner(z, Kz).sqrt() + inner(rest, rest).sqrt() / a

    def energy_lower(self, K: Gram, r: list[Interval], z: list[Interval]) -> Interval:
        """P2: |r . z| / sqrt(z^T K z) <= sqrt(r^T K^{-1} r); zero for z = 0."""
        if not any(x.low or x.high for x in z):
            return z[0]
        return abs(inner(r, z)) / inner(z, [inner(row, z) for row in K]).sqrt()

    def norm(self, K: Gram, claim: Claim) -> bool | None:
        """b2 >= lambda_max(K) by the method the claim names."""
        b2 = claim.fields["b2"]
        if claim.fields["norm"] == "rows":
            return at_most(row_sum_bound(K), Interval.of(b2, K[0][0].bits))
        return witnessed(shifted(K, b2, sign=-1), claim.tensors["C_b"].rows())

    def quartic(self, net: Network, q: list[Interval], claim: Claim) -> bool | None:
        """P3 by the method the claim names."""
        X, C, entry = net.certificate.X, claim.tensors["C_kappa"].rows(), claim.fields["quartic"]
        if entry["method"] == "rows":
            return witnessed(shifted(rows_matrix(X, q), entry["kappa"], sign=-1), C)
        return witnessed(svec_matrix(X, q, entry["kappa"], entry["t"]), C)

    def strictly(self, a: Interval, b: Interval) -> bool | None:
        """A hypothesis that the checker must see strictly."""
        return less(a, b)


class Truth(Witnessed):
    """Ignores the witness; asks about the exact quantities."""

    lenient = True

    def definite(self, A: Gram, C: list[list[Fraction]] | None) -> bool | None:
        """Elimination."""
        return eliminated(A)[0]

    def energy_upper(self, K: Gram, r: list[Interval], z: list[Interval], a: Interval) -> Interval:
        """The exact quantity."""
        return inverse_energy(K, r).sqrt()

    def energy_lower(self, K: Gram, r: list[Interval], z: list[Interval]) -> Interval:
        """The exact quantity."""
        return inverse_energy(K, r).sqrt()

    def norm(self, K: Gram, claim: Claim) -> bool | None:
        """Elimination on b2 I - K."""
        return eliminated(shifted(K, claim.fields["b2"], sign=-1))[0]

    def quartic(self, net: Network, q: list[Interval], claim: Claim) -> bool | None:
        """True by elimination with the claim's own method, False by a direction that exceeds
        kappa.
        """
        X, entry = net.certificate.X, claim.fields["quartic"]
        matrix = (
            shifted(rows_matrix(X, q), entry["kappa"], sign=-1)
            if entry["method"] == "rows"
            else svec_matrix(X, q, entry["kappa"], entry["t"])
        )
        if eliminated(matrix)[0]:
            return True
        return False if quartic_exceeds(X, q, entry["kappa"]) else None

    def strictly(self, a: Interval, b: Interval) -> bool | None:
        """Ties are true."""
        return at_most(a, b)


def loss_checks(net: Network, claim: Claim) -> Iterator[Check]:
    """L(stored weights) <= loss_upper."""
    yield "loss_upper", at_most(net.loss, Interval.of(claim.fields["loss_upper"], net.bits))


def lipschitz_checks(
    net: Network, claim: Claim, judge: Witnessed, lip: list[Interval]
) -> Iterator[Check]:
    """Theorems LIP-W and LIP-VW; the constant is appended to `lip`."""
    f, bits = claim.fields, net.bits
    yield "quartic kappa", judge.quartic(net, net.quartic_weights(f["trained"], f["rho"]), claim)
    kappa = Interval.of(f["quartic"]["kappa"], bits)
    if f["trained"] == "W":
        lip.append(kappa.sqrt())
        return
    yield "beta2 > 0", f["beta2"] > 0
    yield (
        "beta2",
        judge.definite(
            shifted(net.slope_gram(f["rho"]), f["beta2"], sign=-1), claim.tensors["C_beta"].rows()
        ),
    )
    root = (kappa + Interval.of(4 * f["beta2"], bits)).sqrt()
    lip.append((kappa.sqrt() + root) * Interval.of(Fraction(1, 2), bits))


def gram_checks(net: Network, claim: Claim, judge: Witnessed, K: Gram) -> Iterator[Check]:
    """K >= a2 I, and the signs of the claimed numbers."""
    f = claim.fields
    yield "a2 > 0", f["a2"] > 0
    yield "rho >= 0", f["rho"] >= 0
    yield "kappa > 0", f["quartic"]["kappa"] > 0
    C = claim.tensors["C_a"].rows() if "C_a" in claim.tensors else None
    yield "a2", judge.definite(shifted(K, -f["a2"]), C)


def interpolation_checks(net: Network, claim: Claim, judge: Witnessed) -> Iterator[Check]:
    """Theorem of section 3: 2 Lip e < a, R(formula) <= R <= rho, and the optional lower radius."""
    yield "smooth activation", net.certificate.activation in SMOOTH
    yield from loss_checks(net, claim)
    f, bits = claim.fields, net.bits
    K, lip = net.gram(f["trained"]), []
    yield from gram_checks(net, claim, judge, K)
    yield from lipschitz_checks(net, claim, judge, lip)
    a, one, two = Interval.of(f["a2"], bits).sqrt(), Interval.of(1, bits), Interval.of(2, bits)
    z = [Interval.of(x, bits) for x in claim.tensors["z"].numbers()]
    e = judge.energy_upper(K, net.residual, z, a)
    h = two * lip[0] * e
    yield "2 Lip e < a", judge.strictly(h, a)
    radius = two * e / (one + (one - h / a).sqrt())
    yield "R", at_most(radius, Interval.of(f["R"], bits))
    yield "R <= rho", f["R"] <= f["rho"]
    if "R_lo" in f:
        yield "R_lo > 0", f["R_lo"] > 0
        e_lower = judge.energy_lower(K, net.residual, z)
        lower = two * e_lower / (one + (one + two * lip[0] * e_lower / a).sqrt())
        yield "R_lo", at_most(Interval.of(f["R_lo"], bits), lower)
        yield "R_lo <= rho", f["R_lo"] <= f["rho"]


def descent_checks(net: Network, claim: Claim, judge: Witnessed) -> Iterator[Check]:
    """Theorem of section 4: 2 Lip g < a^2, S <= rho, eta (b + Lip S)^2 <= 1, rate and path."""
    yield "smooth activation", net.certificate.activation in SMOOTH
    yield from loss_checks(net, claim)
    f, bits = claim.fields, net.bits
    yield "eta > 0", f["eta"] > 0
    yield "0 <= rate < 1", 0 <= f["rate"] < 1
    K, lip = net.gram(f["trained"]), []
    yield from gram_checks(net, claim, judge, K)
    yield from lipschitz_checks(net, claim, judge, lip)
    yield "b2", judge.norm(K, claim)
    a2, two, one = Interval.of(f["a2"], bits), Interval.of(2, bits), Interval.of(1, bits)
    g = inner(net.residual, net.residual).sqrt()
    h = two * lip[0] * g
    yield "2 Lip g < a2", less(h, a2)
    alpha2 = a2 - h
    S = two * g / (a2.sqrt() + alpha2.sqrt())
    yield "S <= rho", at_most(S, Interval.of(f["rho"], bits))
    eta = Interval.of(f["eta"], bits)
    yield "eta", at_most(eta * (Interval.of(f["b2"], bits).sqrt() + lip[0] * S).square(), one)
    yield "rate", at_most(one - eta * alpha2, Interval.of(f["rate"], bits))
    yield "path", at_most(S, Interval.of(f["path"], bits))


def guarded(checks: Iterator[Check]) -> Iterator[Check]:
    """Pass checks on until one certainly fails; an operation without enclosure is an undecided
    check.
    """
    try:
        for name, outcome in checks:
            yield name, outcome
            if outcome is False:
                return
    except UndefinedError as error:
        yield str(error), None

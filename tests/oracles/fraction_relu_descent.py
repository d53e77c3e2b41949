"""Section 5.11 of spec/certificate-v1.md on exact rationals: every sign and every matrix of theorem
RD without rounding.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from tests.oracles.claim_grammar import Fields, Grammar, Role, Sizes, one_of, rationals, squares
from tests.oracles.definiteness import is_semidefinite, witnessed_exactly
from tests.oracles.fraction_claims import Check, Truth, Witnessed, loss_checks
from tests.oracles.fraction_network import Network, dot
from tests.oracles.strict_container import Claim

Matrix = list[list[Fraction]]
Pattern = list[list[bool]]


def _roles(fields: Fields, sizes: Sizes) -> list[Role]:
    n = sizes[0]
    return [Role("e", "F64", (n,)), *squares("C C_Lam" if fields["norm"] == "factor" else "C", n)]


GRAMMAR = Grammar(
    "relu-path/1",
    rationals("tau", "lam", "Lam", "eps", "eta", "rate", "path")
    | {"norm": one_of("rows", "factor")},
    {},
    _roles,
)


def _not_below(z: Fraction, square: Fraction) -> bool:
    """Z >= -s for s^2 = square, s >= 0."""
    return z >= 0 or z * z <= square


def patterns(net: Network, tau: Fraction) -> tuple[Pattern, Pattern]:
    """PA and S, one row per neuron."""
    c = net.certificate
    K = [[dot(a, b) for b in c.X] for a in c.X]
    possible, sure = [], []
    for level, v in enumerate(c.v):
        z = [row[level] for row in net.preactivations]
        scale = (v * tau) ** 2
        near = [_not_below(z[i], scale * dot(K[i], K[i])) for i in range(len(z))]
        squares_ = [
            scale * sum((K[i][j] ** 2 for j in range(len(z)) if near[j]), Fraction(0))
            for i in range(len(z))
        ]
        possible.append([_not_below(x, s) for x, s in zip(z, squares_, strict=True)])
        sure.append([x > 0 and x * x > s for x, s in zip(z, squares_, strict=True)])
    return possible, sure


def bracket(net: Network, tau: Fraction) -> tuple[Matrix, Matrix]:
    """H_mid and E of theorem RD."""
    return bracket_of(net, *patterns(net, tau))


def bracket_of(net: Network, possible: Pattern, sure: Pattern) -> tuple[Matrix, Matrix]:
    """H_mid and E of two patterns, one row per neuron."""
    c = net.certificate
    n = len(c.y)

    def shared(pattern: Pattern, i: int, j: int) -> Fraction:
        return sum(
            (v * v for v, row in zip(c.v, pattern, strict=True) if row[i] and row[j]), Fraction(0)
        )

    middle, spread = [], []
    for i in range(n):
        inner = [dot(c.X[i], c.X[j]) for j in range(n)]
        pairs = [(shared(possible, i, j), shared(sure, i, j)) for j in range(n)]
        middle.append([k * (a + b) / 2 for k, (a, b) in zip(inner, pairs, strict=True)])
        spread.append([abs(k) * (a - b) / 2 for k, (a, b) in zip(inner, pairs, strict=True)])
    return middle, spread


def _shifted(A: Matrix, sign: int, shift: Fraction) -> Matrix:
    return [
        [sign * entry + (shift if i == j else 0) for j, entry in enumerate(row)]
        for i, row in enumerate(A)
    ]


def number_checks(net: Network, claim: Claim, judge: Witnessed) -> Iterator[Check]:
    """Signs, step, rate, path and loss."""
    f = claim.fields
    yield "activation is relu", net.certificate.activation == "relu"
    for name in ("tau", "lam", "Lam", "eta", "path"):
        yield f"{name} > 0", f[name] > 0
    yield "eps >= 0", f["eps"] >= 0
    yield "0 <= rate < 1", 0 <= f["rate"] < 1
    yield "e > 0", isinstance(judge, Truth) or min(claim.tensors["e"].numbers()) > 0
    yield "eps < lam", f["eps"] < f["lam"]
    yield "eta", f["eta"] * (f["lam"] + f["Lam"]) <= 2
    yield "rate", 1 - f["eta"] * (f["lam"] - f["eps"]) <= f["rate"]
    yield "path", (f["Lam"] + f["eps"]) * f["tau"] ** 2 <= f["path"] ** 2
    yield from loss_checks(net, claim)


def spectrum_checks(
    claim: Claim, judge: Witnessed, middle: Matrix, spread: Matrix
) -> Iterator[Check]:
    """The norm of E and the eigenvalues of H_mid; the truth judge asks for the eigenvalues
    themselves and ignores e and the factors.
    """
    f = claim.fields
    if isinstance(judge, Truth):
        yield "eps", is_semidefinite(_shifted(spread, -1, f["eps"]))
        yield "Lam", is_semidefinite(_shifted(middle, -1, f["Lam"]))
        yield "lam", is_semidefinite(_shifted(middle, 1, -f["lam"]))
        return
    e = claim.tensors["e"].numbers()
    yield "eps", all(dot(row, e) <= f["eps"] * x for row, x in zip(spread, e, strict=True))
    if f["norm"] == "rows":
        yield "Lam", max(sum(map(abs, row), Fraction(0)) for row in middle) <= f["Lam"]
    else:
        yield (
            "Lam",
            witnessed_exactly(_shifted(middle, -1, f["Lam"]), claim.tensors["C_Lam"].rows()),
        )
    yield "lam", witnessed_exactly(_shifted(middle, 1, -f["lam"]), claim.tensors["C"].rows())


def relu_descent_checks(net: Network, claim: Claim, judge: Witnessed) -> Iterator[Check]:
    """Theorem RD."""
    f = claim.fields
    yield from number_checks(net, claim, judge)
    r = net.exact_residual(net.certificate.W) or []
    yield "residual", dot(r, r) <= ((f["lam"] - f["eps"]) * f["tau"]) ** 2
    yield from spectrum_checks(claim, judge, *bracket(net, f["tau"]))

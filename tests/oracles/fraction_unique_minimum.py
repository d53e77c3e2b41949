"""unique-minimum on enclosures: gradient, Hessian and third derivative are formed entry by entry
from their definitions.

Written from section 5.16 and the claim's page; the third derivative is sum_i J_a f_bc + J_b f_ac +
J_c f_ab + r f_abc over all triples of parameters, not the blocks of the fast checker.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from tests.oracles.claim_grammar import (
    Grammar,
    Role,
    demand,
    one_of,
    quartic,
    quartic_factor,
    rationals,
    require,
    squares,
)
from tests.oracles.definiteness import shifted
from tests.oracles.fraction_activations import SMOOTH
from tests.oracles.fraction_claims import Check, Witnessed, inner, loss_checks
from tests.oracles.fraction_intervals import Interval, UndefinedError, at_most, largest, total
from tests.oracles.fraction_network import Network, dot, weighted_gram
from tests.oracles.fraction_second_order_claims import (
    _FOURTH,
    _third_suprema,
    gradient,
    hessian,
    jacobian,
    neuron_block,
    third_derivative,
)
from tests.oracles.strict_container import Claim

Matrix = list[list[Interval]]
NUMBERS = ("r", "r_minus", "mu", "M", "eta", "rate", "m0", "M0")
EXTRA = {"plain": {"lam"}, "split": {"lam", "tau", "square"}, "tensor": {"flat2"}, "mixed": {"tau"}}


def _roles(fields: dict[str, Any], sizes: tuple[int, int, int]) -> list[Role]:
    _, d, k = sizes
    p, form = k * d, fields["form"]
    require(p <= 400, "more than 400 parameters")
    demand(fields, EXTRA[form], {"lam", "tau", "square", "flat2"})
    roles = [*squares("C_m C_M", p), *quartic_factor(fields["quartic"], d)]
    if form == "split":
        roles += [
            Role("C_square", role.dtype, role.shape) for role in quartic_factor(fields["square"], d)
        ]
    last = {"tensor": Role("C_flat", "F64", (p, p)), "mixed": Role("V", "F64", (p, d))}
    return [*roles, last.get(form, Role("C_lam", "F64", (d, d)))]


class Sizes:
    """n1, top2, top3, top4, e on the ball of radius r, sample by sample."""

    def __init__(self, net: Network, r: Fraction) -> None:
        c, bits = net.certificate, net.bits
        heads = [Interval.of(abs(v), bits) for v in c.v]
        first, second, third = (
            net.local_suprema(1, r),
            net.local_suprema(2, r),
            _third_suprema(net, r),
        )
        b = Fraction(1) if c.parameter is None else c.parameter
        fourth = Interval.of(
            _FOURTH[c.activation] * b ** {"softplus": 3, "sigmoid": 4}.get(c.activation, 0), bits
        )
        self.top4 = largest(heads) * fourth
        self.n1 = [
            total(((h * s).square() for h, s in zip(heads, row, strict=True)), bits).sqrt()
            for row in first
        ]
        self.top2, self.top3 = (
            [largest(h * s for h, s in zip(heads, row, strict=True)) for row in rows]
            for rows in (second, third)
        )
        norms = [Interval.of(dot(x, x), bits).sqrt() for x in c.X]
        rows = zip(net.residual, norms, self.n1, strict=True)
        self.e = [abs(res) + Interval.of(r, bits) * norm * n1 for res, norm, n1 in rows]

    def cubic(self, share: int) -> list[Interval]:
        """share n1 top2 + e top3."""
        times = Interval.of(share, self.top4.bits)
        rows = zip(self.n1, self.top2, self.e, self.top3, strict=True)
        return [times * n1 * top2 + e * top3 for n1, top2, e, top3 in rows]

    def quartic(self, squares: Fraction, share: int) -> list[Interval]:
        """squares top2^2 + (share n1 top3 + e top4)/2."""
        bits = self.top4.bits
        a, b, half = (
            Interval.of(squares, bits),
            Interval.of(Fraction(share, 2), bits),
            Interval.of(Fraction(1, 2), bits),
        )
        rows = zip(self.n1, self.top2, self.e, self.top3, strict=True)
        return [
            a * top2.square() + b * n1 * top3 + half * e * self.top4 for n1, top2, e, top3 in rows
        ]


def third_slices(net: Network, whole: bool) -> list[Matrix]:
    """T_a[b][c]: derivative of the Hessian (`whole`) or of its residual part in the parameter a."""
    c, bits = net.certificate, net.bits
    d = len(c.X[0])
    places = [(m, j) for m in range(len(c.v)) for j in range(d)]
    J, zero = jacobian(net, False), Interval.of(0, bits)
    T = [[[zero] * len(places) for _ in places] for _ in places]
    for i, x in enumerate(c.X):
        bend = [Interval.of(v, bits) * e[2] for v, e in zip(c.v, net.derivatives[i], strict=True)]
        triples = zip(c.v, net.preactivations[i], net.derivatives[i], strict=True)
        twist = [Interval.of(v, bits) * third_derivative(net, z, e) for v, z, e in triples]

        def second(p: int, q: int, x: list[Fraction] = x, bend: list[Interval] = bend) -> Interval:
            (m, a), (s, b) = places[p], places[q]
            return bend[m] * Interval.of(x[a] * x[b], bits) if m == s else zero

        for a, (m, s) in enumerate(places):
            for b, (q, t) in enumerate(places):
                for e, (o, u) in enumerate(places):
                    entry = J[i][a] * second(b, e)
                    if whole:
                        entry = entry + J[i][b] * second(a, e) + J[i][e] * second(a, b)
                    if m == q == o:
                        entry = entry + net.residual[i] * twist[m] * Interval.of(
                            x[s] * x[t] * x[u], bits
                        )
                    T[a][b][e] = T[a][b][e] + entry
    return T


def flattened(T: list[Matrix]) -> Matrix:
    """F F^T of the flattening."""
    rows = [[entry for row in slice_ for entry in row] for slice_ in T]
    return [[inner(p, q) for q in rows] for p in rows]


def inverse(A: list[list[Fraction]]) -> list[list[Fraction]]:
    """Exact inverse by elimination; UndefinedError if singular."""
    m = len(A)
    rows = [list(row) + [Fraction(int(i == j)) for j in range(m)] for i, row in enumerate(A)]
    for s in range(m):
        pivot = next((i for i in range(s, m) if rows[i][s]), None)
        if pivot is None:
            raise UndefinedError("singular")
        rows[s], rows[pivot] = rows[pivot], rows[s]
        rows[s] = [entry / rows[s][s] for entry in rows[s]]
        for i in range(m):
            if i != s:
                rows[i] = [x - rows[i][s] * y for x, y in zip(rows[i], rows[s], strict=True)]
    return [row[m:] for row in rows]


def tilt(T: list[Matrix], V: list[list[Fraction]], d: int, bits: int) -> Matrix:
    """S = (Y + sum_a T_a Y^-1 T_a)/2 with Y block diagonal, as one p x p matrix."""
    p = len(T)
    zero, half = Interval.of(0, bits), Interval.of(Fraction(1, 2), bits)
    S = [[zero] * p for _ in range(p)]
    for start in range(0, p, d):
        block = V[start : start + d]
        Y = [[dot(a, b) for b in block] for a in block]
        Z = [[Interval.of(entry, bits) for entry in row] for row in inverse(Y)]
        for a in range(d):
            for b in range(d):
                value = Interval.of(Y[a][b], bits)
                for part in T:
                    left, right = (
                        part[start + a][start : start + d],
                        [part[start + s][start + b] for s in range(d)],
                    )
                    value = value + inner(left, [inner(row, right) for row in Z])
                S[start + a][start + b] = half * value
    return S


def _combined(parts: list[tuple[Fraction, Matrix]]) -> Matrix:
    bits, p = parts[0][1][0][0].bits, len(parts[0][1])
    pairs = [(Interval.of(weight, bits), matrix) for weight, matrix in parts]
    return [
        [total((weight * matrix[i][j] for weight, matrix in pairs), bits) for j in range(p)]
        for i in range(p)
    ]


def _residual_part(net: Network) -> Matrix:
    d, k = len(net.certificate.X[0]), len(net.certificate.v)
    N = [[Interval.of(0, net.bits)] * (k * d) for _ in range(k * d)]
    for neuron in range(k):
        for a, row in enumerate(neuron_block(net, neuron)):
            N[neuron * d + a][neuron * d : (neuron + 1) * d] = row
    return N


def _signs(f: dict[str, Any]) -> bool:
    positive = [f[key] for key in ("r", "mu", "eta", "m0", "M0", "lam", "flat2", "tau") if key in f]
    positive += [f[key]["kappa"] for key in ("quartic", "square") if key in f]
    return (
        all(x > 0 for x in positive)
        and f["r_minus"] >= 0
        and 0 <= f["rate"] < 1
        and f.get("tau", Fraction(0)) < 1
    )


def _scalars(net: Network, f: dict[str, Any]) -> Iterator[Check]:
    bits, tau = net.bits, f.get("tau")
    zero, kappa = Fraction(0), f["quartic"]["kappa"]
    a = {"tensor": f.get("flat2"), "mixed": zero}.get(f["form"], f.get("lam", zero) * kappa)
    b = {
        "plain": zero,
        "split": (1 / tau - 1) * f["square"]["kappa"] if "square" in f else zero,
    }.get(f["form"], kappa)
    above = b if tau is None else b * (1 + tau) / (1 - tau)
    root, r, s = Interval.of(a, bits).sqrt(), f["r"], f["r_minus"]
    number = lambda value: Interval.of(value, bits)  # noqa: E731
    yield "modulus", at_most(number(f["mu"]) + root * number(r), number(f["m0"] - b * r * r))
    yield "upper bound", at_most(number(f["M0"] + above * r * r) + root * number(r), number(f["M"]))
    g = gradient(net, False)
    room = number(f["m0"] * s - b * s**3 / 3) - root * number(s * s / 2)
    yield "gradient", at_most(inner(g, g).sqrt(), room)
    yield "2 r_minus <= r", 2 * s <= r
    yield "step", f["eta"] * (f["mu"] + f["M"]) <= 2
    yield "rate", 1 - f["eta"] * f["mu"] <= f["rate"]


def unique_checks(net: Network, claim: Claim, judge: Witnessed) -> Iterator[Check]:
    """Section 5.16."""
    c, f, form, C = net.certificate, claim.fields, claim.fields["form"], claim.tensors
    yield "smooth activation", c.activation in SMOOTH
    yield "signs", _signs(f)
    yield from loss_checks(net, claim)
    yield from _scalars(net, f)
    sizes, tau, d = Sizes(net, f["r"]), f.get("tau", Fraction(0)), len(c.X[0])
    H, N = hessian(net, False), _residual_part(net)
    low, high = [(1 - tau, H), (tau, N)], [(1 + tau, H), (-tau, N)]
    if form == "mixed":
        S = tilt(third_slices(net, False), C["V"].rows(), d, net.bits)
        low, high = [*low, (-f["r"], S)], [*high, (f["r"], S)]
    yield "m0", judge.definite(shifted(_combined(low), -f["m0"]), C["C_m"].rows())
    yield "M0", judge.definite(shifted(_combined(high), f["M0"], sign=-1), C["C_M"].rows())
    if form in ("plain", "split"):
        q = sizes.cubic(3 if form == "plain" else 1)
        yield (
            "lam",
            judge.definite(shifted(weighted_gram(c.X, q), f["lam"], sign=-1), C["C_lam"].rows()),
        )
    else:
        q = (
            sizes.quartic(Fraction(3, 2), 4)
            if form == "tensor"
            else sizes.quartic(1 / tau - Fraction(1, 2), 2)
        )
    yield "kappa", judge.quartic(net, q, claim)
    if form == "tensor":
        yield (
            "flat2",
            judge.definite(
                shifted(flattened(third_slices(net, True)), f["flat2"], sign=-1), C["C_flat"].rows()
            ),
        )
    if form == "split":
        squares = Claim(claim.kind, {"quartic": f["square"]}, {"C_kappa": C["C_square"]})
        yield "square", judge.quartic(net, [top.square() for top in sizes.top2], squares)


GRAMMAR = Grammar(
    "local-convexity/1",
    rationals(*NUMBERS) | {"form": one_of(*EXTRA), "quartic": quartic},
    rationals("lam", "tau", "flat2") | {"square": quartic},
    _roles,
)

"""Section 5.19 of spec/certificate-v1.md: signs and matrices of theorem RL on exact rationals, its
linear run and norms on rational intervals, pair by pair.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from tests.oracles.claim_grammar import Fields, Grammar, Role, Sizes, require
from tests.oracles.fraction_claims import Check, Witnessed
from tests.oracles.fraction_intervals import (
    Interval,
    UndefinedError,
    at_most,
    larger,
    largest,
    smaller,
    total,
)
from tests.oracles.fraction_network import Network, dot
from tests.oracles.fraction_relu_descent import GRAMMAR as RELU_DESCENT
from tests.oracles.fraction_relu_descent import (
    Matrix,
    Pattern,
    bracket_of,
    number_checks,
    spectrum_checks,
)
from tests.oracles.strict_container import Certificate, Claim

LONGEST = 200  # steps of a linear run that the slow checker follows


def _steps(value: Any) -> int:
    require(type(value) is int and value >= 1, "steps is not a positive integer")
    return value


def _roles(fields: Fields, sizes: Sizes) -> list[Role]:
    return [*RELU_DESCENT.roles(fields, sizes), Role("U", "I64", (None,))]


GRAMMAR = Grammar("relu-linearized-path/1", RELU_DESCENT.fields | {"steps": _steps}, {}, _roles)


def read_pairs(certificate: Certificate, claim: Claim) -> list[int]:
    """U, strictly increasing within its range; anything else is malformed."""
    pairs = claim.tensors["U"].integers()
    last = len(certificate.y) * len(certificate.v)
    require(not pairs or (pairs[0] >= 0 and pairs[-1] < last), "U has a pair out of range")
    require(all(a < b for a, b in pairwise(pairs)), "U is not increasing")
    return pairs


@dataclass(frozen=True)
class Run:
    """The partial sums V_1..V_N, nu, T0 and w of the linear run."""

    sums: list[list[Interval]]
    rest: Interval
    length: Interval
    columns: list[Interval]


def _norm(values: list[Interval]) -> Interval:
    return total((x.square() for x in values), values[0].bits).sqrt()


def linear_run(H: Matrix, r: list[Fraction], f: Fields, bits: int) -> Run:
    """r0_k by r0_{k+1} = r0_k - eta H r0_k; H V_k = r - r0_k is not used."""
    if f["steps"] > LONGEST:
        raise UndefinedError(f"a linear run of {f['steps']} steps")
    eta, n = Interval.of(f["eta"], bits), len(r)
    A = [[Interval.of(f["eta"] * entry, bits) for entry in row] for row in H]
    run = [[Interval.of(x, bits) for x in r]]
    for _ in range(f["steps"]):
        last = run[-1]
        run.append(
            [
                last[i] - total((a * x for a, x in zip(A[i], last, strict=True)), bits)
                for i in range(n)
            ]
        )
    rest = _norm(run[-1]) / Interval.of(f["lam"], bits)
    sums = [
        [eta * total((run[j][i] for j in range(k)), bits) for i in range(n)]
        for k in range(1, f["steps"] + 1)
    ]
    columns = [eta * total((abs(row[i]) for row in run[:-1]), bits) + rest for i in range(n)]
    return Run(sums, rest, eta * total(map(_norm, run[:-1]), bits) + rest, columns)


def patterns_of(net: Network, pairs: set[int]) -> tuple[Pattern, Pattern]:
    """PA and S, one row per neuron."""
    k = len(net.certificate.v)
    possible, sure = [], []
    for neuron in range(k):
        z = [row[neuron] for row in net.preactivations]
        inside = [i * k + neuron in pairs for i in range(len(z))]
        possible.append([u or x > 0 for u, x in zip(inside, z, strict=True)])
        sure.append([not u and x > 0 for u, x in zip(inside, z, strict=True)])
    return possible, sure


def _moves(row: list[Fraction], on: list[bool], safe: list[bool], run: Run, bits: int) -> Interval:
    """max_k |sum_j K_ij c0_lj V_kj| + (1/2) sum over U of |K_ij| w_j for one pair."""
    weights = [k * (a + b) / 2 for k, a, b in zip(row, on, safe, strict=True)]
    top = Interval.of(0, bits)
    for V in run.sums:
        moved = total((Interval.of(w, bits) * x for w, x in zip(weights, V, strict=True)), bits)
        top = larger(top, abs(moved))
    loose = [abs(k) / 2 if a != b else Fraction(0) for k, a, b in zip(row, on, safe, strict=True)]
    return top + total(
        (Interval.of(w, bits) * x for w, x in zip(loose, run.columns, strict=True)), bits
    )


def excesses(
    net: Network,
    f: Fields,
    sets: tuple[Pattern, Pattern],
    run: Run,
    rooms: list[Interval] | None = None,
) -> Iterator[Interval]:
    """s_li - |z_li| outside U, or s_li + room_i - |z_li|."""
    c, bits = net.certificate, net.bits
    drift = run.rest + Interval.of(f["eps"] * f["tau"] / f["lam"], bits)
    for neuron, (on, safe, v) in enumerate(zip(*sets, c.v, strict=True)):
        for i, x in enumerate(c.X):
            if on[i] != safe[i]:
                continue
            row = [dot(x, other) for other in c.X]
            square = sum((k * k for k, a in zip(row, on, strict=True) if a), Fraction(0))
            reach = Interval.of(square, bits).sqrt()
            second = _moves(row, on, safe, run, bits) + reach * drift
            least = smaller(reach * Interval.of(f["tau"], bits), second)
            z = abs(net.preactivations[i][neuron])
            excess = Interval.of(abs(v), bits) * least - Interval.of(z, bits)
            yield excess if rooms is None else excess + rooms[i]


def relu_linearized_checks(net: Network, claim: Claim, judge: Witnessed) -> Iterator[Check]:
    """Theorem RL."""
    c, f, bits = net.certificate, claim.fields, net.bits
    yield from number_checks(net, claim, judge)
    sets = patterns_of(net, set(claim.tensors["U"].integers()))
    H, E = bracket_of(net, *sets)
    r = net.exact_residual(c.W) or []
    run = linear_run(H, r, f, bits)
    size = Interval.of(dot(r, r), bits).sqrt()
    least = smaller(size, run.length * Interval.of(f["lam"], bits))
    reach = Interval.of((f["lam"] - f["eps"]) * f["tau"], bits)
    yield "tau", at_most(least, reach)
    yield from spectrum_checks(claim, judge, H, E)
    worst = largest([Interval.of(-1, bits), *excesses(net, f, sets, run)])
    yield "margins", judge.strictly(worst, Interval.of(0, bits))

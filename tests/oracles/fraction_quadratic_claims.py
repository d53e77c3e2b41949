"""The claims of quadratic networks on exact rationals: f(x) = x^T B x, and everything but sqrt 2
and norms is rational.

Written from the theorems of sections 5 and 8 to 10 of the theory page, not from the fast checker:
ranks by elimination over the rationals, the least-squares matrix by an exact solve, definiteness of
svec matrices without sqrt 2 by a congruence.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise

from tests.oracles.claim_grammar import require
from tests.oracles.definiteness import is_semidefinite, witnessed, witnessed_exactly
from tests.oracles.fraction_claims import Check, Truth, Witnessed, loss_checks
from tests.oracles.fraction_intervals import Interval, at_most, larger, less, total
from tests.oracles.fraction_network import Network, dot
from tests.oracles.strict_container import Certificate, Claim

Matrix = list[list[Fraction]]
ZERO = Fraction(0)


def outer_sum(X: Sequence[Sequence[Fraction]], weights: Sequence[Fraction]) -> Matrix:
    """sum_i weights_i x_i x_i^T."""
    d = len(X[0])
    return [
        [sum((w * x[a] * x[b] for w, x in zip(weights, X, strict=True)), ZERO) for b in range(d)]
        for a in range(d)
    ]


def quadratic_form(M: Matrix, x: Sequence[Fraction]) -> Fraction:
    """x^T M x."""
    return sum((x[a] * M[a][b] * x[b] for a in range(len(x)) for b in range(len(x))), ZERO)


def moved(A: Matrix, sign: int, shift: Fraction) -> Matrix:
    """sign A + shift I."""
    return [
        [sign * entry + (shift if i == j else 0) for j, entry in enumerate(row)]
        for i, row in enumerate(A)
    ]


def svec_pairs(d: int) -> list[tuple[int, int]]:
    """Positions of svec."""
    return [(a, b) for a in range(d) for b in range(a, d)]


def monomials(X: Matrix) -> Matrix:
    """Rows x_a x_b, a <= b, without sqrt 2."""
    return [[x[a] * x[b] for a, b in svec_pairs(len(x))] for x in X]


def rank(rows: Matrix) -> int:
    """Rank over the rationals, by elimination."""
    rest = [list(row) for row in rows]
    found = 0
    for column in range(len(rest[0])):
        place = next((i for i in range(found, len(rest)) if rest[i][column]), None)
        if place is None:
            continue
        rest[found], rest[place] = rest[place], rest[found]
        for i in range(found + 1, len(rest)):
            multiple = rest[i][column] / rest[found][column]
            if multiple:
                rest[i] = [p - multiple * q for p, q in zip(rest[i], rest[found], strict=True)]
        found += 1
    return found


def solve(A: Matrix, b: Sequence[Fraction]) -> list[Fraction]:
    """The solution of a regular system."""
    m = len(A)
    rest = [[*row, right] for row, right in zip(A, b, strict=True)]
    for s in range(m):
        place = next(i for i in range(s, m) if rest[i][s])
        rest[s], rest[place] = rest[place], rest[s]
        rest[s] = [entry / rest[s][s] for entry in rest[s]]
        for i in range(m):
            if i != s and rest[i][s]:
                rest[i] = [p - rest[i][s] * q for p, q in zip(rest[i], rest[s], strict=True)]
    return [row[m] for row in rest]


def gram_without_roots(X: Matrix) -> tuple[Matrix, list[Fraction]]:
    """G0 = S0^T S0 for plain monomials and e with A^T A = D G0 D, D^2 = 1/e: A^T A >= mu I exactly
    if G0 >= mu diag(e).
    """
    S = monomials(X)
    N = len(S[0])
    G = [[sum((row[i] * row[j] for row in S), ZERO) for j in range(N)] for i in range(N)]
    return G, [Fraction(1) if a == b else Fraction(1, 2) for a, b in svec_pairs(len(X[0]))]


def svec_gram(X: Matrix, bits: int) -> list[list[Interval]]:
    """A^T A with sqrt 2, enclosed."""
    G, e = gram_without_roots(X)
    root = Interval.of(2, bits).sqrt()
    factors = {
        Fraction(1): Interval.of(1, bits),
        Fraction(1, 2): root,
        Fraction(1, 4): Interval.of(2, bits),
    }
    return [
        [Interval.of(entry, bits) * factors[e[i] * e[j]] for j, entry in enumerate(row)]
        for i, row in enumerate(G)
    ]


def span_bound(
    net: Network, claim: Claim, judge: Witnessed, *, value: Fraction, role: str, sign: int = 1
) -> bool | None:
    """sign (A^T A - value I) > 0, by the witness or, without it and without roots, exactly."""
    X, bits = net.certificate.X, net.bits
    if isinstance(judge, Truth):
        G, e = gram_without_roots(X)
        return is_semidefinite(
            [
                [sign * (entry - (value * e[i] if i == j else 0)) for j, entry in enumerate(row)]
                for i, row in enumerate(G)
            ]
        )
    shift = Interval.of(value, bits)
    A = [
        [entry - shift if i == j else entry for j, entry in enumerate(row)]
        for i, row in enumerate(svec_gram(X, bits))
    ]
    return witnessed(
        [[entry if sign > 0 else -entry for entry in row] for row in A], claim.tensors[role].rows()
    )


def positive(judge: Witnessed, A: Matrix, claim: Claim, role: str) -> bool:
    """P1 on a rational matrix."""
    return (
        is_semidefinite(A)
        if isinstance(judge, Truth)
        else witnessed_exactly(A, claim.tensors[role].rows())
    )


def _residual(certificate: Certificate) -> list[Fraction]:
    B = outer_sum(certificate.W, certificate.v)
    return [quadratic_form(B, x) - y for x, y in zip(certificate.X, certificate.y, strict=True)]


def _norm(square: Fraction, bits: int) -> Interval:
    return Interval.of(square, bits).sqrt()


def _frobenius2(M: Matrix) -> Fraction:
    return sum((entry * entry for row in M for entry in row), ZERO)


def gap_checks(net: Network, claim: Claim, judge: Witnessed) -> Iterator[Check]:
    """Theorems P, S and D."""
    c, f = net.certificate, claim.fields
    yield "quadratic", c.activation == "quadratic"
    yield "gap >= 0", f["gap"] >= 0
    yield from loss_checks(net, claim)
    if f["method"] == "span":
        yield "mu > 0", f["mu"] > 0
        yield "mu", span_bound(net, claim, judge, value=f["mu"], role="C")
        yield "gap", _span_gap(net, claim, judge)
        return
    decay, v_max = f.get("decay", ZERO), f.get("v_max", Fraction(1))
    if f["method"] == "decay":
        yield "decay > 0 and v_max > 0", decay > 0 and v_max > 0
        yield "v_max", all(abs(v) <= v_max for v in c.v)
    if f["heads"] != "any":
        yield "heads", all((v if f["heads"] == "nonnegative" else -v) >= 0 for v in c.v)
    u = claim.tensors["lambda" if f["method"] == "positive" else "u"].numbers()
    r = _residual(c)
    objective = (dot(r, r) + decay * sum((w * w for row in c.W for w in row), ZERO)) / 2
    yield "gap", objective <= f["gap"] - dot(u, c.y) - dot(u, u) / 2
    yield from _definite_checks(c, claim, judge, outer_sum(c.X, u))


def _definite_checks(c: Certificate, claim: Claim, judge: Witnessed, Z: Matrix) -> Iterator[Check]:
    f = claim.fields
    if f["method"] == "decay":
        shift = f["decay"] / (2 * f["v_max"])
        if f["heads"] != "nonpositive":
            yield "Z >= -c", positive(judge, moved(Z, 1, shift), claim, "C_lower")
        if f["heads"] != "nonnegative":
            yield "Z <= c", positive(judge, moved(Z, -1, shift), claim, "C_upper")
        return
    signed = moved(Z, 1 if f["heads"] == "nonnegative" else -1, ZERO)
    if "rank" in f:
        chosen = claim.tensors["rows"].integers()
        Y = [c.X[i] for i in chosen]
        yield "rank", rank(c.X) == rank(Y) == f["rank"]
        signed = [[dot(p, [dot(row, q) for row in signed]) for q in Y] for p in Y]
    yield "Z", positive(judge, signed, claim, "C")


def read_rows(certificate: Certificate, claim: Claim) -> None:
    """Form of the index set of a rank-deficient theorem P."""
    if "rank" in claim.fields:
        chosen = claim.tensors["rows"].integers()
        require(all(0 <= i < len(certificate.y) for i in chosen), "row out of range")
        require(all(a < b for a, b in pairwise(chosen)), "rows not strictly increasing")


def _span_gap(net: Network, claim: Claim, judge: Witnessed) -> bool | None:
    """Half the square of the projection of r on the range of A, exactly; or its upper bound through
    z.
    """
    c, f, bits = net.certificate, claim.fields, net.bits
    r, S = _residual(c), monomials(c.X)
    if isinstance(judge, Truth):
        G, _ = gram_without_roots(c.X)
        if rank(G) < len(G):
            return False
        right = [
            sum((row[j] * entry for row, entry in zip(S, r, strict=True)), ZERO)
            for j in range(len(G))
        ]
        return dot(right, solve(G, right)) / 2 <= f["gap"]
    root = Interval.of(2, bits).sqrt()
    scale = [Interval.of(1, bits) if a == b else root for a, b in svec_pairs(len(c.X[0]))]
    z = [Interval.of(entry, bits) for entry in claim.tensors["z"].numbers()]
    rows = [
        [Interval.of(entry, bits) * s for entry, s in zip(row, scale, strict=True)] for row in S
    ]
    fit = [total((a * b for a, b in zip(row, z, strict=True)), bits) for row in rows]
    rest = [Interval.of(entry, bits) - g for entry, g in zip(r, fit, strict=True)]
    back = [
        total((row[j] * g for row, g in zip(rows, rest, strict=True)), bits)
        for j in range(len(scale))
    ]
    size = total((g.square() for g in fit), bits).sqrt()
    size = size + total((g.square() for g in back), bits).sqrt() / Interval.of(f["mu"], bits).sqrt()
    return at_most(size.square(), Interval.of(2 * f["gap"], bits))


def identifies_checks(net: Network, claim: Claim, judge: Witnessed) -> Iterator[Check]:
    """Section 8: the rank over the rationals."""
    c = net.certificate
    yield "quadratic", c.activation == "quadratic"
    yield from loss_checks(net, claim)
    S = monomials(c.X)
    yield "rank", rank(S) == len(S[0])
    if "mu" in claim.fields:
        yield "mu > 0", claim.fields["mu"] > 0
        yield "mu", span_bound(net, claim, judge, value=claim.fields["mu"], role="C")


def ambiguous_checks(net: Network, claim: Claim, judge: Witnessed) -> Iterator[Check]:
    """Section 9: rank deficiency, the least eigenvalue of the network's matrix, the constant of
    Lemma Q.
    """
    c, f = net.certificate, claim.fields
    d = len(c.X[0])
    yield "quadratic", c.activation == "quadratic"
    yield from loss_checks(net, claim)
    yield "heads", all(v >= 0 for v in c.v)
    yield "positive numbers", f["sigma2"] > 0 and f["difference"] > 0
    yield "difference", f["difference"] * (d + 1) <= 2 * (d + 2) * f["sigma2"] ** 2
    if "M" in claim.tensors and not isinstance(judge, Truth):
        M = claim.tensors["M"].rows()
        yield "M symmetric", all(M[a][b] == M[b][a] for a, b in svec_pairs(d)) and any(map(any, M))
        yield "M vanishes", all(quadratic_form(M, x) == 0 for x in c.X)
    yield "rank", rank(monomials(c.X)) < d * (d + 1) // 2
    yield "sigma2", positive(judge, moved(outer_sum(c.W, c.v), 1, -f["sigma2"]), claim, "C")


def least_squares_matrix(c: Certificate) -> Matrix:
    """The symmetric A that minimizes sum (x^T A x - y)^2, exactly; the samples must identify it."""
    S, d = monomials(c.X), len(c.X[0])
    G, _ = gram_without_roots(c.X)
    right = [sum((row[j] * y for row, y in zip(S, c.y, strict=True)), ZERO) for j in range(len(G))]
    solution = dict(zip(svec_pairs(d), solve(G, right), strict=True))
    return [
        [solution[min(a, b), max(a, b)] / (1 if a == b else 2) for b in range(d)] for a in range(d)
    ]


def barrier_checks(net: Network, claim: Claim, judge: Witnessed) -> Iterator[Check]:
    """Section 10, data version."""
    c, f, bits = net.certificate, claim.fields, net.bits
    d = len(c.X[0])
    yield "quadratic", c.activation == "quadratic"
    yield from loss_checks(net, claim)
    yield "heads", all(v > 0 for v in c.v)
    yield (
        "signs",
        f["phi"] > 0 and f["Phi"] > 0 and f["E0"] >= 0 and f["eta"] > 0 and 0 <= f["rate"] < 1,
    )
    A_hat = claim.tensors["A_hat"].rows()
    yield "A_hat symmetric", all(A_hat[a][b] == A_hat[b][a] for a, b in svec_pairs(d))
    yield "phi", span_bound(net, claim, judge, value=f["phi"], role="C_phi")
    yield "Phi", _largest_bound(net, claim, judge)
    yield from _minimizer_checks(net, claim, judge, A_hat)
    phi, Phi, E0, eta = (Interval.of(f[name], bits) for name in ("phi", "Phi", "E0", "eta"))
    two, four = Interval.of(2, bits), Interval.of(4, bits)
    tau = (two * E0 / phi).sqrt()
    yield "s2 > 0", less(tau, Interval.of(f["a_lo"], bits))
    s2 = Interval.of(f["a_lo"], bits) - tau
    lip = four * Phi * (Interval.of(f["a_hi"], bits) + tau) + two * (two * Phi * E0).sqrt()
    yield "eta", at_most(eta * Interval.of(max(c.v), bits) * lip, Interval.of(1, bits))
    factor = four * eta * phi * Interval.of(min(c.v), bits) * s2
    yield "rate", at_most(Interval.of(1 - f["rate"], bits), factor)


def _largest_bound(net: Network, claim: Claim, judge: Witnessed) -> bool | None:
    if isinstance(judge, Truth) or claim.fields["norm"] == "factor":
        return span_bound(net, claim, judge, value=claim.fields["Phi"], role="C_Phi", sign=-1)
    sums = [total(map(abs, row), net.bits) for row in svec_gram(net.certificate.X, net.bits)]
    largest = sums[0]
    for entry in sums[1:]:
        largest = larger(largest, entry)
    return at_most(largest, Interval.of(claim.fields["Phi"], net.bits))


def _minimizer_checks(
    net: Network, claim: Claim, judge: Witnessed, A_hat: Matrix
) -> Iterator[Check]:
    """Eigenvalues of the least-squares matrix and E at the stored weights; exact for Truth, through
    A_hat otherwise.
    """
    c, f, bits = net.certificate, claim.fields, net.bits
    r = _residual(c)
    if isinstance(judge, Truth):
        A = least_squares_matrix(c)
        yield "a_lo", is_semidefinite(moved(A, 1, -f["a_lo"]))
        yield "a_hi", is_semidefinite(moved(A, -1, f["a_hi"]))
        best = [quadratic_form(A, x) - y for x, y in zip(c.X, c.y, strict=True)]
        yield "E0", dot(r, r) - dot(best, best) <= 2 * f["E0"]
        return
    q = [quadratic_form(A_hat, x) - y for x, y in zip(c.X, c.y, strict=True)]
    G = _norm(_frobenius2(outer_sum(c.X, q)), bits)
    error = G / Interval.of(f["phi"], bits)
    rows = [[Interval.of(entry, bits) for entry in row] for row in A_hat]
    low, high = Interval.of(f["a_lo"], bits) + error, Interval.of(f["a_hi"], bits) - error
    below = [
        [entry - low if i == j else entry for j, entry in enumerate(row)]
        for i, row in enumerate(rows)
    ]
    above = [
        [high - entry if i == j else -entry for j, entry in enumerate(row)]
        for i, row in enumerate(rows)
    ]
    yield "a_lo", witnessed(below, claim.tensors["C_lo"].rows())
    yield "a_hi", witnessed(above, claim.tensors["C_hi"].rows())
    away = [a - b for a, b in zip(r, q, strict=True)]
    size = _norm(dot(away, away), bits) + G / Interval.of(f["phi"], bits).sqrt()
    yield "E0", at_most(size.square(), Interval.of(2 * f["E0"], bits))

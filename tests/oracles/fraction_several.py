"""Several outputs of spec/claims/dual-gap.md by the slow road: one sample and one output at a time
in fractions, and H_g(U) <= b by polynomials instead of Lemma C.

On an arc between neighboring kinks w = (1 - s) p + s q, 0 <= s <= 1, reaches every direction, and
b^2 |w|^2 - |Sw|^2 is a polynomial of degree two in s: its ends and its vertex decide.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise

from tests.oracles.claim_grammar import Fields
from tests.oracles.fraction_dual import conjugate, dot, exponential, logarithm, loss
from tests.oracles.fraction_intervals import Interval, at_most, total
from tests.oracles.regularized_grammar import Matrix, RegularizedFile, Row
from tests.oracles.strict_container import Tensor

Check = tuple[str, bool | None]
ZERO = Fraction(0)


def rows_of(flat: Row, c: int) -> Matrix:
    """A flat list cut into rows."""
    return [flat[i : i + c] for i in range(0, len(flat), c)]


def outputs(file: RegularizedFile) -> Matrix:
    """The f_i."""
    heads, result = rows_of(file.v, file.c), []
    for row in file.X:
        f = list(file.intercepts)
        for w, beta, v in zip(file.W, file.bias, heads, strict=True):
            z = max(dot(w, row) + file.tau * beta, ZERO)
            f = [a + z * b for a, b in zip(f, v, strict=True)]
        result.append(f)
    return result


def _loss(file: RegularizedFile, i: int, f: Row, bits: int) -> Interval:
    if file.loss == "softmax":
        own = f[int(file.y[i])]
        terms = total([exponential(t - own, bits) for t in f], bits)
        return _log(terms, bits)  # at least log 1: one of the terms is e^0
    labels = rows_of(file.y, file.c)[i]
    return total([loss("squared", ZERO, a, b, bits) for a, b in zip(f, labels, strict=True)], bits)


def _log(x: Interval, bits: int) -> Interval:
    return Interval.between(logarithm(x.lower, bits), logarithm(x.upper, bits))


def objective(file: RegularizedFile, bits: int) -> Interval:
    """P of the stored network."""
    terms = [
        Interval.of(om, bits) * _loss(file, i, f, bits)
        for i, (f, om) in enumerate(zip(outputs(file), file.om, strict=True))
        if om
    ]
    weights = [x for row in file.W for x in row] + file.v
    weights += file.bias if file.network["hidden_bias"] == "penalized" else []
    penalty = file.network["b"] / 2 * dot(weights, weights)
    penalty += file.network.get("k0", ZERO) / 2 * dot(file.intercepts, file.intercepts)
    return total([*terms, Interval.of(penalty, bits)], bits)


def _simplex(file: RegularizedFile, i: int, row: Row) -> Row:
    """Q = U_i/om_i + e_y."""
    y = int(file.y[i])
    return [x / file.om[i] + (1 if k == y else 0) for k, x in enumerate(row)]


def in_domain(file: RegularizedFile, U: Matrix) -> bool:
    """Whether every row is in the domain of its conjugate."""
    for i, row in enumerate(U):
        if not file.om[i]:
            if any(row):
                return False
        elif file.loss == "softmax":
            q = _simplex(file, i, row)
            if sum(q) != 1 or any(x < 0 for x in q):
                return False
    return True


def dual_value(file: RegularizedFile, U: Matrix, bits: int) -> Interval:
    """D(U), for rows in the domain."""
    terms = []
    for i, row in enumerate(U):
        om = file.om[i]
        if not om:
            continue
        if file.loss == "softmax":
            q = [x for x in _simplex(file, i, row) if x]
            parts = [Interval.of(x, bits) * logarithm(x, bits) for x in q]
        else:
            labels = rows_of(file.y, file.c)[i]
            parts = [
                conjugate("squared", x / om, y, bits) for x, y in zip(row, labels, strict=True)
            ]
        terms.append(-(Interval.of(om, bits) * total(parts, bits)))
    price = ZERO
    if "k0" in file.network:
        sums = column_sums(U)
        price = dot(sums, sums) / (2 * file.network["k0"])
    return total([*terms, Interval.of(-price, bits)], bits)


def column_sums(U: Matrix) -> Row:
    """sum_i U_i."""
    return [sum(column, ZERO) for column in zip(*U, strict=True)]


def stored_matrix(file: RegularizedFile, fields: Fields, found: dict[str, Tensor]) -> Matrix:
    """U, the sum of its parts."""
    flat = found["u"].numbers()
    size = len(file.X) * file.c
    if fields["parts"] == 2:
        flat = [a + b for a, b in zip(flat[:size], flat[size:], strict=True)]
    return rows_of(flat, file.c)


def _weighted(U: Matrix, factors: Sequence[Fraction]) -> Row:
    """sum_i factor_i U_i."""
    parts = [[f * x for x in row] for f, row in zip(factors, U, strict=True)]
    return column_sums(parts)


def column_holds(file: RegularizedFile, column: int, U: Matrix) -> bool:
    """H_g(U) <= b for one column."""
    values, b, tau = [row[column] for row in file.X], file.network["b"], file.tau
    if file.network["hidden_bias"] != "penalized":
        origins = set(values) if file.network["hidden_bias"] == "free" else {ZERO}
        sums = (
            _weighted(U, [max(ZERO, half * (x - o)) for x in values])
            for o in origins
            for half in (1, -1)
        )
        return all(dot(s, s) <= b * b for s in sums)
    for half in (1, -1):
        kinks = sorted({-half * z for z in values})
        rays = [(ZERO, Fraction(-1)), *((half * tau, k) for k in kinks), (ZERO, Fraction(1))]
        for p, q in pairwise(rays):
            middle = (p[0] + q[0], p[1] + q[1])
            active = [Fraction(int(x * middle[0] + tau * middle[1] > 0)) for x in values]
            first = _weighted(U, [a * x for a, x in zip(active, values, strict=True)])
            second = _weighted(U, [a * tau for a in active])
            if not _arc_holds(p, q, (first, second), b):
                return False
    return True


def _arc_holds(
    p: Sequence[Fraction], q: Sequence[Fraction], S: tuple[Row, Row], b: Fraction
) -> bool:
    """Whether b^2|w|^2 - |Sw|^2 >= 0 on the segment from p to q, S given by its two columns."""

    def room(s: Fraction) -> Fraction:
        w = [(1 - s) * x + s * y for x, y in zip(p, q, strict=True)]
        Sw = [w[0] * x + w[1] * y for x, y in zip(*S, strict=True)]
        return b * b * dot(w, w) - dot(Sw, Sw)

    start, half, end = room(ZERO), room(Fraction(1, 2)), room(Fraction(1))
    bend = 2 * (start + end - 2 * half)  # the coefficient of s^2
    slope = end - start - bend
    if min(start, end) < 0:
        return False
    if bend > 0 and 0 < -slope < 2 * bend:
        return room(-slope / (2 * bend)) >= 0
    return True


def several_checks(
    file: RegularizedFile, fields: Fields, found: dict[str, Tensor], bits: int
) -> Iterator[Check]:
    """Y1 to Y13 for several outputs."""
    columns = {group[0] for group in file.network["groups"]}
    used = [[j for j, x in enumerate(w) if x] for w in file.W]
    yield "Y1", all(len(u) == 0 or (len(u) == 1 and u[0] in columns) for u in used)
    yield "Y2", fields["p_up"] - fields["p_low"] <= fields["gap"]
    U = stored_matrix(file, fields, found)
    inside = in_domain(file, U)
    yield "Y4", inside
    if "free" in (file.network["intercept"], file.network["hidden_bias"]):
        yield "Y5", not any(column_sums(U))
    if not inside:
        return
    yield "Y7", all(column_holds(file, column, U) for column in columns)
    p_up, p_low = (Interval.of(fields[name], bits) for name in ("p_up", "p_low"))
    yield "Y12", at_most(objective(file, bits), p_up)
    yield "Y13", at_most(p_low, dual_value(file, U, bits))

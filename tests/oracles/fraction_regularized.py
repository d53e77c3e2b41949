"""Sections 5.24 and 5.25 of spec/certificate-v1.md in exact rationals: a slow checker for files of
regularized networks.

Another road than the checker's: outputs and sums one sample at a time in fractions, H_g(u) by
enumeration instead of cones, the equations of F1 by Gauss and Jordan, P1 in rationals. The truth
oracle asks for the exact H also where the file has a spectral witness.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

from tests.oracles.claim_grammar import Fields, MalformedError
from tests.oracles.definiteness import witnessed_exactly
from tests.oracles.fraction_claims import Check
from tests.oracles.fraction_dual import (
    conjugate,
    dot,
    in_domain,
    largest_square,
    loss,
    one_column_square,
)
from tests.oracles.fraction_factorization_claims import inverse
from tests.oracles.fraction_intervals import Interval, UndefinedError, at_most, total
from tests.oracles.fraction_several import several_checks
from tests.oracles.fraction_shapes import curve_holds, shape_checks
from tests.oracles.fraction_slabs import slab_checks
from tests.oracles.regularized_grammar import (
    SMOOTH,
    Matrix,
    RegularizedFile,
    Row,
    read_regularized,
)
from tests.oracles.strict_container import Tensor

PRECISIONS = (160, 512, 1536)


def equations(file: RegularizedFile) -> Matrix:
    """The columns of A: ones and the columns of X, where a part is free."""
    network, n = file.network, len(file.X)
    free = "free" in (network["intercept"], network["hidden_bias"])
    ones = [[Fraction(1)] * n] if free else []
    linear = [list(column) for column in zip(*file.X, strict=True)]
    return ones + (linear if network["linear"] == "free" else [])


def repaired(file: RegularizedFile, u: Row, rows: list[int]) -> Row | None:
    """U - delta on the rows, A_I^T delta = A^T u on the first columns that are independent there;
    None if there are too few.
    """
    chosen: list[Row] = []
    for column in equations(file):
        trial = [*chosen, column]
        inner = [[c[i] for i in rows] for c in trial]
        gram = [[dot(p, q) for q in inner] for p in inner]
        if len(chosen) < len(rows) and inverse(gram) is not None:
            chosen = trial
    if len(chosen) < len(rows):
        return None
    inner = inverse([[c[i] for i in rows] for c in chosen])
    assert inner is not None
    e = [dot(c, u) for c in chosen]
    delta = [dot(row, e) for row in inner]
    result = list(u)
    for i, change in zip(rows, delta, strict=True):
        result[i] -= change
    return result


def objective(file: RegularizedFile, bits: int) -> Interval:
    """P of the stored network."""
    network = file.network
    triples = zip(file.outputs(), file.y, file.om, strict=True)
    terms = [
        Interval.of(om, bits) * loss(file.loss, file.parameter, f, y, bits)
        for f, y, om in triples
        if om
    ]
    weights = [x for row in file.W for x in row]
    weights += file.bias if network["hidden_bias"] == "penalized" else []
    weights += file.v if network["neurons"] == "relu" else []
    penalty = network["b"] / 2 * dot(weights, weights)
    penalty += network.get("k0", 0) / Fraction(2) * file.intercept**2
    penalty += network.get("k1", 0) / Fraction(2) * dot(file.linear, file.linear)
    return total([*terms, Interval.of(penalty, bits)], bits)


def dual_value(file: RegularizedFile, u: Row, bits: int) -> Interval:
    """D(u)."""
    terms = [
        -(Interval.of(om, bits) * conjugate(file.loss, x / om, y, bits))
        for x, y, om in zip(u, file.y, file.om, strict=True)
        if om
    ]
    price = Fraction(0)
    if "k0" in file.network:
        price += sum(u, Fraction(0)) ** 2 / (2 * file.network["k0"])
    if "k1" in file.network:
        moments = [dot(column, u) for column in zip(*file.X, strict=True)]
        price += dot(moments, moments) / (2 * file.network["k1"])
    return total([*terms, Interval.of(-price, bits)], bits)


def group_holds(file: RegularizedFile, group: Sequence[int], u: Row, bound: Fraction) -> bool:
    """H_g(u) <= bound with the signs of the class, by enumeration."""
    network, rows = file.network, file.group_rows(group)
    heads = (1,) if network["heads"] == "nonnegative" else (1, -1)
    if network["hidden_bias"] == "free":
        origins = [list(row) for row in {tuple(row) for row in rows}]
        shifted = [[[a - b for a, b in zip(r, o, strict=True)] for r in rows] for o in origins]
    else:
        shifted = [rows]
    if len(group) > 1:
        return all(
            largest_square(part, [-v * x for x in u]) <= bound**2 for part in shifted for v in heads
        )
    slope = network["monotone"][group[0]] if "monotone" in network else 0
    tests = [(half, v) for half in (1, -1) for v in heads if slope * half * v >= 0]
    if network["hidden_bias"] == "penalized":
        column = [row[0] for row in rows]
        return all(
            one_column_square(column, file.tau, u, half, -v) <= bound**2 for half, v in tests
        )
    zero = Fraction(0)
    return all(
        -v * sum((x * max(zero, half * row[0]) for x, row in zip(u, part, strict=True)), zero)
        <= bound
        for part in shifted
        for half, v in tests
    )


def _spectral(
    file: RegularizedFile, fields: Fields, found: dict[str, Tensor], u: Row
) -> Iterator[Check]:
    """Y9 and Y10, one sign after the other."""
    rows = file.group_rows(file.network["groups"][0])
    size, half = len(rows[0]), Fraction(1, 2)
    rho, sig, al, be = (found[name].numbers() for name in ("rho", "sig", "al", "be"))
    for sign in (1, -1):
        name = "plus" if sign > 0 else "minus"
        if f"C_{name}" not in found:
            continue
        Q = [[Fraction(0)] * size for _ in rows[0]]
        c, k = [Fraction(0)] * size, Fraction(0)
        for i, x in enumerate(rows):
            value = sign * u[i]
            if value > 0:
                yield "Y9", rho[i] > 0 and 4 * sig[i] * rho[i] >= 1
                curve, slant = value * rho[i] / 2, value * half
                k += value * sig[i] / 2
            elif value < 0:
                room = min(al[i], 1 - al[i])
                yield "Y9", room >= 0 and be[i] >= 0 and be[i] ** 2 * dot(x, x) <= room**2
                curve, slant = value * be[i], value * al[i]
            else:
                continue
            for p in range(size):
                c[p] += slant * x[p]
                for q in range(size):
                    Q[p][q] += curve * x[p] * x[q]
        gamma = fields[f"gamma_{name}"]
        matrix = [
            [gamma * int(p == q) - Q[p][q] for q in range(size)] + [-c[p] / 2] for p in range(size)
        ]
        matrix.append([*(-entry / 2 for entry in c), file.network["b"] - k - gamma])
        yield "Y10", witnessed_exactly(matrix, found[f"C_{name}"].rows())


def _quadratic(file: RegularizedFile, found: dict[str, Tensor], u: Row) -> Iterator[Check]:
    """Y11."""
    rows = file.group_rows(file.network["groups"][0])
    a, size = file.network["b"] / (2 * file.network["v_max"]), len(rows[0])
    Z = [
        [
            sum((x * r[p] * r[q] for x, r in zip(u, rows, strict=True)), Fraction(0))
            for q in range(size)
        ]
        for p in range(size)
    ]
    for name, sign in (("C_lower", 1), ("C_upper", -1)):
        if name in found:
            matrix = [[a * int(p == q) + sign * Z[p][q] for q in range(size)] for p in range(size)]
            yield "Y11", witnessed_exactly(matrix, found[name].rows())


def _in_class(file: RegularizedFile) -> bool:
    network, zero = file.network, Fraction(0)
    monotone = network.get("monotone", [0] * len(file.X[0]))
    for w, v in zip(file.W, file.v, strict=True):
        support = {j for j, weight in enumerate(w) if weight}
        if not any(support <= set(group) for group in network["groups"]):
            return False
        if network["heads"] == "nonnegative" and v < 0:
            return False
        if any(sign * v * weight < zero for sign, weight in zip(monotone, w, strict=True)):
            return False
    return all(abs(v) <= network["v_max"] for v in file.v) if "v_max" in network else True


Constraint = Callable[[RegularizedFile, Fields, dict[str, Tensor], Row], Iterator[Check]]


def _exact_constraint(
    file: RegularizedFile, fields: Fields, found: dict[str, Tensor], u: Row
) -> Iterator[Check]:
    """H_g(u) <= b (or h_g) for every group, whatever the witness; Z for quadratic networks."""
    if file.network["neurons"] == "quadratic":
        yield from _quadratic(file, found, u)
        return
    bounds = fields.get("h", [file.network["b"]] * len(file.network["groups"]))
    name = "Z7" if "h" in fields else "Y7" if fields["constraint"] == "columns" else "Y8"
    if "shapes" in file.network:
        for group, bound in zip(file.network["groups"], bounds, strict=True):
            yield name, curve_holds(file, group[0], u, bound, found)
        return
    for group, bound in zip(file.network["groups"], bounds, strict=True):
        yield name, 0 <= bound <= file.network["b"] and group_holds(file, group, u, bound)


def _witnessed_constraint(
    file: RegularizedFile, fields: Fields, found: dict[str, Tensor], u: Row
) -> Iterator[Check]:
    if fields["constraint"] == "spectral":
        yield from _spectral(file, fields, found, u)
    elif fields["constraint"] == "slabs":
        yield from slab_checks(file, fields, found, u)
    else:
        yield from _exact_constraint(file, fields, found, u)


def _unused(file: RegularizedFile, fields: Fields) -> Iterator[Check]:
    """Z8 and Z9: Lam by the principal minors, one determinant after the other."""
    if "Lam" not in fields:
        return
    mu = SMOOTH[file.loss]
    for group, Lam in zip(file.network["groups"], fields["Lam"], strict=True):
        rows = file.group_rows(group)
        size = len(rows[0])
        M = [
            [
                Lam * int(p == q)
                - sum(
                    (om * r[p] * r[q] / mu for om, r in zip(file.om, rows, strict=True)),
                    Fraction(0),
                )
                for q in range(size)
            ]
            for p in range(size)
        ]
        yield "Z8", all(determinant([row[:m] for row in M[:m]]) > 0 for m in range(1, size + 1))
    for g in fields["unused"]:
        room = file.network["b"] - fields["h"][g]
        yield "Z9", room > 0 and room**2 > 2 * fields["gap"] * fields["Lam"][g]


def determinant(M: Matrix) -> Fraction:
    """Along the first row."""
    if len(M) == 1:
        return M[0][0]
    minors = ([row[:j] + row[j + 1 :] for row in M[1:]] for j in range(len(M)))
    return sum(
        ((-1) ** j * M[0][j] * determinant(minor) for j, minor in enumerate(minors)), Fraction(0)
    )


def claim_checks(
    file: RegularizedFile,
    fields: Fields,
    found: dict[str, Tensor],
    constraint: Constraint,
    bits: int,
) -> Iterator[Check]:
    """Y1 to Y13, or Z1 to Z13."""
    if file.c > 1:
        yield from several_checks(file, fields, found, bits)
        return
    letter = "Z" if "h" in fields else "Y"
    yield f"{letter}1", _in_class(file)
    yield f"{letter}2", fields["p_up"] - fields["p_low"] <= fields["gap"]
    n = len(file.X)
    flat = found["u"].numbers()
    stored = flat if fields["parts"] == 1 else [flat[i] + flat[n + i] for i in range(n)]
    u = repaired(file, stored, found["repair"].integers()) if "repair" in found else stored
    yield f"{letter}3", u is not None
    if u is None:
        return
    inside = all(
        in_domain(file.loss, file.parameter, x / om, y) if om else x == 0
        for x, y, om in zip(u, file.y, file.om, strict=True)
    )
    yield f"{letter}4", inside
    yield f"{letter}5 {letter}6", all(dot(column, u) == 0 for column in equations(file))
    if not inside:
        return
    p_up, p_low = (Interval.of(fields[name], bits) for name in ("p_up", "p_low"))
    yield f"{letter}12", at_most(objective(file, bits), p_up)
    yield f"{letter}13", at_most(p_low, dual_value(file, u, bits))
    if "shapes" in file.network:
        yield from shape_checks(file, found)
    yield from constraint(file, fields, found, u)
    if "h" in fields:
        yield from _unused(file, fields)


def walks(raw: bytes, bits: int) -> Iterator[tuple[str, Iterator[Check]]]:
    """The kind and the checks of every claim of a well-formed file."""
    file = read_regularized(raw)
    for kind, fields, found in file.claims:
        yield kind, claim_checks(file, fields, found, _witnessed_constraint, bits)


def _outcome(file: RegularizedFile, constraint: Constraint) -> tuple[bool | None, str]:
    undecided = ""
    for bits in PRECISIONS:
        undecided = ""
        for index, (_, fields, found) in enumerate(file.claims):
            try:
                for name, holds in claim_checks(file, fields, found, constraint, bits):
                    if holds is False:
                        return False, f"claim {index}: {name}"
                    undecided = undecided or ("" if holds else name)
            except UndefinedError as error:
                undecided = str(error)
        if not undecided:
            return True, "every check holds"
    return None, undecided


def check_bytes(raw: bytes, _data: bytes | None = None) -> tuple[str, str]:
    """(verdict, reason) of a file of a regularized network."""
    try:
        file = read_regularized(raw)
    except MalformedError as error:
        return "MALFORMED", str(error)
    holds, reason = _outcome(file, _witnessed_constraint)
    return {True: "ACCEPTED", False: "REJECTED", None: "UNDECIDED"}[holds], reason


def oracle_truth(raw: bytes, _data: bytes | None = None) -> bool | None:
    """Do the inequalities hold for the exact H, whatever the witness? None if undecided or
    malformed.
    """
    try:
        file = read_regularized(raw)
    except MalformedError:
        return None
    return _outcome(file, _exact_constraint)[0]

"""Theorem R1 of `spec/claims/dual-gap.md`: the dual vector with its equations made exact, its
domains, its value D(u), and the objective P of the stored network.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import frexp, lcm
from operator import add, mul

from flint import fmpz_mat

from globalmin_check import limits
from globalmin_check.balls import Number, shown
from globalmin_check.canonical import Fields
from globalmin_check.checks import Checks, ExactChecks
from globalmin_check.claims.convex_losses import (
    Rows,
    first_outside,
    plus,
    sum_of_conjugates,
    sum_of_losses,
)
from globalmin_check.claims.regularized_network import Regularized, form_of
from globalmin_check.claims.regularized_objective import outputs, penalty
from globalmin_check.claims.scaled import Scaled, scaled
from globalmin_check.container import Tensor, Tensors
from globalmin_check.problem import Sizes
from globalmin_check.verdict import Malformed, Undecided


@dataclass(frozen=True)
class Bounds:
    """The fields that every claim about the dual bound has, and its vector u."""

    p_up: Fraction
    p_low: Fraction
    gap: Fraction
    u: Tensor
    repair: tuple[int, ...]


@dataclass(frozen=True)
class Certified:
    """What the exact checks build once: u after the repair, outputs, labels and weights, columns,
    penalty and what D pays for penalized parts.
    """

    u: Scaled
    f: Scaled
    rows: Rows
    columns: list[Scaled]
    penalty: Fraction
    price: Fraction


def read_bounds(fields: Fields, tensors: Tensors, sizes: Sizes) -> Bounds:
    """Take the common fields and tensors; form only."""
    parts = fields.integer("parts", 1)
    if parts > 2:
        raise Malformed(f"{fields.where}.parts is neither 1 nor 2")
    outputs = form_of(sizes).outputs
    shape = (sizes.n,) if parts == 1 else (2, sizes.n)
    if outputs > 1:
        shape = (parts * sizes.n, outputs)
    repair: tuple[int, ...] = ()
    if fields.has("repair") and outputs > 1:
        raise Malformed(f"{fields.where}.repair is for one output")
    if fields.has("repair"):
        repair = tuple(tensors.take("repair", "I64", fields.integer("repair", 1)).values)
        if repair[0] < 0 or repair[-1] >= sizes.n or not all(a < b for a, b in pairwise(repair)):
            raise Malformed(f"{fields.where}: the rows of repair are not increasing samples")
    return Bounds(
        fields.rational("p_up"),
        fields.rational("p_low"),
        fields.rational("gap"),
        tensors.take("u", "F64", *shape),
        repair,
    )


def require_bound(
    problem: Regularized, claim: Bounds, checks: ExactChecks, letter: str
) -> Certified:
    """Checks 1 to 6 of the page: class of the stored network, gap, repair, domains, equations."""
    n, d, k = problem.sizes.n, problem.sizes.d, problem.sizes.k
    checks.charge(n * (d + 8) + k * (d + len(problem.form.listed)))
    checks.charge((d + 1) * (n + len(claim.repair) ** 3) * bool(claim.repair))
    checks.charge_memory(sum(map(balls_of, (problem.X, problem.y, claim.u))))
    require_class(problem, checks, f"{letter}1")
    checks.require(f"{letter}2", "p_up - p_low <= gap", claim.p_up - claim.p_low, "<=", claim.gap)
    columns = [scaled(problem.X.values[j::d]) for j in range(d)]
    om = Scaled([1] * n, 1) if problem.om is None else scaled(problem.om.values)
    rows = Rows(scaled(problem.y.values), om)
    u = _dual_vector(problem, claim, columns, checks, f"{letter}3")
    bits = max(part.bits for part in (u, rows.y, rows.om, *columns))
    if bits > limits.EXACT_BITS:
        raise Undecided(f"the exact numbers have {bits} bits, more than {limits.EXACT_BITS}")
    place = first_outside(problem.form.loss, u, rows)
    checks.require_fact(
        f"{letter}4",
        "every u_i is in the domain of the conjugate",
        place is None,
        "all are" if place is None else f"sample {place} is not",
    )
    sums = _require_equations(problem, u, columns, checks, letter)
    f = outputs(problem, columns, checks)
    return Certified(u, f, rows, columns, penalty(problem), _price(problem, sums))


def balls_of(tensor: Tensor) -> int:
    """The memory of the scaled integers of a tensor, in balls of 80 bytes."""
    sizes = [abs(value) for value in tensor.values if value]
    spread = frexp(max(sizes))[1] - frexp(min(sizes))[1] + 53 if sizes else 1
    return len(tensor.values) * (1 + spread // 512)


def require_class(problem: Regularized, checks: ExactChecks, number: str) -> None:
    """Every stored neuron belongs to the class."""
    form = problem.form
    strays = [
        index
        for index, v in enumerate(problem.v.values[:: form.outputs])
        if not _in_class(problem, problem.W.row(index), v)
    ]
    checks.require_fact(
        number,
        "every stored neuron is in the class",
        not strays,
        f"neuron {strays[0]} is not" if strays else f"{problem.sizes.k} neurons",
    )
    if form.neurons == "quadratic":
        largest = max(map(abs, map(Fraction, problem.v.values)))
        checks.require(number, "max_l |v_l| <= v_max", largest, "<=", form.v_max)


def _in_class(problem: Regularized, row: list[float], v: float) -> bool:
    form = problem.form
    support = tuple(j for j, weight in enumerate(row) if weight)
    if not form.holds(support) or (form.heads == "nonnegative" and v < 0):
        return False
    # the signs of the doubles: their product could round to zero
    signs = ((row[j] > 0) - (row[j] < 0) for j in support)
    slope = (v > 0) - (v < 0)
    return not form.monotone or all(
        sign * slope * form.monotone[j] >= 0 for sign, j in zip(signs, support, strict=True)
    )


def _dual_vector(
    problem: Regularized, claim: Bounds, columns: list[Scaled], checks: ExactChecks, number: str
) -> Scaled:
    """The stored u, changed on the rows of `repair` so that A^T u = 0 (F1)."""
    n = problem.sizes.n
    halves = scaled(claim.u.values)
    u = Scaled(list(map(add, halves.values[:n], halves.values[n:] or [0] * n)), halves.unit)
    if not claim.repair:
        return u
    form = problem.form
    A = [[1] * n] * form.needs_sum + [c.values for c in columns] * (form.linear == "free")
    inner = [[column[i] for i in claim.repair] for column in A]
    pivots = _independent(inner, len(claim.repair))
    checks.require_fact(
        number,
        "the columns of A have full rank on the rows of repair",
        len(pivots) == len(claim.repair),
        f"rank {len(pivots)} on {len(claim.repair)} rows",
    )
    square = fmpz_mat([inner[j] for j in pivots])
    right = fmpz_mat([[sum(map(mul, A[j], u.values))] for j in pivots])
    # Cramer: Delta delta = adj(A_I) e has integer entries
    solution = [(int(entry.p), int(entry.q)) for entry in square.solve(right).entries()]
    Delta = lcm(*(q for _, q in solution))
    values = [value * Delta for value in u.values]
    for i, (p, q) in zip(claim.repair, solution, strict=True):
        values[i] -= p * (Delta // q)
    return Scaled(values, u.unit * Delta)


def _independent(rows: list[list[int]], count: int) -> list[int]:
    """The first `count` rows that are independent, or fewer if there are not so many."""
    chosen: list[int] = []
    for j, row in enumerate(rows):
        if len(chosen) < count and fmpz_mat([*(rows[i] for i in chosen), row]).rank() > len(chosen):
            chosen.append(j)
    return chosen


def _require_equations(
    problem: Regularized, u: Scaled, columns: list[Scaled], checks: ExactChecks, letter: str
) -> tuple[Fraction, list[Fraction]]:
    """Sum u and X^T u, zero where a part is free."""
    form, whole = problem.form, u.total()
    moments = (
        []
        if form.linear == "none"
        else [Fraction(sum(map(mul, u.values, c.values)), u.unit * c.unit) for c in columns]
    )
    if form.needs_sum:
        checks.require_fact(f"{letter}5", "sum_i u_i = 0", whole == 0, f"the sum is {shown(whole)}")
    if form.linear == "free":
        checks.require_fact(
            f"{letter}6",
            "sum_i u_i x_ij = 0 for every column",
            not any(moments),
            f"{sum(map(bool, moments))} of {len(moments)} sums are not zero",
        )
    return whole, moments


def _price(problem: Regularized, sums: tuple[Fraction, list[Fraction]]) -> Fraction:
    """(sum u)^2/(2 k0) + |X^T u|^2/(2 k1), each only for a penalized part."""
    form, (whole, moments) = problem.form, sums
    price = whole**2 / (2 * form.k0) if form.intercept == "penalized" else Fraction(0)
    if form.linear == "penalized":
        price += sum((moment**2 for moment in moments), Fraction(0)) / (2 * form.k1)
    return price


def require_values(
    problem: Regularized, claim: Bounds, found: Certified, checks: Checks, letter: str
) -> tuple[Number, Number]:
    """Checks 12 and 13: P <= p_up and p_low <= D(u); the objective and the bound."""
    loss = problem.form.loss
    objective = plus(sum_of_losses(loss, found.f, found.rows), found.penalty)
    bound = -plus(sum_of_conjugates(loss, found.u, found.rows), found.price)
    checks.require(
        f"{letter}12", "objective of the stored network <= p_up", objective, "<=", claim.p_up
    )
    checks.require(f"{letter}13", "p_low <= D(u)", claim.p_low, "<=", bound)
    return objective, bound

"""The claim `relu-interpolation`: zero-loss weights of a ReLU network nearby
(`spec/claims/relu-interpolation.md`).
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from flint import arb

from globalmin_check import limits
from globalmin_check.balls import (
    ball,
    decide,
    decimal_up,
    lower_float,
    root,
    shown,
    sum_of_squares,
    upper_float,
)
from globalmin_check.canonical import Fields
from globalmin_check.checks import Checks, ExactChecks
from globalmin_check.claims.kind import ClaimKind, Numbers
from globalmin_check.claims.relu_cell import Cell
from globalmin_check.claims.relu_signs import Pattern, active
from globalmin_check.container import Tensor, Tensors
from globalmin_check.exact import row_ratio
from globalmin_check.network import require_loss, residual
from globalmin_check.positive import require_positive_definite
from globalmin_check.primitives import shifted
from globalmin_check.problem import Problem, Sizes
from globalmin_check.verdict import GENERALIZATION_NOTE, Malformed

MEANING = (
    "Theorem (ReLU cell). Let What be any weights (a witness), T a set of neurons, zhat_li = "
    "what_l . x_i, D_li = 1 where zhat_li > 0 and 0 elsewhere, rhat the residual of What, K_ij = "
    "x_i . x_j and G_ij = K_ij sum over l in T of v_l^2 D_li D_lj. If G >= mu I with mu > 0, and "
    "every neuron l of T and sample i satisfy zhat_li^2 mu >= |x_i|^2 |rhat|^2 or zhat_li^2 mu^2 "
    ">= v_l^2 (sum_j K_ij^2 D_lj) |rhat|^2, then weights with zero loss lie within |rhat|/sqrt(mu) "
    "of What, hence within R of W."
)


MARGINS = (
    "zhat^2 mu >= |x_i|^2 |rhat|^2 or zhat^2 mu^2 >= v_l^2 (sum_j K_ij^2 D_lj) |rhat|^2, every pair"
)


@dataclass(frozen=True)
class ReluInterpolation:
    """Fields and tensors of section 5.3; `kept` are the samples that are not dropped."""

    loss_upper: Fraction
    mu: Fraction
    R: Fraction
    W_hat: Tensor
    neurons: tuple[int, ...]
    dropped: tuple[tuple[int, int], ...]
    kept: tuple[int, ...]
    C: Tensor


def read(fields: Fields, tensors: Tensors, sizes: Sizes) -> ReluInterpolation:
    """Take the fields and tensors of the claim; form only: ranges and order of indices, shapes."""
    neurons = tensors.take("T", "I64", None).values
    if not neurons or neurons[0] < 0 or neurons[-1] >= sizes.k or not _increasing(neurons):
        raise Malformed(f"{fields.where}: T is not a non-empty increasing list of neurons")
    pairs, C = tensors.take("dropped", "I64", None, 2), tensors.take("C", "F64", None, None)
    # before anything of length n is built: n is no more than the file holds
    order = sizes.n - pairs.shape[0]
    if C.shape != (order, order):
        raise Malformed(
            f"{fields.where}: C is {list(C.shape)}, not {[order, order]} for the samples that are "
            "kept"
        )
    gone, causes = pairs.values[::2], pairs.values[1::2]
    if gone and (gone[0] < 0 or gone[-1] >= sizes.n or not _increasing(gone)):
        raise Malformed(f"{fields.where}: dropped does not name increasing samples")
    without = set(gone)
    if not all(i == -1 or (0 <= i < sizes.n and i not in without) for i in causes):
        raise Malformed(f"{fields.where}: a sample is dropped because of one that is not kept")
    return ReluInterpolation(
        loss_upper=fields.rational("loss_upper"),
        mu=fields.rational("mu"),
        R=fields.rational("R"),
        W_hat=tensors.take("W_hat", "F64", sizes.k, sizes.d),
        neurons=tuple(neurons),
        dropped=tuple(zip(gone, causes, strict=True)),
        kept=tuple(i for i in range(sizes.n) if i not in without),
        C=C,
    )


def _increasing(values: array[int]) -> bool:
    return all(a < b for a, b in pairwise(values))


def work(claim: ReluInterpolation, sizes: Sizes) -> tuple[int, int]:
    """Ball multiplications and balls held at once."""
    n, m = len(claim.kept), len(claim.neurons)
    products = (
        2 * n**3
        + n * n * (2 * m + sizes.d)
        + 4 * sizes.n * sizes.k * sizes.d
        + limits.WORK_PER_VALUE * sizes.n * sizes.k
    )
    return products, 4 * n * n + 6 * sizes.n * sizes.k


def exact(claim: ReluInterpolation, problem: Problem, checks: ExactChecks) -> Pattern:
    """R1 to R3, and the activation pattern D of What on the kept samples."""
    require_facts(claim, problem, checks)
    return active([problem.X.row(i) for i in claim.kept], claim.W_hat, checks)


def require_facts(claim: ReluInterpolation, problem: Problem, checks: ExactChecks) -> None:
    """R1 to R3."""
    checks.require_fact(
        "R1",
        "the activation is relu",
        problem.activation == "relu",
        f"the activation is {problem.activation}",
    )
    checks.require_sign("R2", "mu > 0", claim.mu)
    checks.charge(len(claim.dropped) * problem.sizes.d)
    fault = next(
        (text for text in (_drop_fault(problem, *pair) for pair in claim.dropped) if text), ""
    )
    checks.require_fact(
        "R3",
        "every dropped sample follows from a kept one",
        not fault,
        fault or f"{len(claim.dropped)} dropped",
    )


def check(claim: ReluInterpolation, problem: Problem, pattern: Pattern, checks: Checks) -> Numbers:
    """R4 to R7 at the present precision."""
    cell = Cell(claim.W_hat, claim.neurons, claim.kept, pattern, problem)
    numbers = inequalities(claim, problem, checks, residual(problem), cell.residual_square)
    _require_margins(checks, claim, cell)
    require_positive_definite(checks, "R7", "G - mu I", shifted(cell.gram(), 1, -claim.mu), claim.C)
    return numbers


def inequalities(
    claim: ReluInterpolation, problem: Problem, checks: Checks, r: list[arb], square: arb
) -> Numbers:
    """R4 and R5, from the residual r of the stored weights and |rhat|^2; the verified numbers."""
    loss, reach = require_loss(checks, "R4", problem, claim.loss_upper, r), root(square)
    W, What = (list(map(arb, tensor.values)) for tensor in (problem.W, claim.W_hat))
    distance = root(sum_of_squares(list(map(arb.__sub__, What, W)))) + reach / ball(claim.mu).sqrt()
    checks.require("R5", "|What - W|_F + |rhat|/sqrt(mu) <= R", distance, "<=", claim.R)
    return {
        "loss_upper": upper_float(claim.loss_upper),
        "loss": upper_float(loss),
        "R": upper_float(claim.R),
        "mu": lower_float(claim.mu),
        "residual_hat": upper_float(reach),
        "neurons": float(len(claim.neurons)),
        "dropped": float(len(claim.dropped)),
    }


def _drop_fault(problem: Problem, j: int, i: int) -> str:
    """Why sample j does not follow from sample i (or from nothing, i = -1); empty if it does."""
    x, label = problem.X.row(j), Fraction(problem.y.values[j])
    if i == -1:
        return "" if not any(x) and label == 0 else f"sample {j} is not a zero row with label zero"
    ratio = row_ratio(x, problem.X.row(i))
    if ratio is None or ratio <= 0 or label != ratio * Fraction(problem.y.values[i]):
        return f"sample {j} is not a positive multiple of sample {i} with its label"
    return ""


def _require_margins(checks: Checks, claim: ReluInterpolation, cell: Cell) -> None:
    """Check 6: every pair of a neuron of T and a kept sample keeps its side, by its distance or by
    its margin.
    """
    mu, square = ball(claim.mu), cell.residual_square
    needs = [sum_of_squares(list(map(arb, row))) * square for row in cell.rows]
    places = range(len(cell.neurons))
    hard = [
        (i, p)
        for i, need in enumerate(needs)
        for p in places
        if not need <= _energy(cell, i, p) * mu
    ]
    sums = cell.margin_sums() if hard else []
    worst: bool | None = True
    found = f"{len(needs) * len(places)} pairs, {len(hard)} of them by the second"
    for i, place in hard:
        energy = _energy(cell, i, place) * mu
        margin = arb(cell.heads[place]) ** 2 * sums[i][place] * square
        either = {decide(needs[i], "<=", energy), decide(margin, "<=", energy * mu)}
        outcome = True if True in either else None if None in either else False
        if outcome is False or (outcome is None and worst is True):
            worst, found = (
                outcome,
                f"{shown(margin)} against {shown(energy * mu)}, sample {claim.kept[i]}",
            )
    checks.require_outcome("R6", MARGINS, worst, found)


def _energy(cell: Cell, i: int, place: int) -> arb:
    """Zhat_li^2."""
    z = cell.Z[i][cell.neurons[place]]
    return z * z


def statement(claim: ReluInterpolation, problem: Problem) -> str:
    """The conclusion in one sentence."""
    return (
        f"There are weights W (head v fixed) within the distance {decimal_up(claim.R)} of the "
        f"stored ones at which the ReLU network fits all {problem.sizes.n} samples exactly: zero "
        "training loss, the global minimum. The stored weights have loss at most "
        f"{decimal_up(claim.loss_upper)}."
    )


CLAIM = ClaimKind(
    "relu-interpolation",
    "relu-cell/1",
    MEANING,
    read,
    work,
    exact,
    check,
    statement,
    notes=(GENERALIZATION_NOTE,),
    zero_loss=True,
)

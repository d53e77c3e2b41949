"""The claim `patch-interpolation`: filters of zero loss nearby, the output weights fixed
(`spec/claims/patch-interpolation.md`).
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from flint import arb, arb_mat

from globalmin_check import limits
from globalmin_check.balls import (
    ball,
    column,
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
from globalmin_check.claims.patch_network import (
    PatchCell,
    all_patches,
    integer_system,
    patch_residual,
)
from globalmin_check.claims.relu_signs import Pattern, active
from globalmin_check.container import Tensor, Tensors
from globalmin_check.positive import require_positive_definite
from globalmin_check.primitives import lower_product, shifted
from globalmin_check.problem import Problem, Sizes
from globalmin_check.verdict import GENERALIZATION_NOTE, Malformed

MEANING = (
    "Theorem (patch cell). Let What be any filters (a witness), T a set of filters, S a set of "
    "samples, zhat_jiq = what_j . z_iq, D_jiq = 1 where zhat_jiq > 0 and 0 elsewhere, b_ji = sum_q "
    "a_jq D_jiq z_iq, J the matrix with the blocks b_ji^T for j in T, G that of its rows in S with "
    "themselves, rho the norm of the residual of What over S and M_j = sum over i in S of b_ji "
    "b_ji^T. If G >= mu I with mu > 0, if J together with the residual has no larger rank than S "
    "has samples, and if every filter j of T and patch z_iq with a_jq != 0 satisfy zhat_jiq^2 mu "
    ">= |z_iq|^2 rho^2 or zhat_jiq^2 mu^2 >= (z_iq^T M_j z_iq) rho^2, then filters with zero loss "
    "on all samples lie within rho/sqrt(mu) of What, hence within R of W."
)


@dataclass(frozen=True)
class PatchInterpolation:
    """Fields and tensors of section 5.26."""

    loss_upper: Fraction
    mu: Fraction
    R: Fraction
    W_hat: Tensor
    moving: tuple[int, ...]
    solved: tuple[int, ...]
    C: Tensor


def read(fields: Fields, tensors: Tensors, sizes: Sizes) -> PatchInterpolation:
    """Take the fields and tensors of the claim; form only: ranges and order of indices, shapes."""
    moving = _indices(tensors.take("T", "I64", None).values, sizes.k, f"{fields.where}: T")
    solved = _indices(tensors.take("S", "I64", None).values, sizes.n, f"{fields.where}: S")
    return PatchInterpolation(
        loss_upper=fields.rational("loss_upper"),
        mu=fields.rational("mu"),
        R=fields.rational("R"),
        W_hat=tensors.take("W_hat", "F64", sizes.k, len(sizes.table[0])),
        moving=moving,
        solved=solved,
        C=tensors.take("C", "F64", len(solved), len(solved)),
    )


def _indices(values: array[int], count: int, where: str) -> tuple[int, ...]:
    increasing = all(a < b for a, b in pairwise(values))
    if not values or values[0] < 0 or values[-1] >= count or not increasing:
        raise Malformed(f"{where} is not a non-empty increasing list of numbers below {count}")
    return tuple(values)


def work(claim: PatchInterpolation, sizes: Sizes) -> tuple[int, int]:
    """Ball multiplications and balls held at once."""
    m, s, p = len(claim.moving), len(claim.solved), len(sizes.table[0])
    patches = sizes.n * len(sizes.table)
    products = (
        patches * (3 * sizes.k * p + 2 * sizes.k + p + m * p * (p + 1))
        + m * p * (s * len(sizes.table) + s * s + s * p)
        + 2 * s**3
    )
    return products, patches * (2 * p + 3 * sizes.k) + 2 * s * m * p + 4 * s * s


def exact(claim: PatchInterpolation, problem: Problem, checks: ExactChecks) -> Pattern:
    """Q1 to Q3, and the activation pattern D of What on all patches."""
    checks.require_fact(
        "Q1",
        "the activation is relu",
        problem.activation == "relu",
        f"the activation is {problem.activation}",
    )
    checks.require_sign("Q2", "mu > 0", claim.mu)
    pattern = active(all_patches(problem), claim.W_hat, checks)
    if len(claim.solved) < problem.sizes.n:
        _require_rank(claim, problem, pattern, checks)
    return pattern


def _require_rank(
    claim: PatchInterpolation, problem: Problem, pattern: Pattern, checks: ExactChecks
) -> None:
    n, s, table = problem.sizes.n, len(claim.solved), problem.sizes.table
    entries = n * problem.sizes.k * len(table[0])
    checks.charge(entries * len(table))
    checks.charge_memory(entries * limits.BALLS_PER_EXACT)
    system = integer_system(problem, claim.W_hat, claim.moving, pattern)
    bits = max(int(entry).bit_length() for entry in system.entries())
    width = min(system.ncols(), n)
    # elimination without fractions: minors of up to `width` rows
    checks.charge(n * system.ncols() * width * (1 + width * bits // 4000))
    rank = system.rank()
    checks.require_fact(
        "Q3",
        "the samples outside S follow from those in S",
        rank <= s,
        f"rank {rank} of the matrix of all samples, {s} samples in S",
    )


def check(claim: PatchInterpolation, problem: Problem, pattern: Pattern, checks: Checks) -> Numbers:
    """Q4 to Q7 at the present precision."""
    rows = arb_mat(all_patches(problem))
    r = patch_residual(problem, (rows * arb_mat(problem.W.rows()).transpose()).tolist())
    loss = sum_of_squares(r) / 2
    checks.require("Q4", "L(stored weights) <= loss_upper", loss, "<=", claim.loss_upper)
    cell = PatchCell(claim.W_hat, claim.moving, claim.solved, pattern, problem)
    rho = root(cell.residual_square)
    W, What = (list(map(arb, tensor.values)) for tensor in (problem.W, claim.W_hat))
    distance = root(sum_of_squares(list(map(arb.__sub__, What, W)))) + rho / ball(claim.mu).sqrt()
    checks.require("Q5", "|What - W|_F + rho/sqrt(mu) <= R", distance, "<=", claim.R)
    _require_margins(checks, claim, cell)
    J = cell.jacobian()
    gram = shifted(lower_product(J, J), 1, -claim.mu)
    require_positive_definite(checks, "Q7", "G - mu I", gram, claim.C)
    return {
        "loss_upper": upper_float(claim.loss_upper),
        "loss": upper_float(loss),
        "R": upper_float(claim.R),
        "mu": lower_float(claim.mu),
        "residual_hat": upper_float(rho),
        "filters": float(len(claim.moving)),
        "solved": float(len(claim.solved)),
    }


def _require_margins(checks: Checks, claim: PatchInterpolation, cell: PatchCell) -> None:
    """Check 6: every patch keeps its side of every filter of T, by its distance or its margin."""
    mu, square = ball(claim.mu), cell.residual_square
    needs = [sum_of_squares(list(map(arb, row))) * square for row in cell.rows]
    worst: bool | None = True
    pairs, second, found = 0, 0, ""
    for j in claim.moving:
        count, reach = len(cell.heads[j]), None
        for index, need in enumerate(needs):
            if cell.heads[j][index % count] == 0:
                continue
            pairs += 1
            product = cell.products[index][j]
            energy = product * product * mu
            if need <= energy:
                continue
            reach, second = reach if reach is not None else cell.reach(j), second + 1
            z = column(cell.rows[index])
            margin = (z.transpose() * reach * z)[0, 0] * square
            either = {decide(need, "<=", energy), decide(margin, "<=", energy * mu)}
            outcome = True if True in either else None if None in either else False
            if outcome is False or (outcome is None and worst is True):
                worst = outcome
                found = f"{shown(margin)} against {shown(energy * mu)}, sample {index // count}"
    sentence = (
        "zhat^2 mu >= |z|^2 rho^2 or zhat^2 mu^2 >= (z^T M_j z) rho^2, every filter of T and patch"
    )
    done = f"{pairs} pairs, {second} of them by the second"
    checks.require_outcome("Q6", sentence, worst, found or done)


def statement(claim: PatchInterpolation, problem: Problem) -> str:
    """The conclusion in a few sentences."""
    m, (k, p) = problem.sizes.k, (len(problem.sizes.table), len(problem.sizes.table[0]))
    return (
        f"There are filters W (output weights v fixed, each of the {m} filters of {p} entries "
        f"shared by its {k} patches) within the distance {decimal_up(claim.R)} of the stored ones "
        f"at which the ReLU patch network fits all {problem.sizes.n} samples exactly: zero "
        "training loss, the global minimum. The stored weights have loss at most "
        f"{decimal_up(claim.loss_upper)}."
    )


CLAIM = ClaimKind(
    "patch-interpolation",
    "patch-cell/1",
    MEANING,
    read,
    work,
    exact,
    check,
    statement,
    notes=(GENERALIZATION_NOTE,),
    network="patches",
    zero_loss=True,
)

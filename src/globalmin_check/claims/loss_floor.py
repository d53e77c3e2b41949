"""The claim `loss-floor`: no network of the class is below the floor (`spec/claims/loss-floor.md`).
All exact.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from globalmin_check import limits
from globalmin_check.activations import NONNEGATIVE
from globalmin_check.balls import decimal_down, decimal_up, lower_float, upper_float
from globalmin_check.canonical import Fields
from globalmin_check.checks import Checks, ExactChecks
from globalmin_check.claims.kind import ClaimKind, Numbers
from globalmin_check.container import Tensors
from globalmin_check.exact import row_ratio
from globalmin_check.network import require_loss, residual
from globalmin_check.problem import ACTIVATIONS, Problem, Sizes
from globalmin_check.verdict import TRIVIAL, Malformed, Rejected

NAMES = ("equal", "zero", "ray", "line", "odd", "negative label")
# The activations for which each kind of group forces f(x_i) = g_i t.
COVERED = {
    "equal": ACTIVATIONS,
    "zero": ("relu", "leaky_relu", "abs", "quadratic", "linear", "tanh", "erf"),
    "ray": ("relu", "leaky_relu", "linear", "quadratic"),
    "line": ("abs", "quadratic"),
    "odd": ("tanh", "erf"),
    "negative label": NONNEGATIVE,
}


MEANING = (
    "Theorem (group floor). Let groups of samples be disjoint, and let every network of the class "
    "give f(x_i) = g_i t on a group, with known g_i and one unknown number t. Then its loss is at "
    "least the sum over the groups of (1/2)(|y|^2 - (g . y)^2/|g|^2), or (1/2)|y|^2 where g = 0; "
    "where t >= 0 for the whole class, g . y is replaced by max(0, g . y)."
)


@dataclass(frozen=True)
class LossFloor:
    """Fields of section 5.4; a group is a code and a length, its samples are the next ones of
    `members`, reference row first.
    """

    loss_upper: Fraction
    nonnegative: bool
    floor: Fraction
    gap: Fraction
    members: array[int]
    lengths: array[int]
    codes: array[int]

    def groups(self) -> Iterator[tuple[str, array[int]]]:
        """The name of its kind and the samples of every group."""
        start = 0
        for code, length in zip(self.codes, self.lengths, strict=True):
            yield NAMES[code], self.members[start : start + length]
            start += length


def read(fields: Fields, tensors: Tensors, sizes: Sizes) -> LossFloor:
    """Take the fields and tensors of the claim; form only."""
    members = tensors.take("members", "I64", None).values
    lengths = tensors.take("sizes", "I64", None).values
    codes = tensors.take("kinds", "I64", len(lengths)).values
    if not lengths or min(lengths) < 1 or sum(lengths) != len(members):
        raise Malformed(f"{fields.where}: sizes do not cut members into non-empty groups")
    if not _distinct(members, sizes.n):
        raise Malformed(f"{fields.where}: members are not distinct samples")
    if min(codes) < 0 or max(codes) >= len(NAMES):
        raise Malformed(f"{fields.where}: a group code is not in 0..{len(NAMES) - 1}")
    return LossFloor(
        loss_upper=fields.rational("loss_upper"),
        nonnegative=fields.choice("heads", ("any", "nonnegative")) == "nonnegative",
        floor=fields.rational("floor"),
        gap=fields.rational("gap"),
        members=members,
        lengths=lengths,
        codes=codes,
    )


def _distinct(members: array[int], n: int) -> bool:
    if len(members) > n or min(members) < 0 or max(members) >= n:
        return False
    seen = bytearray(n)
    for member in members:
        seen[member] = 1
    return sum(seen) == len(members)


def work(claim: LossFloor, sizes: Sizes) -> tuple[int, int]:
    """Ball multiplications and balls held at once."""
    values = sizes.n * sizes.k
    return values * (sizes.d + limits.WORK_PER_VALUE), 4 * values


def exact(claim: LossFloor, problem: Problem, checks: ExactChecks) -> None:
    """F1 to F6: class, groups and floor."""
    if claim.nonnegative:
        head = min(problem.v.values)
        checks.require_fact(
            "F1", "every head v_l >= 0", head >= 0, f"the smallest v_l is {head:.6g}"
        )
        covered = problem.activation in NONNEGATIVE
        checks.require_fact(
            "F2", "phi >= 0 everywhere", covered, f"the activation is {problem.activation}"
        )
    checks.require_sign("F3a", "floor >= 0", claim.floor)
    checks.require_sign("F3b", "gap >= 0", claim.gap)
    checks.require(
        "F4", "loss_upper - floor <= gap", claim.loss_upper - claim.floor, "<=", claim.gap
    )
    proved = Fraction(0)
    for kind, group in claim.groups():
        checks.charge(len(group) * (problem.sizes.d + 8))
        proved += _group_floor(claim, problem, kind, group)
    checks.require_fact("F5", "every group is of its kind", True, f"{len(claim.lengths)} groups")
    checks.require("F6", "floor <= exact sum over the groups", claim.floor, "<=", proved)


def check(claim: LossFloor, problem: Problem, _: None, checks: Checks) -> Numbers:
    """F7, the loss of the stored weights, at the present precision."""
    loss = require_loss(checks, "F7", problem, claim.loss_upper, residual(problem))
    return {
        "loss_upper": upper_float(claim.loss_upper),
        "loss": upper_float(loss),
        "floor": lower_float(claim.floor),
        "gap": upper_float(claim.gap),
        "groups": float(len(claim.lengths)),
        "heads": "nonnegative" if claim.nonnegative else "any",
    }


def _group_floor(claim: LossFloor, problem: Problem, kind: str, group: array[int]) -> Fraction:
    """The exact floor of one group; raises Rejected if the rows or the network are not of its
    kind.
    """
    where = f"check F5 (every group is of its kind) fails: the group of sample {group[0]} ({kind})"
    if problem.activation not in COVERED[kind]:
        raise Rejected(f"{where} does not exist for the activation {problem.activation}")
    y = [Fraction(problem.y.values[i]) for i in group]
    if kind == "negative label":
        if not claim.nonnegative or len(group) != 1 or not y[0] < 0:
            raise Rejected(
                f"{where} needs one sample with a negative label and heads = nonnegative"
            )
        return y[0] ** 2 / 2
    g = [_factor(problem, kind, i, group[0]) for i in group]
    factors = [factor for factor in g if factor is not None]
    if len(factors) != len(g):
        raise Rejected(
            f"{where} contains sample {group[g.index(None)]}, whose row is not of that kind"
        )
    product = sum(map(Fraction.__mul__, factors, y), Fraction(0))
    if claim.nonnegative:
        product = max(product, Fraction(0))
    norm = sum(map(Fraction.__mul__, factors, factors), Fraction(0))
    square = sum(map(Fraction.__mul__, y, y), Fraction(0))
    return (square - product**2 / norm) / 2 if norm else square / 2


def _factor(problem: Problem, kind: str, i: int, reference: int) -> Fraction | None:
    """g_i with f(x_i) = g_i t for every network of the class; None if row i is not of this kind."""
    x, u = problem.X.row(i), problem.X.row(reference)
    if kind == "zero":
        return None if any(x) else Fraction(0)
    if kind == "equal":
        return Fraction(1) if x == u else None
    c = row_ratio(x, u)
    if c is None or (kind == "ray" and c < 0) or (kind == "odd" and abs(c) != 1):
        return None
    if problem.activation == "quadratic":
        return c * c
    return abs(c) if kind == "line" else c


def vacuous(claim: LossFloor, problem: Problem, numbers: Numbers) -> str:
    """A gap that is no smaller than the loss itself."""
    return (
        TRIVIAL if problem.follows_from_zero(float(numbers["gap"]), float(numbers["loss"])) else ""
    )


def statement(claim: LossFloor, problem: Problem) -> str:
    """The conclusion in a few sentences."""
    heads = "with a head v >= 0" if claim.nonnegative else "with any head"
    return (
        f"Every network f(x) = sum_l v_l phi(w_l . x) with phi = {problem.phi} {heads}, of any "
        f"width, has a training loss of at least {decimal_down(claim.floor)} on these "
        f"{problem.sizes.n} samples. The stored network has loss at most "
        f"{decimal_up(claim.loss_upper)}, so it is within {decimal_up(claim.gap)} of the global "
        "minimum over that class."
    )


CLAIM = ClaimKind(
    "loss-floor", "group-floor/1", MEANING, read, work, exact, check, statement, vacuous=vacuous
)

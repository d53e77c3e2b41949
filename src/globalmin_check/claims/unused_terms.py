"""The claim `unused-terms`: what every near-optimal network has in common, and which groups of
columns no optimal network uses (`spec/claims/unused-terms.md`).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from operator import mul
from typing import cast

from flint import fmpq, fmpq_mat

from globalmin_check import limits
from globalmin_check.balls import decimal_down, decimal_up, lower_float, upper_float
from globalmin_check.canonical import Fields, rational
from globalmin_check.checks import Checks, ExactChecks
from globalmin_check.claims.convex_losses import SMOOTHNESS
from globalmin_check.claims.dual_bound import (
    Bounds,
    Certified,
    read_bounds,
    require_bound,
    require_values,
)
from globalmin_check.claims.dual_cones import cones_hold
from globalmin_check.claims.dual_constraints import (
    Search,
    group_rows,
    read_constraint,
    require_groups,
    search_work,
)
from globalmin_check.claims.kind import ClaimKind, Numbers
from globalmin_check.claims.regularized_network import Form, Group, Regularized, form_of
from globalmin_check.claims.regularized_words import class_in_words, number_in_words
from globalmin_check.claims.scaled import Scaled
from globalmin_check.container import Tensors
from globalmin_check.problem import Problem, Sizes
from globalmin_check.verdict import Malformed

MEANING = (
    "Theorem R6. Let u be feasible for R1 and H_g(u) <= h_g <= b. Every network of the class has P "
    "- D(u) >= sum_i [l_i(f_i) + l_i*(u_i) - u_i f_i] + sum_g (b - h_g) mass_g, mass_g the sum of "
    "|v||w| over the neurons of group g. So a network with P <= p_up has mass_g <= gap/(b - h_g), "
    "and for the squared loss its fitted values lie in a ball. If the derivative of every l_i is "
    "(1/mu_i)-Lipschitz, Lam_g >= lambda_max(sum_i x_ig x_ig^T/mu_i), h_g < b and (b - h_g)^2 > 2 "
    "gap Lam_g, no optimal network has a non-zero neuron in group g."
)
NOTES = (
    "unused-terms speaks of every optimal network; it does not say that one exists",
    "the function between the samples, and its split into terms, are not claimed to be unique",
)


@dataclass(frozen=True)
class UnusedTerms:
    """Fields and tensors of section 5.25; `Lam` is empty where the claim has none."""

    bounds: Bounds
    constraint: str
    h: tuple[Fraction, ...]
    Lam: tuple[Fraction, ...]
    unused: tuple[int, ...]


def read(fields: Fields, tensors: Tensors, sizes: Sizes) -> UnusedTerms:
    """Take the fields and tensors of the claim; form only."""
    form = form_of(sizes)
    is_covered = form.neurons == "relu" and form.penalizes_bias and form.heads == "any"
    if not is_covered or form.monotone or form.shapes or form.outputs > 1:
        raise Malformed(f"{fields.where}: unused-terms is not about this class of networks")
    has_constants = fields.has("Lam")
    if has_constants and form.loss.name not in SMOOTHNESS:
        raise Malformed(f"{fields.where}.Lam: the derivative of this loss is not Lipschitz")
    return UnusedTerms(
        read_bounds(fields, tensors, sizes),
        read_constraint(fields, form, ("columns", "cones")),
        _rationals(fields, "h", form.count),
        _rationals(fields, "Lam", form.count) if has_constants else (),
        _numbers_of_groups(fields, form.count if has_constants else 0),
    )


def _numbers_of_groups(fields: Fields, count: int) -> tuple[int, ...]:
    values = fields.array("unused")
    numbers = tuple(value for value in values if type(value) is int and 0 <= value < count)
    if len(numbers) < len(values) or not all(a < b for a, b in pairwise(numbers)):
        raise Malformed(f"{fields.where}.unused is not increasing numbers of groups with a Lam")
    return numbers


def _rationals(fields: Fields, name: str, count: int) -> tuple[Fraction, ...]:
    values = fields.array(name)
    if len(values) != count:
        raise Malformed(f"{fields.where}.{name} does not have one number for each maximal group")
    return tuple(rational(value, f"{fields.where}.{name}") for value in values)


def work(claim: UnusedTerms, sizes: Sizes) -> tuple[int, int]:
    """Ball multiplications and balls held at once."""
    return sizes.n * limits.WORK_PER_VALUE, 4 * sizes.n


def search(claim: UnusedTerms, sizes: Sizes) -> int:
    """Ball multiplications of the search over cones, roughly."""
    return search_work(form_of(sizes), sizes.n) if claim.constraint == "cones" else 0


def exact(
    claim: UnusedTerms, problem: Problem, checks: ExactChecks, over_cones: Search = cones_hold
) -> Certified:
    """Z1 to Z9."""
    net = cast(Regularized, problem)
    form = net.form
    found = require_bound(net, claim.bounds, checks, "Z")
    checks.require("Z7a", "0 <= min h_g", Fraction(0), "<=", min(claim.h))
    checks.require("Z7b", "max h_g <= b", max(claim.h), "<=", form.b)
    require_groups(form, found, claim.h, checks, "Z7c", search=over_cones)
    if claim.Lam:
        _require_constants(claim, form, found, checks)
    for g in claim.unused:
        room = form.b - claim.h[g]
        checks.require("Z9a", "h_g < b", claim.h[g], "<", form.b)
        checks.require("Z9b", "2 gap Lam_g < (b - h_g)^2", _spread(claim, g), "<", room**2)
    return found


def _require_constants(
    claim: UnusedTerms, form: Form, found: Certified, checks: ExactChecks
) -> None:
    """Z8: every Lam_g is above the largest eigenvalue of its matrix."""
    checks.charge(form.count * len(found.u.values) * (form.width + 1) ** 2)
    groups = zip(form.maximal(), claim.Lam, strict=True)
    low = [list(group) for group, Lam in groups if not is_above(form, found, group, Lam)]
    checks.require_fact(
        "Z8",
        "Lam_g I - sum_i x_ig x_ig^T/mu_i is positive definite",
        not low,
        f"not in group {low[0]}" if low else f"{form.count} groups",
    )


def _spread(claim: UnusedTerms, g: int) -> Fraction:
    """2 gap Lam_g, at least the square of the change of H_g from u to the optimal dual vector."""
    return 2 * claim.bounds.gap * claim.Lam[g]


def is_above(form: Form, found: Certified, group: Group, Lam: Fraction) -> bool:
    """Whether Lam I - sum_i x_ig x_ig^T/mu_i is positive definite, by the leading minors."""
    rows, unit = group_rows(form, found.columns, group)
    om: Scaled = found.rows.om
    factor = SMOOTHNESS[form.loss.name] / (om.unit * unit**2)
    columns = list(zip(*rows, strict=True))
    weighted = [list(map(mul, om.values, column)) for column in columns]
    matrix = [[-factor * sum(map(mul, p, q)) for q in columns] for p in weighted]
    for i, row in enumerate(matrix):
        row[i] += Lam
    entries = [[fmpq(x.numerator, x.denominator) for x in row] for row in matrix]
    sizes = range(1, len(entries) + 1)
    return all(fmpq_mat([row[:m] for row in entries[:m]]).det() > 0 for m in sizes)


def check(claim: UnusedTerms, problem: Problem, found: Certified, checks: Checks) -> Numbers:
    """Z12 and Z13 at the present precision."""
    net = cast(Regularized, problem)
    objective, bound = require_values(net, claim.bounds, found, checks, "Z")
    return {
        "objective": upper_float(objective),
        "p_up": upper_float(claim.bounds.p_up),
        "floor": lower_float(bound),
        "p_low": lower_float(claim.bounds.p_low),
        "gap": upper_float(claim.bounds.gap),
        "constraint": claim.constraint,
        "unused": str(len(claim.unused)),
        "groups": str(net.form.count),
    }


def _masses(claim: UnusedTerms, form: Form) -> str:
    """(b): the weight that a group can have, where the bound says something."""
    gap, words = claim.bounds.gap, []
    for group, h in zip(form.maximal(), claim.h, strict=True):
        if h < form.b:
            words.append(f"{list(group)} at most {decimal_up(gap / (form.b - h), 3)}")
    sums = " In every such network the sum of |v||w| over the neurons of a group is: "
    return f"{sums}{'; '.join(words)}." if words else ""


def _ball(claim: UnusedTerms, net: Regularized) -> str:
    """(a): the ball of the fitted values."""
    if net.form.loss.name != "squared":
        return ""
    square = decimal_up(8 * claim.bounds.gap)
    name = "squares" if net.om is None else "weighted squares"
    return (
        f" The fitted values of any two such networks differ by at most {square} in the sum of "
        f"{name}."
    )


def statement(claim: UnusedTerms, problem: Problem) -> str:
    """The conclusion in a few sentences."""
    net, bounds = cast(Regularized, problem), claim.bounds
    groups = list(net.form.maximal())
    names = ", ".join(str(list(groups[g])) for g in claim.unused)
    unused = (
        f" Every optimal network has no non-zero neuron in the groups of columns {names}."
        if names
        else ""
    )
    return (
        f"Class and objective: {class_in_words(net)}. Every network of this class, of any width, "
        f"has objective at least {decimal_down(bounds.p_low)}. What follows is about the networks "
        f"with objective at most {number_in_words(bounds.p_up)}: the stored one and every optimal "
        f"one are among them.{unused}{_masses(claim, net.form)}{_ball(claim, net)}"
    )


CLAIM = ClaimKind(
    "unused-terms",
    "unused-terms/1",
    MEANING,
    read,
    work,
    exact,
    check,
    statement,
    notes=NOTES,
    network="regularized",
    search=search,
)

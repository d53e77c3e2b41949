"""The claim `dual-gap`: how far a network with weight decay is from the global minimum of its
convex loss (`spec/claims/dual-gap.md`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from globalmin_check import limits
from globalmin_check.balls import Number, decimal_down, decimal_up, lower_float, upper_float
from globalmin_check.canonical import Fields
from globalmin_check.checks import Checks, ExactChecks
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
from globalmin_check.claims.dual_quadratic import read_factors, require_squares, sparse_sums
from globalmin_check.claims.dual_shapes import read_multipliers, require_shapes
from globalmin_check.claims.dual_slabs import (
    Slabs,
    centered,
    read_slabs,
    require_slab_matrices,
    require_slab_slopes,
)
from globalmin_check.claims.dual_spectral import (
    Slopes,
    read_slopes,
    require_matrices,
    require_slopes,
)
from globalmin_check.claims.kind import ClaimKind, Numbers
from globalmin_check.claims.regularized_network import Regularized, form_of
from globalmin_check.claims.regularized_words import class_in_words
from globalmin_check.claims.several_outputs import (
    Several,
    require_several,
    require_several_values,
)
from globalmin_check.container import Tensor, Tensors
from globalmin_check.problem import Problem, Sizes
from globalmin_check.verdict import TRIVIAL

MEANING = (
    "Theorem R1. Let u_i be in the domain of the conjugate of the loss at row i, sum u = 0 if the "
    "intercept or the hidden biases are free, X^T u = 0 if the linear part is free, and |sum_i u_i "
    "relu(w . x_i)| <= b |w| for every neuron of the class. Then every network of the class, of "
    "any width, has objective at least D(u) = -sum_i l_i*(u_i) - (sum u)^2/(2 k0) - |X^T u|^2/(2 "
    "k1). The condition is decided exactly for one column (R2), by a search over cones (R3), or "
    "follows from one positive definite matrix per sign (R4), with free hidden biases one per sign "
    "and slab of the bias (R4-free); for quadratic neurons it is -aI < sum_i u_i x_i x_i^T < aI, "
    "a = b/(2 v_max) (R5). Curves that have to rise: for any rho_k >= 0 the sums of u over the "
    "values z_k of a column may be changed by rho_k - rho_(k-1); convex ones: one sign is needed, "
    "and twice b for lines (R7). With several outputs that share the neurons u_i is a vector "
    "and |.| the Euclidean norm."
)


@dataclass(frozen=True)
class DualGap:
    """Fields and tensors of section 5.24; the witness of the constraint is None where it needs
    none.
    """

    bounds: Bounds
    constraint: str
    slopes: Slopes | None
    slabs: Slabs | None
    factors: dict[int, Tensor]
    rho: Tensor | None = None


@dataclass(frozen=True)
class Objects:
    """What the exact checks built; the rows are those that its matrices are made of, the sums those
    of a quadratic constraint with mostly zeros.
    """

    found: Certified | Several
    rows: tuple[list[list[int]], int]
    sums: list[list[int]]


def read(fields: Fields, tensors: Tensors, sizes: Sizes) -> DualGap:
    """Take the fields and tensors of the claim; form only."""
    form = form_of(sizes)
    constraint = read_constraint(
        fields, form, ("columns", "cones", "spectral", "slabs", "quadratic")
    )
    spectral, quadratic = constraint == "spectral", constraint == "quadratic"
    return DualGap(
        read_bounds(fields, tensors, sizes),
        constraint,
        read_slopes(fields, tensors, form, sizes.n) if spectral else None,
        read_slabs(fields, tensors, form, sizes.n) if constraint == "slabs" else None,
        read_factors(tensors, form) if quadratic else {},
        read_multipliers(tensors, form, sizes.n),
    )


def work(claim: DualGap, sizes: Sizes) -> tuple[int, int]:
    """Ball multiplications and balls held at once."""
    form, n = form_of(sizes), sizes.n
    losses = n * form.outputs * limits.WORK_PER_VALUE
    if claim.constraint in ("columns", "cones"):
        return losses, 4 * n * form.outputs
    p = form.width + (form.hidden_bias != "none") + 1
    count = 1 if claim.slabs is None else len(claim.slabs.edges) - 1
    return losses + 2 * count * (n * p * p + 2 * p**3), 3 * (n + p) * p


def search(claim: DualGap, sizes: Sizes) -> int:
    """Ball multiplications of the search over cones, roughly."""
    return search_work(form_of(sizes), sizes.n) if claim.constraint == "cones" else 0


def exact(
    claim: DualGap, problem: Problem, checks: ExactChecks, over_cones: Search = cones_hold
) -> Objects:
    """Y1 to Y9, Y14 to Y16."""
    net = cast(Regularized, problem)
    form = net.form
    if form.outputs > 1:
        return Objects(require_several(net, claim.bounds, checks), ([], 1), [])
    found = require_bound(net, claim.bounds, checks, "Y")
    if claim.constraint in ("columns", "cones"):
        number = "Y7" if claim.constraint == "columns" else "Y8"
        rho = require_shapes(net, claim.rho, found.columns, checks) if form.shapes else None
        require_groups(form, found, form.b, checks, number, rho=rho, search=over_cones)
        return Objects(found, ([], 1), [])
    group = next(form.maximal())
    checks.charge(2 * len(found.u.values) * (len(group) + 8))
    rows = group_rows(form, found.columns, group)
    if claim.slopes is not None:
        require_slopes(claim.slopes, rows, found.u, checks)
    if claim.slabs is not None:
        rows = centered(rows, claim.slabs.center)
        checks.charge(4 * len(found.u.values) * len(claim.slabs.edges))
        require_slab_slopes(claim.slabs, rows, found.u, checks)
    return Objects(found, rows, sparse_sums(rows, found.u, checks) if claim.factors else [])


def check(claim: DualGap, problem: Problem, objects: Objects, checks: Checks) -> Numbers:
    """Y10 to Y13 at the present precision."""
    net = cast(Regularized, problem)
    found = objects.found
    if isinstance(found, Several):
        objective, bound = require_several_values(net, claim.bounds, found, checks)
        return _numbers(claim, net, objective, bound) | {"outputs": str(net.form.outputs)}
    objective, bound = require_values(net, claim.bounds, found, checks, "Y")
    if claim.slopes is not None:
        require_matrices(claim.slopes, objects.rows, found.u, net.form.b, checks)
    if claim.slabs is not None:
        require_slab_matrices(claim.slabs, objects.rows, found.u, net.form.b, checks)
    if claim.constraint == "quadratic":
        require_squares(claim.factors, objects.rows, found.u, net.form, checks, sums=objects.sums)
    return _numbers(claim, net, objective, bound)


def _numbers(claim: DualGap, net: Regularized, objective: Number, bound: Number) -> Numbers:
    return {
        "objective": upper_float(objective),
        "p_up": upper_float(claim.bounds.p_up),
        "floor": lower_float(bound),
        "p_low": lower_float(claim.bounds.p_low),
        "gap": upper_float(claim.bounds.gap),
        "constraint": claim.constraint,
        "groups": str(net.form.count),
        "decay": str(net.form.b),
    }


def relative_gap(claim: Bounds) -> str:
    """The gap in units of the proved floor, rounded up; empty unless the floor is positive."""
    if claim.p_low <= 0:
        return ""
    return f", at most {decimal_up(claim.gap / claim.p_low, 3)} of the floor"


def vacuous(claim: DualGap, problem: Problem, numbers: Numbers) -> str:
    """A gap that is no smaller than an objective whose loss cannot be negative."""
    poisson = cast(Regularized, problem).form.loss.name == "poisson"
    trivial = not poisson and problem.follows_from_zero(
        float(numbers["gap"]), float(numbers["objective"])
    )
    return TRIVIAL if trivial else ""


def statement(claim: DualGap, problem: Problem) -> str:
    """The conclusion in a few sentences."""
    net, bounds = cast(Regularized, problem), claim.bounds
    return (
        f"Class and objective: {class_in_words(net)}. Every network of this class, of any width, "
        f"has objective at least {decimal_down(bounds.p_low)}; the stored one ({net.sizes.k} "
        f"neurons) has at most {decimal_up(bounds.p_up)}: it is within {decimal_up(bounds.gap)} of "
        f"the global minimum{relative_gap(bounds)}."
    )


CLAIM = ClaimKind(
    "dual-gap",
    "convex-dual/1",
    MEANING,
    read,
    work,
    exact,
    check,
    statement,
    vacuous=vacuous,
    network="regularized",
    search=search,
)

"""H_g(u) <= bound for every maximal group of the class, by columns (R2) or by cones (R3 of
`spec/claims/dual-gap.md`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from math import lcm

from globalmin_check.canonical import Fields
from globalmin_check.checks import ExactChecks
from globalmin_check.claims.dual_bound import Certified
from globalmin_check.claims.dual_columns import column_holds
from globalmin_check.claims.dual_cones import cones_hold
from globalmin_check.claims.dual_shapes import Multipliers, shape_holds
from globalmin_check.claims.regularized_network import Form, Group
from globalmin_check.claims.scaled import Scaled
from globalmin_check.verdict import Malformed

# whether sum_i u_i relu(x_i . w) <= bound |w| for integer rows and u times each of the signs
Search = Callable[[list[list[int]], list[int], Fraction, ExactChecks, Sequence[int]], bool]


def read_constraint(fields: Fields, form: Form, names: tuple[str, ...]) -> str:
    """The field `constraint`, which must fit the class."""
    constraint = fields.choice("constraint", names)
    fits = {
        "columns": form.width == 1,
        "cones": not form.shapes,
        "spectral": form.count == 1
        and form.hidden_bias != "free"
        and not (form.monotone or form.shapes),
        "slabs": form.count == 1
        and form.hidden_bias == "free"
        and not (form.monotone or form.shapes),
    }
    if form.outputs > 1 and constraint != "columns":
        raise Malformed(f"{fields.where}.constraint is for one output")
    if (constraint == "quadratic") != (form.neurons == "quadratic") or not fits.get(
        constraint, True
    ):
        raise Malformed(f"{fields.where}.constraint does not fit the class of networks")
    return constraint


def signs_of_heads(form: Form) -> tuple[int, ...]:
    """The signs s for which s sum_i u_i relu(w . x_i) <= b|w| is needed: that of -v (R7)."""
    return (1, -1) if form.heads == "any" else (-1,)


def group_rows(form: Form, columns: Sequence[Scaled], group: Group) -> tuple[list[list[int]], int]:
    """The rows x_ig as integers over one unit, with the entry tau if biases are penalized."""
    unit = lcm(form.tau.denominator, *(columns[j].unit for j in group))
    parts = [columns[j].over(unit) for j in group]
    if form.penalizes_bias:
        tau = form.tau.numerator * (unit // form.tau.denominator)
        parts.append([tau] * len(parts[0]))
    return [list(row) for row in zip(*parts, strict=True)], unit


def require_groups(
    form: Form,
    found: Certified,
    bounds: Sequence[Fraction] | Fraction,
    checks: ExactChecks,
    number: str,
    *,
    rho: Multipliers | None = None,
    search: Search = cones_hold,
) -> None:
    """Test every maximal group, against one bound or each against its own: the curves of classes
    with shapes with their multipliers, groups of several columns by a search over cones, that in
    integers or the one in floats.
    """
    n = len(found.u.values)
    checks.charge(form.count * n * 40)
    for index, group in enumerate(form.maximal()):
        bound = bounds if isinstance(bounds, Fraction) else bounds[index]
        if form.shapes:
            place = group[0]
            holds = shape_holds(form, place, found.columns[place], found.u, bound, rho=rho or {})
        elif len(group) == 1:
            holds = column_holds(form, group[0], found.columns[group[0]], found.u, bound)
        else:
            holds = _cones(form, found, group, bound, checks, search=search)
        if not holds:
            checks.require_fact(number, "H_g(u) <= b", False, f"not in group {list(group)}")
    checks.require_fact(number, "H_g(u) <= b in every group", True, f"{form.count} groups")


def search_work(form: Form, n: int) -> int:
    """Ball multiplications that the searches over cones may take, roughly: it grows with the rows
    and fast with the dimension. For the choice of the route, not for the budget.
    """
    dimension = form.width + form.penalizes_bias
    shifts = n if form.hidden_bias == "free" else 1
    return form.count * shifts * n * min(4**dimension, 4096) * 500 if form.width > 1 else 0


def _cones(
    form: Form,
    found: Certified,
    group: Group,
    bound: Fraction,
    checks: ExactChecks,
    *,
    search: Search,
) -> bool:
    rows, unit = group_rows(form, found.columns, group)
    limit = bound * unit * found.u.unit
    return all(
        search(shifted, found.u.values, limit, checks, signs_of_heads(form))
        for shifted in _shifts(form, rows, checks)
    )


def _shifts(form: Form, rows: list[list[int]], checks: ExactChecks) -> Iterator[list[list[int]]]:
    """The rows themselves; with free biases the rows minus each distinct row, where the kinks
    are.
    """
    if form.hidden_bias != "free":
        yield rows
        return
    for origin in sorted(set(map(tuple, rows))):
        checks.charge(len(rows) * len(origin))
        yield [[x - o for x, o in zip(row, origin, strict=True)] for row in rows]

"""Curves that rise, fall or bend one way only: multipliers of the constraints, the test of every
column, and the shapes of the stored network (R7 (b) of `spec/claims/dual-gap.md`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import accumulate, compress, count
from math import lcm

from globalmin_check.checks import ExactChecks
from globalmin_check.claims.dual_bound import balls_of
from globalmin_check.claims.dual_columns import BOTH, sums_hold
from globalmin_check.claims.regularized_network import Form, Regularized
from globalmin_check.claims.scaled import Scaled, scaled
from globalmin_check.container import Tensor, Tensors

Multipliers = Mapping[int, Scaled]
Neuron = tuple[Fraction, Fraction, Fraction]
RISING = ("increasing", "decreasing")
# 1 where the curve itself is increasing or convex, -1 where its negative is
SIDE = {"increasing": 1, "decreasing": -1, "convex": 1, "concave": -1}
FRACTION_WORK = 200  # exact operations that sorting and adding one kink costs


def rising_columns(form: Form) -> list[int]:
    """The columns that have multipliers, in the order of their rows in `rho`."""
    return [j for j, shape in enumerate(form.shapes) if shape in RISING]


def read_multipliers(tensors: Tensors, form: Form, n: int) -> Tensor | None:
    """The tensor `rho` of a class with increasing or decreasing curves."""
    rising = len(rising_columns(form))
    return tensors.take("rho", "F64", rising, n) if rising else None


def require_shapes(
    problem: Regularized, rho: Tensor | None, columns: Sequence[Scaled], checks: ExactChecks
) -> Multipliers:
    """Y15 and Y16; the multipliers of each column."""
    n, k = problem.sizes.n, problem.sizes.k
    rising = rising_columns(problem.form)
    checks.charge(8 * n * len(rising) + FRACTION_WORK * k)
    checks.charge_memory(balls_of(rho) if rho is not None else 0)
    found = {} if rho is None else {j: scaled(rho.row(r)) for r, j in enumerate(rising)}
    wrong = [j for j, part in found.items() if not _are_multipliers(part, columns[j])]
    checks.require_fact(
        "Y15",
        "rho >= 0, and zero at the largest value",
        not wrong,
        f"not in column {wrong[0]}" if wrong else f"{len(found)} columns",
    )
    curves = zip(problem.form.shapes, _neurons(problem), strict=True)
    strays = [j for j, curve in enumerate(curves) if not _has_shape(*curve)]
    checks.require_fact(
        "Y16",
        "the curves of the stored network have their shapes",
        not strays,
        f"not in column {strays[0]}" if strays else f"{problem.form.d} columns",
    )
    return found


def _are_multipliers(rho: Scaled, column: Scaled) -> bool:
    top = max(column.values)
    pairs = zip(rho.values, column.values, strict=True)
    return all(r == 0 if z == top else r >= 0 for r, z in pairs)


def _neurons(problem: Regularized) -> list[list[Neuron]]:
    """Weight, bias times tau, and head of the neurons of every column, in one pass over W."""
    form, k = problem.form, problem.sizes.k
    found: list[list[Neuron]] = [[] for _ in range(form.d)]
    biases = [0.0] * k if problem.biases is None else problem.biases.values
    for index, (v, bias) in enumerate(zip(problem.v.values, biases, strict=True)):
        row = problem.W.row(index)
        for j in compress(count(), row):
            found[j].append((Fraction(row[j]), form.tau * Fraction(bias), Fraction(v)))
    return found


def _has_shape(shape: str, neurons: Sequence[Neuron]) -> bool:
    """Whether the curve of a column is what its shape says, on the whole line."""
    if shape == "none":
        return True
    side = SIDE[shape]
    jumps: dict[Fraction, Fraction] = {}
    slope = Fraction(0)  # left of all kinks: the neurons that look left
    for w, bias, v in neurons:
        kink = -bias / w
        jumps[kink] = jumps.get(kink, Fraction(0)) + side * v * abs(w)
        slope += side * v * min(w, Fraction(0))
    steps = [jumps[kink] for kink in sorted(jumps)]
    return min(steps if shape not in RISING else accumulate(steps, initial=slope), default=0) >= 0


def shape_holds(
    form: Form, column: int, values: Scaled, u: Scaled, bound: Fraction, *, rho: Multipliers
) -> bool:
    """The condition of R7 (b) on the neurons of one column."""
    shape = form.shapes[column]
    side = SIDE.get(shape, 1)
    unit = lcm(u.unit, rho[column].unit) if column in rho else u.unit
    sums: dict[int, int] = {}
    for z, U in zip(values.values, u.over(unit), strict=True):
        sums[z] = sums.get(z, 0) + side * U
    if column in rho:
        _add_multipliers(sums, values.values, rho[column].over(unit))
    units = values.unit, unit
    if shape not in ("convex", "concave"):
        return sums_hold(form, (BOTH, BOTH), sums, units, bound)
    lower = frozenset((-1,))
    is_linear = _linear_holds(form, sums, units, bound)
    return is_linear and sums_hold(form, (lower, lower), sums, units, bound)


def _add_multipliers(sums: dict[int, int], values: Sequence[int], rho: Sequence[int]) -> None:
    """U_j + rho_j - rho_{j-1}, rho_j the sum over the rows with value z_j."""
    places = sorted(sums)
    total = dict.fromkeys(places, 0)
    for z, r in zip(values, rho, strict=True):
        total[z] += r
    before = 0
    for z in places:
        sums[z] += total[z] - before
        before = total[z]


def _linear_holds(
    form: Form, sums: Mapping[int, int], units: tuple[int, int], bound: Fraction
) -> bool:
    """(ii) |S| <= 2 bound, S = sum_j U_j (z_j, tau), and (iii) |tau sum u| <= bound."""
    moment = Fraction(sum(z * U for z, U in sums.items()), units[0] * units[1])
    if not form.penalizes_bias:
        return abs(moment) <= 2 * bound
    constant = form.tau * Fraction(sum(sums.values()), units[1])
    return moment**2 + constant**2 <= 4 * bound**2 and abs(constant) <= bound

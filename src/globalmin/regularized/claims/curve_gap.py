"""The witness of `dual-gap` for curves with shapes: the dual vector and the multipliers of the
curves that rise or fall, scaled together until they are feasible with room for rounding.
"""

from __future__ import annotations

import math

import numpy as np

from globalmin._types import Array
from globalmin.errors import CannotCertify
from globalmin.proving.claim import Tensor
from globalmin.regularized.curve_multipliers import height_with, multipliers
from globalmin.regularized.curves import CurveOracle, curve_height
from globalmin.regularized.dual import centered
from globalmin.regularized.objective import RegularizedProblem
from globalmin.regularized.repair import MARGIN, exact_dual


def shaped_dual(
    problem: RegularizedProblem, u: Array, oracle: CurveOracle
) -> tuple[Array, dict[str, Tensor]]:
    """A vector that satisfies R7 (b) with its multipliers, in the order of the columns."""
    moved = centered(problem, u)
    if moved is None:
        raise CannotCertify(
            "the dual vector of this network cannot be moved to sum zero: its intercept is not "
            "that of a minimum; train further"
        )
    b = problem.penalty.weight_decay
    rho = {
        group: multipliers(curve, moved, b)
        for group, curve in oracle.curves.items()
        if curve.is_rising
    }
    height = largest_height(moved, rho, oracle)
    for margin in (MARGIN, 2.0**8 * MARGIN, 2.0**16 * MARGIN):
        share = min(1.0, b / height * (1.0 - margin)) if height > 0 else 1.0
        exact = exact_dual(problem, share * moved)
        scaled = {group: share * part for group, part in rho.items()}
        if largest_height(exact, scaled, oracle) <= b * (1.0 - margin / 4):
            return exact, _stored(problem, scaled)
    raise CannotCertify("rounding the dual vector to a feasible one failed; rescale the labels")


def largest_height(u: Array, rho: dict[int, Array], oracle: CurveOracle) -> float:
    """The largest H of all columns, in floats, with the multipliers of those that rise or fall."""
    heights = [] if oracle.plain is None else [float(oracle.plain.search(u, math.inf)[0].max())]
    for group, curve in oracle.curves.items():
        part = rho.get(group)
        heights.append(curve_height(curve, u) if part is None else height_with(curve, u, part))
    return max(heights)


def _stored(problem: RegularizedProblem, rho: dict[int, Array]) -> dict[str, Tensor]:
    """The tensor `rho`: one row for each column with multipliers, zeros where no group has it."""
    places = {column: g for g, (column,) in enumerate(problem.group_list())}
    shapes = problem.shapes or ()
    rising = [j for j, shape in enumerate(shapes) if shape in ("increasing", "decreasing")]
    none = np.zeros(len(problem.y))
    rows = [rho[places[j]] if j in places else none for j in rising]
    return {"rho": np.stack(rows)} if rows else {}

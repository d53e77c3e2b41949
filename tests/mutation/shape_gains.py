"""What the curves of a class with shapes can gain at most from a vector u, by a linear program over
bends: the condition of R7 (b) without multipliers, signs and lines.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from scipy.optimize import linprog
from tests.checker.regularized_cases import Case

Array = np.ndarray


def shape_rows(word: str, g: int) -> Array:
    """The rows that have to be >= 0 for neurons of slope c >= 0 at g kinks in a row: those that
    look right, those that look left, and the same with heads below zero.
    """
    after = np.tri(g + 1, g, -1)  # slope in the interval m: neurons to the right of kinks below it
    slopes, bends = np.hstack([after, after - 1.0]), np.hstack([np.eye(g), np.eye(g)])
    rows = {"increasing": slopes, "decreasing": -slopes, "convex": bends, "concave": -bends}
    found = rows.get(word, np.zeros((0, 2 * g)))
    return np.hstack([found, -found])


def largest_gain(case: Case, j: int, u: Array, *, points: int = 120) -> float:
    """The largest -sum_i u_i f_j(x_i) over curves f_j of column j, with their constants, whose
    neurons have sum |v||w| = 1; bends at the data, at zero and at the points of a grid.
    """
    x, form = case.X[:, j], case.form()
    is_free = form["hidden_bias"] == "free"
    tau = np.inf if is_free else float(Fraction(form["tau"]))
    reach = 1.0 + np.ptp(x)
    kinks = np.unique(np.r_[x, 0.0, np.linspace(x.min() - reach, x.max() + reach, points)])
    right, left = np.maximum(x[:, None] - kinks, 0.0), np.maximum(kinks - x[:, None], 0.0)
    values = np.hstack([right, left, -right, -left])
    prices = np.tile(np.hypot(1.0, kinks / tau), 4)
    rows = shape_rows(form["shapes"][j], len(kinks))
    if not is_free:  # neurons without a weight are constants, of any sign
        values = np.hstack([values, np.full((len(x), 1), tau), np.full((len(x), 1), -tau)])
        prices, rows = np.r_[prices, 1.0, 1.0], np.hstack([rows, np.zeros((len(rows), 2))])
    limits = np.r_[np.zeros(len(rows)), 1.0]
    found = linprog(u @ values, A_ub=np.vstack([-rows, prices]), b_ub=limits)
    assert found.success, found.message
    return -float(found.fun)

r"""The dual vector of a network with weight decay: $u_i = \omega_i\,\ell'(f_i)$, moved into the
feasible set of theorem R1, and the floor it stands for. Everything here is in floats; the exact
repair for a certificate is in `repair`.
"""

from __future__ import annotations

import math

import numpy as np

from globalmin._types import Array
from globalmin.regularized.objective import RegularizedProblem
from globalmin.regularized.shared_dual import centered_outputs


def weighted_domain(problem: RegularizedProblem) -> tuple[Array, Array]:
    """Ends of the interval of every entry of u: those of the loss times the weight of the row."""
    low, high = problem.loss.domain(problem.y)
    weight = problem.weights
    with np.errstate(invalid="ignore"):  # 0 times infinity: the row is absent and u is 0
        low, high = weight * low, weight * high
    return np.where(weight > 0, low, 0.0), np.where(weight > 0, high, 0.0)


def centered(problem: RegularizedProblem, u: Array) -> Array | None:
    """The vector moved to sum zero inside the domain, each entry in proportion to its room, where
    the problem asks for that; None if there is not enough room.
    """
    if not problem.penalty.needs_centering:
        return u
    if problem.outputs > 1:
        return centered_outputs(problem, u)
    low, high = weighted_domain(problem)
    room = np.minimum(u - low, high - u)
    room = np.where(np.isinf(room), np.abs(u).max(initial=0.0) * (problem.weights > 0), room)
    excess, total = float(u.sum()), float(room.sum())
    if excess == 0.0:
        return u
    if not abs(excess) < total:
        return None
    return u - excess * (room / total)


def floor_of(problem: RegularizedProblem, u: Array) -> float:
    """The value D(u) of theorem R1, in floats; u is taken to be feasible."""
    used = problem.weights > 0
    weight, y = problem.weights[used], problem.y[used]
    value = -float(weight @ problem.loss.conjugate((u[used].T / weight).T, y))
    if not isinstance(problem.penalty.intercept, str):
        value -= float(np.sum(np.square(u.sum(axis=0)))) / (2.0 * problem.penalty.intercept)
    return value


def saturated(problem: RegularizedProblem) -> float:
    """The sum of the least losses of the rows, which no model undercuts: D(0). Relative gaps are
    shares of the objective above this; it is 0 for all losses but Poisson's.
    """
    shape = problem.y.shape if problem.outputs == 1 else (len(problem.y), problem.outputs)
    return floor_of(problem, np.zeros(shape))


def scale_words(problem: RegularizedProblem) -> str:
    """What a relative gap is a share of, in a sentence about the objective."""
    is_above_zero = saturated(problem) == 0.0
    return "of it" if is_above_zero else "of what it is above the least that any model can have"


def scaled(problem: RegularizedProblem, u: Array, height: float) -> tuple[float, Array]:
    """The best floor along the ray of u, and the vector there; `height` is at least H(u)."""
    top = min(1.0, problem.penalty.weight_decay / height) if height > 0 else 1.0
    tried = [(floor_of(problem, share * u), share) for share in (top, 0.99 * top, 0.9 * top, 0.0)]
    value, share = max((pair for pair in tried if not math.isnan(pair[0])), default=(-math.inf, 0))
    return value, share * u

r"""The dual vector of a certificate: doubles that satisfy the equations and the domains of theorem
R1 exactly, and bounds of the objective that are meant to survive the checker.

All entries are integers times one power of two, so their sum is an integer; it is taken from
entries far from the ends of their domains.
"""

from __future__ import annotations

import math

import numpy as np

from globalmin._types import Array
from globalmin.errors import CannotCertify
from globalmin.regularized.dual import weighted_domain
from globalmin.regularized.network import RegularizedNetwork
from globalmin.regularized.objective import RegularizedProblem
from globalmin.regularized.shared_dual import exact_outputs

# Bits of the largest entry: sums of 2^17 rows stay below 2^63, and rounding is 1e-14 of it.
_BITS = 45
# Room for the floats of this file, as a share of the absolute values that are added up.
_ROUNDING = 2.0**-42
# Room for the floats of an oracle, as a share of H(u).
MARGIN = 2.0**-34


def exact_dual(problem: RegularizedProblem, u: Array) -> Array:
    """Doubles next to u that lie in their domains and, where an intercept or the hidden biases are
    free, sum to zero, both exactly; for several outputs see `exact_outputs`.
    """
    if problem.outputs > 1:
        return exact_outputs(problem, u)
    largest = float(np.abs(u).max(initial=0.0))
    if largest == 0.0:
        return np.zeros_like(u)
    exponent = _BITS - math.frexp(largest)[1]
    low, high = _integer_domain(problem, exponent)
    whole = np.clip(np.rint(np.ldexp(u, exponent)), low, high)
    if problem.penalty.needs_centering:
        whole = _without_sum(whole, low, high)
    return np.ldexp(whole, -exponent)


def _integer_domain(problem: RegularizedProblem, exponent: int) -> tuple[Array, Array]:
    """The ends in units of the last place, rounded inward; the product with a sample weight is
    rounded itself.
    """
    low, high = weighted_domain(problem)
    if problem.sample_weight is not None:
        low, high = np.nextafter(low, 0.0), np.nextafter(high, 0.0)
    with np.errstate(over="ignore"):
        return np.ceil(np.ldexp(low, exponent)), np.floor(np.ldexp(high, exponent))


def _without_sum(whole: Array, low: Array, high: Array) -> Array:
    """Take the sum away, from the entries with the most room first."""
    rest = sum(int(part) for part in whole.tolist())
    room = np.minimum(np.minimum(whole - low, high - whole), 2.0**52)
    changed = whole.copy()
    for i in np.argsort(-room, kind="stable"):
        if rest == 0 or room[i] <= 0:
            break
        part = max(-int(room[i]), min(rest, int(room[i])))
        changed[i] -= part
        rest -= part
    if rest:
        raise CannotCertify(
            "no dual vector with sum zero lies in the domain of the loss: train further, or "
            "penalize the intercept"
        )
    return changed


def objective_above(network: RegularizedNetwork, problem: RegularizedProblem) -> float:
    """A double that is meant to be at least the objective: the sum in floats and the size of its
    rounding.
    """
    loss, y, weight = problem.loss, problem.y, problem.weights
    used = weight > 0
    X, y, weight = problem.X[used], y[used], weight[used]
    f = network.predict(X)
    reach = network.reach(X)
    values = loss.value(f, y)
    penalty = problem.penalty.of(network)
    sizes = weight * (np.abs(values) + _sizes(problem, f, y, reach))
    room = _ROUNDING * (network.width + 16) * (math.fsum(sizes) + penalty)
    return math.fsum([*(weight * values), penalty, room])


def _sizes(problem: RegularizedProblem, f: Array, y: Array, reach: Array) -> Array:
    """What the loss of a row is added up from, at most, besides its value."""
    slopes = np.abs(problem.loss.derivative(f, y))
    if problem.outputs == 1:
        return np.abs(y * f) + slopes * (reach + np.abs(y))
    labels = np.abs(y).max(axis=1) if y.ndim == 2 else np.ones_like(y)
    # a softmax moves by at most twice what the outputs move by, and exponentials are of order one
    return (slopes.sum(axis=1) + 2.0) * (reach + labels)


def floor_below(problem: RegularizedProblem, u: Array, rounding: float = _ROUNDING) -> float:
    """A double that is meant to be at most D(u); a larger `rounding` covers a vector that the
    checker still repairs.
    """
    used, X = problem.weights > 0, problem.X
    weight, y, u = problem.weights[used], problem.y[used], u[used]
    values = weight * problem.loss.conjugate((u.T / weight).T, y)
    sizes = np.abs(values) + _dual_sizes(problem, u, y, weight)
    parts = [*(-values), -rounding * 16 * math.fsum(sizes)]
    if not isinstance(problem.penalty.intercept, str):
        sums = [math.fsum(column) for column in u.T.reshape(problem.outputs, -1)]
        square = math.fsum(s * s for s in sums)
        parts.append(-square * (1.0 + _ROUNDING) / (2.0 * problem.penalty.intercept))
    if not isinstance(problem.penalty.linear, str):
        sums = np.abs(u @ X[used]) + _ROUNDING * (np.abs(u) @ np.abs(X[used]))
        parts.append(-float(sums @ sums) * (1.0 + _ROUNDING) / (2.0 * problem.penalty.linear))
    return math.fsum(parts)


def _dual_sizes(problem: RegularizedProblem, u: Array, y: Array, weight: Array) -> Array:
    """What the conjugate of a row is added up from, at most, besides its value."""
    if problem.outputs == 1:
        return np.abs(u * y) + u * u / weight + np.abs(u)
    squares = np.square(u).sum(axis=1) / weight + np.abs(u).sum(axis=1)
    if y.ndim == 2:
        return np.abs(u * y).sum(axis=1) + squares
    # entropies: each q log q is at most 1/e, q itself is rounded relative to 1
    return squares + problem.outputs * weight

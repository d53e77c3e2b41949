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

# Bits of the largest entry: sums of 2^17 rows stay below 2^63, and rounding is 1e-14 of it.
_BITS = 45
# Room for the floats of this file, as a share of the absolute values that are added up.
_ROUNDING = 2.0**-42
# Room for the floats of an oracle, as a share of H(u).
MARGIN = 2.0**-34


def exact_dual(problem: RegularizedProblem, u: Array) -> Array:
    """Doubles next to u that lie in their domains and, where an intercept or the hidden biases are
    free, sum to zero, both exactly.
    """
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
    values, slopes = loss.value(f, y), np.abs(loss.derivative(f, y))
    penalty = problem.penalty.of(network)
    sizes = weight * (np.abs(values) + np.abs(y * f) + slopes * (reach + np.abs(y)))
    room = _ROUNDING * (network.width + 16) * (math.fsum(sizes) + penalty)
    return math.fsum([*(weight * values), penalty, room])


def floor_below(problem: RegularizedProblem, u: Array, rounding: float = _ROUNDING) -> float:
    """A double that is meant to be at most D(u); a larger `rounding` covers a vector that the
    checker still repairs.
    """
    used, X = problem.weights > 0, problem.X
    weight, y, u = problem.weights[used], problem.y[used], u[used]
    values = weight * problem.loss.conjugate(u / weight, y)
    sizes = np.abs(values) + np.abs(u * y) + u * u / weight + np.abs(u)
    parts = [*(-values), -rounding * 16 * math.fsum(sizes)]
    if not isinstance(problem.penalty.intercept, str):
        parts.append(-(math.fsum(u) ** 2) * (1.0 + _ROUNDING) / (2.0 * problem.penalty.intercept))
    if not isinstance(problem.penalty.linear, str):
        sums = np.abs(u @ X[used]) + _ROUNDING * (np.abs(u) @ np.abs(X[used]))
        parts.append(-float(sums @ sums) * (1.0 + _ROUNDING) / (2.0 * problem.penalty.linear))
    return math.fsum(parts)

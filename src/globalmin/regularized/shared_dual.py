r"""The dual matrix of a network with several outputs, $U_i = \omega_i\nabla\ell(f_i)$: columns that
sum to zero, in floats for training and in exact doubles for a certificate.

For a softmax $q_i = U_i/\omega_i + e_{y_i}$ lies in the simplex: rows sum to zero too, and only the
entries have lower ends. What a column has too much goes, row by row, to a column that has too
little, so that the rows keep their sums.
"""

from __future__ import annotations

import math

import numpy as np

from globalmin._types import Array, NDArray
from globalmin.errors import CannotCertify
from globalmin.losses.several import Softmax, indicators
from globalmin.regularized.objective import RegularizedProblem

# Bits of the largest entry, as for one output: sums of 2^17 rows stay below 2^63.
_BITS = 45
_FAR = 2.0**60


def centered_outputs(problem: RegularizedProblem, U: Array) -> Array | None:
    """The matrix moved to column sums of zero inside its domain; None if there is not enough
    room.
    """
    excess = U.sum(axis=0)
    if not excess.any():
        return U
    weight = problem.weights
    if not isinstance(problem.loss, Softmax):
        share = weight / weight.sum()
        return U - share[:, None] * excess
    surplus, lack = np.maximum(excess, 0.0), np.maximum(-excess, 0.0)
    room = np.maximum(U + weight[:, None] * indicators(problem.y, problem.outputs), 0.0)
    total = room.sum(axis=0)
    if (surplus >= total).any() and surplus.any():
        return None
    taken = room * np.divide(surplus, total, out=np.zeros_like(total), where=total > 0)
    given = lack / lack.sum() if lack.any() else np.full_like(lack, 1.0 / lack.size)
    return U - taken + taken.sum(axis=1, keepdims=True) * given


def exact_outputs(problem: RegularizedProblem, U: Array) -> Array:
    """Doubles next to U that lie in their domains and whose columns, where intercepts or hidden
    biases are free, sum to zero; for a softmax the rows do too. All exactly.
    """
    largest = float(np.abs(U).max(initial=0.0))
    if largest == 0.0:
        return np.zeros_like(U)
    exponent = _BITS - math.frexp(largest)[1]
    whole = np.rint(np.ldexp(U, exponent)).astype(np.int64)
    whole[problem.weights == 0] = 0
    is_centered = problem.penalty.needs_centering
    if isinstance(problem.loss, Softmax):
        _into_simplex(problem, whole, exponent, is_centered=is_centered)
    elif is_centered:
        row = int(np.argmax(problem.weights))
        whole[row] -= whole.sum(axis=0)
    return np.ldexp(whole.astype(np.float64), -exponent)


def _into_simplex(
    problem: RegularizedProblem, whole: NDArray[np.int64], exponent: int, *, is_centered: bool
) -> None:
    """In place: entries of other classes at least 0, the own one minus their sum and at least minus
    the weight; then the columns, one surplus after the other.
    """
    own = problem.y.astype(np.int64)
    rows = np.arange(len(own))
    # the product with a power of two is not rounded; far below all entries any number will do
    least = -np.floor(np.minimum(np.ldexp(problem.weights, exponent), _FAR)).astype(np.int64)
    np.maximum(whole, 0, out=whole, where=indicators(problem.y, problem.outputs) == 0)
    whole[rows, own] = 0
    whole[rows, own] = -whole.sum(axis=1)
    for i in np.flatnonzero(whole[rows, own] < least):  # rounding of a row without own probability
        other = int(np.argmax(whole[i]))
        whole[i, other] -= least[i] - whole[i, own[i]]
        whole[i, own[i]] = least[i]
    if is_centered:
        _without_sums(whole, rows, own, least)


def _without_sums(
    whole: NDArray[np.int64],
    rows: NDArray[np.int64],
    own: NDArray[np.int64],
    least: NDArray[np.int64],
) -> None:
    """In place: move what columns have too much to those that lack it, inside rows with room."""
    low = np.zeros_like(whole)
    low[rows, own] = least
    sums = whole.sum(axis=0)
    while sums.any():
        a, b = int(np.argmax(sums)), int(np.argmin(sums))
        i = int(np.argmax(whole[:, a] - low[:, a]))
        part = min(int(whole[i, a] - low[i, a]), int(sums[a]), -int(sums[b]))
        if part <= 0:
            raise CannotCertify(
                "no dual matrix with column sums of zero lies in the domain of the softmax: train "
                "further, or penalize the intercepts"
            )
        whole[i, a] -= part
        whole[i, b] += part
        sums[a] -= part
        sums[b] += part

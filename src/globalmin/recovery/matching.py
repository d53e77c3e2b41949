"""Which recovered neuron is which true one: the best assignment, and the errors after it
(FCL-MATCH).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from globalmin._types import Array, NDArray
from globalmin.errors import DataError
from globalmin.references import states


@dataclass(frozen=True)
class Matching:
    """The best assignment of recovered to true neurons.

    Attributes
    ----------
    order : row order[i] of the recovered weights belongs to row i of the true ones.
    error : Frobenius distance after reordering.
    relative_error : the same over the norm of the true weights.
    cosines, norm_ratios : per true neuron.
    """

    order: NDArray[np.intp]
    error: float
    relative_error: float
    cosines: Array
    norm_ratios: Array


@states("FCL-MATCH")
def match_neurons(weights: Array, true_weights: Array) -> Matching:
    """The permutation of the rows of `weights` nearest to `true_weights` in Frobenius norm, by the
    Hungarian algorithm.

    No sign is free: phi(-z) is another function than phi(z), up to a constant for odd ones.
    """
    from scipy.optimize import linear_sum_assignment

    found, truth = np.asarray(weights, dtype=np.float64), np.asarray(true_weights, dtype=np.float64)
    if found.shape != truth.shape or found.ndim != 2 or 0 in found.shape:
        raise DataError(
            f"weights have shape {found.shape} and true_weights {truth.shape}; both must be "
            "(neurons, features)"
        )
    cost = ((truth[:, None, :] - found[None, :, :]) ** 2).sum(axis=2)
    order = linear_sum_assignment(cost)[1]
    matched = found[order]
    error = float(np.linalg.norm(matched - truth))
    lengths, true_lengths = (
        np.linalg.norm(matched, axis=1),
        np.maximum(np.linalg.norm(truth, axis=1), 1e-300),
    )
    cosines = np.einsum("ij,ij->i", matched, truth) / np.maximum(lengths * true_lengths, 1e-300)
    return Matching(
        order,
        error,
        error / max(float(np.linalg.norm(truth)), 1e-300),
        cosines,
        lengths / true_lengths,
    )


@states("FCL-E1")
def spread(points: Array) -> float:
    r"""$SD_n = \sqrt{\frac1L\sum_l\|W^{(l)} - \bar W\|_F^2}$ of L end points of descent, L x K x d.

    Small when all runs end at the same point, *which need not be the teacher*: always read it
    beside the estimation error.
    """
    if points.ndim != 3 or len(points) == 0:
        raise DataError(f"points has shape {points.shape}; give L end points as an L x K x d array")
    return float(np.sqrt(((points - points.mean(axis=0)) ** 2).sum(axis=(1, 2)).mean()))

r"""The quantities that the theorems speak of, measured once for a data set and an activation.
Estimates in floats.

Degenerate rows (equal, opposite, proportional, zero) are found exactly.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from globalmin._types import Array
from globalmin.activations.moments import hermite_coefficients, mean_square, variance
from globalmin.data.memory import gram_bytes, matrix_bytes, require_memory
from globalmin.facts.instance import Measurements
from globalmin.kernels.limit_gram import limit_gram
from globalmin.kernels.separation import separation
from globalmin.linalg.extremes import Extremes, extremes
from globalmin.linalg.quartic import estimate_quartic_rows, estimate_quartic_svec
from globalmin.shallow.widths import (
    free_outputs,
    function_space_dimension,
    parallel_groups,
    recommended_width,
)

if TYPE_CHECKING:
    from globalmin.activations import Activation
    from globalmin.data import Dataset
    from globalmin.data.degeneracy import Degeneracy

    Moment = Callable[[Activation, Array], Array]

SVEC_LIMIT = 300  # d(d+1)/2 up to which the sharper bound of the quartic form costs little
SPLINE_KNOTS = 48  # distinct row norms beyond which moments are interpolated, to about 1e-7
GRAM_COPIES = 6  # n x n arrays alive at the same time


def require_room(n: int, d: int, k: int) -> None:
    """Refuse, with the figure, an inspection whose n x n and n x k arrays do not fit into
    memory.
    """
    needed = (
        gram_bytes(n, copies=GRAM_COPIES)
        + matrix_bytes(n, k, copies=3)
        + matrix_bytes(k, d, copies=2)
    )
    require_memory(
        needed, f"the inspection of n={n:,} samples at width {k:,} ({GRAM_COPIES} n x n arrays)"
    )


def measure(data: Dataset, activation: Activation) -> Measurements:
    """All quantities of a data set with one target; cost a few eigenvalue problems of size n."""
    X, y = np.asarray(data.X, dtype=np.float64), np.asarray(data.y, dtype=np.float64)
    norms, facts = np.linalg.norm(X, axis=1), data.degeneracy
    positive = norms[norms > 0]
    K = X @ X.T
    squares = _squares(K, facts)
    frobenius = float(np.linalg.norm(K))
    del K
    rank = max(1, int(np.linalg.matrix_rank(X)))
    outputs = free_outputs(facts, activation)
    return Measurements(
        X, y, activation, facts,
        B=float(activation.supremum(1)), M=float(activation.supremum(2)),
        row_norms=(float(norms.min()), float(norms.max())),
        X_norm=float(np.linalg.norm(X, 2)), K_frobenius=frobenius, y_norm=float(np.linalg.norm(y)),
        slope=_slope(X, activation, facts), feature=_feature(X, activation, facts), squares=squares,
        kappa4=_quartic(X), separation=separation(X),
        mu=float(hermite_coefficients(activation, 2, order=1)[1]),
        variance=_mean_over_rows(variance, activation, positive, len(norms), at_zero=0.0),
        mean_square=_mean_over_rows(mean_square, activation, positive, len(norms),
        at_zero=float(activation(0.0)) ** 2),
        rank=rank, free_outputs=outputs,
        recommended_width=recommended_width(min(outputs, function_space_dimension(activation,
        rank)), rank),
    )  # fmt: skip


def _slope(X: Array, activation: Activation, facts: Degeneracy) -> Extremes:
    """Sigma is the Gram matrix of w -> phi'(w.x) x: singular for certain when a row is zero or two
    rows are tied.
    """
    return extremes(
        limit_gram(X, activation),
        is_singular=bool(facts.zero_rows or parallel_groups(facts, activation)),
    )


def _feature(X: Array, activation: Activation, facts: Degeneracy) -> Extremes:
    zero = bool(facts.zero_rows) and (activation.vanishes_at_zero or len(facts.zero_rows) > 1)
    return extremes(
        limit_gram(X, activation, kind="feature"),
        is_singular=zero or bool(parallel_groups(facts, activation)),
    )


def _squares(K: Array, facts: Degeneracy) -> Extremes:
    n, d = facts.X.shape
    return extremes(
        np.square(K), is_singular=bool(facts.lines or facts.zero_rows or n > d * (d + 1) // 2)
    )


def _quartic(X: Array) -> float:
    n, d = X.shape
    weights = np.ones(n)
    return (
        estimate_quartic_svec(X, weights).kappa
        if d * (d + 1) // 2 <= SVEC_LIMIT
        else estimate_quartic_rows(X, weights)
    )


def _mean_over_rows(
    moment: Moment, activation: Activation, norms: Array, n: int, *, at_zero: float
) -> float:
    """Mean over all n rows of a Gaussian moment at the row's norm; equal norms are computed once,
    many by a spline.
    """
    if not norms.size:
        return at_zero
    scales, counts = np.unique(np.round(norms, 12), return_counts=True)
    if scales.size > SPLINE_KNOTS:
        from scipy.interpolate import CubicSpline

        knots = np.linspace(math.log(scales[0]), math.log(scales[-1]), SPLINE_KNOTS)
        values = CubicSpline(knots, moment(activation, np.exp(knots)))(np.log(scales))
    else:
        values = moment(activation, scales)
    return (float(values @ counts) + at_zero * (n - norms.size)) / n

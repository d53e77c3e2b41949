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
from globalmin.activations.moments import mean_square, slope_coefficients, variance
from globalmin.data.validation import gram_bytes, matrix_bytes, require_memory
from globalmin.facts.instance import Measurements, Start
from globalmin.kernels.khatri_rao import separation
from globalmin.kernels.limit_gram import limit_gram
from globalmin.kernels.movement import kink_descent
from globalmin.linalg.quartic import estimate_quartic_rows, estimate_quartic_svec
from globalmin.linalg.spectrum import Extremes, extremes, spectral_norm
from globalmin.shallow.guarantee import KinkDescent
from globalmin.shallow.lipschitz import estimate_lipschitz
from globalmin.shallow.network import jacobian_gram, preactivations, residual
from globalmin.shallow.provability import Linearization, descent_quantities, newton_ratio
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
    from globalmin.shallow.network import ShallowNetwork

    Moment = Callable[[Activation, Array], Array]


KINK_LIMIT = 20_000_000  # pre-activations up to which the scan of OS-C3 takes seconds


def measure_start(
    network: ShallowNetwork, m: Measurements, *, limit: Array, is_given: bool = False
) -> Start:
    """Measure a network; `limit` is the limiting Gram matrix Sigma, which is used up."""
    K = jacobian_gram(network, m.X)
    r = residual(network, m.X, m.y)
    limit -= K / float(network.v @ network.v)
    deviation = spectral_norm(limit)
    gram = extremes(
        K, is_singular=(m.slope.low == 0.0 and m.slope.is_resolved) or network.W.size < m.n
    )
    a, g = math.sqrt(gram.low), float(np.linalg.norm(r))
    e = _newton_step(K, r) if a > 0.0 else math.inf
    Lip = (
        estimate_lipschitz(network, m.X, 2.0 * g / a)
        if a > 0.0 and m.activation.is_smooth
        else math.inf
    )
    ratio = 2.0 * Lip * g / a**2 if math.isfinite(Lip) else math.inf
    point = Linearization(a, math.sqrt(gram.high), e, g)
    descent = descent_quantities(point, Lip) if math.isfinite(Lip) else None
    newton = newton_ratio(a, e, Lip) if math.isfinite(Lip) else math.inf
    kink = _kink(network, m, point)
    return Start(network, gram, g, ratio, newton, descent, kink, Lip, deviation, is_given)


def _newton_step(K: Array, r: Array) -> float:
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    try:
        return math.sqrt(max(float(r @ cho_solve(cho_factor(K, check_finite=False), r)), 0.0))
    except LinAlgError:
        return math.inf


def _kink(network: ShallowNetwork, m: Measurements, point: Linearization) -> KinkDescent | None:
    if not m.is_relu or point.a == 0.0 or m.n * network.width > KINK_LIMIT:
        return None
    norms = np.linalg.norm(m.X, axis=1)
    Z = preactivations(network, m.X)
    return kink_descent(Z, network.v, norms, m.X_norm, a=point.a, b=point.b, residual_norm=point.g)


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
        mu=float(slope_coefficients(activation, 2)[1]),
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
    zero = bool(facts.zero_rows) and activation.vanishes_at_zero  # if not, zero rows are equal rows
    return extremes(
        limit_gram(X, activation, kernel="features"),
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

r"""Reasons to doubt recovered weights, all read at the end point: the error to be expected, the
curvature, the fit, the boundary of what can be told; never the start, whose faults descent may have
mended.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from globalmin._options import Estimator, Labels
from globalmin._types import Array
from globalmin.recovery.descent import local_descent
from globalmin.recovery.geometry import empirical_loss
from globalmin.recovery.moments import saturation_norm

if TYPE_CHECKING:
    from globalmin.activations import Activation
    from globalmin.recovery.tensor_initialization import TensorStart
    from globalmin.recovery.uncertainty import ErrorBars

LOST = 0.5  # relative error above which weights are lost
CHANCE = 0.001  # of being lost that is not worth a warning
EXACT = 1e-6  # noise over the spread of the labels below which they count as fitted exactly
UNFINISHED = 0.01  # relative length of the Newton step that is left
PARALLEL = 0.95
SIGMAS = 6.0  # of every test below
SAMPLE, FEATURES = 20_000, 40
SMALL_GAP, SMALL_CONTRACTION = 0.1, 0.05


def is_exact(bars: ErrorBars, y: Array) -> bool:
    """Labels fitted to rounding at a minimum with curvature: nothing is left to doubt."""
    return bars.noise <= EXACT * float(np.std(y)) and bars.expected_error <= 1e3 * EXACT


def input_deviation(X: Array) -> tuple[float, float]:
    """How far first and second moments are from those of N(0, I), and six standard errors of
    that.
    """
    part = X[:SAMPLE]
    n, d = part.shape
    mean, covariance = part.mean(axis=0), part.T @ part / n
    off = max(float(np.linalg.norm(mean)), float(np.linalg.norm(covariance - np.eye(d), 2)) / 2.0)
    return off, SIGMAS * (math.sqrt(d / n) + d / n)


def input_doubts(X: Array) -> list[str]:
    """Rows that do not look like N(0, I), the law that the start reads the moments against."""
    off, noise = input_deviation(X)
    if off <= noise:
        return []
    return [
        f"the inputs do not look like N(0, I) (deviation {off:.2g}, {noise:.2g} allowed), so the "
        "start may lie in a wrong basin; for Gaussian inputs of another mean or covariance give "
        "inputs='gaussian'"
    ]


def start_notes(start: TensorStart, cap: float) -> tuple[str, ...]:
    """What the moments did not show clearly: for reading, not for judging the end."""
    found = []
    if start.clipped.any():
        which = ", ".join(str(i) for i in np.flatnonzero(start.clipped))
        found.append(
            f"clipped norms: the first moment of neuron(s) {which} exceeds what norms up to "
            f"{cap:.3g} give; a guess"
        )
    if start.subspace.gap < SMALL_GAP:
        found.append(
            f"small gap {start.subspace.gap:.2g}: the moments do not show {len(start.weights)} "
            "directions clearly"
        )
    if start.orders.matrix == 3 and float(start.contractions.min()) < SMALL_CONTRACTION:
        found.append(
            "vanishing moment: a neuron is nearly orthogonal to alpha (cosine "
            f"{start.contractions.min():.2g}), hardly seen"
        )
    return tuple(found)


def end_doubts(
    bars: ErrorBars, X: Array, y: Array, phi: Activation, *, labels: Labels, estimator: Estimator
) -> list[str]:
    """Not finished, no minimum, weights not known, labels not explained, lengths at the boundary;
    `bars` are those of the rows X, on which descent ran.
    """
    W, found = bars.weights, []
    error = bars.expected_error
    left = float(np.linalg.norm(bars.drift)) / max(float(np.linalg.norm(W)), 1e-300)
    if not bars.curvature > 0.0:
        found.append(
            f"no minimum: the least curvature at the end is {bars.curvature:.2g}, so descent is "
            "not finished (raise max_iter) or a direction of the weights is not determined"
        )
    elif left > UNFINISHED:
        found.append(
            f"descent not finished: a Newton step of {100 * left:.2g} % of the weights is left; "
            "raise max_iter"
        )
    if bars.likely_error(CHANCE) > LOST:
        known = "not at all" if math.isinf(error) else f"to about {100 * error:.0f} %"
        found.append(
            f"weights not known: {X.shape[0]} samples determine them {known} (relative error to "
            f"be expected), and an error above {100 * LOST:.0f} % cannot be excluded; give more "
            "samples"
        )
        pair = parallel_pair(W)
        if pair is not None:
            found.append(
                f"parallel neurons: {pair[0]} and {pair[1]} nearly agree up to sign, so lengths "
                "can be traded between them"
            )
    misfit = misfit_sigmas(W, X, y, phi, labels=labels, estimator=estimator)
    if misfit > SIGMAS:
        found.append(
            f"labels not fitted: what is left of them depends on the inputs ({misfit:.2g} standard "
            "deviations); another number of neurons, offsets, another activation, or a spurious "
            "minimum"
        )
    norms, cap = np.linalg.norm(W, axis=1), saturation_norm(phi)
    spread = np.linalg.norm(bars.standard_errors, axis=1) / np.maximum(norms, 1e-300)
    if ((norms > cap) & (spread > 0.1)).any():
        found.append(
            f"saturated norms: a neuron of norm {norms.max():.3g} > {cap:.3g} acts like a step, "
            "its length is uncertain"
        )
    return found


def parallel_pair(W: Array) -> tuple[int, int] | None:
    """The rows with the largest absolute cosine, if it is above `PARALLEL`."""
    unit = W / np.maximum(np.linalg.norm(W, axis=1, keepdims=True), 1e-300)
    cosines = np.abs(unit @ unit.T) - np.eye(len(W))
    i, j = np.unravel_index(int(cosines.argmax()), cosines.shape)
    return (int(min(i, j)), int(max(i, j))) if cosines[i, j] > PARALLEL else None


def misfit_sigmas(
    W: Array,
    X: Array,
    y: Array,
    phi: Activation,
    *,
    labels: Labels,
    estimator: Estimator = "squares",
) -> float:
    r"""How many standard deviations the residuals are away from being unrelated to the inputs.

    A score test against x and 40 random neurons: with h a feature, $\tilde h$ its part orthogonal
    to the Jacobian's columns, and variances v of the labels, $T = e^T\tilde H(\tilde H^Tv\tilde
    H)^{-1}\tilde H^Te$ is about chi-square with m degrees of freedom if the network is right;
    returned is $(T-m)/\sqrt{2m}$.
    """
    rows, K = slice(0, SAMPLE), len(W)
    X, y = X[rows], y[rows]
    Z = X @ W.T
    p = phi(Z).mean(axis=1)
    e, slope = p - y, phi.derivative(Z) / K
    J = (slope[:, :, None] * X[:, None, :]).reshape(len(X), W.size)
    variances = np.full(len(X), float(e @ e) / max(len(X) - W.size, 1))
    weights = np.ones(len(X))
    if labels == "classification":
        inside = np.clip(p, 1e-6, 1.0 - 1e-6)
        variances = inside * (1.0 - inside)
        weights = 1.0 / variances if estimator == "likelihood" else weights
    rng = np.random.default_rng(0)
    U, shifts = rng.standard_normal((FEATURES, X.shape[1])), rng.standard_normal(FEATURES)
    H = np.column_stack([X, np.tanh(X @ U.T + shifts)])
    roots = np.sqrt(weights)[:, None]
    H = weights[:, None] * (H - J @ np.linalg.lstsq(roots * J, roots * H, rcond=None)[0])
    covariance = (H * variances[:, None]).T @ H
    eigenvalues, vectors = np.linalg.eigh(covariance)
    kept = eigenvalues > 1e-9 * eigenvalues[-1]
    m = int(kept.sum())
    if len(X) <= W.size + m or m == 0:
        return 0.0
    statistic = float((((vectors[:, kept].T @ (H.T @ e)) ** 2) / eigenvalues[kept]).sum())
    return (statistic - m) / math.sqrt(2.0 * m)


def indistinct_pair(bars: ErrorBars, X: Array, y: Array, phi: Activation) -> tuple[int, int] | None:
    """Two neurons on one line that may as well both be their mean (equal neurons, or opposite ones
    that cancel): then no number of samples tells them apart.

    The pair is replaced by its mean and descent continued from there, which keeps them equal; if
    the loss is not significantly worse, they are indistinct.
    """
    W, pair = bars.weights, parallel_pair(bars.weights)
    if pair is None:
        return None
    merged = W.copy()
    merged[list(pair)] = W[list(pair)].mean(axis=0)
    found = local_descent(X, y, merged, phi, step="curvature", max_iter=300)
    worse = float(found.losses[-1]) - empirical_loss(W, X, y, phi)
    d = W.shape[1]
    allowed = bars.noise**2 * (d + SIGMAS * math.sqrt(2.0 * d)) / (2.0 * len(X))
    allowed += (EXACT * float(np.std(y))) ** 2 / 2.0  # what counts as fitted exactly
    return pair if worse <= allowed else None

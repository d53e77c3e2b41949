r"""Neurons that would lower the objective: directions w with
$|\sum_i u_i\,\mathrm{relu}(z_i\cdot w)| > b|w|$, by sampling and local ascent.

The sum is neither convex nor concave in w, so the largest value found is a lower estimate of H(u).
A bound from above is the subject of `spectral` and of the cones.
"""

from __future__ import annotations

import numpy as np

from globalmin._types import Array
from globalmin.regularized.design import Design

SAMPLES = 400
ASCENTS = 12  # best samples of each sign that are improved
STEPS = 60


def steepest_directions(
    design: Design, u: Array, rng: np.random.Generator, known: Array | None = None
) -> tuple[Array, Array]:
    """Directions (m x p, penalized part of norm 1) and the values of the sum there, largest
    absolute value first; both signs.

    Parameters
    ----------
    design, u : the problem and the derivative of the loss at the outputs.
    rng : source of the samples.
    known : directions to start from besides.
    """
    p = design.Z.shape[1]
    sample = rng.standard_normal((SAMPLES, p))
    if known is not None and len(known):
        near = known + 0.1 * np.linalg.norm(known, axis=1)[:, None] * rng.standard_normal(
            known.shape
        )
        sample = np.vstack([sample, known, near])
    found, values = [], []
    for sign in (1.0, -1.0):
        W, value = _ascended(design, sign * u, sample)
        found.append(W)
        values.append(sign * value)
    directions, sums = np.vstack(found), np.concatenate(values)
    order = np.argsort(-np.abs(sums))
    return directions[order], sums[order]


def estimate_height(
    design: Design, u: Array, rng: np.random.Generator, known: Array | None = None
) -> float:
    """The largest value found of |sum u_i relu(z_i.w)| over |w| <= 1: a lower estimate of H(u)."""
    return float(np.abs(steepest_directions(design, u, rng, known)[1]).max())


def _ascended(design: Design, u: Array, sample: Array) -> tuple[Array, Array]:
    """The best samples for one sign, improved until no step helps."""
    W = _normalized(design, u, sample)
    value = _sums(design, u, W)
    best = np.argsort(-value)[:ASCENTS]
    W, value = W[best], value[best]
    reach = np.full(len(W), np.inf)  # the step is the whole way to the gradient at first
    for _ in range(STEPS):
        gradient = _gradients(design, u, W)
        share = np.where(np.isinf(reach), 1.0, np.minimum(reach, 1.0))[:, None]
        candidate = _normalized(design, u, (1.0 - share) * W + share * gradient)
        reached = _sums(design, u, candidate)
        is_better = reached > value
        W = np.where(is_better[:, None], candidate, W)
        value = np.where(is_better, reached, value)
        reach = np.where(is_better, np.minimum(2.0 * share[:, 0], 1.0), 0.4 * share[:, 0])
        if reach.max() < 1e-9:
            break
    return W, value


def _normalized(design: Design, u: Array, W: Array) -> Array:
    """Penalized part of norm 1, and a free bias at the best kink."""
    norms = np.linalg.norm(W * design.decayed, axis=1)
    W = W / np.where(norms > 0, norms, 1.0)[:, None]
    if not design.is_free:
        return W
    t = design.Z[:, :-1] @ W[:, :-1].T
    W = W.copy()
    W[:, -1] = -_best_kinks(t, u)
    return W


def _best_kinks(t: Array, u: Array) -> Array:
    """For every column of t the entry t_k with the largest sum of u_i relu(t_i - t_k)."""
    order = np.argsort(-t, axis=0)
    sorted_t = np.take_along_axis(t, order, axis=0)
    sorted_u = u[order]
    values = np.cumsum(sorted_u * sorted_t, axis=0) - sorted_t * np.cumsum(sorted_u, axis=0)
    return np.take_along_axis(sorted_t, values.argmax(axis=0)[None], axis=0)[0]


def _sums(design: Design, u: Array, W: Array) -> Array:
    return u @ np.maximum(design.Z @ W.T, 0.0)


def _gradients(design: Design, u: Array, W: Array) -> Array:
    """Gradients of the sums, scaled to norm 1; with a free bias the kink moves along."""
    active = (design.Z @ W.T > 0.0) * u[:, None]
    gradient = active.T @ design.Z
    if design.is_free:
        kinks = np.abs(design.Z @ W.T).argmin(axis=0)
        gradient = gradient - active.sum(axis=0)[:, None] * design.Z[kinks]
        gradient[:, -1] = 0.0
    norms = np.linalg.norm(gradient, axis=1)
    return gradient / np.where(norms > 0, norms, 1.0)[:, None]

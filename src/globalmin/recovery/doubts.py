"""Reasons to doubt recovered weights, each one visible in the data without knowing the teacher."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from globalmin._types import Array
from globalmin.recovery.moments import saturation_norm

if TYPE_CHECKING:
    from globalmin.activations import Activation
    from globalmin.recovery.descent import Descent
    from globalmin.recovery.tensor_initialization import TensorStart


SMALL_GAP = 0.1
SMALL_CONTRACTION = 0.05
PARALLEL = 0.95
FIT = 1e-10  # loss 1/(2n) above which noiseless labels count as not fitted
SAMPLE = 20_000


def input_warnings(X: Array) -> list[str]:
    """Rows that do not look like N(0, I): first and second moments beyond six standard errors."""
    part = X[:SAMPLE]
    n, d = part.shape
    noise = 6.0 * (math.sqrt(d / n) + d / n)
    mean, covariance = part.mean(axis=0), part.T @ part / n
    off = max(float(np.linalg.norm(mean)), float(np.linalg.norm(covariance - np.eye(d), 2)) / 2.0)
    if off > noise:
        return [
            f"the inputs do not look like N(0, I) (deviation {off:.2g}); the moments are read "
            "against that law, whiten them"
        ]
    return []


def start_warnings(start: TensorStart, cap: float) -> list[str]:
    """Clipped norms, a small gap, vanishing contractions and parallel directions of the start from
    moments.
    """
    found = []
    if start.clipped.any():
        which = ", ".join(str(i) for i in np.flatnonzero(start.clipped))
        found.append(
            f"clipped norms: the first moment of neuron(s) {which} exceeds what norms up to "
            f"{cap:.3g} give; a guess"
        )
    if start.subspace.gap < SMALL_GAP:
        found.append(
            f"small gap {start.subspace.gap:.2g}: the data do not show {len(start.weights)} "
            "directions; give more samples, fewer neurons, or suspect parallel or opposite neurons"
        )
    if start.orders.matrix == 3 and float(start.contractions.min()) < SMALL_CONTRACTION:
        found.append(
            "vanishing moment: a neuron is nearly orthogonal to alpha (cosine "
            f"{start.contractions.min():.2g}), hardly seen"
        )
    if parallel_pair(start.weights):
        found.append(
            "parallel neurons in the start: two recovered directions nearly agree up to sign"
        )
    return found


def parallel_pair(W: Array) -> bool:
    """Whether two rows have an absolute cosine above `PARALLEL`."""
    unit = W / np.maximum(np.linalg.norm(W, axis=1, keepdims=True), 1e-300)
    cosines = np.abs(unit @ unit.T) - np.eye(len(W))
    return bool(cosines.max() > PARALLEL)


def descent_warnings(descent: Descent, phi: Activation, labels: str, *, tol: float) -> list[str]:
    """Descent not finished, labels not fitted, parallel or saturated neurons at its end."""
    found, cap = [], saturation_norm(phi)
    if descent.gradient_norm > tol * 100:
        found.append(
            f"descent not finished: gradient norm {descent.gradient_norm:.2g}; raise max_iter"
        )
    if labels == "regression" and float(descent.losses[-1]) > FIT:
        found.append(
            f"labels not fitted: loss {descent.losses[-1]:.2g}; noise, another number of neurons, "
            "or a spurious minimum"
        )
    if parallel_pair(descent.weights):
        found.append(
            "parallel neurons: two recovered directions nearly agree up to sign, so lengths can be "
            "traded between them"
        )
    norms = np.linalg.norm(descent.weights, axis=1)
    if norms.max() > cap:
        found.append(
            f"saturated norms: a neuron of norm {norms.max():.3g} > {cap:.3g} acts like a step, "
            "its length is uncertain"
        )
    return found

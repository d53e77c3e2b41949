"""Arrays behind the figures, measured on a trained network, and what ridge regression, a plain
linear model, scores on the same rows. Estimates in floats: what is proved comes from the checker
only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from globalmin._options import Trained
from globalmin._types import Array
from globalmin.deep.network import DeepNetwork
from globalmin.linalg.symmetric import moment_matrix
from globalmin.quadratic.duality import decay_threshold
from globalmin.shallow.network import ShallowNetwork, jacobian_gram, preactivations, residual

LARGEST_SPECTRUM = 4000  # eigenvalues cost n^3: about ten seconds here on two cores


@dataclass(frozen=True)
class Margins:
    """Histogram of |w_l . x_i| over neurons and samples; `largest_norm` is the largest norm of a
    row of X.
    """

    edges: Array
    counts: Array
    smallest: float
    largest_norm: float


def estimate_spectrum(
    network: ShallowNetwork | DeepNetwork, X: Array, *, trained: Trained = "W"
) -> Array | None:
    """Eigenvalues of K = J J^T, largest first, of a deep network that of all layers; None beyond
    `LARGEST_SPECTRUM` samples.
    """
    if X.shape[0] > LARGEST_SPECTRUM:
        return None
    if isinstance(network, DeepNetwork):
        K = np.sum(network.layer_grams(X), axis=0)
        return np.linalg.eigvalsh(K)[::-1].astype(np.float64)
    return np.linalg.eigvalsh(jacobian_gram(network, X, trained=trained))[::-1].astype(np.float64)


def estimate_margins(network: ShallowNetwork, X: Array) -> Margins | None:
    """Distances of the pre-activations from the kink at 0; None if all of them are zero."""
    distances = np.abs(preactivations(network, X)).ravel()
    positive = distances[distances > 0]
    if not positive.size:
        return None
    exponents = np.log10(positive)
    edges = np.histogram_bin_edges(exponents, bins=min(40, max(8, int(np.sqrt(positive.size)))))
    counts, _ = np.histogram(exponents, bins=edges)
    return Margins(
        10.0**edges,
        counts.astype(np.float64),
        float(distances.min()),
        float(np.linalg.norm(X, axis=1).max()),
    )


def estimate_quadratic(
    network: ShallowNetwork, X: Array, y: Array, *, weight_decay: float = 0.0
) -> dict[str, Any]:
    """Facts about a quadratic network beside its proof.

    `zero` and `linear` are the objectives of zero weights and (without weight decay) of the
    least-squares line; `threshold` is c of theorem D and `dual_eigenvalues` the spectrum of Z = sum
    r x x^T it is compared with; `n` and `needed` = d(d+1)/2 count samples and unknowns.
    """
    n, d = X.shape
    line = X @ np.linalg.lstsq(X, y, rcond=None)[0] - y
    Z = moment_matrix(X, residual(network, X, y))
    return {
        "zero": 0.5 * float(y @ y),
        "linear": None if weight_decay else 0.5 * float(line @ line),
        "threshold": decay_threshold(weight_decay, float(np.abs(network.v).max()))
        if weight_decay
        else 0.0,
        "dual_eigenvalues": np.linalg.eigvalsh(Z).tolist(),
        "n": n,
        "needed": d * (d + 1) // 2,
    }


def estimate_r2(targets: Array, outputs: Array) -> float | None:
    """Coefficient of determination; None where it means nothing (fewer than two rows, or constant
    targets).
    """
    if targets.size < 2:
        return None
    total = float(np.square(targets - targets.mean()).sum())
    return None if total == 0.0 else 1.0 - float(np.square(targets - outputs).sum()) / total


FEWEST_ROWS = 3
RIDGE_DECAYS = np.logspace(-4, 6, 41)


def ridge_outputs(X: Array, y: Array, X_held_out: Array) -> tuple[Array, Array] | None:
    """Outputs of cross-validated ridge regression on training and held-out rows; None for fewer
    than three rows.
    """
    if len(y) < FEWEST_ROWS or not len(X_held_out):
        return None
    mean, scale = X.mean(axis=0), X.std(axis=0)
    scale[scale <= 10 * np.finfo(float).eps * np.maximum(np.abs(mean), 1.0)] = 1.0
    left, s, right = np.linalg.svd((X - mean) / scale, full_matrices=False)
    along = left.T @ (y - y.mean())
    fits = [_left_out_error(left, s * s / (s * s + decay), along, y) for decay in RIDGE_DECAYS]
    decay = RIDGE_DECAYS[int(np.argmin(fits))]
    slopes = right.T @ (s / (s * s + decay) * along)
    inputs = ((Z - mean) / scale @ slopes + y.mean() for Z in (X, X_held_out))
    return next(inputs), next(inputs)


def _left_out_error(left: Array, shrunk: Array, along: Array, y: Array) -> float:
    """Sum of squared errors of ridge regression at every row when that row is left out."""
    error = y - y.mean() - left @ (shrunk * along)
    share = 1.0 / len(y) + (left * left) @ shrunk
    return float(np.sum(np.square(error / np.maximum(1.0 - share, 1e-12))))

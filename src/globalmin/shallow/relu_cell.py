r"""Quantities of theorem RI: a zero-loss ReLU network in the activation cell of the present
weights.

Floating-point estimates; the checker proves the inequalities with exact numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from globalmin._types import Array, NDArray
from globalmin.references import states

if TYPE_CHECKING:
    Indices = NDArray[np.int64]


def cell_slopes(Z: Array, v: Array) -> Array:
    """v_l 1{z_il > 0}, n x k: slopes of the outputs in the pre-activations within the cell."""
    return np.where(Z > 0, v, 0.0)


def cell_gram(X: Array, slopes: Array, neurons: Indices) -> Array:
    r"""$G_{ij} = (x_i \cdot x_j) \sum_{l \in T} v_l^2 D_{li} D_{lj}$ for the neurons T."""
    S = slopes[:, neurons]
    G = S @ S.T
    G *= X @ X.T
    return G


def relative_margins(Z: Array, X: Array, error: Array | float = 0.0) -> Array:
    r"""$m_l = \min_i (|z_{il}| - \mathrm{error}_{il})/\|x_i\|$ per neuron, over the rows that are
    not zero.
    """
    norms = np.linalg.norm(X, axis=1)
    rows = norms > 0
    safe = np.abs(Z) - error
    return (
        (safe[rows] / norms[rows, None]).min(axis=0)
        if rows.any()
        else np.full(Z.shape[1], math.inf)
    )


@dataclass(frozen=True)
class Cell:
    """Neurons T, smallest eigenvalue mu of G, and `ratio`, the largest ||x_i|| ||r|| / (|z_li| sqrt
    mu) over T; RI needs <= 1.
    """

    neurons: Indices
    mu: float
    ratio: float


@states("DU-CERT-0")
def choose_neurons(
    X: Array, slopes: Array, margins: Array, residual_norm: float, *, factor: float = 1.0
) -> Cell | None:
    r"""The largest set T of neurons whose margins suffice, or the best tried; None if G is singular
    with all neurons.

    A neuron with margin $m_l < \|r\|/\sqrt\mu$ can never belong to T, because removing neurons
    lowers mu. So the least set of removals is found by removing all such neurons, measuring mu
    again, and so on until nothing more falls out or G is singular.

    Parameters
    ----------
    X, slopes, margins : data, `cell_slopes` and `relative_margins` at the point.
    residual_norm : ||r|| at the point.
    factor : safety factor >= 1 on the required margin.

    Theory
    ------
    Theorem RI: $z_{li}^2 \mu \ge \|x_i\|^2 \|r\|^2$ for all i and all l in T.
    """
    neurons = np.flatnonzero(margins > 0)
    best: Cell | None = None
    while neurons.size:
        cell = _measure(X, slopes, margins, residual_norm, neurons)
        if cell is None:
            break
        best = cell if best is None or cell.ratio < best.ratio else best
        kept = neurons[margins[neurons] >= factor * residual_norm / math.sqrt(cell.mu)]
        if kept.size == neurons.size:
            return cell
        neurons = kept
    return best


def _measure(
    X: Array, slopes: Array, margins: Array, residual_norm: float, neurons: Indices
) -> Cell | None:
    G = cell_gram(X, slopes, neurons)
    if not np.isfinite(G).all():
        return None
    eigenvalues = np.linalg.eigvalsh(G)
    mu = float(eigenvalues[0])
    if not mu > X.shape[0] * np.finfo(np.float64).eps * float(eigenvalues[-1]):
        return None
    return Cell(neurons, mu, residual_norm / (math.sqrt(mu) * float(margins[neurons].min())))

"""Smallest eigenvalues of symmetric matrices in floating point: estimates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from globalmin.data.memory import gram_bytes, require_memory
from globalmin.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def estimate_lambda_min(G: ArrayLike) -> float:
    """Smallest eigenvalue of a symmetric matrix, an estimate: off by about n times the rounding
    unit times the largest one.
    """
    return estimate_lowest(G, 1)[0]


def estimate_lowest(G: ArrayLike, count: int) -> list[float]:
    """The `count` smallest eigenvalues of a symmetric matrix, increasing; estimates."""
    G = np.asarray(G, dtype=np.float64)
    if G.ndim != 2 or G.shape[0] != G.shape[1] or G.size == 0 or not np.isfinite(G).all():
        raise DataError(f"G has shape {G.shape}; give a finite square symmetric matrix")
    require_memory(gram_bytes(len(G), copies=2), f"an eigenvalue of a matrix of order {len(G):,}")
    from scipy.linalg import eigh

    values = eigh(
        G, eigvals_only=True, subset_by_index=(0, min(count, len(G)) - 1), check_finite=False
    )
    return [float(value) for value in values]

r"""Barriers of the relaxation of theorem R4 with first and second derivatives: that of one row and
one sign, and minus the logarithm of the determinant of the moments.
"""

from __future__ import annotations

import numpy as np

from globalmin._types import Array

LOCAL = 4  # z, t, a, mu: what the barrier of one row and one sign depends on


def row_barrier(norms: Array, z: Array, t: Array, a: Array, mu: float) -> tuple[Array, Array]:
    """-log(z^2 - t^2) - log(z - a/|x|) - log(mu a - z^2): derivatives in (z, t, a, mu)."""
    n = len(z)
    first, third = z * z - t * t, mu * a - z * z
    second = z - a / norms
    g, H = np.zeros((n, LOCAL)), np.zeros((n, LOCAL, LOCAL))
    slopes = np.zeros((n, LOCAL))
    slopes[:, 0], slopes[:, 1] = 2.0 * z, -2.0 * t
    _add_log(g, H, slopes, first)
    H[:, 0, 0] -= 2.0 / first
    H[:, 1, 1] += 2.0 / first
    slopes = np.zeros((n, LOCAL))
    slopes[:, 0], slopes[:, 2] = 1.0, -1.0 / norms
    _add_log(g, H, slopes, second)
    slopes = np.zeros((n, LOCAL))
    slopes[:, 0], slopes[:, 2], slopes[:, 3] = -2.0 * z, mu, a
    _add_log(g, H, slopes, third)
    H[:, 0, 0] += 2.0 / third
    H[:, 2, 3] -= 1.0 / third
    H[:, 3, 2] -= 1.0 / third
    return g, H


def _add_log(g: Array, H: Array, slopes: Array, slack: Array) -> None:
    """Derivatives of -log(slack), up to the second derivative of the slack."""
    scaled = slopes / slack[:, None]
    g -= scaled
    H += scaled[:, :, None] * scaled[:, None, :]


def determinant_barrier(V: Array) -> tuple[Array, Array]:
    """Gradient and Hessian of -log det Y in the entries of its upper triangle, V the inverse."""
    i, j = np.triu_indices(len(V))
    double = np.where(i == j, 1.0, 2.0)
    scale = np.sqrt(double / 2.0) * np.where(i == j, 1.0, np.sqrt(2.0))
    H = V[np.ix_(i, i)] * V[np.ix_(j, j)] + V[np.ix_(i, j)] * V[np.ix_(j, i)]
    return -double * V[i, j], H * scale[:, None] * scale

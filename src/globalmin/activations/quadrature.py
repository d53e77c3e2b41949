r"""Expectations E psi(g), g ~ N(0,1), to about 1e-14 for functions that are smooth away from 0,
however steep they are there.

Each half line is mapped to the line by g = e^u and summed with the trapezoid rule of step h. In the
variable u the Gaussian stays analytic and decaying for |Im u| < pi/4, and so does psi(s g) for
every activation of the catalog at every scale s (their poles lie on the imaginary axis, Im u =
pi/2): the error is about e^{-(pi^2/2)/h} for every s. Gauss-Hermite rules lose all digits where
psi(s g) is steep.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np

from globalmin._types import Array

CHUNK = 2**22  # entries of the largest temporary array


@cache
def nodes_and_weights(frequency: int = 0) -> tuple[Array, Array]:
    """Nodes g and weights for E psi(g); `frequency` is the highest degree of a Hermite polynomial
    in psi.
    """
    step = 2.0 ** -(
        5 + max(0, math.ceil(math.log2(max(1.0, frequency) / 16.0) / 2))
    )  # a power of two makes the nodes exact
    u = -40.0 + step * np.arange(
        math.ceil((40.0 + math.log(14.0)) / step)
    )  # e^{-40} is below rounding, so is the density at 14
    half = np.exp(u)
    weights = step * half * np.exp(-0.5 * half * half) / math.sqrt(2.0 * math.pi)
    return np.concatenate([-half[::-1], half]), np.concatenate([weights[::-1], weights])


def expectation(psi: Callable[[Array], Array], *, frequency: int = 0) -> float:
    """E psi(g), g ~ N(0,1), for a function of an array."""
    g, weights = nodes_and_weights(frequency)
    return math.fsum(psi(g) * weights)


@cache
def hermite_weights(count: int) -> tuple[Array, Array]:
    """Nodes g and the matrix (nodes x count) of weights times h_r(g), h_r the orthonormal Hermite
    polynomials, r < count.
    """
    g, weights = nodes_and_weights(count)
    root = np.exp(-0.25 * g * g)  # carried along so that the polynomials do not overflow
    columns = [root, g * root]
    for r in range(1, count - 1):
        columns.append((g * columns[r] - math.sqrt(r) * columns[r - 1]) / math.sqrt(r + 1))
    return g, np.stack(columns[:count], axis=1) * (weights / root)[:, None]


def hermite_integrals(psi: Callable[[Array], Array], count: int, scales: Array) -> Array:
    """E[psi(s g) h_r(g)] for the given scales s (rows) and r = 0..count-1 (columns)."""
    g, table = hermite_weights(count)
    rows = max(1, CHUNK // g.size)
    pieces = [psi(scales[i : i + rows, None] * g) @ table for i in range(0, scales.size, rows)]
    return np.concatenate(pieces) if pieces else np.empty((0, count))

"""phi, phi', phi'' in floats and the suprema b_1, b_2, b_3, for the small producer of the corpus;
estimates only.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]
ERF_SLOPE = 2 / math.sqrt(math.pi)


def _logistic(z: Array) -> tuple[Array, Array, Array]:
    e = np.exp(-np.abs(z))
    s = np.where(z >= 0, 1.0, e) / (1 + e)
    slope = e / (1 + e) ** 2
    return s, slope, slope * (1 - 2 * s)


def _erf(z: Array) -> tuple[Array, Array, Array]:
    slope = ERF_SLOPE * np.exp(-(z**2))
    return np.vectorize(math.erf)(z), slope, -2 * z * slope


def evaluate(name: str, z: Array, parameter: float | None = None) -> tuple[Array, Array, Array]:
    """(phi, phi', phi''); at a kink the derivative from the left."""
    b = 1.0 if parameter is None else parameter
    if name == "softplus":
        s, slope, _ = _logistic(b * z)
        return np.logaddexp(0, b * z) / b, s, b * slope
    if name == "sigmoid":
        s, slope, curvature = _logistic(b * z)
        return s, b * slope, b**2 * curvature
    if name == "tanh":
        t = np.tanh(z)
        return t, 1 - t**2, -2 * t * (1 - t**2)
    if name == "erf":
        return _erf(z)
    if name == "quadratic":
        return z**2, 2 * z, np.full_like(z, 2.0)
    slope = {"linear": 1.0, "abs": -1.0, "relu": 0.0, "leaky_relu": parameter or 0.0}[name]
    slopes = np.where(z > 0, 1.0, slope)
    return slopes * z, slopes, np.zeros_like(z)


def suprema(name: str, parameter: float | None = None) -> tuple[float, float, float]:
    """b_1, b_2, b_3 of the smooth activations."""
    b = 1.0 if parameter is None else parameter
    third = 0.09622505
    return {
        "softplus": (1.0, b / 4, third * b**2),
        "sigmoid": (b / 4, third * b**2, b**3 / 8),
        "tanh": (1.0, 0.76980036, 2.0),
        "erf": (1.12837917, 0.96788290, 2.25675834),
        "quadratic": (math.inf, 2.0, 0.0),
        "linear": (1.0, 0.0, 0.0),
    }[name]

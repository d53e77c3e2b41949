"""The activation functions and their first three derivatives, as plain numpy formulas.

Each entry is a tuple of four functions of an array: phi and its first, second and third derivative.
They are written so that no argument, however large, overflows.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from globalmin._types import Array

Derivatives = tuple[
    Callable[[Array], Array],
    Callable[[Array], Array],
    Callable[[Array], Array],
    Callable[[Array], Array],
]


def logistic(z: Array) -> Array:
    """1/(1+e^{-z}) without overflow."""
    decay = np.exp(-np.abs(z))
    return np.where(z >= 0, 1.0, decay) / (1.0 + decay)


def logistic_slope(z: Array) -> Array:
    """s(1-s), s the logistic function, without cancellation at large |z|."""
    decay = np.exp(-np.abs(z))
    return decay / (1.0 + decay) ** 2


def _logistic_2(z: Array) -> Array:
    return -logistic_slope(z) * np.tanh(z / 2)  # s'(1-2s), 1-2s = -tanh(z/2)


def _logistic_3(z: Array) -> Array:
    slope = logistic_slope(z)
    return slope * (1.0 - 6.0 * slope)


def sigmoid(b: float) -> Derivatives:
    """Logistic function of bz."""
    return (
        lambda z: logistic(b * z),
        lambda z: b * logistic_slope(b * z),
        lambda z: b**2 * _logistic_2(b * z),
        lambda z: b**3 * _logistic_3(b * z),
    )


def softplus(b: float) -> Derivatives:
    """log(1+e^{bz})/b; its derivative is the logistic function of bz."""
    return (
        lambda z: np.maximum(z, 0.0) + np.log1p(np.exp(-b * np.abs(z))) / b,
        lambda z: logistic(b * z),
        lambda z: b * logistic_slope(b * z),
        lambda z: b**2 * _logistic_2(b * z),
    )


def _sech2(z: Array) -> Array:
    return 4.0 * logistic_slope(
        2.0 * z
    )  # sech^2 z = 4 s(2z)(1-s(2z)), no overflow, no cancellation


TANH: Derivatives = (
    np.tanh,
    _sech2,
    lambda z: -2.0 * np.tanh(z) * _sech2(z),
    lambda z: _sech2(z) * (4.0 - 6.0 * _sech2(z)),
)

_TWO_OVER_SQRT_PI = 2.0 / np.sqrt(np.pi)


def _erf(z: Array) -> Array:
    from scipy.special import erf

    return erf(z)


def _tame(z: Array) -> Array:
    return np.clip(
        z, -40.0, 40.0
    )  # e^{-z^2/2} is zero in doubles beyond; keeps powers of z from overflowing


def _bell(z: Array) -> Array:
    return _TWO_OVER_SQRT_PI * np.exp(-np.square(_tame(z)))


ERF: Derivatives = (
    _erf,
    _bell,
    lambda z: -2.0 * _tame(z) * _bell(z),
    lambda z: (4.0 * np.square(_tame(z)) - 2.0) * _bell(z),
)


def _swish_1(z: Array) -> Array:
    return logistic(z) + z * logistic_slope(z)


def _swish_2(z: Array) -> Array:
    return 2.0 * logistic_slope(z) + z * _logistic_2(z)


def _swish_3(z: Array) -> Array:
    return 3.0 * _logistic_2(z) + z * _logistic_3(z)


SWISH: Derivatives = (lambda z: z * logistic(z), _swish_1, _swish_2, _swish_3)

_ONE_OVER_SQRT_TAU = 1.0 / np.sqrt(2.0 * np.pi)


def _normal_cdf(z: Array) -> Array:
    from scipy.special import ndtr

    return ndtr(z)


def _normal_density(z: Array) -> Array:
    return _ONE_OVER_SQRT_TAU * np.exp(-0.5 * np.square(_tame(z)))


GELU: Derivatives = (
    lambda z: z * _normal_cdf(z),
    lambda z: _normal_cdf(z) + _tame(z) * _normal_density(z),
    lambda z: (2.0 - np.square(_tame(z))) * _normal_density(z),
    lambda z: _tame(z) * (np.square(_tame(z)) - 4.0) * _normal_density(z),
)

RELU: Derivatives = (
    lambda z: np.maximum(z, 0.0),
    lambda z: (z >= 0).astype(np.float64),  # phi'(0) = 1, the convention 1{z >= 0} of DU (2.3)
    np.zeros_like,
    np.zeros_like,
)


def leaky_relu(s: float) -> Derivatives:
    """Z for z >= 0, s z below."""
    return (
        lambda z: np.where(z >= 0, z, s * z),
        lambda z: np.where(z >= 0, 1.0, s),
        np.zeros_like,
        np.zeros_like,
    )


ABS: Derivatives = (np.abs, lambda z: np.where(z >= 0, 1.0, -1.0), np.zeros_like, np.zeros_like)
LINEAR: Derivatives = (
    lambda z: np.array(z, dtype=np.float64),
    np.ones_like,
    np.zeros_like,
    np.zeros_like,
)
QUADRATIC: Derivatives = (
    np.square,
    lambda z: 2.0 * z,
    lambda z: np.full_like(z, 2.0),
    np.zeros_like,
)


def polynomial(coefficients: tuple[float, ...]) -> Derivatives:
    """c_0 + c_1 z + ... + c_p z^p, evaluated by Horner's rule."""
    from numpy.polynomial.polynomial import polyder

    first, second, third = (
        np.array(polyder(coefficients, m), dtype=np.float64, ndmin=1) for m in (1, 2, 3)
    )
    value = np.array(coefficients)
    return (
        lambda z: horner(value, z),
        lambda z: horner(first, z),
        lambda z: horner(second, z),
        lambda z: horner(third, z),
    )


def horner(coefficients: Array, z: Array) -> Array:
    """sum_j coefficients[j] z^j, elementwise."""
    total = np.full(np.shape(z), coefficients[-1], dtype=np.float64)
    for c in coefficients[-2::-1]:
        total = total * z + c
    return total
